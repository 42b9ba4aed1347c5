//! A new numbering for a function in which many instructions were moved.

use crate::entity::{EntityRef, Instruction, PackedOption};
use crate::live::live_interval::LiveIntervals;
use crate::live::slot_index::{INSTRUCTION_DISTANCE, SLOT_COUNT, SlotIndex};
use crate::live::slot_indexes::SlotIndexes;

impl LiveIntervals {
    /// Renumbers the function after instructions were placed, moved or removed in its blocks, which
    /// stay. `lengths` are the numbers of instructions that the blocks now have. Instructions are
    /// named by their positions in the layout from now on; `old_names` has the old name of each, if
    /// the old numbering knows it. `merged` has the old and the new name of further ones that are
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Block, Register};
    use crate::live::testing::{Random, random_function};
    use crate::live::{InsertionPoint, LiveRangeCalc, Slot};

    /// An end of a segment by what it is at: a block's start, or a slot of an instruction.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum End {
        Block(usize),
        Slot(Option<Instruction>, Slot),
    }

    /// Returns start, end and definition of each segment, with the instructions as `name` calls them.
    fn ends(
        intervals: &LiveIntervals,
        registers: impl Iterator<Item = Register>,
        name: impl Fn(Instruction) -> Instruction,
    ) -> Vec<[End; 3]> {
        let indexes = intervals.indexes();
        let end = |index: SlotIndex| match indexes.block_starts().binary_search(&index) {
            Ok(block) => End::Block(block),
            Err(_) => End::Slot(indexes.instruction_at(index).map(&name), index.slot()),
        };
        let segments = registers.flat_map(|register| {
            let range = intervals.interval(register);
            range.segments().iter().map(move |segment| {
                let definition = range.definition(segment.value).expect("it is used");
                [segment.start, segment.end, definition]
            })
        });
        segments.map(|places| places.map(end)).collect()
    }

    #[test]
    fn intervals_follow_a_numbering_of_inserted_instructions() {
        for seed in 0..500 {
            let mut random = Random(seed);
            let (blocks, registers, length) =
                (1 + random.below(8), 1 + random.below(12), 1 + random.below(10));
            let function = random_function(&mut random, blocks, registers, length).finish(|| 0);
            let snapshot = function.snapshot();
            let mut intervals = LiveRangeCalc::shared(|engine| engine.analyze(&snapshot));
            let mut layout: Vec<Vec<Instruction>> = snapshot
                .blocks()
                .map(|block| {
                    let instructions = snapshot.instruction_range(block).map(Instruction::new);
                    let has_index = |&it: &Instruction| intervals.indexes().has_index(it);
                    instructions.filter(has_index).collect()
                })
                .collect();
            for number in 0..random.below(60) as usize {
                let block = random.below(blocks) as usize;
                let new = Instruction::new(snapshot.instruction_count() + number);
                let place = random.below(layout[block].len() as u32 + 1) as usize;
                let point = match place.checked_sub(1) {
                    Some(before) => InsertionPoint::After(layout[block][before]),
                    None => InsertionPoint::AtStart(Block::new(block)),
                };
                intervals.insert_instruction(new, point);
                layout[block].insert(place, new);
            }
            if let Some(register) = snapshot.registers().next() {
                // A range that was edited follows, too.
                intervals.range_mut(register);
            }
            let before = ends(&intervals, snapshot.registers(), |it| it);
            let lengths: Vec<usize> = layout.iter().map(Vec::len).collect();
            let old_names: Vec<Instruction> = layout.into_iter().flatten().collect();
            let names: Vec<_> = old_names.iter().map(|&it| it.into()).collect();
            intervals.number_anew(&lengths, &names, &[]);
            let after = ends(&intervals, snapshot.registers(), |it| old_names[it.index()]);
            assert_eq!(before, after, "seed {seed}");
            let starts = intervals.indexes().block_starts();
            assert!(
                starts.is_sorted() && starts.len() == lengths.len() + 1,
                "seed {seed}"
            );
        }
    }
}
