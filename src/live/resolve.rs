//! Phase 6 for the registers with several definitions that [`webs`](super::webs) leaves.
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
//! `VNInfo` nodes are made where a PHI value is, not for every block.

use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, OwnedLiveRange, make_room};
use super::predecessors::{FlowGraph, Predecessors};
use super::scan::access_slot;
use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use super::value::{VNInfo, ValueNumber};
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::{DominatorTree, ReversePostorder, Traversal};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{Access, ChainedOperandRecord, RegisterOperandRecord};
use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

/// From this many blocks on, a set of their numbers is cheaper than sorting.
const BLOCKS_FOR_SET: usize = 24;

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
    reverse_postorder: ReversePostorder<Block>,
    /// Of this function, once they were needed.
    pub dominators: DominatorTree<Block>,
    dominators_known: bool,
    order: NumberOrder,
    /// Position of each block in `work_list`, if it is there.
    position_of: Vec<u32>,
    /// Positions of blocks that have no PHI value.
    pending: Vec<u64>,
    /// Positions of blocks that have to be visited.
    dirty: Vec<u64>,
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
}

/// The order of LLVM's block numbers.
#[derive(Debug, Default)]
struct NumberOrder {
    /// Place of each block in the order; empty if the numbers are in layout order.
    rank: Vec<u32>,
    /// The blocks in order; empty if that is layout order.
    blocks: Vec<Block>,
    /// A set of places, to sort with; empty between uses.
    set: Vec<u64>,
}

impl NumberOrder {
    fn compute(&mut self, snapshot: &Snapshot<'_>) {
        let count = snapshot.block_count();
        let number = |block: Block| snapshot.block(block).number;
        self.set.clear();
        self.set.resize(count.div_ceil(64), 0);
        self.rank.clear();
        self.blocks.clear();
        if !snapshot.blocks().is_sorted_by_key(number) {
            self.blocks.extend(snapshot.blocks());
            self.blocks.sort_unstable_by_key(|&block| number(block));
            self.rank.resize(count, 0);
            for (rank, block) in self.blocks.iter().enumerate() {
                self.rank[block.index()] = rank as u32;
            }
        }
    }

    fn rank(&self, block: Block) -> usize {
        self.rank
            .get(block.index())
            .map_or(block.index(), |&rank| rank as usize)
    }

    /// Sorts different blocks by LLVM's number.
    fn sort(&mut self, blocks: &mut [Block]) {
        if blocks.len() < BLOCKS_FOR_SET {
            if self.rank.is_empty() {
                blocks.sort_unstable();
            } else {
                blocks.sort_unstable_by_key(|&block| self.rank(block));
            }
            return;
        }
        let (mut first, mut last) = (self.set.len(), 0);
        for &block in &*blocks {
            let rank = self.rank(block);
            self.set[rank / 64] |= 1 << (rank % 64);
            first = first.min(rank / 64);
            last = last.max(rank / 64);
        }
        let mut next = blocks.iter_mut();
        for word in first..=last {
            let mut bits = std::mem::take(&mut self.set[word]);
            while bits != 0 {
                let rank = word * 64 + bits.trailing_zeros() as usize;
                let block = self.blocks.get(rank).copied().unwrap_or(Block::new(rank));
                *next.next().expect("there are as many places as blocks") = block;
                bits &= bits - 1;
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        (self.rank.capacity() + self.blocks.capacity()) * size_of::<u32>()
            + self.set.capacity() * size_of::<u64>()
    }
}

impl<'a> Input<'a> {
    fn range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        (self.starts[block.index()], self.starts[block.index() + 1])
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

    /// Computes the dominator tree of the function if it is not known yet.
    pub(super) fn find_dominators(&mut self, snapshot: &Snapshot<'_>, predecessors: &Predecessors) {
        if !self.dominators_known {
            let graph = FlowGraph::new(*snapshot, predecessors);
            self.reverse_postorder.compute(&graph, Traversal::default());
            self.dominators.compute(&graph, &self.reverse_postorder);
            self.dominators_known = true;
        }
    }

    /// Adds the intervals of `registers`, which have several definitions, to `result`.
    pub(super) fn run(
        &mut self,
        snapshot: &Snapshot<'_>,
        predecessors: &Predecessors,
        registers: &[Register],
        result: &mut LiveIntervals,
    ) {
        if registers.is_empty() {
            return;
        }
        let chained = snapshot.arrays().chained_operands;
        self.states.reset(snapshot.block_count());
        self.block_of.clear();
        for block in snapshot.blocks() {
            self.block_of.resize(snapshot.instruction_range(block).end, block);
        }
        self.order.compute(snapshot);
        self.position_of.clear();
        self.position_of.resize(snapshot.block_count(), 0);
        let arena = std::mem::take(&mut self.arena);
        let mut nodes = ArenaVec::new_in(&arena);
        for register in registers {
            let first = chained.partition_point(|place| place.register < register.as_u32());
            let count = chained[first..].partition_point(|place| place.register == register.as_u32());
            let operands = &chained[first..first + count];
            let input = Input {
                snapshot: *snapshot,
                starts: &result.indexes.block_starts,
                numbers: &result.indexes.instruction_numbers,
                predecessors,
            };
            self.resolve(&input, &mut nodes, operands);
            self.append(*register, result);
        }
        drop(nodes);
        self.arena = arena;
    }

    /// Makes an existing range reach each of `uses`: slots of instructions, and ends of blocks.
    pub(super) fn extend_range(
        &mut self,
        snapshot: &Snapshot<'_>,
        indexes: &SlotIndexes,
        predecessors: &Predecessors,
        range: &mut OwnedLiveRange,
        uses: &[SlotIndex],
    ) {
        self.begin();
        self.states.reset(snapshot.block_count());
        self.order.compute(snapshot);
        self.position_of.clear();
        self.position_of.resize(snapshot.block_count(), 0);
        let mut starts: Vec<SlotIndex> = snapshot
            .blocks()
            .map(|block| indexes.block_start(block))
            .collect();
        starts.push(indexes.last_index());
        assert!(
            starts.is_sorted(),
            "blocks are in the order in which they were numbered"
        );
        let input = Input {
            snapshot: *snapshot,
            starts: &starts,
            numbers: &[],
            predecessors,
        };

        self.states.resolution += 1;
        self.range.segments.clear();
        self.range.segments.extend_from_slice(&range.segments);
        self.range.values.clear();
        for &definition in &range.values {
            // Nothing refers to the definition of an unused value.
            let definition = definition.expand().unwrap_or(SlotIndex::ZERO);
            let block = indexes
                .block_at(definition)
                .expect("values are defined in blocks");
            self.range.values.push(Value { definition, block });
        }
        for segment in &range.segments {
            let mut index = segment.start;
            while let Some(block) = indexes.block_at(index).filter(|_| index < segment.end) {
                self.states.occupy(block);
                index = indexes.block_end(block);
            }
        }
        let arena = std::mem::take(&mut self.arena);
        let mut nodes = ArenaVec::new_in(&arena);
        for &slot in uses {
            let block = indexes.block_before(slot).expect("a use is in a block");
            self.extend(&input, &mut nodes, block, slot);
        }
        drop(nodes);
        self.arena = arena;
        range.segments.clear();
        range.segments.extend_from_slice(&self.range.segments);
        let known = range.values.len();
        let made = self.range.values[known..].iter();
        range
            .values
            .extend(made.map(|value| PackedOption::from(value.definition)));
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
        let accesses = input.snapshot.arrays().register_operands;
        let accesses = accesses.expect("register operands are listed");
        let slot = |operand: &RegisterOperandRecord| {
            let number = input.numbers[operand.instruction().index()];
            access_slot(number, operand.access())
        };
        for place in operands {
            let operand = &accesses[place.register_operand as usize];
            if operand.access().is_definition() {
                let block = self.block_of[operand.instruction().index()];
                self.states.occupy(block);
                self.range.create_dead_definition(slot(operand), block);
            }
        }
        for place in operands {
            let position = place.register_operand as usize;
            let operand = &accesses[position];
            match operand.access() {
                Access::ReadByPhi => {
                    let predecessor = accesses[position + 1].block();
                    let (_, end) = input.range(predecessor);
                    self.extend(input, nodes, predecessor, end);
                }
                Access::Read | Access::ReadEarly => {
                    let block = self.block_of[operand.instruction().index()];
                    self.extend(input, nodes, block, slot(operand));
                }
                Access::Define | Access::DefineEarly | Access::Mention | Access::FromBlock => {}
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
                self.find_dominators(&input.snapshot, input.predecessors);
                self.order_live_in_blocks();
                let mut search = Search {
                    use_block: block,
                    kill,
                    killed_value: None,
                };
                self.propagate_values(input, &mut search, nodes);
                self.add_settled_pieces(input, &search);
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
            self.order.sort(&mut self.work_list);
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

    /// Keeps the blocks of `work_list` that the entry reaches, as only they get a value, and notes
    /// their positions.
    fn order_live_in_blocks(&mut self) {
        let Self {
            work_list,
            dominators,
            position_of,
            ..
        } = self;
        work_list.retain(|&block| dominators.is_reachable(block));
        for (position, block) in work_list.iter().enumerate() {
            position_of[block.index()] = position as u32;
        }
        let words = work_list.len().div_ceil(64);
        self.pending.clear();
        self.pending.resize(words, u64::MAX);
        self.dirty.clear();
        self.dirty.resize(words, 0);
    }

    /// Propagates live-out values down the dominator tree and makes PHI values where a block is in the
    /// dominance frontier of a value, until nothing changes.
    ///
    /// The first pass visits all blocks in order, the second those where paths join and those that come
    /// before their dominator. From then on a block is visited again, in the same order, when a
    /// predecessor or its dominator got another value; LLVM visits all, but a visit with the same
    /// inputs changes nothing. A value only ever moves down the tree and every PHI is made once, which
    /// bounds the passes.
    fn propagate_values(&mut self, input: &Input<'_>, search: &mut Search, nodes: &mut ArenaVec<'_, VNInfo>) {
        for position in 0..self.work_list.len() {
            self.visit::<false>(input, search, nodes, position);
        }
        for (position, &block) in self.work_list.iter().enumerate() {
            let joins = input.predecessors.of(block).len() != 1;
            let early = self
                .dominators
                .immediate(block)
                .is_some_and(|dominator| self.position_of[dominator.index()] as usize > position);
            let mark = u64::from(joins || early) << (position % 64);
            self.dirty[position / 64] |= mark & self.pending[position / 64];
        }
        while self.dirty.iter().any(|&word| word != 0) {
            for word in 0..self.dirty.len() {
                // A visit may mark blocks before and behind it; those behind it belong to this pass.
                let mut ahead = u64::MAX;
                loop {
                    let bits = self.dirty[word] & ahead;
                    if bits == 0 {
                        break;
                    }
                    let bit = bits.trailing_zeros();
                    self.dirty[word] &= !(1 << bit);
                    ahead = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
                    self.visit::<true>(input, search, nodes, word * 64 + bit as usize);
                }
            }
        }
    }

    /// Looks for the live-in value of the block at `position`, unless it has a PHI value already. With
    /// `MARK`, blocks that read a value that changes are marked to be visited.
    fn visit<const MARK: bool>(
        &mut self,
        input: &Input<'_>,
        search: &mut Search,
        nodes: &mut ArenaVec<'_, VNInfo>,
        position: usize,
    ) {
        if self.pending[position / 64] >> (position % 64) & 1 == 0 {
            return;
        }
        let block = self.work_list[position];
        let dominator = self
            .dominators
            .immediate(block)
            .filter(|&dominator| self.states.is_live_out(dominator));
        let incoming = dominator.and_then(|dominator| self.states.live_out(dominator));
        let predecessors = input.predecessors.of(block);
        let needs_phi = match dominator {
            None => true,
            // Its only predecessor dominates it.
            Some(_) if predecessors.len() == 1 => false,
            Some(dominator) => {
                let same = incoming.map(|(value, _)| value);
                predecessors.iter().any(|&predecessor| {
                    self.states
                        .live_out(predecessor)
                        .is_some_and(|(value, defining)| {
                            Some(value) != same && self.dominators.dominates(dominator, defining)
                        })
                })
            }
        };
        let kill = search.kill.filter(|_| block == search.use_block);
        if needs_phi {
            self.phi_values += 1;
            let (start, end) = input.range(block);
            let value = self.range.new_value(start, block);
            let resolution = u64::from(self.states.resolution);
            nodes.push(VNInfo::new(
                value,
                block,
                dominator,
                (start, end),
                kill,
                resolution,
            ));
            self.range.add_segment(start, kill.unwrap_or(end), value);
            self.pending[position / 64] &= !(1 << (position % 64));
            if kill.is_some() {
                self.states.occupy(block);
            } else {
                self.states.set_live_out(block, Some((value, block)));
                if MARK {
                    self.mark_dependents(input, block);
                }
            }
        } else if let Some((value, _)) = incoming {
            if kill.is_some() {
                search.killed_value = Some(value);
            } else if self.states.live_out(block).map(|(value, _)| value) != Some(value) {
                self.states.set_live_out(block, incoming);
                if MARK {
                    self.mark_dependents(input, block);
                }
            }
        }
    }

    /// The live-out value of `block` changed: blocks that read it have to be visited again.
    fn mark_dependents(&mut self, input: &Input<'_>, block: Block) {
        let successors = input.snapshot.edges(block).iter();
        let successors = successors.map(|edge| Block::from_u32(edge.block));
        for dependent in successors.chain(self.dominators.children(block)) {
            let position = self.position_of[dependent.index()] as usize;
            if self.work_list.get(position) == Some(&dependent) {
                self.dirty[position / 64] |= 1 << (position % 64);
            }
        }
    }

    /// Adds the pieces of blocks that got their value from their dominator, neighbours with the same
    /// value together.
    fn add_settled_pieces(&mut self, input: &Input<'_>, search: &Search) {
        let mut run: Option<(SlotIndex, SlotIndex, ValueNumber)> = None;
        for (position, &block) in self.work_list.iter().enumerate() {
            if self.pending[position / 64] >> (position % 64) & 1 == 0 {
                continue;
            }
            let (start, mut end) = input.range(block);
            let kill = search.kill.filter(|_| block == search.use_block);
            let value = match kill {
                Some(kill) => {
                    end = kill;
                    self.states.occupy(block);
                    search.killed_value
                }
                None => self.states.live_out(block).map(|(value, _)| value),
            };
            let Some(value) = value else { continue };
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
        make_room(&mut result.segments, self.range.segments.len());
        make_room(&mut result.values, self.range.values.len());
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
            + self.reverse_postorder.memory_bytes()
            + self.dominators.memory_bytes()
            + self.order.memory_bytes()
            + self.states.states.capacity() * size_of::<BlockState>()
            + self.range.segments.capacity() * size_of::<LiveSegment>()
            + self.range.values.capacity() * size_of::<Value>()
            + (self.work_list.capacity() + self.block_of.capacity() + self.position_of.capacity())
                * size_of::<u32>()
            + (self.dirty.capacity() + self.pending.capacity()) * size_of::<u64>()
    }
}

/// The search for the value that one use reads.
#[derive(Clone, Copy, Debug)]
struct Search {
    use_block: Block,
    /// Where the value is read, unless it is live through the block.
    kill: Option<SlotIndex>,
    /// The value that is read there, if the block gets it from its dominator.
    killed_value: Option<ValueNumber>,
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
