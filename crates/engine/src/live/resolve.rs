//! Phase 6 for the registers with several definitions that
//! [`web_values`](super::web_values) does not handle.
//!
//! The algorithm is LLVM's (`LiveIntervalCalc::calculate`, `LiveRangeCalc::extend`), because value
//! numbers are part of the result. Definitions are numbered in the order of LLVM's use list. Then
//! each use, in the same order, extends the range back to the definitions that reach it, and where
//! several values meet, PHI values are created by propagation down the dominator tree (the
//! algorithm of LLVM's SSAUpdater).
//!
//! The costs differ. LLVM clears a map of all blocks for every register and searches the range in
//! every block on the way. Here the state of a block, 16 bytes, says which register it belongs to
//! and whether that register has a segment in the block; pieces of neighbouring blocks are added as
//! one; and the dominator tree is computed when the first PHI value may be needed. The reference's
//! `VNInfo` nodes are created for PHI values only, not for every block.

mod block_states;
mod propagate;
mod range;

use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, OwnedLiveRange, make_room};
use super::scan::{Scan, access_slot};
use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use super::value::{VNInfo, ValueNumber};
use super::webs::Webs;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::{DominatorTree, ReversePostorder, Traversal};
use crate::snapshot::abi::{Access, ChainedOperandRecord, RegisterOperandRecord};
use block_states::BlockStates;
use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;
use propagate::Search;
use range::Range;

/// Above this many blocks LLVM sorts them by number before it makes PHI values.
pub(super) const UNSORTED_BLOCKS: usize = 4;

/// Resolves values. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    arena: Bump,
    states: BlockStates,
    reverse_postorder: ReversePostorder<Block>,
    /// The function's dominator tree, once it is needed.
    pub dominators: DominatorTree<Block>,
    dominators_known: bool,
    /// Position of each block in `work_list`, if it is in it.
    position_of: Vec<u32>,
    /// Positions of blocks that have no PHI value.
    pending: Vec<u64>,
    /// Positions of blocks to visit.
    dirty: Vec<u64>,
    range: Range,
    /// Blocks where the register must be live-in.
    work_list: Vec<Block>,
    /// A set of blocks to sort `work_list` with; empty between uses.
    set: Vec<u64>,
    /// True if there was a read that no definition of its register reaches.
    has_unreached_read: bool,
}

/// The registers with several definitions and their operands.
#[derive(Clone, Copy)]
pub(super) struct Chains<'a> {
    pub scan: &'a Scan,
    pub webs: &'a Webs,
    pub operands: &'a [RegisterOperandRecord],
    pub chains: &'a [ChainedOperandRecord],
}

impl<'a> Chains<'a> {
    /// Returns the operands of a register in the order of LLVM's list.
    fn of(&self, register: Register) -> &'a [ChainedOperandRecord] {
        match self.scan.web_of(register) {
            Some(web) => self.webs.operands(web, self.chains),
            None => &[],
        }
    }
}

/// The input of a resolution.
struct Input<'a> {
    flow: &'a FlowGraph,
    starts: &'a [SlotIndex],
    numbers: &'a [u32],
    operands: &'a [RegisterOperandRecord],
}

impl Input<'_> {
    fn range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        (self.starts[block.index()], self.starts[block.index() + 1])
    }
}

impl Resolver {
    /// Prepares for a function.
    pub(super) fn begin(&mut self) {
        self.arena.reset();
        self.dominators_known = false;
    }

    /// Computes the function's dominator tree if it is not known yet.
    pub(super) fn find_dominators(&mut self, flow: &FlowGraph) {
        if !self.dominators_known {
            if !self.dominators.compute_by_number(flow) {
                self.reverse_postorder.compute(flow, Traversal::default());
                self.dominators.compute(flow, &self.reverse_postorder);
            }
            self.dominators_known = true;
        }
    }

    /// Adds the intervals of `registers`, which have several definitions, to `result`.
    pub(super) fn run(
        &mut self,
        flow: &FlowGraph,
        chains: Chains<'_>,
        registers: &[Register],
        result: &mut LiveIntervals,
    ) {
        if registers.is_empty() {
            return;
        }
        self.states.reset(flow.block_count());
        self.position_of.clear();
        self.position_of.resize(flow.block_count(), 0);
        let arena = std::mem::take(&mut self.arena);
        let mut nodes = ArenaVec::new_in(&arena);
        for &register in registers {
            let input = Input {
                flow,
                starts: &result.indexes.block_starts,
                numbers: &result.indexes.instruction_numbers,
                operands: chains.operands,
            };
            self.resolve(&input, &mut nodes, chains.of(register), chains.scan);
            self.append(register, result);
            if self.has_unreached_read {
                result.unreached.push(register);
            }
        }
        drop(nodes);
        self.arena = arena;
    }

    /// Extends an existing range to each of `uses`: slots of instructions, and ends of blocks.
    pub(super) fn extend_range(
        &mut self,
        flow: &FlowGraph,
        indexes: &SlotIndexes,
        range: &mut OwnedLiveRange,
        uses: &[SlotIndex],
    ) {
        self.begin();
        self.states.reset(flow.block_count());
        self.position_of.clear();
        self.position_of.resize(flow.block_count(), 0);
        let starts = indexes.block_starts();
        assert!(
            starts.is_sorted() && starts.len() == flow.block_count() + 1,
            "blocks are in the order in which they were numbered"
        );
        let input = Input {
            flow,
            starts,
            numbers: &[],
            operands: &[],
        };

        self.states.begin_resolution();
        self.range.segments.clear();
        self.range.segments.extend_from_slice(&range.segments);
        self.range.values.clear();
        for &definition in &range.values {
            // Nothing refers to the definition of an unused value.
            let definition = definition.expand().unwrap_or(SlotIndex::ZERO);
            let block = indexes
                .block_at(definition)
                .expect("values are defined in blocks");
            self.range.new_value(definition, block);
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
        scan: &Scan,
    ) {
        let accesses = input.operands;
        self.states.begin_resolution();
        self.has_unreached_read = false;
        self.range.segments.clear();
        self.range.values.clear();
        let slot = |operand: &RegisterOperandRecord| {
            let number = input.numbers[operand.instruction().index()];
            access_slot(number, operand.access())
        };
        for place in operands {
            let operand = &accesses[place.register_operand as usize];
            if operand.access().is_definition() {
                let definition = slot(operand);
                let block = scan.block_of(definition);
                self.states.occupy(block);
                self.range.create_dead_definition(definition, block);
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
                    let read = slot(operand);
                    self.extend(input, nodes, scan.block_of(read), read);
                }
                Access::Define | Access::DefineEarly | Access::Mention | Access::FromBlock => {}
            }
        }
    }

    /// Extends the range to `slot`, which belongs to `block`.
    fn extend(&mut self, input: &Input<'_>, nodes: &mut ArenaVec<'_, VNInfo>, block: Block, slot: SlotIndex) {
        let (start, _) = input.range(block);
        if self.range.extend_in_block(start, slot).is_some() {
            return;
        }
        let mut kill = Some(slot);
        match self.find_reaching_definitions(input, block, &mut kill) {
            Reaching::Nothing => self.has_unreached_read = true,
            Reaching::One(value) => self.add_pieces(input, block, kill, value),
            Reaching::Several => {
                self.find_dominators(input.flow);
                self.order_live_in_blocks();
                let mut search = Search {
                    use_block: block,
                    kill,
                    killed_value: None,
                };
                let known = nodes.len();
                self.propagate_values(input, &mut search, nodes);
                for phi in &nodes[known..] {
                    let (start, end) = phi.piece();
                    self.range.add_segment(start, end, phi.value());
                }
                self.add_settled_pieces(input, &search);
            }
        }
    }

    /// Searches back from `block` for the values that reach its start, and collects the blocks
    /// where the register is live-in in `work_list`. If the search returns to `block`, the value is
    /// not killed there after all.
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
            for &predecessor in input.flow.predecessors_of(current) {
                if self.states.is_live_out(predecessor) {
                    if let Some((value, _)) = self.states.live_out(predecessor) {
                        reaching.meet(value);
                    }
                    continue;
                }
                self.states.set_live_out(predecessor, None);
                if self.states.is_occupied(predecessor) {
                    let (start, end) = input.range(predecessor);
                    if let Some(value) = self.range.extend_in_block(start, end) {
                        let defining = self.range.block_of(value);
                        self.states.set_live_out(predecessor, Some((value, defining)));
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
            // Without any definition nothing is live, and later searches must not stop here.
            for &searched in &self.work_list {
                self.states.forget(searched);
            }
        } else if self.work_list.len() > UNSORTED_BLOCKS {
            input.flow.order.sort(&mut self.work_list, &mut self.set);
        }
        reaching
    }

    /// Adds the blocks of `work_list` to the range of their only value, neighbours as one piece.
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

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.arena.allocated_bytes()
            + self.reverse_postorder.memory_bytes()
            + self.dominators.memory_bytes()
            + self.set.capacity() * size_of::<u64>()
            + self.states.memory_bytes()
            + self.range.memory_bytes()
            + (self.work_list.capacity() + self.position_of.capacity()) * size_of::<u32>()
            + (self.dirty.capacity() + self.pending.capacity()) * size_of::<u64>()
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
