//! The instructions that may be scheduled next.

use std::collections::BinaryHeap;

/// Nodes that are ready, the highest first and among equals the first in LLVM's order. An entry is the
/// height with the complement of the number after it.
#[derive(Default)]
pub(super) struct Ready(BinaryHeap<u64>);

impl Ready {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, height: u32, node: u32) {
        self.0.push(u64::from(height) << 32 | u64::from(!node));
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        self.0.pop().map(|entry| !(entry as u32))
    }

    /// Returns the nodes in the order of the heap's array, in which the highest are among the first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&entry| !(entry as u32))
    }
}
