//! Finds the blocks that ptxas schedules together.
//!
//! ```text
//!   a          a
//!  / \         | \
//! b   c        |  b       ptxas executes b and c under a predicate, so that all of it is one block
//!  \ /         | /
//!   d          d
//! ```
//!
//! A *region* is a block and the blocks after it that have no other entry: its only successor, or
//! the sides of a short branch without synchronisation and their join block.

use super::live_cells::LiveCells;
use super::nodes::{Nodes, Order, ScheduleNode};
use oriel_engine::entity::{Block, EntitySet};
use oriel_ori::{ControlFlow, Function};

/// The most instructions of a side that is executed under a predicate.
const PREDICATED_LIMIT: usize = 12;

/// Blocks that are scheduled as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The blocks, in order, and whether each is under a predicate.
    pub blocks: Vec<(Block, bool)>,
    /// The exit blocks of the region.
    pub ends: Vec<Block>,
}

impl Region {
    /// The first block.
    pub fn head(&self) -> Block {
        self.blocks[0].0
    }

    /// The instructions of all blocks, in order.
    pub fn nodes<'a>(&self, nodes: &'a Nodes) -> impl Iterator<Item = &'a ScheduleNode> {
        self.blocks.iter().flat_map(|&(block, _)| nodes.of(block))
    }

    /// The number of values live at the start or defined in it.
    pub fn value_count(&self, nodes: &Nodes, live: &LiveCells) -> usize {
        let defined = self.nodes(nodes).map(|node| node.defined.len()).sum::<usize>();
        live.live_in(self.head()).len() + defined
    }

    /// The block that branches back to the first, if the region is a loop.
    pub fn latch(&self, flow: &ControlFlow) -> Option<Block> {
        let goes_back = |block: &Block| flow.graph.successors(*block).contains(&self.head());
        self.ends.iter().copied().find(goes_back)
    }
}

/// Divides the blocks of a function into regions.
pub fn regions(function: &Function, flow: &ControlFlow, nodes: &Nodes) -> Vec<Region> {
    let mut taken = EntitySet::with_capacity(function.block_limit());
    let mut found = Vec::new();
    for &block in function.blocks() {
        if taken.contains(block) {
            continue;
        }
        let mut region = Region {
            blocks: vec![(block, false)],
            ends: vec![block],
        };
        taken.insert(block);
        while let Some(next) = grow(flow, nodes, &taken, &mut region) {
            taken.insert(next);
        }
        taken.extend(region.blocks.iter().map(|&(block, _)| block));
        found.push(region);
    }
    found
}

/// Adds the blocks after the last block of a region; returns the block from which it may continue,
/// if any.
fn grow(flow: &ControlFlow, nodes: &Nodes, taken: &EntitySet<Block>, region: &mut Region) -> Option<Block> {
    let &[last] = &region.ends[..] else { return None };
    let only_from = |block: Block, sources: &[Block]| {
        let predecessors = flow.graph.predecessors(block);
        !taken.contains(block) && predecessors.iter().all(|source| sources.contains(source))
    };
    let is_short = |block: Block| {
        let of_block = nodes.of(block);
        let body = of_block.iter().filter(|node| !node.is_terminator);
        of_block.len() <= PREDICATED_LIMIT && body.clone().all(|node| node.order != Order::Fence)
    };
    let is_side = |block: Block| only_from(block, &[last]) && is_short(block);
    let successors = flow.graph.successors(last);
    let (sides, join) = match *successors {
        [next] => (vec![], next),
        [one, other] if is_side(one) && *flow.graph.successors(one) == [other] => (vec![one], other),
        [one, other] if is_side(other) && *flow.graph.successors(other) == [one] => (vec![other], one),
        [one, other] if is_side(one) && is_side(other) => {
            let join = flow.graph.successors(one);
            if join.len() != 1 || join != flow.graph.successors(other) {
                return None;
            }
            (vec![one, other], join[0])
        }
        _ => return None,
    };
    region.blocks.extend(sides.iter().map(|&side| (side, true)));
    let sources: Vec<Block> = sides.iter().copied().chain([last]).collect();
    if only_from(join, &sources) {
        region.blocks.push((join, false));
        region.ends = vec![join];
        return Some(join);
    }
    region.ends = sources;
    None
}
