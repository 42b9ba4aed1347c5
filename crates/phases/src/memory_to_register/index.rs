//! A variable index: a register times a number of bytes.

use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, Operation};

/// The variable part of an address in an object: a register times a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// The register, an integer.
    pub register: Register,
    /// The bytes that one step of the register adds to the address.
    pub factor: i64,
    /// The added bytes are a multiple of this.
    pub multiple: u64,
    /// The range of the register, as far as its type determines it.
    pub values: (i64, i64),
}

impl Index {
    /// Converts an operand of an addition to an index.
    pub fn of_register(function: &Function, register: Register) -> Self {
        let definition = function.unique_definition(register);
        if let Some(product) = definition
            && function.operation(product) == Operation::ImulWide
            && let Some(index) = Self::of_product(function, product)
        {
            return index;
        }
        let shift = definition
            .filter(|&shift| function.operation(shift) == Operation::Shl)
            .and_then(|shift| function.integer(function.source(shift, 1)));
        Self {
            register,
            factor: 1,
            multiple: shift.map_or(1, |amount| 1 << amount.clamp(0, 16)),
            values: (i64::MIN, i64::MAX),
        }
    }

    /// Returns the product of a register and a constant, which is exact: it is twice as wide. None
    /// if the first two sources are something else.
    pub fn of_product(function: &Function, instruction: Instruction) -> Option<Self> {
        let sources = function.sources(instruction);
        let (register, factor) = (sources.get(0).as_register()?, function.integer(sources.get(1))?);
        let source_type = function.source_type(instruction);
        let top = 1_i64 << source_type.bits().checked_sub(1).filter(|&bits| bits < 32)?;
        let values = if source_type.is_signed() {
            (-top, top - 1)
        } else {
            (0, 2 * top - 1)
        };
        (factor > 0).then_some(Self {
            register,
            factor,
            multiple: factor as u64,
            values,
        })
    }

    /// Returns the possible positions of an access, in bytes from the start of an object of `size`
    /// bytes, each with the value of the register; `offset` is the constant part.
    pub fn positions(self, offset: i64, bytes: u64, size: u64) -> impl Iterator<Item = (u64, i64)> {
        let last = size.checked_sub(bytes);
        let positions = last
            .into_iter()
            .flat_map(move |last| (0..=last).step_by(bytes as usize));
        positions.filter_map(move |position| {
            let added = i64::try_from(position).ok()?.checked_sub(offset)?;
            let value = added / self.factor;
            let is_possible = added % self.factor == 0
                && added.unsigned_abs().is_multiple_of(self.multiple)
                && (self.values.0..=self.values.1).contains(&value);
            is_possible.then_some((position, value))
        })
    }
}
