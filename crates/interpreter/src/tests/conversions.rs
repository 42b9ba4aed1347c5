//! Conversions compared with Rust's, which saturate and convert NaN to zero, and with arithmetic in
//! 128 bits.

use super::{Evaluation, extend, low};
use oriel_ori::{DataType, ModifierFlags, Operation, Rounding};
use proptest::prelude::*;

const INTEGERS: [DataType; 8] = [
    DataType::U8,
    DataType::S8,
    DataType::U16,
    DataType::S16,
    DataType::U32,
    DataType::S32,
    DataType::U64,
    DataType::S64,
];

fn convert(to: DataType, from: DataType, rounding: Rounding, flags: ModifierFlags, value: u64) -> u64 {
    let evaluation = Evaluation::new(Operation::Cvt, to)
        .from(from)
        .rounding(rounding)
        .flags(flags);
    evaluation.apply(&[value])
}

/// Returns the content of a register of 32 bits or more for an integer of a type.
fn in_register(value: i128, data_type: DataType) -> u64 {
    match data_type.bits() {
        8 => low(value, 32),
        bits => low(value, bits),
    }
}

/// Truncates an integer to a type.
fn wrapped(value: i128, data_type: DataType) -> i128 {
    extend(
        low(value, data_type.bits()),
        data_type.bits(),
        data_type.is_signed(),
    )
}

fn range(data_type: DataType) -> (i128, i128) {
    let bits = data_type.bits();
    if data_type.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn integers(value: u64) {
        for from in INTEGERS {
            let source = low(i128::from(value), from.bits().max(16));
            let exact = extend(source, from.bits(), from.is_signed());
            for to in INTEGERS {
                let plain = convert(to, from, Rounding::None, ModifierFlags::empty(), source);
                prop_assert_eq!(plain, in_register(wrapped(exact, to), to), "{:?} {:?}", to, from);
                let (least, greatest) = range(to);
                let saturated = convert(to, from, Rounding::None, ModifierFlags::SAT, source);
                prop_assert_eq!(saturated, in_register(exact.clamp(least, greatest), to), "{:?} {:?}", to, from);
            }
        }
    }

    #[test]
    fn floats_to_integers(bits in any::<u32>(), exponent in 0u32..80) {
        // Half of the values have an exponent near the limits of integers.
        let bits = if bits & 1 == 0 { bits } else { bits & 0x807F_FFFF | (120 + exponent) << 23 };
        let x = f32::from_bits(bits);
        for to in INTEGERS {
            let (least, greatest) = range(to);
            for (rounding, rounded) in [
                (Rounding::Rzi, x.trunc()),
                (Rounding::Rmi, x.floor()),
                (Rounding::Rpi, x.ceil()),
                (Rounding::Rni, x.round_ties_even()),
            ] {
                let expected = if x.is_nan() {
                    if to.bits() == 64 { 1 << 63 } else { 0 }
                } else {
                    in_register((rounded as i128).clamp(least, greatest), to)
                };
                let actual = convert(to, DataType::F32, rounding, ModifierFlags::empty(), u64::from(bits));
                prop_assert_eq!(actual, expected, "{} to {:?} {:?}", x, to, rounding);
            }
        }
    }

    #[test]
    fn integers_to_floats(value: u64) {
        let single = |from, value| convert(DataType::F32, from, Rounding::Rn, ModifierFlags::empty(), value);
        let double = |from, value| convert(DataType::F64, from, Rounding::Rn, ModifierFlags::empty(), value);
        prop_assert_eq!(single(DataType::U64, value), u64::from((value as f32).to_bits()));
        prop_assert_eq!(single(DataType::S64, value), u64::from((value as i64 as f32).to_bits()));
        prop_assert_eq!(double(DataType::U64, value), (value as f64).to_bits());
        prop_assert_eq!(double(DataType::S64, value), (value as i64 as f64).to_bits());
        let word = value & 0xFFFF_FFFF;
        prop_assert_eq!(single(DataType::S32, word), u64::from((word as i32 as f32).to_bits()));
        prop_assert_eq!(double(DataType::U32, word), f64::from(word as u32).to_bits());
        // Directed: the neighbours of the exact value.
        let down = convert(DataType::F32, DataType::U64, Rounding::Rm, ModifierFlags::empty(), value);
        let up = convert(DataType::F32, DataType::U64, Rounding::Rp, ModifierFlags::empty(), value);
        prop_assert!(f64::from(f32::from_bits(down as u32)) as u128 <= u128::from(value));
        prop_assert!(f64::from(f32::from_bits(up as u32)) as u128 >= u128::from(value));
        prop_assert!(up - down <= 1);
    }

    #[test]
    fn to_integral_values(bits: u32) {
        let x = f32::from_bits(bits);
        for (rounding, expected) in [
            (Rounding::Rzi, x.trunc()),
            (Rounding::Rmi, x.floor()),
            (Rounding::Rpi, x.ceil()),
            (Rounding::Rni, x.round_ties_even()),
        ] {
            let actual = convert(DataType::F32, DataType::F32, rounding, ModifierFlags::empty(), u64::from(bits));
            let expected = if x.is_nan() { 0x7FFF_FFFF } else { u64::from(expected.to_bits()) };
            prop_assert_eq!(actual, expected, "{} {:?}", x, rounding);
        }
    }
}

#[test]
fn known_cases() {
    let plain = ModifierFlags::empty();
    // NaN from binary64 is the number with the top bit, from binary32 zero.
    let nan = f64::NAN.to_bits();
    assert_eq!(
        convert(DataType::S32, DataType::F64, Rounding::Rzi, plain, nan),
        0x8000_0000
    );
    assert_eq!(
        convert(DataType::S32, DataType::F32, Rounding::Rzi, plain, 0x7FC0_0000),
        0
    );
    // Saturation of floats.
    let two = u64::from(2.0f32.to_bits());
    let sat = convert(
        DataType::F32,
        DataType::F32,
        Rounding::None,
        ModifierFlags::SAT,
        two,
    );
    assert_eq!(sat, u64::from(1.0f32.to_bits()));
    // The largest finite number instead of infinity.
    let large = u64::from(1e30f32.to_bits());
    let finite = convert(
        DataType::F16,
        DataType::F32,
        Rounding::Rn,
        ModifierFlags::SATFINITE,
        large,
    );
    assert_eq!(finite, 0x7BFF);
    // Subnormal binary32 numbers are dropped, subnormal results in binary16 are not.
    let tiny = u64::from(1e-40f32.to_bits());
    assert_eq!(
        convert(
            DataType::F64,
            DataType::F32,
            Rounding::None,
            ModifierFlags::FTZ,
            tiny
        ),
        0
    );
    let small = u64::from(1e-7f32.to_bits());
    assert_eq!(
        convert(
            DataType::F16,
            DataType::F32,
            Rounding::Rn,
            ModifierFlags::FTZ,
            small
        ),
        2
    );
    // The first source is the high half.
    let pack = Evaluation::new(Operation::Cvt, DataType::F16x2)
        .from(DataType::F32)
        .rounding(Rounding::Rn);
    let one = u64::from(1.0f32.to_bits());
    assert_eq!(pack.apply(&[one, two]), 0x3C00_4000);
    assert_eq!(wrapped(300, DataType::S8), 44);
}
