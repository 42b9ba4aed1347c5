//! GeneralOptimizeMid2 (phase 46): runs the [suite](super::general_optimize) of sub-passes to a
//! fixed point, after the expansions of phases 38 to 45.
//!
//! ptxas calls slot 56 of its back end's table and does nothing if that is the empty method; [this
//! table](super::backend) has a column for the back ends that fill it. The method is not described:
//! here it is copy propagation, predicates and dead code. The fixed point covers the whole
//! function, since a block's copies and predicates come from other blocks.

use super::general_optimize::suite;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    suite::run(function, context)
}
