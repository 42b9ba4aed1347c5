//! Integer arithmetic. Cases that PTX leaves open are fixed: a quotient by zero is all ones, a
//! remainder by zero is the dividend.

use super::lanes::{Fields, Handler, Registers, handler};
use oriel_ori::{DataType, ModifierFlags, Modifiers, Operation, Variant};

/// A handler by the width of `$type`, on unsigned operands.
macro_rules! unsigned {
    ($type:expr, |$($name:ident),+| $body:expr) => {
        match $type.bits() {
            16 => handler!(|$($name: u32),+| -> u32 { $(let $name = $name as u16;)+ u32::from($body) }),
            32 => handler!(|$($name: u32),+| -> u32 { $body }),
            64 => handler!(|$($name: u64),+| -> u64 { $body }),
            _ => return None,
        }
    };
}

/// A handler by the width of `$type`, on signed operands.
macro_rules! signed {
    ($type:expr, |$($name:ident),+| $body:expr) => {
        match $type.bits() {
            16 => handler!(|$($name: u32),+| -> u32 { $(let $name = $name as u16 as i16;)+ u32::from(($body) as u16) }),
            32 => handler!(|$($name: u32),+| -> u32 { $(let $name = $name as i32;)+ ($body) as u32 }),
            64 => handler!(|$($name: u64),+| -> u64 { $(let $name = $name as i64;)+ ($body) as u64 }),
            _ => return None,
        }
    };
}

/// A handler on signed or unsigned operands, according to `$type`.
macro_rules! by_sign {
    ($type:expr, |$($name:ident),+| $body:expr) => {
        if $type.is_signed() {
            signed!($type, |$($name),+| $body)
        } else {
            unsigned!($type, |$($name),+| $body)
        }
    };
}

/// A handler on two lanes of 16 bits.
macro_rules! halves {
    (unsigned |$($name:ident),+| $body:expr) => {
        handler!(|$($name: u32),+| -> u32 {
            let low = { $(let $name = $name as u16;)+ $body };
            let high = { $(let $name = ($name >> 16) as u16;)+ $body };
            u32::from(low) | u32::from(high) << 16
        })
    };
    (signed |$($name:ident),+| $body:expr) => {
        handler!(|$($name: u32),+| -> u32 {
            let low = { $(let $name = $name as i16;)+ $body };
            let high = { $(let $name = ($name >> 16) as i16;)+ $body };
            u32::from(low as u16) | u32::from(high as u16) << 16
        })
    };
}

/// Returns the handler of an integer operation; none if it is not modelled.
pub(super) fn select(operation: Operation, data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    if data_type.lanes() == 2 {
        return select_packed(operation, data_type, modifiers);
    }
    let saturates = modifiers.flags.contains(ModifierFlags::SAT);
    let relu = modifiers.flags.contains(ModifierFlags::RELU);
    let known = ModifierFlags::SAT | ModifierFlags::RELU | ModifierFlags::CONTRACT;
    if !known.contains(modifiers.flags) {
        return None;
    }
    Some(match operation {
        Operation::Iadd if saturates => signed!(data_type, |a, b| a.saturating_add(b)),
        Operation::Isub if saturates => signed!(data_type, |a, b| a.saturating_sub(b)),
        Operation::Iadd => unsigned!(data_type, |a, b| a.wrapping_add(b)),
        Operation::Isub => unsigned!(data_type, |a, b| a.wrapping_sub(b)),
        Operation::Imul => unsigned!(data_type, |a, b| a.wrapping_mul(b)),
        Operation::ImulHi => return select_high(data_type),
        Operation::ImulWide | Operation::ImadWide => return None,
        Operation::Imul24 => return select_24(data_type, modifiers),
        Operation::Imad if saturates => handler!(|a: u32, b: u32, c: u32| -> u32 {
            ((a as i32).wrapping_mul(b as i32)).saturating_add(c as i32) as u32
        }),
        Operation::Imad => unsigned!(data_type, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Operation::Isad => return select_sad(data_type),
        Operation::Idiv if data_type.is_signed() => {
            signed!(data_type, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) })
        }
        Operation::Idiv => unsigned!(data_type, |a, b| a.checked_div(b).unwrap_or(!0)),
        Operation::Irem if data_type.is_signed() => {
            signed!(data_type, |a, b| if b == 0 { a } else { a.wrapping_rem(b) })
        }
        Operation::Irem => unsigned!(data_type, |a, b| a.checked_rem(b).unwrap_or(a)),
        Operation::Imin if relu => signed!(data_type, |a, b| a.min(b).max(0)),
        Operation::Imax if relu => signed!(data_type, |a, b| a.max(b).max(0)),
        Operation::Imin => by_sign!(data_type, |a, b| a.min(b)),
        Operation::Imax => by_sign!(data_type, |a, b| a.max(b)),
        Operation::Iabs => signed!(data_type, |a| a.wrapping_abs()),
        Operation::Ineg => unsigned!(data_type, |a| a.wrapping_neg()),
        _ => return None,
    })
}

fn select_packed(operation: Operation, data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    if data_type.bits() != 32 || !ModifierFlags::RELU.contains(modifiers.flags) {
        return None;
    }
    let relu = modifiers.flags.contains(ModifierFlags::RELU);
    let is_signed = data_type.is_signed();
    Some(match operation {
        Operation::Iadd => halves!(unsigned | a, b | a.wrapping_add(b)),
        Operation::Isub => halves!(unsigned | a, b | a.wrapping_sub(b)),
        Operation::Imul => halves!(unsigned | a, b | a.wrapping_mul(b)),
        Operation::Ineg => halves!(unsigned | a | a.wrapping_neg()),
        Operation::Iabs => halves!(signed | a | a.wrapping_abs()),
        Operation::Imin if relu && is_signed => halves!(signed | a, b | a.min(b).max(0)),
        Operation::Imax if relu && is_signed => halves!(signed | a, b | a.max(b).max(0)),
        Operation::Imin if is_signed => halves!(signed | a, b | a.min(b)),
        Operation::Imax if is_signed => halves!(signed | a, b | a.max(b)),
        Operation::Imin => halves!(unsigned | a, b | a.min(b)),
        Operation::Imax => halves!(unsigned | a, b | a.max(b)),
        _ => return None,
    })
}

fn select_high(data_type: DataType) -> Option<Handler> {
    Some(match (data_type.bits(), data_type.is_signed()) {
        (16, false) => handler!(|a: u32, b: u32| -> u32 { ((a & 0xFFFF) * (b & 0xFFFF)) >> 16 }),
        (16, true) => {
            handler!(|a: u32, b: u32| -> u32 { (i32::from(a as i16) * i32::from(b as i16)) as u32 >> 16 })
        }
        (32, false) => handler!(|a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }),
        (32, true) => {
            handler!(|a: u32, b: u32| -> u32 { ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32 })
        }
        (64, false) => handler!(|a: u64, b: u64| -> u64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 }),
        (64, true) => {
            handler!(|a: u64, b: u64| -> u64 { ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64 })
        }
        _ => return None,
    })
}

/// Computes `a * b` in twice the width, plus `c` of that width if there are three sources. `source`
/// is the narrow type.
pub(super) fn select_wide(source: DataType, adds: bool) -> Option<Handler> {
    Some(match (source.bits(), source.is_signed(), adds) {
        (16, false, false) => handler!(|a: u32, b: u32| -> u32 { (a & 0xFFFF) * (b & 0xFFFF) }),
        (16, true, false) => {
            handler!(|a: u32, b: u32| -> u32 { (i32::from(a as i16) * i32::from(b as i16)) as u32 })
        }
        (16, false, true) => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { ((a & 0xFFFF) * (b & 0xFFFF)).wrapping_add(c) })
        }
        (16, true, true) => handler!(|a: u32, b: u32, c: u32| -> u32 {
            (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32
        }),
        (32, false, false) => handler!(|a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) }),
        (32, true, false) => {
            handler!(|a: u32, b: u32| -> u64 { (i64::from(a as i32) * i64::from(b as i32)) as u64 })
        }
        (32, false, true) => {
            handler!(|a: u32, b: u32, c: u64| -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) })
        }
        (32, true, true) => handler!(|a: u32, b: u32, c: u64| -> u64 {
            (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
        }),
        _ => return None,
    })
}

fn select_24(data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    /// Returns the low 24 bits as a signed number.
    fn extend(value: u32) -> i64 {
        i64::from((value << 8) as i32 >> 8)
    }
    Some(match (data_type, modifiers.variant) {
        (DataType::U32 | DataType::B32, Variant::None | Variant::Low) => {
            handler!(|a: u32, b: u32| -> u32 { (a & 0xFF_FFFF).wrapping_mul(b & 0xFF_FFFF) })
        }
        (DataType::S32, Variant::None | Variant::Low) => {
            handler!(|a: u32, b: u32| -> u32 { (extend(a) * extend(b)) as u32 })
        }
        (DataType::U32 | DataType::B32, Variant::High) => handler!(|a: u32, b: u32| -> u32 {
            ((u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF)) >> 16) as u32
        }),
        (DataType::S32, Variant::High) => {
            handler!(|a: u32, b: u32| -> u32 { ((extend(a) * extend(b)) >> 16) as u32 })
        }
        _ => return None,
    })
}

fn select_sad(data_type: DataType) -> Option<Handler> {
    Some(match (data_type.bits(), data_type.is_signed()) {
        (16, true) => handler!(|a: u32, b: u32, c: u32| -> u32 {
            u32::from((a as i16).abs_diff(b as i16).wrapping_add(c as u16))
        }),
        (32, true) => {
            handler!(|a: u32, b: u32, c: u32| -> u32 { (a as i32).abs_diff(b as i32).wrapping_add(c) })
        }
        (64, true) => {
            handler!(|a: u64, b: u64, c: u64| -> u64 { (a as i64).abs_diff(b as i64).wrapping_add(c) })
        }
        _ => unsigned!(data_type, |a, b, c| a.abs_diff(b).wrapping_add(c)),
    })
}

/// Dot products of packed bytes: `a` and `b` are the types of the elements of the two sources.
pub(super) fn select_dot(
    operation: Operation,
    a: DataType,
    b: DataType,
    variant: Variant,
) -> Option<Handler> {
    /// Returns byte `index`, sign- or zero-extended.
    fn byte<const SIGNED: bool>(value: u32, index: u32) -> i32 {
        let byte = (value >> (8 * index)) as u8;
        if SIGNED {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    }
    fn half<const SIGNED: bool>(value: u32, index: u32) -> i32 {
        let half = (value >> (16 * index)) as u16;
        if SIGNED {
            i32::from(half as i16)
        } else {
            i32::from(half)
        }
    }
    fn dot4<const A: bool, const B: bool>(registers: &mut Registers, fields: &Fields, mask: u32) {
        registers.map3(fields, mask, |a: u32, b: u32, c: u32| {
            let sum = (0..4).fold(0i32, |sum, index| {
                sum.wrapping_add(byte::<A>(a, index) * byte::<B>(b, index))
            });
            c.wrapping_add(sum as u32)
        });
    }
    fn dot2<const A: bool, const B: bool, const HIGH: bool>(
        registers: &mut Registers,
        fields: &Fields,
        mask: u32,
    ) {
        registers.map3(fields, mask, |a: u32, b: u32, c: u32| {
            let first = if HIGH { 2 } else { 0 };
            let sum = (0..2).fold(0i32, |sum, index| {
                sum.wrapping_add(half::<A>(a, index) * byte::<B>(b, first + index))
            });
            c.wrapping_add(sum as u32)
        });
    }
    Some(match (operation, variant, a.is_signed(), b.is_signed()) {
        (Operation::Dp4a, _, false, false) => dot4::<false, false>,
        (Operation::Dp4a, _, false, true) => dot4::<false, true>,
        (Operation::Dp4a, _, true, false) => dot4::<true, false>,
        (Operation::Dp4a, _, true, true) => dot4::<true, true>,
        (Operation::Dp2a, Variant::Low, false, false) => dot2::<false, false, false>,
        (Operation::Dp2a, Variant::Low, false, true) => dot2::<false, true, false>,
        (Operation::Dp2a, Variant::Low, true, false) => dot2::<true, false, false>,
        (Operation::Dp2a, Variant::Low, true, true) => dot2::<true, true, false>,
        (Operation::Dp2a, Variant::High, false, false) => dot2::<false, false, true>,
        (Operation::Dp2a, Variant::High, false, true) => dot2::<false, true, true>,
        (Operation::Dp2a, Variant::High, true, false) => dot2::<true, false, true>,
        (Operation::Dp2a, Variant::High, true, true) => dot2::<true, true, true>,
        _ => return None,
    })
}

/// Additions and subtractions with carry: the sources are `a`, `b` and the carry's row, which is
/// also written.
pub(super) fn select_carry(operation: Operation, data_type: DataType) -> Option<Handler> {
    /// Returns the sum of `a`, `b` and the carry, and the new carry. A borrow is represented as a
    /// carry of one.
    trait Carrying: Copy {
        fn carrying<const SUBTRACT: bool>(self, other: Self, carry: u32) -> (Self, u32);
    }
    impl Carrying for u32 {
        fn carrying<const SUBTRACT: bool>(self, other: Self, carry: u32) -> (Self, u32) {
            let wide = if SUBTRACT {
                u64::from(self)
                    .wrapping_sub(u64::from(other))
                    .wrapping_sub(u64::from(carry))
            } else {
                u64::from(self) + u64::from(other) + u64::from(carry)
            };
            (wide as u32, (wide >> 32) as u32 & 1)
        }
    }
    impl Carrying for u64 {
        fn carrying<const SUBTRACT: bool>(self, other: Self, carry: u32) -> (Self, u32) {
            let wide = if SUBTRACT {
                u128::from(self)
                    .wrapping_sub(u128::from(other))
                    .wrapping_sub(u128::from(carry))
            } else {
                u128::from(self) + u128::from(other) + u128::from(carry)
            };
            (wide as u64, (wide >> 64) as u32 & 1)
        }
    }
    fn run<T: Carrying + super::lanes::Cell, const SUBTRACT: bool, const TAKES: bool>(
        registers: &mut Registers,
        fields: &Fields,
        mask: u32,
    ) {
        let [a, b, carry, _] = fields.sources;
        let (a, b) = (*registers.row::<T>(a), *registers.row::<T>(b));
        for lane in super::lanes::LaneIter(mask) {
            let before = if TAKES {
                registers.row::<u32>(carry)[lane]
            } else {
                0
            };
            let (value, after) = a[lane].carrying::<SUBTRACT>(b[lane], before);
            registers.row_mut::<T>(fields.result)[lane] = value;
            registers.row_mut::<u32>(carry)[lane] = after;
        }
    }
    Some(match (operation, data_type.bits()) {
        (Operation::IaddCarryOut, 32) => run::<u32, false, false>,
        (Operation::IaddCarryOut, 64) => run::<u64, false, false>,
        (Operation::IaddCarry, 32) => run::<u32, false, true>,
        (Operation::IaddCarry, 64) => run::<u64, false, true>,
        (Operation::IsubCarryOut, 32) => run::<u32, true, false>,
        (Operation::IsubCarryOut, 64) => run::<u64, true, false>,
        (Operation::IsubCarry, 32) => run::<u32, true, true>,
        (Operation::IsubCarry, 64) => run::<u64, true, true>,
        _ => return None,
    })
}
