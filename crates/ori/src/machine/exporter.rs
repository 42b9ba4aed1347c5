//! The plan while it is written: its instructions, and the numbers of its entities.
//!
//! `to_machine.rs` decides on blocks and their ends, `lower.rs` on the operands of an instruction.

use super::from_machine::Reading;
use crate::function::{Constant, Function, Instruction, InstructionFlags, RegisterFile};
use crate::operation::Operation;
use crate::plan::Plan;
use crate::plan::abi::{PlanAction, PlanBlockRecord, PlanInstructionRecord};
use bitvec::vec::BitVec;
use oriel_engine::entity::{
    Block, EntityRef, Instruction as MachineInstruction, PackedOption, Register, RegisterClass, SecondaryMap,
    to_one_based,
};
use oriel_engine::hash::NumberMap;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{
    ConstantKind, ConstantRecord, EdgeRecord, FrameFlags, OperandFlags, OperandKind as RecordKind,
    OperandRecord, RegisterFile as MachineFile, StringRecord,
};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// A function for which LLVM has no instructions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// No opcode performs the operation on these operands.
    #[error("{0}: LLVM has no opcode for {name} with these operands", name = .1.name())]
    NoOpcode(Instruction, Operation),
    /// Such instructions exist only in the input.
    #[error("{0}: only the input can provide it")]
    NoOrigin(Instruction),
    /// A branch through a table can change its targets, but not their number.
    #[error("{0}: a branch through a table cannot be created")]
    Table(Instruction),
    /// Control must continue with a block that is not the next one.
    #[error("{0}: its fall-through block does not follow")]
    FallThrough(Instruction),
    /// A block must end in a terminator.
    #[error("bix{0} does not end in a terminator")]
    NoTerminator(usize),
}

/// The operands of a machine instruction.
pub(super) type Records = SmallVec<[OperandRecord; 6]>;

/// A machine instruction to emit.
#[derive(Clone, Debug)]
pub(super) struct Lowered {
    /// The opcode, unless it is that of the origin.
    pub opcode: Option<&'static str>,
    pub operands: Records,
}

/// Flags that do not affect an instruction's meaning: kill and dead flags, as LLVM saw them.
const LIVENESS: OperandFlags = OperandFlags::KILL
    .union(OperandFlags::DEAD)
    .union(OperandFlags::RENAMABLE);

/// True if `new` equals operand `number` of `origin`.
pub(super) fn is_same(
    new: &OperandRecord,
    old: &OperandRecord,
    origin: MachineInstruction,
    number: usize,
) -> bool {
    if new.kind == RecordKind::Original as u8 {
        return new.index == origin.as_u32() && new.value == number as i64;
    }
    let significant = |record: &OperandRecord| record.flags & !LIVENESS.bits();
    (new.kind, new.index, new.value) == (old.kind, old.index, old.value)
        && significant(new) == significant(old)
}

/// The conversion of a function to a plan.
pub(super) struct Exporter<'a> {
    pub(super) function: &'a Function,
    pub(super) snapshot: Snapshot<'a>,
    /// The interpretation of each opcode, once one is needed: most functions need a few.
    readings: Vec<OnceCell<Reading>>,
    plan: Plan,
    /// The plan's number of each block.
    block_numbers: SecondaryMap<Block, PackedOption<Block>>,
    /// The plan's number of each new register seen so far.
    register_numbers: NumberMap<Register, u32>,
    opcode_numbers: NumberMap<&'static str, u32>,
    /// Numbers of the constants of the snapshot and the plan, once one is needed.
    constant_numbers: Option<NumberMap<Constant, u32>>,
    /// Machine instructions that an instruction represents already.
    claimed: BitVec,
}

impl<'a> Exporter<'a> {
    pub(super) fn new(function: &'a Function, snapshot: &Snapshot<'a>) -> Self {
        let mut block_numbers = SecondaryMap::new();
        block_numbers.resize(function.block_limit());
        let mut new_blocks = snapshot.block_count();
        for &block in function.blocks() {
            let number = if block.index() < function.input_blocks {
                block
            } else {
                new_blocks += 1;
                Block::new(new_blocks - 1)
            };
            block_numbers[block] = number.into();
        }
        let mut claimed: BitVec = BitVec::repeat(false, snapshot.instruction_count());
        let mut made = 0;
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                let flags = function.flags(instruction);
                if flags.intersects(InstructionFlags::NEW | InstructionFlags::CLONE) {
                    made += 1;
                } else {
                    for origin in function.origins(instruction) {
                        claimed.set(origin.index(), true);
                    }
                }
            }
        }
        let mut plan = Plan::default();
        plan.instructions.reserve(snapshot.instruction_count() + made + 1);
        plan.blocks.reserve(function.blocks().len() + 1);
        Self {
            function,
            snapshot: *snapshot,
            readings: vec![OnceCell::new(); snapshot.arrays().opcodes.len()],
            plan,
            block_numbers,
            register_numbers: NumberMap::default(),
            opcode_numbers: NumberMap::default(),
            constant_numbers: None,
            claimed,
        }
    }

    pub(super) fn finish(mut self) -> Plan {
        self.plan.removed_frame_objects = self.removed_frame_objects();
        self.plan.blocks.push(PlanBlockRecord {
            block: self.function.blocks().len() as u32,
            origin: 0,
            first_instruction: self.plan.instructions.len() as u32,
            first_successor: self.plan.successors.len() as u32,
        });
        self.plan.instructions.push(PlanInstructionRecord {
            first_operand: self.plan.operands.len() as u32,
            first_merged: self.plan.merged.len() as u32,
            ..PlanInstructionRecord::default()
        });
        self.plan
    }

    /// Returns the objects that LLVM has to remove from the stack: removed objects of the input
    /// with a size.
    fn removed_frame_objects(&self) -> Vec<u32> {
        let stays = FrameFlags::DEAD | FrameFlags::VARIABLE_SIZE;
        let records = self.snapshot.arrays().frame_objects;
        let objects = self.function.stack_objects().zip(records);
        objects
            .filter(|((_, data), record)| {
                data.is_removed && !FrameFlags::from_bits_truncate(record.flags).intersects(stays)
            })
            .map(|((object, _), _)| object.as_u32())
            .collect()
    }

    /// Begins a block; the instructions and edges that follow are its own. A new block is like
    /// `origin` in what LLVM knows of blocks.
    pub(super) fn begin_block(&mut self, block: Block, origin: Option<Block>) {
        self.plan.blocks.push(PlanBlockRecord {
            block: self.block_number(block).unwrap_or_default(),
            origin: origin.map_or(0, Block::as_u32),
            first_instruction: self.plan.instructions.len() as u32,
            first_successor: self.plan.successors.len() as u32,
        });
    }

    /// Adds edges of the block.
    pub(super) fn add_edges(&mut self, edges: &[EdgeRecord]) {
        self.plan.successors.extend_from_slice(edges);
    }

    /// Emits a machine instruction for `instruction` in place of `origin`.
    pub(super) fn export_lowered(
        &mut self,
        instruction: Instruction,
        origin: Option<MachineInstruction>,
        lowered: Lowered,
    ) {
        let flags = self.function.flags(instruction);
        let Lowered { opcode, operands } = lowered;
        let same_opcode = origin.filter(|&origin| match opcode {
            None => true,
            Some(opcode) => self.is_opcode(origin, opcode),
        });
        match (same_opcode, opcode) {
            (Some(origin), _) if flags.contains(InstructionFlags::CLONE) => {
                self.emit(PlanAction::Clone, Some(origin), 0, &operands);
            }
            (Some(origin), _) if !flags.contains(InstructionFlags::NEW) => {
                self.emit_changed(origin, &operands)
            }
            (Some(origin), None) => self.emit_changed(origin, &operands),
            (_, opcode) => {
                let opcode = opcode.expect("an opcode of the input is the same");
                let source = match origin {
                    Some(origin)
                        if flags.contains(InstructionFlags::CLONE) || !self.claim(origin, instruction) =>
                    {
                        None
                    }
                    origin => origin,
                };
                self.emit_new(opcode, source, &operands);
            }
        }
    }

    /// True if `instruction` may represent `origin`. An instruction created by a phase may do so
    /// only if no other does.
    fn claim(&mut self, origin: MachineInstruction, instruction: Instruction) -> bool {
        let is_new = self.function.flags(instruction).contains(InstructionFlags::NEW);
        let was_claimed = self.claimed.replace(origin.index(), true);
        !is_new || !was_claimed
    }

    /// Keeps `origin` if the operands are its own, and replaces them otherwise.
    pub(super) fn emit_changed(&mut self, origin: MachineInstruction, operands: &[OperandRecord]) {
        let old = self.snapshot.instruction(origin).operand_records();
        let mut pairs = operands.iter().zip(old).enumerate();
        let is_unchanged = operands.len() == old.len()
            && pairs.all(|(number, (new, old))| is_same(new, old, origin, number));
        if is_unchanged {
            self.emit(PlanAction::Keep, Some(origin), 0, &[]);
        } else {
            self.emit(PlanAction::Replace, Some(origin), 0, operands);
        }
    }

    /// Adds a new machine instruction.
    pub(super) fn emit_new(
        &mut self,
        opcode: &'static str,
        source: Option<MachineInstruction>,
        operands: &[OperandRecord],
    ) {
        let plan = &mut self.plan;
        let number = *self.opcode_numbers.entry(opcode).or_insert_with(|| {
            let (offset, length) = (plan.strings.len() as u32, opcode.len() as u32);
            plan.opcode_names.push(StringRecord { offset, length });
            plan.strings.extend_from_slice(opcode.as_bytes());
            plan.opcode_names.len() as u32 - 1
        });
        self.emit(PlanAction::New, source, number, operands);
    }

    pub(super) fn emit(
        &mut self,
        action: PlanAction,
        source: Option<MachineInstruction>,
        opcode: u32,
        operands: &[OperandRecord],
    ) {
        self.plan.instructions.push(PlanInstructionRecord {
            action: action as u32,
            source: to_one_based(source),
            opcode,
            first_operand: self.plan.operands.len() as u32,
            first_merged: self.plan.merged.len() as u32,
            reserved: 0,
        });
        self.plan.operands.extend_from_slice(operands);
    }

    /// Adds the further machine instructions that the last emitted one represents.
    pub(super) fn add_merged(&mut self, instruction: Instruction) {
        let merged = self.function.merged(instruction);
        self.plan
            .merged
            .extend(merged.iter().map(|instruction| instruction.as_u32()));
    }
}

/// Numbers of the plan's entities.
impl Exporter<'_> {
    pub(super) fn reading(&self, instruction: MachineInstruction) -> Reading {
        let arrays = self.snapshot.arrays();
        let opcode = arrays.instructions[instruction.index()].opcode as usize;
        *self.readings[opcode].get_or_init(|| Reading::of(&self.snapshot, &arrays.opcodes[opcode]))
    }

    /// True if `instruction` has this opcode, given by name or mnemonic.
    fn is_opcode(&self, instruction: MachineInstruction, opcode: &str) -> bool {
        let record = self
            .snapshot
            .opcode(self.snapshot.instruction(instruction).opcode());
        self.snapshot.string(record.name) == opcode || self.snapshot.string(record.mnemonic) == opcode
    }

    pub(super) fn block_number(&self, block: Block) -> Option<u32> {
        self.block_numbers[block].expand().map(Block::as_u32)
    }

    pub(super) fn register_number(&mut self, register: Register) -> Option<u32> {
        if register.index() < self.function.input_registers {
            return Some(register.as_u32());
        }
        if let Some(&number) = self.register_numbers.get(&register) {
            return Some(number);
        }
        let data = self.function.register(register);
        let number = match data.class.expand() {
            Some(class) => self.new_register_of(class),
            None => self.new_register(data.file, data.bits)?,
        };
        self.register_numbers.insert(register, number);
        Some(number)
    }

    /// Creates a register of the class for this file and width.
    pub(super) fn new_register(&mut self, file: RegisterFile, bits: u16) -> Option<u32> {
        let wanted = match file {
            RegisterFile::R | RegisterFile::Ur => MachineFile::General,
            RegisterFile::P | RegisterFile::Up => MachineFile::Predicate,
            RegisterFile::B => return None,
        };
        let mut classes = self.snapshot.arrays().register_classes.iter();
        let is_wanted = |class: &oriel_engine::snapshot::abi::RegisterClassRecord| {
            class.file == wanted as u32 && class.bits == u32::from(bits)
        };
        let class = classes.position(is_wanted)?;
        Some(self.new_register_of(RegisterClass::new(class)))
    }

    fn new_register_of(&mut self, class: RegisterClass) -> u32 {
        self.plan.new_registers.push(class.as_u32());
        (self.snapshot.register_count() + self.plan.new_registers.len() - 1) as u32
    }

    pub(super) fn constant_number(&mut self, constant: Constant) -> Option<u32> {
        let snapshot = self.snapshot;
        let known = self.constant_numbers.get_or_insert_with(|| {
            let constants = snapshot.arrays().constants.iter().enumerate();
            constants
                .map(|(index, record)| (constant_of(record), index as u32))
                .collect()
        });
        if let Some(&number) = known.get(&constant) {
            return Some(number);
        }
        let Constant::Bits {
            kind,
            bits,
            low,
            high,
        } = constant
        else {
            return None;
        };
        // LLVM's printer does not support wide integers.
        if matches!(kind, ConstantKind::Integer | ConstantKind::Other) {
            return None;
        }
        let number = (snapshot.arrays().constants.len() + self.plan.constants.len()) as u32;
        self.plan.constants.push(ConstantRecord {
            low,
            high,
            kind: kind as u32,
            bits,
        });
        known.insert(constant, number);
        Some(number)
    }
}

/// Returns the constant of a record.
pub(super) fn constant_of(record: &ConstantRecord) -> Constant {
    Constant::Bits {
        kind: ConstantKind::from_abi(record.kind).unwrap_or(ConstantKind::Other),
        bits: record.bits,
        low: record.low,
        high: record.high,
    }
}
