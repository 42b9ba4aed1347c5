//! The predecessors of every block, close together: the searches of the engine read little else of
//! the graph, and a block's record is ten times as long as its place here.
//!
//! Their order matters: where LLVM searches back from a use through few blocks, it numbers PHI
//! values in the order of its predecessor lists.

use crate::entity::{Block, EntityRef};
use crate::graph::Graph;
use crate::snapshot::Snapshot;

/// Predecessor lists, with repetitions where a block has several edges to the same successor.
#[derive(Clone, Debug, Default)]
pub struct Predecessors {
    /// Where the list of each block begins; one more for the end.
    first: Vec<u32>,
    blocks: Vec<Block>,
}

impl Predecessors {
    /// The lists of `snapshot`.
    pub fn new(snapshot: &Snapshot<'_>) -> Self {
        let mut predecessors = Self::default();
        predecessors.compute(snapshot);
        predecessors
    }

    /// Takes the lists from `snapshot`, keeping the memory of earlier ones.
    pub fn compute(&mut self, snapshot: &Snapshot<'_>) {
        let arrays = snapshot.arrays();
        self.first.clear();
        self.first
            .extend(arrays.blocks.iter().map(|block| block.first_predecessor));
        self.blocks.clear();
        self.blocks
            .extend(arrays.predecessors.iter().map(|&block| Block::from_u32(block)));
    }

    /// The predecessors of a block.
    #[inline]
    pub fn of(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.blocks[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        (self.first.capacity() + self.blocks.capacity()) * size_of::<u32>()
    }
}

/// A snapshot's blocks and edges as a graph.
#[derive(Clone, Copy, Debug)]
pub struct FlowGraph<'a> {
    snapshot: Snapshot<'a>,
    predecessors: &'a Predecessors,
}

impl<'a> FlowGraph<'a> {
    /// The graph of `snapshot`, whose predecessors are given.
    pub fn new(snapshot: Snapshot<'a>, predecessors: &'a Predecessors) -> Self {
        Self {
            snapshot,
            predecessors,
        }
    }
}

impl Graph for FlowGraph<'_> {
    type Node = Block;

    #[inline]
    fn node_count(&self) -> usize {
        self.snapshot.block_count()
    }

    #[inline]
    fn entry(&self) -> Block {
        Block::new(0)
    }

    #[inline]
    fn successor_count(&self, block: Block) -> usize {
        self.snapshot.edges(block).len()
    }

    #[inline]
    fn successor(&self, block: Block, index: usize) -> Block {
        Block::from_u32(self.snapshot.edges(block)[index].block)
    }

    #[inline]
    fn predecessor_count(&self, block: Block) -> usize {
        self.predecessors.of(block).len()
    }

    #[inline]
    fn predecessor(&self, block: Block, index: usize) -> Block {
        self.predecessors.of(block)[index]
    }

    #[inline]
    fn successors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        let edges = self.snapshot.edges(block).iter();
        edges.map(|edge| Block::from_u32(edge.block))
    }

    #[inline]
    fn predecessors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        self.predecessors.of(block).iter().copied()
    }
}
