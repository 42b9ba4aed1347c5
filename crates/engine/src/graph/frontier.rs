//! The dominance frontier: the nodes where a node's dominance ends.
//!
//! ```text
//! DF(a) = { b | a dominates a predecessor of b and does not strictly dominate b }
//! ```
//!
//! Computed from the joins, as in Cooper, Harvey and Kennedy: `b` is in the frontier of every node
//! on the way from a predecessor of `b` up to, and not including, the immediate dominator of `b`.
//! Size and cost can be quadratic in the number of nodes.

use super::rows::Rows;
use super::{DominatorTree, Graph, Node};
use crate::entity::PackedOption;

/// The dominance frontier of every node. Over a [`ReversedGraph`](super::ReversedGraph) and its
/// tree, these are the nodes that a node is control dependent on.
#[derive(Clone, Debug)]
pub struct DominanceFrontier<N: Node> {
    rows: Rows<N, N>,
    pairs: Vec<(N, N)>,
    /// The last node added to each node's frontier.
    latest: Vec<PackedOption<N>>,
}

impl<N: Node> Default for DominanceFrontier<N> {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            pairs: Vec::new(),
            latest: Vec::new(),
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
        let Self { rows, pairs, latest } = self;
        pairs.clear();
        latest.clear();
        latest.resize(graph.node_count(), PackedOption::default());
        for node in graph.nodes().filter(|&node| dominators.is_reachable(node)) {
            let end = dominators.immediate(node);
            for predecessor in graph.predecessors(node) {
                let mut runner = Some(predecessor).filter(|&from| dominators.is_reachable(from));
                while let Some(current) = runner.filter(|_| runner != end) {
                    let latest = &mut latest[current.index()];
                    if latest.expand() == Some(node) {
                        break;
                    }
                    if pairs.len() == most {
                        *rows = Rows::default();
                        return false;
                    }
                    *latest = node.into();
                    pairs.push((current, node));
                    runner = dominators.immediate(current);
                }
            }
        }
        rows.fill(graph.node_count(), pairs.iter().copied());
        true
    }

    /// Returns the frontier of a node, by number; empty for unreachable nodes.
    pub fn of(&self, node: N) -> &[N] {
        self.rows.of(node)
    }

    /// Returns the bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.pairs.capacity() * size_of::<(N, N)>()
            + self.latest.capacity() * size_of::<N>()
    }
}
