//! The engine's input: the trait that a function implements.
//!
//! A [`Snapshot`] implements it, a function in Ori does, and so can any other IR. Blocks and
//! instructions are numbered from zero without gaps in layout order, and block 0 is the entry.

use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::graph::Graph;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{Access, ChainedOperandRecord, OpcodeFlags, RegisterFile, RegisterOperandRecord};
use std::ops::Range;

/// A function whose live intervals can be computed: blocks with their predecessors, and a list of
/// the accesses of each instruction to virtual registers.
pub trait Function {
    /// Returns the number of blocks.
    fn block_count(&self) -> usize;

    /// Returns the predecessors of a block, with repetitions.
    fn predecessors(&self, block: Block) -> impl Iterator<Item = Block>;

    /// Returns the number of instructions.
    fn instruction_count(&self) -> usize;

    /// Returns the instructions of a block.
    fn instruction_range(&self, block: Block) -> Range<usize>;

    /// Returns the number of virtual registers, unused ones included.
    fn register_count(&self) -> usize;

    /// True if the register is a predicate. Predicates have sets of their own.
    fn is_predicate(&self, register: Register) -> bool;

    /// Returns all accesses of instructions to registers, in the order of instructions and
    /// operands: everything that liveness depends on. A function that does not keep such a list
    /// writes it to `list`, which is empty.
    fn register_operands<'a>(
        &'a self,
        list: &'a mut Vec<RegisterOperandRecord>,
    ) -> &'a [RegisterOperandRecord];

    /// Returns the operands of all registers with several definitions, in ascending order of
    /// register. Those of a register begin with its definitions. Values are numbered in their
    /// order, and PHI values in the order in which searches from the uses find them.
    ///
    /// `operands` is the list of register operands. The default numbers values in layout order.
    fn chains<'a>(
        &'a self,
        operands: &[RegisterOperandRecord],
        list: &'a mut Vec<ChainedOperandRecord>,
    ) -> &'a [ChainedOperandRecord] {
        collect_chains(self.register_count(), operands, list);
        list
    }

    /// True if there are debug instructions, which have no position and never keep a register
    /// alive.
    fn has_debug_instructions(&self) -> bool {
        false
    }

    /// True for a debug instruction. Only called if there are any.
    fn is_debug_instruction(&self, _instruction: Instruction) -> bool {
        false
    }

    /// Returns the block's number in the order in which PHI values are created: LLVM's number,
    /// which need not follow the layout.
    fn block_number(&self, block: Block) -> u32 {
        block.as_u32()
    }
}

/// Lists the operands of registers with several definitions: definitions first, both in layout
/// order.
fn collect_chains(
    registers: usize,
    operands: &[RegisterOperandRecord],
    list: &mut Vec<ChainedOperandRecord>,
) {
    let of_register = |access| !matches!(access, Access::FromBlock | Access::Mention);
    let mut definitions = vec![0_u32; registers];
    for operand in operands.iter().filter(|operand| operand.access().is_definition()) {
        definitions[operand.index as usize] += 1;
    }
    list.clear();
    for (position, operand) in operands.iter().enumerate() {
        if of_register(operand.access()) && definitions[operand.index as usize] > 1 {
            list.push(ChainedOperandRecord {
                register: operand.index,
                register_operand: position as u32,
            });
        }
    }
    list.sort_by_key(|chained| {
        let access = operands[chained.register_operand as usize].access();
        (chained.register, !access.is_definition())
    });
}

impl Graph for Snapshot<'_> {
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
        self.edges(block).len()
    }

    #[inline]
    fn successor(&self, block: Block, index: usize) -> Block {
        Block::from_u32(self.edges(block)[index].block)
    }

    #[inline]
    fn predecessor_count(&self, block: Block) -> usize {
        Snapshot::predecessors(self, block).len()
    }

    #[inline]
    fn predecessor(&self, block: Block, index: usize) -> Block {
        let first = self.block(block).first_predecessor as usize;
        Block::from_u32(self.arrays().predecessors[first + index])
    }

    #[inline]
    fn successors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        Snapshot::successors(self, block)
    }

    #[inline]
    fn predecessors(&self, block: Block) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        Snapshot::predecessors(self, block)
    }
}

impl Function for Snapshot<'_> {
    #[inline]
    fn block_count(&self) -> usize {
        Snapshot::block_count(self)
    }

    #[inline]
    fn predecessors(&self, block: Block) -> impl Iterator<Item = Block> {
        Snapshot::predecessors(self, block)
    }

    #[inline]
    fn instruction_count(&self) -> usize {
        Snapshot::instruction_count(self)
    }

    #[inline]
    fn instruction_range(&self, block: Block) -> Range<usize> {
        Snapshot::instruction_range(self, block)
    }

    #[inline]
    fn register_count(&self) -> usize {
        Snapshot::register_count(self)
    }

    #[inline]
    fn is_predicate(&self, register: Register) -> bool {
        self.class(self.register_class(register)).file == RegisterFile::Predicate as u32
    }

    fn register_operands<'a>(
        &'a self,
        list: &'a mut Vec<RegisterOperandRecord>,
    ) -> &'a [RegisterOperandRecord] {
        match self.arrays().register_operands {
            Some(operands) => operands,
            None => {
                self.arrays().collect_register_operands(list);
                list
            }
        }
    }

    fn chains<'a>(
        &'a self,
        _operands: &[RegisterOperandRecord],
        _list: &'a mut Vec<ChainedOperandRecord>,
    ) -> &'a [ChainedOperandRecord] {
        self.arrays().chained_operands
    }

    fn has_debug_instructions(&self) -> bool {
        let debug = OpcodeFlags::DEBUG.bits();
        let mut opcodes = self.arrays().opcodes.iter();
        opcodes.any(|opcode| opcode.flags & debug != 0)
    }

    #[inline]
    fn is_debug_instruction(&self, instruction: Instruction) -> bool {
        self.instruction(instruction).is_debug()
    }

    #[inline]
    fn block_number(&self, block: Block) -> u32 {
        self.block(block).number
    }
}
