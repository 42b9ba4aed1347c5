//! Intrinsics that are functions of their arguments, one line each.
//!
//! Written from the PTX ISA, deliberately independent of the interpreter's arithmetic, which it
//! checks. Approximate instructions are computed in double precision and rounded to nearest.

use Compute::{Approximation, F32, F32s, F64, F64s, FlushedApproximation, Words};

/// A function of up to four arguments, each in the low bits of its word.
#[derive(Clone, Copy)]
pub(super) enum Compute {
    F32(fn(f32) -> f32),
    F32s(fn(f32, f32) -> f32),
    F64(fn(f64) -> f64),
    F64s(fn(f64, f64) -> f64),
    /// Of a float of 32 bits, in double precision.
    Approximation(fn(f64) -> f64),
    /// The same with subnormal numbers flushed to zero.
    FlushedApproximation(fn(f64) -> f64),
    /// Of the words themselves.
    Words(fn(&[u64; 4]) -> u64),
}

impl Compute {
    pub(super) fn apply(self, words: &[u64; 4]) -> u64 {
        let single = |number: usize| f32_of(words[number]);
        let double = |number: usize| f64_of(words[number]);
        match self {
            F32(function) => f32_result(function(single(0))),
            F32s(function) => f32_result(function(single(0), single(1))),
            F64(function) => f64_result(function(double(0))),
            F64s(function) => f64_result(function(double(0), double(1))),
            Approximation(function) => f32_result(approximate(single(0), function)),
            FlushedApproximation(function) => f32_result(flush(approximate(flush(single(0)), function))),
            Words(function) => function(words),
        }
    }
}

/// Returns the function of an intrinsic, by its name without `llvm.`.
pub(super) fn find(name: &str) -> Option<Compute> {
    Some(match name {
        // The generic minima and maxima: the host's instructions order zeros differently.
        "minnum.f32" | "nvvm.fmin.f" => F32s(minimum_f32),
        "maxnum.f32" | "nvvm.fmax.f" => F32s(maximum_f32),
        "minnum.f64" | "nvvm.fmin.d" => F64s(minimum_f64),
        "maxnum.f64" | "nvvm.fmax.d" => F64s(maximum_f64),
        "nvvm.fmin.nan.f" => F32s(|x, y| or_nan(x, y, minimum_f32)),
        "nvvm.fmax.nan.f" => F32s(|x, y| or_nan(x, y, maximum_f32)),
        // IEEE operations, to nearest.
        "nvvm.add.rn.f" => F32s(|x, y| x + y),
        "nvvm.add.rn.d" => F64s(|x, y| x + y),
        "nvvm.mul.rn.f" => F32s(|x, y| x * y),
        "nvvm.mul.rn.d" => F64s(|x, y| x * y),
        "nvvm.div.rn.f" => F32s(|x, y| x / y),
        "nvvm.div.rn.d" => F64s(|x, y| x / y),
        "nvvm.rcp.rn.f" => F32(f32::recip),
        "nvvm.rcp.rn.d" => F64(f64::recip),
        "nvvm.sqrt.rn.f" | "nvvm.sqrt.f" => F32(f32::sqrt),
        "nvvm.sqrt.rn.d" => F64(f64::sqrt),
        "nvvm.fma.rn.f" => Words(|a| f32_result(f32_of(a[0]).mul_add(f32_of(a[1]), f32_of(a[2])))),
        "nvvm.fma.rn.d" => Words(|a| f64_result(f64_of(a[0]).mul_add(f64_of(a[1]), f64_of(a[2])))),
        "nvvm.saturate.f" => F32(|x| saturate(x.into()) as f32),
        "nvvm.saturate.d" => F64(saturate),
        "nvvm.ceil.f" => F32(f32::ceil),
        "nvvm.ceil.d" => F64(f64::ceil),
        "nvvm.floor.f" => F32(f32::floor),
        "nvvm.floor.d" => F64(f64::floor),
        "nvvm.trunc.f" => F32(f32::trunc),
        "nvvm.trunc.d" => F64(f64::trunc),
        "nvvm.round.f" => F32(f32::round_ties_even),
        "nvvm.round.d" => F64(f64::round_ties_even),
        "nvvm.fabs.f32" => F32(f32::abs),
        "nvvm.fabs.f64" => F64(f64::abs),
        // Approximations.
        "nvvm.ex2.approx.f32" | "nvvm.ex2.approx.f" => Approximation(f64::exp2),
        "nvvm.ex2.approx.ftz.f32" => FlushedApproximation(f64::exp2),
        "nvvm.lg2.approx.f" => Approximation(f64::log2),
        "nvvm.lg2.approx.ftz.f" => FlushedApproximation(f64::log2),
        "nvvm.sin.approx.f" => Approximation(f64::sin),
        "nvvm.sin.approx.ftz.f" => FlushedApproximation(f64::sin),
        "nvvm.cos.approx.f" => Approximation(f64::cos),
        "nvvm.cos.approx.ftz.f" => FlushedApproximation(f64::cos),
        "nvvm.sqrt.approx.f" => Approximation(f64::sqrt),
        "nvvm.sqrt.approx.ftz.f" => FlushedApproximation(f64::sqrt),
        "nvvm.rsqrt.approx.f" => Approximation(|x| 1.0 / x.sqrt()),
        "nvvm.rsqrt.approx.ftz.f" => FlushedApproximation(|x| 1.0 / x.sqrt()),
        "nvvm.rsqrt.approx.d" => F64(|x| 1.0 / x.sqrt()),
        "nvvm.rcp.approx.ftz.f" => FlushedApproximation(f64::recip),
        "nvvm.tanh.approx.f32" => Approximation(f64::tanh),
        "nvvm.div.approx.f" | "nvvm.div.full" => F32s(divide),
        "nvvm.div.approx.ftz.f" | "nvvm.div.full.ftz" => F32s(|x, y| flush(divide(flush(x), flush(y)))),
        // Integers.
        "nvvm.mulhi.i" => Words(|a| u64::from(((signed(a[0]) * signed(a[1])) >> 32) as u32)),
        "nvvm.mulhi.ui" => Words(|a| (low(a[0]) * low(a[1])) >> 32),
        "nvvm.mulhi.ll" => Words(|a| ((i128::from(a[0] as i64) * i128::from(a[1] as i64)) >> 64) as u64),
        "nvvm.mulhi.ull" => Words(|a| ((u128::from(a[0]) * u128::from(a[1])) >> 64) as u64),
        "nvvm.mul24.i" => Words(|a| low((signed_24(a[0]) * signed_24(a[1])) as u64)),
        "nvvm.mul24.ui" => Words(|a| low((a[0] & 0xff_ffff) * (a[1] & 0xff_ffff))),
        "nvvm.sad.i" => Words(|a| low(signed(a[0]).abs_diff(signed(a[1])) + a[2])),
        "nvvm.sad.ui" => Words(|a| low(low(a[0]).abs_diff(low(a[1])) + a[2])),
        "nvvm.sad.ll" => Words(|a| (a[0] as i64).abs_diff(a[1] as i64).wrapping_add(a[2])),
        "nvvm.sad.ull" => Words(|a| a[0].abs_diff(a[1]).wrapping_add(a[2])),
        "nvvm.prmt" => Words(|a| permute(a[0], a[1], a[2])),
        "nvvm.idp4a.s.s" => Words(|a| dot_product(a, signed_byte, signed_byte)),
        "nvvm.idp4a.s.u" => Words(|a| dot_product(a, signed_byte, byte)),
        "nvvm.idp4a.u.s" => Words(|a| dot_product(a, byte, signed_byte)),
        "nvvm.idp4a.u.u" => Words(|a| dot_product(a, byte, byte)),
        "nvvm.fshl.clamp.i32" => Words(|a| low(((low(a[0]) << 32 | low(a[1])) << low(a[2]).min(32)) >> 32)),
        "nvvm.fshr.clamp.i32" => Words(|a| low((low(a[0]) << 32 | low(a[1])) >> low(a[2]).min(32))),
        "nvvm.flo.u.i32" => Words(|a| u64::from(31u32.wrapping_sub((a[0] as u32).leading_zeros()))),
        "nvvm.lohi.i2d" => Words(|a| low(a[0]) | low(a[1]) << 32),
        "nvvm.d2i.lo" => Words(|a| low(a[0])),
        "nvvm.d2i.hi" => Words(|a| a[0] >> 32),
        // Conversions. Rust's casts saturate, as PTX's do.
        "nvvm.d2f.rn" => Words(|a| f32_result(f64_of(a[0]) as f32)),
        "nvvm.f2i.rn" => Words(|a| i32_result(f32_of(a[0]).round_ties_even() as i32)),
        "nvvm.f2i.rz" => Words(|a| i32_result(f32_of(a[0]) as i32)),
        "nvvm.f2i.rm" => Words(|a| i32_result(f32_of(a[0]).floor() as i32)),
        "nvvm.f2i.rp" => Words(|a| i32_result(f32_of(a[0]).ceil() as i32)),
        "nvvm.f2ui.rn" => Words(|a| u64::from(f32_of(a[0]).round_ties_even() as u32)),
        "nvvm.f2ui.rz" => Words(|a| u64::from(f32_of(a[0]) as u32)),
        "nvvm.f2ui.rm" => Words(|a| u64::from(f32_of(a[0]).floor() as u32)),
        "nvvm.f2ui.rp" => Words(|a| u64::from(f32_of(a[0]).ceil() as u32)),
        "nvvm.f2ll.rn" => Words(|a| f32_of(a[0]).round_ties_even() as i64 as u64),
        "nvvm.f2ll.rz" => Words(|a| f32_of(a[0]) as i64 as u64),
        "nvvm.f2ull.rn" => Words(|a| f32_of(a[0]).round_ties_even() as u64),
        "nvvm.f2ull.rz" => Words(|a| f32_of(a[0]) as u64),
        "nvvm.d2i.rn" => Words(|a| i32_result(f64_of(a[0]).round_ties_even() as i32)),
        "nvvm.d2i.rz" => Words(|a| i32_result(f64_of(a[0]) as i32)),
        "nvvm.d2i.rm" => Words(|a| i32_result(f64_of(a[0]).floor() as i32)),
        "nvvm.d2i.rp" => Words(|a| i32_result(f64_of(a[0]).ceil() as i32)),
        "nvvm.d2ui.rn" => Words(|a| u64::from(f64_of(a[0]).round_ties_even() as u32)),
        "nvvm.d2ui.rz" => Words(|a| u64::from(f64_of(a[0]) as u32)),
        "nvvm.d2ll.rn" => Words(|a| f64_of(a[0]).round_ties_even() as i64 as u64),
        "nvvm.d2ll.rz" => Words(|a| f64_of(a[0]) as i64 as u64),
        "nvvm.d2ull.rn" => Words(|a| f64_of(a[0]).round_ties_even() as u64),
        "nvvm.d2ull.rz" => Words(|a| f64_of(a[0]) as u64),
        "nvvm.i2f.rn" => Words(|a| f32_result(a[0] as i32 as f32)),
        "nvvm.ui2f.rn" => Words(|a| f32_result(a[0] as u32 as f32)),
        "nvvm.i2d.rn" => Words(|a| f64_result((a[0] as i32).into())),
        "nvvm.ui2d.rn" => Words(|a| f64_result((a[0] as u32).into())),
        "nvvm.ll2f.rn" => Words(|a| f32_result(a[0] as i64 as f32)),
        "nvvm.ull2f.rn" => Words(|a| f32_result(a[0] as f32)),
        "nvvm.ll2d.rn" => Words(|a| f64_result(a[0] as i64 as f64)),
        "nvvm.ull2d.rn" => Words(|a| f64_result(a[0] as f64)),
        _ => return None,
    })
}

fn f32_of(word: u64) -> f32 {
    f32::from_bits(word as u32)
}

fn f64_of(word: u64) -> f64 {
    f64::from_bits(word)
}

fn f32_result(value: f32) -> u64 {
    /// PTX's canonical NaN.
    const NAN: u32 = 0x7fff_ffff;
    u64::from(if value.is_nan() { NAN } else { value.to_bits() })
}

fn f64_result(value: f64) -> u64 {
    value.to_bits()
}

fn i32_result(value: i32) -> u64 {
    u64::from(value as u32)
}

/// Returns the low 32 bits.
fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}

/// Returns the low 32 bits as a signed number.
fn signed(word: u64) -> i64 {
    i64::from(word as i32)
}

/// Returns the low 24 bits as a signed number.
fn signed_24(word: u64) -> i64 {
    i64::from((word as i32) << 8 >> 8)
}

/// Returns the smaller number. A NaN is ignored, and -0 is smaller than +0.
fn minimum_f64(left: f64, right: f64) -> f64 {
    match (left.is_nan(), right.is_nan()) {
        (true, _) => right,
        (_, true) => left,
        _ if left.total_cmp(&right).is_le() => left,
        _ => right,
    }
}

fn minimum_f32(left: f32, right: f32) -> f32 {
    minimum_f64(left.into(), right.into()) as f32
}

fn maximum_f32(left: f32, right: f32) -> f32 {
    -minimum_f32(-left, -right)
}

fn maximum_f64(left: f64, right: f64) -> f64 {
    -minimum_f64(-left, -right)
}

/// Computes the `.NaN` forms: a NaN if there is one.
fn or_nan(left: f32, right: f32, otherwise: fn(f32, f32) -> f32) -> f32 {
    if left.is_nan() || right.is_nan() {
        f32::NAN
    } else {
        otherwise(left, right)
    }
}

/// Clamps to the range from zero to one; a NaN becomes zero.
fn saturate(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

fn approximate(value: f32, function: fn(f64) -> f64) -> f32 {
    function(value.into()) as f32
}

/// Flushes a subnormal number to zero with its sign.
fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

fn divide(left: f32, right: f32) -> f32 {
    (f64::from(left) / f64::from(right)) as f32
}

fn byte(word: u64, index: u32) -> i64 {
    i64::from((word >> (8 * index)) as u8)
}

fn signed_byte(word: u64, index: u32) -> i64 {
    i64::from((word >> (8 * index)) as i8)
}

/// `dp4a`: the sum of the third argument and the products of the bytes of the first two.
fn dot_product(arguments: &[u64; 4], left: fn(u64, u32) -> i64, right: fn(u64, u32) -> i64) -> u64 {
    let products = (0..4).map(|index| left(arguments[0], index) * right(arguments[1], index));
    low((signed(arguments[2]) + products.sum::<i64>()) as u64)
}

/// `prmt` in its default mode: each nibble of the selector chooses one of eight bytes, or that
/// byte's sign.
fn permute(low_word: u64, high_word: u64, selector: u64) -> u64 {
    let bytes = low(low_word) | low(high_word) << 32;
    (0..4).fold(0, |result, index| {
        let nibble = selector >> (4 * index);
        let chosen = (bytes >> (8 * (nibble & 7))) as u8;
        let replicated = if nibble & 8 == 0 {
            chosen
        } else {
            (chosen as i8 >> 7) as u8
        };
        result | u64::from(replicated) << (8 * index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(name: &str, arguments: [u64; 4]) -> u64 {
        find(name).expect("an intrinsic of the table").apply(&arguments)
    }

    fn f32s(name: &str, left: f32, right: f32) -> u64 {
        apply(name, [left.to_bits().into(), right.to_bits().into(), 0, 0])
    }

    #[test]
    fn integers() {
        assert_eq!(apply("nvvm.mulhi.i", [0xffff_ffff, 2, 0, 0]), 0xffff_ffff);
        assert_eq!(apply("nvvm.mulhi.ui", [0xffff_ffff, 2, 0, 0]), 1);
        assert_eq!(apply("nvvm.mulhi.ll", [u64::MAX, 2, 0, 0]), u64::MAX);
        assert_eq!(apply("nvvm.mul24.i", [0xff_ffff, 3, 0, 0]), 0xffff_fffd);
        assert_eq!(apply("nvvm.sad.i", [0xffff_ffff, 4, 10, 0]), 15);
        assert_eq!(apply("nvvm.sad.ui", [0xffff_ffff, 0, 2, 0]), 1);
        assert_eq!(
            apply("nvvm.prmt", [0x3322_1180, 0x7766_5544, 0x8074, 0]),
            0xff80_7744
        );
        assert_eq!(apply("nvvm.idp4a.s.u", [0xff01_0203, 0x0201_0101, 100, 0]), 104);
        assert_eq!(
            apply("nvvm.fshl.clamp.i32", [0x1234_5678, 0x9abc_def0, 40, 0]),
            0x9abc_def0
        );
        assert_eq!(
            apply("nvvm.fshr.clamp.i32", [0x1234_5678, 0x9abc_def0, 8, 0]),
            0x789a_bcde
        );
        assert_eq!(apply("nvvm.flo.u.i32", [0x0001_0000, 0, 0, 0]), 16);
        assert_eq!(apply("nvvm.flo.u.i32", [0; 4]), 0xffff_ffff);
    }

    #[test]
    fn minimum_and_maximum_order_zeros_and_skip_nans() {
        assert_eq!(f32s("nvvm.fmin.f", 0.0, -0.0), 0x8000_0000);
        assert_eq!(f32s("nvvm.fmax.f", -0.0, 0.0), 0);
        assert_eq!(f32s("maxnum.f32", f32::NAN, 2.0), u64::from(2f32.to_bits()));
        assert_eq!(f32s("nvvm.fmax.f", f32::NAN, f32::NAN), 0x7fff_ffff);
        assert_eq!(f32s("nvvm.fmin.nan.f", 1.0, f32::NAN), 0x7fff_ffff);
    }

    #[test]
    fn conversions_saturate() {
        assert_eq!(f32s("nvvm.f2i.rz", 3e10, 0.0), 0x7fff_ffff);
        assert_eq!(f32s("nvvm.f2i.rn", 2.5, 0.0), 2);
        assert_eq!(f32s("nvvm.f2ui.rz", -1.0, 0.0), 0);
        assert_eq!(f32s("nvvm.f2i.rz", f32::NAN, 0.0), 0);
    }

    #[test]
    fn flushing() {
        let subnormal = f32::from_bits(0x8000_0001);
        assert_eq!(f32s("nvvm.sin.approx.ftz.f", subnormal, 0.0), 0x8000_0000);
        assert_eq!(f32s("nvvm.sin.approx.f", subnormal, 0.0), 0x8000_0001);
        assert_eq!(
            f32s("nvvm.div.approx.ftz.f", 1e-30, 1e10),
            0,
            "the quotient is subnormal"
        );
    }
}
