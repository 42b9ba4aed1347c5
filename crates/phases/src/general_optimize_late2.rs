//! Phase 65, GeneralOptimizeLate2: the [suite](super::general_optimize) of sub-passes once more,
//! the last phase in SSA form.
//!
//! ptxas calls a slot of its back end's table, as for [phase 46](super::general_optimize_mid2), if
//! the level of optimisation is above 1; no empty method is known.

use super::general_optimize::suite;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    match context.optimization_level() {
        0 | 1 => PhaseResult::Unchanged,
        _ => suite::run(function, context),
    }
}
