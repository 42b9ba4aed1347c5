//! A new numbering for a function in which many instructions changed place.

use crate::entity::{EntityRef, Instruction, PackedOption};
use crate::live::live_interval::LiveIntervals;
use crate::live::slot_index::{INSTRUCTION_DISTANCE, SLOT_COUNT, SlotIndex};
use crate::live::slot_indexes::SlotIndexes;

impl LiveIntervals {
    /// Numbers the function anew, after instructions were placed, moved or removed in its blocks,
    /// which stay. `lengths` are the numbers of instructions that the blocks now have. Instructions
    /// are named by their positions in the layout from now on; `old_names` has the old name of each,
    /// if the old numbering knows it. `merged` has the old and the new name of further ones that are
    /// part of another now.
    ///
    /// Ranges follow their instructions. Those of registers that a moved or removed instruction
    /// mentions are wrong then, and the caller replaces them.
    ///
    /// This takes one pass over entries and segments, where each
    /// [`insert_instruction`](Self::insert_instruction) looks for a place of its own, and leaves a
    /// numbering as fast as a computed one.
    ///
    /// # Panics
    /// There are more or less blocks than before, or other numbers of instructions.
    pub fn number_anew(
        &mut self,
        lengths: &[usize],
        old_names: &[PackedOption<Instruction>],
        merged: &[(Instruction, Instruction)],
    ) {
        let new = SlotIndexes::of_lengths(lengths);
        let old = std::mem::replace(&mut self.indexes, new);
        let new = &self.indexes;
        assert_eq!(
            new.block_starts().len(),
            old.block_starts().len(),
            "the blocks stay"
        );
        assert_eq!(
            new.instruction_numbers.len(),
            old_names.len(),
            "each has an old name, or none"
        );
        let distance = match old.is_edited() {
            true => SLOT_COUNT,
            false => INSTRUCTION_DISTANCE,
        };
        let mut numbers = NewNumbers {
            of_entries: vec![0; (old.last_index().number() / distance) as usize + 1],
            distance,
        };
        for (&start, &new_start) in old.block_starts().iter().zip(new.block_starts()) {
            numbers.set(start.number(), new_start.number());
        }
        let merged = merged
            .iter()
            .map(|&(before, after)| (before, new.instruction_numbers[after.index()]));
        let renamed = old_names.iter().zip(&new.instruction_numbers);
        let renamed = renamed.filter_map(|(before, &number)| Some((before.expand()?, number)));
        for (before, number) in renamed.chain(merged) {
            // Debug instructions had no entry of their own.
            if let Some(old_number) = old.entry_number(before) {
                numbers.set(old_number, number);
            }
        }
        for segment in &mut self.segments {
            numbers.follow(&mut segment.start);
            numbers.follow(&mut segment.end);
        }
        self.values
            .iter_mut()
            .for_each(|definition| numbers.follow_definition(definition));
        for range in self.edited.values_mut() {
            for segment in &mut range.segments {
                numbers.follow(&mut segment.start);
                numbers.follow(&mut segment.end);
            }
            range
                .values
                .iter_mut()
                .for_each(|definition| numbers.follow_definition(definition));
        }
    }
}

/// The new number of each entry of an old numbering.
struct NewNumbers {
    of_entries: Vec<u32>,
    /// The numbers from one old entry to the next.
    distance: u32,
}

impl NewNumbers {
    fn set(&mut self, old: u32, new: u32) {
        self.of_entries[(old / self.distance) as usize] = new;
    }

    fn follow(&self, index: &mut SlotIndex) {
        let number = self.of_entries[(index.number() / self.distance) as usize];
        *index = SlotIndex::new(number, index.slot());
    }

    fn follow_definition(&self, definition: &mut PackedOption<SlotIndex>) {
        if let Some(mut index) = definition.expand() {
            self.follow(&mut index);
            *definition = index.into();
        }
    }
}
