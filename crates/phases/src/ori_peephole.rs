//! OriPeephole: constant folding and algebraic identities over the whole function, by [`Peephole`].
//!
//! The reference's bundles run identities as one of their steps; this is that step alone.

use super::peephole::Peephole;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut peephole = Peephole::new(context);
    let applied = peephole.simplify_function(function, context);
    peephole.report(context);
    PhaseResult::of(applied != 0)
}
