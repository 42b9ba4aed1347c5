//! Phase 6: the values of registers with several definitions.
//!
//! The algorithm is LLVM's (`LiveIntervalCalc::calculate`, `LiveRangeCalc::extend`), because value
//! numbers are part of the result: definitions are numbered in the order of LLVM's use list, then each
//! use, in the same order, extends the range back to the definitions that reach it, and where several
//! values meet, PHI values are made by propagation down the dominator tree (the algorithm of LLVM's
//! SSAUpdater).
//!
//! What differs is the cost. LLVM clears a map of all blocks for every register and searches the range
//! in every block on the way; here the state of a block, 16 bytes, says which register it belongs
//! to and whether that has anything in the block, pieces of neighbouring blocks are added as one,
//! and the dominator tree is computed when the first PHI value may be needed. The reference's
//! per-block `VNInfo` nodes are made for the blocks that need a value, not for all.

use super::dominators::Dominators;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment};
use super::predecessors::Predecessors;
use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::SlotIndex;
use super::value::{VNInfo, ValueNumber};
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{ChainedOperandRecord, OpcodeFlags, OperandRecord};
use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

/// Above this many blocks LLVM sorts them by number before it makes PHI values.
const UNSORTED_BLOCKS: usize = 4;

/// The definition of a value.
#[derive(Clone, Copy, Debug)]
struct Value {
    definition: SlotIndex,
    block: Block,
}

/// What is known of a block in the resolution of one register. The numbers of resolutions say whether
/// it is known at all; the first resolution has the number 1.
#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    /// The resolution in which the block was found to be live-out.
    live_out: u32,
    /// The resolution in which a segment was put into the block that may not reach its end.
    occupied: u32,
    /// The live-out value plus one; zero: not known.
    value: u32,
    /// The block that defines it.
    defining: u32,
}

/// The states of all blocks, and the resolution that they are read for.
#[derive(Debug, Default)]
struct BlockStates {
    states: Vec<BlockState>,
    resolution: u32,
}

/// Resolves values. Memory is kept from function to function.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    arena: Bump,
    states: BlockStates,
    /// Block of each instruction.
    block_of: Vec<Block>,
    dominators: Dominators,
    dominators_known: bool,
    range: Range,
    /// Blocks where the register has to be live-in.
    work_list: Vec<Block>,
    /// PHI values made since the function began.
    pub phi_values: u64,
}

/// The range that is being built.
#[derive(Debug, Default)]
struct Range {
    segments: Vec<LiveSegment>,
    values: Vec<Value>,
}

/// What resolution reads.
struct Input<'a> {
    snapshot: Snapshot<'a>,
    starts: &'a [SlotIndex],
    numbers: &'a [u32],
    predecessors: &'a Predecessors,
    /// Are LLVM's block numbers in layout order?
    numbered_in_order: bool,
}

impl<'a> Input<'a> {
    fn range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        (self.starts[block.index()], self.starts[block.index() + 1])
    }

    /// The operands of the instruction of `place`, its opcode, and its number if it has one.
    fn operands(&self, place: &ChainedOperandRecord) -> (&'a [OperandRecord], u32, Option<u32>) {
        let arrays = self.snapshot.arrays();
        let index = place.instruction as usize;
        let (record, next) = (&arrays.instructions[index], &arrays.instructions[index + 1]);
        let operands = &arrays.operands[record.first_operand as usize..next.first_operand as usize];
        let number = Some(self.numbers[index]).filter(|number| number.is_multiple_of(4));
        (operands, record.opcode, number)
    }
}

impl BlockStates {
    fn reset(&mut self, blocks: usize) {
        self.states.clear();
        self.states.resize(blocks, BlockState::default());
        self.resolution = 0;
    }

    /// Is the block known to be live-out?
    fn is_live_out(&self, block: Block) -> bool {
        self.states[block.index()].live_out == self.resolution
    }

    /// The value that leaves the block and the block that defines it, if they are known.
    fn live_out(&self, block: Block) -> Option<(ValueNumber, Block)> {
        let state = self.states[block.index()];
        if state.live_out != self.resolution {
            return None;
        }
        let value = state.value.checked_sub(1)?;
        Some((ValueNumber::from_u32(value), Block::from_u32(state.defining)))
    }

    fn set_live_out(&mut self, block: Block, value: Option<(ValueNumber, Block)>) {
        let state = &mut self.states[block.index()];
        state.live_out = self.resolution;
        state.value = value.map_or(0, |(value, _)| value.as_u32() + 1);
        state.defining = value.map_or(0, |(_, block)| block.as_u32());
    }

    fn occupy(&mut self, block: Block) {
        self.states[block.index()].occupied = self.resolution;
    }
}

impl Resolver {
    /// Prepares for a function.
    pub(super) fn begin(&mut self) {
        self.arena.reset();
        self.dominators_known = false;
        self.phi_values = 0;
    }

    /// Adds the intervals of all registers with several definitions to `result`.
    pub(super) fn run(
        &mut self,
        snapshot: &Snapshot<'_>,
        predecessors: &Predecessors,
        result: &mut LiveIntervals,
    ) {
        let chained = snapshot.arrays().chained_operands;
        if chained.is_empty() {
            return;
        }
        self.states.reset(snapshot.block_count());
        self.block_of.clear();
        for block in snapshot.blocks() {
            self.block_of.resize(snapshot.instruction_range(block).end, block);
        }
        let numbered_in_order = snapshot
            .arrays()
            .blocks
            .split_last()
            .is_some_and(|(_, blocks)| blocks.is_sorted_by_key(|block| block.number));
        let arena = std::mem::take(&mut self.arena);
        let mut nodes = ArenaVec::new_in(&arena);
        for operands in chained.chunk_by(|a, b| a.register == b.register) {
            let input = Input {
                snapshot: *snapshot,
                starts: &result.indexes.block_starts,
                numbers: &result.indexes.instruction_numbers,
                predecessors,
                numbered_in_order,
            };
            self.resolve(&input, &mut nodes, operands);
            self.append(Register::from_u32(operands[0].register), result);
        }
        drop(nodes);
        self.arena = arena;
    }

    /// Computes the range of the register whose operands are given.
    fn resolve(
        &mut self,
        input: &Input<'_>,
        nodes: &mut ArenaVec<'_, VNInfo>,
        operands: &[ChainedOperandRecord],
    ) {
        self.states.resolution += 1;
        self.range.segments.clear();
        self.range.values.clear();
        for place in operands {
            let (records, _, number) = input.operands(place);
            let operand = &records[place.operand as usize];
            if let Some(number) = number.filter(|_| defines(operand)) {
                let block = self.block_of[place.instruction as usize];
                self.states.occupy(block);
                self.range
                    .create_dead_definition(definition_slot(number, operand), block);
            }
        }
        for place in operands {
            let (records, opcode, number) = input.operands(place);
            let operand = &records[place.operand as usize];
            let Some(number) = number.filter(|_| reads(operand)) else {
                continue;
            };
            let phi = OpcodeFlags::PHI.bits();
            if input.snapshot.arrays().opcodes[opcode as usize].flags & phi != 0 {
                let predecessor = Block::from_u32(records[place.operand as usize + 1].index);
                let (_, end) = input.range(predecessor);
                self.extend(input, nodes, predecessor, end);
            } else {
                let slot = use_slot(number, operand, records);
                self.extend(input, nodes, self.block_of[place.instruction as usize], slot);
            }
        }
    }

    /// Makes the range reach `slot`, which belongs to `block`.
    fn extend(&mut self, input: &Input<'_>, nodes: &mut ArenaVec<'_, VNInfo>, block: Block, slot: SlotIndex) {
        let (start, _) = input.range(block);
        if self.range.extend_in_block(start, slot).is_some() {
            return;
        }
        let mut kill = Some(slot);
        match self.find_reaching_definitions(input, block, &mut kill) {
            Reaching::Nothing => {}
            Reaching::One(value) => self.add_pieces(input, block, kill, value),
            Reaching::Several => {
                if !self.dominators_known {
                    self.dominators.compute(&input.snapshot, input.predecessors);
                    self.dominators_known = true;
                }
                self.make_nodes(input, nodes, block, kill);
                self.propagate_values(input, nodes);
                self.add_node_pieces(nodes);
            }
        }
    }

    /// Searches back from `block` for the values that reach its start, and collects the blocks where
    /// the register is live-in in `work_list`. If the search comes back to `block`, the value is not
    /// killed there after all.
    fn find_reaching_definitions(
        &mut self,
        input: &Input<'_>,
        block: Block,
        kill: &mut Option<SlotIndex>,
    ) -> Reaching {
        let mut reaching = Reaching::Nothing;
        self.work_list.clear();
        self.work_list.push(block);
        let mut next = 0;
        while let Some(&current) = self.work_list.get(next) {
            next += 1;
            for &predecessor in input.predecessors.of(current) {
                let resolution = self.states.resolution;
                let state = &mut self.states.states[predecessor.index()];
                if state.live_out == resolution {
                    if let Some(value) = state.value.checked_sub(1) {
                        reaching.meet(ValueNumber::from_u32(value));
                    }
                    continue;
                }
                state.live_out = resolution;
                state.value = 0;
                if state.occupied == resolution {
                    let (start, end) = input.range(predecessor);
                    if let Some(value) = self.range.extend_in_block(start, end) {
                        state.value = value.as_u32() + 1;
                        state.defining = self.range.block_of(value).as_u32();
                        reaching.meet(value);
                        continue;
                    }
                }
                if predecessor == block {
                    *kill = None;
                } else {
                    self.work_list.push(predecessor);
                }
            }
        }
        if matches!(reaching, Reaching::Nothing) {
            // Without any definition nothing is live, and other uses must not stop here.
            for &searched in &self.work_list {
                self.states.states[searched.index()].live_out = 0;
            }
        } else if self.work_list.len() > UNSORTED_BLOCKS {
            if input.numbered_in_order {
                self.work_list.sort_unstable();
            } else {
                self.work_list
                    .sort_unstable_by_key(|&block| input.snapshot.block(block).number);
            }
        }
        reaching
    }

    /// Adds the blocks of `work_list` to the range of their only value, neighbours together.
    fn add_pieces(&mut self, input: &Input<'_>, block: Block, kill: Option<SlotIndex>, value: ValueNumber) {
        let with_block = Some((value, self.range.block_of(value)));
        let mut run: Option<(SlotIndex, SlotIndex)> = None;
        for &live in &self.work_list {
            let (start, mut end) = input.range(live);
            match kill {
                Some(kill) if live == block => {
                    end = kill;
                    self.states.occupy(live);
                }
                _ => self.states.set_live_out(live, with_block),
            }
            run = match run {
                Some((first, last)) if last == start => Some((first, end)),
                Some((first, last)) => {
                    self.range.add_segment(first, last, value);
                    Some((start, end))
                }
                None => Some((start, end)),
            };
        }
        if let Some((first, last)) = run {
            self.range.add_segment(first, last, value);
        }
    }

    /// Makes nodes of the blocks of `work_list`, in its order. Blocks that the entry does not reach get
    /// no value.
    fn make_nodes(
        &self,
        input: &Input<'_>,
        nodes: &mut ArenaVec<'_, VNInfo>,
        block: Block,
        kill: Option<SlotIndex>,
    ) {
        nodes.clear();
        for &live in &self.work_list {
            if self.dominators.is_reachable(live) {
                let dominator = self
                    .dominators
                    .immediate(live)
                    .filter(|&dominator| self.states.is_live_out(dominator));
                let kill = kill.filter(|_| live == block);
                nodes.push(VNInfo::new(live, dominator, input.range(live), kill));
            }
        }
    }

    /// Propagates live-out values down the dominator tree and makes PHI values where a block is in the
    /// dominance frontier of a value, until nothing changes. A value only ever moves down the
    /// tree and every PHI is made once, which bounds the passes.
    fn propagate_values(&mut self, input: &Input<'_>, nodes: &mut ArenaVec<'_, VNInfo>) {
        let bound = 2 * nodes.len() as u64 + 2;
        let mut changed = true;
        while changed {
            changed = false;
            for node in nodes.iter_mut().filter(|node| node.is_pending()) {
                let pass = node.count_pass();
                debug_assert!(
                    pass <= bound,
                    "values settle in as many passes as there are blocks"
                );
                let block = node.block();
                let dominator = node.dominator();
                let incoming = dominator.and_then(|dominator| self.states.live_out(dominator));
                let needs_phi = dominator.is_none_or(|dominator| {
                    let same = incoming.map(|(value, _)| value);
                    input.predecessors.of(block).iter().any(|&predecessor| {
                        self.states
                            .live_out(predecessor)
                            .is_some_and(|(value, defining)| {
                                Some(value) != same && self.dominators.dominates(dominator, defining)
                            })
                    })
                });
                if needs_phi {
                    changed = true;
                    self.phi_values += 1;
                    let (start, end) = node.piece();
                    let value = self.range.new_value(start, block);
                    self.range.add_segment(start, end, value);
                    node.settle();
                    if node.is_killed() {
                        self.states.occupy(block);
                    } else {
                        self.states.set_live_out(block, Some((value, block)));
                    }
                } else if let Some((value, _)) = incoming {
                    node.set_value(value);
                    let known = self.states.live_out(block).map(|(value, _)| value);
                    if !node.is_killed() && known != Some(value) {
                        self.states.set_live_out(block, incoming);
                        changed = true;
                    }
                }
            }
        }
    }

    /// Adds the pieces of blocks that got their value from their dominator, neighbours with the same
    /// value together.
    fn add_node_pieces(&mut self, nodes: &mut ArenaVec<'_, VNInfo>) {
        let mut run: Option<(SlotIndex, SlotIndex, ValueNumber)> = None;
        for node in nodes.iter_mut().filter(|node| node.is_pending()) {
            node.settle();
            let Some(value) = node.value() else { continue };
            let (start, end) = node.piece();
            if node.is_killed() {
                self.states.occupy(node.block());
            } else {
                let defining = self.range.block_of(value);
                self.states.set_live_out(node.block(), Some((value, defining)));
            }
            run = match run {
                Some((first, last, same)) if last == start && same == value => Some((first, end, value)),
                Some((first, last, other)) => {
                    self.range.add_segment(first, last, other);
                    Some((start, end, value))
                }
                None => Some((start, end, value)),
            };
        }
        if let Some((first, last, value)) = run {
            self.range.add_segment(first, last, value);
        }
    }

    /// Copies the range to the result.
    fn append(&mut self, register: Register, result: &mut LiveIntervals) {
        result.records[register.index()] = IntervalRecord {
            first_segment: result.segments.len() as u32,
            segment_count: self.range.segments.len() as u32,
            first_value: result.values.len() as u32,
            value_count: self.range.values.len() as u32,
        };
        result.segments.extend_from_slice(&self.range.segments);
        result.values.extend(
            self.range
                .values
                .iter()
                .map(|value| PackedOption::from(value.definition)),
        );
    }

    /// Bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.arena.allocated_bytes()
            + self.dominators.memory_bytes()
            + self.states.states.capacity() * size_of::<BlockState>()
            + self.range.segments.capacity() * size_of::<LiveSegment>()
            + self.range.values.capacity() * size_of::<Value>()
            + (self.work_list.capacity() + self.block_of.capacity()) * size_of::<Block>()
    }
}

/// The values that a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaching {
    Nothing,
    One(ValueNumber),
    Several,
}

impl Reaching {
    fn meet(&mut self, value: ValueNumber) {
        *self = match *self {
            Self::Nothing => Self::One(value),
            Self::One(same) if same == value => Self::One(value),
            _ => Self::Several,
        };
    }
}

impl Range {
    fn block_of(&self, value: ValueNumber) -> Block {
        self.values[value.index()].block
    }

    fn new_value(&mut self, definition: SlotIndex, block: Block) -> ValueNumber {
        let value = ValueNumber::new(self.values.len());
        self.values.push(Value { definition, block });
        value
    }

    /// Makes sure that a value is defined at `definition`. A normal and an early-clobber definition by
    /// one instruction are one value, defined early.
    fn create_dead_definition(&mut self, definition: SlotIndex, block: Block) {
        let position = self.segments.partition_point(|segment| segment.end <= definition);
        if let Some(segment) = self.segments.get_mut(position)
            && segment.start.is_same_instruction(definition)
        {
            if definition < segment.start {
                segment.start = definition;
                self.values[segment.value.index()].definition = definition;
            }
            return;
        }
        let value = self.new_value(definition, block);
        let segment = LiveSegment {
            start: definition,
            end: definition.dead_slot(),
            value,
        };
        self.segments.insert(position, segment);
    }

    /// If a value is live or defined in the block that begins at `start` and before `slot`, makes it
    /// live up to `slot`.
    fn extend_in_block(&mut self, start: SlotIndex, slot: SlotIndex) -> Option<ValueNumber> {
        let next = self.segments.partition_point(|segment| segment.start < slot);
        let position = next.checked_sub(1)?;
        let LiveSegment { end, value, .. } = self.segments[position];
        if end <= start {
            return None;
        }
        if end < slot {
            self.segments[position].end = slot;
            self.merge_following(position);
        }
        Some(value)
    }

    /// Adds `[start, end)`, which overlaps no segment of another value.
    fn add_segment(&mut self, start: SlotIndex, end: SlotIndex, value: ValueNumber) {
        let mut position = self.segments.partition_point(|segment| segment.start <= start);
        match position.checked_sub(1).map(|before| self.segments[before]) {
            Some(before) if before.value == value && before.end >= start => {
                position -= 1;
                self.segments[position].end = before.end.max(end);
            }
            _ => self.segments.insert(position, LiveSegment { start, end, value }),
        }
        self.merge_following(position);
    }

    /// Merges the segment at `position` with those behind it that it reaches and that have its value.
    fn merge_following(&mut self, position: usize) {
        let LiveSegment { mut end, value, .. } = self.segments[position];
        let mut last = position + 1;
        while let Some(segment) = self.segments.get(last)
            && segment.start <= end
            && segment.value == value
        {
            end = end.max(segment.end);
            last += 1;
        }
        if last > position + 1 {
            self.segments[position].end = end;
            self.segments.drain(position + 1..last);
        }
    }
}
