//! Control flow graphs: terminators, edges, order and dominators.

use super::index::{Block, Entity, Span, Table};

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Terminator {
    Return,
    /// To the next block in layout order, without an instruction.
    FallThrough,
    Jump(Block),
    /// Two targets, which may be the same block.
    Branch { target: Block, otherwise: Otherwise },
    /// A table of targets in which blocks may repeat; never empty.
    Switch(Vec<Block>),
}

/// Where a branch goes that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    FallThrough,
    Jump(Block),
}

/// A loop that runs a bounded number of times: its header is entered from `preheader` and `latch` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedLoop {
    pub(super) header: Block,
    pub(super) latch: Block,
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) terminators: Table<Block, Terminator>,
    /// Loops of structured graphs; in other graphs every edge back in the layout counts against a common bound.
    pub(super) counted: Vec<CountedLoop>,
    successors: Adjacency,
    predecessors: Adjacency,
    /// Blocks that the entry reaches, in reverse post-order.
    pub(super) order: Vec<Block>,
    reachable: Table<Block, bool>,
    dominators: Table<Block, Option<Block>>,
}

/// Neighbours of each block, each once, in one vector.
#[derive(Debug)]
struct Adjacency {
    spans: Table<Block, Span>,
    blocks: Vec<Block>,
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
        let order = reverse_post_order(&successors);
        let mut reachable = Table::filled(terminators.len(), false);
        for &block in &order {
            reachable[block] = true;
        }
        let dominators = dominators(&order, &predecessors);
        Self { terminators, counted, successors, predecessors, order, reachable, dominators }
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

    pub(super) fn is_reachable(&self, block: Block) -> bool {
        self.reachable[block]
    }

    /// The immediate dominator; none for the entry and for blocks that it does not reach.
    pub(super) fn dominator(&self, block: Block) -> Option<Block> {
        self.dominators[block]
    }

    /// The block after this one in the layout.
    pub(super) fn next(&self, block: Block) -> Option<Block> {
        let next = block.index() + 1;
        (next < self.len()).then(|| Block::new(next))
    }
}

fn successors(terminators: &Table<Block, Terminator>) -> Adjacency {
    let mut blocks = Vec::new();
    let mut spans = Table::new();
    // The last block whose successors named this one: finds repetitions without clearing a set per block.
    let mut named_by: Table<Block, Option<Block>> = Table::filled(terminators.len(), None);
    for (block, terminator) in terminators.iter() {
        let start = blocks.len();
        let mut add = |target: Block| {
            if named_by[target] != Some(block) {
                named_by[target] = Some(block);
                blocks.push(target);
            }
        };
        let next = || {
            debug_assert!(block.index() + 1 < terminators.len(), "the last block falls through");
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
    Adjacency { spans, blocks }
}

fn reversed(successors: &Adjacency) -> Adjacency {
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
    for block in successors.spans.indexes() {
        for &target in successors.of(block) {
            blocks[ends[target]] = block;
            ends[target] += 1;
        }
    }
    Adjacency { spans, blocks }
}

fn reverse_post_order(successors: &Adjacency) -> Vec<Block> {
    let mut order = Vec::new();
    let mut seen: Table<Block, bool> = Table::filled(successors.spans.len(), false);
    let entry = Block::new(0);
    seen[entry] = true;
    let mut stack = vec![(entry, 0)];
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
    order.reverse();
    order
}

/// Immediate dominators by the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
fn dominators(order: &[Block], predecessors: &Adjacency) -> Table<Block, Option<Block>> {
    let mut position: Table<Block, Option<usize>> = Table::filled(predecessors.spans.len(), None);
    for (index, &block) in order.iter().enumerate() {
        position[block] = Some(index);
    }
    // Over positions in `order`; the entry is its own dominator while this runs.
    let mut of: Vec<Option<usize>> = vec![None; order.len()];
    of[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &block) in order.iter().enumerate().skip(1) {
            let known = predecessors
                .of(block)
                .iter()
                .filter_map(|&predecessor| position[predecessor])
                .filter(|&predecessor| of[predecessor].is_some());
            let dominator = known.reduce(|left, right| intersect(&of, left, right));
            if of[index] != dominator {
                of[index] = dominator;
                changed = true;
            }
        }
    }
    let mut dominators = Table::filled(predecessors.spans.len(), None);
    for (index, &block) in order.iter().enumerate().skip(1) {
        dominators[block] = of[index].map(|dominator| order[dominator]);
    }
    dominators
}

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
        Terminator::Branch { target: block(target), otherwise: Otherwise::Jump(block(otherwise)) }
    }

    #[test]
    fn edges_to_the_same_block_count_once() {
        let graph =
            Graph::new(Table::from_items(vec![branch(1, 1), branch(0, 1), Terminator::Return]), Vec::new());
        assert_eq!(graph.successors(block(0)), [block(1)]);
        assert_eq!(graph.predecessors(block(1)), [block(0), block(1)]);
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
        assert_eq!(found, [None, Some(block(0)), Some(block(0)), Some(block(2)), Some(block(3))]);
    }
}
