//! Phases 5 to 7 for most registers with several definitions, up to 64 at a time: a set of them is
//! a word, and most steps work on words.
//!
//! Liveness is propagated backward from the reads. There is a PHI value wherever paths from
//! different definitions join and the register is live, which is the pruned iterated dominance
//! frontier of the definitions (Cytron et al., "Efficiently Computing Static Single Assignment Form
//! and the Control Dependence Graph", 1991). Then [`web_pieces`](super::web_pieces) cuts the live
//! blocks into segments, and [`phi_order`](super::phi_order) numbers the PHI values.
//!
//! Only blocks where a web of the batch is live or defined are visited.

use super::dataflow::BlockSet;
use super::flow_graph::FlowGraph;
use super::live_interval::LiveIntervals;
use super::phi_order::PhiOrder;
use super::resolve::Chains;
use super::slot_index::SlotIndex;
use super::web_batch::{BATCH, BlockState, Input, Member, WebBatch, bits};
use super::web_pieces::Pieces;
use crate::entity::{Block, EntityRef, Register};
use crate::graph::DominanceFrontier;

/// The average size of a block's dominance frontier above which webs are left to the resolver: deep
/// nests of loops have frontiers of quadratic size.
const FRONTIER_OF_A_BLOCK: usize = 32;

/// Solves webs. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct WebSolver {
    batch: WebBatch,
    frontier: DominanceFrontier<Block>,
    /// Blocks of the batch, until they are listed.
    touched: BlockSet,
    /// Blocks whose live-in set may hold webs that are not live-out of its predecessors yet.
    pending: BlockSet,
    /// Blocks whose definitions or PHI values have not been followed to their frontiers.
    sources: Vec<Block>,
    pieces: Pieces,
    phi_order: PhiOrder,
}

impl WebSolver {
    /// Adds the intervals of `webs` to `result`, but for those that a path without definition
    /// reaches. It adds these to `unresolved`.
    pub(super) fn run(
        &mut self,
        input: Input<'_>,
        webs: &mut [Register],
        unresolved: &mut Vec<Register>,
        result: &mut LiveIntervals,
    ) {
        let Input {
            flow,
            dominators,
            chains,
        } = input;
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
        if webs.len() > BATCH {
            // Neighbours go to one batch, so that a batch touches few blocks.
            webs.sort_unstable_by_key(|web| chains.scan.registers[web.index()].definition.expand());
        }
        self.batch.states.clear();
        self.batch.states.resize(blocks, BlockState::default());
        self.touched.reset(blocks);
        self.pending.reset(blocks);
        self.pieces.begin(blocks);
        self.phi_order.begin(blocks);
        for webs in webs.chunks(BATCH) {
            self.seed(webs, chains);
            self.propagate(flow);
            let unreached = self.batch.states[0].live_in;
            unresolved.extend(bits(unreached).map(|bit| webs[bit]));
            self.batch.solved = !unreached;
            self.touched.drain_ascending(&mut self.batch.blocks);
            self.find_phis();
            self.pieces.run(&mut self.batch, input, result);
            self.pieces
                .write(&mut self.batch, &mut self.phi_order, input, result);
            for block in &self.batch.blocks {
                self.batch.states[block.index()] = BlockState::default();
            }
        }
    }

    /// Makes `webs` the batch, and adds their definitions and reads to the blocks' sets.
    fn seed(&mut self, webs: &[Register], chains: Chains<'_>) {
        let Chains { scan, webs: all, .. } = chains;
        let WebBatch { members, states, .. } = &mut self.batch;
        members.clear();
        for (bit, &register) in webs.iter().enumerate() {
            let set = 1 << bit;
            let state = scan.registers[register.index()];
            let web = scan.web_of(register).expect("only webs are listed");
            let definitions = all.definitions(web);
            for definition in definitions {
                states[definition.block.index()].defined |= set;
                self.touched.insert(definition.block);
            }
            for upward in scan.upward_uses_of(state) {
                states[upward.block.index()].live_in |= set;
                self.touched.insert(upward.block);
                self.pending.insert(upward.block);
            }
            for block in scan.live_out_uses_of(state) {
                let state = &mut states[block.index()];
                state.live_out |= set;
                state.live_in |= set & !state.defined;
                self.touched.insert(block);
                self.pending.insert(block);
            }
            members.push(Member {
                register,
                web,
                upward: state.upward,
                definitions_left: definitions.len() as u32,
                open_end: SlotIndex::ZERO,
            });
        }
    }

    /// Propagates liveness backward, from the last block to the first until nothing changes.
    fn propagate(&mut self, flow: &FlowGraph) {
        let states = &mut self.batch.states;
        while let Some(mut below) = self.pending.begin_walk() {
            while let Some(block) = self.pending.pop_last(&mut below) {
                let live_in = states[block.index()].live_in;
                for &predecessor in flow.predecessors_of(block) {
                    let state = &mut states[predecessor.index()];
                    if live_in & !state.live_out == 0 {
                        continue;
                    }
                    state.live_out |= live_in;
                    self.touched.insert(predecessor);
                    let entering = live_in & !state.defined;
                    if entering & !state.live_in != 0 {
                        state.live_in |= entering;
                        self.pending.insert_during_walk(predecessor, below);
                    }
                }
            }
        }
    }

    /// Finds the blocks with PHI values. A PHI value is a definition, too.
    fn find_phis(&mut self) {
        let WebBatch {
            states,
            blocks,
            solved,
            ..
        } = &mut self.batch;
        let defining = blocks
            .iter()
            .filter(|block| states[block.index()].defined & *solved != 0);
        self.sources.extend(defining);
        while let Some(source) = self.sources.pop() {
            let values = states[source.index()].new_values() & *solved;
            for block in self.frontier.of(source) {
                let state = &mut states[block.index()];
                let phis = values & state.live_in & !state.phis;
                if phis != 0 {
                    state.phis |= phis;
                    self.sources.push(block);
                }
            }
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.batch.members.capacity() * size_of::<Member>()
            + self.batch.states.capacity() * size_of::<BlockState>()
            + (self.batch.blocks.capacity() + self.sources.capacity()) * size_of::<Block>()
            + self.frontier.memory_bytes()
            + self.touched.memory_bytes()
            + self.pending.memory_bytes()
            + self.pieces.memory_bytes()
            + self.phi_order.memory_bytes()
    }
}
