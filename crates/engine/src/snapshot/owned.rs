//! A snapshot that owns its arrays.

use super::abi::{
    BlockRecord, ChainedOperandRecord, ConstantRecord, EdgeRecord, FrameObjectRecord, FunctionRecord,
    InstructionRecord, LocationRecord, MemoryOperandRecord, OpcodeRecord, OperandRecord,
    PhysicalRegisterRecord, RegisterClassRecord, RegisterRecord, StringRecord, SymbolRecord, VariableRecord,
};
use super::view::{Snapshot, SnapshotArrays};

/// The arrays of a snapshot that comes from a file or that a test builds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of `SnapshotArrays`")]
pub struct OwnedSnapshot {
    pub function: FunctionRecord,
    pub blocks: Vec<BlockRecord>,
    pub edges: Vec<EdgeRecord>,
    pub predecessors: Vec<u32>,
    pub instructions: Vec<InstructionRecord>,
    pub operands: Vec<OperandRecord>,
    pub memory_operands: Vec<MemoryOperandRecord>,
    pub registers: Vec<RegisterRecord>,
    pub chained_operands: Vec<ChainedOperandRecord>,
    pub register_classes: Vec<RegisterClassRecord>,
    pub opcodes: Vec<OpcodeRecord>,
    pub constants: Vec<ConstantRecord>,
    pub symbols: Vec<SymbolRecord>,
    pub frame_objects: Vec<FrameObjectRecord>,
    pub physical_registers: Vec<PhysicalRegisterRecord>,
    pub locations: Vec<LocationRecord>,
    pub variables: Vec<VariableRecord>,
    pub strings: Vec<u8>,
}

impl OwnedSnapshot {
    /// Copies the arrays that `snapshot` borrows.
    pub fn copy_of(snapshot: &Snapshot<'_>) -> Self {
        let arrays = snapshot.arrays();
        Self {
            function: *arrays.function,
            blocks: arrays.blocks.to_vec(),
            edges: arrays.edges.to_vec(),
            predecessors: arrays.predecessors.to_vec(),
            instructions: arrays.instructions.to_vec(),
            operands: arrays.operands.to_vec(),
            memory_operands: arrays.memory_operands.to_vec(),
            registers: arrays.registers.to_vec(),
            chained_operands: arrays.chained_operands.to_vec(),
            register_classes: arrays.register_classes.to_vec(),
            opcodes: arrays.opcodes.to_vec(),
            constants: arrays.constants.to_vec(),
            symbols: arrays.symbols.to_vec(),
            frame_objects: arrays.frame_objects.to_vec(),
            physical_registers: arrays.physical_registers.to_vec(),
            locations: arrays.locations.to_vec(),
            variables: arrays.variables.to_vec(),
            strings: arrays.strings.to_vec(),
        }
    }

    /// Borrows the arrays. `blocks` and `instructions` must have their sentinels.
    pub fn view(&self) -> Snapshot<'_> {
        Snapshot::new(SnapshotArrays {
            function: &self.function,
            blocks: &self.blocks,
            edges: &self.edges,
            predecessors: &self.predecessors,
            instructions: &self.instructions,
            operands: &self.operands,
            register_operands: None,
            memory_operands: &self.memory_operands,
            registers: &self.registers,
            chained_operands: &self.chained_operands,
            register_classes: &self.register_classes,
            opcodes: &self.opcodes,
            constants: &self.constants,
            symbols: &self.symbols,
            frame_objects: &self.frame_objects,
            physical_registers: &self.physical_registers,
            locations: &self.locations,
            variables: &self.variables,
            strings: &self.strings,
        })
    }

    /// Rebuilds the predecessor list of every block, in the order of the edges' source blocks.
    pub fn list_predecessors(&mut self) {
        let count = self.blocks.len().saturating_sub(1);
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (source, pair) in self.blocks.windows(2).enumerate() {
            for edge in &self.edges[pair[0].first_successor as usize..pair[1].first_successor as usize] {
                lists[edge.block as usize].push(source as u32);
            }
        }
        self.predecessors.clear();
        for (record, list) in self.blocks.iter_mut().zip(lists.into_iter().chain([Vec::new()])) {
            record.first_predecessor = self.predecessors.len() as u32;
            self.predecessors.extend(list);
        }
    }

    /// Appends `text` to the string bytes.
    pub fn add_string(&mut self, text: &str) -> StringRecord {
        let offset = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        StringRecord {
            offset,
            length: text.len() as u32,
        }
    }
}
