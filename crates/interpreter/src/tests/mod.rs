//! Tests of operations against independent references, and of whole tiny kernels.

mod bits;
mod conversions;
mod floats;
mod integers;
mod kernels;
mod uninterpreted;

use oriel_arithmetic::lanes::{Fields, FrameTemplate, LANES, Registers, Settings};
use oriel_arithmetic::selection;
use oriel_ori::{DataType, ModifierFlags, Modifiers, Operation, Rounding, Variant};

/// An operation to evaluate, with its types and modifiers.
#[derive(Clone, Copy, Debug)]
struct Evaluation {
    operation: Operation,
    data_type: DataType,
    source_type: DataType,
    modifiers: Modifiers,
}

impl Evaluation {
    fn new(operation: Operation, data_type: DataType) -> Self {
        Self {
            operation,
            data_type,
            source_type: DataType::None,
            modifiers: Modifiers::default(),
        }
    }

    fn from(mut self, source_type: DataType) -> Self {
        self.source_type = source_type;
        self
    }

    fn flags(mut self, flags: ModifierFlags) -> Self {
        self.modifiers.flags = flags;
        self
    }

    fn rounding(mut self, rounding: Rounding) -> Self {
        self.modifiers.rounding = rounding;
        self
    }

    fn variant(mut self, variant: Variant) -> Self {
        self.modifiers.variant = variant;
        self
    }

    /// Evaluates the operation for these sources in every lane: with all lanes active, and with
    /// one.
    fn apply(self, sources: &[u64]) -> u64 {
        let shape = selection::select_for(
            self.operation,
            self.data_type,
            self.source_type,
            self.modifiers,
            sources.len(),
        )
        .unwrap_or_else(|| panic!("{self:?} is not modelled"));
        // Row 0 is the result; source `n` is row `n + 1`, of either width.
        let mut template = FrameTemplate {
            words: vec![0],
            doubles: vec![0],
        };
        for (&source, bits) in sources.iter().zip(shape.sources) {
            assert!(bits != 0, "{self:?} has fewer sources");
            template.words.push(source as u32);
            template.doubles.push(source);
        }
        let fields = Fields {
            result: 0,
            sources: [1, 2, 3, 4],
            // Bytes are requested in a register of 32 bits.
            result_bits: if self.data_type.bits() == 8 {
                32
            } else {
                shape.result
            },
            settings: Settings {
                rounding: self.modifiers.rounding,
                flags: self.modifiers.flags,
            },
            types: (self.data_type, self.source_type),
        };
        let results = [u32::MAX, 1 << 7].map(|mask| {
            let mut registers = Registers::default();
            registers.reset(&template);
            (shape.handler)(&mut registers, &fields, mask);
            let row: [u64; LANES] = if shape.result > 32 {
                *registers.row::<u64>(0)
            } else {
                registers.row::<u32>(0).map(u64::from)
            };
            if mask != u32::MAX {
                assert!(
                    row.iter()
                        .enumerate()
                        .all(|(lane, &value)| lane == 7 || value == 0),
                    "{self:?} writes lanes that are not active"
                );
            }
            row[7]
        });
        assert_eq!(results[0], results[1], "{self:?} of {sources:x?}, by mask");
        results[0]
    }
}

/// Sign- or zero-extends a number of this many bits.
fn extend(value: u64, bits: u32, signed: bool) -> i128 {
    let unused = 128 - bits;
    if signed {
        (i128::from(value) << unused) >> unused
    } else {
        ((u128::from(value) << unused) >> unused) as i128
    }
}

/// The low bits of a number.
fn low(value: i128, bits: u32) -> u64 {
    (value as u64) & (u64::MAX >> (64 - bits))
}
