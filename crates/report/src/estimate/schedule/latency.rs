//! The order of a region by the length of the path to its end: list scheduling, whatever number of
//! registers it takes.

use super::ready::Ready;
use super::walk::Walk;
use super::{BlockGraph, Cost};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl BlockGraph {
    /// Returns the cost of the order by the length of the path to the end.
    pub(super) fn latency_cost(&self) -> Cost {
        let mut walk = Walk::<false>::new(self);
        let successors = self.successors();
        let mut waits = self.waits();
        let mut start = vec![0_u32; self.nodes.len()];
        // By time: nodes all of whose operands have been issued. By height: nodes that are ready.
        let mut coming: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut ready = Ready::default();
        for (index, &count) in waits.iter().enumerate() {
            if count == 0 {
                ready.push(self.nodes[index].height, index as u32);
            }
        }
        let mut cycle = 0;
        for _ in 0..self.nodes.len() {
            while let Some(&Reverse(next)) = coming.peek() {
                let (time, node) = ((next >> 32) as u32, next as u32);
                if time > cycle && !ready.is_empty() {
                    break;
                }
                coming.pop();
                cycle = cycle.max(time);
                ready.push(self.nodes[node as usize].height, node);
            }
            let index = ready.pop().expect("no node waits for itself") as usize;
            walk.step(index);
            cycle += 1;
            for &(successor, latency) in successors.of(index) {
                let waiting = successor as usize;
                waits[waiting] -= 1;
                start[waiting] = start[waiting].max(cycle - 1 + latency);
                if waits[waiting] == 0 {
                    coming.push(Reverse(u64::from(start[waiting]) << 32 | u64::from(successor)));
                }
            }
        }
        walk.most()
    }
}
