//! LLVM's order with loads where their results are first read.
//!
//! LLVM may have all loads of a loop first, as in matrix products that a compiler unrolled. The order
//! that needs few registers (`least.rs`) compares only some instructions and may leave the loads
//! there.

use super::Cost;
use super::graph::BlockGraph;
use super::value::Release;
use super::walk::Walk;

impl BlockGraph {
    /// Returns the cost of this order.
    pub(super) fn on_demand_cost(&self) -> Cost {
        let is_deferred = self.deferred();
        let mut walk = Walk::<true>::new(self);
        let mut is_done = vec![false; self.nodes.len()];
        // Nodes that wait for others, each with the number of its next predecessor.
        let mut open: Vec<(u32, usize)> = Vec::new();
        let all = 0..self.nodes.len();
        let wanted = all.clone().filter(|&node| !is_deferred[node]);
        // What nothing reads comes last.
        for node in wanted.chain(all) {
            open.push((node as u32, 0));
            while let Some((node, next)) = open.last_mut() {
                let index = *node as usize;
                if !is_done[index]
                    && let Some(&(predecessor, _)) = self.predecessors_of(index).get(*next)
                {
                    *next += 1;
                    open.push((predecessor, 0));
                    continue;
                }
                if !std::mem::replace(&mut is_done[index], true) {
                    walk.step(index);
                }
                open.pop();
            }
        }
        walk.most()
    }

    /// Returns which nodes are loads, or compute only what deferred nodes read.
    fn deferred(&self) -> Vec<bool> {
        let successors = self.successors();
        let mut is_deferred = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let is_live_out = || node.defined().any(|value| self.is_live_out[value]);
            let mut readers = successors
                .of(index)
                .iter()
                .map(|&(reader, _)| reader as usize)
                .peekable();
            is_deferred[index] = node.release == Release::Loaded
                || !node.defined().is_empty()
                    && !is_live_out()
                    && readers.peek().is_some()
                    && readers.all(|reader| is_deferred[reader]);
        }
        is_deferred
    }
}
