//! Identities of sums, products, minima and the like.

use super::matcher::{Matcher, signed};
use super::rewrite::{Becomes, Change, NewInstruction, Rewrite, Value, node, plain, value};
use super::rule::{Governs, Rule};
use oriel_arithmetic::{TypedOperation, low_bits};
use oriel_ori::{DataType, Instruction, Operand, Operation};
use smallvec::smallvec;

const WIDTHS: &[u32] = &[16, 32, 64];

pub(super) const RULES: &[Rule] = &[
    Rule::plain(
        "add-zero",
        &[Operation::Iadd, Operation::Isub],
        WIDTHS,
        add_zero,
        &["%9:R{w} = IADD.b{w} %1, 0", "%9:R{w} = ISUB.b{w} %1, 0"],
    ),
    Rule::plain(
        "subtract-itself",
        &[Operation::Isub],
        WIDTHS,
        subtract_itself,
        &["%9:R{w} = ISUB.b{w} %1, %1"],
    ),
    Rule::plain(
        "sum-of-sum-with-constants",
        &[Operation::Iadd, Operation::Isub],
        WIDTHS,
        add_constants,
        &[
            "%8:R{w} = IADD.b{w} %1, 100\n%9:R{w} = IADD.b{w} %8, -77",
            "%8:R{w} = ISUB.b{w} %1, 100\n%9:R{w} = IADD.b{w} %8, 120",
            "%8:R{w} = IADD.b{w} %1, 100\n%9:R{w} = ISUB.b{w} %8, 7",
            "%8:R{w} = ISUB.b{w} 100, %1\n%9:R{w} = IADD.b{w} %8, 5",
        ],
    ),
    Rule::plain(
        "negated-summand",
        &[Operation::Iadd, Operation::Isub],
        WIDTHS,
        add_negated,
        &[
            "%8:R{w} = INEG.s{w} %1\n%9:R{w} = IADD.b{w} %8, %2",
            "%8:R{w} = INEG.s{w} %1\n%9:R{w} = ISUB.b{w} %2, %8",
        ],
    ),
    Rule::plain(
        "add-what-was-subtracted",
        &[Operation::Iadd, Operation::Isub],
        WIDTHS,
        cancel,
        &[
            "%8:R{w} = ISUB.b{w} %1, %2\n%9:R{w} = IADD.b{w} %8, %2",
            "%8:R{w} = IADD.b{w} %1, %2\n%9:R{w} = ISUB.b{w} %8, %1",
        ],
    ),
    Rule::plain(
        "negation-of-negation",
        &[Operation::Ineg],
        WIDTHS,
        negate_twice,
        &[
            "%8:R{w} = INEG.s{w} %1\n%9:R{w} = INEG.s{w} %8",
            "%8:R{w} = ISUB.b{w} %1, %2\n%9:R{w} = INEG.s{w} %8",
        ],
    ),
    Rule::plain(
        "absolute-value-of-sign",
        &[Operation::Iabs],
        WIDTHS,
        absolute,
        &[
            "%8:R{w} = INEG.s{w} %1\n%9:R{w} = IABS.s{w} %8",
            "%8:R{w} = IABS.s{w} %1\n%9:R{w} = IABS.s{w} %8",
        ],
    ),
    Rule::plain(
        "multiply-by-zero-or-one",
        &[Operation::Imul],
        WIDTHS,
        multiply_by_unit,
        &[
            "%9:R{w} = IMUL.b{w} %1, 0",
            "%9:R{w} = IMUL.b{w} %1, 1",
            "%9:R{w} = IMUL.b{w} %1, -1",
        ],
    ),
    Rule::plain(
        "multiply-by-power-of-two",
        &[Operation::Imul],
        WIDTHS,
        multiply_by_power,
        &["%9:R{w} = IMUL.b{w} %1, 8", "%9:R{w} = IMUL.b{w} %1, 16384"],
    ),
    Rule::plain(
        "product-of-product-with-constants",
        &[Operation::Imul],
        WIDTHS,
        multiply_constants,
        &["%8:R{w} = IMUL.b{w} %1, 11\n%9:R{w} = IMUL.b{w} %8, 13"],
    ),
    Rule::plain(
        "multiply-and-add-of-units",
        &[Operation::Imad],
        WIDTHS,
        simplify_mad,
        &[
            "%9:R{w} = IMAD.b{w} %1, 0, %2",
            "%9:R{w} = IMAD.b{w} %1, 1, %2",
            "%9:R{w} = IMAD.b{w} %1, %2, 0",
            "%8:R{w} = MOV.b{w} 12\n%9:R{w} = IMAD.b{w} %8, 11, %1",
        ],
    ),
    Rule::plain(
        "wide-multiply-and-add-of-units",
        &[Operation::ImadWide],
        WIDTHS,
        simplify_wide_mad,
        &[
            "%9:R64 = IMAD.WIDE.s64.s32 %4, 0, %3",
            "%9:R64 = IMAD.WIDE.s64.s32 %4, %5, 0",
            "%9:R64 = IMAD.WIDE.u64.u32 %4, %5, 0",
        ],
    ),
    Rule {
        name: "product-and-sum",
        roots: &[Operation::Iadd],
        // Not in 64 bits: ptxas turns the result into a sum and a product, which is longer than a
        // shift and a sum.
        widths: &[16, 32],
        governed_by: Governs::PlainIntegers,
        rewrite: fuse_product,
        examples: &[
            "%8:R{w} = IMUL.b{w} %1, %2\n%9:R{w} = IADD.b{w} %8, %1",
            "%8:R{w} = IMUL.b{w} %1, 100\n%9:R{w} = IADD.b{w} %2, %8",
        ],
    },
    Rule {
        name: "shift-and-sum",
        roots: &[Operation::Iadd],
        widths: &[32],
        governed_by: Governs::PlainIntegers,
        rewrite: fuse_shift,
        examples: &[
            "%8:R32 = SHL.b32 %4, 3\n%9:R32 = IADD.b32 %8, %5",
            "%8:R32 = SHL.b32 %4, 31\n%9:R32 = IADD.b32 %5, %8",
        ],
    },
    Rule {
        name: "product-and-difference",
        roots: &[Operation::Isub],
        widths: &[32],
        governed_by: Governs::PlainIntegers,
        rewrite: fuse_difference,
        examples: &[
            "%8:R32 = IMUL.b32 %4, 100\n%9:R32 = ISUB.b32 %5, %8",
            "%8:R32 = SHL.b32 %4, 4\n%9:R32 = ISUB.b32 %5, %8",
        ],
    },
    Rule {
        name: "disjoint-shift-and-or",
        roots: &[Operation::Or, Operation::Xor],
        widths: &[32],
        governed_by: Governs::PlainIntegers,
        rewrite: fuse_disjoint,
        examples: &[
            "%8:R32 = AND.b32 %5, 255\n%7:R32 = SHL.b32 %4, 8\n%9:R32 = OR.b32 %7, %8",
            "%8:R32 = SHR.u32 %5, 26\n%7:R32 = SHL.b32 %4, 8\n%9:R32 = XOR.b32 %8, %7",
        ],
    },
    Rule {
        name: "extension-and-sum",
        roots: &[Operation::Cvt],
        widths: &[64],
        governed_by: Governs::PlainIntegers,
        rewrite: fuse_extension,
        examples: &[
            "%8:R64 = CVT.s64.s32 %4\n%9:R64 = IADD.b64 %8, %3",
            "%8:R64 = CVT.u64.u32 %4\n%7:R64 = IADD.b64 %3, %8\n%6:R64 = IADD.b64 %8, %10\n%9:R64 = XOR.b64 %6, %7",
        ],
    },
    Rule::plain(
        "least-and-greatest",
        &[Operation::Imin, Operation::Imax],
        WIDTHS,
        simplify_extreme,
        &[
            "%9:R{w} = IMIN.u{w} %1, 0",
            "%9:R{w} = IMIN.s{w} %1, %1",
            "%9:R{w} = IMAX.u{w} %1, 0",
            "%9:R{w} = IMAX.u{w} %1, -1",
            "%8:R{w} = IMIN.s{w} %1, 50\n%9:R{w} = IMIN.s{w} %8, 20",
        ],
    ),
    Rule::plain(
        "divide-by-one",
        &[Operation::Idiv, Operation::Irem],
        WIDTHS,
        divide_by_one,
        &["%9:R{w} = IDIV.s{w} %1, 1", "%9:R{w} = IREM.u{w} %1, 1"],
    ),
];

/// Returns the factor and constant of a product by a constant, including shifts.
fn scaled(matcher: &Matcher<'_>, operand: Operand, bits: u32) -> Option<(Operand, u64)> {
    if let Some(product) = matcher.defined_by(operand, Operation::Imul) {
        let mut orders = matcher.either_order(product).into_iter();
        return orders.find_map(|[factor, constant]| Some((factor, matcher.constant(constant, bits)?)));
    }
    let shift = matcher.defined_by(operand, Operation::Shl)?;
    let amount = matcher
        .constant(matcher.source(shift, 1), 32)
        .filter(|&amount| amount < u64::from(bits))?;
    Some((matcher.source(shift, 0), 1 << amount))
}

/// Fuses `value * constant + summand`.
fn scaled_sum(
    root: Instruction,
    data_type: DataType,
    factor: Operand,
    constant: i64,
    summand: Operand,
) -> Option<Rewrite> {
    let typed = plain(Operation::Imad, data_type);
    node(root, typed, &[factor.into(), constant.into(), summand.into()])
}

fn add_zero(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let [a, b] = matcher.two(root);
    if matcher.is_constant(b, 0, bits) {
        return value(root, a);
    }
    let is_sum = matcher.function.operation(root) == Operation::Iadd;
    (is_sum && matcher.is_constant(a, 0, bits)).then(|| value(root, b))?
}

fn subtract_itself(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [a, b] = matcher.two(root);
    matcher
        .is_same_register(a, b)
        .then(|| value(root, Value::Integer(0)))?
}

/// Splits a sum with a constant into `±value + constant`.
fn sum_with_constant(matcher: &Matcher<'_>, sum: Instruction) -> Option<(Operand, bool, u64)> {
    let bits = matcher.bits(sum);
    let [a, b] = matcher.two_if_binary(sum)?;
    let [of_a, of_b] = [a, b].map(|operand| matcher.constant(operand, bits));
    match (matcher.function.operation(sum), of_a, of_b) {
        (Operation::Iadd, _, Some(constant)) => Some((a, false, constant)),
        (Operation::Iadd, Some(constant), _) => Some((b, false, constant)),
        (Operation::Isub, _, Some(constant)) => Some((a, false, constant.wrapping_neg())),
        (Operation::Isub, Some(constant), _) => Some((b, true, constant)),
        _ => None,
    }
}

fn add_constants(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let (operand, is_negative, outer) = sum_with_constant(matcher, root)?;
    let definition = matcher.definition(operand)?;
    let data_type = matcher.data_type(root);
    if !matcher.is_plain(definition) || matcher.data_type(definition) != data_type {
        return None;
    }
    let (leaf, is_leaf_negative, inner) = sum_with_constant(matcher, definition)?;
    let sum = match is_negative {
        true => outer.wrapping_sub(inner),
        false => outer.wrapping_add(inner),
    };
    let constant = Value::Integer(signed(sum & low_bits(data_type.bits()), data_type.bits()));
    match is_negative != is_leaf_negative {
        true => node(root, plain(Operation::Isub, data_type), &[constant, leaf.into()]),
        false => node(root, plain(Operation::Iadd, data_type), &[leaf.into(), constant]),
    }
}

fn add_negated(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let data_type = matcher.data_type(root);
    let negated = |operand| Some(matcher.source(matcher.defined_by(operand, Operation::Ineg)?, 0));
    if matcher.function.operation(root) == Operation::Isub {
        let [a, b] = matcher.two(root);
        return node(
            root,
            plain(Operation::Iadd, data_type),
            &[a.into(), negated(b)?.into()],
        );
    }
    let mut orders = matcher.either_order(root).into_iter();
    let [other, negative] = orders.find_map(|[a, b]| Some([a, negated(b)?]))?;
    node(
        root,
        plain(Operation::Isub, data_type),
        &[other.into(), negative.into()],
    )
}

fn cancel(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    if matcher.function.operation(root) == Operation::Iadd {
        let mut orders = matcher.either_order(root).into_iter();
        return orders.find_map(|[difference, summand]| {
            let [a, b] = matcher.two(matcher.defined_by(difference, Operation::Isub)?);
            matcher.is_same_register(b, summand).then(|| value(root, a))?
        });
    }
    let [sum, taken] = matcher.two(root);
    let sum = matcher.defined_by(sum, Operation::Iadd)?;
    let mut orders = matcher.either_order(sum).into_iter();
    let [left, _] = orders.find(|&[_, summand]| matcher.is_same_register(summand, taken))?;
    value(root, left)
}

fn negate_twice(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let operand = matcher.source(root, 0);
    if let Some(inner) = matcher.defined_by(operand, Operation::Ineg) {
        return value(root, matcher.source(inner, 0));
    }
    let [a, b] = matcher.two(matcher.defined_by(operand, Operation::Isub)?);
    let data_type = DataType::of_bits(matcher.bits(root))?;
    node(root, plain(Operation::Isub, data_type), &[b.into(), a.into()])
}

fn absolute(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let operand = matcher.source(root, 0);
    if matcher.defined_by(operand, Operation::Iabs).is_some() {
        return value(root, operand);
    }
    let inner = matcher.defined_by(operand, Operation::Ineg)?;
    let typed = matcher.typed_operation(root);
    node(root, typed, &[matcher.source(inner, 0).into()])
}

fn multiply_by_unit(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[factor, constant]| match matcher.constant(constant, bits)? {
        0 => value(root, Value::Integer(0)),
        1 => value(root, factor),
        minus_one if minus_one == low_bits(bits) => {
            let negation = plain(Operation::Ineg, DataType::signed(bits));
            node(root, negation, &[factor.into()])
        }
        _ => None,
    })
}

fn multiply_by_power(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[factor, constant]| {
        let constant = matcher
            .constant(constant, bits)
            .filter(|value| value.is_power_of_two())?;
        let typed = plain(Operation::Shl, matcher.data_type(root));
        node(
            root,
            typed,
            &[factor.into(), i64::from(constant.trailing_zeros()).into()],
        )
    })
}

fn multiply_constants(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[product, constant]| {
        let outer = matcher.constant(constant, bits)?;
        let (factor, inner) = scaled(matcher, product, bits)?;
        let constant = signed(outer.wrapping_mul(inner) & low_bits(bits), bits);
        node(
            root,
            matcher.typed_operation(root),
            &[factor.into(), constant.into()],
        )
    })
}

fn simplify_mad(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let (bits, data_type) = (matcher.bits(root), matcher.data_type(root));
    let summand = matcher.source(root, 2);
    let [a, b] = matcher.two(root);
    if let (Some(a), Some(b)) = (matcher.constant(a, bits), matcher.constant(b, bits)) {
        let product = signed(a.wrapping_mul(b) & low_bits(bits), bits);
        return node(
            root,
            plain(Operation::Iadd, data_type),
            &[summand.into(), product.into()],
        );
    }
    if matcher.is_constant(summand, 0, bits) {
        return node(root, plain(Operation::Imul, data_type), &[a.into(), b.into()]);
    }
    [[a, b], [b, a]]
        .into_iter()
        .find_map(|[factor, constant]| match matcher.constant(constant, bits)? {
            0 => value(root, summand),
            1 => node(
                root,
                plain(Operation::Iadd, data_type),
                &[factor.into(), summand.into()],
            ),
            _ => None,
        })
}

fn simplify_wide_mad(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let narrow = typed.source_type.bits();
    let summand = matcher.source(root, 2);
    let [a, b] = matcher.two(root);
    if matcher.is_constant(summand, 0, typed.data_type.bits()) {
        let product = TypedOperation::new(Operation::ImulWide, typed.data_type, typed.source_type);
        return node(root, product, &[a.into(), b.into()]);
    }
    let is_zero = matcher.is_constant(a, 0, narrow) || matcher.is_constant(b, 0, narrow);
    is_zero.then(|| value(root, summand))?
}

fn fuse_product(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[product, summand]| {
        matcher.register(summand)?;
        let factors = matcher.two(matcher.defined_by(product, Operation::Imul)?);
        let typed = plain(Operation::Imad, matcher.data_type(root));
        node(
            root,
            typed,
            &[factors[0].into(), factors[1].into(), summand.into()],
        )
    })
}

fn fuse_shift(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[shift, summand]| {
        matcher.register(summand)?;
        matcher.defined_by(shift, Operation::Shl)?;
        let (factor, constant) = scaled(matcher, shift, 32)?;
        scaled_sum(
            root,
            matcher.data_type(root),
            factor,
            signed(constant, 32),
            summand,
        )
    })
}

fn fuse_difference(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [from, product] = matcher.two(root);
    matcher.register(from)?;
    let (factor, constant) = scaled(matcher, product, 32)?;
    let constant = signed(constant.wrapping_neg() & low_bits(32), 32);
    scaled_sum(root, matcher.data_type(root), factor, constant, from)
}

fn fuse_disjoint(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[shift, low]| {
        matcher.register(low)?;
        matcher.defined_by(shift, Operation::Shl)?;
        let (factor, constant) = scaled(matcher, shift, 32)?;
        // There are zeros below the shifted value, so nothing carries over.
        let is_disjoint = matcher.known_zeros(shift, 32) | matcher.known_zeros(low, 32) == low_bits(32);
        is_disjoint.then(|| scaled_sum(root, matcher.data_type(root), factor, signed(constant, 32), low))?
    })
}

/// Fuses an extension into sums that are its only uses: ptxas needs as many instructions for `value
/// * 1 + summand` as for a sum.
fn fuse_extension(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let function = matcher.function;
    let typed = matcher.typed_operation(root);
    if !matches!(
        (typed.data_type, typed.source_type),
        (DataType::U64, DataType::U32) | (DataType::S64, DataType::S32)
    ) {
        return None;
    }
    let narrow = matcher.source(root, 0);
    if matcher.register_bits(narrow) != Some(32) {
        return None;
    }
    let result = function.result(root, 0);
    let wide = TypedOperation::new(Operation::ImadWide, typed.data_type, typed.source_type);
    let users = function.uses(matcher.register(result)?).take(MOST_USERS + 1);
    let mut rewrite = Rewrite::new();
    for (user, number) in users {
        let is_sum = function.operation(user) == Operation::Iadd
            && matcher.is_plain(user)
            && matcher.has_plain_sources(user);
        let summand = matcher.function.sources(user).iter().nth(1 - number.min(1))?;
        // A sum with a constant may become an address with an offset.
        if !is_sum || rewrite.len() == MOST_USERS || summand == result || matcher.register(summand).is_none()
        {
            return None;
        }
        rewrite.push(Change {
            target: user,
            becomes: Becomes::Nodes(smallvec![NewInstruction::new(
                wide,
                &[narrow.into(), Value::Integer(1), summand.into()]
            )]),
        });
    }
    (!rewrite.is_empty()).then_some(rewrite)
}

/// The most users of a value that are rewritten together.
const MOST_USERS: usize = 8;

fn simplify_extreme(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let (bits, typed) = (matcher.bits(root), matcher.typed_operation(root));
    let [a, b] = matcher.two(root);
    if matcher.is_same_register(a, b) {
        return value(root, a);
    }
    let [least, greatest] = match typed.data_type.is_signed() {
        true => [1 << (bits - 1), low_bits(bits) >> 1],
        false => [0, low_bits(bits)],
    };
    let (absorbing, neutral) = match typed.operation {
        Operation::Imin => (least, greatest),
        _ => (greatest, least),
    };
    [[a, b], [b, a]].into_iter().find_map(|[other, constant]| {
        let constant = matcher.constant(constant, bits)?;
        if constant == neutral {
            return value(root, other);
        }
        if constant == absorbing {
            return value(root, signed(constant, bits));
        }
        let inner = matcher.defined_by(other, typed.operation)?;
        if matcher.data_type(inner) != typed.data_type {
            return None;
        }
        let mut orders = matcher.either_order(inner).into_iter();
        let (leaf, of_inner) =
            orders.find_map(|[leaf, inner]| Some((leaf, matcher.constant(inner, bits)?)))?;
        let both = typed.evaluate(&[constant, of_inner], bits)?;
        node(root, typed, &[leaf.into(), signed(both, bits).into()])
    })
}

fn divide_by_one(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [dividend, divisor] = matcher.two(root);
    if !matcher.is_constant(divisor, 1, matcher.bits(root)) {
        return None;
    }
    match matcher.function.operation(root) {
        Operation::Idiv => value(root, dividend),
        _ => value(root, Value::Integer(0)),
    }
}
