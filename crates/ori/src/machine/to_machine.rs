//! Conversion from Ori to a plan.
//!
//! Unedited instructions are kept by number. An edited instruction is lowered and compared with the
//! machine instruction that it was created from, so that the plan contains only the differences. An
//! unchanged function gives [`Plan::identity`].
//!
//! A branch to the block that follows in the layout needs no machine instruction. An untouched one
//! of the input is kept all the same.

#[cfg(test)]
mod tests;

use super::from_machine::Reading;
use super::lower::{Lowered, Records, is_same};
use crate::function::{Constant, Function, Instruction, InstructionFlags, RegisterFile};
use crate::operand::{Operand, OperandKind};
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
    ConstantKind, ConstantRecord, EdgeRecord, FrameFlags, OperandRecord, PROBABILITY_DENOMINATOR,
    PROBABILITY_UNKNOWN, RegisterFile as MachineFile, StringRecord,
};
use smallvec::SmallVec;

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

/// Returns the plan that turns the machine function of `snapshot` into `function`, which was
/// created from it.
///
/// # Errors
/// LLVM has no instructions for a part of it.
pub fn to_machine(function: &Function, snapshot: &Snapshot<'_>) -> Result<Plan, ExportError> {
    let mut exporter = Exporter::new(function, snapshot);
    for (position, &block) in function.blocks().iter().enumerate() {
        let next = function.blocks().get(position + 1).copied();
        exporter.export_block(block, next)?;
    }
    Ok(exporter.finish())
}

/// The conversion of a function to a plan.
pub(super) struct Exporter<'a> {
    pub(super) function: &'a Function,
    pub(super) snapshot: Snapshot<'a>,
    readings: Vec<Reading>,
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
    fn new(function: &'a Function, snapshot: &Snapshot<'a>) -> Self {
        let mut block_numbers = SecondaryMap::new();
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
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                let flags = function.flags(instruction);
                if !flags.intersects(InstructionFlags::NEW | InstructionFlags::CLONE) {
                    for origin in function.origins(instruction) {
                        claimed.set(origin.index(), true);
                    }
                }
            }
        }
        let mut plan = Plan::default();
        plan.instructions.reserve(snapshot.instruction_count() + 1);
        plan.blocks.reserve(function.blocks().len() + 1);
        Self {
            function,
            snapshot: *snapshot,
            readings: Reading::of_opcodes(snapshot),
            plan,
            block_numbers,
            register_numbers: NumberMap::default(),
            opcode_numbers: NumberMap::default(),
            constant_numbers: None,
            claimed,
        }
    }

    fn finish(mut self) -> Plan {
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

    fn export_block(&mut self, block: Block, next: Option<Block>) -> Result<(), ExportError> {
        let function = self.function;
        let is_new = block.index() >= function.input_blocks;
        let origin = function.blocks[block].origin.filter(|_| is_new);
        self.plan.blocks.push(PlanBlockRecord {
            block: self.block_number(block).unwrap_or_default(),
            origin: origin.map_or(0, Block::as_u32),
            first_instruction: self.plan.instructions.len() as u32,
            first_successor: self.plan.successors.len() as u32,
        });
        let terminator = function
            .terminator(block)
            .ok_or(ExportError::NoTerminator(block.index()))?;
        for instruction in function.instructions(block) {
            if instruction == terminator {
                self.export_terminator(instruction, next)?;
            } else {
                self.export_instruction(instruction)?;
            }
        }
        self.export_edges(block, origin);
        Ok(())
    }

    fn export_instruction(&mut self, instruction: Instruction) -> Result<(), ExportError> {
        let flags = self.function.flags(instruction);
        let origin = self.function.origin(instruction);
        let is_made = flags.intersects(InstructionFlags::NEW | InstructionFlags::CLONE);
        if let Some(origin) = origin
            && !is_made
            && !flags.contains(InstructionFlags::EDITED)
        {
            self.emit(PlanAction::Keep, Some(origin), 0, &[]);
            self.add_merged(instruction);
            return Ok(());
        }
        let lowered = self.lower(instruction)?;
        self.export_lowered(instruction, origin, lowered);
        self.add_merged(instruction);
        Ok(())
    }

    /// Emits a machine instruction for `instruction` in place of `origin`.
    fn export_lowered(
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
    fn emit_changed(&mut self, origin: MachineInstruction, operands: &[OperandRecord]) {
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

    fn emit(
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
    fn add_merged(&mut self, instruction: Instruction) {
        let merged = self.function.merged(instruction);
        self.plan
            .merged
            .extend(merged.iter().map(|instruction| instruction.as_u32()));
    }
}

/// Numbers of the plan's entities.
impl Exporter<'_> {
    pub(super) fn reading(&self, instruction: MachineInstruction) -> Reading {
        let record = &self.snapshot.arrays().instructions[instruction.index()];
        self.readings[record.opcode as usize]
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

/// The ends of blocks.
impl Exporter<'_> {
    fn export_terminator(
        &mut self,
        instruction: Instruction,
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let function = self.function;
        let sources: SmallVec<[Operand; 4]> = function.sources(instruction).iter().collect();
        match function.operation(instruction) {
            Operation::Bra => self.export_branch(instruction, &sources, next)?,
            Operation::Brx => self.export_table(instruction, &sources)?,
            Operation::Ret => self.export_plain_end(instruction, "Return"),
            Operation::Exit => self.export_plain_end(instruction, "EXIT"),
            Operation::End => {}
            operation => self.export_opaque_end(instruction, operation, &sources, next)?,
        }
        Ok(())
    }

    fn is_untouched(&self, instruction: Instruction) -> bool {
        let touched = InstructionFlags::EDITED | InstructionFlags::NEW | InstructionFlags::CLONE;
        !self.function.flags(instruction).intersects(touched)
    }

    fn export_plain_end(&mut self, instruction: Instruction, opcode: &'static str) {
        let lowered = Lowered {
            opcode: Some(opcode),
            operands: Records::new(),
        };
        self.export_lowered(instruction, self.function.origin(instruction), lowered);
        self.add_merged(instruction);
    }

    /// Returns the machine branch of a kind among the origins of `instruction`.
    fn origin_of_kind(
        &self,
        instruction: Instruction,
        is_kind: fn(Reading) -> bool,
    ) -> Option<MachineInstruction> {
        let mut origins = self.function.origins(instruction);
        origins.find(|&origin| is_kind(self.reading(origin)))
    }

    fn export_branch(
        &mut self,
        instruction: Instruction,
        sources: &[Operand],
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let no_opcode = ExportError::NoOpcode(instruction, Operation::Bra);
        let goto = self.origin_of_kind(instruction, |reading| matches!(reading, Reading::Branch));
        let last = *sources.last().ok_or_else(|| no_opcode.clone())?;
        let mut other = last.as_block().ok_or_else(|| no_opcode.clone())?;
        if let [predicate, taken, _] = *sources {
            let mut taken = taken.as_block().ok_or_else(|| no_opcode.clone())?;
            if predicate.is_complemented() {
                (taken, other) = (other, taken);
            }
            if taken != other || self.is_untouched(instruction) {
                let conditional = self.origin_of_kind(instruction, |reading| {
                    matches!(reading, Reading::ConditionalBranch)
                });
                let predicate = self.record(predicate.complemented(false), false, None);
                let target = self.record(Operand::target(taken), false, None);
                let operands = predicate.into_iter().chain(target).collect::<Records>();
                if operands.len() != 2 {
                    return Err(no_opcode);
                }
                let lowered = Lowered {
                    opcode: Some("CBranch"),
                    operands,
                };
                self.export_lowered(instruction, conditional, lowered);
                self.add_merged(instruction);
            }
        }
        if next == Some(other) && !(self.is_untouched(instruction) && goto.is_some()) {
            return Ok(());
        }
        let target = self
            .record(Operand::target(other), false, None)
            .ok_or(no_opcode)?;
        let lowered = Lowered {
            opcode: Some("GOTO"),
            operands: Records::from_slice(&[target]),
        };
        self.export_lowered(instruction, goto, lowered);
        if sources.len() == 1 {
            self.add_merged(instruction);
        }
        Ok(())
    }

    /// Exports a branch table. Start, items and end keep their number; targets and index may
    /// change.
    fn export_table(&mut self, instruction: Instruction, sources: &[Operand]) -> Result<(), ExportError> {
        let function = self.function;
        let origins: SmallVec<[MachineInstruction; 8]> = function.origins(instruction).collect();
        let made = InstructionFlags::NEW | InstructionFlags::CLONE;
        // The index, a target for each but the start, and the table's number.
        if function.flags(instruction).intersects(made) || sources.len() != origins.len() + 1 {
            return Err(ExportError::Table(instruction));
        }
        let index = sources[0];
        let mut targets = sources[1..].iter();
        for &origin in &origins {
            let operands = match self.reading(origin) {
                Reading::TableStart => {
                    self.emit(PlanAction::Keep, Some(origin), 0, &[]);
                    self.add_merged(instruction);
                    continue;
                }
                Reading::TableItem => targets
                    .next()
                    .and_then(|&target| self.lower_opaque(origin, &[], &[target])),
                _ => {
                    let table = self.only_record(origin, 2);
                    let target = targets
                        .next()
                        .and_then(|&target| self.record(target, false, None));
                    let index = self.record(index, false, None);
                    target.into_iter().chain(index).chain(table).map(Some).collect()
                }
            };
            let operands = operands.filter(|operands| {
                operands.len() == self.snapshot.instruction(origin).operand_records().len()
            });
            self.emit_changed(origin, &operands.ok_or(ExportError::Table(instruction))?);
        }
        Ok(())
    }

    fn only_record(&self, instruction: MachineInstruction, number: usize) -> Option<OperandRecord> {
        let records = self.snapshot.instruction(instruction).operand_records();
        records.get(number).copied()
    }

    /// Exports an opaque terminator. A last source of its own names the block that control falls
    /// through to.
    fn export_opaque_end(
        &mut self,
        instruction: Instruction,
        operation: Operation,
        sources: &[Operand],
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let function = self.function;
        let origin = function
            .origin(instruction)
            .ok_or(ExportError::NoOrigin(instruction))?;
        let mut named = sources;
        if let Some((last, rest)) = sources.split_last()
            && let OperandKind::FallThrough(block) = last.kind()
        {
            if next != Some(block) {
                return Err(ExportError::FallThrough(instruction));
            }
            named = rest;
        }
        let results: SmallVec<[Operand; 2]> = function.results(instruction).iter().collect();
        let operands = self
            .lower_opaque(origin, &results, named)
            .ok_or(ExportError::NoOpcode(instruction, operation))?;
        self.export_lowered(
            instruction,
            Some(origin),
            Lowered {
                opcode: None,
                operands,
            },
        );
        self.add_merged(instruction);
        Ok(())
    }
}

/// Edges.
impl Exporter<'_> {
    /// Adds the edges of a block: the input's if they lead to the same blocks, otherwise edges with
    /// probabilities where known.
    fn export_edges(&mut self, block: Block, origin: Option<Block>) {
        let mut targets: SmallVec<[Block; 4]> = SmallVec::new();
        for successor in self.function.successors(block) {
            if !targets.contains(&successor) {
                targets.push(successor);
            }
        }
        let model = if block.index() < self.function.input_blocks {
            Some(block)
        } else {
            origin
        };
        let old = model.map_or(&[][..], |model| self.snapshot.edges(model));
        let leads_to = |target: Block| old.iter().any(|edge| edge.block == target.as_u32());
        let is_same = old
            .iter()
            .all(|edge| targets.contains(&Block::from_u32(edge.block)))
            && targets.iter().all(|&target| leads_to(target));
        if is_same {
            self.plan.successors.extend_from_slice(old);
            return;
        }
        let probabilities = probabilities(&targets, old);
        for (target, probability) in targets.into_iter().zip(probabilities) {
            let block = self.block_number(target).unwrap_or(target.as_u32());
            self.plan.successors.push(EdgeRecord { block, probability });
        }
    }
}

/// Returns the known probabilities of the edges to `targets`, given the old edges. A single edge is
/// certain; an edge with a new target keeps its probability; the remaining ones of several are
/// scaled.
fn probabilities(targets: &[Block], old: &[EdgeRecord]) -> SmallVec<[u32; 4]> {
    let unknown: SmallVec<[u32; 4]> = SmallVec::from_elem(PROBABILITY_UNKNOWN, targets.len());
    if targets.len() == 1 {
        return SmallVec::from_elem(PROBABILITY_DENOMINATOR, 1);
    }
    if old.iter().any(|edge| edge.probability == PROBABILITY_UNKNOWN) {
        return unknown;
    }
    let is_kept = |edge: &&EdgeRecord| targets.contains(&Block::from_u32(edge.block));
    let mut lost = old.iter().filter(|edge| !is_kept(edge));
    let known = |target: &Block| {
        let edges = old.iter().filter(|edge| edge.block == target.as_u32());
        edges.map(|edge| u64::from(edge.probability)).reduce(|a, b| a + b)
    };
    let mut shares: SmallVec<[Option<u64>; 4]> = targets.iter().map(known).collect();
    let mut missing = shares.iter_mut().filter(|share| share.is_none());
    if let (Some(share), None, Some(lost), None) = (missing.next(), missing.next(), lost.next(), lost.next())
    {
        *share = Some(u64::from(lost.probability));
    }
    let Some(shares) = shares.into_iter().collect::<Option<SmallVec<[u64; 4]>>>() else {
        return unknown;
    };
    let sum: u64 = shares.iter().sum();
    if sum == 0 {
        return unknown;
    }
    let scaled = |share: u64| (share * u64::from(PROBABILITY_DENOMINATOR) / sum) as u32;
    shares.into_iter().map(scaled).collect()
}
