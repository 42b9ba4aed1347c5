//! The post-dominator tree: `a` post-dominates `b` if every path from `b` to the end goes through
//! `a`.
//!
//! The end is the exit of [`ReversedGraph`], which describes how infinite loops reach it: as in
//! LLVM's `MachinePostDominatorTree`.

use super::{DominatorTree, Graph, Node, ReversePostorder, ReversedGraph, Traversal};

/// Immediate post-dominators, the tree that they form, and tests in constant time. Every node is in
/// the tree, even those that the entry does not reach.
#[derive(Clone, Debug)]
pub struct PostDominatorTree<N: Node> {
    tree: DominatorTree<N>,
    exit: N,
}

impl<N: Node> PostDominatorTree<N> {
    /// Computes the tree of `graph`.
    pub fn new(graph: &impl Graph<Node = N>) -> Self {
        let reversed = ReversedGraph::new(graph);
        let order = ReversePostorder::new(&reversed, Traversal::default());
        Self {
            tree: DominatorTree::new(&reversed, &order),
            exit: reversed.exit(),
        }
    }

    /// Returns the immediate post-dominator, or none if that is the end itself.
    pub fn immediate(&self, node: N) -> Option<N> {
        self.tree
            .immediate(node)
            .filter(|&dominator| dominator != self.exit)
    }
}
