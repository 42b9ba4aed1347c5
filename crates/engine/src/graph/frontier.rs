//! The dominance frontier: the nodes where a node's dominance ends.
//!
//! ```text
//! DF(a) = { b | a dominates a predecessor of b and does not strictly dominate b }
//! ```
//!
//! Computed from the joins, as in Cooper, Harvey and Kennedy: `b` is in the frontier of every node
//! on the way from a predecessor of `b` up to, and not including, the immediate dominator of `b`.
//! Size and cost can be quadratic in the number of nodes.

use super::{DominatorTree, Graph, Node};
use crate::entity::{EntityRef, PackedOption, entity_impl};

/// The dominance frontier of every node. Over a [`ReversedGraph`](super::ReversedGraph) and its
/// tree, these are the nodes that a node is control dependent on.
#[derive(Clone, Debug)]
pub struct DominanceFrontier<N: Node> {
    /// By node: the first entry of its frontier.
    first: Vec<PackedOption<EntryId>>,
    entries: Vec<Entry<N>>,
}

/// A node of a frontier.
#[derive(Clone, Copy, Debug)]
struct Entry<N> {
    node: N,
    /// The next entry of the same frontier, with a higher number.
    next: PackedOption<EntryId>,
}

/// An [`Entry`] of the frontiers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct EntryId(u32);
entity_impl!(EntryId, "entry");

impl<N: Node> Default for DominanceFrontier<N> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            entries: Vec::new(),
        }
    }
}

impl<N: Node> DominanceFrontier<N> {
    /// Computes the frontiers of `graph` from its dominator tree.
    pub fn new(graph: &impl Graph<Node = N>, dominators: &DominatorTree<N>) -> Self {
        let mut frontier = Self::default();
        frontier.compute(graph, dominators, usize::MAX);
        frontier
    }

    /// Computes the frontiers of `graph` from its dominator tree, reusing memory. Returns false, and
    /// has no frontiers, if they would have more than `most` nodes in all.
    pub fn compute(
        &mut self,
        graph: &impl Graph<Node = N>,
        dominators: &DominatorTree<N>,
        most: usize,
    ) -> bool {
        self.entries.clear();
        self.first.clear();
        self.first.resize(graph.node_count(), PackedOption::default());
        // From the last node to the first, since each comes before those that a frontier has already.
        let nodes = graph.nodes().rev();
        for node in nodes.filter(|&node| dominators.is_reachable(node)) {
            let end = dominators.immediate(node);
            for predecessor in graph.predecessors(node) {
                let mut runner = Some(predecessor).filter(|&from| dominators.is_reachable(from));
                while let Some(current) = runner.filter(|_| runner != end) {
                    let first = &mut self.first[current.index()];
                    let next = *first;
                    if next
                        .expand()
                        .is_some_and(|next| self.entries[next.index()].node == node)
                    {
                        break;
                    }
                    if self.entries.len() == most {
                        self.first.fill(PackedOption::default());
                        return false;
                    }
                    *first = EntryId::new(self.entries.len()).into();
                    self.entries.push(Entry { node, next });
                    runner = dominators.immediate(current);
                }
            }
        }
        true
    }

    /// Returns the frontier of a node, by number; empty for unreachable nodes.
    pub fn of(&self, node: N) -> impl Iterator<Item = N> {
        let mut next = self.first[node.index()];
        std::iter::from_fn(move || {
            let entry = self.entries[next.expand()?.index()];
            next = entry.next;
            Some(entry.node)
        })
    }

    /// Returns the bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.first.capacity() * size_of::<PackedOption<EntryId>>()
            + self.entries.capacity() * size_of::<Entry<N>>()
    }
}
