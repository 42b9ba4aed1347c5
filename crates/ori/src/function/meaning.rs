//! Properties of instructions.

use super::{Function, Instruction, InstructionFlags, MachineOpcode, MemoryAccess};
use crate::modifiers::Modifiers;
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{EntityRef, Instruction as MachineInstruction};

/// Properties of instructions.
impl Function {
    /// Returns the operation.
    #[inline]
    pub fn operation(&self, instruction: Instruction) -> Operation {
        self.instructions[instruction].operation
    }

    /// Returns the data type.
    #[inline]
    pub fn data_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].data_type
    }

    /// Returns the type of the sources or of the memory accessed, if it differs from the data type.
    #[inline]
    pub fn source_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].source_type
    }

    /// Returns the type of the memory that a load or store accesses.
    pub fn memory_type(&self, instruction: Instruction) -> DataType {
        match self.source_type(instruction) {
            DataType::None => self.data_type(instruction),
            source_type => source_type,
        }
    }

    /// Returns the modifiers.
    #[inline]
    pub fn modifiers(&self, instruction: Instruction) -> Modifiers {
        self.instructions[instruction].modifiers
    }

    /// Returns the flags.
    #[inline]
    pub fn flags(&self, instruction: Instruction) -> InstructionFlags {
        self.instructions[instruction].flags
    }

    /// Returns the machine instruction that it was created from or that it replaces.
    #[inline]
    pub fn origin(&self, instruction: Instruction) -> Option<MachineInstruction> {
        self.instructions[instruction].origin.expand()
    }

    /// Returns all machine instructions that it was created from: several for branches.
    pub fn origins(&self, instruction: Instruction) -> impl Iterator<Item = MachineInstruction> + use<> {
        let data = &self.instructions[instruction];
        let first = data.origin.expand().map_or(0, MachineInstruction::index);
        let count = data.origin_count as usize;
        (first..first + count).map(MachineInstruction::new)
    }

    /// Returns LLVM's opcode of the machine instruction that it was created from.
    pub fn machine_opcode(&self, instruction: Instruction) -> Option<&MachineOpcode> {
        let opcode = self.instructions[instruction].opcode.expand()?;
        Some(&self.opcodes[opcode])
    }

    /// Returns the machine opcodes that the function's instructions had when it was imported, each once.
    pub(crate) fn machine_opcodes(&self) -> impl Iterator<Item = &MachineOpcode> {
        self.opcodes.values()
    }

    /// Returns the machine instructions that it represents besides its origin.
    #[inline]
    pub fn merged(&self, instruction: Instruction) -> &[MachineInstruction] {
        self.merged.get(&instruction).map_or(&[], |merged| merged)
    }

    /// Returns the number of the source that is the base of the address that it loads from or stores to; the
    /// offset is after it.
    #[inline]
    pub fn accessed_address(&self, instruction: Instruction) -> Option<usize> {
        match self.operation(instruction) {
            Operation::Ld | Operation::Atom => Some(0),
            Operation::St => self.sources(instruction).len().checked_sub(2),
            _ => None,
        }
    }

    /// Returns the description of the memory that it accesses.
    pub fn access(&self, instruction: Instruction) -> Option<&MemoryAccess> {
        let access = self.instructions[instruction].access.expand()?;
        Some(&self.accesses[access])
    }
}
