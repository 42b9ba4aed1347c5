//! The register estimate: predicts the count of `ptxas -v`.
//!
//! ```text
//! Function ─▶ Cells ─▶ Nodes ─▶ LiveCells, BlockGraph ─▶ Features ─▶ Model ─▶ RegisterEstimate
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `cells.rs` | the machine's registers: halves, values that cost nothing, uniform values |
//! | `narrow.rs` | values of 64 bits of which only the low half is read |
//! | `assembly.rs` | inline assembly, by its text |
//! | `nodes.rs` | the machine's instructions, as far as a scheduler sees them |
//! | `lower.rs` | lowers a function's instructions to these nodes |
//! | `folded.rs` | instructions that become a part of their only reader |
//! | `expansion.rs` | the code that ptxas generates for one instruction |
//! | `live_cells.rs` | cells that are live between blocks |
//! | `regions.rs` | blocks that are scheduled together |
//! | `rounds.rs` | loops that are unrolled completely |
//! | `schedule.rs`, `schedule/` | orders of a region, and the registers that they take |
//! | `least_need.rs` | the registers that no order can do without |
//! | `loop_nests.rs` | sizes of nests of loops with constant trip counts |
//! | `features.rs` | the inputs of the model, from all of these |
//! | `counts.rs` | counts of instructions, blocks and loops |
//! | `dead_ends.rs` | blocks from which a function does not return, and lanes that have |
//! | `call_graph.rs` | the registers that callees add to their callers |
//! | `causes.rs` | the causes of an estimate, in words |
//! | `model.rs` | trees from features to registers |
//! | `tree_node.rs` | their nodes |
//! | `model_text.rs` | the format of `model.txt` |
//! | `usual_counts.rs` | the estimate: a usual count near the registers needed |
//!
//! `docs/register-estimate.md` describes the features, the model and its accuracy.

mod assembly;
mod call_graph;
mod causes;
mod cells;
mod counts;
mod dead_ends;
mod expansion;
mod features;
mod folded;
mod least_need;
mod live_cells;
mod loop_nests;
mod lower;
mod model;
#[cfg(test)]
mod model_text;
mod narrow;
mod nodes;
mod regions;
mod rounds;
mod schedule;
#[cfg(test)]
mod tests;
mod tree_node;
mod usual_counts;

pub use call_graph::CallGraph;
pub use causes::{Cause, Reason, Reasons};
pub use features::Features;
pub use least_need::least_need;

use crate::occupancy::LaunchBounds;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::FunctionFlags;

/// The compilation target of a function, as far as registers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Compute capability times ten.
    pub sm: u32,
    /// The register limit of a thread, from `.maxnreg`, `-maxrregcount` or launch bounds.
    pub register_limit: u32,
    /// The same limit if the bounds [allot](LaunchBounds::allotted_registers) these registers; zero
    /// otherwise.
    pub allotted_registers: u32,
    /// Threads of a block according to launch bounds; zero without.
    pub threads: u32,
    /// True if the PTX tells ptxas to compile for a debugger, which makes it keep every value.
    pub is_debug: bool,
}

impl Target {
    /// Reads compute capability, `.maxnreg` and launch bounds from the function.
    pub fn of(snapshot: &Snapshot<'_>) -> Self {
        let sm = snapshot.function().sm;
        let bounds = LaunchBounds::of(snapshot);
        Self {
            sm,
            register_limit: bounds.register_limit_of_ptxas(sm),
            allotted_registers: bounds.allotted_registers(sm).unwrap_or(0),
            threads: bounds.max_threads_per_block.unwrap_or(0),
            is_debug: snapshot.flags().contains(FunctionFlags::FOR_DEBUGGER),
        }
    }
}

/// The prediction of how many registers ptxas will use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterEstimate {
    /// The estimate.
    pub registers: u32,
    /// Four of five functions have at least this many and at most [`high`](Self::high).
    pub low: u32,
    /// See [`low`](Self::low).
    pub high: u32,
    /// Registers that a thread may have.
    pub limit: u32,
    /// The probability, in percent, that ptxas must spill to stay within the limit.
    pub spill_risk_percent: u32,
    /// The causes that raise it most, in descending order.
    pub reasons: Reasons,
    /// The feature that makes the function unlike all measured kernels, if there is one: the
    /// estimate is then a guess.
    pub unlike: Option<&'static str>,
}

impl RegisterEstimate {
    /// Estimates from features.
    pub fn from_features(features: &Features) -> Self {
        model::MODEL.estimate(features)
    }
}
