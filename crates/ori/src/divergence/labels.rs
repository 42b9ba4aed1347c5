//! Where lanes that diverge at a branch reconverge.

use crate::control_flow::ControlFlow;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, EntityRef, PackedOption, SecondaryMap};
use oriel_engine::graph::OrderPosition;

/// Names of the paths that lanes take from a branch, by the blocks that they reach.
#[derive(Default)]
pub(super) struct Labels {
    label: SecondaryMap<Block, PackedOption<Block>>,
    reached: Vec<Block>,
    joins: Vec<Block>,
    is_join: EntityBitSet<Block>,
    waiting: Waiting,
}

/// Blocks that a label has reached and that have not sent it on, by their positions in reverse
/// post-order. A branch usually reaches few of a function's blocks, so that the set is searched from
/// the first of them to the last.
#[derive(Default)]
struct Waiting {
    positions: EntityBitSet<OrderPosition>,
    count: usize,
    /// None waits before this position.
    start: usize,
}

impl Waiting {
    fn add(&mut self, position: OrderPosition) {
        if self.positions.insert(position) {
            self.start = match self.count {
                0 => position.index(),
                _ => self.start.min(position.index()),
            };
            self.count += 1;
        }
    }

    fn take_first(&mut self) -> Option<OrderPosition> {
        self.count = self.count.checked_sub(1)?;
        let first = self.positions.next(OrderPosition::new(self.start));
        let first = first.expect("the count is that of the set");
        self.positions.remove(first);
        self.start = first.index() + 1;
        Some(first)
    }
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
        while let Some(position) = self.waiting.take_first() {
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
            self.waiting.add(position);
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
