//! The predecessors of every block, in compressed rows.
//!
//! Their order matters: where LLVM searches back from a use through few blocks, it numbers PHI values
//! in the order of its predecessor lists.

use crate::entity::{Block, EntityRef};
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
    pub fn of(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.blocks[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        (self.first.capacity() + self.blocks.capacity()) * size_of::<u32>()
    }
}
