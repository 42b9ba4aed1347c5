//! Phase 6: the values of registers with several definitions.
//!
//! The algorithm is LLVM's (`LiveIntervalCalc::calculate`, `LiveRangeCalc::extend`), because value
//! numbers are part of the result: definitions are numbered in the order of LLVM's use list, then each
//! use, in the same order, extends the range back to the definitions that reach it, and where several
//! values meet, PHI values are made by propagation down the dominator tree (the algorithm of LLVM's
//! SSAUpdater).
//!
//! What differs is the cost. LLVM clears a map of all blocks for every register; here the state of
//! a block carries the number of the resolution that it belongs to. The dominator tree is computed
//! when the first PHI value may be needed.

use super::dataflow::block_of;
use super::dominators::Dominators;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment};
use super::predecessors::Predecessors;
use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::SlotIndex;
use super::value::{VNInfo, ValueNumber};
use crate::entity::{Block, EntityRef, Instruction, PackedOption, Register, entity_impl};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{ChainedOperandRecord, OpcodeFlags};
use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

/// A node of the arena.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct NodeId(u32);
entity_impl!(NodeId, "node");

/// Above this many blocks LLVM sorts them by number before it makes PHI values.
const UNSORTED_BLOCKS: usize = 4;

/// The definition of a value.
#[derive(Clone, Copy, Debug)]
struct Value {
    definition: SlotIndex,
    block: Block,
}

/// Resolves values. Memory is kept from function to function.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    arena: Bump,
    node_of: Vec<PackedOption<NodeId>>,
    dominators: Dominators,
    dominators_known: bool,
    generation: u64,
    range: Range,
    /// Blocks where the register has to be live-in.
    work_list: Vec<Block>,
    /// Of these, those whose value propagation has to find.
    live_in: Vec<NodeId>,
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
}

impl Input<'_> {
    fn range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        (self.starts[block.index()], self.starts[block.index() + 1])
    }
}

/// The per-block nodes, in the arena.
struct Nodes<'a> {
    nodes: ArenaVec<'a, VNInfo>,
    node_of: &'a mut [PackedOption<NodeId>],
}

impl Nodes<'_> {
    fn of(&mut self, block: Block) -> &mut VNInfo {
        let id = self.id(block);
        &mut self.nodes[id.index()]
    }

    fn id(&mut self, block: Block) -> NodeId {
        if let Some(id) = self.node_of[block.index()].expand() {
            return id;
        }
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(VNInfo::new(block));
        self.node_of[block.index()] = id.into();
        id
    }

    fn is_live_out(&self, block: Block, generation: u64) -> bool {
        self.node_of[block.index()]
            .expand()
            .is_some_and(|id| self.nodes[id.index()].is_live_out(generation))
    }

    /// The value that leaves the block in this resolution.
    fn live_out(&self, block: Block, generation: u64) -> Option<(ValueNumber, Block)> {
        let node = &self.nodes[self.node_of[block.index()].expand()?.index()];
        node.is_live_out(generation).then(|| node.live_out()).flatten()
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
        let mut node_of = std::mem::take(&mut self.node_of);
        node_of.clear();
        node_of.resize(snapshot.block_count(), PackedOption::default());
        let arena = std::mem::take(&mut self.arena);
        let mut nodes = Nodes {
            nodes: ArenaVec::new_in(&arena),
            node_of: &mut node_of,
        };
        for operands in chained.chunk_by(|a, b| a.register == b.register) {
            let input = Input {
                snapshot: *snapshot,
                starts: &result.indexes.block_starts,
                numbers: &result.indexes.instruction_numbers,
                predecessors,
            };
            self.resolve(&input, &mut nodes, operands);
            self.append(Register::from_u32(operands[0].register), result);
        }
        drop(nodes);
        self.arena = arena;
        self.node_of = node_of;
    }

    /// Computes the range of the register whose operands are given.
    fn resolve(&mut self, input: &Input<'_>, nodes: &mut Nodes<'_>, operands: &[ChainedOperandRecord]) {
        self.generation += 1;
        self.range.segments.clear();
        self.range.values.clear();
        let mut hint = Block::new(0);
        for place in operands {
            let instruction = input
                .snapshot
                .instruction(Instruction::from_u32(place.instruction));
            let operand = &instruction.operand_records()[place.operand as usize];
            let number = input.numbers[place.instruction as usize];
            if defines(operand) && number.is_multiple_of(4) {
                let definition = definition_slot(number, operand);
                hint = block_of(input.starts, definition, hint);
                self.range.create_dead_definition(definition, hint);
            }
        }
        for place in operands {
            let instruction = input
                .snapshot
                .instruction(Instruction::from_u32(place.instruction));
            let records = instruction.operand_records();
            let operand = &records[place.operand as usize];
            let number = input.numbers[place.instruction as usize];
            if !reads(operand) || !number.is_multiple_of(4) {
                continue;
            }
            if instruction.opcode_flags().contains(OpcodeFlags::PHI) {
                let predecessor = Block::from_u32(records[place.operand as usize + 1].index);
                let (_, end) = input.range(predecessor);
                self.extend(input, nodes, predecessor, end);
            } else {
                let slot = use_slot(number, operand, records);
                hint = block_of(input.starts, slot, hint);
                self.extend(input, nodes, hint, slot);
            }
        }
    }

    /// Makes the range reach `slot`, which belongs to `block`.
    fn extend(&mut self, input: &Input<'_>, nodes: &mut Nodes<'_>, block: Block, slot: SlotIndex) {
        let (start, _) = input.range(block);
        if self.range.extend_in_block(start, slot).is_some() {
            return;
        }
        if self.find_reaching_definitions(input, nodes, block, slot) {
            return;
        }
        if !self.dominators_known {
            self.dominators.compute(&input.snapshot, input.predecessors);
            self.dominators_known = true;
        }
        for position in 0..self.live_in.len() {
            let node = &mut nodes.nodes[self.live_in[position].index()];
            if !self.dominators.is_reachable(node.block()) {
                node.settle();
            }
        }
        self.propagate_values(input, nodes);
        self.add_live_in_pieces(nodes);
    }

    /// Searches back from `block` for the values that reach `slot`. If there is only one, adds the
    /// pieces where it is live and returns true. Otherwise leaves the blocks in `live_in`.
    fn find_reaching_definitions(
        &mut self,
        input: &Input<'_>,
        nodes: &mut Nodes<'_>,
        block: Block,
        slot: SlotIndex,
    ) -> bool {
        let generation = self.generation;
        let mut kill = Some(slot);
        let mut unique = true;
        let mut found: Option<ValueNumber> = None;
        let mut meet = |value: ValueNumber| {
            unique &= found.is_none_or(|found| found == value);
            found = Some(value);
        };
        self.work_list.clear();
        self.work_list.push(block);
        let mut next = 0;
        while let Some(&current) = self.work_list.get(next) {
            next += 1;
            for &predecessor in input.predecessors.of(current) {
                if nodes.is_live_out(predecessor, generation) {
                    if let Some((value, _)) = nodes.of(predecessor).live_out() {
                        meet(value);
                    }
                    continue;
                }
                let (start, end) = input.range(predecessor);
                let value = self.range.extend_in_block(start, end);
                let with_block = value.map(|value| (value, self.range.block_of(value)));
                nodes.of(predecessor).set_live_out(generation, with_block);
                match value {
                    Some(value) => meet(value),
                    None if predecessor == block => kill = None,
                    None => self.work_list.push(predecessor),
                }
            }
        }
        if self.work_list.len() > UNSORTED_BLOCKS {
            self.work_list
                .sort_unstable_by_key(|&block| input.snapshot.block(block).number);
        }

        if unique {
            let Some(value) = found else {
                // Without any definition nothing is live, and other uses must not stop here.
                for &searched in &self.work_list {
                    nodes.of(searched).set_live_out(0, None);
                }
                return true;
            };
            let with_block = Some((value, self.range.block_of(value)));
            for &live in &self.work_list {
                let (start, mut end) = input.range(live);
                match kill {
                    Some(kill) if live == block => end = kill,
                    _ => nodes.of(live).set_live_out(generation, with_block),
                }
                self.range.add_segment(start, end, value);
            }
            return true;
        }
        self.live_in.clear();
        for &live in &self.work_list {
            let (start, end) = input.range(live);
            let id = nodes.id(live);
            let kill = kill.filter(|_| live == block);
            nodes.nodes[id.index()].need_live_in(start, end, kill);
            self.live_in.push(id);
        }
        false
    }

    /// Propagates live-out values down the dominator tree and makes PHI values where a block is in the
    /// dominance frontier of a value, until nothing changes. A value only ever moves down the
    /// tree and every PHI is made once, which bounds the passes.
    fn propagate_values(&mut self, input: &Input<'_>, nodes: &mut Nodes<'_>) {
        let generation = self.generation;
        let mut changed = true;
        while changed {
            changed = false;
            for position in 0..self.live_in.len() {
                let id = self.live_in[position];
                if !nodes.nodes[id.index()].needs_live_in() {
                    continue;
                }
                let block = nodes.nodes[id.index()].block();
                let dominator = self
                    .dominators
                    .immediate(block)
                    .filter(|&dominator| nodes.is_live_out(dominator, generation));
                let incoming = dominator.and_then(|dominator| nodes.live_out(dominator, generation));
                let needs_phi = dominator.is_none_or(|dominator| {
                    input.predecessors.of(block).iter().any(|&predecessor| {
                        nodes
                            .live_out(predecessor, generation)
                            .is_some_and(|(value, defining)| {
                                Some(value) != incoming.map(|(value, _)| value)
                                    && self.dominators.dominates(dominator, defining)
                            })
                    })
                });
                let node = &mut nodes.nodes[id.index()];
                if needs_phi {
                    changed = true;
                    self.phi_values += 1;
                    let (start, end) = node.live_in_piece();
                    let value = self.range.new_value(start, block);
                    self.range.add_segment(start, end, value);
                    node.settle();
                    if !node.is_killed() {
                        node.set_live_out(generation, Some((value, block)));
                    }
                } else if let Some((value, _)) = incoming {
                    node.set_live_in(value);
                    if node.is_killed() {
                        continue;
                    }
                    let known = node
                        .live_out()
                        .filter(|_| node.is_live_out(generation))
                        .map(|(value, _)| value);
                    if known != Some(value) {
                        node.set_live_out(generation, incoming);
                        changed = true;
                    }
                }
            }
        }
    }

    /// Adds the pieces of blocks that got their value from their dominator.
    fn add_live_in_pieces(&mut self, nodes: &mut Nodes<'_>) {
        for id in self.live_in.drain(..) {
            let node = &mut nodes.nodes[id.index()];
            if !node.needs_live_in() {
                continue;
            }
            node.settle();
            let Some(value) = node.live_in() else { continue };
            let (start, end) = node.live_in_piece();
            if !node.is_killed() {
                let block = self.range.block_of(value);
                node.set_live_out(self.generation, Some((value, block)));
            }
            self.range.add_segment(start, end, value);
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
            + self.node_of.capacity() * size_of::<PackedOption<NodeId>>()
            + self.range.segments.capacity() * size_of::<LiveSegment>()
            + self.range.values.capacity() * size_of::<Value>()
            + (self.work_list.capacity() + self.live_in.capacity()) * size_of::<u32>()
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
