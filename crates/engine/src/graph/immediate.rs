//! Immediate dominators by iteration over the reverse post-order: Cooper, Harvey and Kennedy, "A
//! Simple, Fast Dominance Algorithm", 2001, the algorithm of the reference.
//!
//! Two candidates for a node's dominator meet by walking up the tree built so far, always from the
//! one that is later in the order. If all predecessors of a node come before it and their results
//! are final, so is the node's. So after a sweep only the targets of retreating edges are visited
//! again; on a reducible graph such an edge changes nothing, and the iteration ends.
//!
//! Any other order in which every node but the entry has a predecessor before it gives the same dominators:
//! a dominator comes before its node in these orders, too. An edge that goes back without closing a cycle
//! then takes another sweep.
//!
//! On the graphs of real programs the walks are short. If all blocks of a chain have an edge to the
//! same exit, the walks are as long as the chain, and irreducible graphs can need many sweeps. So
//! the steps are counted, and [`semi_nca`](super::semi_nca) takes over when there are too many.

use super::order::DominatorsFirst;
use super::{Graph, OrderPosition};
use crate::entity::{EntityRef, PackedOption};

/// Limit for the number of sweeps, and for the steps up the tree for each node. Programs need one
/// or two of each.
const LIMIT: usize = 8;

/// Writes the immediate dominator of each position to `immediate`; the entry's is itself. Returns
/// false if it gave up, or met a node without a predecessor before it in the order.
pub(super) fn cooper_harvey_kennedy<G: Graph>(
    graph: &G,
    order: &impl DominatorsFirst<G::Node>,
    immediate: &mut Vec<PackedOption<OrderPosition>>,
) -> bool {
    immediate.clear();
    immediate.resize(order.len(), PackedOption::default());
    immediate[0] = OrderPosition::new(0).into();
    let mut search = Search {
        graph,
        order,
        immediate,
        steps_left: LIMIT * order.len(),
    };
    let mut retreating = Vec::new();
    for index in 1..order.len() {
        let position = OrderPosition::new(index);
        if search.update(position).incomplete {
            retreating.push(position);
        }
        if search.steps_left == 0 || search.immediate[index].is_none() {
            return false;
        }
    }
    for _ in 0..LIMIT {
        let mut changed = false;
        for &position in &retreating {
            changed |= search.update(position).changed;
        }
        if search.steps_left == 0 {
            return false;
        }
        if !changed {
            return true;
        }
        for index in 1..order.len() {
            search.update(OrderPosition::new(index));
            if search.steps_left == 0 {
                return false;
            }
        }
    }
    false
}

struct Search<'a, G: Graph, O> {
    graph: &'a G,
    order: &'a O,
    /// By position; none until the first visit.
    immediate: &'a mut [PackedOption<OrderPosition>],
    /// Steps up the tree that may still be taken; at zero the result is unusable.
    steps_left: usize,
}

struct Update {
    changed: bool,
    /// True if a predecessor has not been visited yet.
    incomplete: bool,
}

impl<G: Graph, O: DominatorsFirst<G::Node>> Search<'_, G, O> {
    /// Computes the dominator of a position from the predecessors that have been visited.
    fn update(&mut self, position: OrderPosition) -> Update {
        let mut dominator: Option<OrderPosition> = None;
        let mut incomplete = false;
        for predecessor in self.graph.predecessors(self.order.node(position)) {
            let Some(candidate) = self.order.position(predecessor) else {
                continue;
            };
            if self.immediate[candidate.index()].is_none() {
                incomplete = true;
                continue;
            }
            dominator = Some(dominator.map_or(candidate, |other| self.intersect(candidate, other)));
        }
        let entry = &mut self.immediate[position.index()];
        let changed = entry.expand() != dominator;
        *entry = dominator.into();
        Update { changed, incomplete }
    }

    /// Returns where the ways up the tree from two positions meet, unless the steps run out.
    fn intersect(&mut self, mut left: OrderPosition, mut right: OrderPosition) -> OrderPosition {
        while left != right && self.steps_left > 0 {
            self.steps_left -= 1;
            let later = if left > right { &mut left } else { &mut right };
            *later = self.immediate[later.index()].expect("above a visited node all are visited");
        }
        left
    }
}
