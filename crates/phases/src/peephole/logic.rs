//! Identities of conjunction, disjunction and complement, including predicates.

use super::matcher::{Matcher, signed};
use super::rewrite::{Rewrite, Value, node, plain, value};
use super::rule::Rule;
use oriel_arithmetic::low_bits;
use oriel_ori::{Instruction, Operand, Operation};

const WIDTHS: &[u32] = &[1, 16, 32, 64];
const BITWISE: &[Operation] = &[Operation::And, Operation::Or, Operation::Xor];

pub(super) const RULES: &[Rule] = &[
    Rule::plain(
        "bits-with-constant",
        BITWISE,
        WIDTHS,
        with_constant,
        &[
            "%9:R{w} = AND.b{w} %1, 0",
            "%9:R{w} = AND.b{w} %1, -1",
            "%9:R{w} = OR.b{w} %1, 0",
            "%9:R{w} = OR.b{w} %1, -1",
            "%9:R{w} = XOR.b{w} %1, 0",
            "%9:P = AND.b1 %11, -1",
            "%9:P = OR.b1 %11, -1",
        ],
    ),
    Rule::plain(
        "bits-with-themselves",
        BITWISE,
        WIDTHS,
        with_itself,
        &[
            "%9:R{w} = AND.b{w} %1, %1",
            "%9:R{w} = OR.b{w} %1, %1",
            "%9:R{w} = XOR.b{w} %1, %1",
            "%9:P = XOR.b1 %11, %11",
        ],
    ),
    Rule::plain(
        "bits-with-complement",
        BITWISE,
        WIDTHS,
        with_complement,
        &[
            "%8:R{w} = NOT.b{w} %1\n%9:R{w} = AND.b{w} %8, %1",
            "%8:R{w} = NOT.b{w} %1\n%9:R{w} = OR.b{w} %1, %8",
            "%8:P = NOT.b1 %11\n%9:P = XOR.b1 %8, %11",
        ],
    ),
    Rule::plain(
        "absorption",
        &[Operation::And, Operation::Or],
        WIDTHS,
        absorb,
        &[
            "%8:R{w} = OR.b{w} %1, %2\n%9:R{w} = AND.b{w} %8, %1",
            "%8:R{w} = AND.b{w} %1, %2\n%9:R{w} = OR.b{w} %2, %8",
        ],
    ),
    Rule::plain(
        "bits-of-bits-with-constants",
        BITWISE,
        WIDTHS,
        with_constants,
        &[
            "%8:R{w} = AND.b{w} %1, 1023\n%9:R{w} = AND.b{w} %8, 4080",
            "%8:R{w} = XOR.b{w} %1, 1023\n%9:R{w} = XOR.b{w} %8, 4080",
        ],
    ),
    Rule::plain(
        "complement-of-complement",
        &[Operation::Not],
        WIDTHS,
        complement_twice,
        &[
            "%8:R{w} = NOT.b{w} %1\n%9:R{w} = NOT.b{w} %8",
            "%8:P = NOT.b1 %11\n%9:P = NOT.b1 %8",
        ],
    ),
    Rule::plain(
        "exclusive-or-of-complements",
        &[Operation::Xor],
        WIDTHS,
        exclude_complements,
        &["%8:R{w} = NOT.b{w} %1\n%7:R{w} = NOT.b{w} %2\n%9:R{w} = XOR.b{w} %7, %8"],
    ),
    Rule::plain(
        "mask-of-what-is-zero",
        &[Operation::And],
        WIDTHS,
        mask_known,
        &[
            "%8:R32 = CVT.u32.u16 %12\n%9:R32 = AND.b32 %8, 65535",
            "%8:R32 = SHR.u32 %4, 12\n%9:R32 = AND.b32 %8, 134217727",
            "%8:R32 = CVT.u32.u16 %12\n%9:R32 = AND.b32 %8, 65536",
        ],
    ),
];

/// Returns all ones, as the constant of a width.
fn all_ones(bits: u32) -> Value {
    Value::Integer(signed(low_bits(bits), bits))
}

/// Returns the operand that a definition complements.
fn complemented(matcher: &Matcher<'_>, operand: Operand) -> Option<Operand> {
    Some(matcher.source(matcher.defined_by(operand, Operation::Not)?, 0))
}

fn with_constant(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let operation = matcher.function.operation(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[other, constant]| {
        let constant = matcher.constant(constant, bits)?;
        match (operation, constant == 0, constant == low_bits(bits)) {
            (Operation::And, true, _) => value(root, Value::Integer(0)),
            (Operation::Or, _, true) => value(root, all_ones(bits)),
            (Operation::And, _, true) | (Operation::Or | Operation::Xor, true, _) => value(root, other),
            _ => None,
        }
    })
}

fn with_itself(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [a, b] = matcher.two(root);
    if !matcher.is_same_register(a, b) {
        return None;
    }
    match matcher.function.operation(root) {
        Operation::Xor => value(root, Value::Integer(0)),
        _ => value(root, a),
    }
}

fn with_complement(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find(|&[complement, other]| {
        complemented(matcher, complement).is_some_and(|of| matcher.is_same_register(of, other))
    })?;
    match matcher.function.operation(root) {
        Operation::And => value(root, Value::Integer(0)),
        _ => value(root, all_ones(matcher.bits(root))),
    }
}

fn absorb(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let other = match matcher.function.operation(root) {
        Operation::And => Operation::Or,
        _ => Operation::And,
    };
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[inner, kept]| {
        let inner = matcher.defined_by(inner, other)?;
        let mut parts = matcher.two(inner).into_iter();
        parts
            .any(|part| matcher.is_same_register(part, kept))
            .then(|| value(root, kept))?
    })
}

fn with_constants(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let bits = typed.data_type.bits();
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[inner, constant]| {
        let outer = matcher.constant(constant, bits)?;
        let inner = matcher.defined_by(inner, typed.operation)?;
        let mut orders = matcher.either_order(inner).into_iter();
        let (leaf, of_inner) =
            orders.find_map(|[leaf, inner]| Some((leaf, matcher.constant(inner, bits)?)))?;
        let both = typed.evaluate(&[outer, of_inner], bits)?;
        node(root, typed, &[leaf.into(), Value::Integer(signed(both, bits))])
    })
}

fn complement_twice(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    value(root, complemented(matcher, matcher.source(root, 0))?)
}

fn exclude_complements(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [a, b] = matcher.two(root);
    let typed = plain(Operation::Xor, matcher.data_type(root));
    node(
        root,
        typed,
        &[complemented(matcher, a)?.into(), complemented(matcher, b)?.into()],
    )
}

fn mask_known(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[masked, mask]| {
        let mask = matcher.constant(mask, bits)?;
        let zeros = matcher.known_zeros(masked, bits);
        if zeros | mask == low_bits(bits) {
            return value(root, masked);
        }
        (zeros & mask == mask).then(|| value(root, Value::Integer(0)))?
    })
}
