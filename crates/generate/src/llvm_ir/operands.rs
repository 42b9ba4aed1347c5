//! Types and operands as text.

use crate::index::Value;
use crate::model::{Type, Use};
use std::fmt;

/// Returns the name of a type.
pub(super) fn name(ty: Type) -> &'static str {
    match ty {
        Type::I1 => "i1",
        Type::I16 => "i16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::B128 => unreachable!("LLVM IR is given no register pairs"),
    }
}

/// Formats an operand.
pub(super) enum Text {
    Value(Value),
    Integer(i64),
    Float(i64),
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(out, "%v{value}"),
            Self::Integer(constant) => write!(out, "{constant}"),
            Self::Float(constant) => write!(out, "{constant}.0"),
        }
    }
}

/// Formats an operand of a type.
pub(super) fn text(operand: Use, ty: Type) -> Text {
    match operand {
        Use::Value(value) => Text::Value(value),
        Use::Integer(constant) if ty.is_float() => Text::Float(constant),
        Use::Integer(constant) => Text::Integer(constant),
        Use::Undefined(_) => unreachable!("LLVM IR is given no undefined values"),
    }
}
