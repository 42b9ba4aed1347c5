//! SetAfterLegalization (phase 95): records that all operands are legal for the machine.
//!
//! LLVM has legalised them before Oriel runs, so the phase only sets the
//! [progress](super::progress) of the pipeline to 19.

use super::progress::PipelineProgress;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(_: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    context.advance(PipelineProgress::LEGALIZED);
    PhaseResult::Unchanged
}
