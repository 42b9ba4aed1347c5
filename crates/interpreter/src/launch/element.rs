//! Element types of buffers and arguments, and their encoding as bytes.

use std::fmt;

use serde::Deserialize;
use smallvec::SmallVec;

use super::Number;

/// The bytes of one element, little endian.
pub(super) type ElementBytes = SmallVec<[u8; 8]>;

/// Type of a buffer's elements or of a scalar argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// A signed integer of 8 bits.
    I8,
    /// An unsigned integer of 8 bits.
    U8,
    /// A signed integer of 16 bits.
    I16,
    /// An unsigned integer of 16 bits.
    U16,
    /// A signed integer of 32 bits.
    I32,
    /// An unsigned integer of 32 bits.
    U32,
    /// A signed integer of 64 bits.
    I64,
    /// An unsigned integer of 64 bits.
    U64,
    /// IEEE binary16.
    F16,
    /// bfloat16: binary32 without its lower half.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// A binary floating point format of 16 bits.
#[derive(Clone, Copy)]
struct SmallFloat {
    exponent_bits: u32,
    fraction_bits: u32,
}

const F16: SmallFloat = SmallFloat {
    exponent_bits: 5,
    fraction_bits: 10,
};
const BF16: SmallFloat = SmallFloat {
    exponent_bits: 8,
    fraction_bits: 7,
};

impl Element {
    /// Every type.
    pub const ALL: [Element; 12] = [
        Element::I8,
        Element::U8,
        Element::I16,
        Element::U16,
        Element::I32,
        Element::U32,
        Element::I64,
        Element::U64,
        Element::F16,
        Element::Bf16,
        Element::F32,
        Element::F64,
    ];

    /// Size of an element in bytes.
    pub fn size_bytes(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// True for a floating-point type.
    pub fn is_float(self) -> bool {
        self.integer_range().is_none()
    }

    /// Smallest and largest value of an integer type.
    pub(super) fn integer_range(self) -> Option<(i128, i128)> {
        match self {
            Element::I8 => Some((i8::MIN.into(), i8::MAX.into())),
            Element::U8 => Some((0, u8::MAX.into())),
            Element::I16 => Some((i16::MIN.into(), i16::MAX.into())),
            Element::U16 => Some((0, u16::MAX.into())),
            Element::I32 => Some((i32::MIN.into(), i32::MAX.into())),
            Element::U32 => Some((0, u32::MAX.into())),
            Element::I64 => Some((i64::MIN.into(), i64::MAX.into())),
            Element::U64 => Some((0, u64::MAX.into())),
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => None,
        }
    }

    /// Returns the little-endian bytes of a number, rounded to nearest for floating point; the
    /// error gives the reason if there are none.
    pub(super) fn encode(self, number: Number) -> Result<ElementBytes, String> {
        if let Some((low, high)) = self.integer_range() {
            return match number {
                Number::Integer(value) if (low..=high).contains(&value) => Ok(ElementBytes::from_slice(
                    &value.to_le_bytes()[..self.size_bytes()],
                )),
                Number::Integer(value) => {
                    Err(format!("{value} is not a {self}: {low} to {high} are allowed"))
                }
                Number::Float(_) => Err(format!("{number} is not a {self}: an integer is needed")),
            };
        }
        let value = number.to_f64();
        let bytes = match self {
            Element::F16 => ElementBytes::from_slice(&F16.encode(value).to_le_bytes()),
            Element::Bf16 => ElementBytes::from_slice(&BF16.encode(value).to_le_bytes()),
            Element::F32 => ElementBytes::from_slice(&(value as f32).to_le_bytes()),
            _ => ElementBytes::from_slice(&value.to_le_bytes()),
        };
        if value.is_finite() && !self.decode_float(&bytes).is_finite() {
            return Err(format!("{number} is too large for {self}"));
        }
        Ok(bytes)
    }

    /// Returns the floating-point value of one element's bytes.
    pub(super) fn decode_float(self, bytes: &[u8]) -> f64 {
        match self {
            Element::F16 => F16.decode(u16::from_le_bytes([bytes[0], bytes[1]])),
            Element::Bf16 => BF16.decode(u16::from_le_bytes([bytes[0], bytes[1]])),
            Element::F32 => f32::from_le_bytes(bytes.try_into().expect("four bytes")).into(),
            Element::F64 => f64::from_le_bytes(bytes.try_into().expect("eight bytes")),
            _ => unreachable!("{self} is not a floating point type"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::I8 => "i8",
            Element::U8 => "u8",
            Element::I16 => "i16",
            Element::U16 => "u16",
            Element::I32 => "i32",
            Element::U32 => "u32",
            Element::I64 => "i64",
            Element::U64 => "u64",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        })
    }
}

impl SmallFloat {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Bits of infinity without a sign.
    fn infinity(self) -> u16 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// Rounds to nearest, ties to even, directly from double precision: going through `f32` would
    /// round twice.
    fn encode(self, value: f64) -> u16 {
        let sign = u16::from(value.is_sign_negative()) << 15;
        if value.is_nan() {
            return sign | self.infinity() | 1 << (self.fraction_bits - 1);
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
        // A subnormal double is far below half of the smallest value of either format.
        if exponent < -1022 {
            return sign;
        }
        if value.is_infinite() {
            return sign | self.infinity();
        }
        let significand = bits & ((1 << 52) - 1) | 1 << 52;
        let smallest_normal = 1 - self.bias();
        let below_normal = (smallest_normal - exponent).max(0) as u32;
        let shift = 52 - self.fraction_bits + below_normal;
        if shift >= 64 {
            return sign;
        }
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        let rounded = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
        // `rounded` carries the hidden bit into the exponent field, and so does a carry out of the
        // fraction.
        let exponent_field = (exponent.max(smallest_normal) + self.bias() - 1) as u64;
        let magnitude = (exponent_field << self.fraction_bits) + rounded;
        sign | magnitude.min(self.infinity().into()) as u16
    }

    fn decode(self, bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let fraction = f64::from(bits & ((1 << self.fraction_bits) - 1));
        let scale = f64::from(1 << self.fraction_bits);
        let exponent = i32::from((bits & 0x7fff) >> self.fraction_bits);
        if bits & 0x7fff >= self.infinity() {
            return if fraction == 0.0 {
                sign * f64::INFINITY
            } else {
                f64::NAN
            };
        }
        let (significand, exponent) = if exponent == 0 {
            (fraction / scale, 1)
        } else {
            (1.0 + fraction / scale, exponent)
        };
        sign * significand * 2f64.powi(exponent - self.bias())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sixteen_bit_formats_round_trip() {
        for format in [F16, BF16] {
            for bits in 0..=u16::MAX {
                let value = format.decode(bits);
                if !value.is_nan() {
                    assert_eq!(format.encode(value), bits, "{value}");
                } else {
                    assert!(format.decode(format.encode(value)).is_nan());
                }
            }
        }
    }

    #[test]
    fn known_half_values() {
        for (value, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (5.960464477539063e-8, 0x0001),
            (2.980232238769531e-8, 0x0000),
            (2.980232238769532e-8, 0x0001),
            (0.1, 0x2e66),
        ] {
            assert_eq!(F16.encode(value), bits, "{value}");
        }
        assert_eq!(BF16.encode(3.140625), 0x4049);
    }

    #[test]
    fn integers_are_checked_against_their_type() {
        assert_eq!(
            Element::I8.encode(Number::Integer(-1)),
            Ok(ElementBytes::from_slice(&[0xff]))
        );
        assert_eq!(
            Element::U64.encode(Number::Integer(u64::MAX.into())),
            Ok(ElementBytes::from_slice(&[0xff; 8]))
        );
        let error = Element::U8.encode(Number::Integer(256)).unwrap_err();
        assert_eq!(error, "256 is not a u8: 0 to 255 are allowed");
        let error = Element::I32.encode(Number::Float(1.5)).unwrap_err();
        assert_eq!(error, "1.5 is not a i32: an integer is needed");
        assert!(Element::F16.encode(Number::Float(1e6)).is_err());
    }

    proptest! {
        /// No neighbour of the rounded value is nearer.
        #[test]
        fn rounding_is_to_nearest(value in -70000.0..70000.0f64) {
            for format in [F16, BF16] {
                let bits = format.encode(value);
                let error = (format.decode(bits) - value).abs();
                if format.decode(bits).is_finite() {
                    for neighbour in [bits.wrapping_add(1), bits.wrapping_sub(1)] {
                        let other = (format.decode(neighbour) - value).abs();
                        prop_assert!(other.is_nan() || error <= other);
                    }
                }
            }
        }
    }
}
