//! Orders of the instructions of a block, along the dependences, for the phases that put them into
//! one: [`ScheduleForPressure`](super::schedule_for_pressure) where fewer registers are live then,
//! and [`ReorderInstructions`](super::reorder_instructions) by a rule of the user's choice.
//!
//! | file | subject |
//! |---|---|
//! | `list.rs` | list scheduling from the end of the block |
//! | `block_order.rs` | the order of a block, and putting its instructions into it |
//! | `weights.rs` | how many of ptxas' registers each register takes |
//!
//! Debug instructions follow what they stood behind, and have no say in the order.

mod block_order;
mod list;
#[cfg(test)]
mod tests;
mod weights;

pub(super) use block_order::BlockOrder;
pub(super) use weights::Weights;

use oriel_ori::{AddressSpace, Function, Instruction, Operation};

/// Which instruction is next, from the end of a block upwards, of those that can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// One that makes no more registers live than it frees; among them, and if there is none, the
    /// one whose result was asked for last.
    Pressure,
    /// The one whose result was asked for last: everything stands at its first use.
    AskedLast,
    /// One that makes no more registers live than it frees; else as they stand.
    FreeFirst,
    /// The one that makes the fewest registers live.
    FewestAdded,
    /// The one with the longest path to it: what others wait for long comes early.
    LongestPath,
    /// Loads last, so that they come as early as they can; the rest as it stands.
    LoadsEarly,
    /// Loads first, so that they come right before their first use; the rest as it stands.
    LoadsLate,
    /// Any, by this seed.
    Random(u64),
}

impl Policy {
    /// How many there are, whatever the seed.
    pub const COUNT: i64 = 8;

    /// Returns the one with a number from 1 on, which is how the knob names them, and its seed if
    /// it takes one.
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

/// True if it is a load that takes its time. Parameters of kernels are operands.
pub(super) fn is_load(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Ld
        && function.modifiers(instruction).space != AddressSpace::EntryParam
}
