//! A position in a function's numbering: an instruction (or block boundary) and a slot within it.
//!
//! LLVM's `SlotIndex` points into a list, so that renumbering moves every index at once. Here an
//! index is the number itself: it is half the size, compares without a memory access, and a
//! renumbering lists the numbers that it moved ([`Renumbering`](super::slot_indexes::Renumbering)).

use crate::entity::ReservedValue;
use std::fmt;

/// The four slots of an instruction, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Slot {
    /// A block boundary, where live-in values begin and PHI values are defined.
    Block = 0,
    /// Definitions before the instruction's operands are read.
    EarlyClobber = 1,
    /// Ordinary definitions and uses.
    Register = 2,
    /// The end of a value that nothing reads.
    Dead = 3,
}

/// Number of slots an instruction has.
pub const SLOT_COUNT: u32 = 4;

/// Distance between neighbouring instructions in a fresh numbering.
pub const INSTRUCTION_DISTANCE: u32 = 4 * SLOT_COUNT;

/// A position in a function. Displays as LLVM prints it: `16r`, `32B`, `48e`, `48d`.
///
/// The all-ones number is not an index; it is the reserved value that `PackedOption` stores for
/// "none" and displays as `invalid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SlotIndex(u32);

impl SlotIndex {
    /// The first index of every function: the start of the entry block.
    pub const ZERO: Self = Self(0);

    /// Creates the index at `slot` of the entry numbered `base`, a multiple of four.
    pub fn new(base: u32, slot: Slot) -> Self {
        debug_assert!(
            base.is_multiple_of(SLOT_COUNT),
            "{base} is not the number of an entry"
        );
        Self(base | slot as u32)
    }

    /// Converts the result of [`number`](Self::number) back to an index.
    #[inline]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number of the entry plus that of the slot, which orders indices.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the number of the entry that the index belongs to.
    #[inline]
    pub const fn base(self) -> u32 {
        self.0 & !(SLOT_COUNT - 1)
    }

    /// Returns the slot.
    #[inline]
    pub const fn slot(self) -> Slot {
        match self.0 & (SLOT_COUNT - 1) {
            0 => Slot::Block,
            1 => Slot::EarlyClobber,
            2 => Slot::Register,
            _ => Slot::Dead,
        }
    }

    /// True if it is a block boundary.
    #[inline]
    pub const fn is_block(self) -> bool {
        matches!(self.slot(), Slot::Block)
    }

    /// True if it is an early-clobber slot.
    #[inline]
    pub const fn is_early_clobber(self) -> bool {
        matches!(self.slot(), Slot::EarlyClobber)
    }

    /// True if it is an ordinary register slot.
    #[inline]
    pub const fn is_register(self) -> bool {
        matches!(self.slot(), Slot::Register)
    }

    /// True if it is the end of a dead definition.
    #[inline]
    pub const fn is_dead(self) -> bool {
        matches!(self.slot(), Slot::Dead)
    }

    /// Returns the block slot of the same entry.
    #[inline]
    pub const fn base_index(self) -> Self {
        Self(self.base())
    }

    /// Returns the slot at which the entry defines and reads registers.
    pub const fn register_slot(self, early_clobber: bool) -> Self {
        let slot = if early_clobber {
            Slot::EarlyClobber
        } else {
            Slot::Register
        };
        Self(self.base() | slot as u32)
    }

    /// Returns the end of a dead definition of the entry.
    #[inline]
    pub const fn dead_slot(self) -> Self {
        Self(self.base() | Slot::Dead as u32)
    }

    /// True if both belong to one entry.
    #[inline]
    pub const fn is_same_instruction(self, other: Self) -> bool {
        self.base() == other.base()
    }

    /// True if the entry comes before that of `other`.
    #[inline]
    pub const fn is_earlier_instruction(self, other: Self) -> bool {
        self.base() < other.base()
    }

    /// True if the entry comes before that of `other` or is the same.
    #[inline]
    pub const fn is_earlier_or_same_instruction(self, other: Self) -> bool {
        self.base() <= other.base()
    }
}

impl ReservedValue for SlotIndex {
    fn reserved_value() -> Self {
        Self(u32::MAX)
    }

    fn is_reserved_value(&self) -> bool {
        self.0 == u32::MAX
    }
}

impl fmt::Display for SlotIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_reserved_value() {
            return f.write_str("invalid");
        }
        let letter = match self.slot() {
            Slot::Block => 'B',
            Slot::EarlyClobber => 'e',
            Slot::Register => 'r',
            Slot::Dead => 'd',
        };
        write!(f, "{}{letter}", self.base())
    }
}

impl fmt::Debug for SlotIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::PackedOption;

    #[test]
    fn prints_llvm_notation() {
        let base = SlotIndex::new(48, Slot::Block);
        assert_eq!(base.to_string(), "48B");
        assert_eq!(base.register_slot(true).to_string(), "48e");
        assert_eq!(base.register_slot(false).to_string(), "48r");
        assert_eq!(base.dead_slot().to_string(), "48d");
        assert_eq!(SlotIndex::reserved_value().to_string(), "invalid");
        assert!(PackedOption::<SlotIndex>::default().is_none());
    }

    #[test]
    fn slots_of_one_instruction_are_ordered() {
        let base = SlotIndex::new(32, Slot::Block);
        let slots = [
            base,
            base.register_slot(true),
            base.register_slot(false),
            base.dead_slot(),
        ];
        assert!(slots.is_sorted());
        assert!(slots.iter().all(|slot| slot.is_same_instruction(base)));
        let next = SlotIndex::new(48, Slot::Block);
        assert!(base.dead_slot() < next && base.dead_slot().is_earlier_instruction(next));
    }
}
