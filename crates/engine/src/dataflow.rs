//! The dataflow solver.
//!
//! [`fixed_point`] visits nodes in the order of the analysis's direction until a sweep changes
//! nothing. The client keeps the states, such as rows of a bit matrix, and supplies the equations
//! as the step:
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
//! let work = fixed_point(&graph, &order, Direction::Backward, order.len() + 3, |block| {
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
//! assert!(work.sweeps <= 3);
//! ```
//!
//! # Convergence
//!
//! If a state only ever rises, the solver terminates if every chain `bottom < a < b < …` of states
//! is finite. If the transfer function is also monotone (a higher state gives a state that is not
//! lower), the result is the *least* fixed point and does not depend on the order of visits.
//!
//! # Order
//!
//! Forward problems use reverse post-order, backward problems its reverse. A bit set holds the
//! positions to visit, and a sweep passes over it once; a node that changes because of a later one
//! waits for the next sweep. So no node is visited more often than if every sweep visited all
//! nodes, and the known bound holds: a gen/kill problem takes at most `d + 2` sweeps, where `d` is
//! the largest number of retreating edges on a path without a cycle (Kam and Ullman, "Global Data
//! Flow Analysis and Iterative Algorithms", 1976).
//!
//! Nodes that the entry does not reach are not visited.

use crate::entity::EntityRef;
use crate::graph::{Graph, NodeSet, OrderPosition, ReversePostorder};
use thiserror::Error;

/// The direction in which facts flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the entry along the edges.
    Forward,
    /// From the ends of the program against the edges.
    Backward,
}

/// The work that the solver did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SolverWork {
    /// Visits of nodes.
    pub visits: usize,
    /// Passes over the order that visited something.
    pub sweeps: usize,
}

/// The solver did not reach a fixed point within its limit.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("dataflow has not converged after {} sweeps ({} visits)", .0.sweeps, .0.visits)]
pub struct NotConverged(pub SolverWork);

/// Calls `visit` on reachable nodes until it has returned false for each of them since it last
/// returned true for a node that it depends on. Visits every node at least once.
///
/// `visit` computes the state of a node from its neighbours (predecessors for a forward problem,
/// successors for a backward one) and returns whether the part that they read changed.
pub fn fixed_point<G: Graph>(
    graph: &G,
    order: &ReversePostorder<G::Node>,
    direction: Direction,
    sweep_limit: usize,
    mut visit: impl FnMut(G::Node) -> bool,
) -> Result<SolverWork, NotConverged> {
    let last = order.len().saturating_sub(1);
    let rank = |position: OrderPosition| match direction {
        Direction::Forward => position,
        Direction::Backward => OrderPosition::new(last - position.index()),
    };
    let mut waiting: NodeSet<OrderPosition> = NodeSet::default();
    waiting.reset_to_all(order.len());
    let mut work = SolverWork::default();
    while let Some(first) = waiting.next(0) {
        if work.sweeps == sweep_limit {
            return Err(NotConverged(work));
        }
        work.sweeps += 1;
        let mut next = Some(first);
        while let Some(current) = next {
            waiting.remove(current);
            work.visits += 1;
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
    Ok(work)
}

#[cfg(test)]
mod tests;
