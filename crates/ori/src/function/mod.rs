//! The representation of a function: blocks, instructions, operands and registers.
//!
//! The instructions of a block are a doubly linked list, so that phases insert and remove in
//! constant time during a walk. Operands lie in one pool, results first, then sources; each is
//! linked into the list of its register's definitions or uses, which every edit keeps consistent.
//!
//! | file | subject |
//! |---|---|
//! | this one | all tables together |
//! | `data.rs` | the rows of the tables |
//! | `blocks.rs` | blocks and the order of instructions |
//! | `meaning.rs` | operations and their properties |
//! | `operands.rs` | operands, definitions and uses |
//! | `edit_log.rs` | the log of changes, which analyses follow |
//!
//! This module has the queries; `edit.rs` has the changes.

mod blocks;
mod data;
mod edit_log;
mod meaning;
mod operands;

pub use blocks::Instructions;
pub use data::{
    AccessId, Constant, Instruction, InstructionFlags, MachineOpcode, MemoryAccess, RegisterData,
    RegisterFile, Special, StackObject,
};
pub(crate) use data::{BlockData, InstructionData, OperandSlot, SlotData};
pub(crate) use edit_log::{EditLog, EditLogPosition, Edits};
pub use operands::{OperandIter, Operands, References};

use super::operand::{ConstantId, SpecialId};
use oriel_engine::entity::{
    Block, FrameObject, Instruction as MachineInstruction, Opcode, PrimaryMap, Register, Symbol,
};
use oriel_engine::hash::NumberMap;
use oriel_engine::snapshot::abi::{FunctionFlags, Stage};
use smallvec::SmallVec;

/// Properties of a function as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its name.
    pub name: String,
    /// The stage of code generation at which it was exported.
    pub stage: Stage,
    /// Compute capability times ten.
    pub sm: u32,
    /// Properties.
    pub flags: FunctionFlags,
    /// Frequency of the entry block, which is the unit; zero if unknown.
    pub entry_frequency: u64,
}

/// A function in Ori.
#[derive(Clone, Debug)]
pub struct Function {
    /// Properties of the function as a whole.
    pub info: FunctionInfo,
    pub(super) blocks: PrimaryMap<Block, BlockData>,
    pub(super) layout: Vec<Block>,
    pub(super) instructions: PrimaryMap<Instruction, InstructionData>,
    pub(super) slots: PrimaryMap<OperandSlot, SlotData>,
    pub(super) registers: PrimaryMap<Register, RegisterData>,
    /// The number of blocks of the input.
    pub(super) input_blocks: usize,
    /// The number of registers of the input.
    pub(super) input_registers: usize,
    pub(super) constants: PrimaryMap<ConstantId, Constant>,
    pub(super) constant_ids: NumberMap<Constant, ConstantId>,
    pub(super) specials: PrimaryMap<SpecialId, Special>,
    pub(super) special_ids: NumberMap<Special, SpecialId>,
    pub(super) accesses: PrimaryMap<AccessId, MemoryAccess>,
    pub(super) access_ids: NumberMap<MemoryAccess, AccessId>,
    pub(super) opcodes: PrimaryMap<Opcode, MachineOpcode>,
    /// The objects on the stack.
    pub(super) stack_objects: PrimaryMap<FrameObject, StackObject>,
    /// Names of the symbols, for the text form.
    pub(super) symbols: PrimaryMap<Symbol, String>,
    /// Machine instructions that an instruction represents besides its origin.
    pub(super) merged: NumberMap<Instruction, SmallVec<[MachineInstruction; 2]>>,
    pub(super) edits: EditLog,
}

impl Function {
    /// Creates a function without blocks.
    pub fn new(info: FunctionInfo) -> Self {
        Self {
            info,
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            instructions: PrimaryMap::new(),
            slots: PrimaryMap::new(),
            registers: PrimaryMap::new(),
            input_blocks: 0,
            input_registers: 0,
            constants: PrimaryMap::new(),
            constant_ids: NumberMap::default(),
            specials: PrimaryMap::new(),
            special_ids: NumberMap::default(),
            accesses: PrimaryMap::new(),
            access_ids: NumberMap::default(),
            opcodes: PrimaryMap::new(),
            stack_objects: PrimaryMap::new(),
            symbols: PrimaryMap::new(),
            merged: NumberMap::default(),
            edits: EditLog::default(),
        }
    }
}

/// Sizes.
impl Function {
    /// Returns the number of blocks ever created, including removed ones: the size of tables over
    /// blocks.
    #[inline]
    pub fn block_limit(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of registers, unused ones included: the size of tables over registers.
    #[inline]
    pub fn register_limit(&self) -> usize {
        self.registers.len()
    }

    /// Returns the number of instructions ever created, including removed ones: the size of tables
    /// over instructions.
    #[inline]
    pub fn instruction_limit(&self) -> usize {
        self.instructions.len()
    }
}
