//! The predecessors of every block, close together: the searches of the engine read little else of
//! the graph, and a block's record is ten times as long as its place here.
//!
//! Their order matters: where LLVM searches back from a use through few blocks, it numbers PHI
//! values in the order of its predecessor lists.

use super::function::Function;
use crate::entity::{Block, EntityRef};
use crate::graph::Graph;

/// Predecessor lists, with repetitions where a block has several edges to the same successor.
#[derive(Clone, Debug, Default)]
pub struct Predecessors {
    /// Where the list of each block begins; one more for the end.
    first: Vec<u32>,
    blocks: Vec<Block>,
}

impl Predecessors {
    /// The lists of `function`.
    pub fn new(function: &impl Function) -> Self {
        let mut predecessors = Self::default();
        predecessors.compute(function);
        predecessors
    }

    /// Takes the lists from `function`, keeping the memory of earlier ones.
    pub fn compute(&mut self, function: &impl Function) {
        self.first.clear();
        self.first.reserve(function.node_count() + 1);
        self.blocks.clear();
        for block in function.nodes() {
            self.first.push(self.blocks.len() as u32);
            self.blocks.extend(function.predecessors(block));
        }
        self.first.push(self.blocks.len() as u32);
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

/// A function's blocks and edges as a graph, with the lists of predecessors close together.
#[derive(Clone, Copy, Debug)]
pub struct FlowGraph<'a, F> {
    function: &'a F,
    predecessors: &'a Predecessors,
}

impl<'a, F: Function> FlowGraph<'a, F> {
    /// The graph of `function`, whose predecessors are given.
    pub fn new(function: &'a F, predecessors: &'a Predecessors) -> Self {
        Self {
            function,
            predecessors,
        }
    }
}

impl<F: Function> Graph for FlowGraph<'_, F> {
    type Node = Block;

    #[inline]
    fn node_count(&self) -> usize {
        self.function.node_count()
    }

    #[inline]
    fn entry(&self) -> Block {
        self.function.entry()
    }

    #[inline]
    fn successor_count(&self, block: Block) -> usize {
        self.function.successor_count(block)
    }

    #[inline]
    fn successor(&self, block: Block, index: usize) -> Block {
        self.function.successor(block, index)
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
        self.function.successors(block)
    }

    #[inline]
    fn predecessors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        self.predecessors.of(block).iter().copied()
    }
}
