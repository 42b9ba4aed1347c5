//! PHI values of a batch of webs: the iterated dominance frontier of their definitions, where they
//! are live.

use super::dataflow::{BlockSegments, Dataflow};
use super::flow_graph::FlowGraph;
use super::scan::WebId;
use super::segment::BatchSet;
use super::segment_table::SegmentId;
use super::webs::{Source, Web, Webs};
use crate::entity::{Block, EntityRef};
use crate::graph::DominatorTree;
use std::ops::Range;

/// The average number of steps up the dominator tree per block of a batch before its webs are left
/// to the resolver: deep nests of loops have frontiers of quadratic size.
const STEPS_A_BLOCK: usize = 32;

impl Webs {
    /// Finds the PHI values of the batch that `dataflow` solved. Adds webs for which that is not
    /// possible to `unresolved` and returns them.
    pub(super) fn place_phis(
        &mut self,
        dataflow: &Dataflow,
        flow: &FlowGraph,
        dominators: &DominatorTree<Block>,
    ) -> BatchSet {
        let segments = &dataflow.segments;
        let ids = (0..segments.len()).map(SegmentId::new);
        let mut frontier = Frontier {
            segments,
            flow,
            dominators,
            steps: segments.len() * STEPS_A_BLOCK,
        };
        let mut unresolved = BatchSet::EMPTY;
        let mut met = BatchSet::EMPTY;
        self.phis.clear();
        self.phis.resize(segments.len(), BatchSet::EMPTY);
        self.joins.clear();
        for id in ids {
            let block = segments.block(id);
            if block.index() != 0 && flow.predecessors_of(block).len() < 2 {
                continue;
            }
            let live = segments.get(id).live_in().intersection(&dataflow.web_bits);
            if block.index() == 0 {
                // Read before it is defined.
                unresolved = unresolved.union(&live);
            } else if !live.is_empty() {
                self.joins.push(id);
                let definitions = |id| *segments.get(id).definitions();
                let phis = frontier.meets(id, definitions).intersection(&live);
                unresolved = unresolved.union(&met.intersection(&phis));
                met = met.union(&phis);
                self.phis[id.index()] = phis;
            }
        }
        // A PHI value is a definition, too. A second PHI value means that there are several.
        for &id in &self.joins {
            let live = segments.get(id).live_in().intersection(&met);
            if !live.is_empty() {
                let meets = frontier.meets(id, |id| self.phis[id.index()]).intersection(&live);
                unresolved = unresolved.union(&meets.difference(&self.phis[id.index()]));
            }
        }
        if frontier.steps == 0 {
            unresolved = dataflow.web_bits;
        }
        for &id in &self.joins {
            self.phis[id.index()].difference(&unresolved).for_each(|bit| {
                self.webs[dataflow.web_at(bit).index()].phi = segments.block(id).into();
            });
        }
        self.sources.clear();
        dataflow
            .web_bits
            .difference(&unresolved)
            .for_each(|bit| self.list_sources(dataflow.web_at(bit), dominators));
        for (bit, register) in dataflow.batch.members() {
            if unresolved.contains(bit) {
                self.unresolved.push(register);
            }
        }
        unresolved
    }

    /// Lists the blocks that define values of `web`.
    fn list_sources(&mut self, web: WebId, dominators: &DominatorTree<Block>) {
        let first_source = self.sources.len();
        let Web {
            first, count, phi, ..
        } = self.webs[web.index()];
        let phi = phi.expand().map(|block| (block, self.phi_value(web)));
        let definitions = &self.definitions[first as usize..(first + count) as usize];
        let definitions = definitions.iter().rev();
        let values = definitions.map(|definition| (definition.block, definition.value));
        // The last value of a block comes first, and stays the first of its block.
        for (block, value) in values.chain(phi) {
            let Range { start, end } = dominators.dominated(block);
            let sources = &self.sources[first_source..];
            let place = sources.partition_point(|source| source.block >= start);
            if place == 0 || sources[place - 1].block != start {
                let source = Source {
                    block: start,
                    end,
                    value,
                };
                self.sources.insert(first_source + place, source);
            }
        }
        let web = &mut self.webs[web.index()];
        web.first_source = first_source as u32;
        web.source_count = (self.sources.len() - first_source) as u32;
    }
}

/// Walks up the dominator tree from the predecessors of blocks.
struct Frontier<'a> {
    segments: &'a BlockSegments,
    flow: &'a FlowGraph,
    dominators: &'a DominatorTree<Block>,
    /// The number of steps left.
    steps: usize,
}

impl Frontier<'_> {
    /// Returns the union of `set` over the blocks whose dominance frontier contains the block of
    /// `id`.
    fn meets(&mut self, id: SegmentId, set: impl Fn(SegmentId) -> BatchSet) -> BatchSet {
        let mut meets = BatchSet::EMPTY;
        let block = self.segments.block(id);
        let predecessors = self.flow.predecessors_of(block);
        let dominator = self.dominators.immediate(block);
        for &predecessor in predecessors {
            let mut next = Some(predecessor);
            while let Some(below) = next.filter(|_| next != dominator && self.steps > 0) {
                self.steps -= 1;
                if let Some(id) = self.segments.find(below) {
                    meets = meets.union(&set(id));
                }
                next = self.dominators.immediate(below);
            }
        }
        meets
    }
}
