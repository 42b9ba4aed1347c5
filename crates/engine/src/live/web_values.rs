//! Phases 5 to 7 for most registers with several definitions, one by one.
//!
//! Liveness is propagated backward from the reads. There is a PHI value wherever paths from
//! different definitions join and the register is live, which is the pruned iterated dominance
//! frontier of the definitions (Cytron et al., "Efficiently Computing Static Single Assignment Form
//! and the Control Dependence Graph", 1991). Elsewhere the value at the start of a block is that at
//! the end of any of its predecessors.
//!
//! A web is usually live in few blocks, so all steps visit these only: a block's state says which
//! web it belongs to, and nothing is cleared from web to web.

use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::number_order::NumberOrder;
use super::resolve::Chains;
use super::scan::{RegisterState, Scan};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use super::webs::WebDefinition;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::{DominanceFrontier, DominatorTree};

/// The average size of a block's dominance frontier above which webs are left to the resolver: deep
/// nests of loops have frontiers of quadratic size.
const FRONTIER_OF_A_BLOCK: usize = 32;

/// A block's part of the web at hand. A mark that equals the number of the web is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockState {
    pub defined: u32,
    live_in: u32,
    live_out: u32,
    pub has_phi: u32,
    /// The last read that no definition of the block reaches.
    last_read: SlotIndex,
    /// Its PHI value.
    pub phi: ValueNumber,
    /// The value that leaves it.
    pub leaving: ValueNumber,
    /// The same, as far as LLVM knows it while it numbers PHI values.
    pub known: PackedOption<ValueNumber>,
    /// Marks for what LLVM knows: that the web is live-in or live-out and that the PHI value has
    /// its number.
    pub known_in: u32,
    pub known_out: u32,
    pub has_number: u32,
}

impl Default for BlockState {
    /// Sets no mark: webs are numbered from one.
    fn default() -> Self {
        Self {
            defined: 0,
            live_in: 0,
            live_out: 0,
            has_phi: 0,
            last_read: SlotIndex::ZERO,
            phi: ValueNumber::ZERO,
            leaving: ValueNumber::ZERO,
            known: PackedOption::default(),
            known_in: 0,
            known_out: 0,
            has_number: 0,
        }
    }
}

/// The function: its graph and the operands of its registers.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub flow: &'a FlowGraph,
    pub dominators: &'a DominatorTree<Block>,
    pub chains: Chains<'a>,
}

/// Solves webs. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct WebSolver {
    pub states: Vec<BlockState>,
    /// The number of the web at hand.
    pub web: u32,
    frontier: DominanceFrontier<Block>,
    /// Blocks where the web is live-in or defined.
    blocks: Vec<Block>,
    layout: NumberOrder,
    /// Blocks with a PHI value, in the order of the values.
    pub phis: Vec<Block>,
    /// The same while they are sorted.
    pub sorted_phis: Vec<Block>,
    /// By provisional value: the block that defines it.
    pub value_blocks: Vec<Block>,
    /// The blocks of one of LLVM's searches.
    pub searched: Vec<Block>,
    /// Scratch memory to sort blocks.
    pub set: Vec<u64>,
}

impl WebSolver {
    /// Adds the intervals of `webs` to `result`, but for those that a path without definition
    /// reaches. It adds these to `unresolved`.
    pub(super) fn run(
        &mut self,
        input: Input<'_>,
        webs: &[Register],
        unresolved: &mut Vec<Register>,
        result: &mut LiveIntervals,
    ) {
        let Input { flow, dominators, .. } = input;
        let blocks = flow.block_count();
        // Dominators say nothing about unreachable blocks.
        if !dominators.reaches_all()
            || !self
                .frontier
                .compute(flow, dominators, blocks * FRONTIER_OF_A_BLOCK)
        {
            unresolved.extend_from_slice(webs);
            return;
        }
        self.states.clear();
        self.states.resize(blocks, BlockState::default());
        self.web = 0;
        for &register in webs {
            self.web += 1;
            if !self.append(register, input, result) {
                unresolved.push(register);
            }
        }
    }

    /// Adds the interval of a web, unless a path without definition reaches it.
    fn append(&mut self, register: Register, input: Input<'_>, result: &mut LiveIntervals) -> bool {
        let Chains { scan, webs, .. } = input.chains;
        let web = scan.web_of(register).expect("only webs are listed");
        let definitions = webs.definitions(web);
        self.propagate(scan.registers[register.index()], definitions, input.flow, scan);
        if self.states[0].live_in == self.web {
            return false;
        }
        self.find_phis(definitions);
        self.layout.sort(&mut self.blocks, &mut self.set);
        let first_segment = result.segments.len();
        self.append_segments(definitions, input, result);
        if self.phis.len() > 1 {
            let operands = webs.operands(web, input.chains.chains);
            self.sort_phis(definitions, operands, input, &result.indexes);
            self.renumber(definitions.len(), &mut result.segments[first_segment..]);
        }
        result.records[register.index()] = IntervalRecord {
            first_segment: first_segment as u32,
            segment_count: (result.segments.len() - first_segment) as u32,
            ..webs.append_values(web, &self.phis, &result.indexes.block_starts, &mut result.values)
        };
        true
    }

    /// Propagates liveness backward from the reads, and lists the blocks where the web is live-in
    /// and those that define it.
    fn propagate(
        &mut self,
        state: RegisterState,
        definitions: &[WebDefinition],
        flow: &FlowGraph,
        scan: &Scan,
    ) {
        self.blocks.clear();
        for definition in definitions {
            self.states[definition.block.index()].defined = self.web;
        }
        for upward in scan.upward_uses_of(state) {
            self.enter(upward.block);
            self.states[upward.block.index()].last_read = upward.last;
        }
        for block in scan.live_out_uses_of(state) {
            self.leave(block);
        }
        let mut next = 0;
        while let Some(&block) = self.blocks.get(next) {
            next += 1;
            for &predecessor in flow.predecessors_of(block) {
                self.leave(predecessor);
            }
        }
        let mut previous = None;
        for &WebDefinition { block, .. } in definitions {
            if previous != Some(block) && self.states[block.index()].live_in != self.web {
                self.blocks.push(block);
            }
            previous = Some(block);
        }
    }

    /// Marks the web live on entry to `block`.
    fn enter(&mut self, block: Block) {
        let state = &mut self.states[block.index()];
        if state.live_in != self.web {
            state.live_in = self.web;
            self.blocks.push(block);
        }
    }

    /// Marks the web live on exit from `block`.
    fn leave(&mut self, block: Block) {
        let state = &mut self.states[block.index()];
        if state.live_out != self.web {
            state.live_out = self.web;
            if state.defined != self.web {
                self.enter(block);
            }
        }
    }

    /// Finds the blocks with PHI values. A PHI value is a definition, too.
    fn find_phis(&mut self, definitions: &[WebDefinition]) {
        self.phis.clear();
        let mut next = 0;
        let mut sources = definitions.iter().map(|definition| definition.block);
        while let Some(source) = sources.next().or_else(|| {
            next += 1;
            self.phis.get(next - 1).copied()
        }) {
            for &block in self.frontier.of(source) {
                let state = &mut self.states[block.index()];
                if state.live_in == self.web && state.has_phi != self.web {
                    state.has_phi = self.web;
                    state.phi = ValueNumber::new(definitions.len() + self.phis.len());
                    self.phis.push(block);
                }
            }
        }
    }

    /// Adds the segments of the web. PHI values have provisional numbers.
    fn append_segments(
        &mut self,
        definitions: &[WebDefinition],
        input: Input<'_>,
        result: &mut LiveIntervals,
    ) {
        let starts = &result.indexes.block_starts;
        let segments = &mut result.segments;
        let first = segments.len();
        make_room(segments, self.blocks.len() + definitions.len());
        let mut next = definitions;
        for &block in &self.blocks {
            let state = self.states[block.index()];
            let (start, end) = (starts[block.index()], starts[block.index() + 1]);
            let is_live_out = state.live_out == self.web;
            let mut value = ValueNumber::ZERO;
            if state.live_in == self.web {
                value = self.value_at_start(block, definitions, input);
                let is_through = is_live_out && state.defined != self.web;
                let end = if is_through { end } else { state.last_read };
                match segments[first..].last_mut() {
                    Some(last) if last.end == start && last.value == value => last.end = end,
                    _ => segments.push(LiveSegment { start, end, value }),
                }
            }
            while let Some((definition, rest)) = next.split_first().filter(|(first, _)| first.block == block)
            {
                next = rest;
                let is_last = rest.first().is_none_or(|definition| definition.block != block);
                value = definition.value;
                segments.push(LiveSegment {
                    start: definition.slot,
                    end: if is_last && is_live_out {
                        end
                    } else {
                        definition.end
                    },
                    value,
                });
            }
            self.states[block.index()].leaving = value;
        }
    }

    /// Returns the value at the start of `block`, where the web is live. Earlier blocks have their
    /// values.
    fn value_at_start(&self, block: Block, definitions: &[WebDefinition], input: Input<'_>) -> ValueNumber {
        let state = self.states[block.index()];
        if state.has_phi == self.web {
            return state.phi;
        }
        // The same value leaves all predecessors.
        let mut predecessors = input.flow.predecessors_of(block).iter();
        if let Some(from) = predecessors.find(|&&from| from < block) {
            return self.states[from.index()].leaving;
        }
        let mut above = input.dominators.immediate(block);
        while let Some(source) = above {
            let state = self.states[source.index()];
            if state.defined == self.web {
                let mut backward = definitions.iter().rev();
                let last = backward.find(|definition| definition.block == source);
                return last.expect("the block defines the web").value;
            }
            if state.has_phi == self.web {
                return state.phi;
            }
            above = input.dominators.immediate(source);
        }
        unreachable!("a value reaches each block where the web is live")
    }

    /// Gives PHI values their numbers, behind those of `definitions`, in the order of `phis`.
    fn renumber(&mut self, definitions: usize, segments: &mut [LiveSegment]) {
        for (position, block) in self.phis.iter().enumerate() {
            self.states[block.index()].phi = ValueNumber::new(definitions + position);
        }
        for segment in segments {
            if segment.value.index() >= definitions {
                let block = self.value_blocks[segment.value.index()];
                segment.value = self.states[block.index()].phi;
            }
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.states.capacity() * size_of::<BlockState>()
            + [
                &self.blocks,
                &self.phis,
                &self.sorted_phis,
                &self.value_blocks,
                &self.searched,
            ]
            .map(Vec::capacity)
            .iter()
            .sum::<usize>()
                * size_of::<Block>()
            + self.frontier.memory_bytes()
            + self.set.capacity() * size_of::<u64>()
    }
}
