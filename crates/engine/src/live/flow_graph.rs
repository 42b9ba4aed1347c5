//! Control flow as the engine's searches read it: compact lists of predecessors.
//!
//! The order of predecessors matters: where LLVM searches back from a use through few blocks, it
//! numbers PHI values in the order of its predecessor lists.

use super::function::Function;
use super::number_order::NumberOrder;
use crate::entity::{Block, EntityRef};
use crate::graph::Graph;
use crate::graph::rows::Rows;
use std::cell::OnceCell;

/// The blocks and edges of a function, valid while they do not change.
#[derive(Clone, Debug, Default)]
pub struct FlowGraph {
    /// Start of each block's list, and the end of the last.
    first: Vec<u32>,
    /// Predecessors, with repetitions where a block has several edges to the same successor.
    predecessors: Vec<Block>,
    /// Derived from the predecessors, in ascending order, on first use.
    successors: OnceCell<Rows<Block, Block>>,
    pub(super) order: NumberOrder,
}

impl FlowGraph {
    /// Creates the graph of `function`.
    pub fn new(function: &impl Function) -> Self {
        let mut graph = Self::default();
        graph.compute(function);
        graph
    }

    /// Copies the lists of predecessors from `function`, reusing memory.
    pub(super) fn compute(&mut self, function: &impl Function) {
        let blocks = function.block_count();
        self.first.clear();
        self.first.reserve(blocks + 1);
        self.predecessors.clear();
        for block in (0..blocks).map(Block::new) {
            self.first.push(self.predecessors.len() as u32);
            self.predecessors.extend(function.predecessors(block));
        }
        self.first.push(self.predecessors.len() as u32);
        self.successors.take();
        self.order.compute(blocks, |block| function.block_number(block));
    }

    /// Returns the number of blocks.
    pub fn block_count(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Returns the predecessors of a block.
    #[inline]
    pub fn predecessors_of(&self, block: Block) -> &[Block] {
        let index = block.index();
        &self.predecessors[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// Returns the successors of a block, ascending.
    #[inline]
    pub fn successors_of(&self, block: Block) -> &[Block] {
        self.successors.get_or_init(|| self.derive_successors()).of(block)
    }

    fn derive_successors(&self) -> Rows<Block, Block> {
        let blocks = self.block_count();
        let edges = (0..blocks).map(Block::new).flat_map(|block| {
            let sources = self.predecessors_of(block).iter();
            sources.map(move |&source| (source, block))
        });
        let mut successors = Rows::default();
        successors.fill(blocks, edges);
        successors
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.first.capacity() + 2 * self.predecessors.capacity()) * size_of::<u32>()
            + self.order.memory_bytes()
    }
}

impl Graph for FlowGraph {
    type Node = Block;

    #[inline]
    fn node_count(&self) -> usize {
        self.block_count()
    }

    #[inline]
    fn entry(&self) -> Block {
        Block::new(0)
    }

    #[inline]
    fn successor_count(&self, block: Block) -> usize {
        self.successors_of(block).len()
    }

    #[inline]
    fn successor(&self, block: Block, index: usize) -> Block {
        self.successors_of(block)[index]
    }

    #[inline]
    fn predecessor_count(&self, block: Block) -> usize {
        self.predecessors_of(block).len()
    }

    #[inline]
    fn predecessor(&self, block: Block, index: usize) -> Block {
        self.predecessors_of(block)[index]
    }

    #[inline]
    fn successors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        self.successors_of(block).iter().copied()
    }

    #[inline]
    fn predecessors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        self.predecessors_of(block).iter().copied()
    }
}
