//! OriCopyProp: forward copy propagation.
//!
//! ```text
//! %2 = MOV %1                           %3 = IADD %1, 1
//! %3 = IADD %2, 1                  ─▶   BRA %p, bix1, fall bix2
//! BRA %p, bix1, fall bix2               bix1: ST %1, [%4]
//! bix1: %5 = SEL %1, %3, %p
//!       ST %5, [%4]
//! ```
//!
//! In the late stage it handles copies left by PHI elimination, and constants that a register
//! already holds:
//!
//! ```text
//! %1 = MOV 0                            %1 = MOV 0
//! %2 = MOV %1                           %2 = MOV %1
//! BRA %p, bix2, fall bix1          ─▶   BRA %p, bix2, fall bix1
//! bix1: %1 = MOV 0                      bix1: BRA fall bix2
//!       %2 = MOV %1
//!       BRA fall bix2
//! ```
//!
//! Requires: nothing. Preserves: no instruction is added, none has a mark of this phase, and the
//! same values reach the same uses.
//!
//! | file | subject |
//! |---|---|
//! | `forward.rs` | the instance for SSA form |
//! | `late.rs`, `available_copies.rs` | the late instance; the known contents of registers |
//! | `coalesce.rs` | merging of registers |
//! | `marks.rs` | the apply step |
//! | `settings.rs` | the knobs |
//!
//! ptxas runs it (`sub_908EB0`) inside each GeneralOptimize bundle, as phases 46 and 65 do here; it
//! also has a position of its own in each stage. Departures from the reference:
//!
//! - The reference recognises copies by one opcode that it also gives stores and labels. Here `MOV`
//!   and `COPY` between registers of one kind are copies, and so is a `MOV` of a constant.
//! - A predicated copy has no machine form, and NVPTX guards only branches: a select is treated as
//!   two copies under a guard. The reference's test for copies that may be folded after sm_70
//!   concerns encodings; here both registers must have one file, width and class, on every GPU.
//! - The reference only marks; here a step applies the marks at once (`marks.rs`).
//! - It walks the list of instructions once and relies on the bundle's loop for chains; here one
//!   run handles chains.

mod available_copies;
mod coalesce;
mod forward;
mod late;
pub(super) mod marks;
mod settings;

use super::{PhaseContext, PhaseResult};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::Function;
use settings::CopySettings;

pub(super) use forward::Guards;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    marks::clear_marks(function);
    let mut settings = CopySettings::new(function, context);
    let mut counts = match function.info.stage {
        Stage::Ssa => forward::propagate(function, &mut settings, context, Guards::OnDemand),
        Stage::Late => late::propagate(function, &mut settings, context),
    };
    if function.info.stage == Stage::Late {
        counts += coalesce::coalesce(function, &mut settings, context);
    }
    context.count("removed-instructions", counts.removed);
    context.count("replaced-uses", counts.replaced);
    PhaseResult::of(counts != marks::Counts::default())
}

/// Runs the instance for SSA form as a part of other phases. Returns how many instructions were
/// removed and uses replaced.
pub(super) fn propagate_in_ssa(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    guards: Guards,
) -> u64 {
    marks::clear_marks(function);
    let mut settings = CopySettings::new(function, context);
    let counts = forward::propagate(function, &mut settings, context, guards);
    counts.removed + counts.replaced
}

#[cfg(test)]
mod tests;
