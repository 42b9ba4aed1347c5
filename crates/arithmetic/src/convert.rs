//! Conversions between all pairs of types, with rounding and saturation.
//!
//! To convert a float to an integer, it is rounded to an integer and then clamped to the range of
//! the type. NaN becomes zero or, if the float or the integer has 64 bits, the number with only the
//! top bit set.

use super::float::{clamp, format_of};
use super::lanes::{Fields, Handler, Registers, Settings};
use super::soft_float::{self, Exact, F32, F64, Format, Number};
use oriel_ori::{DataType, ModifierFlags, Modifiers, Rounding};

/// An integer type: width and sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Integer {
    bits: u32,
    signed: bool,
}

impl Integer {
    fn of(data_type: DataType) -> Option<Self> {
        let is_scalar = data_type.lanes() == 1 && !data_type.is_float();
        (is_scalar && data_type.bits() <= 64).then(|| Self {
            bits: data_type.bits(),
            signed: data_type.is_signed(),
        })
    }

    /// Returns the value of a cell of a row.
    fn read(self, cell: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed {
            i128::from((cell << unused) as i64 >> unused)
        } else {
            i128::from(cell << unused >> unused)
        }
    }

    fn range(self) -> (i128, i128) {
        if self.signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }
}

/// Rounds to an integer in the same format; zeros keep the sign.
pub(super) fn round_to_integral(format: Format, rounding: Rounding, cell: u64) -> u64 {
    match format.unpack(cell) {
        Number::Finite(exact) if exact.exponent < 0 => {
            let sign = cell & format.sign();
            match exact.round_to_units(0, rounding) {
                0 => sign,
                magnitude => sign | Exact::integer(magnitude as i128).round(format, Rounding::Rn),
            }
        }
        _ => cell,
    }
}

/// Returns the handler of a conversion; none if it is not modelled. The handler reads types and
/// settings from the fields.
pub(super) fn select(to: DataType, from: DataType, modifiers: Modifiers) -> Option<Handler> {
    let is_plain = (modifiers.flags - ModifierFlags::CONTRACT).is_empty()
        && matches!(modifiers.rounding, Rounding::None | Rounding::Rn);
    match select_plain(to, from) {
        Some(handler) if is_plain => Some(handler),
        _ => select_general(to, from, modifiers, from.bits() > 32),
    }
}

/// Returns the general handler of a conversion from a register of 64 bits (`from_wide`) or less.
pub(super) fn select_general(
    to: DataType,
    from: DataType,
    modifiers: Modifiers,
    from_wide: bool,
) -> Option<Handler> {
    const KNOWN: ModifierFlags = ModifierFlags::FTZ
        .union(ModifierFlags::SAT)
        .union(ModifierFlags::RELU)
        .union(ModifierFlags::SATFINITE)
        .union(ModifierFlags::CONTRACT);
    let is_modelled = |data_type: DataType| {
        data_type.lanes() == 1
            && (Integer::of(data_type).is_some() || format_of(data_type).is_some())
            && data_type != DataType::B1
    };
    if !KNOWN.contains(modifiers.flags) || modifiers.rounding == Rounding::Rs {
        return None;
    }
    if !is_modelled(to) || !is_modelled(from) {
        return None;
    }
    Some(match (to.bits() > 32, from_wide) {
        (false, false) => run::<false, false>,
        (false, true) => run::<false, true>,
        (true, false) => run::<true, false>,
        (true, true) => run::<true, true>,
    })
}

/// Packs two binary32 numbers into a register of two 16-bit lanes, the first source in the high
/// one.
pub(super) fn select_packed(to: DataType, from: DataType, modifiers: Modifiers) -> Option<Handler> {
    fn run_packed(registers: &mut Registers, fields: &Fields, mask: u32) {
        let (to, settings) = (fields.types.0, fields.settings);
        let format = format_of(to).expect("select_packed admits floats only");
        registers.map2(fields, mask, |a: u32, b: u32| {
            let convert = |cell: u32| float_to_float(format, F32, settings, u64::from(cell)) as u32;
            convert(a) << 16 | convert(b)
        });
    }
    let is_modelled = matches!(to, DataType::F16x2 | DataType::Bf16x2)
        && from == DataType::F32
        && modifiers.rounding != Rounding::Rs;
    is_modelled.then_some(run_packed as Handler)
}

/// Converts an integer to another integer type: the low bits, or the nearest value in range.
fn integer_to_integer(to: Integer, from: Integer, settings: Settings, cell: u64) -> u64 {
    let value = from.read(cell);
    if settings.has(ModifierFlags::SAT) {
        let (low, high) = to.range();
        return value.clamp(low, high) as u64;
    }
    // A byte fills its register with its sign or with zeros.
    to.read(value as u64) as u64
}

fn integer_to_float(to: Format, from: Integer, settings: Settings, cell: u64) -> u64 {
    let result = match from.read(cell) {
        0 => 0,
        value => Exact::integer(value).round(to, settings.rounding),
    };
    clamp(to, settings, result)
}

fn float_to_integer(to: Integer, from: Format, settings: Settings, cell: u64) -> u64 {
    let cell = if settings.has(ModifierFlags::FTZ) {
        from.flush(cell)
    } else {
        cell
    };
    let (low, high) = to.range();
    let value = match from.unpack(cell) {
        Number::Nan if to.bits == 64 || from == F64 => return 1 << (to.bits - 1),
        Number::Nan | Number::Zero { .. } => 0,
        Number::Infinite { negative: true } => low,
        Number::Infinite { negative: false } => high,
        Number::Finite(exact) if exact.exponent > 64 => {
            if exact.negative {
                low
            } else {
                high
            }
        }
        Number::Finite(exact) => {
            let magnitude = exact.round_to_units(0, settings.rounding) as i128;
            if exact.negative { -magnitude } else { magnitude }
        }
    };
    value.clamp(low, high) as u64
}

fn float_to_float(to: Format, from: Format, settings: Settings, cell: u64) -> u64 {
    let cell = if settings.has(ModifierFlags::FTZ) && from == F32 {
        from.flush(cell)
    } else {
        cell
    };
    let integral = matches!(
        settings.rounding,
        Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi
    );
    let result = if integral {
        round_to_integral(from, settings.rounding, cell)
    } else {
        cell
    };
    let rounding = if integral { Rounding::Rn } else { settings.rounding };
    let result = if to == from {
        if to.is_nan(result) {
            to.propagate(&[result])
        } else {
            result
        }
    } else {
        soft_float::convert(from, to, rounding, result)
    };
    // In conversions only binary32 flushes; the narrow formats keep their subnormals.
    let settings = Settings {
        flags: if to == F32 {
            settings.flags
        } else {
            settings.flags - ModifierFlags::FTZ
        },
        ..settings
    };
    if settings.has(ModifierFlags::SATFINITE) {
        if to.is_nan(result) {
            return to.nan();
        }
        let magnitude = (result & !to.sign()).min(to.largest());
        return clamp(to, settings, result & to.sign() | magnitude);
    }
    clamp(to, settings, result)
}

/// Converts a cell of `from` to a cell of `to`, not yet truncated to the register's width.
fn convert((to, from): (DataType, DataType), settings: Settings, cell: u64) -> u64 {
    match (Integer::of(to), Integer::of(from), format_of(to), format_of(from)) {
        (Some(to), Some(from), ..) => integer_to_integer(to, from, settings, cell),
        (None, Some(from), Some(to), _) => integer_to_float(to, from, settings, cell),
        (Some(to), None, _, Some(from)) => float_to_integer(to, from, settings, cell),
        (None, None, Some(to), Some(from)) => float_to_float(to, from, settings, cell),
        _ => unreachable!("select admits integers and floats of up to 64 bits only"),
    }
}

fn run<const TO_WIDE: bool, const FROM_WIDE: bool>(registers: &mut Registers, fields: &Fields, mask: u32) {
    let (types, settings) = (fields.types, fields.settings);
    // Bytes are kept in registers of 16 bits and more, sign-extended.
    let keep = u64::MAX >> (64 - fields.result_bits);
    match (TO_WIDE, FROM_WIDE) {
        (false, false) => registers.map1(fields, mask, |a: u32| {
            (convert(types, settings, u64::from(a)) & keep) as u32
        }),
        (false, true) => registers.map1(fields, mask, |a: u64| (convert(types, settings, a) & keep) as u32),
        (true, false) => registers.map1(fields, mask, |a: u32| {
            convert(types, settings, u64::from(a)) & keep
        }),
        (true, true) => registers.map1(fields, mask, |a: u64| convert(types, settings, a) & keep),
    }
}

/// The frequent conversions, which do not read settings.
fn select_plain(to: DataType, from: DataType) -> Option<Handler> {
    use super::lanes::handler;
    use DataType::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    Some(match (to, from) {
        (U64 | S64 | B64, U32 | B32) => handler!(|a: u32| -> u64 { u64::from(a) }),
        (U64 | S64 | B64, S32) => handler!(|a: u32| -> u64 { i64::from(a as i32) as u64 }),
        (U64 | S64 | B64, U16 | B16) => handler!(|a: u32| -> u64 { u64::from(a & 0xFFFF) }),
        (U64 | S64 | B64, S16) => handler!(|a: u32| -> u64 { i64::from(a as i16) as u64 }),
        (U32 | S32 | B32, U64 | S64 | B64) => handler!(|a: u64| -> u32 { a as u32 }),
        (U16 | S16 | B16, U64 | S64 | B64) => handler!(|a: u64| -> u32 { a as u32 & 0xFFFF }),
        (U32 | S32 | B32 | U16 | S16 | B16, U16 | B16) | (U16 | S16 | B16, U32 | S32 | B32 | S16) => {
            handler!(|a: u32| -> u32 { a & 0xFFFF })
        }
        (U32 | S32 | B32, S16) => handler!(|a: u32| -> u32 { i32::from(a as i16) as u32 }),
        (U32 | S32 | B32, U8 | B8) | (U16 | S16 | B16, U8 | B8) => handler!(|a: u32| -> u32 { a & 0xFF }),
        (U32 | S32 | B32, S8) => handler!(|a: u32| -> u32 { i32::from(a as i8) as u32 }),
        (U16 | S16 | B16, S8) => handler!(|a: u32| -> u32 { u32::from(i16::from(a as i8) as u16) }),
        (DataType::F32, S32) => handler!(|a: u32| -> u32 { (a as i32 as f32).to_bits() }),
        (DataType::F32, U32) => handler!(|a: u32| -> u32 { (a as f32).to_bits() }),
        (DataType::F64, S32) => handler!(|a: u32| -> u64 { f64::from(a as i32).to_bits() }),
        (DataType::F64, U32) => handler!(|a: u32| -> u64 { f64::from(a).to_bits() }),
        _ => return None,
    })
}
