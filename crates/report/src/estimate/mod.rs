//! The register estimate: predicts the count of `ptxas -v`.
//!
//! ```text
//! Function ─▶ Cells ─▶ Nodes ─▶ LiveCells, BlockGraph ─▶ Features ─▶ Model ─▶ RegisterEstimate
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `cells.rs` | the machine's registers: halves, what costs nothing, what is uniform |
//! | `lower.rs` | the machine's instructions, as far as a scheduler sees them |
//! | `live_cells.rs` | cells that are live between blocks |
//! | `regions.rs` | blocks that are scheduled together |
//! | `rounds.rs` | loops that are unrolled completely |
//! | `schedule.rs` | orders of a region, and the registers that they take |
//! | `features.rs` | all that together, and counts |
//! | `call_graph.rs` | what callees add to their callers |
//! | `model.rs` | trees from features to registers |
//! | `model_text.rs` | how they are written in `model.txt` |
//!
//! `docs/register-estimate.md` describes the features, the model and its accuracy.

mod call_graph;
mod cells;
mod features;
mod live_cells;
mod lower;
mod model;
#[cfg(test)]
mod model_text;
mod regions;
mod rounds;
mod schedule;
#[cfg(test)]
mod tests;

pub use call_graph::CallGraph;
pub use features::Features;

use crate::occupancy::LaunchBounds;
use oriel_engine::snapshot::Snapshot;
use oriel_ori::Function;

/// What a function is compiled for, as far as registers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Compute capability times ten.
    pub sm: u32,
    /// The most registers that a thread may have, by `.maxnreg`, `-maxrregcount` or launch bounds.
    pub register_limit: u32,
}

impl Target {
    /// Reads compute capability, `.maxnreg` and launch bounds from the function.
    pub fn of(snapshot: &Snapshot<'_>) -> Self {
        let sm = snapshot.function().sm;
        Self {
            sm,
            register_limit: LaunchBounds::of(snapshot).register_limit_of_ptxas(sm),
        }
    }
}

/// How many registers ptxas is going to use.
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
}

impl RegisterEstimate {
    /// Estimates the registers of a function in late form.
    pub fn of_function(function: &Function, target: &Target) -> Self {
        Self::from_features(&Features::new(function, target))
    }

    /// Estimates from features.
    pub fn from_features(features: &Features) -> Self {
        model::MODEL.estimate(features)
    }
}
