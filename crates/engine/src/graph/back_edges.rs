//! Edges that go against an order, and what they say about the graph's cycles.
//!
//! - *Retreating*: the target's position is not after the source's. This is the reference's back
//!   edge (`RPO(dst) <= RPO(src)`). In an order of a depth-first walk these are the edges to a node
//!   on the walk's current path; every cycle has one, and which edge of a cycle it is depends on
//!   the walk.
//! - *Back edge*: the target dominates the source. Always retreating, whatever the walk; these make
//!   natural loops.
//! - *Irreducible*: retreating and not a back edge. There is one exactly if some cycle has several
//!   entries.
//!
//! All three list edges by the position of their source, then in the order of the graph. Edges of
//! unreachable nodes are none of them.

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

/// Returns the edges whose target dominates their source.
pub fn back_edges<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
    dominators: &DominatorTree<N>,
) -> impl Iterator<Item = (N, N)> {
    retreating_edges(graph, order).filter(|&(source, target)| dominators.dominates(target, source))
}

/// Returns the edges that close a cycle which can be entered elsewhere than at their target; none
/// exactly if the reachable part of the graph is reducible.
pub fn irreducible_edges<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
    dominators: &DominatorTree<N>,
) -> impl Iterator<Item = (N, N)> {
    retreating_edges(graph, order).filter(|&(source, target)| !dominators.dominates(target, source))
}
