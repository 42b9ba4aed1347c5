//! An order of a region that needs few registers.
//!
//! LLVM's order may have all loads first, or all addresses, and then needs registers for all of
//! them. ptxas does not keep it: it brings instructions next to what reads them, and moves only as
//! many loads up as it has registers for.
//!
//! The order is found from the end of the region: of the instructions whose readers all follow, the
//! next one before them is the one that leaves the fewest values live, and among equals LLVM's last.

use super::BlockGraph;
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
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (number, node) in self.nodes.iter().enumerate() {
            for &(successor, _) in &node.successors {
                predecessors[successor as usize].push(number as u32);
            }
        }
        let mut is_live: Vec<bool> = self.values.iter().map(|value| value.is_live_out).collect();
        let mut ready: BinaryHeap<u32> = (0..count as u32)
            .filter(|&node| waits[node as usize] == 0)
            .collect();
        let mut order = Vec::with_capacity(count);
        let mut compared: Vec<u32> = Vec::with_capacity(COMPARED);
        while let Some(first) = ready.pop() {
            compared.clear();
            compared.push(first);
            while compared.len() < COMPARED
                && let Some(next) = ready.pop()
            {
                compared.push(next);
            }
            let growth = |&&node: &&u32| self.growth_before(node, &is_live);
            let &best = compared.iter().min_by_key(growth).expect("there is one");
            ready.extend(compared.iter().copied().filter(|&node| node != best));
            let node = &self.nodes[best as usize];
            for &value in &node.defined {
                is_live[value as usize] = false;
            }
            for &value in &node.used {
                is_live[value as usize] = true;
            }
            order.push(best);
            for &predecessor in &predecessors[best as usize] {
                waits[predecessor as usize] -= 1;
                if waits[predecessor as usize] == 0 {
                    ready.push(predecessor);
                }
            }
        }
        order.reverse();
        order
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
