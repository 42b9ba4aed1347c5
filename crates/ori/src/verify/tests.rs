//! Tests every kind of finding: random functions are damaged in one place, and the verifier must
//! name the damage.

use super::{Finding, FindingKind};
use crate::function::{Constant, Function, Instruction, OperandSlot, RegisterFile};
use crate::modifiers::{Comparison, ModifierFlags, Modifiers};
use crate::operand::{ConstantId, Operand, OperandKind};
use crate::operation::Operation;
use crate::random_function::random_function;
use crate::types::DataType;
use crate::{InstructionBuilder, Position};
use oriel_engine::entity::{Block, EntityRef, PackedOption, Register};
use oriel_engine::snapshot::abi::{ConstantKind, FunctionFlags, Stage};
use oriel_random::{Random, Stream};

/// A function to damage, and the random choices.
struct Damage {
    function: Function,
    random: Random,
}

impl Damage {
    /// Returns a random instruction for which `holds` is true.
    fn instruction(&mut self, holds: impl Fn(&Function, Instruction) -> bool) -> Option<Instruction> {
        let function = &self.function;
        let all: Vec<Instruction> = function
            .all_instructions()
            .filter(|&instruction| holds(function, instruction))
            .collect();
        (!all.is_empty()).then(|| self.random.pick(&all))
    }

    fn with_operation(&mut self, operation: Operation) -> Option<Instruction> {
        self.instruction(|function, instruction| function.operation(instruction) == operation)
    }

    /// Returns an instruction with a source that is a register, and the source's number.
    fn use_of(&mut self, holds: impl Fn(&Function, Instruction) -> bool) -> Option<(Instruction, usize)> {
        let is_register = |operand: Operand| operand.as_register().is_some();
        let instruction = self.instruction(|function, instruction| {
            holds(function, instruction) && function.sources(instruction).iter().any(is_register)
        })?;
        let number = self.function.sources(instruction).iter().position(is_register)?;
        Some((instruction, number))
    }

    fn new_register(&mut self, bits: u16) -> Operand {
        let file = if bits == 1 {
            RegisterFile::P
        } else {
            RegisterFile::R
        };
        let register = self.function.create_register(file, bits, None);
        self.function.register_operand(register)
    }

    fn append(&mut self, operation: Operation, sources: &[Operand]) -> Instruction {
        let block = self.random.pick(self.function.blocks());
        let mut new = InstructionBuilder::new(operation, DataType::None);
        new.sources.extend_from_slice(sources);
        self.function.insert(Position::Start(block), new)
    }

    /// Returns the slot of a source.
    fn slot(&self, instruction: Instruction, number: usize) -> OperandSlot {
        let data = &self.function.instructions[instruction];
        OperandSlot::new(data.first_operand as usize + usize::from(data.result_count) + number)
    }

    /// Inflicts damage of a kind; none if the function has nothing to damage in this way.
    fn inflict(&mut self, kind: FindingKind) -> Option<()> {
        match kind {
            FindingKind::NoBlocks
            | FindingKind::WrongPlacement
            | FindingKind::BrokenInstructionList
            | FindingKind::UnknownEntity
            | FindingKind::MissingReference
            | FindingKind::StrayReference
            | FindingKind::NotInterned
            | FindingKind::UnpackedInteger
            | FindingKind::RecordOfRemoved
            | FindingKind::MissingTerminator
            | FindingKind::InstructionAfterTerminator
            | FindingKind::UnplacedBlock => self.inflict_on_structure(kind),
            FindingKind::RegisterKind
            | FindingKind::ResultCount
            | FindingKind::SourceCount
            | FindingKind::DataType
            | FindingKind::SourceType
            | FindingKind::TypeRelation
            | FindingKind::UnexpectedModifier
            | FindingKind::MissingModifier
            | FindingKind::OperandKind
            | FindingKind::RegisterTag
            | FindingKind::RegisterWidth
            | FindingKind::ConstantWidth
            | FindingKind::OperandModifier
            | FindingKind::EarlyClobber => self.inflict_on_operands(kind),
            FindingKind::SeveralDefinitions
            | FindingKind::UseNotDominated
            | FindingKind::UndefinedUse
            | FindingKind::UnexpectedPhi
            | FindingKind::PhiNotFirst
            | FindingKind::PhiBlocks
            | FindingKind::PhiInEntry
            | FindingKind::BrokenCallSequence => self.inflict_on_flow(kind),
        }
    }

    fn inflict_on_structure(&mut self, kind: FindingKind) -> Option<()> {
        let entry = self.function.entry();
        match kind {
            FindingKind::NoBlocks => {
                self.function.layout.clear();
                self.function
                    .blocks
                    .values_mut()
                    .for_each(|data| data.is_placed = false);
            }
            FindingKind::WrongPlacement => self.function.layout.push(entry),
            FindingKind::BrokenInstructionList => {
                let instruction =
                    self.instruction(|function, instruction| function.next(instruction).is_some())?;
                self.function.instructions[instruction].next = PackedOption::default();
            }
            FindingKind::UnknownEntity => {
                let (instruction, number) = self.use_of(|_, _| true)?;
                let beyond = Register::new(self.function.register_limit());
                let slot = self.slot(instruction, number);
                self.function.slots[slot].operand = Operand::register(beyond);
            }
            FindingKind::MissingReference => {
                let (instruction, number) = self.use_of(|_, _| true)?;
                let register = self.function.source(instruction, number).as_register()?;
                self.function.registers[register].uses = PackedOption::default();
            }
            FindingKind::StrayReference => {
                let (instruction, number) = self.use_of(|_, _| true)?;
                let slot = self.slot(instruction, number);
                self.function.slots[slot].operand = Operand::NONE;
            }
            FindingKind::NotInterned => {
                self.function.constants.push(Constant::Integer(1 << 40));
            }
            FindingKind::UnpackedInteger => {
                self.function.constant_operand(Constant::Integer(7));
            }
            FindingKind::RecordOfRemoved => {
                let instruction = self.append(Operation::Nop, &[]);
                self.function.remove(instruction);
                self.function.merged.insert(instruction, Default::default());
            }
            FindingKind::MissingTerminator => {
                let terminator = self.function.terminator(entry)?;
                self.function.remove(terminator);
            }
            FindingKind::InstructionAfterTerminator => {
                let new = InstructionBuilder::new(Operation::Nop, DataType::None);
                self.function.insert(Position::End(entry), new);
            }
            FindingKind::UnplacedBlock => {
                let block = self.function.create_block(None);
                let branch = self.with_operation(Operation::Bra)?;
                let last = self.function.sources(branch).len() - 1;
                self.function.set_source(branch, last, Operand::target(block));
            }
            _ => unreachable!("{kind:?} is no finding about structure"),
        }
        Some(())
    }

    fn inflict_on_operands(&mut self, kind: FindingKind) -> Option<()> {
        match kind {
            FindingKind::RegisterKind => {
                self.function.create_register(RegisterFile::P, 32, None);
            }
            FindingKind::ResultCount => {
                let store = self.with_operation(Operation::St)?;
                self.function.set_operation(store, Operation::Ld);
            }
            FindingKind::SourceCount => {
                let sum = self.with_operation(Operation::Iadd)?;
                self.function.set_sources(sum, &[Operand::NONE]);
            }
            FindingKind::DataType => {
                let sum = self.with_operation(Operation::Iadd)?;
                self.function.set_types(sum, DataType::F32, DataType::None);
            }
            FindingKind::SourceType => {
                let comparison = self.with_operation(Operation::Isetp)?;
                self.function.set_types(comparison, DataType::B1, DataType::None);
            }
            FindingKind::TypeRelation => {
                let product = self.with_operation(Operation::ImulWide)?;
                self.function.set_types(product, DataType::S64, DataType::S16);
            }
            FindingKind::UnexpectedModifier => {
                let logic = self.with_operation(Operation::Xor)?;
                let flags = ModifierFlags::FTZ;
                self.function.set_modifiers(
                    logic,
                    Modifiers {
                        flags,
                        ..Modifiers::default()
                    },
                );
            }
            FindingKind::MissingModifier => {
                let comparison = self.with_operation(Operation::Isetp)?;
                let modifiers = self.function.modifiers(comparison);
                let comparison_less = Modifiers {
                    comparison: Comparison::None,
                    ..modifiers
                };
                self.function.set_modifiers(comparison, comparison_less);
            }
            FindingKind::OperandKind => {
                let sum = self.with_operation(Operation::Iadd)?;
                let block = Operand::target(self.function.entry());
                self.function.set_source(sum, 1, block);
            }
            FindingKind::RegisterTag => {
                let (instruction, number) = self.use_of(|_, _| true)?;
                let operand = self.function.source(instruction, number);
                let wrong = match operand.kind() {
                    OperandKind::Register(register) => Operand::predicate(register),
                    OperandKind::Predicate(register) => Operand::register(register),
                    _ => unreachable!("the source is a register"),
                };
                self.function.set_source(instruction, number, wrong);
            }
            FindingKind::RegisterWidth => {
                let sum = self.with_operation(Operation::Iadd)?;
                let wide = self.new_register(128);
                self.function.set_source(sum, 0, wide);
            }
            FindingKind::ConstantWidth => {
                let sum = self.with_operation(Operation::Iadd)?;
                let wide = self.function.constant_operand(Constant::Bits {
                    kind: ConstantKind::Integer,
                    bits: 128,
                    low: 1,
                    high: 1,
                });
                self.function.set_source(sum, 0, wide);
            }
            FindingKind::OperandModifier => {
                let is_constant = |operand: Operand| operand.is_constant();
                let instruction = self.instruction(|function, instruction| {
                    function.sources(instruction).iter().any(is_constant)
                })?;
                let number = self.function.sources(instruction).iter().position(is_constant)?;
                let negated = self.function.source(instruction, number).negated(true);
                self.function.set_source(instruction, number, negated);
            }
            FindingKind::EarlyClobber => {
                let register = self.new_register(32);
                // One register is written early, one is read.
                let words = [1, 11, 9].map(|word| self.function.integer_operand(word));
                let assembly = InstructionBuilder::new(Operation::InlineAsm, DataType::None)
                    .result(register)
                    .with_sources(&[Operand::NONE, words[0], words[1], words[2], register]);
                let block = self.random.pick(self.function.blocks());
                self.function.insert(Position::Start(block), assembly);
            }
            _ => unreachable!("{kind:?} is no finding about operands"),
        }
        Some(())
    }

    fn inflict_on_flow(&mut self, kind: FindingKind) -> Option<()> {
        let entry = self.function.entry();
        let is_ssa = self.function.info.flags.contains(FunctionFlags::SSA);
        match kind {
            FindingKind::SeveralDefinitions => {
                let sum = self.with_operation(Operation::Iadd).filter(|_| is_ssa)?;
                let result = self.function.result(sum, 0);
                let other =
                    InstructionBuilder::new(Operation::ImplicitDef, self.type_of(result)).result(result);
                self.function.insert(Position::Start(entry), other);
            }
            FindingKind::UseNotDominated => {
                let sum = self.with_operation(Operation::Iadd).filter(|_| is_ssa)?;
                if self.function.data_type(sum) == DataType::B16x2
                    || self.function.block_of(sum) != Some(entry)
                {
                    return None;
                }
                let result = self.function.result(sum, 0);
                self.function.set_source(sum, 0, result);
            }
            FindingKind::UndefinedUse => {
                let sum = self.with_operation(Operation::Iadd)?;
                if self.function.block_of(sum) != Some(entry) {
                    return None;
                }
                let undefined = self.new_register(self.function.data_type(sum).bits() as u16);
                self.function.set_source(sum, 0, undefined);
            }
            FindingKind::UnexpectedPhi => {
                self.with_operation(Operation::Phi)?;
                self.function.info.flags |= FunctionFlags::NO_PHIS;
            }
            FindingKind::PhiNotFirst => {
                let phi = self.with_operation(Operation::Phi)?;
                let nop = InstructionBuilder::new(Operation::Nop, DataType::None);
                self.function.insert(Position::Before(phi), nop);
            }
            FindingKind::PhiBlocks => {
                let phi = self.with_operation(Operation::Phi)?;
                let sources: Vec<Operand> = self.function.sources(phi).iter().collect();
                self.function.set_sources(phi, &sources[2..]);
            }
            FindingKind::PhiInEntry => {
                self.with_operation(Operation::Phi)?;
                let result = self.new_register(32);
                let phi = InstructionBuilder::new(Operation::Phi, DataType::B32).result(result);
                self.function.insert(Position::Start(entry), phi);
            }
            FindingKind::BrokenCallSequence => {
                let part = self.instruction(|function, instruction| {
                    matches!(
                        function.operation(instruction),
                        Operation::CallStart | Operation::CallEnd
                    )
                })?;
                self.function.remove(part);
            }
            _ => unreachable!("{kind:?} is no finding about flow"),
        }
        Some(())
    }

    fn type_of(&self, operand: Operand) -> DataType {
        let register = operand.as_register().expect("the operand is a register");
        let bits = u32::from(self.function.register(register).bits);
        DataType::of_bits(bits).expect("a width of registers")
    }
}

#[test]
fn every_kind_of_damage_is_named() {
    for &kind in FindingKind::ALL {
        let mut damaged = 0;
        for seed in 0..400 {
            let stage = if seed % 2 == 0 { Stage::Ssa } else { Stage::Late };
            let mut damage = Damage {
                function: random_function(seed, stage),
                random: Random::new(seed, Stream::TestOri),
            };
            if damage.inflict(kind).is_none() {
                continue;
            }
            damaged += 1;
            let findings = damage.function.verify();
            assert!(
                findings.iter().any(|finding| finding.kind == kind),
                "seed {seed}: {kind:?} was not found, but {findings:?}"
            );
            if damaged == 10 {
                break;
            }
        }
        assert!(damaged > 0, "no function could be damaged to have {kind:?}");
    }
}

#[test]
fn entities_of_every_sort_have_to_exist() {
    for operand in [
        Operand::constant(ConstantId::new(1_000_000)),
        Operand::target(Block::new(1_000_000)),
        Operand::fall_through(Block::new(1_000_000)),
        Operand::special(EntityRef::new(1_000_000)),
    ] {
        let mut damage = Damage {
            function: random_function(1, Stage::Late),
            random: Random::new(1, Stream::TestOri),
        };
        damage.append(Operation::Opaque, &[operand]);
        let kinds: Vec<FindingKind> = damage
            .function
            .verify()
            .iter()
            .map(|finding| finding.kind)
            .collect();
        assert_eq!(kinds, [FindingKind::UnknownEntity], "{operand:?}");
    }
}

#[test]
fn findings_say_where() {
    let text =
        "kernel \"k\" sm_80 ssa {\nbix0:\n    declare %1:R32\n    %2:R64 = IADD.b64 %1, 1\n    RET\n}\n";
    let function = crate::parse_function(text).expect("it parses");
    let findings = function.verify();
    let [finding]: [Finding; 1] = findings.try_into().expect("one thing is wrong");
    assert_eq!(
        finding.display(&function).to_string(),
        "RegisterWidth of %1 in bix0 at i0: %2 = IADD.b64 %1, 1"
    );
}
