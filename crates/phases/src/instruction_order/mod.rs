//! Orders of the instructions of a block that respect the dependencies, for the phases that
//! reorder: [`ScheduleForPressure`](super::schedule_for_pressure) to lower the pressure, and
//! [`ReorderInstructions`](super::reorder_instructions) by a rule of the user's choice. Peaks are
//! also for [`Rematerialize`](super::rematerialize).
//!
//! | file | subject |
//! |---|---|
//! | `list.rs` | list scheduling from the end of the block |
//! | `block_order.rs` | the order of a block, and its application |
//! | `peak.rs` | the peak of a block, in its order or another |
//! | `loads_first.rs` | the order once ptxas has moved loads up |
//! | `weights.rs` | the number of ptxas' registers that each register takes |
//!
//! Debug instructions follow their predecessors and do not influence the order.

mod block_order;
mod list;
mod loads_first;
mod peak;
#[cfg(test)]
mod tests;
mod weights;

pub(super) use block_order::BlockOrder;
pub(super) use peak::PeakFinder;
pub(super) use weights::Weights;

use oriel_ori::{AddressSpace, Function, Instruction, Operation};

/// The rule that chooses the next instruction, from the end of a block upward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChoiceRule {
    /// One that makes no more registers live than it frees; among those, or if there is none, the
    /// one whose result was requested last.
    Pressure,
    /// The one whose result was requested last: every instruction is placed at its first use.
    AskedLast,
    /// One that makes no more registers live than it frees; otherwise the present order.
    FreeFirst,
    /// The one that makes the fewest registers live.
    FewestAdded,
    /// The one with the longest path to it: instructions with long latencies come early.
    LongestPath,
    /// Chooses loads last; since blocks are filled from their end, they come as early as possible. The rest
    /// in the present order.
    LoadsEarly,
    /// Chooses loads first, so that they come directly before their first use. The rest in the present
    /// order.
    LoadsLate,
    /// A random one, by this seed.
    Random(u64),
}

impl ChoiceRule {
    /// The number of rules, not counting seeds.
    pub const COUNT: i64 = 8;

    /// Returns the rule with a number from 1 on, as the knob names them; the seed is for the one
    /// that takes it.
    pub fn of(number: i64, seed: u64) -> Option<Self> {
        Some(match number {
            1 => Self::Pressure,
            2 => Self::AskedLast,
            3 => Self::FreeFirst,
            4 => Self::FewestAdded,
            5 => Self::LongestPath,
            6 => Self::LoadsEarly,
            7 => Self::LoadsLate,
            Self::COUNT => Self::Random(seed),
            _ => return None,
        })
    }
}

/// True for a load with a long latency. Parameters of kernels are operands.
pub(super) fn is_load(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Ld
        && function.modifiers(instruction).space != AddressSpace::EntryParam
}
