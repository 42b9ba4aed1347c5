//! Floating-point arithmetic and comparisons: native where the host rounds identically, otherwise
//! in software.
//!
//! PTX's rules: binary32 and the 16-bit formats produce canonical NaNs; binary64 keeps the payload
//! of the first NaN operand. `.ftz` treats subnormal operands and results as zeros of their sign.
//! `.sat` clamps to [0, 1], NaN to +0. `.relu` clamps negative numbers to +0 and keeps canonical
//! NaNs. Minimum and maximum prefer numbers to NaNs unless `.NaN` is given, and -0 is less than +0.

use super::lanes::{Fields, Handler, Registers, Settings, handler};
use super::soft_float::{self, BF16, F16, F32, F64, Format};
use oriel_ori::{Comparison, DataType, ModifierFlags, Modifiers, Operation, Rounding};

const ADD: u8 = 0;
const SUBTRACT: u8 = 1;
const MULTIPLY: u8 = 2;
const FUSED: u8 = 3;
const DIVIDE: u8 = 4;
const ROOT: u8 = 5;
const MINIMUM: u8 = 6;
const MAXIMUM: u8 = 7;
const NEGATE: u8 = 8;
const ABSOLUTE: u8 = 9;

/// The format of a scalar or packed type.
pub(super) fn format_of(data_type: DataType) -> Option<Format> {
    Some(match data_type {
        DataType::F16 | DataType::F16x2 => F16,
        DataType::Bf16 | DataType::Bf16x2 => BF16,
        DataType::F32 | DataType::F32x2 => F32,
        DataType::F64 => F64,
        _ => return None,
    })
}

/// An arithmetic operation in software, before clamping.
fn arithmetic<const OPERATION: u8>(format: Format, rounding: Rounding, [a, b, c]: [u64; 3]) -> u64 {
    match OPERATION {
        ADD => soft_float::add(format, rounding, [a, b]),
        // A NaN keeps its sign.
        SUBTRACT if format.is_nan(b) => format.propagate(&[a, b]),
        SUBTRACT => soft_float::add(format, rounding, [a, b ^ format.sign()]),
        MULTIPLY => soft_float::multiply(format, rounding, [a, b]),
        FUSED => soft_float::fused_multiply_add(format, rounding, [a, b, c]),
        DIVIDE => soft_float::divide(format, rounding, [a, b]),
        _ => soft_float::square_root(format, rounding, a),
    }
}

/// Minimum or maximum.
fn extreme<const OPERATION: u8>(format: Format, settings: Settings, a: u64, b: u64) -> u64 {
    let (a_nan, b_nan) = (format.is_nan(a), format.is_nan(b));
    let signs = (a ^ b) & format.sign();
    let magnitude = |bits: u64| {
        if settings.has(ModifierFlags::XORSIGN_ABS) {
            bits & !format.sign()
        } else {
            bits
        }
    };
    if a_nan && b_nan || settings.has(ModifierFlags::NAN) && (a_nan || b_nan) {
        return format.propagate(&[a, b]);
    }
    let (x, y) = (magnitude(a), magnitude(b));
    let result = if a_nan {
        y
    } else if b_nan {
        x
    } else {
        let first = (order_key(format, x) < order_key(format, y)) == (OPERATION == MINIMUM);
        if first { x } else { y }
    };
    if settings.has(ModifierFlags::XORSIGN_ABS) {
        result & !format.sign() | signs
    } else {
        result
    }
}

/// Maps a float to a number with the same order, -0 before +0.
fn order_key(format: Format, bits: u64) -> i64 {
    let magnitude = (bits & !format.sign()) as i64;
    if bits & format.sign() != 0 {
        -1 - magnitude
    } else {
        magnitude
    }
}

/// An operation in software, with its clamps.
fn general<const OPERATION: u8>(format: Format, settings: Settings, operands: [u64; 3]) -> u64 {
    let ftz = settings.has(ModifierFlags::FTZ);
    let operands = if ftz {
        operands.map(|bits| format.flush(bits))
    } else {
        operands
    };
    let [a, b, _] = operands;
    let result = match OPERATION {
        MINIMUM | MAXIMUM => extreme::<OPERATION>(format, settings, a, b),
        NEGATE => a ^ format.sign(),
        ABSOLUTE => a & !format.sign(),
        _ => arithmetic::<OPERATION>(format, settings.rounding, operands),
    };
    clamp(format, settings, result)
}

/// Applies flushing, saturation and rectification to a result.
pub(super) fn clamp(format: Format, settings: Settings, result: u64) -> u64 {
    let result = if settings.has(ModifierFlags::FTZ) {
        format.flush(result)
    } else {
        result
    };
    let is_nan = format.is_nan(result);
    let is_negative = result & format.sign() != 0;
    if settings.has(ModifierFlags::SAT) {
        let one = (format.infinity() >> 1) & format.infinity() & !(1 << (format.fraction_bits - 1));
        return if is_nan || is_negative { 0 } else { result.min(one) };
    }
    if settings.has(ModifierFlags::RELU) && is_negative && !is_nan {
        return 0;
    }
    result
}

/// The native operation in binary32.
#[inline(always)]
fn native32<const OPERATION: u8>(a: f32, b: f32, c: f32) -> f32 {
    match OPERATION {
        ADD => a + b,
        SUBTRACT => a - b,
        MULTIPLY => a * b,
        FUSED => a.mul_add(b, c),
        DIVIDE => a / b,
        _ => a.sqrt(),
    }
}

/// Replaces a subnormal binary32 by zero.
#[inline(always)]
pub(super) fn flush32(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// An operation in binary32, rounded to nearest.
#[inline(always)]
fn nearest32<const OPERATION: u8, const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let operand = |bits: u32| f32::from_bits(if FTZ { flush32(bits) } else { bits });
    let result = native32::<OPERATION>(operand(a), operand(b), operand(c));
    if SAT {
        let positive = if result > 0.0 { result } else { 0.0 };
        let clamped = if positive < 1.0 { positive } else { 1.0 };
        let bits = clamped.to_bits();
        return if FTZ { flush32(bits) } else { bits };
    }
    let bits = if result.is_nan() {
        0x7FFF_FFFF
    } else {
        result.to_bits()
    };
    if FTZ { flush32(bits) } else { bits }
}

/// An operation in binary64, rounded to nearest.
#[inline(always)]
fn nearest64<const OPERATION: u8>(a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
    let result = match OPERATION {
        ADD => x + y,
        SUBTRACT => x - y,
        MULTIPLY => x * y,
        FUSED => x.mul_add(y, z),
        DIVIDE => x / y,
        _ => x.sqrt(),
    };
    if result.is_nan() {
        let operands = match OPERATION {
            FUSED => [a, b, c],
            ROOT => [a, a, a],
            _ => [a, b, a],
        };
        return F64.propagate(&operands);
    }
    result.to_bits()
}

fn run_nearest32<const OPERATION: u8, const FTZ: bool, const SAT: bool>(
    registers: &mut Registers,
    fields: &Fields,
    mask: u32,
) {
    match OPERATION {
        ROOT => registers.map1(fields, mask, |a: u32| nearest32::<OPERATION, FTZ, SAT>(a, 0, 0)),
        FUSED => registers.map3(fields, mask, |a: u32, b: u32, c: u32| {
            nearest32::<OPERATION, FTZ, SAT>(a, b, c)
        }),
        _ => registers.map2(fields, mask, |a: u32, b: u32| {
            nearest32::<OPERATION, FTZ, SAT>(a, b, 0)
        }),
    }
}

fn run_nearest64<const OPERATION: u8>(registers: &mut Registers, fields: &Fields, mask: u32) {
    match OPERATION {
        ROOT => registers.map1(fields, mask, |a: u64| nearest64::<OPERATION>(a, 0, 0)),
        FUSED => registers.map3(fields, mask, |a: u64, b: u64, c: u64| {
            nearest64::<OPERATION>(a, b, c)
        }),
        _ => registers.map2(fields, mask, |a: u64, b: u64| nearest64::<OPERATION>(a, b, 0)),
    }
}

/// Selects a general handler: the format, and whether two values share a register.
const SCALAR_F16: u8 = 0;
const SCALAR_BF16: u8 = 1;
const SCALAR_F32: u8 = 2;
const PACKED_F16: u8 = 3;
const PACKED_BF16: u8 = 4;
const PACKED_F32: u8 = 5;
const SCALAR_F64: u8 = 6;

/// Returns how many of the three operands an operation has.
const fn operand_count(operation: u8) -> usize {
    match operation {
        FUSED => 3,
        ROOT | NEGATE | ABSOLUTE => 1,
        _ => 2,
    }
}

/// Any operation in any format, according to its settings.
fn run_general<const OPERATION: u8, const SHAPE: u8>(registers: &mut Registers, fields: &Fields, mask: u32) {
    let settings = fields.settings;
    let mut fields = *fields;
    // Missing operands alias the first one.
    for number in operand_count(OPERATION)..3 {
        fields.sources[number] = fields.sources[0];
    }
    let format = match SHAPE {
        SCALAR_F16 | PACKED_F16 => F16,
        SCALAR_BF16 | PACKED_BF16 => BF16,
        SCALAR_F32 | PACKED_F32 => F32,
        _ => F64,
    };
    match SHAPE {
        SCALAR_F16 | SCALAR_BF16 | SCALAR_F32 => registers.map3(&fields, mask, |a: u32, b: u32, c: u32| {
            general::<OPERATION>(format, settings, [a, b, c].map(u64::from)) as u32
        }),
        PACKED_F16 | PACKED_BF16 => registers.map3(&fields, mask, |a: u32, b: u32, c: u32| {
            let part = |shift: u32| {
                let operands = [a, b, c].map(|bits| u64::from(bits >> shift & 0xFFFF));
                (general::<OPERATION>(format, settings, operands) as u32) << shift
            };
            part(0) | part(16)
        }),
        PACKED_F32 => registers.map3(&fields, mask, |a: u64, b: u64, c: u64| {
            let part = |shift: u32| {
                let operands = [a, b, c].map(|bits| bits >> shift & 0xFFFF_FFFF);
                general::<OPERATION>(format, settings, operands) << shift
            };
            part(0) | part(32)
        }),
        _ => registers.map3(&fields, mask, |a: u64, b: u64, c: u64| {
            general::<OPERATION>(format, settings, [a, b, c])
        }),
    }
}

fn select_general<const OPERATION: u8>(data_type: DataType) -> Option<Handler> {
    Some(match data_type {
        DataType::F16 => run_general::<OPERATION, SCALAR_F16>,
        DataType::Bf16 => run_general::<OPERATION, SCALAR_BF16>,
        DataType::F32 => run_general::<OPERATION, SCALAR_F32>,
        DataType::F64 => run_general::<OPERATION, SCALAR_F64>,
        DataType::F16x2 => run_general::<OPERATION, PACKED_F16>,
        DataType::Bf16x2 => run_general::<OPERATION, PACKED_BF16>,
        DataType::F32x2 => run_general::<OPERATION, PACKED_F32>,
        _ => return None,
    })
}

fn select_arithmetic<const OPERATION: u8>(data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    let flags = modifiers.flags - ModifierFlags::CONTRACT;
    let to_nearest = matches!(modifiers.rounding, Rounding::None | Rounding::Rn);
    let (ftz, sat) = (
        flags.contains(ModifierFlags::FTZ),
        flags.contains(ModifierFlags::SAT),
    );
    if data_type == DataType::F64 && to_nearest && flags.is_empty() {
        return Some(run_nearest64::<OPERATION>);
    }
    let clamps_only = (ModifierFlags::FTZ | ModifierFlags::SAT).contains(flags);
    if data_type == DataType::F32 && to_nearest && clamps_only {
        return Some(match (ftz, sat) {
            (false, false) => run_nearest32::<OPERATION, false, false>,
            (false, true) => run_nearest32::<OPERATION, false, true>,
            (true, false) => run_nearest32::<OPERATION, true, false>,
            (true, true) => run_nearest32::<OPERATION, true, true>,
        });
    }
    select_general::<OPERATION>(data_type)
}

/// Returns the handler of a floating-point operation; none if it is not modelled. Reciprocals are
/// divisions of a constant by their source.
pub(super) fn select(operation: Operation, data_type: DataType, modifiers: Modifiers) -> Option<Handler> {
    let flags = modifiers.flags - ModifierFlags::CONTRACT;
    let known = ModifierFlags::FTZ
        | ModifierFlags::SAT
        | ModifierFlags::RELU
        | ModifierFlags::NAN
        | ModifierFlags::XORSIGN_ABS;
    if !known.contains(flags) || modifiers.rounding == Rounding::Rs {
        return None;
    }
    match operation {
        Operation::Fadd => select_arithmetic::<ADD>(data_type, modifiers),
        Operation::Fsub => select_arithmetic::<SUBTRACT>(data_type, modifiers),
        Operation::Fmul => select_arithmetic::<MULTIPLY>(data_type, modifiers),
        Operation::Ffma => select_arithmetic::<FUSED>(data_type, modifiers),
        Operation::Fdiv | Operation::Frcp => select_arithmetic::<DIVIDE>(data_type, modifiers),
        Operation::Fsqrt => select_arithmetic::<ROOT>(data_type, modifiers),
        Operation::Fmin if data_type == DataType::F32 && flags.is_empty() => {
            Some(handler!(|a: u32, b: u32| -> u32 {
                fast_extreme32::<MINIMUM>(a, b)
            }))
        }
        Operation::Fmax if data_type == DataType::F32 && flags.is_empty() => {
            Some(handler!(|a: u32, b: u32| -> u32 {
                fast_extreme32::<MAXIMUM>(a, b)
            }))
        }
        Operation::Fmin => select_general::<MINIMUM>(data_type),
        Operation::Fmax => select_general::<MAXIMUM>(data_type),
        Operation::Fneg if data_type == DataType::F32 && flags.is_empty() => {
            Some(handler!(|a: u32| -> u32 { a ^ 0x8000_0000 }))
        }
        Operation::Fneg => select_general::<NEGATE>(data_type),
        Operation::Fabs => select_general::<ABSOLUTE>(data_type),
        Operation::Fcopysign => Some(match data_type {
            DataType::F16 | DataType::Bf16 => {
                handler!(|a: u32, b: u32| -> u32 { a & 0x8000 | b & 0x7FFF })
            }
            DataType::F32 => handler!(|a: u32, b: u32| -> u32 { a & 0x8000_0000 | b & 0x7FFF_FFFF }),
            DataType::F64 => handler!(|a: u64, b: u64| -> u64 { a & F64.sign() | b & !F64.sign() }),
            _ => return None,
        }),
        _ => None,
    }
}

/// Returns the handler of an operation in binary32 whose first operands are in a 16-bit format:
/// the factors, or the first summand. None if it is not modelled.
pub(super) fn select_mixed(
    operation: Operation,
    data_type: DataType,
    source_type: DataType,
    modifiers: Modifiers,
) -> Option<Handler> {
    let flags = modifiers.flags - ModifierFlags::CONTRACT;
    if data_type != DataType::F32 || !ModifierFlags::SAT.contains(flags) || modifiers.rounding == Rounding::Rs
    {
        return None;
    }
    Some(match (operation, source_type) {
        (Operation::Fadd, DataType::F16) => run_mixed::<ADD, SCALAR_F16>,
        (Operation::Fadd, DataType::Bf16) => run_mixed::<ADD, SCALAR_BF16>,
        (Operation::Fsub, DataType::F16) => run_mixed::<SUBTRACT, SCALAR_F16>,
        (Operation::Fsub, DataType::Bf16) => run_mixed::<SUBTRACT, SCALAR_BF16>,
        (Operation::Ffma, DataType::F16) => run_mixed::<FUSED, SCALAR_F16>,
        (Operation::Ffma, DataType::Bf16) => run_mixed::<FUSED, SCALAR_BF16>,
        _ => return None,
    })
}

/// Converts the operands of a 16-bit format, which is exact, and rounds the result once.
fn run_mixed<const OPERATION: u8, const SHAPE: u8>(registers: &mut Registers, fields: &Fields, mask: u32) {
    let settings = fields.settings;
    let format = if SHAPE == SCALAR_F16 { F16 } else { BF16 };
    let wide = |bits: u32| u64::from(widened(format, false, bits).to_bits());
    match OPERATION {
        FUSED => registers.map3(fields, mask, |a: u32, b: u32, c: u32| {
            general::<OPERATION>(F32, settings, [wide(a), wide(b), u64::from(c)]) as u32
        }),
        _ => registers.map2(fields, mask, |a: u32, b: u32| {
            general::<OPERATION>(F32, settings, [wide(a), u64::from(b), 0]) as u32
        }),
    }
}

/// True if a float is infinite.
pub(super) fn select_test(source: DataType) -> Option<Handler> {
    Some(match source {
        DataType::F32 => handler!(|a: u32| -> u32 { u32::from(a & 0x7FFF_FFFF == 0x7F80_0000) }),
        DataType::F64 => handler!(|a: u64| -> u32 { u32::from(a & !F64.sign() == F64.infinity()) }),
        _ => return None,
    })
}

/// Branch-free minimum or maximum in binary32 without modifiers.
#[inline(always)]
fn fast_extreme32<const OPERATION: u8>(a: u32, b: u32) -> u32 {
    let key = |bits: u32| (bits ^ ((bits as i32 >> 31) as u32 >> 1)) as i32;
    let is_nan = |bits: u32| bits & 0x7FFF_FFFF > 0x7F80_0000;
    let first = (key(a) < key(b)) == (OPERATION == MINIMUM);
    let chosen = if first { a } else { b };
    let number = if is_nan(a) { b } else { chosen };
    let number = if is_nan(b) { a } else { number };
    if is_nan(number) { 0x7FFF_FFFF } else { number }
}

/// True if a comparison of two floats holds.
#[inline(always)]
fn compare<F: PartialOrd>(comparison: Comparison, a: F, b: F) -> bool {
    match comparison {
        Comparison::None => false,
        Comparison::Eq => a == b,
        Comparison::Ne => a.partial_cmp(&b).is_some_and(std::cmp::Ordering::is_ne),
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
        Comparison::Num => a.partial_cmp(&b).is_some(),
        Comparison::Nan => a.partial_cmp(&b).is_none(),
        // The comparisons that hold for NaNs are the negations of their opposites.
        unordered => !compare(unordered.inverse(true), a, b),
    }
}

/// Returns a lane of a 16-bit format as binary32, which has all its values.
fn widened(format: Format, ftz: bool, bits: u32) -> f32 {
    let bits = u64::from(bits & 0xFFFF);
    let bits = if ftz { format.flush(bits) } else { bits };
    f32::from_bits(soft_float::convert(format, F32, Rounding::Rn, bits) as u32)
}

/// Compares into a predicate; packed operands are shifted to the compared lane.
fn run_comparison<const COMPARISON: u8, const SHAPE: u8, const FTZ: bool, const SHIFT: u32>(
    registers: &mut Registers,
    fields: &Fields,
    mask: u32,
) {
    let comparison = Comparison::ALL[COMPARISON as usize];
    match SHAPE {
        SCALAR_F16 | SCALAR_BF16 => {
            let format = if SHAPE == SCALAR_F16 { F16 } else { BF16 };
            registers.map2(fields, mask, |a: u32, b: u32| {
                let [a, b] = [a, b].map(|bits| widened(format, FTZ, bits >> SHIFT));
                u32::from(compare(comparison, a, b))
            });
        }
        SCALAR_F32 => registers.map2(fields, mask, |a: u32, b: u32| {
            let [a, b] = [a, b].map(|bits| f32::from_bits(if FTZ { flush32(bits) } else { bits }));
            u32::from(compare(comparison, a, b))
        }),
        _ => registers.map2(fields, mask, |a: u64, b: u64| {
            u32::from(compare(comparison, f64::from_bits(a), f64::from_bits(b)))
        }),
    }
}

/// Compares floats in the low lane or, if `high`, in the high lane of a packed type.
pub fn select_comparison(
    comparison: Comparison,
    source: DataType,
    flags: ModifierFlags,
    high: bool,
) -> Option<Handler> {
    fn shaped<const COMPARISON: u8>(source: DataType, ftz: bool, high: bool) -> Option<Handler> {
        Some(match (source, ftz, high) {
            (DataType::F32, false, false) => run_comparison::<COMPARISON, SCALAR_F32, false, 0>,
            (DataType::F32, true, false) => run_comparison::<COMPARISON, SCALAR_F32, true, 0>,
            (DataType::F64, _, false) => run_comparison::<COMPARISON, SCALAR_F64, false, 0>,
            (DataType::F16 | DataType::F16x2, false, false) => {
                run_comparison::<COMPARISON, SCALAR_F16, false, 0>
            }
            (DataType::F16 | DataType::F16x2, true, false) => {
                run_comparison::<COMPARISON, SCALAR_F16, true, 0>
            }
            (DataType::F16x2, false, true) => run_comparison::<COMPARISON, SCALAR_F16, false, 16>,
            (DataType::F16x2, true, true) => run_comparison::<COMPARISON, SCALAR_F16, true, 16>,
            (DataType::Bf16 | DataType::Bf16x2, _, false) => {
                run_comparison::<COMPARISON, SCALAR_BF16, false, 0>
            }
            (DataType::Bf16x2, _, true) => run_comparison::<COMPARISON, SCALAR_BF16, false, 16>,
            _ => return None,
        })
    }
    if !(ModifierFlags::FTZ | ModifierFlags::CONTRACT).contains(flags) {
        return None;
    }
    let ftz = flags.contains(ModifierFlags::FTZ);
    match comparison {
        Comparison::None => None,
        Comparison::Eq => shaped::<0>(source, ftz, high),
        Comparison::Ne => shaped::<1>(source, ftz, high),
        Comparison::Lt => shaped::<2>(source, ftz, high),
        Comparison::Le => shaped::<3>(source, ftz, high),
        Comparison::Gt => shaped::<4>(source, ftz, high),
        Comparison::Ge => shaped::<5>(source, ftz, high),
        Comparison::Equ => shaped::<6>(source, ftz, high),
        Comparison::Neu => shaped::<7>(source, ftz, high),
        Comparison::Ltu => shaped::<8>(source, ftz, high),
        Comparison::Leu => shaped::<9>(source, ftz, high),
        Comparison::Gtu => shaped::<10>(source, ftz, high),
        Comparison::Geu => shaped::<11>(source, ftz, high),
        Comparison::Num => shaped::<12>(source, ftz, high),
        Comparison::Nan => shaped::<13>(source, ftz, high),
    }
}
