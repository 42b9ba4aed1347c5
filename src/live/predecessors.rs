//! The predecessors of every block, in compressed rows, and the graph that they make with the snapshot's edges.
//!
//! Their order matters: where LLVM searches back from a use through few blocks, it numbers PHI values
//! in the order of its predecessor lists.

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

    /// Computes the lists of `snapshot`, keeping the memory of earlier ones.
    pub fn compute(&mut self, snapshot: &Snapshot<'_>) {
        let arrays = snapshot.arrays();
        let blocks = snapshot.block_count();
        self.first.clear();
        self.first.resize(blocks + 2, 0);
        // Counts are kept two places up, so that filling a list moves its begin into place.
        for edge in arrays.edges {
            self.first[edge.block as usize + 2] += 1;
        }
        for block in 2..self.first.len() {
            self.first[block] += self.first[block - 1];
        }
        self.blocks.clear();
        self.blocks.resize(arrays.edges.len(), Block::new(0));
        for block in snapshot.blocks() {
            for edge in snapshot.edges(block) {
                let next = &mut self.first[edge.block as usize + 1];
                self.blocks[*next as usize] = block;
                *next += 1;
            }
        }
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
