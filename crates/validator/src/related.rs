//! Relates the control flow of the two functions.
//!
//! The related flow is a graph whose nodes are pairs: a stretch of the function before and the
//! stretch of the function after that runs in its place. It starts with the two entries. A stretch
//! continues through jumps to blocks with no other predecessor, through blocks of which the other
//! side has a copy, and through branches that the other side has decided. So merged, duplicated, removed
//! and threaded blocks all become nodes. This file guesses from block labels which branch targets
//! correspond; the values of the conditions prove it afterwards. If only the function before has a branch,
//! both its targets may be related to the same place of the function after.

use super::side::{End, Side};
use oriel_engine::entity::{Block, EntityRef, entity_impl};
use oriel_engine::graph::{ControlFlowGraph, DominatorTree, ReversePostorder, Traversal};
use oriel_engine::hash::NumberMap;
use smallvec::SmallVec;

/// A node of the related flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RelatedNode(u32);
entity_impl!(RelatedNode, "related");

/// A block in a stretch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub block: Block,
    /// The predecessor block; none where several edges of the related flow lead here.
    pub entered_from: Option<Block>,
    /// The direction of the branch that the other function has decided.
    pub decided: Option<bool>,
}

/// The blocks of one function in a node, in the order in which control runs through them.
pub(super) type Stretch = SmallVec<[Segment; 1]>;

/// Returns the last block of each stretch. A stretch has at least one block.
pub(super) fn last_blocks(stretches: &[Stretch; 2]) -> [Block; 2] {
    stretches
        .each_ref()
        .map(|stretch| stretch[stretch.len() - 1].block)
}

/// An edge of the related flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub target: RelatedNode,
    /// The last block of each stretch.
    pub from: [Block; 2],
    /// Whether the condition of the function before holds.
    pub sense: Option<bool>,
}

/// The end of a pair of stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairEnd {
    /// Both jump.
    Jump,
    /// Both branch; the conditions must be equal or opposite.
    Branch { opposite: bool },
    /// Only the function before branches; both targets correspond to one place of the function after.
    Merged,
    /// Both select among several targets by the same operands.
    Choice,
    /// Both leave the function.
    Leave,
}

/// The content of a node.
#[derive(Debug)]
pub(super) struct RelatedData {
    pub stretches: [Stretch; 2],
    pub end: PairEnd,
    pub edges: SmallVec<[Edge; 2]>,
}

impl RelatedData {
    /// Returns the key of hints on a branch: the blocks with which the stretches start, and its own.
    pub fn place_of(&self, block: Block) -> (Block, Block, Block) {
        (self.stretches[0][0].block, self.stretches[1][0].block, block)
    }
}

/// Knowledge of branches from earlier attempts.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Pairs of blocks whose branches correspond with swapped targets.
    pub flipped: NumberMap<(Block, Block), bool>,
    /// Branches that go one way only, by side: the blocks with which the stretches start, the
    /// block, and whether its condition holds.
    pub decided: [NumberMap<(Block, Block, Block), bool>; 2],
    /// Branches of the function before whose targets the function after has merged: the blocks with which the
    /// stretches start, and the block.
    pub merged: NumberMap<(Block, Block, Block), ()>,
}

/// The related flow, with derived data.
#[derive(Debug)]
pub(super) struct Related {
    pub nodes: Vec<RelatedData>,
    pub graph: ControlFlowGraph<RelatedNode>,
    pub dominators: DominatorTree<RelatedNode>,
}

/// Blocks that do not correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unrelated {
    pub blocks: [Block; 2],
}

/// The most blocks in one stretch.
const STRETCH: usize = 64;

impl Related {
    /// Relates two functions.
    ///
    /// # Errors
    /// If the ends of two stretches do not correspond in a known way.
    pub fn new(sides: &[Side<'_>; 2], hints: &Hints) -> Result<Self, Unrelated> {
        let mut builder = Builder {
            sides,
            hints,
            numbers: NumberMap::default(),
            pairs: Vec::new(),
        };
        let entries = [0, 1].map(|side: usize| sides[side].function.entry());
        builder.number(entries);
        let limit = 64
            + 4 * sides[0]
                .function
                .block_limit()
                .max(sides[1].function.block_limit());
        let mut nodes = Vec::new();
        while nodes.len() < builder.pairs.len() {
            let pair = builder.pairs[nodes.len()];
            if nodes.len() > limit {
                return Err(Unrelated { blocks: pair });
            }
            nodes.push(builder.build(pair)?);
        }
        let edges = || {
            nodes
                .iter()
                .enumerate()
                .flat_map(|(number, node): (usize, &RelatedData)| {
                    node.edges
                        .iter()
                        .map(move |edge| (RelatedNode::new(number), edge.target))
                })
        };
        let graph = ControlFlowGraph::new(
            nodes.len(),
            RelatedNode::new(0),
            edges().collect::<Vec<_>>().iter().copied(),
        );
        let order = ReversePostorder::new(&graph, Traversal::default());
        let dominators = DominatorTree::new(&graph, &order);
        Ok(Self {
            nodes,
            graph,
            dominators,
        })
    }
}

struct Builder<'a, 'b> {
    sides: &'a [Side<'b>; 2],
    hints: &'a Hints,
    numbers: NumberMap<(Block, Block), RelatedNode>,
    pairs: Vec<[Block; 2]>,
}

impl Builder<'_, '_> {
    fn number(&mut self, [before, after]: [Block; 2]) -> RelatedNode {
        *self.numbers.entry((before, after)).or_insert_with(|| {
            self.pairs.push([before, after]);
            RelatedNode::new(self.pairs.len() - 1)
        })
    }

    fn label(&self, side: usize, block: Block) -> u32 {
        self.sides[side].function.label(block)
    }

    /// Extends both stretches until their ends correspond.
    fn build(&mut self, pair: [Block; 2]) -> Result<RelatedData, Unrelated> {
        let mut stretches = pair.map(|block| {
            Stretch::from_elem(
                Segment {
                    block,
                    entered_from: None,
                    decided: None,
                },
                1,
            )
        });
        loop {
            let at = last_blocks(&stretches);
            if self.follow_decided_branches(pair, at, &mut stretches)? {
                continue;
            }
            let unrelated = Unrelated { blocks: at };
            let (end, edges) = match [0, 1].map(|side: usize| self.sides[side].end(at[side]).clone()) {
                [End::Jump(before), End::Jump(after)] => {
                    if self.follow_private_jumps(at, [before, after], &mut stretches)? {
                        continue;
                    }
                    let edge = self.edge([before, after], at, None);
                    (PairEnd::Jump, SmallVec::from_elem(edge, 1))
                }
                [End::Branch(yes, no), End::Jump(after)]
                    if self.hints.merged.contains_key(&(pair[0], pair[1], at[0])) =>
                {
                    let edges = [(yes, true), (no, false)]
                        .into_iter()
                        .map(|(before, sense)| self.edge([before, after], at, Some(sense)))
                        .collect();
                    (PairEnd::Merged, without_repetition(edges))
                }
                [End::Branch(yes, no), End::Jump(after)] => {
                    match self.is_decided(at, after, [yes, no]) {
                        Some(true) => extend(&mut stretches[0], yes, Some(true), unrelated)?,
                        Some(false) => extend(&mut stretches[0], no, Some(false), unrelated)?,
                        None => extend(&mut stretches[1], after, None, unrelated)?,
                    }
                    continue;
                }
                [End::Jump(target), _] => {
                    extend(&mut stretches[0], target, None, unrelated)?;
                    continue;
                }
                [_, End::Jump(target)] => {
                    extend(&mut stretches[1], target, None, unrelated)?;
                    continue;
                }
                [End::Branch(yes, no), End::Branch(other_yes, other_no)] => {
                    let opposite = self.is_opposite(at, [yes, no], [other_yes, other_no]);
                    let others = match opposite {
                        true => [other_no, other_yes],
                        false => [other_yes, other_no],
                    };
                    let edges = [(yes, others[0], true), (no, others[1], false)]
                        .into_iter()
                        .map(|(before, after, sense)| self.edge([before, after], at, Some(sense)))
                        .collect();
                    (PairEnd::Branch { opposite }, without_repetition(edges))
                }
                [End::Choice(before), End::Choice(after)] if before.len() == after.len() => {
                    let edges = before
                        .iter()
                        .zip(&after)
                        .map(|(&before, &after)| self.edge([before, after], at, None))
                        .collect();
                    (PairEnd::Choice, without_repetition(edges))
                }
                [End::Leave, End::Leave] => (PairEnd::Leave, SmallVec::new()),
                _ => return Err(unrelated),
            };
            return Ok(RelatedData {
                stretches,
                end,
                edges,
            });
        }
    }

    /// Extends stretches through branches that are known to go one way only; returns whether there
    /// was one.
    fn follow_decided_branches(
        &self,
        pair: [Block; 2],
        at: [Block; 2],
        stretches: &mut [Stretch; 2],
    ) -> Result<bool, Unrelated> {
        let mut has_moved = false;
        for side in 0..2 {
            let decided = self.hints.decided[side].get(&(pair[0], pair[1], at[side]));
            if let (&End::Branch(yes, no), Some(&holds)) = (self.sides[side].end(at[side]), decided) {
                let target = if holds { yes } else { no };
                extend(
                    &mut stretches[side],
                    target,
                    Some(holds),
                    Unrelated { blocks: at },
                )?;
                has_moved = true;
            }
        }
        Ok(has_moved)
    }

    /// Extends stretches through jumps to blocks with no other predecessor; returns whether there
    /// was one.
    fn follow_private_jumps(
        &self,
        at: [Block; 2],
        targets: [Block; 2],
        stretches: &mut [Stretch; 2],
    ) -> Result<bool, Unrelated> {
        let mut has_moved = false;
        for side in 0..2 {
            if self.sides[side].has_one_predecessor(targets[side]) {
                extend(
                    &mut stretches[side],
                    targets[side],
                    None,
                    Unrelated { blocks: at },
                )?;
                has_moved = true;
            }
        }
        Ok(has_moved)
    }

    fn edge(&mut self, targets: [Block; 2], from: [Block; 2], sense: Option<bool>) -> Edge {
        Edge {
            target: self.number(targets),
            from,
            sense,
        }
    }

    /// Returns the direction of a branch of the function before if the function after jumps
    /// instead.
    fn is_decided(&self, at: [Block; 2], after: Block, targets: [Block; 2]) -> Option<bool> {
        let function = self.sides[1].function;
        let is_copy = |block: &&Block| **block != at[1] && function.label(**block) == function.label(at[1]);
        // A new block has the label of its origin.
        if self.label(0, at[0]) != self.label(1, at[1])
            || at[0] != at[1] && function.blocks().iter().any(|block| is_copy(&block))
        {
            return None;
        }
        let label = self.label(1, after);
        match targets.map(|target| self.label(0, target) == label) {
            [true, false] => Some(true),
            [false, true] => Some(false),
            _ => None,
        }
    }

    fn is_opposite(&self, at: [Block; 2], before: [Block; 2], after: [Block; 2]) -> bool {
        if let Some(&flipped) = self.hints.flipped.get(&(at[0], at[1])) {
            return flipped;
        }
        let before = before.map(|block| self.label(0, block));
        let after = after.map(|block| self.label(1, block));
        let straight = usize::from(before[0] == after[0]) + usize::from(before[1] == after[1]);
        let crossed = usize::from(before[0] == after[1]) + usize::from(before[1] == after[0]);
        crossed > straight
    }
}

/// Appends a block to a stretch that ends in a jump to it or in a decided branch.
fn extend(
    stretch: &mut Stretch,
    target: Block,
    decided: Option<bool>,
    unrelated: Unrelated,
) -> Result<(), Unrelated> {
    if stretch.len() >= STRETCH {
        return Err(unrelated);
    }
    let last = stretch.len() - 1;
    stretch[last].decided = decided;
    stretch.push(Segment {
        block: target,
        entered_from: Some(stretch[last].block),
        decided: None,
    });
    Ok(())
}

/// Edges between the same two nodes from the same blocks are merged; their condition makes no
/// difference.
fn without_repetition(edges: SmallVec<[Edge; 2]>) -> SmallVec<[Edge; 2]> {
    let mut result: SmallVec<[Edge; 2]> = SmallVec::new();
    for edge in edges {
        match result.iter_mut().find(|known| known.target == edge.target) {
            Some(known) => known.sense = None,
            None => result.push(edge),
        }
    }
    result
}
