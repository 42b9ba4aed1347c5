//! An order of a region that needs few registers.
//!
//! LLVM's order may have all loads first, or all addresses, and then needs registers for all of
//! them. ptxas does not keep this order: it places instructions next to their readers, and moves
//! only as many loads up as it has registers for.
//!
//! The order is built from the end of the region. Among the instructions whose readers are all
//! placed, the one that leaves the fewest values live comes next; among equals, the last one in
//! LLVM's order.

use super::BlockGraph;
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
        let mut waits = vec![0_u32; count];
        for &(from, _) in &self.predecessors {
            waits[from as usize] += 1;
        }
        let mut is_live = self.is_live_out.clone();
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
            is_live[node.defined()].fill(false);
            for &value in self.used(node) {
                is_live[value as usize] = true;
            }
            order.push(best);
            for &(predecessor, _) in self.predecessors_of(best as usize) {
                waits[predecessor as usize] -= 1;
                if waits[predecessor as usize] == 0 {
                    ready.add(predecessor);
                }
            }
        }
        order.reverse();
        order
    }

    /// Returns how many more values are live before a node than after it.
    fn growth_before(&self, node: u32, is_live: &[bool]) -> i32 {
        let node = &self.nodes[node as usize];
        let counts = |value: usize| self.values[value].counts.registers();
        let used = self.used(node).iter().map(|&value| value as usize);
        let opened: i32 = used.filter(|&value| !is_live[value]).map(counts).sum();
        let closed: i32 = node.defined().filter(|&value| is_live[value]).map(counts).sum();
        opened - closed
    }
}

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
