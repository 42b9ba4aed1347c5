//! The dominator tree, by the semidominator algorithm in the form called SemiNCA (Georgiadis, "Linear-Time
//! Algorithms for Dominators and Related Problems", 2005), which is nearly linear on any graph.
//!
//! Blocks that the entry does not reach are in no tree; like LLVM's tree, they are dominated by
//! everything.

use super::predecessors::Predecessors;
use crate::entity::{Block, EntityRef, PackedOption, entity_impl};
use crate::snapshot::Snapshot;

/// A reachable block by its number in depth-first preorder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Preorder(u32);
entity_impl!(Preorder, "pre");

/// Immediate dominators and dominance tests in constant time.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    /// By block; none for the entry and for unreachable blocks.
    immediate: Vec<PackedOption<Block>>,
    /// By block: first and last number of its subtree in a walk of the tree; (0, 0) if unreachable.
    interval: Vec<(u32, u32)>,
    /// Where the children of each block begin in `children`; one more for the end.
    first_child: Vec<u32>,
    children: Vec<Block>,
    work: Work,
}

/// Arrays that only the computation needs, kept to be used again.
#[derive(Clone, Debug, Default)]
struct Work {
    number: Vec<PackedOption<Preorder>>,
    block: Vec<Block>,
    parent: Vec<Preorder>,
    semi: Vec<Preorder>,
    label: Vec<Preorder>,
    ancestor: Vec<Preorder>,
    dominator: Vec<Preorder>,
    stack: Vec<(Block, u32)>,
    path: Vec<Preorder>,
}

impl Dominators {
    /// The dominator tree of `snapshot`.
    pub fn new(snapshot: &Snapshot<'_>, predecessors: &Predecessors) -> Self {
        let mut dominators = Self::default();
        dominators.compute(snapshot, predecessors);
        dominators
    }

    /// Computes the tree of `snapshot`, keeping the memory of an earlier one.
    pub fn compute(&mut self, snapshot: &Snapshot<'_>, predecessors: &Predecessors) {
        self.compute_ancestors(snapshot, predecessors);
        self.list_children();
    }

    /// Computes all but the children of blocks; [`list_children`](Self::list_children) may follow.
    pub(super) fn compute_ancestors(&mut self, snapshot: &Snapshot<'_>, predecessors: &Predecessors) {
        let blocks = snapshot.block_count();
        self.immediate.clear();
        self.immediate.resize(blocks, PackedOption::default());
        self.interval.clear();
        self.interval.resize(blocks, (0, 0));
        if blocks == 0 {
            return;
        }
        self.work.number_blocks(snapshot);
        self.work.find_dominators(predecessors);
        for index in 1..self.work.block.len() {
            let dominator = self.work.block[self.work.dominator[index].index()];
            self.immediate[self.work.block[index].index()] = dominator.into();
        }
        self.number_tree();
    }

    /// Lists the children of each block.
    pub(super) fn list_children(&mut self) {
        let blocks = self.immediate.len();
        self.first_child.clear();
        self.first_child.resize(blocks + 2, 0);
        // Counts are kept two places up, so that filling a list moves its begin into place.
        for parent in self.immediate.iter().filter_map(|parent| parent.expand()) {
            self.first_child[parent.index() + 2] += 1;
        }
        for block in 2..self.first_child.len() {
            self.first_child[block] += self.first_child[block - 1];
        }
        self.children.clear();
        self.children.resize(blocks, Block::new(0));
        for (index, parent) in self.immediate.iter().enumerate() {
            if let Some(parent) = parent.expand() {
                let next = &mut self.first_child[parent.index() + 1];
                self.children[*next as usize] = Block::new(index);
                *next += 1;
            }
        }
    }

    /// The blocks that a block dominates immediately.
    pub fn children(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.children[self.first_child[index] as usize..self.first_child[index + 1] as usize]
    }

    /// Can the entry reach the block?
    pub fn is_reachable(&self, block: Block) -> bool {
        self.interval[block.index()].0 != 0
    }

    /// The immediate dominator; none for the entry and for unreachable blocks.
    pub fn immediate(&self, block: Block) -> Option<Block> {
        self.immediate[block.index()].expand()
    }

    /// Does the entry reach all blocks?
    pub fn reaches_all(&self) -> bool {
        self.work.block.len() == self.immediate.len()
    }

    /// Number of a block in a walk of the tree in which blocks come before those that they dominate;
    /// zero if it is unreachable.
    pub fn preorder(&self, block: Block) -> u32 {
        self.interval[block.index()].0
    }

    /// Is every path from the entry to `inner` a path through `outer`? Blocks dominate themselves.
    pub fn dominates(&self, outer: Block, inner: Block) -> bool {
        let (first, last) = self.interval[outer.index()];
        let (inner, _) = self.interval[inner.index()];
        inner == 0 || (first != 0 && first <= inner && inner <= last)
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let work = &self.work;
        self.immediate.capacity() * size_of::<PackedOption<Block>>()
            + self.interval.capacity() * size_of::<(u32, u32)>()
            + (self.first_child.capacity()
                + self.children.capacity()
                + work.number.capacity()
                + work.block.capacity()
                + work.parent.capacity()
                + work.semi.capacity()
                + work.label.capacity()
                + work.ancestor.capacity()
                + work.dominator.capacity())
                * size_of::<u32>()
    }

    /// Numbers the tree so that a subtree is an interval. In the preorder of the depth-first walk
    /// dominators come before what they dominate, so sizes and places need no second walk.
    fn number_tree(&mut self) {
        let Work {
            block,
            dominator,
            semi,
            ..
        } = &mut self.work;
        let count = block.len();
        // Subtree sizes, then the next free number in each subtree, in an array that is free now.
        let sizes = semi;
        sizes.fill(Preorder(1));
        for index in (1..count).rev() {
            let size = sizes[index].0;
            sizes[dominator[index].index()].0 += size;
        }
        self.interval[block[0].index()] = (1, count as u32);
        sizes[0] = Preorder(2);
        for index in 1..count {
            let size = sizes[index].0;
            let first = sizes[dominator[index].index()].0;
            sizes[dominator[index].index()].0 += size;
            self.interval[block[index].index()] = (first, first + size - 1);
            sizes[index] = Preorder(first + 1);
        }
    }
}

impl Work {
    /// Numbers the reachable blocks in depth-first preorder and records the tree's parents.
    fn number_blocks(&mut self, snapshot: &Snapshot<'_>) {
        self.number.clear();
        self.number
            .resize(snapshot.block_count(), PackedOption::default());
        self.block.clear();
        self.parent.clear();
        self.stack.clear();
        self.visit(Block::new(0), Preorder(0));
        while let Some((block, next)) = self.stack.last_mut() {
            let block = *block;
            let Some(edge) = snapshot.edges(block).get(*next as usize) else {
                self.stack.pop();
                continue;
            };
            *next += 1;
            let successor = Block::new(edge.block as usize);
            if self.number[successor.index()].is_none() {
                let parent = self.number[block.index()].expect("blocks on the stack are numbered");
                self.visit(successor, parent);
            }
        }
    }

    fn visit(&mut self, block: Block, parent: Preorder) {
        self.number[block.index()] = Preorder::new(self.block.len()).into();
        self.block.push(block);
        self.parent.push(parent);
        self.stack.push((block, 0));
    }

    fn find_dominators(&mut self, predecessors: &Predecessors) {
        let count = self.block.len();
        for table in [
            &mut self.semi,
            &mut self.label,
            &mut self.ancestor,
            &mut self.dominator,
        ] {
            table.clear();
        }
        self.semi.extend((0..count).map(Preorder::new));
        self.label.extend((0..count).map(Preorder::new));
        self.ancestor.extend_from_slice(&self.parent);
        self.dominator.extend_from_slice(&self.parent);

        for index in (1..count).rev() {
            let current = Preorder::new(index);
            let mut semi = self.parent[index];
            for &predecessor in predecessors.of(self.block[index]) {
                let Some(number) = self.number[predecessor.index()].expand() else {
                    continue;
                };
                let best = self.evaluate(number, current);
                semi = semi.min(self.semi[best.index()]);
            }
            self.semi[index] = semi;
        }
        for index in 1..count {
            let mut candidate = self.dominator[index];
            while candidate > self.semi[index] {
                candidate = self.dominator[candidate.index()];
            }
            self.dominator[index] = candidate;
        }
    }

    /// The vertex of least semidominator on the path from `vertex` up to the root of its tree in the
    /// forest of vertices above `current`, compressing the path.
    fn evaluate(&mut self, vertex: Preorder, current: Preorder) -> Preorder {
        if vertex <= current {
            return vertex;
        }
        self.path.clear();
        let mut top = vertex;
        while self.ancestor[top.index()] > current {
            self.path.push(top);
            top = self.ancestor[top.index()];
        }
        while let Some(below) = self.path.pop() {
            let above = self.ancestor[below.index()];
            let (best_above, best_below) = (self.label[above.index()], self.label[below.index()]);
            if self.semi[best_above.index()] < self.semi[best_below.index()] {
                self.label[below.index()] = best_above;
            }
            self.ancestor[below.index()] = self.ancestor[above.index()];
        }
        self.label[vertex.index()]
    }
}
