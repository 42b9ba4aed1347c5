//! A deterministic model of the approximate functions.
//!
//! The hardware's results are within a few units in the last place, but which results is not
//! specified. Here a result is computed in binary64 by the `libm` crate (the same on every host)
//! and rounded once to the type. For binary32 it is within half a unit, in rare cases up to one
//! unit, of the true value. This is well within PTX's bounds: 2^-22.5 relative for `ex2`, 2^-22
//! absolute or relative for `lg2`, 2^-20.5 absolute for `sin` and `cos` near zero, 2^-22.9 relative
//! for `rsqrt`, 2 units for `div.approx` and 1 unit for `rcp.approx` and `sqrt.approx`.
//! `div.approx` may flush quotients of huge divisors; here they are rounded like all others.
//! `ex2.approx.ftz.f16` and similar forms also go through binary64. `rcp.approx.ftz.f64` and
//! `rsqrt.approx.ftz.f64` keep the upper 32 bits of the result.

use super::float::{clamp, flush32, format_of};
use super::lanes::{Fields, Handler, Registers, Settings};
use super::soft_float::{self, BF16, F16, F32, F64, Format};
use oriel_ori::{DataType, ModifierFlags, Modifiers, Operation, Rounding};

const SQUARE_ROOT_RECIPROCAL: u8 = 0;
const SINE: u8 = 1;
const COSINE: u8 = 2;
const LOGARITHM: u8 = 3;
const POWER: u8 = 4;
const TANGENT: u8 = 5;

/// Returns the handler of an approximate function; none if it is not modelled. The handler reads
/// type and settings from the fields.
pub(super) fn select(operation: Operation, data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    let known = ModifierFlags::FTZ | ModifierFlags::CONTRACT;
    if !known.contains(modifiers.flags) || format_of(data_type).is_none() || data_type == DataType::F32x2 {
        return None;
    }
    Some(match operation {
        Operation::Frsqrt => run::<SQUARE_ROOT_RECIPROCAL>,
        Operation::Fsin => run::<SINE>,
        Operation::Fcos => run::<COSINE>,
        Operation::Flg2 => run::<LOGARITHM>,
        Operation::Fex2 => run::<POWER>,
        Operation::Ftanh => run::<TANGENT>,
        _ => return None,
    })
}

/// The function in binary64.
fn exact<const FUNCTION: u8>(value: f64) -> f64 {
    match FUNCTION {
        // The reciprocal of a zero keeps the sign.
        SQUARE_ROOT_RECIPROCAL if value == 0.0 => 1.0 / value,
        SQUARE_ROOT_RECIPROCAL => 1.0 / value.sqrt(),
        SINE => libm::sin(value),
        COSINE => libm::cos(value),
        LOGARITHM if value == 0.0 => f64::NEG_INFINITY,
        LOGARITHM => libm::log2(value),
        POWER => libm::exp2(value),
        _ => libm::tanh(value),
    }
}

fn apply<const FUNCTION: u8>(format: Format, settings: Settings, cell: u64) -> u64 {
    let cell = if settings.has(ModifierFlags::FTZ) {
        format.flush(cell)
    } else {
        cell
    };
    if format.is_nan(cell) {
        return format.nan();
    }
    let value = f64::from_bits(soft_float::convert(format, F64, Rounding::Rn, cell));
    let result = exact::<FUNCTION>(value);
    if result.is_nan() {
        return format.nan();
    }
    let result = soft_float::convert(F64, format, Rounding::Rn, result.to_bits());
    clamp(format, settings, result)
}

/// Like [`apply`] for binary32, with the host's conversions, which round like the software ones.
#[inline]
fn apply32<const FUNCTION: u8>(settings: Settings, cell: u32) -> u32 {
    let flush = settings.has(ModifierFlags::FTZ);
    let value = f32::from_bits(if flush { flush32(cell) } else { cell });
    let result = exact::<FUNCTION>(f64::from(value)) as f32;
    if result.is_nan() {
        return F32.nan() as u32;
    }
    let result = result.to_bits();
    if flush { flush32(result) } else { result }
}

fn run<const FUNCTION: u8>(registers: &mut Registers, fields: &Fields, mask: u32) {
    let settings = fields.settings;
    match fields.types.0 {
        DataType::F64 => registers.map1(fields, mask, |a: u64| {
            apply::<FUNCTION>(F64, settings, a) & !0xFFFF_FFFF
        }),
        DataType::F32 => registers.map1(fields, mask, |a: u32| apply32::<FUNCTION>(settings, a)),
        DataType::F16 | DataType::Bf16 => {
            let format = if fields.types.0 == DataType::F16 {
                F16
            } else {
                BF16
            };
            registers.map1(fields, mask, |a: u32| {
                apply::<FUNCTION>(format, settings, u64::from(a)) as u32
            });
        }
        _ => {
            let format = if fields.types.0 == DataType::F16x2 {
                F16
            } else {
                BF16
            };
            registers.map1(fields, mask, |a: u32| {
                let part = |shift: u32| {
                    (apply::<FUNCTION>(format, settings, u64::from(a >> shift & 0xFFFF)) as u32) << shift
                };
                part(0) | part(16)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const FUNCTION: u8>(bits: u32) {
        for flags in [ModifierFlags::empty(), ModifierFlags::FTZ] {
            let settings = Settings {
                rounding: Rounding::None,
                flags,
            };
            let soft = apply::<FUNCTION>(F32, settings, u64::from(bits)) as u32;
            let native = apply32::<FUNCTION>(settings, bits);
            assert_eq!(native, soft, "function {FUNCTION} of {bits:#010x}, {flags:?}");
        }
    }

    fn check_all(bits: u32) {
        check::<SQUARE_ROOT_RECIPROCAL>(bits);
        check::<SINE>(bits);
        check::<COSINE>(bits);
        check::<LOGARITHM>(bits);
        check::<POWER>(bits);
        check::<TANGENT>(bits);
    }

    #[test]
    fn the_edges_of_binary32_are_rounded_alike() {
        for magnitude in [
            0,
            1,
            0x7F_FFFF,
            0x80_0000,
            0x7F7F_FFFF,
            0x7F80_0000,
            0x7F80_0001,
            0x7FFF_FFFF,
        ] {
            check_all(magnitude);
            check_all(magnitude | 0x8000_0000);
        }
    }

    proptest! {
        #[test]
        fn native_conversions_round_as_the_soft_ones(bits: u32) {
            check_all(bits);
        }

        /// `ex2` has subnormal results only for arguments around -126 to -150.
        #[test]
        fn small_powers_are_rounded_alike(value in -160.0f32..-120.0) {
            check::<POWER>(value.to_bits());
        }
    }
}
