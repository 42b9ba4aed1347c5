//! Control flow graphs: terminators, edges, reverse post-order and dominators.

use super::index::{Block, Entity, Span, Table};

/// The terminator of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Terminator {
    Return,
    /// Falls through to the next block in layout order, without an instruction.
    FallThrough,
    Jump(Block),
    /// Two targets, which may be the same block.
    Branch {
        target: Block,
        otherwise: Otherwise,
    },
    /// A table of targets in which blocks may repeat; never empty.
    Switch(Vec<Block>),
}

/// The continuation of a branch that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    FallThrough,
    Jump(Block),
}

/// A loop with a bounded trip count. Besides edges from outside, only `latch` leads to its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedLoop {
    pub(super) header: Block,
    pub(super) latch: Block,
}

/// A control flow graph. Blocks are numbered in layout order, from the entry.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) terminators: Table<Block, Terminator>,
    /// The loops of structured graphs. In other graphs a common bound limits how often control goes
    /// back in the layout.
    pub(super) counted: Vec<CountedLoop>,
    successors: Adjacency,
    predecessors: Adjacency,
    /// All blocks in reverse post-order from the roots: the entry, and blocks from which the search
    /// goes on in parts that the entry does not reach.
    pub(super) order: Vec<Block>,
    reachable: Table<Block, bool>,
    dominators: Table<Block, Option<Block>>,
}

/// The successors or predecessors of each block, without repetition, in one vector.
#[derive(Debug)]
struct Adjacency {
    spans: Table<Block, Span>,
    blocks: Vec<Block>,
    /// The number of edges to or from each of `blocks`.
    edges: Vec<usize>,
}

impl Adjacency {
    fn of(&self, block: Block) -> &[Block] {
        &self.blocks[self.spans[block].range()]
    }
}

impl Graph {
    pub(super) fn new(terminators: Table<Block, Terminator>, counted: Vec<CountedLoop>) -> Self {
        let successors = successors(&terminators);
        let predecessors = reversed(&successors);
        let DepthFirstSearch {
            order,
            roots,
            reachable,
        } = depth_first_search(&successors, &predecessors);
        let dominators = dominators(&order, &roots, &predecessors);
        Self {
            terminators,
            counted,
            successors,
            predecessors,
            order,
            reachable,
            dominators,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.terminators.len()
    }

    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + use<> {
        self.terminators.indexes()
    }

    pub(super) fn entry(&self) -> Block {
        Block::new(0)
    }

    pub(super) fn successors(&self, block: Block) -> &[Block] {
        self.successors.of(block)
    }

    pub(super) fn predecessors(&self, block: Block) -> &[Block] {
        self.predecessors.of(block)
    }

    /// Returns the number of edges from each predecessor.
    pub(super) fn edges_from_predecessors(&self, block: Block) -> &[usize] {
        &self.predecessors.edges[self.predecessors.spans[block].range()]
    }

    pub(super) fn is_reachable(&self, block: Block) -> bool {
        self.reachable[block]
    }

    /// Returns the immediate dominator, with every root as an entry; none for roots and for blocks
    /// that several roots reach.
    ///
    /// LLVM's live intervals need this kind of dominance: they also follow edges from unreachable
    /// blocks, so every backward path from a use must come to a definition.
    pub(super) fn dominator(&self, block: Block) -> Option<Block> {
        self.dominators[block]
    }

    /// True if every path from a root to `below` passes through `above`.
    pub(super) fn dominates(&self, above: Block, below: Block) -> bool {
        std::iter::successors(Some(below), |&at| self.dominator(at)).any(|at| at == above)
    }

    /// Returns the next block in the layout.
    pub(super) fn next(&self, block: Block) -> Option<Block> {
        let next = block.index() + 1;
        (next < self.len()).then(|| Block::new(next))
    }
}

/// Returns the successors of all blocks.
fn successors(terminators: &Table<Block, Terminator>) -> Adjacency {
    let mut blocks = Vec::new();
    let mut edges: Vec<usize> = Vec::new();
    let mut spans = Table::new();
    // By target: the last block that leads to it, and the target's position in `blocks`. Detects
    // repetitions without clearing a set for each block.
    let mut named: Table<Block, Option<(Block, usize)>> = Table::filled(terminators.len(), None);
    for (block, terminator) in terminators.iter() {
        let start = blocks.len();
        let mut add = |target: Block| match named[target] {
            Some((by, position)) if by == block => edges[position] += 1,
            Some(_) | None => {
                named[target] = Some((block, blocks.len()));
                blocks.push(target);
                edges.push(1);
            }
        };
        let next = || {
            debug_assert!(
                block.index() + 1 < terminators.len(),
                "the last block falls through"
            );
            Block::new(block.index() + 1)
        };
        match terminator {
            Terminator::Return => {}
            Terminator::FallThrough => add(next()),
            Terminator::Jump(target) => add(*target),
            Terminator::Branch { target, otherwise } => {
                add(*target);
                match otherwise {
                    Otherwise::FallThrough => add(next()),
                    Otherwise::Jump(other) => add(*other),
                }
            }
            Terminator::Switch(targets) => targets.iter().copied().for_each(add),
        }
        spans.push(Span::new(start..blocks.len()));
    }
    Adjacency { spans, blocks, edges }
}

/// Returns the predecessors of all blocks.
fn reversed(successors: &Adjacency) -> Adjacency {
    // The number of predecessors first, then the position for the next one.
    let mut ends: Table<Block, usize> = Table::filled(successors.spans.len(), 0);
    for &target in &successors.blocks {
        ends[target] += 1;
    }
    let mut spans = Table::new();
    let mut total = 0;
    for block in successors.spans.indexes() {
        let start = total;
        total += ends[block];
        ends[block] = start;
        spans.push(Span::new(start..total));
    }
    let mut blocks = vec![Block::new(0); total];
    let mut edges = vec![0; total];
    for block in successors.spans.indexes() {
        for position in successors.spans[block].range() {
            let target = successors.blocks[position];
            blocks[ends[target]] = block;
            edges[ends[target]] = successors.edges[position];
            ends[target] += 1;
        }
    }
    Adjacency { spans, blocks, edges }
}

struct DepthFirstSearch {
    order: Vec<Block>,
    roots: Table<Block, bool>,
    reachable: Table<Block, bool>,
}

/// Visits all blocks from the roots, the entry first.
fn depth_first_search(successors: &Adjacency, predecessors: &Adjacency) -> DepthFirstSearch {
    let blocks = successors.spans.len();
    let mut order = Vec::with_capacity(blocks);
    let mut seen: Table<Block, bool> = Table::filled(blocks, false);
    let mut roots = Table::filled(blocks, false);
    let mut reachable = Table::filled(blocks, false);
    let entry = Block::new(0);
    // Blocks without predecessors come before blocks of cycles, so that the root of a cycle with an
    // entry edge is outside it.
    let starts = successors
        .spans
        .indexes()
        .filter(|&block| predecessors.of(block).is_empty());
    for root in std::iter::once(entry)
        .chain(starts)
        .chain(successors.spans.indexes())
    {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        roots[root] = true;
        let mut stack = vec![(root, 0)];
        while let Some((block, position)) = stack.last_mut() {
            match successors.of(*block).get(*position) {
                Some(&target) => {
                    *position += 1;
                    if !seen[target] {
                        seen[target] = true;
                        stack.push((target, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        if root == entry {
            for &block in &order {
                reachable[block] = true;
            }
        }
    }
    order.reverse();
    DepthFirstSearch {
        order,
        roots,
        reachable,
    }
}

/// Computes immediate dominators by the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast
/// Dominance Algorithm".
fn dominators(
    order: &[Block],
    roots: &Table<Block, bool>,
    predecessors: &Adjacency,
) -> Table<Block, Option<Block>> {
    // Position 0 is a common entry before all roots; block `order[k]` has position `k + 1`.
    const COMMON_ENTRY: usize = 0;
    let mut position: Table<Block, usize> = Table::filled(order.len(), COMMON_ENTRY);
    for (index, &block) in order.iter().enumerate() {
        position[block] = index + 1;
    }
    let mut of: Vec<Option<usize>> = vec![None; order.len() + 1];
    of[COMMON_ENTRY] = Some(COMMON_ENTRY);
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &block) in order.iter().enumerate() {
            let dominator = if roots[block] {
                Some(COMMON_ENTRY)
            } else {
                let known = predecessors
                    .of(block)
                    .iter()
                    .map(|&predecessor| position[predecessor]);
                known
                    .filter(|&known| of[known].is_some())
                    .reduce(|left, right| intersect(&of, left, right))
            };
            if of[index + 1] != dominator {
                of[index + 1] = dominator;
                changed = true;
            }
        }
    }
    let mut dominators = Table::filled(order.len(), None);
    for (index, &block) in order.iter().enumerate() {
        dominators[block] = of[index + 1]
            .filter(|&at| at != COMMON_ENTRY)
            .map(|at| order[at - 1]);
    }
    dominators
}

/// Returns the nearest common dominator of two blocks; all blocks are given by position.
fn intersect(of: &[Option<usize>], mut left: usize, mut right: usize) -> usize {
    let above = |index: usize| of[index].expect("a block's dominator is known before the block is compared");
    while left != right {
        if left > right {
            left = above(left);
        } else {
            right = above(right);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(index: usize) -> Block {
        Block::new(index)
    }

    fn branch(target: usize, otherwise: usize) -> Terminator {
        Terminator::Branch {
            target: block(target),
            otherwise: Otherwise::Jump(block(otherwise)),
        }
    }

    #[test]
    fn edges_to_the_same_block_count_once() {
        let graph = Graph::new(
            Table::from_items(vec![branch(1, 1), branch(0, 1), Terminator::Return]),
            Vec::new(),
        );
        assert_eq!(graph.successors(block(0)), [block(1)]);
        assert_eq!(graph.predecessors(block(1)), [block(0), block(1)]);
        assert_eq!(graph.edges_from_predecessors(block(1)), [2, 1]);
        assert!(!graph.is_reachable(block(2)));
    }

    #[test]
    fn entries_of_an_irreducible_loop_are_dominated_from_outside() {
        let graph = Graph::new(
            Table::from_items(vec![
                branch(1, 2),
                Terminator::FallThrough,
                branch(1, 3),
                Terminator::Switch(vec![block(4), block(4), block(2)]),
                Terminator::Return,
            ]),
            Vec::new(),
        );
        let found: Vec<_> = graph.blocks().map(|block| graph.dominator(block)).collect();
        assert_eq!(
            found,
            [
                None,
                Some(block(0)),
                Some(block(0)),
                Some(block(2)),
                Some(block(3))
            ]
        );
    }

    #[test]
    fn a_block_that_an_unreachable_block_leads_to_has_no_dominator() {
        let graph = Graph::new(
            Table::from_items(vec![
                Terminator::FallThrough,
                Terminator::FallThrough,
                Terminator::Return,
                branch(3, 1),
            ]),
            Vec::new(),
        );
        let found: Vec<_> = graph.blocks().map(|block| graph.dominator(block)).collect();
        assert_eq!(found, [None, None, Some(block(1)), None]);
        assert!(graph.is_reachable(block(1)) && !graph.is_reachable(block(3)));
    }
}
