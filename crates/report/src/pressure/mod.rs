//! Finds where a function's pressure peaks, which values cause it, and how to lower it.
//!
//! ```text
//! snapshot ─▶ FunctionPressure ─┬▶ peaks, for the report's lines
//!                               └▶ PressureDetails: places, live values, variables, blocks
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `place.rs` | instructions with their source positions |
//! | `region.rs` | the loop or block that a peak lies in |
//! | `value.rs` | a value that is live at a peak |
//! | `variables.rs` | the source variables that values hold |
//! | `details.rs` | all of it together |

mod details;
mod place;
mod region;
#[cfg(test)]
mod tests;
mod value;
mod variables;

pub use details::{BlockPressure, DepthPressure, PeakDetails, PressureDetails, VariableShare};
pub use place::{Place, SourceFrame};
pub(super) use region::loops_of;
pub use value::{LiveValue, Relief};
pub(super) use variables::VariableMap;

use oriel_engine::entity::{Block, Instruction};
use oriel_engine::live::pressure::{Peak, Pressure, PressureFile};
use oriel_engine::live::{LiveIntervals, LiveRangeCalc};
use oriel_engine::snapshot::Snapshot;

/// Returns the name of a register file in reports, which is the name of its unit.
pub const fn file_name(file: PressureFile) -> &'static str {
    match file {
        PressureFile::General => "r32",
        PressureFile::Predicate => "pred",
    }
}

/// A function's intervals and pressure.
#[derive(Clone, Debug)]
pub struct FunctionPressure<'a> {
    snapshot: Snapshot<'a>,
    intervals: LiveIntervals,
    pressure: Pressure,
}

impl<'a> FunctionPressure<'a> {
    /// Computes both.
    pub fn compute(snapshot: Snapshot<'a>, engine: &mut LiveRangeCalc) -> Self {
        Self::new(snapshot, engine.analyze(&snapshot))
    }

    /// Computes the pressure of the intervals of `snapshot`.
    pub fn new(snapshot: Snapshot<'a>, intervals: LiveIntervals) -> Self {
        let pressure = Pressure::new(&intervals, &snapshot);
        Self {
            snapshot,
            intervals,
            pressure,
        }
    }

    /// The function.
    pub fn snapshot(&self) -> Snapshot<'a> {
        self.snapshot
    }

    /// Its live intervals.
    pub fn intervals(&self) -> &LiveIntervals {
        &self.intervals
    }

    /// Returns the live intervals alone.
    pub fn into_intervals(self) -> LiveIntervals {
        self.intervals
    }

    /// Its pressure.
    pub fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    /// Returns the most units of a file that are live at once.
    pub fn peak(&self, file: PressureFile) -> Peak {
        self.pressure.file(file).peak()
    }

    /// Returns where the peak of a file is first reached: after this instruction, or at the start
    /// of the block if the block has none.
    pub fn peak_place(&self, file: PressureFile) -> Option<(Block, Option<Instruction>)> {
        let index = self.peak(file).index?;
        let indexes = self.intervals.indexes();
        let block = indexes.block_at(index)?;
        let first = || {
            let mut instructions = self.snapshot.instructions_of(block);
            instructions.find(|&instruction| indexes.has_index(instruction))
        };
        Some((block, indexes.instruction_at(index).or_else(first)))
    }
}
