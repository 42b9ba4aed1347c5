//! Selection of the LLVM opcode for an instruction with its operands.
//!
//! If an opcode takes a constant in a register only, the constant is moved there first. The number
//! of such moves is the cost of an opcode.

use super::opcode_mapping::{OpcodeMapping, mappings_of};
use super::operand_class::{Description, OperandClass};
use crate::constraints::Role;
use crate::edit::InstructionBuilder;
use crate::function::{Constant, Function, Instruction, Special};
use crate::operand::{Operand, OperandKind};
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::snapshot::abi::ConstantKind;
use smallvec::SmallVec;

/// The operands and description of an instruction to be lowered.
pub(super) struct Written<'a> {
    pub description: Description,
    pub results: &'a [Operand],
    pub sources: &'a [Operand],
}

/// The best mapping for an instruction.
pub(super) struct BestMapping {
    pub mapping: &'static OpcodeMapping,
    /// The number of constants that must be moved into registers.
    pub moves: usize,
    /// Types, modifiers and sources if the first two sources are exchanged.
    pub swapped: Option<(Description, SmallVec<[Operand; 4]>)>,
}

/// Returns the mapping of an operation with the fewest moves, or the first of several.
pub(super) fn best_mapping(
    function: &Function,
    operation: Operation,
    written: &Written<'_>,
) -> Option<BestMapping> {
    let operation = match operation {
        // A copy of a constant is a move.
        Operation::Copy => Operation::Mov,
        other => other,
    };
    let swapped = swapped(operation, written);
    let mut best: Option<(usize, &'static OpcodeMapping, bool)> = None;
    for mapping in mappings_of(operation, written.description.data_type) {
        for is_swapped in [false, true] {
            let moves = match (&swapped, is_swapped) {
                (_, false) => moves_needed(function, mapping, written),
                (Some((description, sources)), true) => {
                    let written = Written {
                        description: *description,
                        results: written.results,
                        sources,
                    };
                    moves_needed(function, mapping, &written)
                }
                (None, true) => None,
            };
            if let Some(moves) = moves
                && best.is_none_or(|(least, ..)| moves < least)
            {
                best = Some((moves, mapping, is_swapped));
            }
        }
    }
    let (moves, mapping, is_swapped) = best?;
    Some(BestMapping {
        mapping,
        moves,
        swapped: swapped.filter(|_| is_swapped),
    })
}

/// True if a constant is a float exactly where the instruction reads one.
fn is_of_same_class(function: &Function, instruction: Instruction, number: usize, constant: Operand) -> bool {
    let data_type = function.operand_type(instruction, Role::Source, number);
    data_type.is_some_and(|data_type| data_type.is_float() == function.integer(constant).is_none())
}

/// True if LLVM has an opcode for an instruction with `operand` as source `number` that needs no
/// more extra instructions than the present one.
pub fn takes_directly(
    function: &Function,
    instruction: Instruction,
    number: usize,
    operand: Operand,
) -> bool {
    let operation = function.operation(instruction);
    if operation.is_opaque()
        || operation.is_debug()
        || operation.is_terminator()
        || operation == Operation::Phi
    {
        return false;
    }
    let results: SmallVec<[Operand; 2]> = function.results(instruction).iter().collect();
    let mut sources: SmallVec<[Operand; 4]> = function.sources(instruction).iter().collect();
    let moves = |sources: &[Operand]| {
        let written = Written {
            description: description_of(function, instruction),
            results: &results,
            sources,
        };
        best_mapping(function, operation, &written).map(|best| best.moves)
    };
    if operand.is_constant() && !is_of_same_class(function, instruction, number, operand) {
        return false;
    }
    let Some(before) = moves(&sources) else {
        return false;
    };
    sources[number] = operand;
    moves(&sources).is_some_and(|after| after <= before)
}

/// True if LLVM has an opcode for an instruction that needs no extra instruction.
pub fn has_machine_opcode(function: &Function, new: &InstructionBuilder) -> bool {
    let written = Written {
        description: Description {
            data_type: new.data_type,
            source_type: new.source_type,
            modifiers: new.modifiers,
        },
        results: &new.results,
        sources: &new.sources,
    };
    best_mapping(function, new.operation, &written).is_some_and(|best| best.moves == 0)
}

/// Returns how many constants must be moved into registers for `mapping`, or none if it does not
/// fit.
fn moves_needed(function: &Function, mapping: &OpcodeMapping, written: &Written<'_>) -> Option<usize> {
    let counts_fit = mapping.result_count() == written.results.len()
        && written.sources.len() >= mapping.source_count()
        && written.sources.len()
            <= mapping.source_count() + usize::from(mapping.operands().contains(&OperandClass::UsedBytes));
    if !counts_fit || !mapping.describes(&written.description) || !special_fits(function, mapping, written) {
        return None;
    }
    let mut results = written.results.iter();
    let mut sources = written.sources.iter().copied().enumerate();
    let mut moves = 0;
    let mut values = ValuesWritten::default();
    for class in mapping.operands().iter() {
        match *class {
            OperandClass::Result(bits) if !is_register(function, *results.next()?, bits) => return None,
            class if class.is_source() => {
                let (number, source) = sources.next()?;
                match fit(function, mapping, class, number, source) {
                    Fit::Good if values.accept(function, class, source) => {}
                    Fit::AfterMove => moves += 1,
                    Fit::Good | Fit::Bad => return None,
                }
            }
            _ => {}
        }
    }
    Some(moves)
}

/// True if an instruction that has an opcode with a constant as source `number` accepts this one there:
/// a barrier's number and its count of threads, and the position and length of a bit field, are
/// limited. In a register all are accepted; such code need not be executed.
fn is_in_range(function: &Function, operation: Operation, number: usize, constant: Operand) -> bool {
    let Some(value) = function.integer(constant) else {
        return true;
    };
    match (operation, number) {
        (Operation::Bar | Operation::BarRed, 0) => (0..16).contains(&value),
        (Operation::Bar | Operation::BarRed, 1) => value % 32 == 0,
        (Operation::Bfe, 1..) | (Operation::Bfi, 2..) => (0..256).contains(&value),
        _ => true,
    }
}

/// The constants among the values that one instruction writes to memory. They are all integers or
/// all floating-point numbers, or PTX sees elements of different types.
#[derive(Default)]
struct ValuesWritten {
    are_floats: Option<bool>,
}

impl ValuesWritten {
    /// Adds an operand. Returns false if it does not go with the others.
    fn accept(&mut self, function: &Function, class: OperandClass, operand: Operand) -> bool {
        if !matches!(class, OperandClass::Value(_)) || !operand.is_constant() {
            return true;
        }
        let is_float = function.integer(operand).is_none();
        *self.are_floats.get_or_insert(is_float) == is_float
    }
}

pub(super) fn special_fits(function: &Function, mapping: &OpcodeMapping, written: &Written<'_>) -> bool {
    mapping.special.is_none_or(|special| {
        written.sources.last().is_some_and(|source| match source.kind() {
            OperandKind::Special(id) => function.special_data(id) == Special::SpecialRegister(special),
            _ => false,
        })
    })
}

pub(super) fn is_register(function: &Function, operand: Operand, bits: u8) -> bool {
    let register = operand.as_register().filter(|_| !operand.is_modified());
    register.is_some_and(|register| function.register(register).bits == u16::from(bits))
}

/// Returns how source `number` of an instruction fits the class that a mapping has for it.
pub(super) fn fit(
    function: &Function,
    mapping: &OpcodeMapping,
    class: OperandClass,
    number: usize,
    operand: Operand,
) -> Fit {
    let good = |fits: bool| if fits { Fit::Good } else { Fit::Bad };
    let is_symbol = || match operand.kind() {
        OperandKind::Special(id) => matches!(
            function.special_data(id),
            Special::Symbol { .. } | Special::Frame(_)
        ),
        _ => false,
    };
    match class {
        OperandClass::Register(bits) if is_register(function, operand, bits) => Fit::Good,
        OperandClass::Register(bits) if is_constant(function, mapping, operand, bits) => Fit::AfterMove,
        OperandClass::Constant(bits) => good(
            is_constant(function, mapping, operand, bits)
                && is_in_range(function, mapping.operation, number, operand),
        ),
        OperandClass::Value(bits) => {
            good(is_register(function, operand, bits) || is_constant(function, mapping, operand, bits))
        }
        OperandClass::Symbol => good(is_symbol()),
        OperandClass::Base => {
            good(is_symbol() || is_register(function, operand, 64) || is_register(function, operand, 32))
        }
        OperandClass::Count | OperandClass::UsedBytes => good(function.integer(operand).is_some()),
        OperandClass::Register(_) | OperandClass::Result(_) | OperandClass::Modifier(_) => Fit::Bad,
    }
}

/// True if an operand is a constant that fits into `width` bits.
fn is_constant(function: &Function, mapping: &OpcodeMapping, operand: Operand, width: u8) -> bool {
    if let Some(value) = function.integer(operand) {
        return !is_of_floats(mapping) && integer_fits(value, width);
    }
    let OperandKind::Constant(constant) = operand.kind() else {
        return false;
    };
    match function.constant_data(constant) {
        Constant::Bits { kind, bits, .. } => {
            let is_float = !matches!(kind, ConstantKind::Integer | ConstantKind::Other);
            is_float && bits == u32::from(width)
        }
        Constant::Integer(_) => false,
    }
}

/// How well an operand fits a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Good,
    /// A constant where a register is required.
    AfterMove,
    Bad,
}

/// Returns the description of an instruction: everything except its operands.
pub(super) fn description_of(function: &Function, instruction: Instruction) -> Description {
    Description {
        data_type: function.data_type(instruction),
        source_type: function.source_type(instruction),
        modifiers: function.modifiers(instruction),
    }
}

/// Returns types, modifiers and sources of the instruction with its first two sources exchanged.
fn swapped(operation: Operation, written: &Written<'_>) -> Option<(Description, SmallVec<[Operand; 4]>)> {
    let mut description = written.description;
    match operation {
        Operation::Isetp | Operation::Fsetp => {
            description.modifiers.comparison = description.modifiers.comparison.swapped();
        }
        // The first two differ in type.
        Operation::Fadd if description.source_type != DataType::None => return None,
        _ if operation.is_commutative() => {}
        _ => return None,
    }
    let mut sources: SmallVec<[Operand; 4]> = written.sources.iter().copied().collect();
    sources.swap(0, 1);
    Some((description, sources))
}

/// True if the constants of a mapping are floating-point numbers.
fn is_of_floats(mapping: &OpcodeMapping) -> bool {
    let Description {
        data_type,
        source_type,
        ..
    } = mapping.description;
    // Stores and loads move plain bits.
    let of_sources = if source_type == DataType::None {
        data_type
    } else {
        source_type
    };
    of_sources.is_float()
}

fn integer_fits(value: i64, bits: u8) -> bool {
    match bits {
        64.. => true,
        // A predicate is set by one or by all ones.
        bits => (-(1i64 << (bits - 1))..1i64 << bits).contains(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    #[test]
    fn constants_fit_where_llvm_has_an_opcode() {
        let text = "\
kernel \"k\" sm_80 ssa {
    declare %0:R32, %1:R32
bix0:
    %2:R32 = IADD.b32 %0, %1
    %3:R32 = ISUB.b32 %0, %1
    %4:R32 = POPC.b32.b32 %0
    %5:R32 = FADD.contract.f32 %0, %1
    RET
}
";
        let mut function = parse_function(text).expect("it is well formed");
        let (integer, float) = (function.integer_operand(7), function.single_operand(7.0));
        let all: Vec<Instruction> = function.instructions(function.entry()).collect();
        let [add, sub, popc, fadd] = all[..4] else {
            panic!("four instructions")
        };
        let fits = |instruction, number, operand| takes_directly(&function, instruction, number, operand);
        // The first source of a sum is exchanged with the constant; a bit count has no mapping with
        // one.
        assert!(fits(add, 0, integer) && fits(add, 1, integer));
        assert!(fits(sub, 1, integer));
        assert!(!fits(popc, 0, integer));
        // An integer is no constant for a sum of floats, and vice versa.
        assert!(fits(fadd, 1, float) && !fits(fadd, 1, integer) && !fits(add, 1, float));
    }

    #[test]
    fn constants_fit_where_ptx_accepts_them() {
        let text = "\
kernel \"k\" sm_80 ssa {
    declare %0:R32, %1:R32, %2:R64
bix0:
    %3:R32 = BFE.u32 %0, %1, %1
    %4:R32 = BFI.b32 %0, %1, %1, 8
    BAR.sync %0, %1
    ST.weak.thread.global.b32.b32 %0, %1, [%2]
    ST.weak.thread.global.b32.b32 %1, 2.0f32, [%2]
    RET
}
";
        let mut function = parse_function(text).expect("it is well formed");
        let [in_range, behind, threads] = [8, 256, 64].map(|value| function.integer_operand(value));
        let all: Vec<Instruction> = function.instructions(function.entry()).collect();
        let [bfe, bfi, bar, integers, floats] = all[..5] else {
            panic!("five instructions")
        };
        let fits = |instruction, number, operand| takes_directly(&function, instruction, number, operand);
        assert!(fits(bfe, 2, in_range) && !fits(bfe, 2, behind));
        assert!(fits(bfi, 0, behind) && fits(bfi, 2, in_range) && !fits(bfi, 2, behind));
        assert!(fits(bar, 0, in_range) && !fits(bar, 0, threads));
        assert!(fits(bar, 1, threads) && !fits(bar, 1, in_range));
        // The values of a store are integers or floats.
        assert!(fits(integers, 0, behind) && fits(integers, 1, behind));
        assert!(!fits(floats, 0, in_range));
    }
}
