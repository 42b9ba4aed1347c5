//! GeneralOptimizeLate2 (phase 65): runs the [suite](super::general_optimize) of sub-passes again,
//! the last phase in SSA form.
//!
//! ptxas calls a slot of its back end's table, as for [phase 46](super::general_optimize_mid2), if
//! the optimisation level is above 1; no empty method is known.

use super::general_optimize::suite;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    match context.optimization_level() {
        0 | 1 => PhaseResult::Unchanged,
        _ => suite::run(function, context),
    }
}
