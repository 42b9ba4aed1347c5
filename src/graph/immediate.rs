//! Immediate dominators by iteration over the reverse post-order: Cooper, Harvey and Kennedy, "A Simple, Fast
//! Dominance Algorithm", 2001. The algorithm of the reference.
//!
//! Two candidates for a node's dominator meet by walking up the tree built so far, always from the one that is later
//! in the order. On the graphs of programs the walks are short and one sweep finds the tree, another confirms it. A
//! straight line of blocks that all leave for one common exit makes the walks as long as the line, and irreducible
//! graphs can need many sweeps; so the steps are counted, and the caller has
//! [`semi_nca`](super::semi_nca) for when there are too many.

use super::{Graph, Node, Position, ReversePostorder};
use crate::entity::{EntityRef, PackedOption};

/// Steps allowed for each node and each edge. Programs need one or two; what the other algorithm costs is worth about
/// ten.
const STEPS: usize = 8;

/// Writes the immediate dominator of each position to `immediate`, the entry's being itself. Gives up and returns
/// whether it got there: false after more than a constant number of steps per node and edge.
pub(super) fn cooper_harvey_kennedy<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
    immediate: &mut Vec<PackedOption<Position>>,
) -> bool {
    immediate.clear();
    immediate.resize(order.len(), PackedOption::default());
    immediate[0] = Position::new(0).into();
    let mut steps_left = STEPS * size(graph, order);
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &node) in order.as_slice().iter().enumerate().skip(1) {
            let mut dominator: Option<Position> = None;
            for predecessor in graph.predecessors(node) {
                let Some(steps) = steps_left.checked_sub(1) else {
                    return false;
                };
                steps_left = steps;
                let Some(candidate) = order.position(predecessor) else {
                    continue;
                };
                if immediate[candidate.index()].is_none() {
                    continue;
                }
                dominator = match dominator {
                    None => Some(candidate),
                    Some(other) => intersect(immediate, candidate, other, &mut steps_left),
                };
                if dominator.is_none() {
                    return false;
                }
            }
            if immediate[index].expand() != dominator {
                immediate[index] = dominator.into();
                changed = true;
            }
        }
    }
    true
}

/// Number of reachable nodes and of edges into them.
fn size<N: Node>(graph: &impl Graph<Node = N>, order: &ReversePostorder<N>) -> usize {
    order
        .as_slice()
        .iter()
        .map(|&node| 1 + graph.predecessor_count(node))
        .sum()
}

/// Where the ways up the tree from two nodes meet; none if there are no steps left.
fn intersect(
    immediate: &[PackedOption<Position>],
    mut left: Position,
    mut right: Position,
    steps_left: &mut usize,
) -> Option<Position> {
    while left != right {
        *steps_left = steps_left.checked_sub(1)?;
        let later = if left > right { &mut left } else { &mut right };
        *later = immediate[later.index()].expect("above a placed node all are placed");
    }
    Some(left)
}
