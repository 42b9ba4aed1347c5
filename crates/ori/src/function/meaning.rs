//! What an instruction is and does.

use super::{Function, Instruction, InstructionFlags, MachineOpcode, MemoryAccess};
use crate::modifiers::Modifiers;
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{EntityRef, Instruction as MachineInstruction};

/// What an instruction is.
impl Function {
    /// What it does.
    pub fn operation(&self, instruction: Instruction) -> Operation {
        self.instructions[instruction].operation
    }

    /// Returns the type that it computes in.
    pub fn data_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].data_type
    }

    /// Returns the type of its sources, or of what lies in memory, if that is another.
    pub fn source_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].source_type
    }

    /// Its modifiers.
    pub fn modifiers(&self, instruction: Instruction) -> Modifiers {
        self.instructions[instruction].modifiers
    }

    /// Its flags.
    pub fn flags(&self, instruction: Instruction) -> InstructionFlags {
        self.instructions[instruction].flags
    }

    /// Returns the machine instruction that it was made from, or whose place it takes.
    pub fn origin(&self, instruction: Instruction) -> Option<MachineInstruction> {
        self.instructions[instruction].origin.expand()
    }

    /// Returns all machine instructions that it was made from: several for branches.
    pub fn origins(&self, instruction: Instruction) -> impl Iterator<Item = MachineInstruction> + use<> {
        let data = &self.instructions[instruction];
        let first = data.origin.expand().map_or(0, MachineInstruction::index);
        let count = data.origin_count as usize;
        (first..first + count).map(MachineInstruction::new)
    }

    /// LLVM's opcode of the machine instruction that it was made from.
    pub fn machine_opcode(&self, instruction: Instruction) -> Option<&MachineOpcode> {
        let opcode = self.instructions[instruction].opcode.expand()?;
        Some(&self.opcodes[opcode])
    }

    /// Machine instructions that it stands for beside its origin.
    pub fn merged(&self, instruction: Instruction) -> &[MachineInstruction] {
        self.merged.get(&instruction).map_or(&[], |merged| merged)
    }

    /// What is known of the memory that it accesses.
    pub fn access(&self, instruction: Instruction) -> Option<&MemoryAccess> {
        let access = self.instructions[instruction].access.expand()?;
        Some(&self.accesses[access])
    }
}
