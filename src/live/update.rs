//! Changes to intervals that keep them true while the function changes.
//!
//! The operations are those of LLVM's `LiveIntervals`. Where LLVM edits segment by segment, a move of an
//! instruction is done here by deriving the block's part of each range anew: what enters and leaves
//! the block stays the same, and a look at the block's operands is simpler than the cases it
//! replaces.

use super::live_interval::{LiveIntervals, LiveSegment, OwnedLiveRange};
use super::live_range_calc::LiveRangeCalc;
use super::predecessors::Predecessors;
use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::SlotIndex;
use super::slot_update::{Place, Renumbering};
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, Instruction, PackedOption, Register};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::OpcodeFlags;
use std::collections::{BTreeSet, HashSet};

/// What is left to do after a range was shrunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// Definitions that nothing reads any more.
    pub dead: Vec<SlotIndex>,
    /// May the range have fallen into parts that are not connected?
    pub may_separate: bool,
}

impl LiveIntervals {
    /// The range of a register, to be changed. A register without one gets an empty range.
    pub fn range_mut(&mut self, register: Register) -> &mut OwnedLiveRange {
        if !self.edited.contains_key(&register) {
            let range = self.interval(register).to_owned();
            self.edited.insert(register, range);
        }
        self.edited.get_mut(&register).expect("it was just inserted")
    }

    /// Replaces the range of a register.
    pub fn set_range(&mut self, register: Register, range: OwnedLiveRange) {
        self.edited.insert(register, range);
    }

    /// Moves all ranges along with a renumbering.
    pub fn apply_renumbering(&mut self, renumbering: &Renumbering) {
        let Some((first, last)) = renumbering.window() else {
            return;
        };
        for segment in &mut self.segments {
            if segment.start <= last && segment.end >= first {
                segment.start = renumbering.map(segment.start);
                segment.end = renumbering.map(segment.end);
            }
        }
        let map = |definition: &mut PackedOption<SlotIndex>| {
            *definition = definition.map(|index| renumbering.map(index)).into();
        };
        self.values.iter_mut().for_each(map);
        for range in self.edited.values_mut() {
            for segment in &mut range.segments {
                segment.start = renumbering.map(segment.start);
                segment.end = renumbering.map(segment.end);
            }
            range.values.iter_mut().for_each(map);
        }
    }

    /// Gives a new instruction an index. Its registers' ranges are the caller's to extend.
    pub fn insert_instruction(&mut self, instruction: Instruction, place: Place) -> SlotIndex {
        let (index, renumbering) = self.indexes.insert_instruction(instruction, place);
        self.apply_renumbering(&renumbering);
        index
    }

    /// Takes the index of an instruction away, which no operand of a live range may need any more.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        self.indexes.remove_instruction(instruction);
    }

    /// Moves an instruction to another place in its block, which no definition of what it reads and no
    /// read or definition of what it defines lies on the way to, and updates the ranges of all its
    /// registers. `snapshot` has the operands; its order of instructions does not matter.
    ///
    /// Returns the new index.
    pub fn move_instruction(
        &mut self,
        snapshot: &Snapshot<'_>,
        instruction: Instruction,
        place: Place,
    ) -> SlotIndex {
        let old = self.indexes.instruction_index(instruction);
        let block = self.indexes.block_at(old).expect("an instruction is in a block");
        self.indexes.remove_instruction(instruction);
        let (new, renumbering) = self.indexes.insert_instruction(instruction, place);
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
    /// their numbers; `moved` says where a definition went.
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

    /// Reads and definitions of a register by the instructions of a block.
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

    /// Makes the range of `register` reach each of `uses`: slots of instructions, and ends of blocks for
    /// PHIs. PHI values are made where several values meet.
    ///
    /// # Panics
    /// If blocks were inserted or removed since the intervals were computed.
    pub fn extend_to(
        &mut self,
        calc: &mut LiveRangeCalc,
        snapshot: &Snapshot<'_>,
        register: Register,
        uses: &[SlotIndex],
    ) {
        let mut range = std::mem::take(self.range_mut(register));
        calc.extend(snapshot, &self.indexes, &mut range, uses);
        self.edited.insert(register, range);
    }

    /// Removes what is live of the value at `kill` from there on: up to where it ends on every path.
    /// Returns these ends; extending to them undoes the change.
    pub fn prune_value(
        &mut self,
        snapshot: &Snapshot<'_>,
        register: Register,
        kill: SlotIndex,
    ) -> Vec<SlotIndex> {
        let mut ends = Vec::new();
        let query = self.interval(register).query(kill);
        let Some(value) = query.value_out_or_dead().or(query.value_in()) else {
            return ends;
        };
        let (Some(block), Some(end)) = (self.indexes.block_at(kill), query.end_point()) else {
            return ends;
        };
        let block_end = self.indexes.block_end(block);
        let stop = end.min(block_end);
        self.range_mut(register).remove_segment(kill, stop, false);
        ends.push(stop);
        if end < block_end {
            return ends;
        }
        let mut visited: HashSet<Block> = HashSet::new();
        let mut stack: Vec<Block> = snapshot.successors(block).collect();
        while let Some(block) = stack.pop() {
            if !visited.insert(block) {
                continue;
            }
            let (start, block_end) = self.indexes.block_range(block);
            let query = self.interval(register).query(start);
            let Some(end) = query.end_point().filter(|_| query.value_in() == Some(value)) else {
                continue;
            };
            let stop = end.min(block_end);
            self.range_mut(register).remove_segment(start, stop, false);
            ends.push(stop);
            if end >= block_end {
                stack.extend(snapshot.successors(block));
            }
        }
        ends
    }

    /// Shrinks a range to the reads that are left. `uses` are all of them: slots of instructions, and
    /// ends of blocks for PHIs. Values keep their numbers; PHI values that nothing needs become
    /// unused.
    pub fn shrink_to_uses(
        &mut self,
        predecessors: &Predecessors,
        register: Register,
        uses: &[SlotIndex],
    ) -> Shrunk {
        let old = self.interval(register).to_owned();
        let mut new = OwnedLiveRange {
            values: old.values.clone(),
            ..OwnedLiveRange::default()
        };
        for (value, definition) in old.as_range().values() {
            let (start, end) = (definition, definition.dead_slot());
            new.add_segment(LiveSegment { start, end, value });
        }
        let mut work: Vec<(SlotIndex, ValueNumber)> = uses
            .iter()
            .filter_map(|&slot| Some((slot, old.as_range().value_before(slot)?)))
            .collect();
        let mut live_out: HashSet<Block> = HashSet::new();
        let mut used_phis: HashSet<ValueNumber> = HashSet::new();
        while let Some((slot, value)) = work.pop() {
            let Some(block) = self.indexes.block_before(slot) else {
                continue;
            };
            let start = self.indexes.block_start(block);
            let is_phi_here = old.as_range().definition(value) == Some(start);
            if new.extend_in_block(start, slot).is_some() {
                // A PHI value that is read makes its predecessors' values live.
                if !is_phi_here || !used_phis.insert(value) {
                    continue;
                }
            } else {
                new.add_segment(LiveSegment {
                    start,
                    end: slot,
                    value,
                });
            }
            for &predecessor in predecessors.of(block) {
                let end = self.indexes.block_end(predecessor);
                if live_out.insert(predecessor)
                    && let Some(incoming) = old.as_range().value_before(end)
                {
                    work.push((end, incoming));
                }
            }
        }
        let shrunk = drop_dead_values(&mut new);
        self.edited.insert(register, new);
        shrunk
    }

    /// Gives every part of a range that is not connected to the first a register of its own. A part
    /// consists of values that flow into each other, through PHI values or by a definition that
    /// reads the value before it. Returns the part of each value, parts counted from zero in the
    /// order of their first values; part *k* now belongs to `registers[k - 1]`. Operands are the
    /// caller's to rename.
    ///
    /// # Panics
    /// If `new_register` returns a register that has an interval.
    pub fn split_components(
        &mut self,
        predecessors: &Predecessors,
        register: Register,
        mut new_register: impl FnMut() -> Register,
    ) -> (Vec<usize>, Vec<Register>) {
        let range = self.interval(register).to_owned();
        let parts = self.connected_values(predecessors, &range);
        let count = parts.iter().copied().max().map_or(0, |last| last + 1);
        let mut pieces = vec![OwnedLiveRange::default(); count];
        let mut numbers = Vec::with_capacity(parts.len());
        for (&part, &definition) in parts.iter().zip(&range.values) {
            numbers.push(ValueNumber::new(pieces[part].values.len()));
            pieces[part].values.push(definition);
        }
        for &segment in &range.segments {
            let value = segment.value.index();
            let piece = LiveSegment {
                value: numbers[value],
                ..segment
            };
            pieces[parts[value]].segments.push(piece);
        }
        let mut registers = Vec::new();
        for (part, piece) in pieces.into_iter().enumerate() {
            let owner = if part == 0 { register } else { new_register() };
            if part > 0 {
                assert!(!self.has_interval(owner), "{owner:?} already has an interval");
                registers.push(owner);
            }
            self.edited.insert(owner, piece);
        }
        (parts, registers)
    }

    /// The connected part that each value belongs to. Unused values go with the last used one.
    fn connected_values(&self, predecessors: &Predecessors, range: &OwnedLiveRange) -> Vec<usize> {
        let mut leader: Vec<usize> = (0..range.values.len()).collect();
        let view = range.as_range();
        let (mut used, mut unused) = (None, None);
        for (number, definition) in range.values.iter().enumerate() {
            let Some(definition) = definition.expand() else {
                if let Some(other) = unused.replace(number) {
                    unite(&mut leader, number, other);
                }
                continue;
            };
            used = Some(number);
            if definition.is_block() {
                let block = self.indexes.block_at(definition).expect("a block starts there");
                for &predecessor in predecessors.of(block) {
                    if let Some(other) = view.value_before(self.indexes.block_end(predecessor)) {
                        unite(&mut leader, number, other.index());
                    }
                }
            } else if let Some(other) = view.value_before(definition) {
                unite(&mut leader, number, other.index());
            }
        }
        if let (Some(used), Some(unused)) = (used, unused) {
            unite(&mut leader, used, unused);
        }
        let mut parts = vec![usize::MAX; leader.len()];
        let mut count = 0;
        for number in 0..leader.len() {
            let first = find(&leader, number);
            if first == number {
                parts[number] = count;
                count += 1;
            } else {
                parts[number] = parts[first];
            }
        }
        parts
    }

    /// Joins the two registers of a copy: the source's range becomes part of the result's, and the value
    /// that the copy defines becomes the one that it reads. The copy and the source's operands are the
    /// caller's to remove and rename.
    ///
    /// Returns false, and changes nothing, if the ranges interfere.
    ///
    /// # Panics
    /// If there is no value of the result defined at `copy`, or none of the source live into it.
    pub fn join_by_copy(&mut self, result: Register, source: Register, copy: SlotIndex) -> bool {
        let (ours, theirs) = (self.interval(result), self.interval(source));
        if result == source || ours.overlaps(&theirs) {
            return false;
        }
        let read = theirs.query(copy).value_in().expect("the copy reads the source");
        let written = ours
            .query(copy)
            .value_defined()
            .expect("the copy defines its result");
        let mut definitions: Vec<SlotIndex> = Vec::new();
        let mut add = |definition: PackedOption<SlotIndex>| {
            // Unused values keep no number.
            let number = ValueNumber::new(definitions.len());
            definitions.extend(definition.expand());
            number
        };
        let theirs_new: Vec<ValueNumber> = theirs.values.iter().map(|&value| add(value)).collect();
        let ours_new: Vec<ValueNumber> = ours
            .values
            .iter()
            .enumerate()
            .map(|(number, &value)| match number == written.index() {
                true => theirs_new[read.index()],
                false => add(value),
            })
            .collect();
        let other = theirs.to_owned();
        self.range_mut(result)
            .join(&other.as_range(), &ours_new, &theirs_new, &definitions);
        self.edited.insert(source, OwnedLiveRange::default());
        true
    }
}

/// What an instruction does with a register. At one slot, reads come first.
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

/// Removes PHI values that nothing needs and lists definitions that nothing reads.
fn drop_dead_values(range: &mut OwnedLiveRange) -> Shrunk {
    let mut shrunk = Shrunk::default();
    for number in 0..range.values.len() {
        let Some(definition) = range.values[number].expand() else {
            continue;
        };
        let segment = *range
            .as_range()
            .segment_containing(definition)
            .expect("a value has a segment at its definition");
        if segment.end != definition.dead_slot() {
            continue;
        }
        shrunk.may_separate = true;
        if definition.is_block() {
            range.values[number] = PackedOption::default();
            range.segments.retain(|other| *other != segment);
        } else {
            shrunk.dead.push(definition);
        }
    }
    shrunk
}

fn find(leader: &[usize], mut number: usize) -> usize {
    while leader[number] != number {
        number = leader[number];
    }
    number
}

fn unite(leader: &mut [usize], one: usize, other: usize) {
    let (one, other) = (find(leader, one), find(leader, other));
    leader[one.max(other)] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::testing::{COPY, PLAIN, Random, TestFunction, covered_slots, operand, random_function};
    use crate::live::{FindingKind, LiveRangeCalc};
    use crate::snapshot::abi::{OperandFlags, OperandRecord};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn analyze(function: &TestFunction) -> LiveIntervals {
        LiveRangeCalc::new().analyze(&function.snapshot())
    }

    /// The registers for which liveness is defined by the function alone.
    fn judged(function: &TestFunction, intervals: &LiveIntervals) -> Vec<Register> {
        let snapshot = function.snapshot();
        // A range that enters the function is that of a register which some path leaves undefined.
        let defined = |register: &Register| {
            let range = intervals.interval(*register);
            covered_slots(&snapshot, intervals, *register).is_some()
                && !range.is_empty()
                && !range.live_at(SlotIndex::ZERO)
        };
        snapshot.registers().filter(defined).collect()
    }

    fn registers_of(function: &TestFunction, instruction: Instruction, written: bool) -> Vec<Register> {
        let snapshot = function.snapshot();
        let operands = snapshot.instruction(instruction).operands();
        operands
            .filter(|operand| !written || defines(operand.record()))
            .filter_map(|operand| operand.register())
            .collect()
    }

    /// May the two instructions change places?
    fn independent(function: &TestFunction, one: Instruction, other: Instruction) -> bool {
        let clash = |one, other| {
            let written = registers_of(function, one, true);
            registers_of(function, other, false)
                .iter()
                .any(|register| written.contains(register))
        };
        !clash(one, other) && !clash(other, one)
    }

    /// The text of a register's range, its numbers replaced by `map`.
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
            let place = if down {
                Place::After(names[to])
            } else {
                Place::Before(names[to])
            };
            intervals.move_instruction(&original.snapshot(), names[from], place);

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

    /// Is the same covered in both, whatever the values?
    fn same_coverage(one: &LiveIntervals, other: &LiveIntervals, register: Register) -> bool {
        let (one, other) = (one.interval(register), other.interval(register));
        one.covers(&other) && other.covers(&one)
    }

    /// All reads of a register, as `shrink_to_uses` wants them.
    fn uses_of(function: &TestFunction, intervals: &LiveIntervals, register: Register) -> Vec<SlotIndex> {
        let snapshot = function.snapshot();
        let mut uses = Vec::new();
        for instruction in snapshot.instructions() {
            if !intervals.indexes().has_index(instruction) {
                continue;
            }
            let number = intervals.indexes().instruction_index(instruction).number();
            let view = snapshot.instruction(instruction);
            let records = view.operand_records();
            for (position, operand) in view.operands().enumerate() {
                if operand.register() != Some(register) || !reads(operand.record()) {
                    continue;
                }
                uses.push(if view.opcode_flags().contains(OpcodeFlags::PHI) {
                    let block = Block::from_u32(records[position + 1].index);
                    intervals.indexes().block_end(block)
                } else {
                    use_slot(number, operand.record(), records)
                });
            }
        }
        uses
    }

    fn check_shrinking(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let mut function = random_function(&mut random, blocks, 10, 8);
        let mut intervals = analyze(&function);
        let predecessors = Predecessors::new(&function.snapshot());
        let before = judged(&function, &intervals);
        let text = intervals.to_string();
        for &register in &before {
            let uses = uses_of(&function, &intervals, register);
            intervals.shrink_to_uses(&predecessors, register, &uses);
        }
        prop_assert_eq!(intervals.to_string(), text, "nothing was removed");
        function.change_operands(|operand: &mut OperandRecord| {
            if reads(operand) && random.chance(50) {
                operand.flags |= OperandFlags::UNDEF.bits();
            }
        });
        let fresh = analyze(&function);
        for &register in &before {
            let uses = uses_of(&function, &intervals, register);
            intervals.shrink_to_uses(&predecessors, register, &uses);
            prop_assert!(
                same_coverage(&intervals, &fresh, register),
                "{} should be {}",
                intervals.interval(register),
                fresh.interval(register)
            );
        }
        let findings = intervals.verify(&function.snapshot());
        let wrong = findings
            .iter()
            .find(|finding| finding.kind != FindingKind::ReadOfNothing && before.contains(&finding.register));
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap());
        Ok(())
    }

    fn check_pruning(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let function = random_function(&mut random, blocks, 10, 8);
        let snapshot = function.snapshot();
        let mut intervals = analyze(&function);
        let fresh = intervals.clone();
        let mut calc = LiveRangeCalc::new();
        for register in judged(&function, &fresh) {
            let range = fresh.interval(register);
            let count = range.value_count() as u32;
            if count == 0 {
                continue;
            }
            let value = ValueNumber::from_u32(random.below(count));
            let Some(definition) = range.definition(value).filter(|index| !index.is_block()) else {
                continue;
            };
            let ends = intervals.prune_value(&snapshot, register, definition);
            prop_assert!(!ends.is_empty());
            prop_assert!(!intervals.interval(register).live_at(definition));
            // Put back what was there, from the definition on.
            let end = definition.dead_slot();
            intervals.range_mut(register).add_segment(LiveSegment {
                start: definition,
                end,
                value,
            });
            let ends: Vec<SlotIndex> = ends.into_iter().filter(|&index| index != end).collect();
            intervals.extend_to(&mut calc, &snapshot, register, &ends);
            prop_assert!(
                same_coverage(&intervals, &fresh, register),
                "{} should be {}",
                intervals.interval(register),
                fresh.interval(register)
            );
        }
        Ok(())
    }

    fn check_components(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let mut function = random_function(&mut random, blocks, 8, 8);
        let mut intervals = analyze(&function);
        let predecessors = Predecessors::new(&function.snapshot());
        for register in judged(&function, &intervals) {
            let old = intervals.interval(register).to_owned();
            let mut next = intervals.register_count().max(100 * (register.index() + 1));
            let (parts, registers) = intervals.split_components(&predecessors, register, || {
                next += 1;
                Register::new(next)
            });
            prop_assert_eq!(parts.len(), old.values.len());
            let owners: Vec<Register> = [register].into_iter().chain(registers).collect();
            for segment in &old.segments {
                let owner = owners[parts[segment.value.index()]];
                prop_assert!(intervals.interval(owner).live_at(segment.start));
            }
            // Recomputing each part from its own operands gives the part.
            let count = next + 1;
            let indexes = intervals.indexes().clone();
            let renamed = function.renamed(
                register,
                count,
                |slot, is_read| {
                    let value = if is_read {
                        old.as_range().value_before(slot)
                    } else {
                        old.as_range().query(slot).value_defined()
                    };
                    value.map(|value| owners[parts[value.index()]])
                },
                &indexes,
            );
            let fresh = analyze(&renamed);
            for &owner in &owners {
                prop_assert!(
                    same_coverage(&intervals, &fresh, owner),
                    "{:?} of {}: {} should be {}",
                    owner,
                    old.as_range(),
                    intervals.interval(owner),
                    fresh.interval(owner)
                );
            }
            function = renamed;
        }
        Ok(())
    }

    fn check_joins(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(5);
        let mut function = random_function(&mut random, blocks, 10, 8);
        let mut intervals = analyze(&function);
        for instruction in function.snapshot().instructions() {
            let view = function.snapshot();
            let view = view.instruction(instruction);
            if !view.opcode_flags().contains(OpcodeFlags::COPY) {
                continue;
            }
            let registers = registers_of(&function, instruction, false);
            let index = intervals
                .indexes()
                .instruction_index(instruction)
                .register_slot(false);
            let (result, source) = (registers[0], registers[1]);
            let judged = judged(&function, &analyze(&function));
            if result == source || !judged.contains(&result) || !judged.contains(&source) {
                continue;
            }
            let reads_source = intervals.interval(source).query(index).value_in().is_some();
            let interfere = intervals.interfere(result, source);
            if !reads_source {
                continue;
            }
            prop_assert_eq!(intervals.join_by_copy(result, source, index), !interfere);
            if interfere {
                continue;
            }
            function = function.joined(result, source, instruction);
            let fresh = analyze(&function);
            // The copy no longer reads or writes anything.
            let uses = uses_of(&function, &intervals, result);
            let predecessors = Predecessors::new(&function.snapshot());
            intervals.shrink_to_uses(&predecessors, result, &uses);
            if covered_slots(&function.snapshot(), &fresh, result).is_some() {
                prop_assert!(
                    same_coverage(&intervals, &fresh, result),
                    "{} should be {}",
                    intervals.interval(result),
                    fresh.interval(result)
                );
            } else {
                return Ok(());
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

        #[test]
        fn shrinking_equals_recomputation(seed: u64) {
            check_shrinking(seed)?;
        }

        #[test]
        fn pruning_is_undone_by_extending(seed: u64) {
            check_pruning(seed)?;
        }

        #[test]
        fn components_equal_recomputation(seed: u64) {
            check_components(seed)?;
        }

        #[test]
        fn joins_equal_recomputation(seed: u64) {
            check_joins(seed)?;
        }

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
            let mut indexes = crate::live::SlotIndexes::new(&snapshot);
            let mut order: Vec<Instruction> = snapshot.instructions().collect();
            for number in 0..300 {
                let position = if hot { 7 } else { random.below(order.len() as u32) as usize };
                let instruction = Instruction::new(20 + number);
                indexes.insert_instruction(instruction, Place::After(order[position]));
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
            // At most a logarithm of the entries for each of the insertions.
            prop_assert!(indexes.renumbered_entries() <= 300 * 40, "{}", indexes.renumbered_entries());
        }
    }

    #[test]
    fn insertion_at_one_place_costs_little() {
        let mut function = TestFunction::new(1);
        function.block(&[]);
        for _ in 0..20_000 {
            function.instruction(COPY, &[]);
        }
        let function = function.finish(|| 0);
        let mut indexes = crate::live::SlotIndexes::new(&function.snapshot());
        let place = Place::After(Instruction::new(10_000));
        for number in 0..20_000 {
            indexes.insert_instruction(Instruction::new(20_000 + number), place);
        }
        let moved = indexes.renumbered_entries();
        assert!(moved < 20_000 * 40, "{moved} entries moved by 20,000 insertions");
    }

    #[test]
    fn blocks_come_and_go_and_ranges_are_repaired() {
        let mut function = TestFunction::new(1);
        function.block(&[1]);
        for _ in 0..4 {
            function.instruction(PLAIN, &[]);
        }
        function.block(&[]);
        function.instruction(PLAIN, &[]);
        let function = function.finish(|| 0);
        let mut indexes = crate::live::SlotIndexes::new(&function.snapshot());
        let names: Vec<Instruction> = (0..8).map(Instruction::new).collect();
        let [first, new, last] = [0, 2, 1].map(Block::new);
        indexes.insert_block(new, first, Some(names[2]));
        assert_eq!(indexes.block_at(indexes.instruction_index(names[1])), Some(first));
        assert_eq!(indexes.block_at(indexes.instruction_index(names[2])), Some(new));
        assert_eq!(indexes.block_end(new), indexes.block_start(last));
        // In the new block: the two instructions change places, one comes and one more goes.
        indexes.repair(new, None, None, &[names[3], names[6], names[2]]);
        let order = [names[3], names[6], names[2]].map(|name| indexes.instruction_index(name));
        assert!(
            order.is_sorted() && order[0] > indexes.block_start(new) && order[2] < indexes.block_end(new)
        );
        indexes.repair(new, None, None, &[names[6]]);
        assert!(!indexes.has_index(names[2]) && indexes.has_index(names[6]));
        assert_eq!(indexes.replace_instruction(names[6], names[7]), Some(order[1]));
        indexes.remove_block(new);
        assert_eq!(indexes.block_at(order[1]), Some(first));
        assert_eq!(indexes.block_end(first), indexes.block_start(last));
    }
}
