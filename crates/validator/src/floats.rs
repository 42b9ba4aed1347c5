//! Signs of floating-point numbers: a difference is a sum, and a product has one sign.
//!
//! Arithmetic in 16 and 32 bits always produces the same NaN, so signs may move from one operand to
//! another. In 64 bits this may change a NaN, so signs stay.

use super::values::{Operator, Value, Values};
use oriel_arithmetic::TypedOperation;
use oriel_ori::{DataType, Modifiers, Operation};

/// True if it only changes the sign bit.
fn is_exact(typed: TypedOperation) -> bool {
    typed.source_type == DataType::None && typed.modifiers == Modifiers::default()
}

/// True for arithmetic that always produces the same NaN.
fn has_one_nan(typed: TypedOperation) -> bool {
    let is_narrow = matches!(typed.data_type, DataType::F32 | DataType::F16 | DataType::Bf16);
    is_narrow && typed.source_type == DataType::None
}

/// True for a NaN of this type. For types whose NaNs are not recognised here, any bits may be one.
pub(super) fn is_nan(data_type: DataType, bits: u64) -> bool {
    let (exponent, fraction) = match data_type {
        DataType::F16 => (0x7C00, 0x3FF),
        DataType::Bf16 => (0x7F80, 0x7F),
        DataType::F32 => (0x7F80_0000, 0x7F_FFFF),
        DataType::F64 => (0x7FF0_0000_0000_0000, 0xF_FFFF_FFFF_FFFF),
        other => return other.is_float(),
    };
    bits & exponent == exponent && bits & fraction != 0
}

impl Values {
    /// Returns the normal form of a floating-point operation that has one.
    pub fn compute_float(&mut self, typed: TypedOperation, sources: &[Value], width: u32) -> Option<Value> {
        match (typed.operation, sources) {
            (Operation::Fneg, &[source]) if is_exact(typed) => self.of_sign(Operation::Fneg, source),
            (Operation::Fabs, &[source]) if is_exact(typed) => match self.of_sign(Operation::Fneg, source) {
                Some(plain) => Some(self.compute(typed, &[plain], width)),
                None => self.of_sign(Operation::Fabs, source).map(|_| source),
            },
            (Operation::Fsub, &[left, right]) if has_one_nan(typed) => {
                let right = self.negate(typed.data_type, right, width);
                let operation = Operation::Fadd;
                Some(self.uninterpreted(TypedOperation { operation, ..typed }, &[left, right], width))
            }
            (Operation::Fmul, &[left, right]) if has_one_nan(typed) => {
                let factors = self.with_one_sign(typed.data_type, [left, right], width);
                Some(self.uninterpreted(typed, &factors, width))
            }
            (Operation::Ffma, &[left, right, addend]) if has_one_nan(typed) => {
                let [left, right] = self.with_one_sign(typed.data_type, [left, right], width);
                Some(self.uninterpreted(typed, &[left, right, addend], width))
            }
            _ => None,
        }
    }

    /// Returns the operand of a negation or absolute value.
    fn of_sign(&self, operation: Operation, value: Value) -> Option<Value> {
        let Operator::Operation {
            operation: found,
            source_type: DataType::None,
            modifiers,
            data_type,
        } = self.operator(value)
        else {
            return None;
        };
        let is_it = found == operation && data_type.is_float() && modifiers == Modifiers::default();
        (is_it && data_type.lanes() == 1).then(|| self.operand(value, 0))
    }

    fn negate(&mut self, data_type: DataType, value: Value, width: u32) -> Value {
        let typed = TypedOperation {
            operation: Operation::Fneg,
            data_type,
            source_type: DataType::None,
            modifiers: Modifiers::default(),
        };
        self.compute(typed, &[value], width)
    }

    /// Orders two factors independently of their signs, and moves the sign of the product to the
    /// first.
    fn with_one_sign(&mut self, data_type: DataType, factors: [Value; 2], width: u32) -> [Value; 2] {
        let sign = 1 << (width - 1);
        let mut is_negative = false;
        let mut plain = factors.map(|factor| {
            if let Some(bits) = self.as_constant(factor) {
                is_negative ^= bits & sign != 0;
                return self.constant(width, bits & !sign);
            }
            match self.of_sign(Operation::Fneg, factor) {
                Some(plain) => {
                    is_negative = !is_negative;
                    plain
                }
                None => factor,
            }
        });
        plain.sort_unstable();
        if is_negative {
            plain[0] = self.negate(data_type, plain[0], width);
        }
        plain
    }
}
