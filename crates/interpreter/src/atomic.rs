//! Atomic operations on a value in memory. Lanes run one after another, in order.
//!
//! `atom.add.f32` keeps subnormal numbers in every space; the hardware flushes them in global
//! memory.

use super::program::AtomicOperation;
use oriel_arithmetic::soft_float::{self, BF16, F16, F32, Format};
use oriel_ori::{DataType, Rounding, Variant};

fn add_single(old: u64, value: u64, _: u64) -> u64 {
    let sum = f32::from_bits(old as u32) + f32::from_bits(value as u32);
    if sum.is_nan() {
        F32.nan()
    } else {
        u64::from(sum.to_bits())
    }
}

fn add_double(old: u64, value: u64, _: u64) -> u64 {
    soft_float::add(soft_float::F64, Rounding::Rn, [old, value])
}

fn add_halves(format: Format, lanes: u32, old: u64, value: u64) -> u64 {
    (0..lanes).fold(0, |result, lane| {
        let part = |bits: u64| bits >> (16 * lane) & 0xFFFF;
        result | soft_float::add(format, Rounding::Rn, [part(old), part(value)]) << (16 * lane)
    })
}

/// Values of 32 and 64 bits; the result is truncated when it is stored.
fn signed(data_type: DataType) -> Option<(AtomicOperation, AtomicOperation)> {
    Some(match (data_type.bits(), data_type.is_signed()) {
        (32, true) => (
            |old, value, _| (old as i32).min(value as i32) as u32 as u64,
            |old, value, _| (old as i32).max(value as i32) as u32 as u64,
        ),
        (64, true) => (
            |old, value, _| (old as i64).min(value as i64) as u64,
            |old, value, _| (old as i64).max(value as i64) as u64,
        ),
        (32 | 64, false) => (|old, value, _| old.min(value), |old, value, _| old.max(value)),
        _ => return None,
    })
}

/// Returns the function of an atomic operation; none if it is not modelled.
pub(super) fn select(operation: Variant, data_type: DataType) -> Option<AtomicOperation> {
    Some(match (operation, data_type) {
        (Variant::Add, DataType::F32) => add_single,
        (Variant::Add, DataType::F64) => add_double,
        (Variant::Add, DataType::F16) => |old, value, _| add_halves(F16, 1, old, value),
        (Variant::Add, DataType::Bf16) => |old, value, _| add_halves(BF16, 1, old, value),
        (Variant::Add, DataType::F16x2) => |old, value, _| add_halves(F16, 2, old, value),
        (Variant::Add, DataType::Bf16x2) => |old, value, _| add_halves(BF16, 2, old, value),
        (Variant::Exch, _) => |_, value, _| value,
        (Variant::Cas, _) => |old, expected, value| if old == expected { value } else { old },
        (_, data_type) if data_type.is_float() || data_type.lanes() != 1 => return None,
        (Variant::Add, _) => |old, value, _| old.wrapping_add(value),
        (Variant::And, _) => |old, value, _| old & value,
        (Variant::Or, _) => |old, value, _| old | value,
        (Variant::Xor, _) => |old, value, _| old ^ value,
        (Variant::Inc, _) => |old, bound, _| if old >= bound { 0 } else { old + 1 },
        (Variant::Dec, _) => |old, bound, _| if old == 0 || old > bound { bound } else { old - 1 },
        (Variant::Min, data_type) => signed(data_type)?.0,
        (Variant::Max, data_type) => signed(data_type)?.1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_follow_ptx() {
        let apply = |operation, data_type, old, a, b| select(operation, data_type).unwrap()(old, a, b);
        assert_eq!(apply(Variant::Inc, DataType::U32, 3, 3, 0), 0);
        assert_eq!(apply(Variant::Inc, DataType::U32, 2, 3, 0), 3);
        assert_eq!(apply(Variant::Dec, DataType::U32, 0, 7, 0), 7);
        assert_eq!(apply(Variant::Dec, DataType::U32, 9, 7, 0), 7);
        assert_eq!(apply(Variant::Dec, DataType::U32, 5, 7, 0), 4);
        assert_eq!(apply(Variant::Cas, DataType::B32, 5, 5, 9), 9);
        assert_eq!(apply(Variant::Cas, DataType::B32, 4, 5, 9), 4);
        let minus_one = u64::from(u32::MAX);
        assert_eq!(apply(Variant::Min, DataType::S32, 3, minus_one, 0), minus_one);
        assert_eq!(apply(Variant::Min, DataType::U32, 3, minus_one, 0), 3);
        let halves = apply(Variant::Add, DataType::F16x2, 0x3C00_4000, 0x3C00_3C00, 0);
        assert_eq!(halves, 0x4000_4200, "1 + 1 and 2 + 1");
        assert!(select(Variant::Min, DataType::F32).is_none());
    }
}
