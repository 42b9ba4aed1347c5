//! Inline assembly, and opcodes without a meaning.
//!
//! The operands of inline assembly are those of LLVM's `INLINEASM`: the text, a word of properties, then for each
//! constraint a word that says how many registers of which kind come next. Results stand apart from sources here, so that the
//! words say which is which.

use super::*;
use crate::execute::uninterpreted::{Cells, Uninterpreted, mix, mix_text};
use crate::ori::InstructionFlags;
use crate::snapshot::abi::OpcodeFlags;

/// The word in front of the registers of a constraint, as LLVM 22 has it.
#[derive(Clone, Copy)]
struct Constraint {
    kind: u32,
    count: usize,
    /// The register class, numbered from one; of a tied input the constraint that it is tied to.
    data: u32,
    is_tied: bool,
}

impl Constraint {
    const INPUT: u32 = 1;
    const RESULT: u32 = 2;
    const EARLY_RESULT: u32 = 3;
    const MEMORY: u32 = 6;

    fn new(word: i64) -> Self {
        let word = word as u32;
        Self {
            kind: word & 7,
            count: (word >> 3 & 0x1FFF) as usize,
            data: word >> 16 & 0x7FFF,
            is_tied: word >> 31 != 0,
        }
    }

    const fn is_result(self) -> bool {
        matches!(self.kind, Self::RESULT | Self::EARLY_RESULT)
    }

    /// Bits of the registers of the class.
    const fn bits(self) -> u32 {
        match self.data {
            1 => 1,
            2 => 16,
            6 => 64,
            7 => 128,
            _ => 32,
        }
    }
}

impl Compiler<'_> {
    /// What a fence, an atomic operation or an access with an ordering is, as a hash.
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
        let constraints = if is_assembly { self.constraints() } else { None };
        match constraints {
            Some(constraints) => self.read_assembly(&constraints, &mut what)?,
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

    /// The words of inline assembly, with the number of the source behind each; none if operands are not as LLVM has them.
    fn constraints(&self) -> Option<Vec<(Constraint, usize)>> {
        let sources = self.function.sources(self.current);
        let results = self.function.results(self.current).len();
        let mut constraints = Vec::new();
        let (mut at, mut defined) = (2, 0);
        while at < sources.len() {
            // Source locations and implicit operands come last.
            let Some(word) = self.function.integer(sources.get(at)) else {
                break;
            };
            let constraint = Constraint::new(word);
            at += 1;
            constraints.push((constraint, at));
            if constraint.is_result() {
                defined += constraint.count;
            } else {
                at += constraint.count;
            }
        }
        (at <= sources.len() && defined <= results).then_some(constraints)
    }

    fn read_assembly(
        &mut self,
        constraints: &[(Constraint, usize)],
        what: &mut Uninterpreted,
    ) -> Result<(), Unsupported> {
        let sources: Vec<Operand> = self.function.sources(self.current).iter().collect();
        for &text in sources.iter().take(2) {
            self.read_operand(text, None, what)?;
        }
        let all_results: Vec<Operand> = self.function.results(self.current).iter().collect();
        // Where the results of each constraint begin.
        let mut starts = Vec::new();
        let (mut defined, mut end) = (0, 2);
        for &(constraint, first) in constraints {
            what.identity = mix(
                what.identity,
                u64::from(constraint.kind) << 32 | constraint.count as u64,
            );
            starts.push(defined);
            end = first;
            if constraint.is_result() {
                let these = defined..defined + constraint.count;
                defined = these.end;
                if constraint.kind == Constraint::EARLY_RESULT {
                    let early = all_results[these].iter();
                    what.early.extend(early.filter_map(|&result| self.cells(result)));
                }
                continue;
            }
            end = first + constraint.count;
            // From the late form on, the register of a tied input is that of its result.
            let tied = starts
                .get(constraint.data as usize)
                .filter(|_| constraint.is_tied);
            let is_late = self.function.info.flags.contains(FunctionFlags::NO_PHIS);
            for (number, &source) in sources[first..end].iter().enumerate() {
                let result = tied.and_then(|&start| all_results.get(start + number)).copied();
                let bits = match result {
                    Some(result) => self.cells(result).map(|cells| cells.bits),
                    None if constraint.kind == Constraint::INPUT => Some(constraint.bits()),
                    None if constraint.kind == Constraint::MEMORY => Some(64),
                    None => None,
                };
                let source = match result {
                    Some(result) if is_late && !source.is_undefined() => result,
                    _ => source,
                };
                self.read_operand(source, bits, what)?;
            }
        }
        for &source in &sources[end.min(sources.len())..] {
            self.read_operand(source, None, what)?;
        }
        Ok(())
    }

    /// Where the value of a register is.
    fn cells(&self, operand: Operand) -> Option<Cells> {
        let register = operand.as_register()?;
        Some(Cells {
            row: self.registers[register.index()],
            bits: u32::from(self.function.register(register).bits),
        })
    }

    /// Adds an operand to what the instruction is or reads. A constant that stands for a register has that register's
    /// number of bits.
    fn read_operand(
        &mut self,
        operand: Operand,
        bits: Option<u32>,
        what: &mut Uninterpreted,
    ) -> Result<(), Unsupported> {
        // Of a value that does not matter the number of bits does not, either.
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
            // Where control goes from here is not for this instruction to say.
            OperandKind::Target(_) | OperandKind::FallThrough(_) | OperandKind::None => {}
        }
        Ok(())
    }
}
