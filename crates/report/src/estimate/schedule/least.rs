//! An order of a region that needs few registers.
//!
//! LLVM's order may have all loads first, or all addresses, and then needs registers for all of
//! them. ptxas does not keep it: it brings instructions next to what reads them, and moves only as
//! many loads up as it has registers for.
//!
//! The order is found from the end of the region: of the instructions whose readers all follow, the
//! next one before them is the one that leaves the fewest values live, and among equals LLVM's last.

use super::BlockGraph;
use oriel_engine::entity::{EntityRef, entity_impl};
use oriel_engine::graph::rows::Rows;
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// The number of instructions that are compared for each place.
const COMPARED: usize = 8;

impl BlockGraph {
    /// Returns the nodes in an order that needs few registers.
    pub(super) fn least(&self) -> &[u32] {
        self.least.get_or_init(|| self.find_least())
    }

    fn find_least(&self) -> Vec<u32> {
        let count = self.nodes.len();
        let mut waits: Vec<u32> = self
            .nodes
            .iter()
            .map(|node| node.successors.len() as u32)
            .collect();
        let predecessors = self.predecessors();
        let mut is_live: Vec<bool> = self.values.iter().map(|value| value.is_live_out).collect();
        let mut ready = Ready::default();
        for node in (0..count as u32).filter(|&node| waits[node as usize] == 0) {
            ready.add(node);
        }
        let mut order = Vec::with_capacity(count);
        let growth = |&(_, &node): &(usize, &u32), is_live: &[bool]| self.growth_before(node, is_live);
        while let Some((place, &best)) = ready
            .latest
            .iter()
            .enumerate()
            .min_by_key(|it| growth(it, &is_live))
        {
            ready.remove(place);
            let node = &self.nodes[best as usize];
            for &value in &node.defined {
                is_live[value as usize] = false;
            }
            for &value in &node.used {
                is_live[value as usize] = true;
            }
            order.push(best);
            for &NodeId(predecessor) in predecessors.of(NodeId(best)) {
                waits[predecessor as usize] -= 1;
                if waits[predecessor as usize] == 0 {
                    ready.add(predecessor);
                }
            }
        }
        order.reverse();
        order
    }

    /// Returns the nodes that each node waits for.
    fn predecessors(&self) -> Rows<NodeId, NodeId> {
        let nodes = self.nodes.iter().enumerate();
        let edges = nodes.flat_map(|(number, node)| {
            let successors = node.successors.iter();
            successors.map(move |&(to, _)| (NodeId(to), NodeId::new(number)))
        });
        let mut predecessors = Rows::default();
        predecessors.fill(self.nodes.len(), edges);
        predecessors
    }

    /// Returns how many more values are live before a node than behind it.
    fn growth_before(&self, node: u32, is_live: &[bool]) -> i32 {
        let node = &self.nodes[node as usize];
        let counts = |value: u32| !self.values[value as usize].is_uniform;
        let opened = node
            .used
            .iter()
            .filter(|&&value| counts(value) && !is_live[value as usize])
            .count();
        let closed = node
            .defined
            .iter()
            .filter(|&&value| counts(value) && is_live[value as usize])
            .count();
        opened as i32 - closed as i32
    }
}

/// A node of the graph by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct NodeId(u32);
entity_impl!(NodeId, "node");

/// The nodes whose readers all follow.
#[derive(Default)]
struct Ready {
    /// The last ones, which are compared, in descending order.
    latest: SmallVec<[u32; COMPARED + 1]>,
    rest: BinaryHeap<u32>,
}

impl Ready {
    fn add(&mut self, node: u32) {
        let place = self.latest.partition_point(|&other| other > node);
        if place == COMPARED {
            self.rest.push(node);
            return;
        }
        self.latest.insert(place, node);
        if self.latest.len() > COMPARED
            && let Some(earliest) = self.latest.pop()
        {
            self.rest.push(earliest);
        }
    }

    /// Removes one of the latest by its place.
    fn remove(&mut self, place: usize) {
        self.latest.remove(place);
        self.latest.extend(self.rest.pop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_latest_are_those_of_a_sorted_list(steps in proptest::collection::vec((0_u32..1000, 0_usize..20), 0..200)) {
            let (mut ready, mut all) = (Ready::default(), Vec::new());
            for (node, place) in steps {
                if !all.contains(&node) {
                    ready.add(node);
                    all.push(node);
                    all.sort_unstable_by_key(|&node| std::cmp::Reverse(node));
                }
                if place < all.len().min(COMPARED) {
                    ready.remove(place);
                    all.remove(place);
                }
                prop_assert_eq!(&ready.latest[..], &all[..all.len().min(COMPARED)]);
            }
        }
    }
}
