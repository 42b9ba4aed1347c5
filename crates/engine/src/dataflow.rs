//! The dataflow solver.
//!
//! [`fixed_point`] is the loop: it visits nodes in the order of the analysis's direction until a
//! sweep changes nothing. [`solve`] runs an [`Analysis`] whose states are values of their own. A
//! gen/kill problem over rows of a bit matrix needs no states and calls the loop directly, with its
//! two equations as the step:
//!
//! ```
//! use oriel_engine::dataflow::{Direction, fixed_point};
//! use oriel_engine::entity::{Block, EntityRef};
//! use oriel_engine::graph::{ControlFlowGraph, ReversePostorder, Traversal};
//!
//! // Register 0 is written in block 0 and read in block 2; block 1 is a loop.
//! let edges = [(0, 1), (1, 1), (1, 2)].map(|(from, to)| (Block::new(from), Block::new(to)));
//! let graph = ControlFlowGraph::new(3, Block::new(0), edges.into_iter());
//! let order = ReversePostorder::new(&graph, Traversal::default());
//! let (uses, definitions) = ([0, 0, 1], [1, 0, 0]);
//! let (mut live_in, mut live_out) = ([0u32; 3], [0u32; 3]);
//! let statistics = fixed_point(&graph, &order, Direction::Backward, order.len() + 3, |block| {
//!     let index = block.index();
//!     for &successor in graph.successors(block) {
//!         live_out[index] |= live_in[successor.index()];
//!     }
//!     let before = live_in[index];
//!     live_in[index] |= uses[index] | (live_out[index] & !definitions[index]);
//!     live_in[index] != before
//! })
//! .expect("liveness converges");
//! assert_eq!(live_out, [1, 1, 0]);
//! assert!(statistics.sweeps <= 3);
//! ```
//!
//! # Convergence
//!
//! A state only ever rises: what a visit gives is joined to what the node had. So the solver stops
//! if every chain `bottom < a < b < …` of states is finite. That the result is the *least* fixed
//! point, and independent of the order of visits, also needs a monotone transfer: from a higher
//! state comes a state that is not lower.
//!
//! # Order
//!
//! Forward problems go by reverse post-order, backward problems by its reverse. A bit set holds the
//! positions to visit, and a sweep goes through it once; a node that a later one changes waits for
//! the next sweep. So no node is visited more often than if all were visited in every sweep, and
//! the known bound holds: a problem whose transfers are gen/kill takes at most `d + 2` sweeps, `d`
//! the largest number of retreating edges on a path without a cycle (Kam and Ullman, "Global Data
//! Flow Analysis and Iterative Algorithms", 1976).
//!
//! Nodes that the entry does not reach are not visited and have no state.

use crate::entity::{EntityRef, PrimaryMap};
use crate::graph::{Graph, Node, NodeSet, Position, ReversePostorder};
use thiserror::Error;

/// Which way facts flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the entry along the edges.
    Forward,
    /// From the ends of the program against the edges.
    Backward,
}

/// A dataflow problem: a lattice and how a node's code acts on it.
///
/// *Before* and *after* are meant in the direction: for a backward problem the state before a node is the one
/// where its code ends.
pub trait Analysis<N: Node> {
    /// A state: an element of the lattice.
    type Domain: Clone;

    /// Which way facts flow.
    const DIRECTION: Direction;

    /// The least element: joined to another it changes nothing. For a problem about *some* path
    /// that is the empty set, for one about *every* path the full set.
    fn bottom(&self) -> Self::Domain;

    /// Makes `state`, a bottom, what is known before the node `boundary`: for a forward problem the
    /// entry, for a backward one a node without successors. A loop that nothing leaves has no
    /// boundary for a backward problem.
    fn initialize(&self, boundary: N, state: &mut Self::Domain);

    /// Makes `into` the least upper bound of both, and returns whether that changed it.
    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool;

    /// Makes the state before the node's code the state after it.
    fn transfer(&self, node: N, state: &mut Self::Domain);

    /// After how many sweeps over a graph of `reachable` reachable nodes the solver gives up. The
    /// default suffices for every gen/kill problem; one whose facts can rise several times in a
    /// cycle needs more.
    fn sweep_limit(&self, reachable: usize) -> usize {
        reachable + 3
    }
}

/// What the solver did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Visits of nodes.
    pub visits: usize,
    /// Passes over the order that visited something.
    pub sweeps: usize,
}

/// The solver did not reach a fixed point within its limit.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("dataflow has not converged after {} sweeps ({} visits)", .0.sweeps, .0.visits)]
pub struct NotConverged(pub Statistics);

/// Calls `visit` on reachable nodes until it has returned false for each since the last time that
/// one of the nodes which the node depends on returned true. Every node is visited at least once.
///
/// `visit` computes what is known about a node from its neighbours (predecessors for a forward
/// problem, successors for a backward one) and returns whether that changed what they can see of
/// it.
pub fn fixed_point<G: Graph>(
    graph: &G,
    order: &ReversePostorder<G::Node>,
    direction: Direction,
    sweep_limit: usize,
    mut visit: impl FnMut(G::Node) -> bool,
) -> Result<Statistics, NotConverged> {
    let last = order.len().saturating_sub(1);
    let rank = |position: Position| match direction {
        Direction::Forward => position,
        Direction::Backward => Position::new(last - position.index()),
    };
    let mut waiting: NodeSet<Position> = NodeSet::default();
    waiting.reset_to_all(order.len());
    let mut statistics = Statistics::default();
    while let Some(first) = waiting.next(0) {
        if statistics.sweeps == sweep_limit {
            return Err(NotConverged(statistics));
        }
        statistics.sweeps += 1;
        let mut next = Some(first);
        while let Some(current) = next {
            waiting.remove(current);
            statistics.visits += 1;
            let node = order.node(rank(current));
            if visit(node) {
                let mut wake = |dependent| {
                    if let Some(position) = order.position(dependent) {
                        waiting.insert(rank(position));
                    }
                };
                match direction {
                    Direction::Forward => graph.successors(node).for_each(&mut wake),
                    Direction::Backward => graph.predecessors(node).for_each(&mut wake),
                }
            }
            next = waiting.next(current.index() + 1);
        }
    }
    Ok(statistics)
}

/// The states of a solved problem.
#[derive(Clone, Debug)]
pub struct Solution<N: Node, D> {
    direction: Direction,
    before: PrimaryMap<N, D>,
    after: PrimaryMap<N, D>,
    visited: NodeSet<N>,
    /// What the solver did.
    pub statistics: Statistics,
}

impl<N: Node, D> Solution<N, D> {
    /// What is known where the node's code begins; none if the entry does not reach it.
    pub fn at_entry(&self, node: N) -> Option<&D> {
        let states = match self.direction {
            Direction::Forward => &self.before,
            Direction::Backward => &self.after,
        };
        self.visited.contains(node).then(|| &states[node])
    }

    /// What is known where the node's code ends; none if the entry does not reach it.
    pub fn at_exit(&self, node: N) -> Option<&D> {
        let states = match self.direction {
            Direction::Forward => &self.after,
            Direction::Backward => &self.before,
        };
        self.visited.contains(node).then(|| &states[node])
    }
}

/// Solves a dataflow problem on `graph`, of which `order` is an order.
///
/// States inside a node are the client's to recompute: from [`Solution::at_entry`] on for a forward
/// problem, from [`Solution::at_exit`] back for a backward one.
pub fn solve<G: Graph, A: Analysis<G::Node>>(
    graph: &G,
    order: &ReversePostorder<G::Node>,
    analysis: &A,
) -> Result<Solution<G::Node, A::Domain>, NotConverged> {
    let mut before: PrimaryMap<G::Node, A::Domain> = graph.nodes().map(|_| analysis.bottom()).collect();
    let mut after = before.clone();
    for &node in order.as_slice() {
        let is_boundary = match A::DIRECTION {
            Direction::Forward => node == graph.entry(),
            Direction::Backward => graph.successor_count(node) == 0,
        };
        if is_boundary {
            analysis.initialize(node, &mut before[node]);
        }
    }
    let mut visited = NodeSet::new(graph.node_count());
    let mut state = analysis.bottom();
    let limit = analysis.sweep_limit(order.len());
    let statistics = fixed_point(graph, order, A::DIRECTION, limit, |node| {
        let mut risen = visited.insert(node);
        let mut receive = |neighbour| risen |= analysis.join(&mut before[node], &after[neighbour]);
        match A::DIRECTION {
            Direction::Forward => graph.predecessors(node).for_each(&mut receive),
            Direction::Backward => graph.successors(node).for_each(&mut receive),
        }
        if !risen {
            return false;
        }
        state.clone_from(&before[node]);
        analysis.transfer(node, &mut state);
        analysis.join(&mut after[node], &state)
    })?;
    Ok(Solution {
        direction: A::DIRECTION,
        before,
        after,
        visited,
        statistics,
    })
}

#[cfg(test)]
mod tests;
