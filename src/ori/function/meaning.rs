//! What an instruction is and does.

use super::{Function, Instruction, InstructionFlags, MachineOpcode, MemoryAccess, Special};
use crate::entity::{EntityRef, Instruction as MachineInstruction};
use crate::ori::modifiers::{Modifiers, Ordering};
use crate::ori::operand::{Operand, OperandKind};
use crate::ori::operation::{Operation, OperationFlags};
use crate::ori::types::DataType;
use crate::snapshot::abi::{MemoryFlags, OpcodeFlags};

/// What an instruction is.
impl Function {
    /// What it does.
    pub fn operation(&self, instruction: Instruction) -> Operation {
        self.instructions[instruction].operation
    }

    /// The type that it computes in.
    pub fn data_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].data_type
    }

    /// The type of its sources, or of what lies in memory, if that is another.
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

    /// The machine instruction that it was made from, or whose place it takes.
    pub fn origin(&self, instruction: Instruction) -> Option<MachineInstruction> {
        self.instructions[instruction].origin.expand()
    }

    /// All machine instructions that it was made from: several for branches.
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

    /// What it does beside giving results. Of an opaque one, what LLVM says of it.
    pub fn effects(&self, instruction: Instruction) -> OperationFlags {
        let data = &self.instructions[instruction];
        let table = data.operation.flags();
        if !table.contains(OperationFlags::OPAQUE) {
            let mut effects = table;
            let is_counter = |source: Operand| match source.kind() {
                OperandKind::Special(special) => match self.specials[special] {
                    Special::SpecialRegister(register) => !register.is_constant(),
                    _ => false,
                },
                _ => false,
            };
            // Every read of a counter counts.
            if data.operation == Operation::S2r && self.sources(instruction).iter().any(is_counter) {
                effects |= OperationFlags::SIDE_EFFECTS;
            }
            let is_volatile = |access: &MemoryAccess| access.flags.contains(MemoryFlags::VOLATILE);
            if self.access(instruction).is_some_and(is_volatile)
                || matches!(
                    data.modifiers.ordering,
                    Ordering::Volatile | Ordering::RelaxedMmio
                )
            {
                effects |= OperationFlags::SIDE_EFFECTS;
            }
            return effects;
        }
        let refined = OperationFlags::READS
            | OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT;
        let Some(opcode) = data.opcode.expand().map(|opcode| &self.opcodes[opcode]) else {
            return table;
        };
        let mut effects = table & !refined;
        // Labels and markers do nothing, but have to stay where they are.
        let marks = OpcodeFlags::POSITION | OpcodeFlags::META;
        if data.operation != Operation::InlineAsm && opcode.flags.intersects(marks) {
            effects |= OperationFlags::SIDE_EFFECTS;
        }
        let asm = data.operation == Operation::InlineAsm;
        for (effect, of_opcode, of_asm) in [
            (
                OperationFlags::READS,
                OpcodeFlags::MAY_LOAD,
                InstructionFlags::ASM_READS,
            ),
            (
                OperationFlags::WRITES,
                OpcodeFlags::MAY_STORE,
                InstructionFlags::ASM_WRITES,
            ),
            (
                OperationFlags::SIDE_EFFECTS,
                OpcodeFlags::SIDE_EFFECTS,
                InstructionFlags::ASM_SIDE_EFFECTS,
            ),
            (
                OperationFlags::CONVERGENT,
                OpcodeFlags::CONVERGENT,
                InstructionFlags::ASM_CONVERGENT,
            ),
        ] {
            let holds = if asm {
                data.flags.contains(of_asm)
            } else {
                opcode.flags.contains(of_opcode)
            };
            effects.set(effect, holds);
        }
        effects
    }

    /// May it go if nothing uses its results?
    pub fn is_removable_if_unused(&self, instruction: Instruction) -> bool {
        let keeps = OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT
            | OperationFlags::TERMINATOR
            | OperationFlags::CALL_SEQUENCE
            | OperationFlags::DEBUG;
        !self.effects(instruction).intersects(keeps)
            && !self.flags(instruction).contains(InstructionFlags::ATTACHMENTS)
    }
}
