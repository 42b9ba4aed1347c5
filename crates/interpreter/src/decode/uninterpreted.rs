//! Inline assembly, and opcodes without a meaning in Ori.

use super::*;
use crate::thread_effects::{mix, mix_text};
use crate::uninterpreted::{Cells, Uninterpreted};
use oriel_engine::snapshot::abi::OpcodeFlags;
use oriel_ori::{AssemblyGroup, AssemblyGroupKind, InstructionFlags};

impl Compiler<'_> {
    /// Returns a hash that identifies a fence, an atomic operation or an access with an ordering.
    pub(super) fn event(&self) -> u64 {
        let modifiers = self.function.modifiers(self.current);
        let names = [
            self.function.operation(self.current).name(),
            modifiers.ordering.name(),
            modifiers.scope.name(),
            modifiers.variant.name(),
        ];
        names.into_iter().fold(0, mix_text)
    }

    pub(super) fn compile_uninterpreted(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let flags = self.function.flags(self.current);
        let opcode = self.function.machine_opcode(self.current);
        let of_opcode = opcode.map_or(OpcodeFlags::SIDE_EFFECTS, |opcode| opcode.flags);
        let is_assembly = operation == Operation::InlineAsm;
        // Labels and markers emit nothing.
        if !is_assembly && of_opcode.intersects(OpcodeFlags::POSITION | OpcodeFlags::META) {
            self.emit(Step::Nothing);
            return Ok(());
        }
        let (reads, effects) = match is_assembly {
            true => (
                flags.contains(InstructionFlags::ASM_READS),
                flags.intersects(InstructionFlags::ASM_WRITES | InstructionFlags::ASM_SIDE_EFFECTS),
            ),
            false => (
                of_opcode.contains(OpcodeFlags::MAY_LOAD),
                of_opcode.intersects(OpcodeFlags::MAY_STORE | OpcodeFlags::SIDE_EFFECTS | OpcodeFlags::CALL),
            ),
        };
        let mut what = Uninterpreted {
            identity: mix_text(0, &self.function_text(self.current)),
            reads_memory: reads,
            has_effect: effects,
            ..Uninterpreted::default()
        };
        for result in self.function.results(self.current) {
            what.results.extend(self.cells(result));
        }
        match self.function.assembly_groups(self.current) {
            Some(groups) => self.read_assembly(&groups, &mut what)?,
            None => {
                for source in self.function.sources(self.current) {
                    self.read_operand(source, None, &mut what)?;
                }
            }
        }
        what.message = self.program.unsupported.len() as u32;
        self.program.unsupported.push(self.function_text(self.current));
        let number = self.program.uninterpreted.len() as u32;
        self.program.uninterpreted.push(what);
        self.emit(Step::Uninterpreted(number));
        Ok(())
    }

    fn read_assembly(
        &mut self,
        groups: &[AssemblyGroup],
        what: &mut Uninterpreted,
    ) -> Result<(), Unsupported> {
        let sources: Vec<Operand> = self.function.sources(self.current).iter().collect();
        let results: Vec<Operand> = self.function.results(self.current).iter().collect();
        for &text in sources.iter().take(2) {
            self.read_operand(text, None, what)?;
        }
        // In the late form, a tied input has the register of its result.
        let is_late = self.function.info.flags.contains(FunctionFlags::NO_PHIS);
        for group in groups {
            let (kind, count) = (group.kind as u64, group.operands.len() as u64);
            what.identity = mix(what.identity, kind << 32 | count);
            match group.kind {
                AssemblyGroupKind::Written | AssemblyGroupKind::Clobbered => continue,
                AssemblyGroupKind::WrittenEarly => {
                    let early = results[group.operands.clone()].iter();
                    what.early.extend(early.filter_map(|&result| self.cells(result)));
                    continue;
                }
                _ => {}
            }
            for number in group.operands.clone() {
                let source = sources[number];
                let tied = group.tied_result(number).map(|result| results[result]);
                let bits = match tied {
                    Some(result) => self.cells(result).map(|cells| cells.bits),
                    None => register_bits(group),
                };
                let source = match tied {
                    Some(result) if is_late && !source.is_undefined() => result,
                    _ => source,
                };
                self.read_operand(source, bits, what)?;
            }
        }
        let end = groups.last().map_or(2, |last| last.end);
        for &source in sources.iter().skip(end) {
            self.read_operand(source, None, what)?;
        }
        Ok(())
    }

    /// Returns the rows of a register's value.
    fn cells(&self, operand: Operand) -> Option<Cells> {
        let register = operand.as_register()?;
        Some(Cells {
            row: self.registers[register.index()],
            bits: u32::from(self.function.register(register).bits),
        })
    }

    /// Adds an operand to the instruction's identity or inputs. A constant in place of a register
    /// has that register's width.
    fn read_operand(
        &mut self,
        operand: Operand,
        bits: Option<u32>,
        what: &mut Uninterpreted,
    ) -> Result<(), Unsupported> {
        // The width of an undefined value does not matter.
        if operand.is_undefined() {
            what.identity = mix(what.identity, 0xDEF);
            return Ok(());
        }
        match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                let bits = u32::from(self.function.register(register).bits);
                let row = match operand.is_modified() {
                    true => {
                        let data_type = DataType::of_bits(bits).unwrap_or_default();
                        let row = self.register_row(register, bits)?;
                        self.modified(row, operand, bits, data_type)?
                    }
                    false => self.registers[register.index()],
                };
                what.inputs.push(Cells { row, bits });
            }
            OperandKind::Immediate(_) | OperandKind::Constant(_) => {
                let value = self.constant(operand)?;
                match bits {
                    Some(bits @ 1..=64) => {
                        let row = self.constant_row(bits, value);
                        what.inputs.push(Cells { row, bits });
                    }
                    _ => what.identity = mix(what.identity, value),
                }
            }
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::Symbol { symbol, offset } => {
                    let name = self.function.symbol_name(symbol);
                    what.identity = mix(mix_text(what.identity, name), offset as u64);
                }
                Special::Frame(_) => {
                    let row = self.plain_source(operand, 64)?;
                    what.inputs.push(Cells { row, bits: 64 });
                }
                Special::SpecialRegister(register) => {
                    what.identity = mix_text(what.identity, register.name());
                }
                Special::Physical(_) | Special::Machine { .. } => {}
            },
            // This instruction does not decide where control continues.
            OperandKind::Target(_) | OperandKind::FallThrough(_) | OperandKind::None => {}
        }
        Ok(())
    }
}

/// Returns the bits of each register of a group, if it reads any.
fn register_bits(group: &AssemblyGroup) -> Option<u32> {
    match (group.kind, group.class) {
        (AssemblyGroupKind::Memory, _) => Some(64),
        (AssemblyGroupKind::Read, 1) => Some(1),
        (AssemblyGroupKind::Read, 2) => Some(16),
        (AssemblyGroupKind::Read, 6) => Some(64),
        (AssemblyGroupKind::Read, 7) => Some(128),
        (AssemblyGroupKind::Read, _) => Some(32),
        _ => None,
    }
}
