//! Checks of a single instruction.

use super::{Finding, FindingKind};
use crate::constraints::{self, Expected, OperationConstraints, Role, SourceTypes};
use crate::function::{Constant, Function, Instruction, InstructionFlags, RegisterFile, Special};
use crate::modifiers::{ModifierFlags, Modifiers};
use crate::operand::{Operand, OperandKind};
use crate::operation::ModifierKinds;
use crate::types::DataType;
use oriel_engine::entity::Register;

pub(super) fn check(function: &Function, findings: &mut Vec<Finding>) {
    for register in function.registers() {
        if !has_sound_kind(function, register) {
            findings.push(Finding::of_register(FindingKind::RegisterKind, register));
        }
    }
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let kinds = check_shape(function, instruction).map_or_else(
                || operand_problems(function, instruction),
                |kind| vec![(kind, None)],
            );
            findings.extend(kinds.into_iter().map(|(kind, operand)| Finding {
                register: operand,
                ..Finding::at(kind, function, instruction)
            }));
            // As LLVM created it, it is LLVM's responsibility.
            let is_own = function.origin(instruction).is_none()
                || function.flags(instruction).contains(InstructionFlags::EDITED);
            if is_own && let Some(register) = function.early_clobber_problem(instruction) {
                findings
                    .push(Finding::at(FindingKind::EarlyClobber, function, instruction).register(register));
            }
        }
    }
}

fn has_sound_kind(function: &Function, register: Register) -> bool {
    let data = function.register(register);
    match data.file {
        RegisterFile::P | RegisterFile::Up => data.bits == 1,
        RegisterFile::R | RegisterFile::Ur => matches!(data.bits, 16 | 32 | 64 | 128),
        RegisterFile::B => data.bits == 32,
    }
}

/// Returns the first problem with counts, types and modifiers; operands make sense only if there is
/// none.
fn check_shape(function: &Function, instruction: Instruction) -> Option<FindingKind> {
    let operation = function.operation(instruction);
    let properties = operation.properties();
    let constraints = OperationConstraints::of_operation(operation);
    let results = function.results(instruction).len();
    let sources = function.sources(instruction).len();
    let (data, source) = (function.data_type(instruction), function.source_type(instruction));
    let modifiers = function.modifiers(instruction);
    // The greatest number means that there is no limit.
    let is_within = |count: usize, (least, most): (u16, u16)| {
        count >= usize::from(least) && (most == u16::MAX || count <= usize::from(most))
    };
    let has_type = match constraints.data_types {
        [] => data == DataType::None,
        types => types.contains(&data),
    };
    let has_source_type = match constraints.source_types {
        SourceTypes::Never => source == DataType::None,
        SourceTypes::Optional(types) => source == DataType::None || types.contains(&source),
        SourceTypes::Required(types) => types.contains(&source),
    };
    let given = given_kinds(modifiers);
    let rules = [
        (is_within(results, properties.results), FindingKind::ResultCount),
        (
            is_within(sources, properties.sources) && constraints::has_sound_count(operation, sources),
            FindingKind::SourceCount,
        ),
        (has_type, FindingKind::DataType),
        (has_source_type, FindingKind::SourceType),
        (
            constraints::types_fit(operation, data, source, results, sources),
            FindingKind::TypeRelation,
        ),
        (
            properties.modifiers.contains(given),
            FindingKind::UnexpectedModifier,
        ),
        (given.contains(constraints.required), FindingKind::MissingModifier),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, kind)| kind)
}

/// Returns the kinds of the modifiers that are given. LLVM allows contraction on instructions of
/// any kind.
fn given_kinds(mut modifiers: Modifiers) -> ModifierKinds {
    modifiers.flags -= ModifierFlags::CONTRACT;
    modifiers.given().map(|(kind, _)| kind).collect()
}

type OperandFinding = (FindingKind, Option<Register>);

fn operand_problems(function: &Function, instruction: Instruction) -> Vec<OperandFinding> {
    let results = function.results(instruction).iter().enumerate();
    let sources = function.sources(instruction).iter().enumerate();
    let of_results = results.map(|(number, operand)| (Role::Result, number, operand));
    let of_sources = sources.map(|(number, operand)| (Role::Source, number, operand));
    of_results
        .chain(of_sources)
        .filter_map(|(role, number, operand)| {
            let expected = function.expected(instruction, role, number);
            let kind = operand_problem(function, expected, role, operand)?;
            Some((kind, operand.as_register()))
        })
        .collect()
}

fn operand_problem(
    function: &Function,
    expected: Expected,
    role: Role,
    operand: Operand,
) -> Option<FindingKind> {
    let is_register = operand.as_register().is_some();
    let is_plain = !operand.is_modified() && !operand.is_undefined();
    if !is_plain && (role == Role::Result || !is_register) {
        return Some(FindingKind::OperandModifier);
    }
    if let Some(register) = operand.as_register()
        && function.register_operand(register).kind() != operand.kind()
    {
        return Some(FindingKind::RegisterTag);
    }
    match (operand.as_register(), role) {
        (Some(register), _) => register_problem(function, expected, register),
        (None, Role::Result) => Some(FindingKind::OperandKind),
        (None, Role::Source) => constant_problem(function, expected, operand),
    }
}

fn register_problem(function: &Function, expected: Expected, register: Register) -> Option<FindingKind> {
    let data = function.register(register);
    let bits = u32::from(data.bits);
    let is_of_width = match expected {
        Expected::Value(data_type) => {
            bits == data_type.bits() && data.file.is_predicate() == (data_type == DataType::B1)
        }
        Expected::LowPart(data_type) => bits >= data_type.bits().max(16),
        Expected::Address => matches!(bits, 32 | 64),
        Expected::Anything => true,
        Expected::Constant | Expected::Block | Expected::SpecialRegister | Expected::Machine => {
            return Some(FindingKind::OperandKind);
        }
    };
    (!is_of_width).then_some(FindingKind::RegisterWidth)
}

fn constant_problem(function: &Function, expected: Expected, operand: Operand) -> Option<FindingKind> {
    let special = match operand.kind() {
        OperandKind::Special(special) => Some(function.special_data(special)),
        _ => None,
    };
    let is_integer = function.integer(operand).is_some();
    let is_address = matches!(
        special,
        Some(Special::Symbol { .. } | Special::Frame(_) | Special::Physical(_))
    );
    let fits = match expected {
        Expected::Value(data_type) | Expected::LowPart(data_type) if operand.is_constant() => {
            return (!constant_fits(function, operand, data_type)).then_some(FindingKind::ConstantWidth);
        }
        // Addresses have the width of pointers.
        Expected::Value(data_type) => is_address && matches!(data_type.bits(), 32 | 64),
        Expected::LowPart(_) => false,
        Expected::Address => is_address || is_integer,
        Expected::Constant => is_integer,
        Expected::Block => operand.as_block().is_some(),
        Expected::SpecialRegister => matches!(special, Some(Special::SpecialRegister(_))),
        Expected::Machine => matches!(special, Some(Special::Machine { .. })),
        Expected::Anything => true,
    };
    (!fits).then_some(FindingKind::OperandKind)
}

/// Integers are truncated to the width; numbers in another format must be as wide as the type.
fn constant_fits(function: &Function, operand: Operand, data_type: DataType) -> bool {
    match operand.kind() {
        OperandKind::Constant(constant) => match function.constant_data(constant) {
            Constant::Integer(_) => true,
            Constant::Bits { bits, .. } => bits == data_type.bits(),
        },
        _ => true,
    }
}
