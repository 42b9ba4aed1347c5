//! Moves of instructions within their block.
//!
//! LLVM edits segment by segment. This file recomputes the block's part of each range: the values
//! that enter and leave the block stay the same, and a pass over the block's operands is simpler
//! than LLVM's many cases.

use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::live::entry_map::InsertionPoint;
use crate::live::live_interval::{LiveIntervals, LiveSegment, OwnedLiveRange};
use crate::live::scan::{defines, definition_slot, reads, use_slot};
use crate::live::slot_index::SlotIndex;
use crate::live::value::ValueNumber;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::OpcodeFlags;
use std::collections::BTreeSet;

impl LiveIntervals {
    /// Moves an instruction within its block and updates the ranges of all its registers. No
    /// definition of a register that it reads, and no read or definition of one that it defines,
    /// may lie on the way. `snapshot` provides the operands; its order of instructions does not
    /// matter.
    ///
    /// Returns the new index.
    pub fn move_instruction(
        &mut self,
        snapshot: &Snapshot<'_>,
        instruction: Instruction,
        at: InsertionPoint,
    ) -> SlotIndex {
        let old = self.indexes.instruction_index(instruction);
        let block = self.indexes.block_at(old).expect("an instruction is in a block");
        self.indexes.remove_instruction(instruction);
        let (new, renumbering) = self.indexes.insert_instruction(instruction, at);
        self.apply_renumbering(&renumbering);
        debug_assert_eq!(
            self.indexes.block_at(new),
            Some(block),
            "moves do not leave the block"
        );
        let old = renumbering.map(old);
        let registers: BTreeSet<Register> = snapshot
            .instruction(instruction)
            .operands()
            .filter(|operand| defines(operand.record()) || reads(operand.record()))
            .filter_map(|operand| operand.register())
            .filter(|&register| self.has_interval(register))
            .collect();
        for register in registers {
            self.rebuild_in_block(snapshot, register, block, |index| {
                if index.is_same_instruction(old) {
                    SlotIndex::new(new.base(), index.slot())
                } else {
                    index
                }
            });
        }
        new
    }

    /// Derives the part of a range that lies in `block` from the block's instructions. Values keep
    /// their numbers; `moved` tells where a definition went.
    fn rebuild_in_block(
        &mut self,
        snapshot: &Snapshot<'_>,
        register: Register,
        block: Block,
        moved: impl Fn(SlotIndex) -> SlotIndex,
    ) {
        let (start, end) = self.indexes.block_range(block);
        let range = self.interval(register).to_owned();
        let (live_in, live_out) = (
            range.as_range().value_at(start),
            range.as_range().value_before(end),
        );
        let mut events = self.operands_between(snapshot, register, start, end);
        events.sort_unstable();

        let mut result = OwnedLiveRange {
            values: range.values.clone(),
            ..OwnedLiveRange::default()
        };
        for definition in &mut result.values {
            *definition = definition.map(&moved).into();
        }
        for &segment in &range.segments {
            if segment.start < start {
                let end = segment.end.min(start);
                result.segments.push(LiveSegment { end, ..segment });
            }
        }
        let mut current = live_in.map(|value| LiveSegment {
            start,
            end: start,
            value,
        });
        for event in events {
            match event {
                (slot, Event::Read) => {
                    if let Some(segment) = &mut current {
                        segment.end = segment.end.max(slot);
                    }
                }
                (slot, Event::Definition) => {
                    result.push_piece(current.take());
                    let value = result
                        .values
                        .iter()
                        .position(|&definition| definition == slot.into());
                    let value = ValueNumber::new(value.expect("every definition has a value"));
                    current = Some(LiveSegment {
                        start: slot,
                        end: slot.dead_slot(),
                        value,
                    });
                }
            }
        }
        if live_out.is_some()
            && let Some(segment) = &mut current
        {
            segment.end = end;
        }
        result.push_piece(current);
        for &segment in &range.segments {
            if segment.end > end {
                let start = segment.start.max(end);
                result.segments.push(LiveSegment { start, ..segment });
            }
        }
        result.merge_neighbours();
        self.edited.insert(register, result);
    }

    /// Returns the reads and definitions of a register by the instructions of a block.
    fn operands_between(
        &self,
        snapshot: &Snapshot<'_>,
        register: Register,
        start: SlotIndex,
        end: SlotIndex,
    ) -> Vec<(SlotIndex, Event)> {
        let mut events: Vec<(SlotIndex, Event)> = Vec::new();
        let mut index = self.indexes.next_instruction_index(start);
        while index < end
            && let Some(instruction) = self.indexes.instruction_at(index)
        {
            let view = snapshot.instruction(instruction);
            let is_phi = view.opcode_flags().contains(OpcodeFlags::PHI);
            let records = view.operand_records();
            let mut definition: Option<SlotIndex> = None;
            for operand in view
                .operands()
                .filter(|operand| operand.register() == Some(register))
            {
                let record = operand.record();
                if defines(record) {
                    let slot = definition_slot(index.base(), record);
                    definition = Some(definition.map_or(slot, |other| other.min(slot)));
                } else if reads(record) && !is_phi {
                    events.push((use_slot(index.base(), record, records), Event::Read));
                }
            }
            events.extend(definition.map(|slot| (slot, Event::Definition)));
            let next = self.indexes.next_instruction_index(index);
            if next <= index {
                break;
            }
            index = next;
        }
        events
    }
}

/// An access of an instruction to a register. At one slot, reads come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Read,
    Definition,
}

impl OwnedLiveRange {
    /// Appends a piece unless it is empty.
    fn push_piece(&mut self, piece: Option<LiveSegment>) {
        self.segments
            .extend(piece.filter(|piece| piece.start < piece.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::testing::{Random, TestFunction, random_function};
    use crate::live::update::testing::{analyze, judged, registers_of};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// True if the two instructions may change places.
    fn independent(function: &TestFunction, one: Instruction, other: Instruction) -> bool {
        let clash = |one, other| {
            let written = registers_of(function, one, true);
            registers_of(function, other, false)
                .iter()
                .any(|register| written.contains(register))
        };
        !clash(one, other) && !clash(other, one)
    }

    /// Returns the text of a register's range with its numbers mapped by `map`.
    fn mapped(intervals: &LiveIntervals, register: Register, map: &BTreeMap<u32, u32>) -> String {
        let mut range = intervals.interval(register).to_owned();
        let apply = |index: SlotIndex| SlotIndex::new(map[&index.base()], index.slot());
        for segment in &mut range.segments {
            segment.start = apply(segment.start);
            segment.end = apply(segment.end);
        }
        for definition in &mut range.values {
            *definition = definition.map(apply).into();
        }
        range.as_range().to_string()
    }

    fn check_moves(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(4);
        let mut function = random_function(&mut random, blocks, 10, 10);
        let mut intervals = analyze(&function);
        // Instructions keep the numbers of the first function in `intervals`.
        let original = function.clone();
        let mut names: Vec<Instruction> = original.snapshot().instructions().collect();
        for _ in 0..12 {
            let snapshot = function.snapshot();
            let block = Block::new(random.below(blocks) as usize);
            let range = snapshot.instruction_range(block);
            if range.is_empty() {
                continue;
            }
            let from = range.start + random.below(range.len() as u32) as usize;
            let is_plain = |position: usize| {
                let view = snapshot.instruction(Instruction::new(position));
                !view.is_debug() && !view.opcode_flags().contains(OpcodeFlags::PHI)
            };
            let down = random.chance(50);
            let mut to = from;
            while let Some(next) = if down {
                to.checked_add(1)
            } else {
                to.checked_sub(1)
            } && range.contains(&next)
                && is_plain(from)
                && is_plain(next)
                && independent(&function, Instruction::new(from), Instruction::new(next))
                && (to == from || random.chance(80))
            {
                to = next;
            }
            if to == from {
                continue;
            }
            let at = if down {
                InsertionPoint::After(names[to])
            } else {
                InsertionPoint::Before(names[to])
            };
            intervals.move_instruction(&original.snapshot(), names[from], at);

            let mut order: Vec<usize> = (0..snapshot.instruction_count()).collect();
            let moved = order.remove(from);
            order.insert(to, moved);
            let name = names.remove(from);
            names.insert(to, name);
            function = function.permuted(&order);

            let fresh = analyze(&function);
            let mut map = BTreeMap::new();
            for (position, &name) in names.iter().enumerate() {
                if intervals.indexes().has_index(name) {
                    let now = fresh.indexes().instruction_index(Instruction::new(position));
                    map.insert(intervals.indexes().instruction_index(name).base(), now.base());
                }
            }
            for block in function.snapshot().blocks() {
                let start = intervals.indexes().block_start(block);
                map.insert(start.base(), fresh.indexes().block_start(block).base());
            }
            let last = intervals.indexes().last_index();
            map.insert(last.base(), fresh.indexes().last_index().base());
            for register in judged(&function, &fresh) {
                let expected = fresh.interval(register).to_string();
                prop_assert_eq!(mapped(&intervals, register, &map), expected, "{:?}", register);
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn moves_equal_recomputation(seed: u64) {
            check_moves(seed)?;
        }
    }
}
