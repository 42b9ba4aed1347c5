//! Phases 16, 33, 61 and 84, OriPerformLiveDead: liveness of the whole function, and dead code with
//! it.
//!
//! ```text
//! bix0: %1 = MOV 0                       bix0: BRA fall bix1
//!       BRA fall bix1                    bix1: %5 = ISETP.lt %4, 9
//! bix1: %2 = PHI %1, bix0, %3, bix1  ─▶        BRA %5, bix1, fall bix2
//!       %3 = IADD %2, 1
//!       %5 = ISETP.lt %4, 9
//!       BRA %5, bix1, fall bix2
//! ```
//!
//! Blocks that control cannot come to go. Then liveness, to the fixed point, and one backward walk
//! a block that removes what nothing needs; the operands of what goes are not live because of it.
//! What stays is what a mark-and-sweep from the instructions with effects marks: `dead_code.rs`
//! says why.
//!
//! Stays: what writes memory, is convergent, ends a block, belongs to a call, is volatile, or has
//! effects that LLVM tells of. Debug instructions keep nothing alive; the values that they name
//! become undefined, as with LLVM.
//!
//! In profile `ptxas` only. Of the 316 functions that the examples give at both stages (sm_90, -O2)
//! LLVM leaves no dead instruction in any, and a block that control cannot come to in one: alone
//! the phase gains nothing. Phases that leave dead code behind will need it in `max`.
//!
//! The four instances are the same and differ in what ran before them. Departure: the reference
//! starts its walk from usual liveness, under which a value that only feeds itself around a loop is
//! live; it stays there and goes here.

use super::basic_blocks::{RebuildMode, rebuild_basic_blocks};
use super::dead_code::{find_dead, remove_dead, within_budget};
use super::knobs::Knob;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let (flow, removed_blocks) = rebuild_basic_blocks(function, RebuildMode::Full, context);
    let budget = context.options.knobs.budget(Knob::OriPerformLiveDeadBudget);
    let dead = within_budget(budget, |kept| find_dead(function, &flow, kept));
    remove_dead(function, context, &dead);
    context.count("removed-blocks", removed_blocks as u64);
    PhaseResult::of(removed_blocks != 0 || !dead.is_empty())
}
