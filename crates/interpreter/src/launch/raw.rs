//! The form of a launch description file before validation. serde rejects unknown keys and names
//! the allowed ones.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::Element;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDescription {
    pub description: String,
    pub buffer: Vec<RawBuffer>,
    pub launch: Vec<RawLaunch>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBuffer {
    pub name: String,
    pub element: Element,
    pub length: u64,
    pub role: Role,
    pub initial: RawInitial,
    pub compare: Option<RawComparison>,
}

/// How the kernels use a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read only.
    In,
    /// Written; elements that the kernels do not write keep their initial content.
    Out,
    /// Read and written.
    InOut,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum RawInitial {
    Zero,
    Constant(Number),
    Sequence { start: Number, step: Number },
    Uniform { seed: u64, low: Number, high: Number },
    Random { seed: u64 },
    Values(Vec<Number>),
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "compare must be \"exact\", \"unordered\" or { absolute = number, relative = number }"
)]
pub(super) enum RawComparison {
    Named(NamedComparison),
    Tolerance(RawTolerance),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum NamedComparison {
    Exact,
    Unordered,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTolerance {
    pub absolute: Number,
    pub relative: Number,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLaunch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    #[serde(default)]
    pub dynamic_shared_bytes: u32,
    pub arguments: Vec<RawArgument>,
}

/// Exactly one of the keys other than `offset_bytes` must be present; an enum could not express
/// that `offset_bytes` goes only with `buffer`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawArgument {
    pub buffer: Option<String>,
    pub offset_bytes: Option<u64>,
    pub i8: Option<Number>,
    pub u8: Option<Number>,
    pub i16: Option<Number>,
    pub u16: Option<Number>,
    pub i32: Option<Number>,
    pub u32: Option<Number>,
    pub i64: Option<Number>,
    pub u64: Option<Number>,
    pub f16: Option<Number>,
    pub bf16: Option<Number>,
    pub f32: Option<Number>,
    pub f64: Option<Number>,
    pub bytes: Option<String>,
    #[serde(rename = "struct")]
    pub fields: Option<Vec<RawArgument>>,
}

impl RawArgument {
    /// Returns the numbers that are present, each with its type.
    pub fn scalars(&self) -> impl Iterator<Item = (Element, Number)> {
        [
            (Element::I8, self.i8),
            (Element::U8, self.u8),
            (Element::I16, self.i16),
            (Element::U16, self.u16),
            (Element::I32, self.i32),
            (Element::U32, self.u32),
            (Element::I64, self.i64),
            (Element::U64, self.u64),
            (Element::F16, self.f16),
            (Element::Bf16, self.bf16),
            (Element::F32, self.f32),
            (Element::F64, self.f64),
        ]
        .into_iter()
        .filter_map(|(element, number)| Some((element, number?)))
    }
}

/// A number of the file: an integer that any element type can hold, or a double.
///
/// TOML's integers end at 2^63 - 1; larger ones are written as text, such as
/// `"0xffffffffffffffff"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Between -2^63 and 2^64 - 1 if read from a file.
    Integer(i128),
    /// A double.
    Float(f64),
}

impl Number {
    /// The value as a double, rounded to nearest.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// `self + index * step`: exact for integers, in double precision if one of the two is a float.
    pub(super) fn plus_multiple(self, step: Number, index: usize) -> Number {
        match (self, step) {
            (Number::Integer(start), Number::Integer(step)) => Number::Integer(start + step * index as i128),
            _ => Number::Float(self.to_f64() + index as f64 * step.to_f64()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(f),
            Number::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or an integer up to 2^64 - 1 as text such as \"0xffffffffffffffff\"")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Integer(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let parsed = match text.strip_prefix("0x") {
            // `from_str_radix` alone would accept a sign after the prefix.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u64::from_str_radix(digits, 16).ok()
            }
            Some(_) => None,
            None => text.parse().ok(),
        };
        parsed
            .map(|value| Number::Integer(value.into()))
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}
