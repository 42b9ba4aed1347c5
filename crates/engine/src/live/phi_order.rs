//! The order of a web's PHI values, which is part of the result: LLVM numbers them as its searches
//! find them.
//!
//! LLVM extends a range to each use in turn. A search goes back from the use through the blocks
//! where the register is not known to be live yet. If several values reach these blocks, LLVM
//! visits them in the order of their numbers, again and again, and makes a PHI value where two
//! values are seen to meet ([`resolve`](super::resolve) has the whole algorithm). Here it is known
//! beforehand which blocks get a PHI value, so only searches through two or more of them matter,
//! and they end when the order is certain.
//!
//! A register may be live in hundreds of blocks and have few PHI values. So [`graph`] works on these
//! values alone, and only where it can't be sure do [`searches`] go through the blocks as LLVM does.

mod graph;
mod searches;
mod web;

use super::live_interval::LiveIntervals;
use super::value::ValueNumber;
use super::web_batch::{Input, Member, WebBatch};
use crate::entity::{Block, EntityRef};
use graph::PhiGraph;
use searches::Searches;
use web::Web;

/// Sorts PHI values. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct PhiOrder {
    graph: PhiGraph,
    searches: Searches,
    /// Blocks with a PHI value, in the order of the values.
    sorted: Vec<Block>,
    /// By block: its PHI value.
    phi_of: Vec<ValueNumber>,
    /// By value: the block that defines it.
    value_blocks: Vec<Block>,
}

impl PhiOrder {
    /// Prepares for a function of `blocks` blocks.
    pub(super) fn begin(&mut self, blocks: usize) {
        self.graph.begin();
        self.searches.begin(blocks);
        self.phi_of.resize(blocks, ValueNumber::ZERO);
    }

    /// Sorts `phis`, the blocks with PHI values of the web with `bit` in `batch`, whose segments are
    /// in `result`. The values have provisional numbers in their present order, after those of the
    /// definitions, and get those of the new order.
    pub(super) fn run(
        &mut self,
        batch: &mut WebBatch,
        bit: usize,
        phis: &mut [Block],
        input: Input<'_>,
        result: &mut LiveIntervals,
    ) {
        let Member {
            register, web: id, ..
        } = batch.members[bit];
        let webs = input.chains.webs;
        let record = result.records[register.index()];
        let segments = record.first_segment as usize..(record.first_segment + record.segment_count) as usize;
        let count = webs.definitions(id).len();
        self.value_blocks.clear();
        self.value_blocks.resize(count, Block::new(0));
        for definition in webs.definitions(id) {
            self.value_blocks[definition.value.index()] = definition.block;
        }
        self.value_blocks.extend_from_slice(phis);
        self.number(phis, count);
        let mut web = Web {
            id,
            set: 1 << bit,
            states: &mut batch.states,
            definitions: webs.definitions(id),
            segments: &result.segments[segments.clone()],
            starts: &result.indexes.block_starts,
            numbers: &result.indexes.instruction_numbers,
            value_blocks: &self.value_blocks,
            phi_of: &self.phi_of,
            input,
        };
        self.sorted.clear();
        let is_certain = self.graph.sort(&web, phis, &mut self.sorted);
        if !is_certain || cfg!(debug_assertions) {
            let by_graph = is_certain.then(|| self.sorted.clone());
            self.sorted.clear();
            self.searches.sort(&mut web, phis, &mut self.sorted);
            assert!(by_graph.is_none_or(|sorted| sorted == self.sorted));
        }
        phis.copy_from_slice(&self.sorted);
        self.number(phis, count);
        for segment in &mut result.segments[segments] {
            if segment.value.index() >= count {
                let block = self.value_blocks[segment.value.index()];
                segment.value = self.phi_of[block.index()];
            }
        }
    }

    /// Gives the values of `phis` numbers in this order, after those of the definitions.
    fn number(&mut self, phis: &[Block], definitions: usize) {
        for (position, phi) in phis.iter().enumerate() {
            self.phi_of[phi.index()] = ValueNumber::new(definitions + position);
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.graph.memory_bytes()
            + self.searches.memory_bytes()
            + (self.sorted.capacity() + self.value_blocks.capacity()) * size_of::<Block>()
            + self.phi_of.capacity() * size_of::<ValueNumber>()
    }
}
