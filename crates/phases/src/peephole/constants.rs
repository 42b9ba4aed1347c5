//! Folds operations on constants.

use super::matcher::{Matcher, is_integer, signed};
use super::rewrite::{Rewrite, Value, value};
use super::rule::{Governs, Rule};
use oriel_arithmetic::low_bits;
use oriel_ori::{DataType, Instruction, Operation, Rounding};
use smallvec::SmallVec;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "constant-integers",
        roots: &[
            Operation::Iadd,
            Operation::Isub,
            Operation::Imul,
            Operation::ImulHi,
            Operation::ImulWide,
            Operation::Imad,
            Operation::ImadWide,
            Operation::Idiv,
            Operation::Irem,
            Operation::Imin,
            Operation::Imax,
            Operation::Iabs,
            Operation::Ineg,
            Operation::And,
            Operation::Or,
            Operation::Xor,
            Operation::Not,
            Operation::Shl,
            Operation::Shr,
            Operation::Shf,
            Operation::Bfe,
            Operation::Bfi,
            Operation::Bfind,
            Operation::Brev,
            Operation::Clz,
            Operation::Popc,
            Operation::Prmt,
            Operation::Isetp,
            Operation::Sel,
            Operation::Cvt,
        ],
        widths: &[1, 16, 32, 64],
        governed_by: Governs::RuleAlone,
        rewrite: fold_integers,
        examples: &[
            "%8:R{w} = MOV.b{w} 1234\n%7:R{w} = IADD.b{w} %8, 77\n%9:R{w} = IADD.b{w} %1, %7",
            "%8:R{w} = MOV.b{w} 1234\n%7:R{w} = SHL.b{w} %8, 9\n%9:R{w} = XOR.b{w} %1, %7",
            "%8:R32 = MOV.b32 1234\n%7:R32 = POPC.b32.b32 %8\n%9:R32 = IADD.b32 %4, %7",
            "%8:R32 = MOV.b32 -7\n%7:R64 = CVT.s64.s32 %8\n%9:R64 = IADD.b64 %3, %7",
            "%8:R32 = MOV.b32 -7\n%7:P = ISETP.lt.s32 %8, 5\n%9:R32 = SEL.b32 %4, %5, %7",
            "%8:R32 = MOV.b32 -7\n%7:R32 = IDIV.s32 %8, 2\n%9:R32 = XOR.b32 %4, %7",
        ],
    },
    Rule {
        name: "constant-floats",
        roots: &[
            Operation::Fadd,
            Operation::Fsub,
            Operation::Fmul,
            Operation::Ffma,
            Operation::Fneg,
            Operation::Fabs,
            Operation::Fsetp,
            Operation::Cvt,
        ],
        widths: &[1, 16, 32, 64],
        governed_by: Governs::ExactFloats,
        rewrite: fold_floats,
        examples: &[
            "%8:R32 = MOV.f32 1.5f32\n%7:R32 = FMUL.f32 %8, 0.3f32\n%9:R32 = FADD.f32 %4, %7",
            "%8:R64 = MOV.f64 1.5f64\n%7:R64 = FADD.rn.f64 %8, 0.3f64\n%9:R64 = FADD.f64 %3, %7",
            "%8:R32 = MOV.b32 7\n%7:R32 = CVT.rn.f32.s32 %8\n%9:R32 = FADD.f32 %4, %7",
            "%8:R32 = MOV.f32 1.5f32\n%7:P = FSETP.lt.f32 %8, 2.0f32\n%9:R32 = SEL.b32 %4, %5, %7",
        ],
    },
];

/// Returns the width in which a source is read.
fn source_bits(matcher: &Matcher<'_>, instruction: Instruction, number: usize) -> Option<u32> {
    use oriel_ori::Role;
    let data_type = matcher.function.operand_type(instruction, Role::Source, number)?;
    Some(data_type.bits())
}

/// Returns the values of all sources, if they are constants.
fn constants(matcher: &Matcher<'_>, instruction: Instruction) -> Option<SmallVec<[u64; 4]>> {
    let sources = matcher.function.sources(instruction).iter().enumerate();
    sources
        .map(|(number, source)| {
            // Most are none, and finding the width takes longer.
            let value = matcher.constant(source, u64::BITS)?;
            Some(value & low_bits(source_bits(matcher, instruction, number)?))
        })
        .collect()
}

/// Evaluates an instruction with constant sources by the interpreter's arithmetic. Returns the bits
/// and the width of the result.
fn evaluate(matcher: &Matcher<'_>, instruction: Instruction) -> Option<(u64, u32)> {
    let sources = constants(matcher, instruction)?;
    let mut results = matcher.function.results(instruction).iter();
    let result = results
        .next()?
        .as_register()
        .filter(|_| results.next().is_none())?;
    let bits = u32::from(matcher.function.register(result).bits);
    Some((
        matcher.typed_operation(instruction).evaluate(&sources, bits)?,
        bits,
    ))
}

fn fold_integers(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let is_of_integers =
        is_integer(typed.data_type) && (typed.source_type == DataType::None || is_integer(typed.source_type));
    let is_division = matches!(typed.operation, Operation::Idiv | Operation::Irem);
    // The result of a division by zero is left to the hardware.
    if !is_of_integers || is_division && matcher.is_constant(matcher.source(root, 1), 0, matcher.bits(root)) {
        return None;
    }
    let (result, bits) = evaluate(matcher, root)?;
    value(root, signed(result, bits))
}

fn fold_floats(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let is_folded = |data_type| matches!(data_type, DataType::None | DataType::F32 | DataType::F64);
    let takes_floats =
        is_folded(typed.source_type) || typed.operation == Operation::Cvt && is_integer(typed.source_type);
    let gives_floats = is_folded(typed.data_type) || typed.operation == Operation::Fsetp;
    if !takes_floats || !gives_floats || !matches!(typed.modifiers.rounding, Rounding::None | Rounding::Rn) {
        return None;
    }
    let of_sources = match typed.source_type {
        DataType::None => typed.data_type,
        source_type => source_type,
    };
    let sources = constants(matcher, root)?;
    let (result, bits) = evaluate(matcher, root)?;
    if typed.operation == Operation::Fsetp {
        return value(root, signed(result, bits));
    }
    // The choice of the NaN is left to the hardware.
    let is_some_nan = is_nan(typed.data_type, result)
        || of_sources.is_float() && sources.iter().any(|&source| is_nan(of_sources, source));
    (!is_some_nan).then(|| value(root, Value::Bits(result)))?
}

fn is_nan(data_type: DataType, bits: u64) -> bool {
    match data_type {
        DataType::F32 => f32::from_bits((bits & low_bits(32)) as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}
