//! OriSplitHighPressureLiveRanges (phase 138): runs phase 19 again more aggressively, when nothing
//! after it changes the pressure.
//!
//! ```text
//! bix0: %1 = IADD %0, 4                 bix0: ...
//!       ... (%0 and %1 live)     ─▶     bix1: ... (%0 live)
//! bix1: ST %2, [%1]                           %3 = IADD %0, 4
//!       ST %2, [%0]                           ST %2, [%3]
//!                                             ST %2, [%0]
//! ```
//!
//! Besides the values that [`ori_split_live_ranges`](super::ori_split_live_ranges) recomputes, it
//! repeats cheap arithmetic on registers that are live anyway, also in deeper loops than the
//! original definition, and makes more passes over the function. Everything else is the same,
//! including requirements and guarantees.
//!
//! The reference only says that it is the late and aggressive form of phase 19.
//!
//! **Off by default**: at the default budget it changes 4 of 162 functions of the examples and of
//! kernels written for it, lowering the sum of their peaks from 401 to 379 units; ptxas gives them
//! as many registers as before and one of them 8 more instructions. With a budget and limit of 32
//! registers 15 functions change, and 2 of them get fewer registers, 48 to 38 and 32 to 30.
//! `docs/live-range-splitting.md` has all figures.

use super::ori_split_live_ranges::{SplitSettings, split};
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let settings = SplitSettings {
        budget: context.options.register_budget,
        repeats_arithmetic: true,
        enters_loops: true,
        rounds: 8,
    };
    split(function, context, settings)
}
