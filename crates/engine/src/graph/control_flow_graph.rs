//! A graph in flat arrays.

use super::rows::Rows;
use super::{Graph, Node};

/// A graph built once from a list of edges. Each node's neighbours are in the order of the list,
/// with repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFlowGraph<N> {
    entry: N,
    successors: Rows<N, N>,
    predecessors: Rows<N, N>,
}

impl<N: Node> ControlFlowGraph<N> {
    /// Creates the graph of `nodes` nodes with the given edges, each a source and a target.
    ///
    /// # Panics
    ///
    /// An edge or the entry names a node that is not below `nodes`, unless there are no nodes at
    /// all.
    pub fn new(nodes: usize, entry: N, edges: impl Iterator<Item = (N, N)> + Clone) -> Self {
        assert!(
            entry.index() < nodes || nodes == 0,
            "the entry is not a node of the graph"
        );
        let mut successors = Rows::default();
        successors.fill(nodes, edges.clone());
        let mut predecessors = Rows::default();
        predecessors.fill(nodes, edges.map(|(source, target)| (target, source)));
        Self {
            entry,
            successors,
            predecessors,
        }
    }

    /// Returns the targets of the edges out of a node.
    pub fn successors(&self, node: N) -> &[N] {
        self.successors.of(node)
    }

    /// Returns the sources of the edges into a node.
    pub fn predecessors(&self, node: N) -> &[N] {
        self.predecessors.of(node)
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> usize {
        self.successors.values().len()
    }
}

impl<N: Node> Graph for ControlFlowGraph<N> {
    type Node = N;

    #[inline]
    fn node_count(&self) -> usize {
        self.successors.key_count()
    }

    #[inline]
    fn entry(&self) -> N {
        self.entry
    }

    #[inline]
    fn successor_count(&self, node: N) -> usize {
        self.successors.count(node)
    }

    #[inline]
    fn successor(&self, node: N, index: usize) -> N {
        self.successors.of(node)[index]
    }

    #[inline]
    fn predecessor_count(&self, node: N) -> usize {
        self.predecessors.count(node)
    }

    #[inline]
    fn predecessor(&self, node: N, index: usize) -> N {
        self.predecessors.of(node)[index]
    }

    #[inline]
    fn successors(&self, node: N) -> impl DoubleEndedIterator<Item = N> + ExactSizeIterator {
        self.successors.of(node).iter().copied()
    }

    #[inline]
    fn predecessors(&self, node: N) -> impl DoubleEndedIterator<Item = N> + ExactSizeIterator {
        self.predecessors.of(node).iter().copied()
    }
}
