//! Floating-point arithmetic in software: any format up to binary64, all rounding modes, one
//! rounding per operation.
//!
//! An operand is decomposed into an exact integer times a power of two. The result is computed
//! exactly, or with a sticky bit for the lower bits, and `Exact::round` converts it to a format.
//! `float.rs` has native paths for rounding to nearest in binary32 and binary64, which the host
//! computes identically; tests compare the two.

use oriel_ori::Rounding;

/// An IEEE format of at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the fraction, without the leading one.
    pub fraction_bits: u32,
    /// Bits of the exponent.
    pub exponent_bits: u32,
}

/// IEEE binary16.
pub const F16: Format = Format::new(10, 5);
/// bfloat16.
pub const BF16: Format = Format::new(7, 8);
/// IEEE binary32.
pub const F32: Format = Format::new(23, 8);
/// IEEE binary64.
pub const F64: Format = Format::new(52, 11);

impl Format {
    const fn new(fraction_bits: u32, exponent_bits: u32) -> Self {
        Self {
            fraction_bits,
            exponent_bits,
        }
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    const fn maximum_exponent(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    /// The bit of the sign.
    pub const fn sign(self) -> u64 {
        1 << (self.fraction_bits + self.exponent_bits)
    }

    /// Positive infinity.
    pub const fn infinity(self) -> u64 {
        self.maximum_exponent() << self.fraction_bits
    }

    /// The largest finite number.
    pub const fn largest(self) -> u64 {
        self.infinity() - 1
    }

    /// The NaN that operations produce: PTX's canonical NaN, all ones except for the sign. In
    /// binary64, which keeps payloads, it is the NaN of invalid operations.
    pub const fn nan(self) -> u64 {
        if self.fraction_bits == F64.fraction_bits {
            0xFFF8_0000_0000_0000
        } else {
            self.sign() - 1
        }
    }

    /// True for a NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// True for a subnormal number.
    pub const fn is_subnormal(self, bits: u64) -> bool {
        bits & self.infinity() == 0
    }

    /// Replaces subnormal numbers by zeros of the same sign.
    pub const fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) {
            bits & self.sign()
        } else {
            bits
        }
    }

    /// Returns the NaN for these operands: binary64 keeps the first one's payload.
    pub fn propagate(self, operands: &[u64]) -> u64 {
        let first = operands.iter().copied().find(|&bits| self.is_nan(bits));
        match first {
            Some(bits) if self == F64 => bits | 1 << (self.fraction_bits - 1),
            _ => self.nan(),
        }
    }

    /// Decomposes a number.
    pub(crate) fn unpack(self, bits: u64) -> Number {
        let negative = bits & self.sign() != 0;
        let biased = bits >> self.fraction_bits & self.maximum_exponent();
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        match (biased, fraction) {
            (0, 0) => Number::Zero { negative },
            (biased, 0) if biased == self.maximum_exponent() => Number::Infinite { negative },
            (biased, _) if biased == self.maximum_exponent() => Number::Nan,
            _ => {
                let leading = if biased == 0 { 0 } else { 1 << self.fraction_bits };
                Number::Finite(Exact {
                    negative,
                    exponent: biased.max(1) as i32 - self.bias() - self.fraction_bits as i32,
                    significand: u128::from(fraction | leading),
                    sticky: false,
                })
            }
        }
    }

    fn zero(self, negative: bool) -> u64 {
        if negative { self.sign() } else { 0 }
    }
}

/// A decomposed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Nan,
    Infinite { negative: bool },
    Zero { negative: bool },
    Finite(Exact),
}

impl Number {
    fn negative(self) -> bool {
        match self {
            Self::Nan => false,
            Self::Infinite { negative } | Self::Zero { negative } => negative,
            Self::Finite(exact) => exact.negative,
        }
    }
}

/// `significand * 2^exponent` and, if `sticky`, a bit more, but less than one more unit of the
/// significand. The significand has at most 127 bits and is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub significand: u128,
    pub sticky: bool,
}

impl Exact {
    /// An integer that is not zero.
    pub fn integer(value: i128) -> Self {
        Self {
            negative: value < 0,
            exponent: 0,
            significand: value.unsigned_abs(),
            sticky: false,
        }
    }

    /// Returns the same value with the significand's leading bit at position `top`; no bits are
    /// lost.
    fn with_top(self, top: u32) -> Self {
        let shift = top - (127 - self.significand.leading_zeros());
        Self {
            exponent: self.exponent - shift as i32,
            significand: self.significand << shift,
            ..self
        }
    }

    /// Shifts so that the significand counts units of `2^exponent`. Returns the integer below, the
    /// remainder compared with one half, and whether there is any remainder.
    fn split(self, exponent: i32) -> (u128, std::cmp::Ordering, bool) {
        let shift = exponent - self.exponent;
        if shift <= 0 {
            debug_assert!(
                !self.sticky || shift == 0,
                "bits below the sticky bit are asked for"
            );
            return (self.significand << -shift, std::cmp::Ordering::Less, self.sticky);
        }
        if shift > 127 {
            return (0, std::cmp::Ordering::Less, true);
        }
        let rest = self.significand & ((1 << shift) - 1);
        let half = rest.cmp(&(1 << (shift - 1)));
        let half = if half.is_eq() && self.sticky {
            std::cmp::Ordering::Greater
        } else {
            half
        };
        (self.significand >> shift, half, rest != 0 || self.sticky)
    }

    /// Rounds to an integer number of units of `2^exponent`.
    pub fn round_to_units(self, exponent: i32, rounding: Rounding) -> u128 {
        let (below, half, inexact) = self.split(exponent);
        below + u128::from(rounds_up(rounding, self.negative, below & 1 != 0, half, inexact))
    }

    /// Rounds to a number of a format.
    pub fn round(self, format: Format, rounding: Rounding) -> u64 {
        let top = self.exponent + 127 - self.significand.leading_zeros() as i32;
        let fraction_bits = format.fraction_bits as i32;
        let mut unit = (top - fraction_bits).max(1 - format.bias() - fraction_bits);
        let mut kept = self.round_to_units(unit, rounding) as u64;
        if kept >> (format.fraction_bits + 1) != 0 {
            kept >>= 1;
            unit += 1;
        }
        let sign = format.zero(self.negative);
        if kept >> format.fraction_bits == 0 {
            return sign | kept;
        }
        let biased = unit + fraction_bits + format.bias();
        if biased >= format.maximum_exponent() as i32 {
            let stays_finite = match rounding {
                Rounding::Rz | Rounding::Rzi => true,
                Rounding::Rm | Rounding::Rmi => !self.negative,
                Rounding::Rp | Rounding::Rpi => self.negative,
                _ => false,
            };
            return sign
                | if stays_finite {
                    format.largest()
                } else {
                    format.infinity()
                };
        }
        sign | (biased as u64) << format.fraction_bits | kept & ((1 << format.fraction_bits) - 1)
    }
}

/// True if rounding goes away from zero. `half` compares the remainder with half a unit.
fn rounds_up(
    rounding: Rounding,
    negative: bool,
    is_odd: bool,
    half: std::cmp::Ordering,
    inexact: bool,
) -> bool {
    match rounding {
        Rounding::Rz | Rounding::Rzi => false,
        Rounding::Rm | Rounding::Rmi => inexact && negative,
        Rounding::Rp | Rounding::Rpi => inexact && !negative,
        Rounding::Rna => half.is_ge(),
        // No rounding mode means to nearest. Stochastic rounding is not modelled and does not reach
        // this point.
        Rounding::None | Rounding::Rn | Rounding::Rni | Rounding::Rs => {
            half.is_gt() || half.is_eq() && is_odd
        }
    }
}

/// `a + b`, where at most one has more than 64 significant bits.
fn add_exact(a: Exact, b: Exact) -> Option<Exact> {
    // The leading bit at 124 leaves room for a carry. The bits shifted out of the smaller operand
    // are more than 19 places below the larger one's leading bit. The difference therefore keeps
    // its leading bit within one place, and the sticky bit is enough.
    let (a, b) = (a.with_top(124), b.with_top(124));
    let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) {
        (a, b)
    } else {
        (b, a)
    };
    let distance = (large.exponent - small.exponent) as u32;
    let (shifted, lost) = match distance {
        0..=124 => (
            small.significand >> distance,
            small.significand & ((1 << distance) - 1) != 0,
        ),
        _ => (0, true),
    };
    let significand = if large.negative == small.negative {
        large.significand + shifted
    } else {
        // The lost bits make the difference slightly smaller than this.
        large.significand - shifted - u128::from(lost)
    };
    (significand != 0).then_some(Exact {
        negative: large.negative,
        exponent: large.exponent,
        significand,
        sticky: lost,
    })
}

/// `a * b + c`.
pub fn fused_multiply_add(format: Format, rounding: Rounding, [a, b, c]: [u64; 3]) -> u64 {
    use Number::{Finite, Infinite, Nan, Zero};
    let (x, y, z) = (format.unpack(a), format.unpack(b), format.unpack(c));
    let negative = x.negative() != y.negative();
    match (x, y, z) {
        (Nan, ..) | (_, Nan, _) | (.., Nan) => format.propagate(&[a, b, c]),
        (Infinite { .. }, Zero { .. }, _) | (Zero { .. }, Infinite { .. }, _) => format.nan(),
        (Infinite { .. }, ..) | (_, Infinite { .. }, _) => match z {
            Infinite { negative: other } if other != negative => format.nan(),
            _ => format.zero(negative) | format.infinity(),
        },
        (.., Infinite { .. }) => c,
        (Zero { .. }, ..) | (_, Zero { .. }, _) => match z {
            Zero { negative: other } => zero_sum(format, rounding, negative, other),
            _ => c,
        },
        (Finite(x), Finite(y), z) => {
            let product = Exact {
                negative,
                exponent: x.exponent + y.exponent,
                significand: x.significand * y.significand,
                sticky: false,
            };
            match z {
                Finite(z) => match add_exact(product, z) {
                    Some(sum) => sum.round(format, rounding),
                    None => format.zero(matches!(rounding, Rounding::Rm)),
                },
                _ => product.round(format, rounding),
            }
        }
    }
}

/// The sign of a sum of zeros.
fn zero_sum(format: Format, rounding: Rounding, a: bool, b: bool) -> u64 {
    format.zero(if a == b {
        a
    } else {
        matches!(rounding, Rounding::Rm)
    })
}

/// `a + b`.
pub fn add(format: Format, rounding: Rounding, [a, b]: [u64; 2]) -> u64 {
    use Number::{Finite, Infinite, Nan, Zero};
    match (format.unpack(a), format.unpack(b)) {
        (Nan, _) | (_, Nan) => format.propagate(&[a, b]),
        (Infinite { negative: x }, Infinite { negative: y }) if x != y => format.nan(),
        (Infinite { .. }, _) => a,
        (_, Infinite { .. }) => b,
        (Zero { negative: x }, Zero { negative: y }) => zero_sum(format, rounding, x, y),
        (Zero { .. }, _) => b,
        (_, Zero { .. }) => a,
        (Finite(x), Finite(y)) => match add_exact(x, y) {
            Some(sum) => sum.round(format, rounding),
            None => format.zero(matches!(rounding, Rounding::Rm)),
        },
    }
}

/// `a * b`.
pub fn multiply(format: Format, rounding: Rounding, [a, b]: [u64; 2]) -> u64 {
    use Number::{Finite, Infinite, Nan, Zero};
    let (x, y) = (format.unpack(a), format.unpack(b));
    let negative = x.negative() != y.negative();
    match (x, y) {
        (Nan, _) | (_, Nan) => format.propagate(&[a, b]),
        (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }) => format.nan(),
        (Infinite { .. }, _) | (_, Infinite { .. }) => format.zero(negative) | format.infinity(),
        (Zero { .. }, _) | (_, Zero { .. }) => format.zero(negative),
        (Finite(x), Finite(y)) => Exact {
            negative,
            exponent: x.exponent + y.exponent,
            significand: x.significand * y.significand,
            sticky: false,
        }
        .round(format, rounding),
    }
}

/// `a / b`.
pub fn divide(format: Format, rounding: Rounding, [a, b]: [u64; 2]) -> u64 {
    use Number::{Finite, Infinite, Nan, Zero};
    let (x, y) = (format.unpack(a), format.unpack(b));
    let negative = x.negative() != y.negative();
    match (x, y) {
        (Nan, _) | (_, Nan) => format.propagate(&[a, b]),
        (Infinite { .. }, Infinite { .. }) | (Zero { .. }, Zero { .. }) => format.nan(),
        (Infinite { .. }, _) | (_, Zero { .. }) => format.zero(negative) | format.infinity(),
        (Zero { .. }, _) | (_, Infinite { .. }) => format.zero(negative),
        (Finite(x), Finite(y)) => {
            // At least 60 bits of quotient: more than any format has.
            let (x, y) = (x.with_top(120), y.with_top(60));
            Exact {
                negative,
                exponent: x.exponent - y.exponent,
                significand: x.significand / y.significand,
                sticky: x.significand % y.significand != 0,
            }
            .round(format, rounding)
        }
    }
}

/// The square root.
pub fn square_root(format: Format, rounding: Rounding, a: u64) -> u64 {
    match format.unpack(a) {
        Number::Nan => format.propagate(&[a]),
        Number::Zero { .. } | Number::Infinite { negative: false } => a,
        Number::Infinite { negative: true } => format.nan(),
        Number::Finite(exact) if exact.negative => format.nan(),
        Number::Finite(exact) => {
            // An even exponent, and 62 bits of root or more.
            let even = exact.with_top(124);
            let exact = if even.exponent % 2 == 0 {
                even
            } else {
                exact.with_top(125)
            };
            let root = exact.significand.isqrt();
            Exact {
                negative: false,
                exponent: exact.exponent / 2,
                significand: root,
                sticky: root * root != exact.significand,
            }
            .round(format, rounding)
        }
    }
}

/// Converts the number to another format.
pub fn convert(from: Format, to: Format, rounding: Rounding, a: u64) -> u64 {
    match from.unpack(a) {
        Number::Nan if from == F64 && to == F64 => a | 1 << (F64.fraction_bits - 1),
        // Payloads are aligned by their leading bits.
        Number::Nan if from == F32 && to == F64 => {
            (a & from.sign()) << 32 | to.infinity() | (a & 0x7F_FFFF) << 29 | 1 << 51
        }
        Number::Nan => to.nan(),
        Number::Infinite { negative } => to.zero(negative) | to.infinity(),
        Number::Zero { negative } => to.zero(negative),
        Number::Finite(exact) => exact.round(to, rounding),
    }
}
