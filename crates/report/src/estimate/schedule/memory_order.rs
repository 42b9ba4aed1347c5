//! Keeps memory accesses in order, as far as they may be to the same memory.

use crate::estimate::nodes::{Memory, Order, ScheduleNode};
use std::collections::VecDeque;

/// The most stores that a later load is compared with; the estimate ignores dependences on earlier
/// ones.
const COMPARED_STORES: usize = 16;

/// The most loads that a later store is compared with; the estimate ignores dependences on earlier
/// ones. Real kernels have fewer between two fences.
const COMPARED_LOADS: usize = 1024;

/// The memory accesses that constrain later ones; accesses are given by their nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct MemoryOrder {
    loads: VecDeque<(u32, Memory)>,
    stores: VecDeque<(u32, Memory)>,
    fence: Option<u32>,
    /// Nodes since the last fence.
    since_fence: u32,
}

impl MemoryOrder {
    pub(super) fn clear(&mut self) {
        self.loads.clear();
        self.stores.clear();
        (self.fence, self.since_fence) = (None, 0);
    }

    /// Adds a node, and calls `wait_for` for the earlier ones that it must not pass, to keep memory
    /// accesses in order.
    pub(super) fn add(&mut self, this: u32, node: &ScheduleNode, mut wait_for: impl FnMut(u32)) {
        if node.order == Order::Fence {
            for earlier in this - self.since_fence..this {
                wait_for(earlier);
            }
            if self.since_fence == 0
                && let Some(fence) = self.fence
            {
                wait_for(fence);
            }
            self.clear();
            self.fence = Some(this);
            return;
        }
        self.since_fence += 1;
        if let Some(fence) = self.fence {
            wait_for(fence);
        }
        match node.order {
            Order::Free | Order::Fence => {}
            Order::Load(memory) => {
                for &(store, other) in &self.stores {
                    if memory.may_overlap(&other) {
                        wait_for(store);
                    }
                }
                if self.loads.len() == COMPARED_LOADS {
                    self.loads.pop_front();
                }
                self.loads.push_back((this, memory));
            }
            Order::Store(memory) => {
                // A later store waits for this one, which waits for these loads.
                self.loads.retain(|&(load, other)| {
                    let overlaps = memory.may_overlap(&other);
                    if overlaps {
                        wait_for(load);
                    }
                    !overlaps
                });
                // Stores stay in order, so the last one implies all that it waited for.
                if let Some(&(store, _)) = self.stores.back() {
                    wait_for(store);
                }
                if self.stores.len() == COMPARED_STORES {
                    self.stores.pop_front();
                }
                self.stores.push_back((this, memory));
            }
        }
    }
}
