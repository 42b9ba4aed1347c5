//! Evaluates one operation on known values, outside of any kernel, for constant folding.

use super::lanes::{Fields, FrameTemplate, Registers, Settings};
use super::selection;
use oriel_ori::{DataType, Modifiers, Operation};

/// An operation with its types and modifiers.
#[derive(Clone, Copy, Debug)]
pub struct TypedOperation {
    /// The operation.
    pub operation: Operation,
    /// The type of the result.
    pub data_type: DataType,
    /// The type of the sources, if it differs.
    pub source_type: DataType,
    /// Rounding, comparison, flags.
    pub modifiers: Modifiers,
}

impl TypedOperation {
    /// Returns an operation without modifiers.
    pub fn new(operation: Operation, data_type: DataType, source_type: DataType) -> Self {
        Self {
            operation,
            data_type,
            source_type,
            modifiers: Modifiers::default(),
        }
    }

    /// Returns the operation's result for these sources as low bits; `result_bits` is the width of
    /// the result register. None if this operation is not modelled for these types, has another
    /// number of sources, uses other registers (carries, reciprocals, minima of three), or if the
    /// register has more than 64 bits.
    pub fn evaluate(self, sources: &[u64], result_bits: u32) -> Option<u64> {
        let Self {
            operation,
            data_type,
            source_type,
            modifiers,
        } = self;
        let has_hidden_operands = matches!(
            operation,
            Operation::IaddCarry
                | Operation::IaddCarryOut
                | Operation::IsubCarry
                | Operation::IsubCarryOut
                | Operation::Frcp
        );
        let shape = selection::select_for(operation, data_type, source_type, modifiers, sources.len())?;
        let expected = shape.sources.iter().filter(|&&bits| bits != 0).count();
        if has_hidden_operands || expected != sources.len() || !(1..=64).contains(&result_bits) {
            return None;
        }
        // Row 0 is the result; source `n` is row `n + 1`, of either width.
        let mut template = FrameTemplate {
            words: vec![0],
            doubles: vec![0],
        };
        for (&source, bits) in sources.iter().zip(shape.sources) {
            template.words.push(source as u32 & low_bits(bits) as u32);
            template.doubles.push(source);
        }
        let fields = Fields {
            result: 0,
            sources: [1, 2, 3, 4],
            result_bits,
            settings: Settings {
                rounding: modifiers.rounding,
                flags: modifiers.flags,
            },
            types: (data_type, source_type),
        };
        let mut registers = Registers::default();
        registers.reset(&template);
        (shape.handler)(&mut registers, &fields, 1);
        let value = match shape.result > 32 {
            true => registers.row::<u64>(0)[0],
            false => u64::from(registers.row::<u32>(0)[0]),
        };
        Some(value & low_bits(result_bits))
    }
}

/// Returns the low `bits` bits.
pub const fn low_bits(bits: u32) -> u64 {
    match bits {
        0 => 0,
        bits if bits < 64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::{Comparison, Rounding};

    #[test]
    fn results_are_those_of_the_interpreter() {
        let add = TypedOperation::new(Operation::Iadd, DataType::B16, DataType::None);
        assert_eq!(add.evaluate(&[0xFFFF, 2], 16), Some(1));
        let wide = TypedOperation::new(Operation::ImulWide, DataType::S64, DataType::S32);
        assert_eq!(wide.evaluate(&[u64::MAX, 3], 64), Some(-3i64 as u64));
        let narrow = TypedOperation::new(Operation::Cvt, DataType::U16, DataType::U32);
        assert_eq!(narrow.evaluate(&[0x1_2345], 16), Some(0x2345));
        let less = TypedOperation {
            modifiers: Modifiers {
                comparison: Comparison::Lt,
                ..Modifiers::default()
            },
            ..TypedOperation::new(Operation::Isetp, DataType::B1, DataType::S32)
        };
        assert_eq!(less.evaluate(&[0xFFFF_FFFF, 0], 1), Some(1));
    }

    #[test]
    fn halves_in_sums_of_binary32_are_converted_first() {
        let [one, three, single] = [0x3C00, 0x4200, u64::from(2.0f32.to_bits())];
        let expect = |value: f32| Some(u64::from(value.to_bits()));
        let of_halves = |operation| TypedOperation::new(operation, DataType::F32, DataType::F16);
        assert_eq!(
            of_halves(Operation::Fadd).evaluate(&[one, single], 32),
            expect(3.0)
        );
        assert_eq!(
            of_halves(Operation::Fsub).evaluate(&[three, single], 32),
            expect(1.0)
        );
        assert_eq!(
            of_halves(Operation::Ffma).evaluate(&[three, three, single], 32),
            expect(11.0)
        );
        let of_bfloats = TypedOperation::new(Operation::Ffma, DataType::F32, DataType::Bf16);
        assert_eq!(of_bfloats.evaluate(&[0x4040, 0x3F80, single], 32), expect(5.0));
        let of_words = TypedOperation::new(Operation::Fadd, DataType::F32, DataType::F32);
        assert_eq!(of_words.evaluate(&[single, single], 32), None);
    }

    #[test]
    fn what_needs_more_than_its_sources_is_not_evaluated() {
        let carry = TypedOperation::new(Operation::IaddCarry, DataType::B32, DataType::None);
        assert_eq!(carry.evaluate(&[1, 2], 32), None);
        let add = TypedOperation::new(Operation::Iadd, DataType::B32, DataType::None);
        assert_eq!(add.evaluate(&[1], 32), None);
        let extension = TypedOperation::new(Operation::Cvt, DataType::U64, DataType::U8);
        assert_eq!(extension.evaluate(&[1], 128), None);
        let root = TypedOperation {
            modifiers: Modifiers {
                rounding: Rounding::Rn,
                ..Modifiers::default()
            },
            ..TypedOperation::new(Operation::Frcp, DataType::F32, DataType::None)
        };
        assert_eq!(root.evaluate(&[0x4000_0000], 32), None);
    }
}
