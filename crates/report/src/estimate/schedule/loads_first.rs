//! The order of a region with loads first, up to a number of registers.

use super::ready::Ready;
use super::walk::Walk;
use super::{BlockGraph, Cost};

/// The number of ready instructions that are compared when registers are short.
const COMPARED_READY: usize = 12;

impl BlockGraph {
    /// Returns the cost of the order with loads first, and whether `target` or more registers were
    /// ever live. Where they are, the order continues with one of the highest ready nodes that frees
    /// registers, or else with the next in the order `least`.
    pub(super) fn loads_cost<const SPACED: bool>(&self, target: u32) -> (Cost, bool) {
        let mut walk = Walk::<SPACED>::new(self);
        let successors = self.successors();
        let mut waits = self.waits();
        let mut is_done = vec![false; self.nodes.len()];
        let mut is_limited = false;
        let mut first = 0;
        let mut ready = Ready::default();
        for (index, &count) in waits.iter().enumerate() {
            if count == 0 {
                ready.push(self.nodes[index].load_height, index as u32);
            }
        }
        for _ in 0..self.nodes.len() {
            let index = if walk.now.registers() as u32 >= target {
                is_limited = true;
                walk.freeing(&ready, &is_done)
            } else {
                // Nodes that were taken out of turn are still in the heap.
                std::iter::from_fn(|| ready.pop()).find(|&node| !is_done[node as usize])
            };
            let index = index.unwrap_or_else(|| {
                let least = self.least();
                while is_done[least[first] as usize] {
                    first += 1;
                }
                least[first]
            }) as usize;
            walk.step(index);
            is_done[index] = true;
            for &(successor, _) in successors.of(index) {
                let waiting = successor as usize;
                waits[waiting] -= 1;
                if waits[waiting] == 0 && !is_done[waiting] {
                    ready.push(self.nodes[waiting].load_height, successor);
                }
            }
        }
        (walk.most(), is_limited)
    }
}

impl<const SPACED: bool> Walk<'_, SPACED> {
    /// Returns the change in live registers by a node.
    fn growth(&self, node: u32) -> i32 {
        let node = &self.graph.nodes[node as usize];
        let counts = |value: usize| self.graph.values[value].counts.registers();
        let made: i32 = node.defined().map(counts).sum();
        let used = self.graph.used(node).iter().map(|&value| value as usize);
        let freed: i32 = used.filter(|&value| self.readers[value] == 1).map(counts).sum();
        made - freed
    }

    /// Returns the node that frees most registers among the first few of a heap's array, which are
    /// among its highest; none if none frees any.
    fn freeing(&self, ready: &Ready, is_done: &[bool]) -> Option<u32> {
        let nodes = ready.iter().take(COMPARED_READY);
        let nodes = nodes.filter(|&node| !is_done[node as usize]);
        let (growth, best) = nodes.map(|node| (self.growth(node), node)).min()?;
        (growth < 0).then_some(best)
    }
}
