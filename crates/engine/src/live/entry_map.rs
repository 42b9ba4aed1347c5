//! The entries of a numbering that changes, insertion points, and renumberings.

use super::slot_index::{Slot, SlotIndex};
use crate::entity::{Block, Instruction, PackedOption};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// A position for a new instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertionPoint {
    /// Directly after the entry of this instruction, before blank entries that follow it.
    After(Instruction),
    /// Directly before the entry of this instruction, after blank entries that precede it.
    Before(Instruction),
    /// First in the block.
    AtStart(Block),
    /// Last in the block.
    AtEnd(Block),
}

/// The numbers that a change moved: monotone pairs of old and new entry numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renumbering {
    pub(super) moved: Vec<(u32, u32)>,
}

impl Renumbering {
    /// Returns the lowest and the highest old number that moved.
    pub fn window(&self) -> Option<(SlotIndex, SlotIndex)> {
        let first = self.moved.first()?.0;
        let last = self.moved.last()?.0;
        Some((
            SlotIndex::new(first, Slot::Block),
            SlotIndex::new(last, Slot::Dead),
        ))
    }

    /// Returns an index's number after the change.
    pub fn map(&self, index: SlotIndex) -> SlotIndex {
        match self.moved.binary_search_by_key(&index.base(), |&(old, _)| old) {
            Ok(position) => SlotIndex::new(self.moved[position].1, index.slot()),
            Err(_) => index,
        }
    }
}

/// The entries of a changed numbering in order.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryMap {
    pub(super) entries: BTreeMap<u32, PackedOption<Instruction>>,
}

impl EntryMap {
    /// Creates a map from entries in order.
    pub(super) fn new(entries: impl IntoIterator<Item = (SlotIndex, PackedOption<Instruction>)>) -> Self {
        let entries = entries.into_iter();
        Self {
            entries: entries
                .map(|(index, instruction)| (index.base(), instruction))
                .collect(),
        }
    }

    pub(super) fn instruction_at(&self, index: SlotIndex) -> Option<Instruction> {
        self.entries.get(&index.base()).and_then(|entry| entry.expand())
    }

    pub(super) fn next_instruction(&self, index: SlotIndex) -> Option<SlotIndex> {
        self.entries
            .range((Excluded(index.base()), Unbounded))
            .find(|(_, instruction)| instruction.is_some())
            .map(|(&number, _)| SlotIndex::new(number, index.slot()))
    }

    pub(super) fn previous_entry(&self, index: SlotIndex) -> Option<SlotIndex> {
        let previous = self.entries.range(..index.base()).next_back();
        previous.map(|(&number, _)| SlotIndex::new(number, Slot::Block))
    }

    pub(super) fn entries(&self) -> Vec<(SlotIndex, PackedOption<Instruction>)> {
        let entries = self.entries.iter();
        entries
            .map(|(&number, &instruction)| (SlotIndex::new(number, Slot::Block), instruction))
            .collect()
    }
}
