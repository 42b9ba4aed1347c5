//! Lowering of one Ori instruction to a machine instruction.
//!
//! The machine instruction that it was created from comes first: if its opcode still fits, only
//! operands change. Otherwise the mappings of the operation are searched: with the operands as they
//! are, with the first two exchanged, and with constants moved into registers.

use super::exporter::{ExportError, Exporter, Lowered, Records, is_same};
use super::fit::{BestMapping, Fit, Written, best_mapping, description_of, fit, is_register, special_fits};
use super::from_machine::Reading;
use super::opcode_mapping::{OpcodeMapping, mappings_of};
use super::operand_class::OperandClass;
use crate::function::{Constant, Instruction, RegisterFile, Special};
use crate::modifiers::Modifiers;
use crate::operand::{Operand, OperandKind};
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{Instruction as MachineInstruction, Register};
use oriel_engine::snapshot::abi::{ConstantKind, OperandFlags, OperandKind as RecordKind, OperandRecord};
use smallvec::SmallVec;

/// The input operand that a new one replaces: instruction, number, record.
type Input<'a> = Option<(MachineInstruction, usize, &'a OperandRecord)>;

impl Exporter<'_> {
    /// Lowers an instruction that is not a terminator.
    pub(super) fn lower(&mut self, instruction: Instruction) -> Result<Lowered, ExportError> {
        let function = self.function;
        let results: SmallVec<[Operand; 2]> = function.results(instruction).iter().collect();
        let sources: SmallVec<[Operand; 4]> = function.sources(instruction).iter().collect();
        let operation = function.operation(instruction);
        if operation.is_opaque() || operation.is_debug() {
            let origin = function
                .origin(instruction)
                .ok_or(ExportError::NoOrigin(instruction))?;
            let operands = self
                .lower_opaque(origin, &results, &sources)
                .ok_or(ExportError::NoOpcode(instruction, operation))?;
            return Ok(Lowered {
                opcode: None,
                operands,
            });
        }
        let written = Written {
            description: description_of(function, instruction),
            results: &results,
            sources: &sources,
        };
        if let Some(plain) = self.lower_plain(operation, &written) {
            return Ok(plain);
        }
        if let Some(origin) = function.origin(instruction)
            && let Reading::Mapped(mapping) = self.reading(origin)
            && mapping.operation == operation
            && let Some(operands) = self.write(mapping, &written, Some(origin))
        {
            return Ok(Lowered {
                opcode: Some(mapping.name()),
                operands,
            });
        }
        self.search(operation, written)
            .ok_or(ExportError::NoOpcode(instruction, operation))
    }

    /// Lowers operations whose opcodes take registers of every class.
    fn lower_plain(&mut self, operation: Operation, written: &Written<'_>) -> Option<Lowered> {
        let opcode = match operation {
            Operation::Copy => "COPY",
            Operation::Phi => "PHI",
            Operation::ImplicitDef => "IMPLICIT_DEF",
            _ => return None,
        };
        let is_expected = |(number, source): (usize, &Operand)| match (operation, number % 2) {
            (Operation::Phi, 1) => matches!(source.kind(), OperandKind::Target(_)),
            _ => source.as_register().is_some() && !source.is_modified(),
        };
        if !written.sources.iter().enumerate().all(is_expected) {
            // A copy of a constant is a move.
            return None;
        }
        let mut operands = Records::new();
        for result in written.results {
            operands.push(self.record(*result, true, None)?);
        }
        for source in written.sources {
            operands.push(self.record(*source, false, None)?);
        }
        Some(Lowered {
            opcode: Some(opcode),
            operands,
        })
    }

    /// Returns the operands of the origin with results and sources replaced in their positions.
    pub(super) fn lower_opaque(
        &mut self,
        origin: MachineInstruction,
        results: &[Operand],
        sources: &[Operand],
    ) -> Option<Records> {
        let records = self.snapshot.instruction(origin).operand_records();
        let (mut results, mut sources) = (results.iter(), sources.iter());
        let is_debug = matches!(self.reading(origin), Reading::Debug);
        let mut operands = Records::new();
        for (number, record) in records.iter().enumerate() {
            let is_result = !is_debug && record.flags & OperandFlags::DEF.bits() != 0;
            let operand = if is_result { results.next() } else { sources.next() };
            let mut new = self.record(*operand?, is_result, Some((origin, number, record)))?;
            // LLVM has numbers where its description of the opcode demands a register, as for the size of
            // `applypriority`. What it put there itself may stay.
            if new.kind == RecordKind::Immediate as u8 && is_same(&new, record, origin, number) {
                new = original(origin, number as u32);
            }
            operands.push(new);
        }
        (results.next().is_none() && sources.next().is_none()).then_some(operands)
    }

    /// Lowers an instruction by any mapping of its operation.
    fn search(&mut self, operation: Operation, written: Written<'_>) -> Option<Lowered> {
        let BestMapping { mapping, swapped, .. } = best_mapping(self.function, operation, &written)?;
        let written = match &swapped {
            Some((description, sources)) => Written {
                description: *description,
                results: written.results,
                sources,
            },
            None => written,
        };
        let operands = self.write(mapping, &written, None)?;
        Some(Lowered {
            opcode: Some(mapping.name()),
            operands,
        })
    }

    /// Returns the operands for `mapping`, and moves constants into registers first where
    /// necessary. Operands that are those of the origin need no check.
    fn write(
        &mut self,
        mapping: &'static OpcodeMapping,
        written: &Written<'_>,
        origin: Option<MachineInstruction>,
    ) -> Option<Records> {
        let counts_fit = mapping.result_count() == written.results.len()
            && written.sources.len() >= mapping.source_count();
        if !counts_fit
            || !mapping.describes(&written.description)
            || !special_fits(self.function, mapping, written)
        {
            return None;
        }
        let input = origin.map(|origin| (origin, self.snapshot.instruction(origin).operand_records()));
        if input.is_some_and(|(_, records)| records.len() != mapping.operands().len()) {
            return None;
        }
        let mut results = written.results.iter();
        let mut sources = written.sources.iter().copied().enumerate();
        let fixed: Modifiers = mapping.description.modifiers;
        let mut operands = Records::new();
        for (number, &class) in mapping.operands().iter().enumerate() {
            let old = input.map(|(origin, records)| (origin, number, &records[number]));
            let record = match class {
                OperandClass::Result(bits) => {
                    let result = *results.next()?;
                    if !is_register(self.function, result, bits) {
                        return None;
                    }
                    self.record(result, true, old)?
                }
                OperandClass::Modifier(encoding) => immediate(encoding.encode(&written.description, &fixed)?),
                OperandClass::UsedBytes => {
                    let mask = written.sources.get(mapping.source_count());
                    immediate(mask.map_or(Some(-1), |&mask| self.function.integer(mask))?)
                }
                _ => self.write_source(mapping, class, sources.next()?, old)?,
            };
            operands.push(record);
        }
        Some(operands)
    }

    fn write_source(
        &mut self,
        mapping: &OpcodeMapping,
        class: OperandClass,
        (number, source): (usize, Operand),
        old: Input<'_>,
    ) -> Option<OperandRecord> {
        if let Some((origin, of_origin, input)) = old
            && let Some(record) = self.record(source, false, old)
            && is_same(&record, input, origin, of_origin)
        {
            return Some(record);
        }
        match (fit(self.function, mapping, class, number, source), class) {
            (Fit::Good, _) => self.record(source, false, old),
            // The origin's opcode is preferred only if it needs no extra instruction.
            (Fit::AfterMove, OperandClass::Register(bits)) if old.is_none() => {
                self.move_to_register(source, bits)
            }
            _ => None,
        }
    }

    /// Adds a move of a constant to a new register, and returns a use of it.
    fn move_to_register(&mut self, constant: Operand, bits: u8) -> Option<OperandRecord> {
        let data_type = match constant.kind() {
            OperandKind::Constant(id) => match self.function.constant_data(id) {
                Constant::Bits { kind, .. } => match kind {
                    ConstantKind::Half => DataType::F16,
                    ConstantKind::Bfloat => DataType::Bf16,
                    ConstantKind::Single => DataType::F32,
                    ConstantKind::Double => DataType::F64,
                    ConstantKind::Integer | ConstantKind::Other => return None,
                },
                Constant::Integer(_) => DataType::of_bits(u32::from(bits))?,
            },
            _ => DataType::of_bits(u32::from(bits))?,
        };
        let takes_constant =
            |mapping: &&OpcodeMapping| matches!(mapping.operands(), [_, OperandClass::Constant(_)]);
        let mapping = mappings_of(Operation::Mov, data_type).find(takes_constant)?;
        let file = if bits == 1 {
            RegisterFile::P
        } else {
            RegisterFile::R
        };
        let register = self.new_register(file, u16::from(bits))?;
        let definition = register_record(register, OperandFlags::DEF);
        let value = self.record(constant, false, None)?;
        self.emit_new(mapping.name(), None, &[definition, value]);
        Some(register_record(register, OperandFlags::empty()))
    }

    /// Returns the record of an operand, or none if only the input could provide it and does not.
    pub(super) fn record(
        &mut self,
        operand: Operand,
        written: bool,
        old: Input<'_>,
    ) -> Option<OperandRecord> {
        if operand.is_modified() {
            return None;
        }
        let stays = |kind: RecordKind, index: u32| {
            let (origin, number, record) = old?;
            (record.kind == kind as u8 && record.index == index).then(|| original(origin, number as u32))
        };
        let indexed = |kind: RecordKind, index: u32, value: i64| OperandRecord {
            kind: kind as u8,
            index,
            value,
            ..OperandRecord::default()
        };
        Some(match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                self.record_of_register(operand, register, written, old)?
            }
            OperandKind::Immediate(value) => immediate(i64::from(value)),
            OperandKind::Constant(id) => match self.function.constant_data(id) {
                Constant::Integer(value) => immediate(value),
                constant @ Constant::Bits { .. } => {
                    indexed(RecordKind::Constant, self.constant_number(constant)?, 0)
                }
            },
            OperandKind::Target(block) | OperandKind::FallThrough(block) => {
                indexed(RecordKind::Block, self.block_number(block)?, 0)
            }
            OperandKind::Special(id) => match self.function.special_data(id) {
                Special::Symbol { symbol, offset } => {
                    let index = symbol.as_u32();
                    let same_offset = old.is_some_and(|(.., record)| record.value == offset);
                    let kept = stays(RecordKind::Symbol, index).filter(|_| same_offset);
                    kept.unwrap_or_else(|| indexed(RecordKind::Symbol, index, offset))
                }
                Special::Frame(object) => stays(RecordKind::FrameIndex, object.as_u32())
                    .unwrap_or_else(|| indexed(RecordKind::FrameIndex, object.as_u32(), 0)),
                Special::Physical(register) => stays(RecordKind::Physical, register.as_u32())?,
                Special::Machine { instruction, operand } => original(instruction, operand),
                Special::SpecialRegister(_) => return None,
            },
            OperandKind::None => stays(RecordKind::NoRegister, 0)?,
        })
    }

    fn record_of_register(
        &mut self,
        operand: Operand,
        register: Register,
        written: bool,
        old: Input<'_>,
    ) -> Option<OperandRecord> {
        let index = self.register_number(register)?;
        let mut flags = if written {
            OperandFlags::DEF
        } else {
            OperandFlags::empty()
        };
        flags.set(OperandFlags::UNDEF, operand.is_undefined());
        let mut tied_to = 0;
        if let Some((_, _, record)) = old
            && record.kind == RecordKind::Register as u8
        {
            // These flags belong to the position, whatever register is there.
            let of_place = OperandFlags::IMPLICIT | OperandFlags::EARLY_CLOBBER | OperandFlags::INTERNAL_READ;
            flags |= OperandFlags::from_bits_truncate(record.flags) & of_place;
            tied_to = record.tied_to;
        }
        Some(OperandRecord {
            tied_to,
            ..register_record(index, flags)
        })
    }
}

/// The operand of the input's instruction in a position.
fn original(instruction: MachineInstruction, number: u32) -> OperandRecord {
    OperandRecord {
        kind: RecordKind::Original as u8,
        index: instruction.as_u32(),
        value: i64::from(number),
        ..OperandRecord::default()
    }
}

pub(super) fn immediate(value: i64) -> OperandRecord {
    OperandRecord {
        kind: RecordKind::Immediate as u8,
        value,
        ..OperandRecord::default()
    }
}

pub(super) fn register_record(index: u32, flags: OperandFlags) -> OperandRecord {
    OperandRecord {
        kind: RecordKind::Register as u8,
        flags: flags.bits(),
        index,
        ..OperandRecord::default()
    }
}
