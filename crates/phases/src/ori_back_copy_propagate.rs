//! OriBackCopyPropagate (phase 83): records that backward copy propagation is done.
//!
//! The propagation itself is [phase 82](super::advanced_phase_back_prop_v_reg), which ptxas leaves
//! to its back ends; this phase sets the [progress](super::progress) of the pipeline to 9. From
//! then on the late [OriCopyProp](super::ori_copy_prop) may change registers used in addresses.
//!
//! No back end of ptxas activates it, so it runs where it is named.

use super::progress::PipelineProgress;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(_: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    context.advance(PipelineProgress::BACK_COPY_PROPAGATED);
    PhaseResult::Unchanged
}
