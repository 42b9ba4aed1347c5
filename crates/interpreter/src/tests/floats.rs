//! Floating-point arithmetic compared with `rustc_apfloat`, a port of LLVM's, and with the host.

use super::Evaluation;
use oriel_arithmetic::soft_float::{self, BF16, F16, F32, F64, Format};
use oriel_ori::{DataType, ModifierFlags, Operation, Rounding};
use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

const ROUNDINGS: [(Rounding, Round); 4] = [
    (Rounding::Rn, Round::NearestTiesToEven),
    (Rounding::Rz, Round::TowardZero),
    (Rounding::Rm, Round::TowardNegative),
    (Rounding::Rp, Round::TowardPositive),
];

/// Interesting bit patterns of a format: near zero, one, the smallest and largest numbers, and
/// random ones.
fn number(format: Format) -> impl Strategy<Value = u64> {
    let mask = format.sign() | (format.sign() - 1);
    let one = (format.infinity() >> 1) & format.infinity();
    prop_oneof![
        4 => any::<u64>().prop_map(move |bits| bits & mask),
        // Close exponents, so that sums cancel.
        4 => (any::<u64>(), any::<bool>()).prop_map(move |(bits, negative)| {
            let sign = if negative { format.sign() } else { 0 };
            sign | (one + (bits & (4 << format.fraction_bits | ((1 << format.fraction_bits) - 1))))
        }),
        1 => (0u64..4).prop_map(|bits| bits),
        1 => (0u64..4).prop_map(move |bits| format.sign() | bits),
        1 => (0u64..4).prop_map(move |bits| format.infinity() - bits),
        1 => (0u64..4).prop_map(move |bits| (1 << format.fraction_bits) - 2 + bits),
        1 => Just(format.sign() | format.infinity()),
    ]
}

fn same(format: Format, actual: u64, expected: u64) -> bool {
    actual == expected || format.is_nan(actual) && format.is_nan(expected)
}

fn check_arithmetic<F: Float>(format: Format, [a, b, c]: [u64; 3]) -> Result<(), TestCaseError> {
    let [x, y, z] = [a, b, c].map(|bits| F::from_bits(u128::from(bits)));
    for (rounding, round) in ROUNDINGS {
        let expected = |value: F| value.to_bits() as u64;
        for (name, actual, expected) in [
            (
                "add",
                soft_float::add(format, rounding, [a, b]),
                expected(x.add_r(y, round).value),
            ),
            (
                "mul",
                soft_float::multiply(format, rounding, [a, b]),
                expected(x.mul_r(y, round).value),
            ),
            (
                "div",
                soft_float::divide(format, rounding, [a, b]),
                expected(x.div_r(y, round).value),
            ),
            (
                "fma",
                soft_float::fused_multiply_add(format, rounding, [a, b, c]),
                expected(x.mul_add_r(y, z, round).value),
            ),
        ] {
            prop_assert!(
                same(format, actual, expected),
                "{name} {rounding:?} {a:#x} {b:#x} {c:#x}: {actual:#x}, not {expected:#x}"
            );
        }
    }
    Ok(())
}

fn check_conversion<A: Float + FloatConvert<B>, B: Float>(
    from: Format,
    to: Format,
    bits: u64,
) -> Result<(), TestCaseError> {
    for (rounding, round) in ROUNDINGS {
        let expected: B = A::from_bits(u128::from(bits)).convert_r(round, &mut false).value;
        let actual = soft_float::convert(from, to, rounding, bits);
        let expected = expected.to_bits() as u64;
        prop_assert!(
            same(to, actual, expected),
            "{bits:#x} {rounding:?}: {actual:#x}, not {expected:#x}"
        );
    }
    Ok(())
}

/// The root is right if it is between the neighbours whose squares enclose the number.
fn check_root(format: Format, bits: u64) -> Result<(), TestCaseError> {
    if bits & format.sign() != 0 || bits == 0 || bits >= format.infinity() {
        return Ok(());
    }
    let down = soft_float::square_root(format, Rounding::Rm, bits);
    let up = soft_float::square_root(format, Rounding::Rp, bits);
    let square = |root: u64, rounding| soft_float::multiply(format, rounding, [root, root]);
    // Squares of roots do not leave the range of numbers, and positive numbers are ordered as their
    // bits.
    prop_assert!(square(down, Rounding::Rm) <= bits && square(up, Rounding::Rp) >= bits);
    prop_assert!(
        up - down <= 1 && (up == down || square(up, Rounding::Rm) >= bits.min(square(up, Rounding::Rm)))
    );
    let nearest = soft_float::square_root(format, Rounding::Rn, bits);
    prop_assert!(nearest == down || nearest == up);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn half(numbers in [number(F16), number(F16), number(F16)]) {
        check_arithmetic::<Half>(F16, numbers)?;
        check_root(F16, numbers[0])?;
        check_conversion::<Half, Single>(F16, F32, numbers[0])?;
    }

    #[test]
    fn bfloat(numbers in [number(BF16), number(BF16), number(BF16)]) {
        check_arithmetic::<BFloat>(BF16, numbers)?;
        check_root(BF16, numbers[0])?;
    }

    #[test]
    fn single(numbers in [number(F32), number(F32), number(F32)]) {
        check_arithmetic::<Single>(F32, numbers)?;
        check_root(F32, numbers[0])?;
        check_conversion::<Single, Half>(F32, F16, numbers[0])?;
        check_conversion::<Single, BFloat>(F32, BF16, numbers[0])?;
        check_conversion::<Single, Double>(F32, F64, numbers[0])?;
    }

    #[test]
    fn double(numbers in [number(F64), number(F64), number(F64)]) {
        check_arithmetic::<Double>(F64, numbers)?;
        check_root(F64, numbers[0])?;
        check_conversion::<Double, Single>(F64, F32, numbers[0])?;
        check_conversion::<Double, Half>(F64, F16, numbers[0])?;
    }

    /// The native path gives the same results as software.
    #[test]
    fn native_paths(s in [number(F32), number(F32), number(F32)], d in [number(F64), number(F64), number(F64)]) {
        for (operation, count) in [
            (Operation::Fadd, 2),
            (Operation::Fsub, 2),
            (Operation::Fmul, 2),
            (Operation::Ffma, 3),
            (Operation::Fdiv, 2),
            (Operation::Fsqrt, 1),
        ] {
            let soft = |format: Format, [a, b, c]: [u64; 3]| match operation {
                Operation::Fadd => soft_float::add(format, Rounding::Rn, [a, b]),
                Operation::Fsub => soft_float::add(format, Rounding::Rn, [a, b ^ format.sign()]),
                Operation::Fmul => soft_float::multiply(format, Rounding::Rn, [a, b]),
                Operation::Ffma => soft_float::fused_multiply_add(format, Rounding::Rn, [a, b, c]),
                Operation::Fdiv => soft_float::divide(format, Rounding::Rn, [a, b]),
                _ => soft_float::square_root(format, Rounding::Rn, a),
            };
            let single = Evaluation::new(operation, DataType::F32).rounding(Rounding::Rn).apply(&s[..count]);
            prop_assert_eq!(single, soft(F32, s), "{:?} {:x?}", operation, s);
            let double = Evaluation::new(operation, DataType::F64).rounding(Rounding::Rn).apply(&d[..count]);
            // A subtracted NaN keeps its sign.
            prop_assert!(same(F64, double, soft(F64, d)), "{:?} {:x?}", operation, d);
            let flushed = Evaluation::new(operation, DataType::F32).flags(ModifierFlags::FTZ).apply(&s[..count]);
            prop_assert_eq!(flushed, F32.flush(soft(F32, s.map(|bits| F32.flush(bits)))));
        }
    }

    #[test]
    fn extremes(a in number(F32), b in number(F32)) {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let plain = |operation| Evaluation::new(operation, DataType::F32).apply(&[a, b]);
        let general = |operation| Evaluation::new(operation, DataType::F32).flags(ModifierFlags::FTZ).apply(&[a, b]);
        let (low, high) = (plain(Operation::Fmin), plain(Operation::Fmax));
        if x.is_nan() && y.is_nan() {
            prop_assert_eq!((low, high), (0x7FFF_FFFF, 0x7FFF_FFFF));
        } else if x.is_nan() || y.is_nan() {
            let number = if x.is_nan() { b } else { a };
            prop_assert_eq!((low, high), (number, number));
            let strict = Evaluation::new(Operation::Fmin, DataType::F32).flags(ModifierFlags::NAN);
            prop_assert_eq!(strict.apply(&[a, b]), 0x7FFF_FFFF);
        } else {
            let ordered = x.total_cmp(&y).is_lt();
            prop_assert_eq!((low, high), if ordered { (a, b) } else { (b, a) });
        }
        prop_assert_eq!(general(Operation::Fmin), F32.flush(Evaluation::new(Operation::Fmin, DataType::F32).apply(&[F32.flush(a), F32.flush(b)])));
        prop_assert_eq!(general(Operation::Fmax), F32.flush(Evaluation::new(Operation::Fmax, DataType::F32).apply(&[F32.flush(a), F32.flush(b)])));
    }

    #[test]
    fn comparisons(a in number(F64), b in number(F64)) {
        use oriel_ori::Comparison;
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let unordered = x.is_nan() || y.is_nan();
        for (comparison, expected) in [
            (Comparison::Eq, x == y),
            (Comparison::Ne, x != y && !unordered),
            (Comparison::Lt, x < y),
            (Comparison::Le, x <= y),
            (Comparison::Gt, x > y),
            (Comparison::Ge, x >= y),
            (Comparison::Equ, x == y || unordered),
            (Comparison::Neu, x != y),
            (Comparison::Ltu, x < y || unordered),
            (Comparison::Leu, x <= y || unordered),
            (Comparison::Gtu, x > y || unordered),
            (Comparison::Geu, x >= y || unordered),
            (Comparison::Num, !unordered),
            (Comparison::Nan, unordered),
        ] {
            let of = |data_type, sources: &[u64]| {
                let mut evaluation = Evaluation::new(Operation::Fsetp, DataType::B1).from(data_type);
                evaluation.modifiers.comparison = comparison;
                evaluation.apply(sources) == 1
            };
            prop_assert_eq!(of(DataType::F64, &[a, b]), expected, "{:?} {} {}", comparison, x, y);
            // Numbers that fit the narrower formats compare there as here.
            let narrow = |format| [a, b].map(|bits| soft_float::convert(F64, format, Rounding::Rz, bits));
            let [p, q] = narrow(F32).map(|bits| soft_float::convert(F32, F64, Rounding::Rn, bits));
            prop_assert_eq!(of(DataType::F32, &narrow(F32)), of(DataType::F64, &[p, q]));
            let [p, q] = narrow(F16).map(|bits| soft_float::convert(F16, F64, Rounding::Rn, bits));
            prop_assert_eq!(of(DataType::F16, &narrow(F16)), of(DataType::F64, &[p, q]));
        }
    }
}

#[test]
fn clamps() {
    let bits = |value: f32| u64::from(value.to_bits());
    let sat = Evaluation::new(Operation::Fadd, DataType::F32).flags(ModifierFlags::SAT);
    assert_eq!(sat.apply(&[bits(0.75), bits(0.5)]), bits(1.0));
    assert_eq!(sat.apply(&[bits(-0.75), bits(0.5)]), 0);
    assert_eq!(sat.apply(&[bits(f32::NAN), bits(0.5)]), 0, "NaN saturates to +0");
    assert_eq!(sat.apply(&[bits(-0.0), bits(-0.0)]), 0, "and so does -0");
    // 1, -1 and NaN in binary16.
    let relu = Evaluation::new(Operation::Ffma, DataType::F16).flags(ModifierFlags::RELU);
    assert_eq!(relu.apply(&[0x3C00, 0x3C00, 0x3C00]), 0x4000);
    assert_eq!(relu.apply(&[0xBC00, 0x3C00, 0x0000]), 0);
    assert_eq!(relu.apply(&[0x7E00, 0x3C00, 0x0000]), 0x7FFF);
    let packed = Evaluation::new(Operation::Fadd, DataType::F16x2);
    assert_eq!(packed.apply(&[0x3C00_4000, 0x3C00_3C00]), 0x4000_4200);
}

#[test]
fn nans_are_canonical() {
    let nan = Evaluation::new(Operation::Fadd, DataType::F32).apply(&[0x7F80_1234, 0x3F80_0000]);
    assert_eq!(nan, 0x7FFF_FFFF);
    let nan = Evaluation::new(Operation::Fmul, DataType::F16).apply(&[0xFE01, 0x3C00]);
    assert_eq!(nan, 0x7FFF);
    // Binary64 keeps the payload and makes it quiet.
    let nan = Evaluation::new(Operation::Fadd, DataType::F64)
        .apply(&[0x7FF0_0000_0000_1234, 0x3FF0_0000_0000_0000]);
    assert_eq!(nan, 0x7FF8_0000_0000_1234);
}

/// Every binary16 number, the binary32 numbers halfway to its neighbours, and those beside them.
#[test]
fn narrowing_to_half_is_exhaustive() {
    for half in 0..0x7C00u64 {
        let exact = soft_float::convert(F16, F32, Rounding::Rn, half);
        assert_eq!(soft_float::convert(F32, F16, Rounding::Rn, exact), half);
        let above = soft_float::convert(F16, F32, Rounding::Rn, half + 1);
        if half + 1 == 0x7C00 {
            continue;
        }
        let middle = f32::midpoint(f32::from_bits(exact as u32), f32::from_bits(above as u32)).to_bits();
        let rounded = |bits: u32, rounding| soft_float::convert(F32, F16, rounding, u64::from(bits));
        assert_eq!(rounded(middle, Rounding::Rn), half + half % 2, "ties go to even");
        assert_eq!(rounded(middle, Rounding::Rna), half + 1);
        assert_eq!(rounded(middle - 1, Rounding::Rn), half);
        assert_eq!(rounded(middle + 1, Rounding::Rn), half + 1);
        assert_eq!(rounded(middle, Rounding::Rz), half);
        assert_eq!(rounded(middle | 1 << 31, Rounding::Rm), 0x8000 | (half + 1));
    }
}

#[test]
fn approximations_are_close() {
    for index in 1..2000u32 {
        let x = index as f32 * 0.013;
        let of = |operation| {
            f32::from_bits(Evaluation::new(operation, DataType::F32).apply(&[u64::from(x.to_bits())]) as u32)
        };
        for (operation, expected) in [
            (Operation::Frsqrt, 1.0 / f64::from(x).sqrt()),
            (Operation::Fsin, f64::from(x).sin()),
            (Operation::Fcos, f64::from(x).cos()),
            (Operation::Flg2, f64::from(x).log2()),
            (Operation::Fex2, f64::from(x).exp2()),
            (Operation::Ftanh, f64::from(x).tanh()),
        ] {
            let error = (f64::from(of(operation)) - expected).abs();
            assert!(
                error <= expected.abs() * 6.1e-8 + 1e-12,
                "{operation:?} {x}: {error}"
            );
        }
    }
    let special = |operation, bits: u64| Evaluation::new(operation, DataType::F32).apply(&[bits]);
    assert_eq!(
        special(Operation::Frsqrt, 0x8000_0000),
        0xFF80_0000,
        "-0 gives -infinity"
    );
    assert_eq!(special(Operation::Flg2, 0), 0xFF80_0000);
    assert_eq!(special(Operation::Flg2, 0xBF80_0000), 0x7FFF_FFFF);
    assert_eq!(special(Operation::Fsin, 0x7F80_0000), 0x7FFF_FFFF);
    assert_eq!(special(Operation::Fex2, 0xFF80_0000), 0);
}
