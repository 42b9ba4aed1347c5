//! Orders, dominators and loops over any graph.
//!
//! ```text
//! Graph ─▶ ReversePostorder ─▶ DominatorTree ─▶ LoopForest, DominanceFrontier, irreducible_edges
//!   └────▶ ReversedGraph ────▶ PostDominatorTree
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `control_flow_graph.rs` | a graph in two flat arrays, from a list of edges |
//! | `edge_map.rs` | successors by block in a hash map, as ptxas keeps them |
//! | `reversed.rs` | the graph with reversed edges and one exit |
//! | `order.rs`, `back_edges.rs` | reverse post-order, and the edges against it; nodes by number as an order |
//! | `immediate.rs`, `semi_nca.rs` | two ways to find immediate dominators |
//! | `dominators.rs`, `post_dominators.rs`, `frontier.rs` | the trees and their queries |
//! | `loops.rs` | natural loops and their nesting |
//! | `components.rs` | strongly connected components of a part of a graph |
//! | `node_set.rs`, `rows.rs` | a set of nodes; a table of lists |
//!
//! Nothing here recurses or allocates per node, and a recomputed analysis keeps its memory. Nodes
//! that the entry does not reach are in no order and no tree: queries about them return `None`, and
//! dominance tests answer as LLVM's do.

mod back_edges;
mod components;
mod control_flow_graph;
mod dominators;
mod edge_map;
mod frontier;
mod immediate;
mod loops;
mod node_set;
mod order;
mod post_dominators;
mod reversed;
pub mod rows;
mod semi_nca;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

use crate::entity::{EntityRef, ReservedValue};
use std::fmt::Debug;

pub use back_edges::{irreducible_edges, retreating_edges};
pub use components::ComponentSearch;
pub use control_flow_graph::ControlFlowGraph;
pub use dominators::DominatorTree;
pub use edge_map::EdgeMap;
pub use frontier::DominanceFrontier;
pub use loops::{Loop, LoopForest};
pub use node_set::NodeSet;
pub use order::{OrderPosition, ReversePostorder, Traversal};
pub use post_dominators::PostDominatorTree;
pub use reversed::ReversedGraph;

/// The type that names a graph's nodes: an entity such as [`Block`](crate::entity::Block).
pub trait Node: EntityRef + ReservedValue + Debug {}

impl<T: EntityRef + ReservedValue + Debug> Node for T {}

/// A directed graph with an entry.
///
/// Nodes are numbered from zero without gaps. There may be several edges between two nodes; both
/// sides list each of them. The order of neighbours is up to the graph but must stay the same from
/// call to call.
pub trait Graph {
    /// The type of nodes.
    type Node: Node;

    /// Returns the number of nodes.
    fn node_count(&self) -> usize;

    /// Returns the entry. Not called for a graph without nodes.
    fn entry(&self) -> Self::Node;

    /// Returns the number of edges out of a node.
    fn successor_count(&self, node: Self::Node) -> usize;

    /// Returns the target of edge `index` out of a node; `index` is less than
    /// [`successor_count`](Self::successor_count).
    fn successor(&self, node: Self::Node, index: usize) -> Self::Node;

    /// Returns the number of edges into a node.
    fn predecessor_count(&self, node: Self::Node) -> usize;

    /// Returns the source of edge `index` into a node; `index` is less than
    /// [`predecessor_count`](Self::predecessor_count).
    fn predecessor(&self, node: Self::Node, index: usize) -> Self::Node;

    /// Returns all nodes.
    fn nodes(&self) -> impl DoubleEndedIterator<Item = Self::Node> + ExactSizeIterator {
        (0..self.node_count()).map(Self::Node::new)
    }

    /// Returns the targets of all edges out of a node, with repetitions.
    fn successors(
        &self,
        node: Self::Node,
    ) -> impl DoubleEndedIterator<Item = Self::Node> + ExactSizeIterator {
        (0..self.successor_count(node)).map(move |index| self.successor(node, index))
    }

    /// Returns the sources of all edges into a node, with repetitions.
    fn predecessors(
        &self,
        node: Self::Node,
    ) -> impl DoubleEndedIterator<Item = Self::Node> + ExactSizeIterator {
        (0..self.predecessor_count(node)).map(move |index| self.predecessor(node, index))
    }
}
