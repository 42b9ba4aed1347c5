//! Counts registers while the instructions of a region are scheduled one after the other.

use super::Cost;
use super::allocation::Allocated;
use super::graph::BlockGraph;
use super::value::Counts;

/// Counts registers while nodes are scheduled one after the other.
pub(super) struct Walk<'a, const SPACED: bool> {
    pub(super) graph: &'a BlockGraph,
    /// By value: the number of nodes yet to read it, and one more if it is live at the end.
    pub(super) readers: Vec<u32>,
    /// The registers live at the current point.
    pub(super) now: Counts,
    /// The maximum of `now` so far.
    most: Counts,
    /// The most registers of both kinds live at once.
    everything: i32,
    /// The most of these over an exchange.
    over_exchanges: i32,
    /// The allocated registers, if they are counted.
    allocated: Allocated,
}

impl<'a, const SPACED: bool> Walk<'a, SPACED> {
    pub(super) fn new(graph: &'a BlockGraph) -> Self {
        let mut walk = Self {
            graph,
            readers: graph.readers.clone(),
            now: Counts::default(),
            most: Counts::default(),
            everything: 0,
            over_exchanges: 0,
            allocated: Allocated::default(),
        };
        if SPACED {
            walk.allocated = Allocated::new(graph);
        }
        for value in &graph.values[..graph.live_in as usize] {
            walk.now.add(value.counts);
            if SPACED {
                walk.allocated.take(value);
            }
        }
        walk.allocated.most = walk.allocated.taken.span();
        walk.most = walk.now;
        walk.everything = walk.now.registers() + walk.now.uniform();
        walk
    }

    /// Returns the cost of the nodes so far.
    pub(super) fn most(&self) -> Cost {
        Cost {
            registers: self.most.registers() as u32,
            uniform: self.most.uniform() as u32,
            everything: self.everything as u32,
            loaded: self.most.loaded() as u32,
            spaced: if SPACED { self.allocated.most } else { 0 },
            kept: self.most.kept() as u32,
            over_exchanges: self.over_exchanges as u32,
        }
    }

    /// Schedules a node.
    pub(super) fn step(&mut self, index: usize) {
        let graph = self.graph;
        let node = &graph.nodes[index];
        let during = self.now.registers() + node.temporaries as i32;
        let during_spaced = if SPACED {
            self.allocated.start(index, node)
        } else {
            0
        };
        // The number of registers of the address that the result can reuse.
        let mut reusable = node.defined().len() as i32;
        for &value in graph.used(node) {
            let data = &graph.values[value as usize];
            let readers = &mut self.readers[value as usize];
            debug_assert!(*readers > 0);
            *readers -= 1;
            let is_last = *readers == 0;
            if is_last {
                self.now.remove(data.counts);
            }
            if SPACED {
                self.allocated.read(index, node.release, value, data);
                if is_last {
                    self.allocated.free(index, value, data, &mut reusable);
                }
            }
        }
        let defined = &graph.values[node.defined()];
        for value in defined {
            self.now.add(value.counts);
        }
        let everything = self.now.registers() + self.now.uniform();
        self.everything = self.everything.max(everything);
        if node.is_exchange {
            self.over_exchanges = self.over_exchanges.max(everything);
        }
        self.most = self.most.max(self.now);
        if node.temporaries > 0 {
            self.most.raise_registers(during);
        }
        if SPACED {
            self.allocated.finish(node, defined, during_spaced);
        }
        for (value, &readers) in defined.iter().zip(&graph.readers[node.defined()]) {
            if readers == 0 {
                self.now.remove(value.counts);
                if SPACED && !value.is_uniform() {
                    self.allocated.taken.add(value.place, -1);
                }
            }
        }
    }
}
