//! Blocks and their instructions.

use super::{Function, Instruction};
use crate::operand::Operand;
use oriel_engine::entity::Block;

/// Blocks and their instructions.
impl Function {
    /// Returns the blocks in layout order; the first is the entry.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.layout
    }

    /// Returns the entry block.
    ///
    /// # Panics
    /// The function has no blocks.
    #[inline]
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// True if the block is in the layout.
    #[inline]
    pub fn is_placed(&self, block: Block) -> bool {
        self.blocks[block].is_placed
    }

    /// Returns LLVM's number of a block; for a new block, that of the block that it came from.
    #[inline]
    pub fn label(&self, block: Block) -> u32 {
        self.blocks[block].label
    }

    /// Returns LLVM's frequency of a block; zero if unknown.
    #[inline]
    pub fn frequency(&self, block: Block) -> u64 {
        self.blocks[block].frequency
    }

    /// True if something besides the function's branches refers to the block.
    #[inline]
    pub fn is_address_taken(&self, block: Block) -> bool {
        self.blocks[block].is_address_taken
    }

    /// Returns the instructions of a block, in order. An instruction may be edited once the
    /// iterator has moved past it.
    pub fn instructions(&self, block: Block) -> Instructions<'_> {
        let data = &self.blocks[block];
        Instructions {
            function: self,
            next: data.first.expand(),
            next_back: data.last.expand(),
        }
    }

    /// Returns the instructions of all blocks, in layout order.
    pub fn all_instructions(&self) -> impl Iterator<Item = Instruction> + Clone + '_ {
        let blocks = self.layout.iter();
        blocks.flat_map(|&block| self.instructions(block))
    }

    /// Returns the first instruction of a block.
    #[inline]
    pub fn first(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].first.expand()
    }

    /// Returns the last instruction of a block.
    #[inline]
    pub fn last(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].last.expand()
    }

    /// Returns the previous instruction in its block.
    #[inline]
    pub fn previous(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].previous.expand()
    }

    /// Returns the next instruction in its block.
    #[inline]
    pub fn next(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].next.expand()
    }

    /// Returns the block that contains the instruction, or none once it was removed.
    #[inline]
    pub fn block_of(&self, instruction: Instruction) -> Option<Block> {
        self.instructions[instruction].block.expand()
    }

    /// Returns the instruction that ends a block: the last one except debug instructions.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Instruction> {
        self.instructions(block)
            .rev()
            .find(|&instruction| !self.operation(instruction).is_debug())
            .filter(|&instruction| self.operation(instruction).is_terminator())
    }

    /// Returns the successors of a block, in the order of its terminator and with repetitions.
    #[inline]
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.terminator(block)
            .into_iter()
            .flat_map(|terminator| self.sources(terminator).iter())
            .filter_map(Operand::as_block)
    }
}

/// The instructions of a block.
#[derive(Clone)]
pub struct Instructions<'a> {
    function: &'a Function,
    next: Option<Instruction>,
    next_back: Option<Instruction>,
}

impl Instructions<'_> {
    fn finish_at(&mut self, met: bool) {
        if met {
            (self.next, self.next_back) = (None, None);
        }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let current = self.next?;
        self.next = self.function.next(current);
        self.finish_at(self.next_back == Some(current));
        Some(current)
    }
}

impl DoubleEndedIterator for Instructions<'_> {
    fn next_back(&mut self) -> Option<Instruction> {
        let current = self.next_back?;
        self.next_back = self.function.previous(current);
        self.finish_at(self.next == Some(current));
        Some(current)
    }
}
