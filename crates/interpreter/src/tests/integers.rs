//! Integer arithmetic compared with arithmetic in 128 bits.

use super::{Evaluation, extend, low};
use oriel_ori::{DataType, ModifierFlags, Operation, Variant};
use proptest::prelude::*;

const TYPES: [DataType; 6] = [
    DataType::U16,
    DataType::S16,
    DataType::U32,
    DataType::S32,
    DataType::U64,
    DataType::S64,
];

/// Values at the ends of ranges, and any.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        (0u32..64).prop_map(|bit| 1 << bit),
        (0u32..64).prop_map(|bit| (1u64 << bit).wrapping_sub(1)),
        any::<u64>()
    ]
}

/// Returns a value as a register of the type holds it.
fn cut(value: u64, data_type: DataType) -> u64 {
    value & u64::MAX >> (64 - data_type.bits())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arithmetic(a in value(), b in value(), c in value()) {
        for data_type in TYPES {
            let (bits, signed) = (data_type.bits(), data_type.is_signed());
            let [a, b, c] = [a, b, c].map(|value| cut(value, data_type));
            let [x, y, z] = [a, b, c].map(|value| extend(value, bits, signed));
            let check = |operation, expected: i128| {
                let evaluation = Evaluation::new(operation, data_type);
                let sources = [a, b, c];
                let count = match operation {
                    Operation::Imad | Operation::Isad => 3,
                    Operation::Iabs | Operation::Ineg => 1,
                    _ => 2,
                };
                let actual = evaluation.apply(&sources[..count]);
                prop_assert_eq!(actual, low(expected, bits), "{:?} {:x?}", evaluation, sources);
                Ok(())
            };
            check(Operation::Iadd, x.wrapping_add(y))?;
            check(Operation::Isub, x.wrapping_sub(y))?;
            check(Operation::Imul, x.wrapping_mul(y))?;
            let high = if signed { (x * y) >> bits } else { ((x as u128 * y as u128) >> bits) as i128 };
            check(Operation::ImulHi, high)?;
            check(Operation::Imad, x.wrapping_mul(y).wrapping_add(z))?;
            check(Operation::Isad, (x - y).abs().wrapping_add(z))?;
            check(Operation::Imin, x.min(y))?;
            check(Operation::Imax, x.max(y))?;
            check(Operation::Ineg, -x)?;
            // PTX leaves the result of a division by zero open.
            check(Operation::Idiv, if y == 0 { -1 } else { x / y })?;
            check(Operation::Irem, if y == 0 { x } else { x % y })?;
            if signed {
                check(Operation::Iabs, x.abs())?;
                let limit = 1i128 << (bits - 1);
                let saturating = Evaluation::new(Operation::Iadd, data_type).flags(ModifierFlags::SAT);
                prop_assert_eq!(saturating.apply(&[a, b]), low((x + y).clamp(-limit, limit - 1), bits));
            }
        }
    }

    #[test]
    fn wide_products(a in value(), b in value(), c in value()) {
        for data_type in &TYPES[..4] {
            let (bits, signed) = (data_type.bits(), data_type.is_signed());
            let [x, y] = [a, b].map(|value| extend(value, bits, signed));
            let z = extend(c, 2 * bits, signed);
            let evaluation = |operation| Evaluation::new(operation, DataType::of_bits(2 * bits).unwrap()).from(*data_type);
            let [a, b, c] = [cut(a, *data_type), cut(b, *data_type), low(i128::from(c), 2 * bits)];
            prop_assert_eq!(evaluation(Operation::ImulWide).apply(&[a, b]), low(x * y, 2 * bits));
            prop_assert_eq!(
                evaluation(Operation::ImadWide).apply(&[a, b, c]),
                low((x * y).wrapping_add(z), 2 * bits)
            );
        }
    }

    #[test]
    fn packed_halves(a: u32, b: u32) {
        let by_lane = |evaluation: Evaluation, scalar: DataType| {
            let scalar = Evaluation { data_type: scalar, ..evaluation };
            let lane = |shift: u32| {
                let part = |value: u32| u64::from(value >> shift & 0xFFFF);
                scalar.apply(&[part(a), part(b)]) << shift
            };
            (evaluation.apply(&[u64::from(a), u64::from(b)]), lane(0) | lane(16))
        };
        for (operation, packed, scalar) in [
            (Operation::Iadd, DataType::B16x2, DataType::B16),
            (Operation::Imin, DataType::U16x2, DataType::U16),
            (Operation::Imax, DataType::S16x2, DataType::S16),
            (Operation::Imin, DataType::S16x2, DataType::S16),
        ] {
            let (together, apart) = by_lane(Evaluation::new(operation, packed), scalar);
            prop_assert_eq!(together, apart, "{:?}", operation);
        }
    }

    #[test]
    fn dot_products(a: u32, b: u32, c: u32) {
        for (of_a, of_b) in [(DataType::S32, DataType::U32), (DataType::U32, DataType::S32), (DataType::S32, DataType::S32)] {
            let byte = |value: u32, index: u32, signed| extend(u64::from(value) >> (8 * index) & 0xFF, 8, signed);
            let half = |value: u32, index: u32, signed| extend(u64::from(value) >> (16 * index) & 0xFFFF, 16, signed);
            let (s, t) = (of_a.is_signed(), of_b.is_signed());
            let sources = [a, b, c].map(u64::from);
            let four: i128 = (0..4).map(|index| byte(a, index, s) * byte(b, index, t)).sum();
            let evaluation = Evaluation::new(Operation::Dp4a, of_a).from(of_b);
            prop_assert_eq!(evaluation.apply(&sources), low(four + i128::from(c), 32));
            let two: i128 = (0..2).map(|index| half(a, index, s) * byte(b, index + 2, t)).sum();
            let evaluation = Evaluation::new(Operation::Dp2a, of_a).from(of_b).variant(Variant::High);
            prop_assert_eq!(evaluation.apply(&sources), low(two + i128::from(c), 32));
        }
    }

    #[test]
    fn products_of_24_bits(a: u32, b: u32) {
        for data_type in [DataType::U32, DataType::S32] {
            let [x, y] = [a, b].map(|value| extend(u64::from(value), 24, data_type.is_signed()));
            let evaluation = Evaluation::new(Operation::Imul24, data_type);
            prop_assert_eq!(evaluation.apply(&[u64::from(a), u64::from(b)]), low(x * y, 32));
            let high = evaluation.variant(Variant::High).apply(&[u64::from(a), u64::from(b)]);
            prop_assert_eq!(high, low((x * y) >> 16, 32));
        }
    }
}
