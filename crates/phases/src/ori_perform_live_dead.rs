//! OriPerformLiveDead (phases 16, 33, 61 and 84): liveness of the whole function, and dead code
//! elimination with it.
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
//! Removes unreachable blocks first. Computes liveness to the fixed point, then removes unneeded
//! instructions in one backward walk per block; the operands of removed instructions do not count
//! as uses. A mark-and-sweep from the instructions with effects would keep the same ones:
//! `shared/dead_code.rs` explains why.
//!
//! Kept: instructions that write memory, are convergent, end a block, belong to a call, are
//! volatile, or have effects according to LLVM. Debug instructions keep nothing alive; their values
//! become undefined, as in LLVM.
//!
//! In profile `ptxas` only: alone the phase gains nothing. In the 316 functions that the examples
//! give at both stages (sm_90, -O2), LLVM leaves no dead instruction and only one unreachable
//! block. Profile `max` will need the phase if it gets phases that leave dead code.
//!
//! The four instances are identical and differ in the phases before them. Departure: the reference
//! starts its walk from ordinary liveness, under which a value that only feeds itself around a loop
//! is live; it keeps such values, this phase removes them.

use super::knobs::Knob;
use super::shared::basic_blocks::{RebuildMode, rebuild_basic_blocks};
use super::shared::dead_code::{find_dead, remove_dead, within_budget};
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let (flow, removed_blocks) = rebuild_basic_blocks(function, RebuildMode::Full, context);
    let budget = context.options.knobs.budget(Knob::OriPerformLiveDeadBudget);
    let dead = within_budget(budget, |kept| find_dead(function, &flow, kept));
    remove_dead(function, context, &dead);
    context.count("removed-blocks", removed_blocks as u64);
    PhaseResult::of(removed_blocks != 0 || !dead.is_empty())
}
