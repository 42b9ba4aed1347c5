//! Where lanes that part at a branch meet again.

use crate::control_flow::ControlFlow;
use oriel_engine::entity::{Block, EntitySet, PackedOption, SecondaryMap};
use oriel_engine::graph::Position;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names of the paths that lanes take from a branch, by the blocks that they reach.
#[derive(Default)]
pub(super) struct Labels {
    label: SecondaryMap<Block, PackedOption<Block>>,
    reached: Vec<Block>,
    joins: Vec<Block>,
    is_join: EntitySet<Block>,
    /// Blocks that a label has reached and that have not sent it on, by their positions in reverse
    /// post-order; one may be here twice. A branch usually reaches few of a function's blocks, and a
    /// set of all blocks would take time for the others.
    waiting: BinaryHeap<Reverse<Position>>,
}

impl Labels {
    /// Propagates labels from a branch up to `meeting`.
    pub(super) fn spread(&mut self, flow: &ControlFlow, branch: Block, meeting: Option<Block>) {
        for block in self.reached.drain(..) {
            self.label[block] = PackedOption::default();
        }
        for block in self.joins.drain(..) {
            self.is_join.remove(block);
        }
        for &target in flow.graph.successors(branch) {
            self.arrive(flow, target, target);
        }
        while let Some(Reverse(position)) = self.waiting.pop() {
            if self.waiting.peek() == Some(&Reverse(position)) {
                continue;
            }
            let block = flow.order.node(position);
            if Some(block) == meeting || block == branch {
                continue;
            }
            let label = self.label[block].expand().expect("a label has reached it");
            for &target in flow.graph.successors(block) {
                self.arrive(flow, target, label);
            }
        }
    }

    fn arrive(&mut self, flow: &ControlFlow, block: Block, label: Block) {
        match self.label[block].expand() {
            None => {
                self.label[block] = label.into();
                self.reached.push(block);
            }
            // A target that a second path reaches is a join though it keeps its name.
            Some(known) if known == label || self.is_join.contains(block) => return,
            Some(_) => {
                self.label[block] = block.into();
                self.joins.push(block);
                self.is_join.insert(block);
            }
        }
        if let Some(position) = flow.order.position(block) {
            self.waiting.push(Reverse(position));
        }
    }

    pub(super) fn is_reached(&self, block: Block) -> bool {
        self.label[block].is_some()
    }

    pub(super) fn reached(&self) -> &[Block] {
        &self.reached
    }

    pub(super) fn joins(&self) -> &[Block] {
        &self.joins
    }
}
