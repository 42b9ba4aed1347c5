//! Changes to a numbering: inserted, removed and reordered instructions.
//!
//! LLVM renumbers forward from an insertion until the numbers catch up, and repacks the whole
//! function when that runs too far. Here the entries of the smallest aligned window that is sparse
//! enough are spread evenly. The limit falls as windows grow, so an insertion, even repeated at one
//! position, moves a number of entries that does not grow with the function.

use super::entry_map::{EntryMap, InsertionPoint, Renumbering};
use super::slot_index::{INSTRUCTION_DISTANCE, SLOT_COUNT, Slot, SlotIndex};
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, Instruction, PackedOption};
use std::ops::Bound::{Excluded, Unbounded};

impl SlotIndexes {
    /// Gives `instruction` an index at `at`. Instructions unknown to the numbering have numbers
    /// from its instruction count on.
    ///
    /// Returns the new index and the entries that moved.
    ///
    /// # Panics
    /// The instruction already has an index, or the one named in `at` has none.
    pub fn insert_instruction(
        &mut self,
        instruction: Instruction,
        at: InsertionPoint,
    ) -> (SlotIndex, Renumbering) {
        assert!(
            !self.has_index(instruction),
            "{instruction:?} already has an index"
        );
        self.edit();
        let before = match at {
            InsertionPoint::After(other) => self.instruction_index(other),
            InsertionPoint::Before(other) => self.entry_before(self.instruction_index(other)),
            InsertionPoint::AtStart(block) => self.block_start(block),
            InsertionPoint::AtEnd(block) => self.entry_before(self.block_end(block)),
        };
        let (number, moved) = self.insert_entry(before, instruction);
        (SlotIndex::new(number, Slot::Block), moved)
    }

    /// Removes the index of `instruction`. The entry stays, so that live ranges that end there stay
    /// valid.
    ///
    /// # Panics
    /// The instruction has no index.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        let index = self.instruction_index(instruction);
        self.edit().entries.insert(index.base(), PackedOption::default());
        self.forget_instruction(instruction);
    }

    /// Numbers every entry afresh with the default distance.
    pub fn pack(&mut self) -> Renumbering {
        let count = self.edit().entries.len() as u32;
        self.renumber(0, u32::MAX, |position| position * INSTRUCTION_DISTANCE, count)
    }

    /// Repairs the indices of a block from `begin` to `end` (by default its ends) after its
    /// instructions were changed. `order` lists the instructions that are now strictly between
    /// them.
    ///
    /// Removed instructions lose their index, new ones get one, and moved ones get another.
    pub fn repair(
        &mut self,
        block: Block,
        begin: Option<Instruction>,
        end: Option<Instruction>,
        order: &[Instruction],
    ) -> Renumbering {
        let (start, stop) = (
            begin.map_or_else(|| self.block_start(block), |begin| self.instruction_index(begin)),
            end.map_or_else(|| self.block_end(block), |end| self.instruction_index(end)),
        );
        let inside: Vec<Instruction> = self
            .edit()
            .entries
            .range((Excluded(start.base()), Excluded(stop.base())))
            .filter_map(|(_, instruction)| instruction.expand())
            .collect();
        let keep: std::collections::HashSet<Instruction> = order.iter().copied().collect();
        for &instruction in inside.iter().filter(|instruction| !keep.contains(instruction)) {
            self.remove_instruction(instruction);
        }
        let mut moved = Renumbering::default();
        let mut previous = begin.map_or(InsertionPoint::AtStart(block), InsertionPoint::After);
        for &instruction in order {
            let before = match previous {
                InsertionPoint::After(other) => self.instruction_index(other),
                _ => self.block_start(block),
            };
            if self.has_index(instruction) && self.instruction_index(instruction) <= before {
                self.remove_instruction(instruction);
            }
            if !self.has_index(instruction) {
                let (_, more) = self.insert_instruction(instruction, previous);
                moved = moved.then(&more);
            }
            previous = InsertionPoint::After(instruction);
        }
        moved
    }

    fn edit(&mut self) -> &mut EntryMap {
        if self.edited.is_none() {
            self.edited = Some(Box::new(EntryMap::new(self.entries())));
        }
        self.edited.as_mut().expect("it was just built")
    }

    fn entry_before(&self, index: SlotIndex) -> SlotIndex {
        self.previous_entry(index)
            .expect("the first entry belongs to no instruction")
    }

    /// Inserts an entry directly after that of `before`.
    fn insert_entry(&mut self, before: SlotIndex, instruction: Instruction) -> (u32, Renumbering) {
        let mut before = before.base();
        let mut moved = Renumbering::default();
        let gap_behind = |map: &EntryMap, before: u32| {
            let next = map.entries.range((Excluded(before), Unbounded)).next();
            let next = next.map_or(before + 2 * INSTRUCTION_DISTANCE, |(&number, _)| number);
            ((next - before) / 2) & !(SLOT_COUNT - 1)
        };
        let mut gap = gap_behind(self.edit(), before);
        if gap == 0 {
            moved = self.make_room(before);
            before = moved.map(SlotIndex::new(before, Slot::Block)).base();
            gap = gap_behind(self.edit(), before);
            debug_assert!(gap > 0, "spreading a window leaves gaps");
        }
        let number = before + gap;
        self.edit().entries.insert(number, instruction.into());
        self.record_instruction(instruction, number);
        (number, moved)
    }

    /// Spreads the entries of the smallest window around `around` that is sparse enough.
    fn make_room(&mut self, around: u32) -> Renumbering {
        for bits in 6..=31_u32 {
            let low = around >> bits << bits;
            let positions = (1_u64 << bits) / u64::from(SLOT_COUNT);
            let high = low + ((1_u32 << bits) - 1);
            let count = self.edit().entries.range(low..=high).count() as u64;
            if ((count + 1) as f64) < positions as f64 * density_limit(bits) {
                let spread =
                    move |position: u32| low + (u64::from(position) * positions / count) as u32 * SLOT_COUNT;
                return self.renumber(low, high, spread, count as u32);
            }
        }
        self.pack()
    }

    /// Renumbers the `count` entries numbered `low` to `high` by `number`.
    fn renumber(&mut self, low: u32, high: u32, number: impl Fn(u32) -> u32, count: u32) -> Renumbering {
        let map = self.edit();
        let window: Vec<_> = map
            .entries
            .range(low..=high)
            .map(|(&old, &entry)| (old, entry))
            .collect();
        debug_assert_eq!(window.len(), count as usize);
        let mut moved = Vec::new();
        for (position, &(old, _)) in window.iter().enumerate() {
            let new = number(position as u32);
            if old != new {
                moved.push((old, new));
            }
        }
        for (old, _) in &moved {
            map.entries.remove(old);
        }
        for (position, &(old, entry)) in window.iter().enumerate() {
            let new = number(position as u32);
            if old != new {
                map.entries.insert(new, entry);
            }
        }
        let first = self.block_starts.partition_point(|start| start.base() < low);
        for start in &mut self.block_starts[first..] {
            if start.base() > high {
                break;
            }
            if let Ok(position) = moved.binary_search_by_key(&start.base(), |&(old, _)| old) {
                *start = SlotIndex::new(moved[position].1, Slot::Block);
            }
        }
        for (position, (_, entry)) in window.iter().enumerate() {
            if let Some(instruction) = entry.expand() {
                self.record_instruction(instruction, number(position as u32));
            }
        }
        Renumbering { moved }
    }
}

impl Renumbering {
    /// Returns this change followed by `next`.
    pub fn then(&self, next: &Self) -> Self {
        let mut moved: Vec<(u32, u32)> = self
            .moved
            .iter()
            .map(|&(old, new)| (old, next.map(SlotIndex::new(new, Slot::Block)).base()))
            .collect();
        let produced: std::collections::HashSet<u32> = self.moved.iter().map(|&(_, new)| new).collect();
        let known: std::collections::HashSet<u32> = self.moved.iter().map(|&(old, _)| old).collect();
        moved.extend(
            next.moved
                .iter()
                .filter(|(old, _)| !produced.contains(old) && !known.contains(old)),
        );
        moved.sort_unstable();
        Self { moved }
    }
}

/// Returns the share of its positions to which a window of 2^`bits` numbers may be filled. It falls
/// by a constant factor from level to level (Bender, Cole, Demaine, Farach-Colton and Zito, "Two
/// Simplified Algorithms for Maintaining Order in a List", 2002), so that a wide window, once
/// spread, allows many insertions.
fn density_limit(bits: u32) -> f64 {
    1.15_f64.powi(2 - bits as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityRef;
    use crate::live::testing::{PLAIN, Random, TestFunction, operand};
    use crate::snapshot::abi::OperandFlags;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn numbers_stay_ordered(seed: u64, hot: bool) {
            let mut random = Random(seed);
            let mut function = TestFunction::new(1);
            for block in 0..4 {
                function.block(if block < 3 { &[1] } else { &[] });
                for _ in 0..5 {
                    function.instruction(PLAIN, &[operand(0, OperandFlags::UNDEF)]);
                }
            }
            let function = function.finish(|| 0);
            let snapshot = function.snapshot();
            let mut indexes = SlotIndexes::new(&snapshot);
            let mut order: Vec<Instruction> = snapshot.instructions().collect();
            let mut renumbered = 0;
            for number in 0..300 {
                let position = if hot { 7 } else { random.below(order.len() as u32) as usize };
                let instruction = Instruction::new(20 + number);
                let (_, moved) =
                    indexes.insert_instruction(instruction, InsertionPoint::After(order[position]));
                renumbered += moved.moved.len();
                order.insert(position + 1, instruction);
                if random.chance(10) {
                    let gone = order.remove(random.below(order.len() as u32) as usize);
                    indexes.remove_instruction(gone);
                }
                if random.chance(1) {
                    indexes.pack();
                }
            }
            let numbers: Vec<_> = order.iter().map(|&name| indexes.instruction_index(name)).collect();
            prop_assert!(numbers.is_sorted_by(|one, other| one < other));
            for (&name, &index) in order.iter().zip(&numbers) {
                prop_assert_eq!(indexes.instruction_at(index), Some(name));
            }
            let starts: Vec<_> = snapshot.blocks().map(|block| indexes.block_range(block)).collect();
            prop_assert!(starts.windows(2).all(|pair| pair[0].1 == pair[1].0));
            // At most a logarithm of the entries for each insertion.
            prop_assert!(renumbered <= 300 * 40, "{renumbered}");
        }
    }

    #[test]
    fn insertion_at_one_place_costs_little() {
        let mut function = TestFunction::new(1);
        function.block(&[]);
        for _ in 0..20_000 {
            function.instruction(PLAIN, &[]);
        }
        let function = function.finish(|| 0);
        let mut indexes = SlotIndexes::new(&function.snapshot());
        let at = InsertionPoint::After(Instruction::new(10_000));
        let moved: usize = (0..20_000)
            .map(|number| indexes.insert_instruction(Instruction::new(20_000 + number), at))
            .map(|(_, renumbering)| renumbering.moved.len())
            .sum();
        assert!(moved < 20_000 * 40, "{moved} entries moved by 20,000 insertions");
    }

    #[test]
    fn a_reordered_block_is_repaired() {
        let mut function = TestFunction::new(1);
        function.block(&[1]);
        for _ in 0..4 {
            function.instruction(PLAIN, &[]);
        }
        function.block(&[]);
        function.instruction(PLAIN, &[]);
        let function = function.finish(|| 0);
        let mut indexes = SlotIndexes::new(&function.snapshot());
        let names: Vec<Instruction> = (0..7).map(Instruction::new).collect();
        let [first, last] = [0, 1].map(Block::new);
        // Behind the second instruction: two swap, one is inserted and another removed.
        indexes.repair(first, Some(names[1]), None, &[names[3], names[6], names[2]]);
        let order = [names[1], names[3], names[6], names[2]].map(|name| indexes.instruction_index(name));
        assert!(order.is_sorted() && order[3] < indexes.block_end(first));
        assert!(order.iter().all(|&index| indexes.block_at(index) == Some(first)));
        indexes.repair(first, Some(names[1]), None, &[names[6]]);
        assert!(!indexes.has_index(names[2]) && indexes.has_index(names[6]));
        assert_eq!(indexes.instruction_at(order[2]), Some(names[6]));
        assert_eq!(indexes.block_end(first), indexes.block_start(last));
    }
}
