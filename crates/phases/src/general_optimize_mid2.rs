//! Phase 46, GeneralOptimizeMid2: the [suite](super::general_optimize) of sub-passes to a fixed
//! point, behind the expansions of phases 38 to 45.
//!
//! ptxas calls slot 56 of its back end's table and does nothing where that is the empty method;
//! which back ends fill it is a column of [the table here](super::backend). What the method does is
//! not described: here it is copy propagation, predicates and dead code. The fixed point is that of
//! the function: a block's copies and predicates come from other blocks.

use super::general_optimize::suite;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    suite::run(function, context)
}
