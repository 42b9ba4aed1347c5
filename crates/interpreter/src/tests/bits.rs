//! Bit operations compared with bit-by-bit definitions.

use super::{Evaluation, extend, low};
use oriel_ori::{Comparison, DataType, ModifierFlags, Operation, Variant};
use proptest::prelude::*;

fn bit(value: u64, position: u32) -> u64 {
    if position < 64 { value >> position & 1 } else { 0 }
}

/// PTX's definition of a bit field.
fn reference_field(value: u64, data_type: DataType, position: u64, length: u64) -> u64 {
    let last = data_type.bits() - 1;
    let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
    let sign = if !data_type.is_signed() || length == 0 {
        0
    } else {
        bit(value, (position + length - 1).min(last))
    };
    (0..=last).fold(0, |result, index| {
        let inside = index < length && position + index <= last;
        result
            | (if inside {
                bit(value, position + index)
            } else {
                sign
            }) << index
    })
}

fn reference_insertion(field: u64, base: u64, bits: u32, position: u64, length: u64) -> u64 {
    let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
    (0..length)
        .filter(|index| position + index < bits)
        .fold(base, |result, index| {
            result & !(1 << (position + index)) | bit(field, index) << (position + index)
        })
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..80, any::<u32>().prop_map(u64::from)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn shifts_clamp(value: u64, amount in amount()) {
        for bits in [16, 32, 64] {
            let value = low(i128::from(value), bits);
            let shift = (amount as u32).min(100);
            let wide = DataType::of_bits(bits).unwrap();
            let (signed, unsigned) = match bits {
                16 => (DataType::S16, DataType::U16),
                32 => (DataType::S32, DataType::U32),
                _ => (DataType::S64, DataType::U64),
            };
            let left = Evaluation::new(Operation::Shl, wide).apply(&[value, amount]);
            prop_assert_eq!(left, if shift < bits { low(i128::from(value) << shift, bits) } else { 0 });
            let right = Evaluation::new(Operation::Shr, unsigned).apply(&[value, amount]);
            prop_assert_eq!(right, low(extend(value, bits, false) >> shift, bits));
            let arithmetic = Evaluation::new(Operation::Shr, signed).apply(&[value, amount]);
            prop_assert_eq!(arithmetic, low(extend(value, bits, true) >> shift, bits));
        }
    }

    #[test]
    fn funnel_shifts(a: u32, b: u32, c in amount()) {
        let both = u128::from(b) << 32 | u128::from(a);
        let sources = [u64::from(a), u64::from(b), c];
        for (flags, shift) in [(ModifierFlags::empty(), c as u32 & 31), (ModifierFlags::CLAMP, (c as u32).min(32))] {
            let evaluation = |variant| Evaluation::new(Operation::Shf, DataType::B32).variant(variant).flags(flags);
            prop_assert_eq!(evaluation(Variant::Left).apply(&sources), (both << shift >> 32) as u64 & 0xFFFF_FFFF);
            prop_assert_eq!(evaluation(Variant::Right).apply(&sources), (both >> shift) as u64 & 0xFFFF_FFFF);
        }
    }

    #[test]
    fn fields(value: u64, base: u64, position in amount(), length in amount()) {
        for data_type in [DataType::U32, DataType::S32, DataType::U64, DataType::S64] {
            let bits = data_type.bits();
            let [value, base] = [value, base].map(|value| low(i128::from(value), bits));
            let field = Evaluation::new(Operation::Bfe, data_type).apply(&[value, position, length]);
            prop_assert_eq!(field, reference_field(value, data_type, position, length), "{:?}", data_type);
            let whole = DataType::of_bits(bits).unwrap();
            let inserted = Evaluation::new(Operation::Bfi, whole).apply(&[value, base, position, length]);
            prop_assert_eq!(inserted, reference_insertion(value, base, bits, position, length));
        }
    }

    #[test]
    fn permutation(a: u32, b: u32, selector: u32) {
        let bytes: Vec<u8> = a.to_le_bytes().into_iter().chain(b.to_le_bytes()).collect();
        let expected = std::array::from_fn(|index| {
            let nibble = selector >> (4 * index) & 15;
            let byte = bytes[nibble as usize & 7];
            if nibble < 8 { byte } else if byte < 128 { 0 } else { 0xFF }
        });
        let actual = Evaluation::new(Operation::Prmt, DataType::B32).apply(&[a, b, selector].map(u64::from));
        prop_assert_eq!(actual, u64::from(u32::from_le_bytes(expected)));
        // Compares each mode with the permutation in PTX's table.
        let forward = Evaluation::new(Operation::Prmt, DataType::B32).variant(Variant::F4e);
        let start = selector as usize & 3;
        let expected = u32::from_le_bytes(bytes[start..start + 4].try_into().unwrap());
        prop_assert_eq!(forward.apply(&[a, b, selector].map(u64::from)), u64::from(expected));
        let backward = Evaluation::new(Operation::Prmt, DataType::B32).variant(Variant::B4e);
        let expected = u32::from_le_bytes(std::array::from_fn(|index| bytes[(8 + start - index) % 8]));
        prop_assert_eq!(backward.apply(&[a, b, selector].map(u64::from)), u64::from(expected));
        let byte = Evaluation::new(Operation::Prmt, DataType::B32).variant(Variant::Rc8);
        prop_assert_eq!(byte.apply(&[a, b, selector].map(u64::from)), u64::from(bytes[start]) * 0x0101_0101);
    }

    #[test]
    fn counts(value: u64) {
        for (bits, plain, signed, unsigned) in [
            (32, DataType::B32, DataType::S32, DataType::U32),
            (64, DataType::B64, DataType::S64, DataType::U64),
        ] {
            let value = low(i128::from(value), bits);
            let of = |operation, source| Evaluation::new(operation, DataType::B32).from(source).apply(&[value]);
            let ones = (0..bits).filter(|&position| bit(value, position) == 1);
            prop_assert_eq!(of(Operation::Popc, plain), ones.clone().count() as u64);
            let leading = ones.clone().next_back();
            prop_assert_eq!(of(Operation::Clz, plain), u64::from(leading.map_or(bits, |at| bits - 1 - at)));
            prop_assert_eq!(of(Operation::Bfind, unsigned), u64::from(leading.unwrap_or(u32::MAX)));
            let sign = bit(value, bits - 1);
            let differs = (0..bits).rev().find(|&position| bit(value, position) != sign);
            prop_assert_eq!(of(Operation::Bfind, signed), u64::from(differs.unwrap_or(u32::MAX)));
            let shift = Evaluation::new(Operation::Bfind, DataType::B32).from(unsigned).variant(Variant::ShiftAmount);
            prop_assert_eq!(shift.apply(&[value]), u64::from(leading.map_or(u32::MAX, |at| bits - 1 - at)));
            let reversed = Evaluation::new(Operation::Brev, plain).apply(&[value]);
            prop_assert!((0..bits).all(|at| bit(reversed, at) == bit(value, bits - 1 - at)));
        }
    }

    #[test]
    fn comparisons(a: u64, b: u64, same: bool) {
        for (data_type, signed) in [(DataType::S16, true), (DataType::B32, false), (DataType::S32, true), (DataType::S64, true)] {
            let bits = data_type.bits();
            let [a, b] = [a, if same { a } else { b }].map(|value| low(i128::from(value), bits));
            let of = |comparison| {
                let mut evaluation = Evaluation::new(Operation::Isetp, DataType::B1).from(data_type);
                evaluation.modifiers.comparison = comparison;
                evaluation.apply(&[a, b]) == 1
            };
            let (x, y) = (extend(a, bits, signed), extend(b, bits, signed));
            prop_assert_eq!(of(Comparison::Eq), x == y);
            prop_assert_eq!(of(Comparison::Ne), x != y);
            prop_assert_eq!(of(Comparison::Lt), x < y);
            prop_assert_eq!(of(Comparison::Ge), x >= y);
            prop_assert_eq!(of(Comparison::Ltu), a < b);
            prop_assert_eq!(of(Comparison::Geu), a >= b);
        }
    }
}

#[test]
fn nth_set_bit() {
    let find = |mask, base, offset: i32| {
        Evaluation::new(Operation::Fns, DataType::B32).apply(&[mask, base, u64::from(offset as u32)])
    };
    assert_eq!(find(0b1011_0000, 0, 1), 4);
    assert_eq!(find(0b1011_0000, 0, 3), 7);
    assert_eq!(find(0b1011_0000, 7, -2), 5);
    assert_eq!(find(0b1011_0000, 4, 0), 4);
    assert_eq!(find(0b1011_0000, 3, 0), 0xFFFF_FFFF);
    assert_eq!(find(0b1011_0000, 0, 4), 0xFFFF_FFFF);
}

#[test]
fn masks_and_extensions() {
    let clamp = |operation, data_type| Evaluation::new(operation, data_type).flags(ModifierFlags::CLAMP);
    let wrap = |operation, data_type| Evaluation::new(operation, data_type);
    assert_eq!(clamp(Operation::Bmsk, DataType::B32).apply(&[4, 8]), 0xFF0);
    assert_eq!(clamp(Operation::Bmsk, DataType::B32).apply(&[40, 8]), 0);
    assert_eq!(wrap(Operation::Bmsk, DataType::B32).apply(&[36, 8]), 0xFF0);
    assert_eq!(
        clamp(Operation::Szext, DataType::S32).apply(&[0x80, 8]),
        0xFFFF_FF80
    );
    assert_eq!(clamp(Operation::Szext, DataType::U32).apply(&[0x1FF, 8]), 0xFF);
    assert_eq!(
        clamp(Operation::Szext, DataType::S32).apply(&[0x1234_5678, 99]),
        0x1234_5678
    );
    assert_eq!(wrap(Operation::Szext, DataType::U32).apply(&[0x1FF, 40]), 0xFF);
}
