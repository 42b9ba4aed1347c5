//! SetAfterLegalization, phase 95: takes note that operands have the forms that the machine takes.
//!
//! LLVM has seen to that before Oriel runs, so all that is left is the [progress](super::progress)
//! of the pipeline, 19 from here on.

use super::progress::Progress;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(_: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    context.advance(Progress::LEGALIZED);
    PhaseResult::Unchanged
}
