//! Bit operations: logic, shifts, bit fields, permutations, counts, integer comparisons, selection,
//! moves.

use super::lanes::{Handler, handler};
use oriel_ori::{Comparison, DataType, ModifierFlags, Modifiers, Operation, Variant};

/// A handler for rows of 32 or 64 bits whose results need no mask.
macro_rules! plain {
    ($type:expr, |$($name:ident),+| $body:expr) => {
        match $type.bits() {
            1 | 16 | 32 => handler!(|$($name: u32),+| -> u32 { $body }),
            64 => handler!(|$($name: u64),+| -> u64 { $body }),
            _ => return None,
        }
    };
}

/// Returns the handler of a bit operation; none if it is not modelled.
pub fn select(operation: Operation, data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    let wraps = !modifiers.flags.contains(ModifierFlags::CLAMP);
    Some(match operation {
        Operation::And => plain!(data_type, |a, b| a & b),
        Operation::Or => plain!(data_type, |a, b| a | b),
        Operation::Xor => plain!(data_type, |a, b| a ^ b),
        Operation::Not => match data_type.bits() {
            1 => handler!(|a: u32| -> u32 { a ^ 1 }),
            16 => handler!(|a: u32| -> u32 { a ^ 0xFFFF }),
            32 => handler!(|a: u32| -> u32 { !a }),
            64 => handler!(|a: u64| -> u64 { !a }),
            _ => return None,
        },
        Operation::Mov | Operation::Copy => plain!(data_type, |a| a),
        Operation::Shl => match data_type.bits() {
            16 => handler!(|a: u32, b: u32| -> u32 { if b < 16 { a << b & 0xFFFF } else { 0 } }),
            32 => handler!(|a: u32, b: u32| -> u32 { if b < 32 { a << b } else { 0 } }),
            64 => handler!(|a: u64, b: u32| -> u64 { if b < 64 { a << b } else { 0 } }),
            _ => return None,
        },
        Operation::Shr => match (data_type.bits(), data_type.is_signed()) {
            (16, false) => handler!(|a: u32, b: u32| -> u32 { if b < 16 { a >> b } else { 0 } }),
            (32, false) => handler!(|a: u32, b: u32| -> u32 { if b < 32 { a >> b } else { 0 } }),
            (64, false) => handler!(|a: u64, b: u32| -> u64 { if b < 64 { a >> b } else { 0 } }),
            (16, true) => handler!(|a: u32, b: u32| -> u32 { u32::from((a as i16 >> b.min(15)) as u16) }),
            (32, true) => handler!(|a: u32, b: u32| -> u32 { (a as i32 >> b.min(31)) as u32 }),
            (64, true) => handler!(|a: u64, b: u32| -> u64 { (a as i64 >> b.min(63)) as u64 }),
            _ => return None,
        },
        Operation::Shf => match (modifiers.variant, wraps) {
            (Variant::Left, true) => {
                handler!(|a: u32, b: u32, c: u32| -> u32 { funnel_left(a, b, c & 31) })
            }
            (Variant::Left, false) => {
                handler!(|a: u32, b: u32, c: u32| -> u32 { funnel_left(a, b, c.min(32)) })
            }
            (Variant::Right, true) => {
                handler!(|a: u32, b: u32, c: u32| -> u32 { funnel_right(a, b, c & 31) })
            }
            (Variant::Right, false) => {
                handler!(|a: u32, b: u32, c: u32| -> u32 { funnel_right(a, b, c.min(32)) })
            }
            _ => return None,
        },
        Operation::Bfe => match (data_type.bits(), data_type.is_signed()) {
            (32, false) => {
                handler!(|a: u32, b: u32, c: u32| -> u32 { extract_unsigned(u64::from(a), 32, b, c) as u32 })
            }
            (32, true) => handler!(|a: u32, b: u32, c: u32| -> u32 {
                extract_signed(i64::from(a as i32), 32, b, c) as u32
            }),
            (64, false) => handler!(|a: u64, b: u32, c: u32| -> u64 { extract_unsigned(a, 64, b, c) }),
            (64, true) => {
                handler!(|a: u64, b: u32, c: u32| -> u64 { extract_signed(a as i64, 64, b, c) as u64 })
            }
            _ => return None,
        },
        Operation::Bfi => match data_type.bits() {
            32 => handler!(|a: u32, b: u32, c: u32, d: u32| -> u32 {
                insert_field(u64::from(a), u64::from(b), 32, c, d) as u32
            }),
            64 => handler!(|a: u64, b: u64, c: u32, d: u32| -> u64 { insert_field(a, b, 64, c, d) }),
            _ => return None,
        },
        Operation::Bmsk if wraps => handler!(|a: u32, b: u32| -> u32 { mask_of(a & 31, b & 31) }),
        Operation::Bmsk => handler!(|a: u32, b: u32| -> u32 { mask_of(a, b) }),
        Operation::Szext => match (data_type.is_signed(), wraps) {
            (false, false) => handler!(|a: u32, b: u32| -> u32 { a & low_bits(b) }),
            (false, true) => handler!(|a: u32, b: u32| -> u32 { a & low_bits(b & 31) }),
            (true, false) => handler!(|a: u32, b: u32| -> u32 { extend_sign(a, b) }),
            (true, true) => handler!(|a: u32, b: u32| -> u32 { extend_sign(a, b & 31) }),
        },
        Operation::Brev => match data_type.bits() {
            32 => handler!(|a: u32| -> u32 { a.reverse_bits() }),
            64 => handler!(|a: u64| -> u64 { a.reverse_bits() }),
            _ => return None,
        },
        Operation::Prmt => return select_permutation(modifiers.variant),
        Operation::Fns => handler!(|a: u32, b: u32, c: u32| -> u32 { find_nth_set(a, b, c as i32) }),
        _ => return None,
    })
}

/// Counting operations: the result has 32 bits; `source` is the type of the operand.
pub(super) fn select_count(operation: Operation, source: DataType, variant: Variant) -> Option<Handler> {
    let gives_shift = variant == Variant::ShiftAmount;
    Some(
        match (operation, source.bits(), source.is_signed(), gives_shift) {
            (Operation::Clz, 32, ..) => handler!(|a: u32| -> u32 { a.leading_zeros() }),
            (Operation::Clz, 64, ..) => handler!(|a: u64| -> u32 { a.leading_zeros() }),
            (Operation::Popc, 32, ..) => handler!(|a: u32| -> u32 { a.count_ones() }),
            (Operation::Popc, 64, ..) => handler!(|a: u64| -> u32 { a.count_ones() }),
            (Operation::Bfind, 32, false, false) => {
                handler!(|a: u32| -> u32 { 31u32.wrapping_sub(a.leading_zeros()) })
            }
            (Operation::Bfind, 64, false, false) => {
                handler!(|a: u64| -> u32 { 63u32.wrapping_sub(a.leading_zeros()) })
            }
            (Operation::Bfind, 32, true, false) => {
                handler!(|a: u32| -> u32 {
                    31u32.wrapping_sub((a ^ (a as i32 >> 31) as u32).leading_zeros())
                })
            }
            (Operation::Bfind, 64, true, false) => {
                handler!(|a: u64| -> u32 {
                    63u32.wrapping_sub((a ^ (a as i64 >> 63) as u64).leading_zeros())
                })
            }
            // If there is no such bit, the result is all ones here as well.
            (Operation::Bfind, 32, false, true) => {
                handler!(|a: u32| -> u32 { shift_amount(u64::from(a) << 32) })
            }
            (Operation::Bfind, 64, false, true) => handler!(|a: u64| -> u32 { shift_amount(a) }),
            (Operation::Bfind, 32, true, true) => {
                handler!(|a: u32| -> u32 { shift_amount(u64::from(a ^ (a as i32 >> 31) as u32) << 32) })
            }
            (Operation::Bfind, 64, true, true) => {
                handler!(|a: u64| -> u32 { shift_amount(a ^ (a as i64 >> 63) as u64) })
            }
            _ => return None,
        },
    )
}

/// An integer comparison with a predicate as its result.
pub(super) fn select_comparison(comparison: Comparison, source: DataType) -> Option<Handler> {
    macro_rules! compare {
        ($operator:tt) => {
            match (source.bits(), source.is_signed()) {
                (1 | 32, false) => handler!(|a: u32, b: u32| -> u32 { u32::from(a $operator b) }),
                (16, false) => handler!(|a: u32, b: u32| -> u32 { u32::from((a as u16) $operator (b as u16)) }),
                (64, false) => handler!(|a: u64, b: u64| -> u32 { u32::from(a $operator b) }),
                (16, true) => handler!(|a: u32, b: u32| -> u32 { u32::from((a as i16) $operator (b as i16)) }),
                (32, true) => handler!(|a: u32, b: u32| -> u32 { u32::from((a as i32) $operator (b as i32)) }),
                (64, true) => handler!(|a: u64, b: u64| -> u32 { u32::from((a as i64) $operator (b as i64)) }),
                _ => return None,
            }
        };
    }
    Some(match comparison {
        Comparison::Eq => compare!(==),
        Comparison::Ne => compare!(!=),
        Comparison::Lt => compare!(<),
        Comparison::Le => compare!(<=),
        Comparison::Gt => compare!(>),
        Comparison::Ge => compare!(>=),
        _ => return None,
    })
}

/// Returns `a` where the predicate holds, otherwise `b`.
pub(super) fn select_selection(data_type: DataType) -> Option<Handler> {
    Some(match data_type.bits() {
        1 | 16 | 32 => handler!(|a: u32, b: u32, c: u32| -> u32 { if c & 1 != 0 { a } else { b } }),
        64 => handler!(|a: u64, b: u64, c: u32| -> u64 { if c & 1 != 0 { a } else { b } }),
        _ => return None,
    })
}

fn funnel_left(low: u32, high: u32, amount: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << amount >> 32) as u32
}

fn funnel_right(low: u32, high: u32, amount: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> amount) as u32
}

/// Returns the low `count` bits; all bits if `count` is 32 or more.
fn low_bits(count: u32) -> u32 {
    if count < 32 { (1 << count) - 1 } else { u32::MAX }
}

/// Returns the low `count` bits as a signed number.
fn extend_sign(value: u32, count: u32) -> u32 {
    match count {
        0 => 0,
        1..32 => ((value << (32 - count)) as i32 >> (32 - count)) as u32,
        _ => value,
    }
}

fn mask_of(position: u32, count: u32) -> u32 {
    if position < 32 {
        low_bits(count) << position
    } else {
        0
    }
}

/// Only the low eight bits of position and length are used.
fn extract_unsigned(value: u64, width: u32, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    if position >= width || length == 0 {
        return 0;
    }
    let field = value >> position;
    if length < 64 {
        field & ((1 << length) - 1)
    } else {
        field
    }
}

/// A field that reaches beyond the value is filled with the value's sign.
fn extract_signed(value: i64, width: u32, position: u32, length: u32) -> i64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    if length == 0 {
        return 0;
    }
    let field = value >> position.min(width - 1);
    if position + length >= width {
        return field;
    }
    field << (64 - length) >> (64 - length)
}

fn insert_field(field: u64, base: u64, width: u32, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    if position >= width || length == 0 {
        return base;
    }
    let ones = if length < 64 { (1 << length) - 1 } else { u64::MAX };
    let mask = ones << position;
    base & !mask | field << position & mask
}

fn shift_amount(value: u64) -> u32 {
    if value == 0 {
        u32::MAX
    } else {
        value.leading_zeros()
    }
}

/// Permutes bytes by a selector with one nibble a byte; a nibble's top bit replicates the byte's
/// sign.
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for index in 0..4 {
        let nibble = selector >> (4 * index) & 0xF;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 {
            (byte as i8 >> 7) as u8
        } else {
            byte
        };
        result |= u32::from(byte) << (8 * index);
    }
    result
}

fn select_permutation(variant: Variant) -> Option<Handler> {
    /// Returns the selector that a mode derives from the low two bits of `c`.
    fn by_table(a: u32, b: u32, c: u32, selectors: [u32; 4]) -> u32 {
        permute(a, b, selectors[c as usize & 3])
    }
    Some(match variant {
        Variant::None => handler!(|a: u32, b: u32, c: u32| -> u32 { permute(a, b, c) }),
        Variant::F4e => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x3210, 0x4321, 0x5432, 0x6543]) })
        }
        Variant::B4e => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x5670, 0x6701, 0x7012, 0x0123]) })
        }
        Variant::Rc8 => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x0000, 0x1111, 0x2222, 0x3333]) })
        }
        Variant::Ecl => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x3210, 0x3211, 0x3222, 0x3333]) })
        }
        Variant::Ecr => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x0000, 0x1110, 0x2210, 0x3210]) })
        }
        Variant::Rc16 => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { by_table(a, b, c, [0x1010, 0x3232, 0x1010, 0x3232]) })
        }
        _ => return None,
    })
}

/// Returns the position of the `offset`-th set bit from `base` on, upward if positive, downward if
/// negative; all ones if there is none.
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let base = (base & 31) as i32;
    let is_set = |position: i32| mask >> position & 1 != 0;
    if offset == 0 {
        return if is_set(base) { base as u32 } else { u32::MAX };
    }
    let step = offset.signum();
    let mut left = offset.unsigned_abs();
    let mut position = base;
    while (0..32).contains(&position) {
        if is_set(position) {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        position += step;
    }
    u32::MAX
}
