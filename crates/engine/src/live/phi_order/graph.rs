//! LLVM's searches, followed from PHI value to PHI value.
//!
//! A search reaches all blocks from which a path without definition leads to the read. It finds the
//! PHI value that the read sees, if any, then the PHI values that enter this one by edges, and so on.
//! The blocks in between need not be visited. LLVM visits all blocks of the search in the order of
//! their numbers, again and again, and each visit gives a block the value of its dominator. In the end
//! each block has the nearest value above it in the dominator tree among those that LLVM has made. It
//! has this value in the first round, unless a block on the way has a lower number than its dominator;
//! each such block delays it by a round.
//!
//! When LLVM visits a block with a PHI value, it makes the value
//!
//! - if it has not seen that the register is live-out of the block's immediate dominator, or
//! - if an edge brings in a value that it knows, from below that dominator.
//!
//! Both may depend on paths that this graph does not have. Then the order isn't certain.

use super::super::flow_graph::FlowGraph;
use super::super::resolve::UNSORTED_BLOCKS;
use super::super::value::ValueNumber;
use super::web::Web;
use crate::entity::{Block, EntityRef};
use crate::graph::DominatorTree;
use std::cell::Cell;

/// The round of a PHI value that has no number yet.
const NONE: u32 = u32::MAX;

/// The round of a PHI value that an earlier search numbered.
const EARLIER: u32 = 0;

/// The steps up the dominator tree for each PHI value after which the order is left open, so that the
/// graph costs little more than the searches wherever values have to wait for each other.
const STEPS_OF_A_VALUE: u32 = 256;

/// A PHI value while its number is sought.
#[derive(Clone, Copy, Debug)]
struct Phi {
    block: Block,
    /// The block's immediate dominator.
    dominator: Block,
    /// Its edges in the list of all.
    first_edge: u32,
    edge_end: u32,
    /// The visit of all blocks, counted from 1, in which LLVM made it.
    round: u32,
    /// True if a search has reached it, so that its edges are listed.
    is_searched: bool,
}

/// A value that comes into a block with a PHI value from a predecessor.
#[derive(Clone, Copy, Debug)]
struct Edge {
    predecessor: Block,
    /// The value that leaves the predecessor; none if the predecessor defines it.
    value: Option<ValueNumber>,
}

/// The graph of a web's PHI values. Keeps its memory from web to web.
#[derive(Debug, Default)]
pub(super) struct PhiGraph {
    /// By block: how many blocks, from the entry down to it in the dominator tree, have lower numbers
    /// than their immediate dominators. Empty if nobody has asked.
    lags: Vec<u32>,
    /// The largest of them.
    most_lag: u32,
    phis: Vec<Phi>,
    edges: Vec<Edge>,
    /// The PHI values of a search without numbers: positions in `phis`.
    missing: Vec<u32>,
    /// True if an earlier read has been followed.
    has_searched: bool,
    /// Of the web's steps up the dominator tree.
    steps_left: Cell<u32>,
}

impl PhiGraph {
    /// Prepares for a function.
    pub fn begin(&mut self) {
        self.lags.clear();
    }

    /// Lists `phis` in `sorted`, in the order in which LLVM makes their values. Returns false if
    /// that order is not certain.
    pub fn sort(&mut self, web: &Web<'_>, phis: &[Block], sorted: &mut Vec<Block>) -> bool {
        let (flow, dominators) = (web.input.flow, web.input.dominators);
        if self.lags.is_empty() {
            self.find_lags(flow, dominators);
        }
        self.edges.clear();
        self.phis.clear();
        self.phis.extend(phis.iter().map(|&block| Phi {
            block,
            dominator: dominators.immediate(block).expect("values meet below the entry"),
            first_edge: 0,
            edge_end: 0,
            round: NONE,
            is_searched: false,
        }));
        self.has_searched = false;
        self.steps_left
            .set(STEPS_OF_A_VALUE.saturating_mul(phis.len() as u32));
        let chains = web.input.chains;
        for place in chains.webs.operands(web.id, chains.chains) {
            let read = web.block_of_read(&chains.operands[place.register_operand as usize..]);
            let Some(block) = read else { continue };
            if let Some(phi) = self.phi(web, web.entering(block))
                && !self.phis[phi].is_searched
            {
                self.search(web, phi);
                if self.missing.len() > 1 {
                    let rank = |phi: &u32| flow.order.rank(phis[*phi as usize]);
                    self.missing.sort_unstable_by_key(rank);
                    if !self.is_sorted_by_llvm(web, block) || !self.find_rounds(web) {
                        return false;
                    }
                }
                self.number_missing(sorted);
            }
            match phis.len() - sorted.len() {
                0 => return true,
                1 => {
                    let last = self.phis.iter().find(|phi| phi.round == NONE);
                    sorted.push(last.expect("one is left").block);
                    return true;
                }
                _ => self.has_searched = true,
            }
        }
        panic!("a read is behind each PHI value");
    }

    fn find_lags(&mut self, flow: &FlowGraph, dominators: &DominatorTree<Block>) {
        let rank = |block| flow.order.rank(block);
        self.lags.resize(flow.block_count(), 0);
        self.most_lag = 0;
        for &block in dominators.preorder() {
            if let Some(dominator) = dominators.immediate(block) {
                let own = u32::from(rank(block) < rank(dominator));
                let lag = self.lags[dominator.index()] + own;
                self.lags[block.index()] = lag;
                self.most_lag = self.most_lag.max(lag);
            }
        }
    }

    /// Returns the position of a PHI value; none if it is a definition's value.
    fn phi(&self, web: &Web<'_>, value: ValueNumber) -> Option<usize> {
        value.index().checked_sub(web.definitions.len())
    }

    /// Lists the PHI values that a search reaches from `first`, and their edges.
    fn search(&mut self, web: &Web<'_>, first: usize) {
        self.missing.clear();
        self.missing.push(first as u32);
        self.phis[first].is_searched = true;
        let mut next = 0;
        while let Some(&current) = self.missing.get(next) {
            next += 1;
            let current = current as usize;
            self.phis[current].first_edge = self.edges.len() as u32;
            for &predecessor in web.input.flow.predecessors_of(self.phis[current].block) {
                let is_defined = web.is_in(predecessor, |state| state.defined);
                let value = (!is_defined).then(|| web.entering(predecessor));
                self.edges.push(Edge { predecessor, value });
                if let Some(phi) = value.and_then(|value| self.phi(web, value))
                    && !std::mem::replace(&mut self.phis[phi].is_searched, true)
                {
                    self.missing.push(phi as u32);
                }
            }
            self.phis[current].edge_end = self.edges.len() as u32;
        }
    }

    /// True if the search from `read` is certain to go through so many blocks that LLVM sorts them.
    fn is_sorted_by_llvm(&self, web: &Web<'_>, read: Block) -> bool {
        let mut found = [read; UNSORTED_BLOCKS + 1];
        let mut count = 1;
        let mut add = |block| {
            if !found[..count].contains(&block) {
                found[count] = block;
                count += 1;
            }
            count == found.len()
        };
        self.missing.iter().any(|&phi| {
            let phi = self.phis[phi as usize];
            add(phi.block)
                || self.edges_of(phi).iter().any(|edge| {
                    let is_searched = edge.value.is_some_and(|value| self.is_searched_now(web, value));
                    is_searched && add(edge.predecessor)
                })
        })
    }

    /// True if a predecessor that `value` leaves is certain not to have been searched before.
    fn is_searched_now(&self, web: &Web<'_>, value: ValueNumber) -> bool {
        let phi = self.phi(web, value);
        !self.has_searched || phi.is_some_and(|phi| self.phis[phi].round != EARLIER)
    }

    fn edges_of(&self, phi: Phi) -> &[Edge] {
        &self.edges[phi.first_edge as usize..phi.edge_end as usize]
    }

    /// Finds the rounds in which LLVM makes the missing values, up to the last. Returns false if it
    /// isn't certain.
    fn find_rounds(&mut self, web: &Web<'_>) -> bool {
        let mut left = self.missing.len();
        // The first round lets LLVM know values that come from higher numbers.
        let mut last_round = 2 + self.most_lag;
        let mut round = 0;
        while round < last_round {
            round += 1;
            for position in 0..self.missing.len() {
                let phi = self.missing[position] as usize;
                if self.phis[phi].round != NONE {
                    continue;
                }
                match self.is_made(web, self.phis[phi], round) {
                    None => return false,
                    Some(false) => {}
                    Some(true) => {
                        self.phis[phi].round = round;
                        last_round = round + 1 + self.most_lag;
                        left -= 1;
                        if left == 1 {
                            return true;
                        }
                    }
                }
            }
        }
        true
    }

    /// Gives numbers to the missing values: by round, and those without a round at the end.
    fn number_missing(&mut self, sorted: &mut Vec<Block>) {
        let phis = &mut self.phis;
        self.missing.sort_by_key(|&phi| phis[phi as usize].round);
        for &phi in &self.missing {
            phis[phi as usize].round = EARLIER;
            sorted.push(phis[phi as usize].block);
        }
    }

    /// True if LLVM makes `phi` when it visits its block in `round`; none if that isn't certain.
    fn is_made(&self, web: &Web<'_>, phi: Phi, round: u32) -> Option<bool> {
        let dominators = web.input.dominators;
        let dominator = phi.dominator;
        let rank = |block| web.input.flow.order.rank(block);
        let mut is_certain = true;
        for edge in self.edges_of(phi) {
            let Some(value) = edge.value else {
                if edge.predecessor != dominator {
                    return Some(true);
                }
                continue;
            };
            let has_visited = rank(edge.predecessor) < rank(phi.block);
            let until = if has_visited { round } else { round - 1 };
            if until == EARLIER {
                let source = web.value_blocks[value.index()];
                is_certain &=
                    self.is_searched_now(web, value) || !dominators.strictly_dominates(dominator, source);
                continue;
            }
            match self.comes_from_below(web, edge.predecessor, value, dominator, until) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => is_certain = false,
            }
        }
        if !web.is_in(dominator, |state| state.live_out) {
            return Some(true);
        }
        (is_certain && self.is_reached(web, phi)).then_some(false)
    }

    /// True if the value that LLVM knows to leave `block` by the end of round `until` is that of a
    /// block that `dominator` strictly dominates; none if that isn't certain. `value` is the one that
    /// leaves it at last.
    fn comes_from_below(
        &self,
        web: &Web<'_>,
        block: Block,
        mut value: ValueNumber,
        dominator: Block,
        until: u32,
    ) -> Option<bool> {
        let dominators = web.input.dominators;
        loop {
            self.steps_left.set(self.steps_left.get().checked_sub(1)?);
            let source = web.value_blocks[value.index()];
            if !dominators.strictly_dominates(dominator, source) {
                return Some(false);
            }
            let lag = self.lags[block.index()] - self.lags[source.index()];
            let phi = self.phi(web, value).map(|phi| self.phis[phi]);
            let Some(phi) = phi.filter(|phi| phi.round != EARLIER) else {
                // Known from the start. The first block below knows it in the first round, and a block
                // that has been searched before has known it, too.
                return match lag {
                    0 => Some(true),
                    _ if until > lag => Some(true),
                    _ if until < lag && !self.has_searched => Some(false),
                    _ => None,
                };
            };
            if phi.round != NONE && phi.round + lag <= until {
                return Some(true);
            }
            let above = phi.dominator;
            if above == dominator {
                return Some(false);
            }
            if !web.is_in(above, |state| state.defined) {
                if !web.is_in(above, |state| state.live_out) {
                    return Some(false);
                }
                if !self.is_reached(web, phi) {
                    return None;
                }
            }
            value = web.leaving(above);
        }
    }

    /// True if a search for `phi` is certain to reach its block's immediate dominator: by an edge that
    /// brings in the value that leaves the dominator.
    fn is_reached(&self, web: &Web<'_>, phi: Phi) -> bool {
        let dominators = web.input.dominators;
        self.edges_of(phi).iter().any(|edge| {
            edge.predecessor == phi.dominator
                || edge.value.is_some_and(|value| {
                    let source = web.value_blocks[value.index()];
                    !dominators.strictly_dominates(phi.dominator, source)
                })
        })
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        (self.lags.capacity() + self.missing.capacity()) * size_of::<u32>()
            + self.phis.capacity() * size_of::<Phi>()
            + self.edges.capacity() * size_of::<Edge>()
    }
}
