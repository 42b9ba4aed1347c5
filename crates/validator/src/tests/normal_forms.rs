//! Normal forms: compared with arithmetic, and comparisons of extended values.

use super::super::values::{Bitwise, Named, Operator, Value, Values};
use super::{compare, computing};
use oriel_arithmetic::low_bits;
use oriel_ori::{Comparison, Function};
use oriel_random::{Random, Stream};
use proptest::prelude::*;

/// The normal forms of random expressions have the expressions' values.
#[derive(Clone, Debug)]
struct Expression {
    steps: Vec<(u8, usize, usize, u64)>,
    width: u32,
}

fn expressions() -> impl Strategy<Value = Expression> {
    let step = (
        0..16u8,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u64>(),
    );
    (
        prop::sample::select(vec![7u32, 8, 16, 32, 33, 63, 64]),
        prop::collection::vec(step, 1..14),
    )
        .prop_map(|(width, steps)| {
            let steps = steps
                .into_iter()
                .enumerate()
                .map(|(number, (kind, left, right, constant))| {
                    (kind, left.index(number + 3), right.index(number + 3), constant)
                })
                .collect();
            Expression { steps, width }
        })
}

/// Evaluates a node for these values of the inputs.
fn evaluate(values: &Values, value: Value, inputs: &[u64; 3]) -> u64 {
    let width = values.width(value);
    let part = |index: usize| evaluate(values, values.operand(value, index), inputs);
    let bits = match values.operator(value) {
        Operator::Constant { low, .. } => low,
        Operator::Named { number, .. } => inputs[number as usize],
        Operator::Sum { constant } => values
            .as_sum(value)
            .terms
            .iter()
            .fold(constant, |sum, &(term, factor)| {
                sum.wrapping_add(factor.wrapping_mul(evaluate(values, term, inputs)))
            }),
        Operator::LongSum => part(0).wrapping_add(part(1)),
        Operator::Product => {
            let parts = values.parts_of(value);
            parts.fold(1u64, |product, part| {
                product.wrapping_mul(evaluate(values, part, inputs))
            })
        }
        Operator::Piece { low } => part(0) >> low,
        Operator::SignExtension => {
            let shift = 64 - values.width(values.operand(value, 0));
            ((part(0) << shift) as i64 >> shift) as u64
        }
        Operator::Bitwise(kind) => {
            let parts: Vec<u64> = values
                .parts_of(value)
                .map(|part| evaluate(values, part, inputs))
                .collect();
            let combine = |left: u64, right: &u64| match kind {
                Bitwise::And => left & right,
                Bitwise::Or => left | right,
                Bitwise::Xor => left ^ right,
            };
            parts[1..].iter().fold(parts[0], combine)
        }
        Operator::IsZero => u64::from(part(0) == 0),
        Operator::Less { signed } => {
            let shift = 64 - values.width(values.operand(value, 0));
            let (left, right) = (part(0) << shift, part(1) << shift);
            u64::from(if signed {
                (left as i64) < right as i64
            } else {
                left < right
            })
        }
        Operator::Select => {
            if part(0) == 1 {
                part(1)
            } else {
                part(2)
            }
        }
        other => panic!("{other:?} is not made here"),
    };
    bits & low_bits(width)
}

/// Builds the expression as nodes, and evaluates it for the inputs at the same time.
fn build(values: &mut Values, expression: &Expression, inputs: &[u64; 3]) -> Vec<(Value, u64)> {
    let width = expression.width;
    let all = low_bits(width);
    let mut known: Vec<(Value, u64)> = (0..3)
        .map(|number| {
            let operator = Operator::Named {
                kind: Named::SpecialRegister,
                number: number as u64,
            };
            (values.intern(operator, width, &[]), inputs[number] & all)
        })
        .collect();
    for &(kind, left, right, constant) in &expression.steps {
        let ((one, a), (other, b)) = (known[left], known[right]);
        let by = constant % u64::from(width);
        let low = constant as u32 % width;
        let bits = 1 + (constant >> 32) as u32 % (width - low);
        let signed = constant >> 60 & 1 == 1;
        let shift = 64 - width;
        let number = values.constant(width, constant);
        let step = match kind {
            0 => (values.add(width, one, other), a.wrapping_add(b)),
            1 => (values.subtract(width, one, other), a.wrapping_sub(b)),
            2 => (values.multiply(width, one, other), a.wrapping_mul(b)),
            3 => (values.shift_left(width, one, by), a << by),
            4 => {
                let shifted = if signed {
                    ((a << shift) as i64 >> shift >> by) as u64
                } else {
                    a >> by
                };
                (values.shift_right(width, one, by, signed), shifted)
            }
            5 => (values.bitwise(Bitwise::And, width, one, other), a & b),
            6 => (values.bitwise(Bitwise::Or, width, one, other), a | b),
            7 => (values.bitwise(Bitwise::Xor, width, one, other), a ^ b),
            8 => (values.bitwise(Bitwise::And, width, one, number), a & constant),
            9 => (values.bitwise(Bitwise::Or, width, one, number), a | constant),
            10 => (values.complement(width, one), !a),
            11 => {
                let field = values.extract(one, low, bits);
                let value = a >> low & low_bits(bits);
                let value = if signed {
                    (value << (64 - bits)) as i64 >> (64 - bits)
                } else {
                    value as i64
                };
                (values.resize(width, field, signed), value as u64)
            }
            12 => (values.add(width, one, number), a.wrapping_add(constant)),
            13 => {
                let comparison = [
                    Comparison::Eq,
                    Comparison::Ne,
                    Comparison::Lt,
                    Comparison::Le,
                    Comparison::Gt,
                    Comparison::Ge,
                ][(constant >> 8) as usize % 6];
                let other = if constant >> 59 & 1 == 1 { number } else { other };
                let b = if constant >> 59 & 1 == 1 {
                    constant & all
                } else {
                    b
                };
                let order = |bits: u64| {
                    if signed {
                        i128::from((bits << shift) as i64 >> shift)
                    } else {
                        i128::from(bits)
                    }
                };
                let (a, b) = (order(a), order(b));
                let holds = match comparison {
                    Comparison::Eq => a == b,
                    Comparison::Ne => a != b,
                    Comparison::Lt => a < b,
                    Comparison::Le => a <= b,
                    Comparison::Gt => a > b,
                    _ => a >= b,
                };
                let predicate = values
                    .compare(comparison, one, other, signed)
                    .expect("it is one of integers");
                let small = values.extend(width, predicate);
                (small, u64::from(holds))
            }
            14 => {
                let zero = values.is_zero(one);
                (
                    values.select(width, zero, other, number),
                    if a == 0 { b } else { constant },
                )
            }
            _ => {
                let predicate = values.is_zero(other);
                let not = values.not(predicate);
                (values.select(width, not, one, other), if b == 0 { b } else { a })
            }
        };
        known.push((step.0, step.1 & all));
    }
    known
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any normal form of an expression has the expression's value.
    #[test]
    fn normal_forms_have_the_value_of_what_they_are_made_of(expression in expressions(), seed in any::<u64>(), is_thorough in any::<bool>()) {
        let mut random = Random::new(seed, Stream::TestOri);
        for _ in 0..4 {
            let mut values = Values::default();
            values.is_thorough = is_thorough;
            let all = low_bits(expression.width);
            let inputs = [0; 3].map(|_: u64| {
                let word = u64::from(random.word()) << 32 | u64::from(random.word());
                [word, word & 7, 0, u64::MAX, 1 << (expression.width - 1), word & word >> 7][random.index(6)] & all
            });
            for (number, (value, expected)) in build(&mut values, &expression, &inputs).into_iter().enumerate() {
                prop_assert_eq!(evaluate(&values, value, &inputs), expected, "value {} is {}", number, values.show(value));
            }
        }
    }
}

/// Returns a function that selects by a comparison.
fn comparing(lines: &str) -> Function {
    computing(&format!("{lines}    %9:R32 = SEL.b32 %1, %2, %8\n"))
}

#[test]
fn extended_values_are_compared_in_their_own_width() {
    let of = |extension: &str, comparison: &str, right: &str| {
        comparing(&format!(
            "    %3:R64 = CVT.{extension} %1\n    %4:R64 = CVT.{extension} %2\n    %8:P = ISETP.{comparison} %3, {right}\n"
        ))
    };
    let narrow =
        |comparison: &str, right: &str| comparing(&format!("    %8:P = ISETP.{comparison} %1, {right}\n"));
    for relation in ["lt", "le", "gt", "ge"] {
        let [signed, unsigned] =
            ["s", "u"].map(|kind| [64, 32].map(|width| format!("{relation}.{kind}{width}")));
        for (right, short) in [("%4", "%2"), ("127", "127")] {
            for (extension, wide, short_order, wrong) in [
                ("u64.u32", &signed[0], &unsigned[1], &signed[1]),
                ("u64.u32", &unsigned[0], &unsigned[1], &signed[1]),
                ("s64.s32", &signed[0], &signed[1], &unsigned[1]),
                ("s64.s32", &unsigned[0], &unsigned[1], &signed[1]),
            ] {
                let before = of(extension, wide, right);
                assert_eq!(
                    compare(&before, &narrow(short_order, short)),
                    Ok(()),
                    "{extension} {wide}"
                );
                assert!(
                    compare(&before, &narrow(wrong, short)).is_err(),
                    "{extension} {wide}"
                );
            }
        }
    }
    // The constant does not fit.
    for (extension, right) in [("u64.u32", "4294967423"), ("s64.s32", "4294967423")] {
        assert!(compare(&of(extension, "lt.s64", right), &narrow("lt.s32", "127")).is_err());
        assert!(compare(&of(extension, "lt.s64", right), &narrow("lt.u32", "127")).is_err());
    }
}

/// Bytes are put together by "or", by sums and by multiplications with powers of two, in any order; only some of
/// the operands have bits in common.
#[test]
fn what_has_no_bits_in_common_may_be_added() {
    let byte = "    %3:R32 = SHL.b32 %1, 24\n    %4:R32 = AND.b32 %2, -2147483648\n    %5:R32 = SHR.u32 %2, 24\n\
                \x20   %6:R32 = AND.b32 %5, 128\n    %7:R32 = AND.b32 %1, 255\n    %8:R32 = OR.b32 %7, %6\n\
                \x20   %11:R32 = SHL.b32 %8, 16\n";
    let of = |lines: &str| computing(&format!("{byte}{lines}"));
    let before = of("    %12:R32 = OR.b32 %3, %4\n    %9:R32 = OR.b32 %12, %11\n");
    for after in [
        "    %12:R32 = OR.b32 %3, %4\n    %9:R32 = IMAD.b32 %8, 65536, %12\n",
        "    %12:R32 = OR.b32 %3, %11\n    %9:R32 = OR.b32 %4, %12\n",
        "    %12:R32 = IADD.b32 %3, %11\n    %9:R32 = OR.b32 %12, %4\n",
    ] {
        assert_eq!(compare(&before, &of(after)), Ok(()), "{after}");
    }
    for wrong in [
        // The sign may be set already.
        "    %12:R32 = IADD.b32 %3, %4\n    %9:R32 = OR.b32 %12, %11\n",
        "    %12:R32 = OR.b32 %3, %4\n    %9:R32 = IMAD.b32 %8, 131072, %12\n",
        "    %12:R32 = OR.b32 %3, %4\n    %9:R32 = IMAD.b32 %1, 65536, %12\n",
    ] {
        assert!(compare(&before, &of(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn bits_that_are_shifted_out_do_not_count() {
    let of = |lines: &str| {
        computing(&format!(
            "    %3:R32 = SHR.u32 %1, 1\n    %4:R32 = IADD.b32 %3, 1\n    %5:R32 = SHR.u32 %4, 3\n\
             \x20   %6:R32 = AND.b32 %4, 7\n{lines}"
        ))
    };
    let before = of("    %7:R32 = SHL.b32 %5, 4\n    %9:R32 = OR.b32 %7, %6\n");
    assert_eq!(
        compare(&before, &of("    %9:R32 = IMAD.b32 %5, 16, %6\n")),
        Ok(())
    );
    assert!(compare(&before, &of("    %9:R32 = IMAD.b32 %5, 8, %6\n")).is_err());
}

/// Two adjacent words of a value of 128 bits are a piece of it that is as wide as they are, not as wide as the rest of it.
#[test]
fn words_of_a_wider_value_are_put_together_in_their_own_width() {
    let of = |lines: &str| {
        let body = format!(
            "bix0:\n    %10:R64 = LD.param::entry.b64 [0]\n    %1:R128 = LD.global.b128 [%10]\n    %2:R64 = LD.global.b64 [%10+16]\n\
             {lines}    %9:R64 = OR.b64 %8, %2\n    ST.global.b64 %9, [%10+24]\n    RET\n"
        );
        super::parse("ssa", &body)
    };
    let words = "    %3:R32, %4:R32, %5:R32, %6:R32 = UNPACK.b32.b128 %1\n";
    let halves = "    %3:R64, %4:R64 = UNPACK.b64.b128 %1\n";
    let before = of(&format!("{words}    %8:R64 = PACK.b64.b32 %3, %4\n"));
    let after = |half: &str| of(&format!("{halves}    %8:R64 = MOV.b64 {half}\n"));
    assert_eq!(compare(&before, &after("%3")), Ok(()));
    assert!(compare(&before, &after("%4")).is_err());
}
