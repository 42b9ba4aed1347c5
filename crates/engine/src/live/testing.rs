//! Support for the engine's tests: small functions, random ones, and liveness from its definition.

mod definition;
mod kernel;
mod random;
mod structured;

pub use definition::covered_slots;
pub use kernel::Kernel;
pub use random::{Random, random_function};
pub use structured::structured_function;

use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::snapshot::abi::{
    ABI_VERSION, Access, BlockRecord, ChainedOperandRecord, EdgeRecord, FunctionFlags, FunctionRecord,
    InstructionRecord, OpcodeFlags, OpcodeRecord, OperandFlags, OperandKind, OperandRecord,
    RegisterClassRecord, RegisterFile, RegisterFlags, RegisterOperandRecord, RegisterRecord,
};
use crate::snapshot::{OwnedSnapshot, Snapshot};

/// Opcodes of test functions.
pub const PLAIN: u32 = 0;
/// The opcode of PHIs.
pub const PHI: u32 = 1;
/// The opcode of debug values.
pub const DEBUG: u32 = 2;
/// The opcode of copies.
pub const COPY: u32 = 3;

/// A test function under construction.
#[derive(Clone, Debug, Default)]
pub struct TestFunction {
    arrays: OwnedSnapshot,
}

/// Creates a register operand that is written.
pub fn def(register: u32) -> OperandRecord {
    operand(register, OperandFlags::DEF)
}

/// Creates a register operand that is read.
pub fn read(register: u32) -> OperandRecord {
    operand(register, OperandFlags::empty())
}

/// Returns a register operand with flags.
pub fn operand(register: u32, flags: OperandFlags) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Register as u8,
        flags: flags.bits(),
        index: register,
        ..OperandRecord::default()
    }
}

/// Returns a block operand.
pub fn from(block: u32) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Block as u8,
        index: block,
        ..OperandRecord::default()
    }
}

impl TestFunction {
    /// Creates a function of so many registers, without blocks.
    pub fn new(registers: usize) -> Self {
        let class = |bits, file: RegisterFile| RegisterClassRecord {
            bits,
            file: file as u32,
            ..RegisterClassRecord::default()
        };
        let opcode = |flags: OpcodeFlags| OpcodeRecord {
            flags: flags.bits(),
            ..OpcodeRecord::default()
        };
        let register_classes = vec![
            class(32, RegisterFile::General),
            class(1, RegisterFile::Predicate),
            class(64, RegisterFile::General),
            class(128, RegisterFile::General),
            class(16, RegisterFile::General),
            class(64, RegisterFile::Special),
        ];
        let registers = (0..registers).map(|register| RegisterRecord {
            register_class: (register % register_classes.len()) as u16,
            flags: 0,
        });
        let opcodes = [
            OpcodeFlags::empty(),
            OpcodeFlags::PHI,
            OpcodeFlags::DEBUG,
            OpcodeFlags::COPY,
        ];
        let arrays = OwnedSnapshot {
            function: FunctionRecord {
                abi_version: ABI_VERSION,
                ..FunctionRecord::default()
            },
            registers: registers.collect(),
            opcodes: opcodes.map(opcode).into(),
            register_classes,
            ..OwnedSnapshot::default()
        };
        Self { arrays }
    }

    /// Says that no register is defined twice.
    pub fn mark_ssa(&mut self) {
        self.arrays.function.flags |= FunctionFlags::SSA.bits();
    }

    /// Gives the blocks LLVM's numbers, in layout order, which LLVM leaves as they are when it moves
    /// blocks.
    pub fn number_blocks(&mut self, numbers: &[u32]) {
        for (block, &number) in self.arrays.blocks.iter_mut().zip(numbers) {
            block.number = number;
        }
    }

    /// Begins a block with these successors.
    pub fn block(&mut self, successors: &[u32]) {
        self.arrays.blocks.push(BlockRecord {
            first_instruction: self.arrays.instructions.len() as u32,
            first_successor: self.arrays.edges.len() as u32,
            number: self.arrays.blocks.len() as u32,
            ..BlockRecord::default()
        });
        self.arrays
            .edges
            .extend(successors.iter().map(|&block| EdgeRecord {
                block,
                probability: 0,
            }));
    }

    /// Adds an instruction to the last block.
    pub fn instruction(&mut self, opcode: u32, operands: &[OperandRecord]) {
        self.arrays.instructions.push(InstructionRecord {
            opcode,
            first_operand: self.arrays.operands.len() as u32,
            ..InstructionRecord::default()
        });
        self.arrays.operands.extend_from_slice(operands);
    }

    /// Adds the sentinels, the lists of predecessors and the operand lists of registers with
    /// several definitions; `shuffle` gives their order.
    pub fn finish(mut self, mut shuffle: impl FnMut() -> u64) -> Self {
        self.arrays.blocks.push(BlockRecord {
            first_instruction: self.arrays.instructions.len() as u32,
            first_successor: self.arrays.edges.len() as u32,
            first_predecessor: self.arrays.predecessors.len() as u32,
            ..BlockRecord::default()
        });
        self.arrays.instructions.push(InstructionRecord {
            first_operand: self.arrays.operands.len() as u32,
            ..InstructionRecord::default()
        });
        if self.arrays.predecessors.is_empty() {
            self.list_predecessors(&mut shuffle);
        }
        let mut places: Vec<Vec<ChainedOperandRecord>> = vec![Vec::new(); self.arrays.registers.len()];
        let mut definitions = vec![0; self.arrays.registers.len()];
        let operands = self.register_operands().to_vec();
        for (position, operand) in operands.iter().enumerate() {
            if operand.access() == Access::FromBlock {
                continue;
            }
            definitions[operand.index as usize] += usize::from(operand.access().is_definition());
            places[operand.index as usize].push(ChainedOperandRecord {
                register: operand.index,
                register_operand: position as u32,
            });
        }
        for (register, mut places) in places.into_iter().enumerate() {
            if definitions[register] > 1 {
                self.arrays.registers[register].flags |= RegisterFlags::CHAINED.bits();
                // LLVM's lists begin with the definitions; a host's need not.
                let has_definitions_first = !shuffle().is_multiple_of(4);
                places.sort_by_cached_key(|place| {
                    let access = operands[place.register_operand as usize].access();
                    (has_definitions_first && !access.is_definition(), shuffle())
                });
                self.arrays.chained_operands.extend(places);
            }
        }
        self
    }

    /// Returns the accesses of instructions to registers.
    fn register_operands(&self) -> Vec<RegisterOperandRecord> {
        let mut list = Vec::new();
        self.snapshot().arrays().collect_register_operands(&mut list);
        list
    }

    fn list_predecessors(&mut self, mut shuffle: impl FnMut() -> u64) {
        self.arrays.list_predecessors();
        for pair in self.arrays.blocks.windows(2) {
            let list = pair[0].first_predecessor as usize..pair[1].first_predecessor as usize;
            self.arrays.predecessors[list].sort_by_cached_key(|_| shuffle());
        }
    }

    /// Returns the finished function with its instructions in another order, given by their old
    /// positions.
    pub fn permuted(&self, order: &[usize]) -> Self {
        let mut result = self.clone();
        result.arrays.instructions.clear();
        result.arrays.operands.clear();
        for &old in order {
            let record = self.arrays.instructions[old];
            let operands =
                record.first_operand as usize..self.arrays.instructions[old + 1].first_operand as usize;
            result.instruction(record.opcode, &self.arrays.operands[operands]);
        }
        result.instruction(PLAIN, &[]);
        // Instructions bring their register operands along, in order.
        let (before, after) = (self.register_operands(), result.register_operands());
        let first = |list: &[RegisterOperandRecord], instruction: Instruction| {
            list.partition_point(|operand| operand.instruction() < instruction)
        };
        let mut new_position = vec![Instruction::new(0); order.len()];
        for (position, &old) in order.iter().enumerate() {
            new_position[old] = Instruction::new(position);
        }
        for place in &mut result.arrays.chained_operands {
            let position = place.register_operand as usize;
            let instruction = before[position].instruction();
            let number = position - first(&before, instruction);
            let moved = first(&after, new_position[instruction.index()]) + number;
            place.register_operand = moved as u32;
        }
        result
    }

    /// Changes register operands in place. Definitions must stay definitions.
    pub fn change_operands(&mut self, mut change: impl FnMut(&mut OperandRecord)) {
        let is_register = |operand: &&mut OperandRecord| operand.kind == OperandKind::Register as u8;
        self.arrays
            .operands
            .iter_mut()
            .filter(is_register)
            .for_each(&mut change);
    }

    /// Recomputes which registers have several definitions, after operands were changed.
    fn relist(mut self) -> Self {
        self.arrays.blocks.pop();
        self.arrays.instructions.pop();
        for register in &mut self.arrays.registers {
            register.flags = 0;
        }
        self.arrays.chained_operands.clear();
        self.finish(|| 0)
    }

    /// Returns the function with `registers` registers and the operands of `register` renamed as
    /// `owner` says for their slot.
    pub fn renamed(
        &self,
        register: Register,
        registers: usize,
        owner: impl Fn(SlotIndex, bool) -> Option<Register>,
        indexes: &SlotIndexes,
    ) -> Self {
        let mut result = self.clone();
        result.arrays.registers.resize(
            registers.max(self.arrays.registers.len()),
            RegisterRecord::default(),
        );
        for instruction in self.snapshot().instructions() {
            if !indexes.has_index(instruction) {
                continue;
            }
            let number = indexes.instruction_index(instruction).number();
            let first = self.arrays.instructions[instruction.index()].first_operand as usize;
            let last = self.arrays.instructions[instruction.index() + 1].first_operand as usize;
            let records = &self.arrays.operands[first..last];
            let is_phi = self.arrays.instructions[instruction.index()].opcode == PHI;
            for (place, record) in records.iter().enumerate() {
                if record.kind != OperandKind::Register as u8 || record.index != register.as_u32() {
                    continue;
                }
                let owner = if defines(record) {
                    owner(definition_slot(number, record), false)
                } else if reads(record) && is_phi {
                    owner(indexes.block_end(Block::from_u32(records[place + 1].index)), true)
                } else if reads(record) {
                    owner(use_slot(number, record, records), true)
                } else {
                    None
                };
                if let Some(owner) = owner {
                    result.arrays.operands[first + place].index = owner.as_u32();
                }
            }
        }
        result.relist()
    }

    /// Returns the function without the copy `instruction`, with `source` renamed to `result`.
    pub fn joined(&self, result: Register, source: Register, instruction: Instruction) -> Self {
        let mut joined = self.clone();
        let first = self.arrays.instructions[instruction.index()].first_operand as usize;
        for operand in &mut joined.arrays.operands[first..first + 2] {
            operand.kind = OperandKind::Immediate as u8;
        }
        joined.arrays.instructions[instruction.index()].opcode = PLAIN;
        joined.change_operands(|operand| {
            if operand.index == source.as_u32() {
                operand.index = result.as_u32();
            }
        });
        joined.relist()
    }

    /// Returns a view of the function.
    pub fn snapshot(&self) -> Snapshot<'_> {
        self.arrays.view()
    }
}
