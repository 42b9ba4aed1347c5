//! The write-back plan: the new body of a machine function.
//!
//! A plan is data. The shim checks all of it before it changes anything, and applies it in one
//! pass; see `cpp-shim/PlanChecker.cpp` and `cpp-shim/PlanApplier.cpp`.

pub mod abi;

use abi::{PlanAction, PlanBlockRecord, PlanInstructionRecord};
use oriel_engine::entity::Instruction;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{ConstantRecord, EdgeRecord, OperandRecord, StringRecord};

/// The new body of a function, as the ABI's arrays. `blocks` and `instructions` end with a
/// sentinel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Blocks in layout order, and a sentinel.
    pub blocks: Vec<PlanBlockRecord>,
    /// Edges, grouped by source block.
    pub successors: Vec<EdgeRecord>,
    /// Instructions in layout order, and a sentinel.
    pub instructions: Vec<PlanInstructionRecord>,
    /// Operands of instructions that are not kept unchanged.
    pub operands: Vec<OperandRecord>,
    /// Input instructions that others represent, grouped by those.
    pub merged: Vec<u32>,
    /// The class of each new register.
    pub new_registers: Vec<u32>,
    /// Opcode names of new instructions: LLVM's, or mnemonics as in the snapshot's opcode table.
    pub opcode_names: Vec<StringRecord>,
    /// Floating-point numbers that the snapshot does not have; their indices continue the
    /// snapshot's.
    pub constants: Vec<ConstantRecord>,
    /// Frame objects of the snapshot that are removed, in ascending order.
    pub removed_frame_objects: Vec<u32>,
    /// The bytes of the opcode names.
    pub strings: Vec<u8>,
}

impl Plan {
    /// Returns the plan that changes nothing.
    pub fn identity(snapshot: &Snapshot<'_>) -> Self {
        let arrays = snapshot.arrays();
        let block = |(index, record): (usize, &oriel_engine::snapshot::abi::BlockRecord)| PlanBlockRecord {
            block: index as u32,
            origin: 0,
            first_instruction: record.first_instruction,
            first_successor: record.first_successor,
        };
        let keep = |index: usize| PlanInstructionRecord {
            action: PlanAction::Keep as u32,
            source: index as u32 + 1,
            ..PlanInstructionRecord::default()
        };
        let mut instructions: Vec<_> = (0..snapshot.instruction_count()).map(keep).collect();
        instructions.push(PlanInstructionRecord::default());
        Self {
            blocks: arrays.blocks.iter().enumerate().map(block).collect(),
            successors: arrays.edges.to_vec(),
            instructions,
            ..Self::default()
        }
    }

    /// Returns the number of instructions of the new body.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len() - 1
    }

    /// Returns, for each instruction of the new body, that of the input that it is kept or made
    /// from, if any. What is new is never a debug instruction.
    pub fn input_instructions(&self) -> impl Iterator<Item = Option<Instruction>> {
        let all = &self.instructions[..self.instruction_count()];
        all.iter().map(|record| {
            let is_new = record.action == PlanAction::New as u32;
            let source = record.source.checked_sub(1).filter(|_| !is_new);
            source.map(Instruction::from_u32)
        })
    }
}
