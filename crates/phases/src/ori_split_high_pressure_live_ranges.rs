//! OriSplitHighPressureLiveRanges, phase 138: what phase 19 does, once more and harder, when
//! nothing after it changes the pressure.
//!
//! ```text
//! bix0: %1 = IADD %0, 4                 bix0: ...
//!       ... (%0 and %1 live)     ─▶     bix1: ... (%0 live)
//! bix1: ST %2, [%1]                           %3 = IADD %0, 4
//!       ST %2, [%0]                           ST %2, [%3]
//!                                             ST %2, [%0]
//! ```
//!
//! Beside what [`ori_split_live_ranges`](super::ori_split_live_ranges) makes anew, it repeats cheap
//! arithmetic on registers that are live anyway, also in deeper loops than where the value was made
//! first, and it goes through the function more often. The rest, what it needs and leaves true
//! included, is the same.
//!
//! The reference says of it only that it is the late and aggressive form of phase 19.
//!
//! **Off by default**: at the default budget it changes 4 of 162 functions of the examples and of
//! kernels written for it, their peaks from 401 to 379 units in sum; ptxas gives them as many
//! registers as before and one of them 8 instructions more. With a budget and limit of 32 registers
//! 15 functions change, and 2 of them get fewer registers, 48 to 38 and 32 to 30. All figures are
//! in `docs/live-range-splitting.md`.

use super::ori_split_live_ranges::{Policy, split};
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let policy = Policy {
        budget: context.options.register_budget,
        repeats_arithmetic: true,
        enters_loops: true,
        rounds: 8,
    };
    split(function, context, policy)
}
