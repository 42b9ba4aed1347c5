//! Identities of floating point that preserve every bit.
//!
//! Signs are bits, and negating twice restores the value, unless subnormals are flushed on the way.
//! Arithmetic in 16 and 32 bits returns the same NaN for all NaN operands, so their signs may
//! change; arithmetic in 64 bits keeps the operand's NaN. `x * 1` changes a NaN `x`, unless `x` is
//! itself the result of such arithmetic.

use super::matcher::Matcher;
use super::rewrite::{Rewrite, Value, node, value};
use super::rule::{Governs, Rule};
use oriel_arithmetic::TypedOperation;
use oriel_ori::{DataType, Instruction, ModifierFlags, Operand, Operation, Rounding};

/// Creates a rule about floats.
const fn rule(
    name: &'static str,
    roots: &'static [Operation],
    rewrite: fn(&Matcher<'_>, Instruction) -> Option<Rewrite>,
    examples: &'static [&'static str],
) -> Rule {
    Rule {
        governed_by: Governs::ExactFloats,
        ..Rule::plain(name, roots, &[16, 32, 64], rewrite, examples)
    }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "sign-of-sign",
        &[Operation::Fneg, Operation::Fabs],
        sign_of_sign,
        &[
            "%8:R32 = FNEG.f32 %4\n%9:R32 = FNEG.f32 %8",
            "%8:R64 = FNEG.f64 %3\n%9:R64 = FABS.f64 %8",
            "%8:R32 = FABS.f32 %4\n%9:R32 = FABS.f32 %8",
        ],
    ),
    rule(
        "add-negated-float",
        &[Operation::Fadd, Operation::Fsub],
        add_negated,
        &[
            "%8:R32 = FNEG.f32 %4\n%9:R32 = FADD.f32 %5, %8",
            "%8:R32 = FNEG.f32 %4\n%9:R32 = FADD.rn.ftz.f32 %8, %5",
            "%8:R32 = FNEG.f32 %4\n%9:R32 = FSUB.f32 %5, %8",
        ],
    ),
    rule(
        "product-of-negated",
        &[Operation::Fmul, Operation::Ffma],
        multiply_negated,
        &[
            "%8:R32 = FNEG.f32 %4\n%7:R32 = FNEG.f32 %5\n%9:R32 = FMUL.f32 %8, %7",
            "%8:R32 = FNEG.f32 %4\n%7:R32 = FNEG.f32 %5\n%9:R32 = FFMA.rn.f32 %8, %7, %4",
            "%8:R32 = FNEG.f32 %4\n%9:R32 = FMUL.f32 %8, 1.5f32",
        ],
    ),
    rule(
        "float-with-neutral",
        &[Operation::Fadd, Operation::Fsub, Operation::Fmul],
        with_neutral,
        &[
            "%8:R32 = FADD.f32 %4, %5\n%9:R32 = FMUL.f32 %8, 1.0f32",
            "%8:R32 = FMUL.f32 %4, %5\n%9:R32 = FADD.f32 %8, -0.0f32",
            "%8:R32 = FMUL.ftz.f32 %4, %5\n%9:R32 = FSUB.ftz.f32 %8, 0.0f32",
        ],
    ),
];

/// True if an instruction has no flags except these.
fn has_only(typed: TypedOperation, flags: ModifierFlags) -> bool {
    (flags | ModifierFlags::CONTRACT).contains(typed.modifiers.flags)
}

/// True if arithmetic in this type always returns the same NaN.
fn has_one_nan(data_type: DataType) -> bool {
    matches!(data_type, DataType::F32 | DataType::F16 | DataType::Bf16)
}

/// Returns the operand of a bitwise negation in a type.
fn negated(matcher: &Matcher<'_>, operand: Operand, data_type: DataType) -> Option<Operand> {
    let negation = matcher.definition(operand)?;
    let typed = matcher.typed_operation(negation);
    let is_exact = typed.operation == Operation::Fneg
        && typed.data_type == data_type
        && has_only(typed, ModifierFlags::empty());
    is_exact.then(|| matcher.source(negation, 0))
}

fn sign_of_sign(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let operand = matcher.source(root, 0);
    let inner = matcher.definition(operand)?;
    let of_inner = matcher.typed_operation(inner);
    let is_exact = |typed| has_only(typed, ModifierFlags::empty());
    if of_inner.data_type != typed.data_type || !is_exact(typed) || !is_exact(of_inner) {
        return None;
    }
    let leaf = matcher.source(inner, 0);
    match (typed.operation, of_inner.operation) {
        (Operation::Fneg, Operation::Fneg) => value(root, leaf),
        (Operation::Fabs, Operation::Fabs) => value(root, operand),
        (Operation::Fabs, Operation::Fneg) => node(root, typed, &[leaf.into()]),
        _ => None,
    }
}

/// True for arithmetic of one type in which signs of NaNs do not matter.
fn is_simple(typed: TypedOperation) -> bool {
    has_one_nan(typed.data_type) && typed.source_type == DataType::None
}

fn add_negated(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    if !is_simple(typed) {
        return None;
    }
    let other = |operation| TypedOperation { operation, ..typed };
    let [a, b] = matcher.two(root);
    if let Some(b) = negated(matcher, b, typed.data_type) {
        let turned = match typed.operation {
            Operation::Fadd => Operation::Fsub,
            _ => Operation::Fadd,
        };
        return node(root, other(turned), &[a.into(), b.into()]);
    }
    if typed.operation != Operation::Fadd {
        return None;
    }
    let a = negated(matcher, a, typed.data_type)?;
    node(root, other(Operation::Fsub), &[b.into(), a.into()])
}

fn multiply_negated(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let [a, b] = matcher.two(root);
    if !is_simple(typed) {
        return None;
    }
    let of_a = negated(matcher, a, typed.data_type);
    if let (Some(a), Some(b)) = (of_a, negated(matcher, b, typed.data_type)) {
        let third = matcher.function.sources(root).iter().skip(2);
        let sources: Vec<Value> = [a, b].into_iter().chain(third).map(Value::from).collect();
        return node(root, typed, &sources);
    }
    if typed.data_type != DataType::F32 || typed.operation != Operation::Fmul {
        return None;
    }
    let constant = matcher.constant(b, 32)?;
    node(root, typed, &[of_a?.into(), Value::Bits(constant ^ 1 << 31)])
}

/// True if a value is the result of arithmetic, so that it has the one NaN, and is flushed if
/// `flushes` is set.
fn is_arithmetic(matcher: &Matcher<'_>, operand: Operand, data_type: DataType, flushes: bool) -> bool {
    matcher.definition(operand).is_some_and(|definition| {
        let typed = matcher.typed_operation(definition);
        let is_one = matches!(
            typed.operation,
            Operation::Fadd | Operation::Fsub | Operation::Fmul | Operation::Ffma
        );
        is_one
            && typed.data_type == data_type
            && (!flushes || typed.modifiers.flags.contains(ModifierFlags::FTZ))
    })
}

fn with_neutral(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let is_nearest = matches!(typed.modifiers.rounding, Rounding::None | Rounding::Rn);
    if typed.data_type != DataType::F32
        || !is_simple(typed)
        || !is_nearest
        || !has_only(typed, ModifierFlags::FTZ)
    {
        return None;
    }
    let [a, b] = matcher.two(root);
    let neutral = match typed.operation {
        Operation::Fadd => -0.0f32,
        Operation::Fsub => 0.0,
        _ => 1.0,
    };
    let is_neutral = matcher.constant(b, 32) == Some(u64::from(neutral.to_bits()));
    let flushes = typed.modifiers.flags.contains(ModifierFlags::FTZ);
    (is_neutral && is_arithmetic(matcher, a, typed.data_type, flushes)).then(|| value(root, a))?
}
