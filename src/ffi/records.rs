//! The arrays that the shim and the library lend each other.

use crate::lent::slice;
use crate::plan::Plan;
use crate::plan::abi::{PlanBlockRecord, PlanInstructionRecord};
use crate::snapshot::abi::{
    ABI_VERSION, BlockRecord, ChainedOperandRecord, ConstantRecord, EdgeRecord, FrameObjectRecord,
    FunctionRecord, InstructionRecord, LocationRecord, MemoryOperandRecord, OpcodeRecord, OperandRecord,
    PhysicalRegisterRecord, RegisterClassRecord, RegisterOperandRecord, RegisterRecord, StringRecord,
    SymbolRecord, VariableRecord, abi,
};
use crate::snapshot::{Snapshot, SnapshotArrays};

include!("tables.rs");

impl OrielSnapshot {
    /// Returns a view of the arrays.
    ///
    /// # Safety
    /// Every array is valid for its count, `blocks` and `instructions` for one more.
    pub unsafe fn view(&self) -> Snapshot<'_> {
        let count = |count: u32| count as usize;
        // SAFETY: the caller vouches for all arrays.
        unsafe {
            Snapshot::new(SnapshotArrays {
                function: &self.function,
                blocks: slice(self.blocks, count(self.block_count) + 1),
                edges: slice(self.edges, count(self.edge_count)),
                predecessors: slice(self.predecessors, count(self.edge_count)),
                instructions: slice(self.instructions, count(self.instruction_count) + 1),
                operands: slice(self.operands, count(self.operand_count)),
                register_operands: Some(slice(self.register_operands, count(self.register_operand_count))),
                memory_operands: slice(self.memory_operands, count(self.memory_operand_count)),
                registers: slice(self.registers, count(self.register_count)),
                chained_operands: slice(self.chained_operands, count(self.chained_operand_count)),
                register_classes: slice(self.register_classes, count(self.register_class_count)),
                opcodes: slice(self.opcodes, count(self.opcode_count)),
                constants: slice(self.constants, count(self.constant_count)),
                symbols: slice(self.symbols, count(self.symbol_count)),
                frame_objects: slice(self.frame_objects, count(self.frame_object_count)),
                physical_registers: slice(self.physical_registers, count(self.physical_register_count)),
                locations: slice(self.locations, count(self.location_count)),
                variables: slice(self.variables, count(self.variable_count)),
                strings: slice(self.strings, count(self.string_bytes)),
            })
        }
    }
}

impl OrielPlan {
    /// Returns the pointers to a plan's arrays, valid as long as the plan.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            blocks: plan.blocks.as_ptr(),
            successors: plan.successors.as_ptr(),
            instructions: plan.instructions.as_ptr(),
            operands: plan.operands.as_ptr(),
            merged: plan.merged.as_ptr(),
            new_registers: plan.new_registers.as_ptr(),
            opcode_names: plan.opcode_names.as_ptr(),
            constants: plan.constants.as_ptr(),
            removed_frame_objects: plan.removed_frame_objects.as_ptr(),
            strings: plan.strings.as_ptr(),
            block_count: plan.blocks.len().saturating_sub(1) as u32,
            successor_count: plan.successors.len() as u32,
            instruction_count: plan.instructions.len().saturating_sub(1) as u32,
            operand_count: plan.operands.len() as u32,
            merged_count: plan.merged.len() as u32,
            new_register_count: plan.new_registers.len() as u32,
            opcode_name_count: plan.opcode_names.len() as u32,
            string_bytes: plan.strings.len() as u32,
            abi_version: ABI_VERSION,
            constant_count: plan.constants.len() as u32,
            removed_frame_object_count: plan.removed_frame_objects.len() as u32,
            reserved: 0,
        }
    }
}
