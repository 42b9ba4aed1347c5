//! Identities of comparisons, selections and branches.

use super::conversions::extended_word;
use super::matcher::{Matcher, signed};
use super::rewrite::{NewInstruction, Rewrite, Value, compare, node, plain, sources, value};
use super::rule::{Governs, Rule};
use oriel_arithmetic::low_bits;
use oriel_ori::{Comparison, DataType, Instruction, ModifierFlags, Operand, OperandKind, Operation};
use smallvec::smallvec;

const WIDTHS: &[u32] = &[16, 32, 64];

/// Creates a rule about comparisons of integers.
const fn comparison(
    name: &'static str,
    rewrite: fn(&Matcher<'_>, Instruction) -> Option<Rewrite>,
    examples: &'static [&'static str],
) -> Rule {
    Rule {
        name,
        roots: &[Operation::Isetp],
        widths: WIDTHS,
        governed_by: Governs::PlainIntegers,
        rewrite,
        examples,
    }
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "complement-of-comparison",
        roots: &[Operation::Not],
        widths: &[1],
        governed_by: Governs::PlainIntegers,
        rewrite: turn_comparison,
        examples: &[
            "%8:P = ISETP.lt.s{w} %1, %2\n%9:P = NOT.b1 %8",
            "%8:P = FSETP.lt.f32 %4, %5\n%9:P = NOT.b1 %8",
        ],
    },
    comparison(
        "comparison-with-itself",
        compare_same,
        &["%9:P = ISETP.le.s{w} %1, %1", "%9:P = ISETP.ne.b{w} %1, %1"],
    ),
    comparison(
        "comparison-with-extreme",
        compare_extreme,
        &[
            "%9:P = ISETP.lt.u{w} %1, 0",
            "%9:P = ISETP.ge.u{w} %1, 0",
            "%9:P = ISETP.gt.u{w} %1, -1",
            "%9:P = ISETP.le.u{w} %1, -1",
        ],
    ),
    comparison(
        "comparison-of-selection",
        compare_selection,
        &[
            "%8:R{w} = SEL.b{w} 1, 0, %11\n%9:P = ISETP.ne.b{w} %8, 0",
            "%8:R{w} = SEL.b{w} 1, 0, %11\n%9:P = ISETP.eq.b{w} %8, 0",
            "%8:R{w} = SEL.b{w} 3, 7, %11\n%9:P = ISETP.lt.s{w} %8, 9",
        ],
    ),
    comparison(
        "equality-of-sum-with-constant",
        compare_sum,
        &[
            "%8:R{w} = IADD.b{w} %1, 100\n%9:P = ISETP.eq.b{w} %8, 7",
            "%8:R{w} = ISUB.b{w} %1, 100\n%9:P = ISETP.ne.b{w} %8, 7",
            "%8:R{w} = XOR.b{w} %1, 100\n%9:P = ISETP.eq.b{w} %8, 7",
        ],
    ),
    comparison(
        "equality-of-difference",
        compare_difference,
        &[
            "%8:R{w} = ISUB.b{w} %1, %2\n%9:P = ISETP.eq.b{w} %8, 0",
            "%8:R{w} = XOR.b{w} %1, %2\n%9:P = ISETP.ne.b{w} %8, 0",
        ],
    ),
    comparison(
        "comparison-of-extended",
        compare_extended,
        &[
            "%8:R64 = CVT.u64.u32 %4\n%9:P = ISETP.lt.u64 %8, 77",
            "%8:R64 = CVT.s64.s32 %4\n%7:R64 = CVT.s64.s32 %5\n%9:P = ISETP.lt.s64 %8, %7",
            "%8:R64 = CVT.u64.u32 %4\n%7:R64 = CVT.u64.u32 %5\n%9:P = ISETP.lt.s64 %8, %7",
        ],
    ),
    Rule {
        name: "selection-of-one-value",
        roots: &[Operation::Sel],
        widths: &[],
        governed_by: Governs::RuleAlone,
        rewrite: select_one,
        examples: &[
            "%9:R{w} = SEL.b{w} %1, %1, %11",
            "%9:R{w} = SEL.b{w} 5, 5, %11",
            "%8:P = MOV.b1 -1\n%9:R{w} = SEL.b{w} %1, %2, %8",
            "%8:P = MOV.b1 0\n%9:R{w} = SEL.b{w} %1, %2, %8",
        ],
    },
    Rule {
        name: "selection-by-complement",
        roots: &[Operation::Sel],
        widths: &[],
        governed_by: Governs::RuleAlone,
        rewrite: select_by_complement,
        examples: &["%8:P = NOT.b1 %11\n%9:R{w} = SEL.b{w} %1, %2, %8"],
    },
    Rule {
        name: "branch-on-complement",
        roots: &[Operation::Bra],
        widths: &[],
        governed_by: Governs::RuleAlone,
        rewrite: branch_on_complement,
        examples: &["%8:P = NOT.b1 %11\nBRA %8, bix1, bix2"],
    },
];

fn truth(holds: bool) -> Value {
    Value::Integer(if holds { -1 } else { 0 })
}

fn turn_comparison(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let comparison = matcher.definition(matcher.source(root, 0))?;
    let mut typed = matcher.typed_operation(comparison);
    let is_float = match typed.operation {
        Operation::Isetp => false,
        Operation::Fsetp
            if (ModifierFlags::CONTRACT | ModifierFlags::FTZ).contains(typed.modifiers.flags) =>
        {
            true
        }
        _ => return None,
    };
    if typed.source_type.lanes() != 1 {
        return None;
    }
    typed.modifiers.comparison = typed.modifiers.comparison.inverse(is_float);
    let [a, b] = matcher.two(comparison);
    node(root, typed, &[a.into(), b.into()])
}

fn compare_same(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [a, b] = matcher.two(root);
    if !matcher.is_same_register(a, b) {
        return None;
    }
    let comparison = matcher.function.modifiers(root).comparison;
    value(
        root,
        truth(matches!(
            comparison,
            Comparison::Eq | Comparison::Le | Comparison::Ge
        )),
    )
}

/// Returns the operand, the constant and the comparison of a comparison with the constant on the
/// right.
fn with_constant(matcher: &Matcher<'_>, root: Instruction) -> Option<(Operand, u64, Comparison)> {
    let typed = matcher.typed_operation(root);
    let (bits, comparison) = (typed.source_type.bits(), typed.modifiers.comparison);
    let [a, b] = matcher.two(root);
    if let Some(constant) = matcher.constant(b, bits) {
        return Some((a, constant, comparison));
    }
    Some((b, matcher.constant(a, bits)?, comparison.swapped()))
}

fn compare_extreme(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let source_type = matcher.function.source_type(root);
    let bits = source_type.bits();
    let (_, constant, comparison) = with_constant(matcher, root)?;
    let [least, greatest] = match source_type.is_signed() {
        true => [1 << (bits - 1), low_bits(bits) >> 1],
        false => [0, low_bits(bits)],
    };
    match comparison {
        Comparison::Lt if constant == least => value(root, truth(false)),
        Comparison::Ge if constant == least => value(root, truth(true)),
        Comparison::Gt if constant == greatest => value(root, truth(false)),
        Comparison::Le if constant == greatest => value(root, truth(true)),
        _ => None,
    }
}

fn compare_selection(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let bits = typed.source_type.bits();
    let (selected, constant, comparison) = with_constant(matcher, root)?;
    let selection = matcher.defined_by(selected, Operation::Sel)?;
    let ordered = compare(Operation::Isetp, typed.source_type, comparison);
    let holds_for = |number| {
        let arm = matcher.constant(matcher.source(selection, number), bits)?;
        Some(ordered.evaluate(&[arm, constant], 1)? != 0)
    };
    let predicate = matcher.source(selection, 2);
    match (holds_for(0)?, holds_for(1)?) {
        (true, false) => value(root, predicate),
        (false, true) => node(root, plain(Operation::Not, DataType::B1), &[predicate.into()]),
        (both, _) => value(root, truth(both)),
    }
}

fn is_equality(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Eq | Comparison::Ne)
}

fn compare_sum(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let bits = typed.source_type.bits();
    let (sum, constant, comparison) = with_constant(matcher, root)?;
    if !is_equality(comparison) {
        return None;
    }
    let definition = matcher.definition(sum).filter(|&sum| matcher.is_plain(sum))?;
    let [a, b] = matcher.two_if_binary(definition)?;
    let (leaf, constant) = match (matcher.function.operation(definition), matcher.constant(b, bits)) {
        (Operation::Iadd, Some(summand)) => (a, constant.wrapping_sub(summand)),
        (Operation::Isub, Some(taken)) => (a, constant.wrapping_add(taken)),
        (Operation::Isub, None) => (b, matcher.constant(a, bits)?.wrapping_sub(constant)),
        (Operation::Xor, Some(mask)) => (a, constant ^ mask),
        _ => return None,
    };
    let constant = Value::Integer(signed(constant & low_bits(bits), bits));
    node(
        root,
        compare(Operation::Isetp, typed.source_type, comparison),
        &[leaf.into(), constant],
    )
}

fn compare_difference(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let (difference, constant, comparison) = with_constant(matcher, root)?;
    let definition = matcher
        .defined_by(difference, Operation::Isub)
        .or_else(|| matcher.defined_by(difference, Operation::Xor))?;
    if constant != 0 || !is_equality(comparison) {
        return None;
    }
    let [a, b] = matcher.two(definition);
    node(
        root,
        compare(Operation::Isetp, typed.source_type, comparison),
        &[a.into(), b.into()],
    )
}

fn compare_extended(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    if typed.source_type.bits() != 64 {
        return None;
    }
    let [a, b] = matcher.two(root);
    let (a, a_by_sign) = extended_word(matcher, a)?;
    let b: Value = match matcher.constant(b, 64) {
        Some(constant) => {
            let narrow = signed(constant & low_bits(32), 32);
            let extended = if a_by_sign {
                narrow as u64
            } else {
                constant & low_bits(32)
            };
            (extended == constant).then_some(Value::Integer(narrow))?
        }
        None => {
            let (b, by_sign) = extended_word(matcher, b)?;
            (by_sign == a_by_sign).then_some(b.into())?
        }
    };
    let comparison = typed.modifiers.comparison;
    // Zero-extended words compare as unsigned, whatever the 64-bit type is; sign-extended words
    // keep their order in either type.
    let source_type = match (is_equality(comparison), a_by_sign, typed.source_type.is_signed()) {
        (true, ..) => DataType::B32,
        (false, true, true) => DataType::S32,
        (false, ..) => DataType::U32,
    };
    node(
        root,
        compare(Operation::Isetp, source_type, comparison),
        &[a.into(), b],
    )
}

fn select_one(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [a, b] = matcher.two(root);
    let is_same = a == b && (a.is_constant() || a.as_register().is_some());
    if let Some(condition) = matcher.constant(matcher.source(root, 2), 1) {
        return select(matcher, root, if condition != 0 { a } else { b });
    }
    is_same.then(|| select(matcher, root, a))?
}

/// Replaces a selection by one of its arms.
fn select(matcher: &Matcher<'_>, root: Instruction, arm: Operand) -> Option<Rewrite> {
    if arm.as_register().is_some() {
        return value(root, arm);
    }
    let data_type = matcher.data_type(root);
    node(root, plain(Operation::Mov, data_type), &[arm.into()])
}

fn select_by_complement(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let complement = matcher.defined_by(matcher.source(root, 2), Operation::Not)?;
    let [a, b] = matcher.two(root);
    let predicate = matcher.source(complement, 0);
    let typed = matcher.typed_operation(root);
    super::rewrite::nodes(
        root,
        smallvec![NewInstruction::new(
            typed,
            &[b.into(), a.into(), predicate.into()]
        )],
    )
}

/// Inverts a branch to which neither target is the next block: the inverted branch costs no more.
fn branch_on_complement(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let branch = matcher.function.sources(root);
    if branch.len() != 3 {
        return None;
    }
    let complement = matcher.defined_by(branch.get(0), Operation::Not)?;
    let [taken, other] = [1, 2].map(|number| branch.get(number));
    let is_named = |target: Operand| matches!(target.kind(), OperandKind::Target(_));
    if !is_named(taken) || !is_named(other) {
        return None;
    }
    let predicate = matcher.source(complement, 0);
    sources(root, smallvec![predicate.into(), other.into(), taken.into()])
}
