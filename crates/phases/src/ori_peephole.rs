//! OriPeephole: constant folding and algebraic identities, by [`Peephole`], over the whole
//! function.
//!
//! The reference's bundles ask for identities as one of their steps; this is the step alone.

use super::peephole::Peephole;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut peephole = Peephole::new(context);
    let applied = peephole.simplify_function(function, context);
    peephole.report(context);
    PhaseResult::of(applied != 0)
}
