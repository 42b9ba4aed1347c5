//! A function built block by block: an input for clients that walk their own IR once.

use super::function::Function;
use crate::bitvector::BitVector;
use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::graph::rows::Rows;
use crate::snapshot::abi::{Access, RegisterOperandRecord};
use std::cell::OnceCell;
use std::ops::Range;

/// The lists that the engine reads. Blocks and instructions are numbered in the order in which they
/// are added; the first block is the entry.
///
/// ```
/// use oriel_engine::entity::{Block, EntityRef, Register};
/// use oriel_engine::live::{ListedFunction, LiveRangeCalc};
/// use oriel_engine::snapshot::abi::Access;
///
/// // r0 = …; loop { r1 = … r0 }
/// let [r0, r1] = [0, 1].map(Register::new);
/// let mut function = ListedFunction::new(2);
/// function.begin_block([Block::new(1)]);
/// function.begin_instruction();
/// function.operand(r0, Access::Define);
/// function.begin_block([Block::new(1)]);
/// function.begin_instruction();
/// function.operand(r1, Access::Define);
/// function.operand(r0, Access::Read);
/// let intervals = LiveRangeCalc::new().analyze(&function);
/// assert_eq!(intervals.interval(r0).to_string(), "[16r,64B:0) 0@16r");
/// assert_eq!(intervals.interval(r1).to_string(), "[48r,48d:0) 0@48r");
/// ```
#[derive(Clone, Debug)]
pub struct ListedFunction {
    /// Each edge as a pair of target and source.
    edges: Vec<(Block, Block)>,
    predecessors: OnceCell<Rows<Block, Block>>,
    /// Start of each block's instructions, and their number.
    first_instructions: Vec<u32>,
    operands: Vec<RegisterOperandRecord>,
    registers: usize,
    predicates: BitVector,
}

impl ListedFunction {
    /// Creates a function with `registers` registers and no blocks.
    pub fn new(registers: usize) -> Self {
        Self {
            edges: Vec::new(),
            predecessors: OnceCell::new(),
            first_instructions: vec![0],
            operands: Vec::new(),
            registers,
            predicates: BitVector::new(),
        }
    }

    /// Makes room for `operands` accesses to registers.
    pub fn reserve(&mut self, operands: usize) {
        self.operands.reserve(operands);
    }

    /// Declares a register a predicate.
    pub fn set_predicate(&mut self, register: Register) {
        self.predicates.insert(register.index());
    }

    /// Adds a block with its successors.
    pub fn begin_block(&mut self, successors: impl IntoIterator<Item = Block>) -> Block {
        let block = Block::new(self.first_instructions.len() - 1);
        let count = self.first_instructions[block.index()];
        self.first_instructions.push(count);
        self.edges
            .extend(successors.into_iter().map(|successor| (successor, block)));
        self.predecessors.take();
        block
    }

    /// Adds an instruction to the last block.
    ///
    /// # Panics
    /// There is no block.
    pub fn begin_instruction(&mut self) -> Instruction {
        assert!(self.first_instructions.len() > 1, "an instruction is in a block");
        let count = self.first_instructions.last_mut().expect("it is never empty");
        *count += 1;
        Instruction::new(*count as usize - 1)
    }

    /// Adds an access of the last instruction to a register.
    pub fn operand(&mut self, register: Register, access: Access) {
        debug_assert!(!matches!(access, Access::ReadByPhi | Access::FromBlock));
        self.push(register.as_u32(), access);
    }

    /// Adds an operand to the last instruction, a PHI: it reads a register on the edge from a
    /// block.
    pub fn phi_operand(&mut self, register: Register, from: Block) {
        self.push(register.as_u32(), Access::ReadByPhi);
        self.push(from.as_u32(), Access::FromBlock);
    }

    fn push(&mut self, index: u32, access: Access) {
        let count = self.first_instructions.last().copied().unwrap_or(0) as usize;
        let instruction = Instruction::new(count.checked_sub(1).expect("an operand has an instruction"));
        self.operands
            .push(RegisterOperandRecord::new(index, instruction, access));
    }
}

impl Function for ListedFunction {
    #[inline]
    fn block_count(&self) -> usize {
        self.first_instructions.len() - 1
    }

    /// # Panics
    /// An edge leads to a block that was not added.
    #[inline]
    fn predecessors(&self, block: Block) -> impl Iterator<Item = Block> {
        let predecessors = self.predecessors.get_or_init(|| {
            let mut rows = Rows::default();
            rows.fill(self.block_count(), self.edges.iter().copied());
            rows
        });
        predecessors.of(block).iter().copied()
    }

    #[inline]
    fn instruction_count(&self) -> usize {
        self.first_instructions[self.block_count()] as usize
    }

    #[inline]
    fn instruction_range(&self, block: Block) -> Range<usize> {
        let index = block.index();
        self.first_instructions[index] as usize..self.first_instructions[index + 1] as usize
    }

    #[inline]
    fn register_count(&self) -> usize {
        self.registers
    }

    #[inline]
    fn is_predicate(&self, register: Register) -> bool {
        self.predicates.contains(register.index())
    }

    fn register_operands<'a>(
        &'a self,
        _list: &'a mut Vec<RegisterOperandRecord>,
    ) -> &'a [RegisterOperandRecord] {
        &self.operands
    }
}
