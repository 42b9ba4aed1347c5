//! Numbers the instructions of a function, as LLVM's `SlotIndexes` does.
//!
//! Entry *k* of a fresh numbering has the number 16·*k*. The entries are, in layout order: one for
//! the start of the function, one per instruction, and one blank entry after each block, which is
//! the block's end and the next block's start. Debug instructions have no entry, so that debug
//! information never changes a number.
//!
//! A fresh numbering is three flat arrays, filled at memory speed. The first change builds the
//! ordered map that insertion and removal need ([`slot_update`](super::slot_update)).

use super::entry_map::EntryMap;
use super::function::Function;
use super::slot_index::{INSTRUCTION_DISTANCE, Slot, SlotIndex};
use crate::entity::{Block, EntityRef, Instruction, PackedOption};
use std::fmt;

/// The most instructions and blocks of a function, so that every number is below the reserved one.
pub const MOST_ENTRIES: usize = (u32::MAX / INSTRUCTION_DISTANCE) as usize - 1;

const TOO_LARGE: &str = "a function has at most 2^28 - 2 instructions and blocks";

/// Marks the number of an instruction without an entry of its own; the number is then that of the
/// entry before it.
const WITHOUT_ENTRY: u32 = 1;

/// The numbering of one function.
#[derive(Clone, Debug, Default)]
pub struct SlotIndexes {
    /// The start of each block in layout order, and the end of the last block.
    pub(super) block_starts: Vec<SlotIndex>,
    /// Number of each instruction's entry, or of the entry before it plus [`WITHOUT_ENTRY`].
    pub(super) instruction_numbers: Vec<u32>,
    /// First instruction of each block, and the instruction count.
    pub(super) first_instructions: Vec<u32>,
    /// Present once the numbering has been changed.
    pub(super) edited: Option<Box<EntryMap>>,
}

impl SlotIndexes {
    /// Numbers `function`.
    pub fn new(function: &impl Function) -> Self {
        let mut indexes = Self::default();
        indexes.compute(function);
        indexes
    }

    /// Numbers `function` afresh, reusing memory.
    ///
    /// # Panics
    /// It has more instructions and blocks than 32 bits can number.
    pub fn compute(&mut self, function: &impl Function) {
        self.edited = None;
        self.block_starts.clear();
        self.instruction_numbers.clear();
        self.first_instructions.clear();

        let entries = function.instruction_count() + function.block_count();
        assert!(entries <= MOST_ENTRIES, "{TOO_LARGE}");
        self.block_starts.reserve(function.block_count() + 1);
        self.first_instructions.reserve(function.block_count() + 1);
        self.instruction_numbers.reserve(function.instruction_count());
        let has_debug = function.has_debug_instructions();
        let mut number = 0;
        for block in (0..function.block_count()).map(Block::new) {
            let range = function.instruction_range(block);
            self.block_starts.push(SlotIndex::new(number, Slot::Block));
            self.first_instructions.push(range.start as u32);
            if has_debug {
                for instruction in range {
                    if function.is_debug_instruction(Instruction::new(instruction)) {
                        self.instruction_numbers.push(number | WITHOUT_ENTRY);
                    } else {
                        number += INSTRUCTION_DISTANCE;
                        self.instruction_numbers.push(number);
                    }
                }
            } else {
                self.instruction_numbers
                    .extend(numbers_behind(number, range.len()));
                number += range.len() as u32 * INSTRUCTION_DISTANCE;
            }
            number += INSTRUCTION_DISTANCE;
        }
        self.first_instructions.push(function.instruction_count() as u32);
        self.block_starts.push(SlotIndex::new(number, Slot::Block));
    }

    /// Numbers a function without debug instructions whose blocks have these numbers of
    /// instructions.
    ///
    /// # Panics
    /// As [`compute`](Self::compute).
    pub(super) fn of_lengths(lengths: &[usize]) -> Self {
        let mut indexes = Self::default();
        indexes.instruction_numbers.reserve(lengths.iter().sum());
        let mut end = 0;
        for &length in lengths {
            let first = indexes.instruction_numbers.len();
            indexes.first_instructions.push(first as u32);
            indexes.block_starts.push(SlotIndex::new(end, Slot::Block));
            let entries = first + length + indexes.block_starts.len();
            assert!(entries <= MOST_ENTRIES, "{TOO_LARGE}");
            indexes.instruction_numbers.extend(numbers_behind(end, length));
            end = entries as u32 * INSTRUCTION_DISTANCE;
        }
        let count = indexes.instruction_numbers.len();
        indexes.first_instructions.push(count as u32);
        indexes.block_starts.push(SlotIndex::new(end, Slot::Block));
        indexes
    }

    /// Returns the start of each block in layout order, and the end of the last one.
    #[inline]
    pub fn block_starts(&self) -> &[SlotIndex] {
        &self.block_starts
    }

    /// True if the numbering has been changed since it was computed.
    #[inline]
    pub fn is_edited(&self) -> bool {
        self.edited.is_some()
    }

    /// Returns the first index.
    #[inline]
    pub fn zero_index(&self) -> SlotIndex {
        SlotIndex::ZERO
    }

    /// Returns the index of the last entry, which is the end of the last block.
    #[inline]
    pub fn last_index(&self) -> SlotIndex {
        self.block_starts.last().copied().unwrap_or(SlotIndex::ZERO)
    }

    /// True if the instruction has an index. Debug and removed instructions have none.
    #[inline]
    pub fn has_index(&self, instruction: Instruction) -> bool {
        self.entry_number(instruction).is_some()
    }

    /// Returns the number of an instruction's entry, if it has one of its own.
    #[inline]
    pub(super) fn entry_number(&self, instruction: Instruction) -> Option<u32> {
        let number = self.instruction_numbers.get(instruction.index()).copied();
        number.filter(|number| number & WITHOUT_ENTRY == 0)
    }

    /// Returns the block slot of an instruction.
    ///
    /// # Panics
    /// The instruction has no index.
    pub fn instruction_index(&self, instruction: Instruction) -> SlotIndex {
        let number = self.instruction_numbers[instruction.index()];
        assert!(number & WITHOUT_ENTRY == 0, "{instruction:?} has no index");
        SlotIndex::new(number, Slot::Block)
    }

    /// Returns the index of the instruction, or that of the preceding entry in its block if it has
    /// none.
    ///
    /// For a removed instruction this is the entry that it had.
    pub fn index_at_or_before(&self, instruction: Instruction) -> SlotIndex {
        let number = self.instruction_numbers[instruction.index()];
        SlotIndex::new(number & !WITHOUT_ENTRY, Slot::Block)
    }

    /// Returns the instruction at an index, whatever the slot, or none at block boundaries and
    /// where the instruction was removed.
    pub fn instruction_at(&self, index: SlotIndex) -> Option<Instruction> {
        if let Some(edited) = &self.edited {
            return edited.instruction_at(index);
        }
        let block = self.block_at(index)?;
        let first = self.first_instructions[block.index()] as usize;
        let last = self.first_instructions[block.index() + 1] as usize;
        let numbers = &self.instruction_numbers[first..last];
        // Debug instructions sort directly after the entry that they follow.
        let position = numbers.partition_point(|&number| number < index.base());
        (numbers.get(position) == Some(&index.base())).then(|| Instruction::new(first + position))
    }

    /// Returns the next index after `index` that belongs to an instruction, with the same slot, or
    /// the last index if there is none.
    pub fn next_instruction_index(&self, index: SlotIndex) -> SlotIndex {
        if let Some(edited) = &self.edited {
            return edited
                .next_instruction(index)
                .unwrap_or_else(|| self.last_index());
        }
        let mut base = index.base();
        let last = self.last_index();
        while base < last.base() {
            base += INSTRUCTION_DISTANCE;
            let candidate = SlotIndex::new(base, Slot::Block);
            if self.instruction_at(candidate).is_some() {
                return SlotIndex::new(base, index.slot());
            }
        }
        last
    }

    /// Returns the block slot of the entry before that of `index`.
    #[inline]
    pub fn previous_entry(&self, index: SlotIndex) -> Option<SlotIndex> {
        match &self.edited {
            Some(edited) => edited.previous_entry(index),
            None => {
                (index.base() > 0).then(|| SlotIndex::new(index.base() - INSTRUCTION_DISTANCE, Slot::Block))
            }
        }
    }

    /// Returns the start of a block.
    #[inline]
    pub fn block_start(&self, block: Block) -> SlotIndex {
        self.block_starts[block.index()]
    }

    /// Returns the end of a block: the index past the last one that belongs to it.
    #[inline]
    pub fn block_end(&self, block: Block) -> SlotIndex {
        self.block_starts[block.index() + 1]
    }

    /// Start and end of a block.
    #[inline]
    pub fn block_range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        (self.block_start(block), self.block_end(block))
    }

    /// Returns the block that contains an index. A block boundary belongs to the block that starts
    /// there; the last index belongs to none.
    pub fn block_at(&self, index: SlotIndex) -> Option<Block> {
        if index.base_index() >= self.last_index() {
            return None;
        }
        let position = self.block_starts.partition_point(|&start| start <= index);
        Some(Block::new(position - 1))
    }

    /// Returns the block that contains the position just before `index`: for a block's end, that
    /// block.
    pub fn block_before(&self, index: SlotIndex) -> Option<Block> {
        if !index.is_block() {
            return self.block_at(index);
        }
        self.previous_entry(index).and_then(|entry| self.block_at(entry))
    }

    /// Returns every entry with the instruction that it belongs to, in order.
    pub fn entries(&self) -> Vec<(SlotIndex, PackedOption<Instruction>)> {
        if let Some(edited) = &self.edited {
            return edited.entries();
        }
        let mut entries = vec![(SlotIndex::ZERO, PackedOption::default())];
        for range in self.first_instructions.windows(2) {
            for instruction in (range[0] as usize..range[1] as usize).map(Instruction::new) {
                if self.has_index(instruction) {
                    entries.push((self.instruction_index(instruction), instruction.into()));
                }
            }
            let end = entries.last().map_or(0, |(index, _)| index.number()) + INSTRUCTION_DISTANCE;
            entries.push((SlotIndex::new(end, Slot::Block), PackedOption::default()));
        }
        entries
    }

    /// Records that an instruction lost its entry.
    pub(super) fn forget_instruction(&mut self, instruction: Instruction) {
        self.instruction_numbers[instruction.index()] |= WITHOUT_ENTRY;
    }

    /// Records the entry of an instruction.
    pub(super) fn record_instruction(&mut self, instruction: Instruction, number: u32) {
        let index = instruction.index();
        if index >= self.instruction_numbers.len() {
            self.instruction_numbers.resize(index + 1, WITHOUT_ENTRY);
        }
        self.instruction_numbers[index] = number;
    }
}

/// Returns the numbers of `count` entries behind that with the number `start`.
fn numbers_behind(start: u32, count: usize) -> impl Iterator<Item = u32> {
    (1..=count as u32).map(move |position| start + position * INSTRUCTION_DISTANCE)
}

impl fmt::Display for SlotIndexes {
    /// Prints one line per entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, instruction) in self.entries() {
            match instruction.expand() {
                Some(instruction) => writeln!(f, "{} {instruction:?}", index.number())?,
                None => writeln!(f, "{}", index.number())?,
            }
        }
        Ok(())
    }
}
