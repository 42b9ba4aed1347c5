//! OriSplitHighPressureLiveRanges, phase 138: what phase 19 does, once more and harder, when nothing after it changes the
//! pressure.
//!
//! ```text
//! bix0: %1 = IADD %0, 4                 bix0: ...
//!       ... (%0 and %1 live)     ─▶     bix1: ... (%0 live)
//! bix1: ST %2, [%1]                           %3 = IADD %0, 4
//!       ST %2, [%0]                           ST %2, [%3]
//!                                             ST %2, [%0]
//! ```
//!
//! Beside what [`ori_split_live_ranges`](super::ori_split_live_ranges) makes anew, it repeats cheap arithmetic on registers
//! that are live anyway, also in deeper loops than where the value was made first, and it goes through the function more
//! often. The rest, what it needs and leaves true included, is the same.
//!
//! The reference says of it only that it is the late and aggressive form of phase 19.
//!
//! **Off by default.** Its figures are in `docs/live-range-splitting.md`.

use super::ori_split_live_ranges::{Policy, split};
use super::{PhaseContext, PhaseResult};
use crate::ori::Function;

/// The phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let policy = Policy {
        budget: context.options.register_budget,
        repeats_arithmetic: true,
        enters_loops: true,
        rounds: 8,
    };
    split(function, context, policy)
}
