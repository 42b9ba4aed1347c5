//! Edges against an order, which characterise the graph's cycles.
//!
//! - *Retreating edge*: the target's position is not after the source's. This is the reference's
//!   back edge (`RPO(dst) <= RPO(src)`). For an order from a depth-first search these are the edges
//!   to a node on the current path; every cycle has one, and the search decides which edge of the
//!   cycle it is.
//! - *Back edge*: the target dominates the source. It is retreating in every order; back edges
//!   define natural loops.
//! - *Irreducible edge*: a retreating edge that is no back edge. One exists exactly if some cycle
//!   has several entries.
//!
//! Both functions list edges by the position of their source, then in the order of the graph.
//! They ignore edges of unreachable nodes.

use super::{DominatorTree, Graph, Node, ReversePostorder};

/// Returns the edges whose target does not come after their source in `order`.
pub fn retreating_edges<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
) -> impl Iterator<Item = (N, N)> {
    order.as_slice().iter().flat_map(move |&source| {
        let from = order.position(source);
        graph
            .successors(source)
            .filter(move |&target| order.position(target) <= from)
            .map(move |target| (source, target))
    })
}

/// Returns the edges that close a cycle with an entry other than their target; none exactly if the
/// reachable part of the graph is reducible.
pub fn irreducible_edges<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
    dominators: &DominatorTree<N>,
) -> impl Iterator<Item = (N, N)> {
    retreating_edges(graph, order).filter(|&(source, target)| !dominators.dominates(target, source))
}
