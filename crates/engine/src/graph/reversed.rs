//! The reversed graph, with one exit as its entry.
//!
//! The choice of nodes with an edge to the exit decides post-dominance. They are the roots of
//! LLVM's post-dominator trees:
//!
//! - every node without successors;
//! - for infinite loops: one node of each set of nodes that reach one another and nothing else. It
//!   is the node that a depth-first search visits last, started at the lowest node that reaches no
//!   root so far and visiting successors in descending order. In a loop of blocks laid out in order
//!   that is its last block.
//!
//! Nodes that the entry does not reach are part of the graph like all others.

use super::{Graph, NodeSet};
use crate::entity::EntityRef;

/// A graph seen from its end. It has one more node, [`exit`](Self::exit), which is its entry.
#[derive(Debug)]
pub struct ReversedGraph<'a, G: Graph> {
    graph: &'a G,
    roots: Vec<G::Node>,
    is_root: NodeSet<G::Node>,
}

impl<'a, G: Graph> ReversedGraph<'a, G> {
    /// Creates the reverse of `graph`. Takes linear time, except that where infinite loops branch
    /// off one another, each search for a root may visit the nodes after it.
    pub fn new(graph: &'a G) -> Self {
        let roots = Roots::new(graph).find();
        let mut is_root = NodeSet::new(graph.node_count());
        for &root in &roots {
            is_root.insert(root);
        }
        Self {
            graph,
            roots,
            is_root,
        }
    }

    /// Returns the node that stands for the end of execution. Its number is the graph's number of
    /// nodes.
    pub fn exit(&self) -> G::Node {
        G::Node::new(self.graph.node_count())
    }
}

impl<G: Graph> Graph for ReversedGraph<'_, G> {
    type Node = G::Node;

    #[inline]
    fn node_count(&self) -> usize {
        self.graph.node_count() + 1
    }

    #[inline]
    fn entry(&self) -> G::Node {
        self.exit()
    }

    #[inline]
    fn successor_count(&self, node: G::Node) -> usize {
        if node == self.exit() {
            self.roots.len()
        } else {
            self.graph.predecessor_count(node)
        }
    }

    #[inline]
    fn successor(&self, node: G::Node, index: usize) -> G::Node {
        if node == self.exit() {
            self.roots[index]
        } else {
            self.graph.predecessor(node, index)
        }
    }

    #[inline]
    fn predecessor_count(&self, node: G::Node) -> usize {
        if node == self.exit() {
            0
        } else {
            self.graph.successor_count(node) + usize::from(self.is_root.contains(node))
        }
    }

    #[inline]
    fn predecessor(&self, node: G::Node, index: usize) -> G::Node {
        if index == self.graph.successor_count(node) {
            self.exit()
        } else {
            self.graph.successor(node, index)
        }
    }
}

/// The search for the nodes with an edge to the exit.
struct Roots<'a, G: Graph> {
    graph: &'a G,
    /// Nodes that reach a root.
    reaches_root: NodeSet<G::Node>,
    stack: Vec<G::Node>,
}

impl<'a, G: Graph> Roots<'a, G> {
    fn new(graph: &'a G) -> Self {
        Self {
            graph,
            reaches_root: NodeSet::new(graph.node_count()),
            stack: Vec::new(),
        }
    }

    fn find(&mut self) -> Vec<G::Node> {
        let graph = self.graph;
        let mut roots: Vec<G::Node> = graph
            .nodes()
            .filter(|&node| graph.successor_count(node) == 0)
            .collect();
        for &root in &roots {
            self.walk_back(root);
        }
        let exits = roots.len();
        let mut walked = NodeSet::new(graph.node_count());
        for node in graph.nodes() {
            if !self.reaches_root.contains(node) {
                let root = self.furthest(node, &mut walked);
                self.walk_back(root);
                roots.push(root);
            }
        }
        if roots.len() > exits {
            self.drop_redundant(&mut roots, exits);
        }
        roots
    }

    /// Marks all nodes that reach `root`. Returns whether `root` was not marked before.
    fn walk_back(&mut self, root: G::Node) -> bool {
        let new = self.reaches_root.insert(root);
        if new {
            self.stack.push(root);
        }
        while let Some(node) = self.stack.pop() {
            for predecessor in self.graph.predecessors(node) {
                if self.reaches_root.insert(predecessor) {
                    self.stack.push(predecessor);
                }
            }
        }
        new
    }

    /// Returns the node that the search from `start` visits last. Nothing that `start` reaches has
    /// a root, or `start` would have been marked. `walked` is empty before and after.
    fn furthest(&mut self, start: G::Node, walked: &mut NodeSet<G::Node>) -> G::Node {
        let mut visited = Vec::new();
        self.stack.push(start);
        while let Some(node) = self.stack.pop() {
            if !walked.insert(node) {
                continue;
            }
            visited.push(node);
            let begin = self.stack.len();
            self.stack.extend(self.graph.successors(node));
            self.stack[begin..].sort_unstable_by_key(|node| node.index());
        }
        for &node in &visited {
            walked.remove(node);
        }
        *visited.last().expect("the walk visits its start")
    }

    /// Drops the roots after the first `exits` that reach another one. A root cannot reach one
    /// found before it, so it suffices to search from the last to the first for nodes that reach
    /// the remaining roots.
    fn drop_redundant(&mut self, roots: &mut Vec<G::Node>, exits: usize) {
        self.reaches_root.reset(self.graph.node_count());
        let mut kept: Vec<G::Node> = Vec::new();
        while roots.len() > exits {
            kept.extend(roots.pop().filter(|&root| self.walk_back(root)));
        }
        roots.extend(kept.into_iter().rev());
    }
}
