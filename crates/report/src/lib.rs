//! The report: Oriel's figures of a function before ptxas runs.
//!
//! ```
//! use oriel_report::occupancy::{SmLimits, Usage};
//!
//! let usage = |registers_per_thread| Usage {
//!     registers_per_thread,
//!     threads_per_block: 256,
//!     shared_bytes_per_block: 0,
//! };
//! let limits = SmLimits::of(80).expect("it is known");
//! assert_eq!(limits.occupancy(usage(32)).warps_per_sm, 64);
//! assert_eq!(limits.occupancy(usage(96)).warps_per_sm, 16);
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `pressure/` | where the pressure peaks, which values cause it, and what would lower it |
//! | `estimate/` | the estimate of ptxas' registers |
//! | `occupancy/` | occupancy of a kernel on a multiprocessor |
//! | `min_blocks.rs` | kernels that need `.minnctapersm` to get their registers |
//! | `warnings/` | what costs registers, time or memory, with a remedy |
//! | `figures.rs` | the figures of all four |
//! | `remarks.rs` | the figures as LLVM remarks |
//! | `code_report.rs`, `table.rs` | the record of `oriel report` on a function, and its text output |
//! | `target.rs` | destinations of reports |
//! | `diff.rs`, `sarif.rs` | comparison of two reports; its result as SARIF |
//! | `page.rs`, `page/` | the report as one HTML page |
//! | `live_ranges.rs`, `dot.rs` | live ranges beside the code; the control flow coloured by pressure |
//! | `ptxas.rs` | the output of `ptxas -v` |
//! | `opcodes.rs` | the share of instructions with full meaning |
//!
//! This file writes the lines of `-oriel-report`: one JSON object for each function and stage.
//! `docs/report.md` describes the fields; `docs/report.schema.json` is their schema.

mod code_report;
pub mod diff;
mod dot;
pub mod estimate;
mod figures;
mod live_ranges;
mod min_blocks;
pub mod occupancy;
mod opcodes;
pub mod page;
pub mod pressure;
pub mod ptxas;
mod remarks;
pub mod sarif;
mod table;
mod target;
#[cfg(test)]
mod tests;
pub mod warnings;

pub use code_report::CodeReport;
pub use dot::write_pressure_dot;
pub use figures::{CodeFigures, OccupancyFigures, OriCode, ReasonFigure};
pub use live_ranges::write_live_ranges;
pub use min_blocks::{may_want_min_blocks, takes_min_blocks, wants_min_blocks};
pub use opcodes::{OpcodeReport, StageOpcodes};
pub use remarks::{CodeRemark, Piece, code_remarks};
pub use table::{write_details, write_table, write_warnings};
pub use target::{ReportTarget, SharedFile};

use oriel_engine::snapshot::Snapshot;
use oriel_phases::Statistics;
use serde::{Serialize, Serializer};

/// The outcome for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanOutcome {
    /// There was no plan.
    Unchanged,
    /// The plan rebuilt it exactly as it was.
    Identity,
    /// It was changed.
    Changed,
    /// An error; the function is as LLVM made it.
    Failed,
}

/// One line of the report. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionReport<'a> {
    /// The module's name.
    pub module: std::borrow::Cow<'a, str>,
    /// The function's name.
    pub function: std::borrow::Cow<'a, str>,
    /// True for an entry point.
    pub is_kernel: bool,
    /// Compute capability times ten.
    pub sm: u32,
    /// PTX ISA version times ten; zero if not set, so that LLVM uses its default.
    pub ptx_version: u32,
    /// `ssa` or `late`.
    pub stage: &'static str,
    /// The hash by which `-oriel-tuned` finds the function; only at stage `ssa`, and not with
    /// `-oriel=analyze`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Blocks before.
    pub blocks: usize,
    /// Instructions before, debug instructions not counted.
    pub instructions_in: usize,
    /// Instructions afterwards, debug instructions not counted.
    pub instructions_out: usize,
    /// Virtual registers that an operand mentions, before.
    pub registers: usize,
    /// The outcome.
    pub outcome: PlanOutcome,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<&'a str>,
    /// The counters of the phases that ran.
    #[serde(skip_serializing_if = "Statistics::is_empty")]
    pub phases: &'a Statistics,
    /// The time of each phase that ran, without analyses that phases share.
    #[serde(skip_serializing_if = "PhaseTimes::is_empty")]
    pub phase_ns: PhaseTimes<'a>,
    /// The figures of the code that ptxas gets; only at stage `late`.
    #[serde(flatten)]
    pub figures: Option<CodeFigures<'a>>,
    /// From LLVM's function to the snapshot.
    pub export_ns: u64,
    /// In the library.
    pub library_ns: u64,
    /// From the plan to LLVM's function.
    pub apply_ns: u64,
    /// From the code that LLVM got back to its figures.
    pub analysis_ns: u64,
    /// The sum of the four.
    pub oriel_ns: u64,
    /// The validator's verdict, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation<'a>>,
}

/// The validator's verdict on a change.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Validation<'a> {
    /// True if the change was proved.
    pub is_proved: bool,
    /// The value or effect that could not be proved equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<&'a str>,
}

impl<'a> Validation<'a> {
    /// Converts the validator's answer for the report.
    pub fn of(answer: &'a Result<(), String>) -> Self {
        let doubt = answer.as_ref().err().map(String::as_str);
        Self {
            is_proved: doubt.is_none(),
            doubt,
        }
    }
}

/// Serialises times of phases as an object of numbers.
#[derive(Clone, Copy, Debug)]
pub struct PhaseTimes<'a>(pub &'a Statistics);

impl PhaseTimes<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for PhaseTimes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let times = self.0.times();
        serializer.collect_map(times.map(|(phase, time)| (phase, time.as_nanos() as u64)))
    }
}

/// Returns the number of instructions other than debug instructions.
pub fn count_instructions(snapshot: &Snapshot<'_>) -> usize {
    snapshot
        .instructions()
        .filter(|&instruction| !snapshot.instruction(instruction).is_debug())
        .count()
}

/// Formats a report's line, with its newline.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn line(report: &FunctionReport<'_>) -> Result<String, String> {
    let mut line = serde_json::to_string(report).map_err(|error| error.to_string())?;
    line.push('\n');
    Ok(line)
}
