//! Value ranges of registers, derived from launch bounds, thread numbers and constants.
//!
//! ```text
//! %1 = S2R tid.x              0 to 255, with .maxntid 256
//! %2 = CVT.u64.u32 %1         0 to 255
//! %3 = IMUL.b64 %2, 1000      0 to 255,000
//! ```
//!
//! A range is that of the value read as a signed number of its width. A result that may wrap around
//! has no known range. Neither has a register with several definitions, unless it is the counter of a
//! loop with a constant number of iterations (see [`Ranges::set`]).

use oriel_engine::entity::Register;
use oriel_engine::snapshot::Snapshot;
use oriel_ori::{
    DataType, Function, Instruction, Operand, OperandKind, Operation, Special, SpecialRegister, TypeClass,
};
use std::collections::HashMap;

/// The longest chain of definitions that is followed, which bounds recursion.
const DEPTH: u32 = 24;

/// A range of integers; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub low: i128,
    /// The highest.
    pub high: i128,
}

impl Range {
    const fn new(low: i128, high: i128) -> Self {
        Self { low, high }
    }

    const fn of_constant(value: i128) -> Self {
        Self::new(value, value)
    }

    /// The range of a signed number of `bits` bits.
    const fn signed(bits: u32) -> Self {
        let half = 1 << (bits - 1);
        Self::new(-half, half - 1)
    }

    /// The range of an unsigned number of `bits` bits.
    const fn unsigned(bits: u32) -> Self {
        Self::new(0, (1 << bits) - 1)
    }

    const fn contains(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// True if all values fit in 32 bits, as signed or as unsigned numbers.
    pub const fn fits_32_bits(self) -> bool {
        Self::signed(32).contains(self) || Self::unsigned(32).contains(self)
    }

    fn union(self, other: Self) -> Self {
        Self::new(self.low.min(other.low), self.high.max(other.high))
    }

    fn plus(self, other: Self) -> Self {
        Self::new(self.low + other.low, self.high + other.high)
    }

    fn minus(self, other: Self) -> Self {
        Self::new(self.low - other.high, self.high - other.low)
    }

    fn times(self, other: Self) -> Self {
        let [low, high] = [self.low, self.high].map(|end| {
            let ends = [end * other.low, end * other.high];
            Self::new(ends[0].min(ends[1]), ends[0].max(ends[1]))
        });
        low.union(high)
    }
}

/// The ranges of a function's registers.
pub struct Ranges<'f> {
    function: &'f Function,
    /// Threads of a block, by dimension.
    threads: [u32; 3],
    /// The ranges found so far; none if nothing is known.
    known: HashMap<Register, Option<Range>>,
}

/// The hardware's limit on the threads of a block, by dimension.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];

impl<'f> Ranges<'f> {
    /// Prepares the ranges of a function whose thread blocks have at most `threads` threads.
    pub fn new(function: &'f Function, threads: [u32; 3]) -> Self {
        Self {
            function,
            threads,
            known: HashMap::new(),
        }
    }

    /// Sets the range of a register with several definitions.
    pub fn set(&mut self, register: Register, low: i64, high: i64) {
        self.known
            .insert(register, Some(Range::new(low.into(), high.into())));
    }

    /// Returns the range of an operand of `bits` bits; none if nothing is known.
    pub fn of(&mut self, operand: Operand, bits: u32) -> Option<Range> {
        self.operand(operand, bits, DEPTH)
    }

    /// Returns the range of an instruction's first result; none if nothing is known.
    pub fn of_result(&mut self, instruction: Instruction) -> Option<Range> {
        let register = self.function.result(instruction, 0).as_register()?;
        self.register(register, DEPTH)
    }

    fn operand(&mut self, operand: Operand, bits: u32, depth: u32) -> Option<Range> {
        if operand.is_modified() || operand.is_undefined() {
            return None;
        }
        if let Some(value) = self.function.integer(operand) {
            let range = Range::of_constant(i128::from(value));
            return Range::signed(bits).contains(range).then_some(range);
        }
        self.register(operand.as_register()?, depth)
    }

    fn register(&mut self, register: Register, depth: u32) -> Option<Range> {
        if let Some(&known) = self.known.get(&register) {
            return known;
        }
        let definition = self.function.unique_definition(register);
        let range = match (definition, depth.checked_sub(1)) {
            (Some(definition), Some(depth)) => self.computed(definition, depth),
            _ => None,
        };
        self.known.insert(register, range);
        range
    }

    /// Computes the range of a result from those of the sources.
    fn computed(&mut self, instruction: Instruction, depth: u32) -> Option<Range> {
        use Operation as O;
        let function = self.function;
        let operation = function.operation(instruction);
        if function.results(instruction).len() != 1 {
            return None;
        }
        let bits = function.data_type(instruction).bits();
        if operation == O::S2r {
            return self.special(function.source(instruction, 0));
        }
        if operation == O::Ld {
            return loaded(function, instruction);
        }
        if bits != 16 && bits != 32 && bits != 64 {
            return None;
        }
        let source_type = match function.source_type(instruction) {
            DataType::None => function.data_type(instruction),
            other => other,
        };
        let of = |this: &mut Self, number: usize, bits: u32| {
            let sources = function.sources(instruction);
            this.operand(sources.get(number), bits, depth)
        };
        let range = match operation {
            O::Mov | O::Copy => of(self, 0, bits)?,
            O::Cvt => return self.converted(instruction, source_type, bits, depth),
            O::Iadd => of(self, 0, bits)?.plus(of(self, 1, bits)?),
            O::Isub => of(self, 0, bits)?.minus(of(self, 1, bits)?),
            O::Imul => of(self, 0, bits)?.times(of(self, 1, bits)?),
            O::Imad => of(self, 0, bits)?
                .times(of(self, 1, bits)?)
                .plus(of(self, 2, bits)?),
            O::ImulWide => self.wide_product(instruction, source_type, depth)?,
            O::ImadWide => {
                let product = self.wide_product(instruction, source_type, depth)?;
                product.plus(of(self, 2, bits)?)
            }
            O::Shl => {
                let amount = function.integer(function.source(instruction, 1))?;
                let factor = (0..i64::from(bits)).contains(&amount).then(|| 1_i128 << amount)?;
                of(self, 0, bits)?.times(Range::of_constant(factor))
            }
            O::And => {
                // A mask that is not negative bounds the result, whatever the other operand is.
                let mask = of(self, 1, bits).filter(|mask| mask.low >= 0)?;
                Range::new(0, mask.high)
            }
            O::Sel => of(self, 0, bits)?.union(of(self, 1, bits)?),
            O::Popc | O::Clz => Range::new(0, 64),
            _ => return None,
        };
        Range::signed(bits).contains(range).then_some(range)
    }

    /// Returns the range of a product that is twice as wide as its operands.
    fn wide_product(&mut self, instruction: Instruction, source_type: DataType, depth: u32) -> Option<Range> {
        let sources = self.function.sources(instruction);
        let one = self.read_as(sources.get(0), source_type, depth)?;
        Some(one.times(self.read_as(sources.get(1), source_type, depth)?))
    }

    /// Returns the range of an operand read as a number of a type.
    fn read_as(&mut self, operand: Operand, data_type: DataType, depth: u32) -> Option<Range> {
        let bits = data_type.bits();
        if !(1..=64).contains(&bits) {
            return None;
        }
        let whole = match data_type.class() {
            TypeClass::Signed => Range::signed(bits),
            TypeClass::Unsigned => Range::unsigned(bits),
            TypeClass::Bits | TypeClass::Float => return None,
        };
        let known = self.operand(operand, bits, depth);
        Some(known.filter(|&known| whole.contains(known)).unwrap_or(whole))
    }

    /// Returns the range of a conversion between integers.
    fn converted(
        &mut self,
        instruction: Instruction,
        source_type: DataType,
        bits: u32,
        depth: u32,
    ) -> Option<Range> {
        if self.function.sources(instruction).len() != 1
            || self.function.data_type(instruction).class() == TypeClass::Float
        {
            return None;
        }
        let range = self.read_as(self.function.source(instruction, 0), source_type, depth)?;
        Range::signed(bits).contains(range).then_some(range)
    }

    /// Returns the range of a special register.
    fn special(&self, operand: Operand) -> Option<Range> {
        use SpecialRegister as S;
        let OperandKind::Special(special) = operand.kind() else {
            return None;
        };
        let Special::SpecialRegister(register) = self.function.special_data(special) else {
            return None;
        };
        let [x, y, z] = self.threads.map(i128::from);
        // The grid has at most 2^31 - 1 blocks in the first dimension and 65,535 in the others.
        let (blocks_x, blocks) = (i128::from(i32::MAX), i128::from(u16::MAX));
        Some(match register {
            S::TidX => Range::new(0, x - 1),
            S::TidY => Range::new(0, y - 1),
            S::TidZ => Range::new(0, z - 1),
            S::NtidX => Range::new(1, x),
            S::NtidY => Range::new(1, y),
            S::NtidZ => Range::new(1, z),
            S::CtaidX => Range::new(0, blocks_x - 1),
            S::CtaidY | S::CtaidZ => Range::new(0, blocks - 1),
            S::NctaidX => Range::new(1, blocks_x),
            S::NctaidY | S::NctaidZ => Range::new(1, blocks),
            S::LaneId => Range::new(0, 31),
            S::WarpSize => Range::of_constant(32),
            _ => return None,
        })
    }
}

/// Returns the most threads of a function's blocks by dimension.
pub fn most_threads(snapshot: &Snapshot<'_>) -> [u32; 3] {
    let record = snapshot.function();
    let required = record.required_threads;
    if required.iter().any(|&threads| threads > 0) {
        return required.map(|threads| threads.max(1));
    }
    let product = record
        .max_threads
        .into_iter()
        .filter(|&threads| threads > 0)
        .fold(1, u32::saturating_mul);
    let is_bounded = record.max_threads.iter().any(|&threads| threads > 0);
    // `.maxntid` bounds only the product of the dimensions.
    MOST_THREADS.map(|most| if is_bounded { most.min(product) } else { most })
}

/// Returns the range of a value that is narrower in memory than in its register.
fn loaded(function: &Function, instruction: Instruction) -> Option<Range> {
    let memory = function.source_type(instruction);
    let in_register = function.data_type(instruction).bits();
    if memory.bits() == 0 || memory.bits() >= in_register {
        return None;
    }
    match memory.class() {
        TypeClass::Unsigned => Some(Range::unsigned(memory.bits())),
        TypeClass::Signed => Some(Range::signed(memory.bits())),
        TypeClass::Bits | TypeClass::Float => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::parse_function;

    /// Returns the range of a register of a body, for blocks of 256 threads.
    fn range_of(register: u32, body: &str) -> Option<(i128, i128)> {
        let text = format!("kernel \"k\" sm_80 late {{\nbix0:\n{body}    RET\n}}\n");
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let mut ranges = Ranges::new(&function, [256, 256, 64]);
        let operand = function.register_operand(Register::from_u32(register));
        ranges.of(operand, 64).map(|range| (range.low, range.high))
    }

    const THREAD: &str = "    %0:R32 = S2R.b32 tid.x\n    %1:R64 = CVT.u64.u32 %0\n";

    #[test]
    fn thread_numbers_are_below_the_launch_bounds() {
        assert_eq!(range_of(1, THREAD), Some((0, 255)));
        let product = format!("{THREAD}    %2:R64 = IMUL.b64 %1, 1000\n    %3:R64 = IADD.b64 %2, -5\n");
        assert_eq!(range_of(3, &product), Some((-5, 254_995)));
    }

    #[test]
    fn nothing_is_known_of_parameters_but_the_width_that_they_are_read_with() {
        let body = "    %0:R64 = LD.param::entry.b64 [&k_param_0]\n    %1:R64 = IADD.b64 %0, 1\n";
        assert_eq!(range_of(1, body), None);
        let narrow = "    %0:R32 = LD.param::entry.b32 [&k_param_0]\n    %1:R64 = CVT.u64.u32 %0\n";
        assert_eq!(range_of(1, narrow), Some((0, i128::from(u32::MAX))));
    }

    #[test]
    fn a_sum_that_may_wrap_is_not_known() {
        let body = format!("{THREAD}    %2:R32 = IMUL.b32 %0, 16777215\n    %3:R64 = CVT.s64.s32 %2\n");
        // 255 * 16,777,215 is beyond 2^31, so only the type is known.
        assert_eq!(
            range_of(3, &body),
            Some((i128::from(i32::MIN), i128::from(i32::MAX)))
        );
    }

    #[test]
    fn a_register_that_a_loop_changes_is_not_known() {
        let body = "    %0:R64 = MOV.b64 0\nbix1:\n    %0:R64 = IADD.b64 %0, 1\n    %1:P = ISETP.lt.s64 %0, 9\n    BRA %1, bix1, fall bix2\nbix2:\n";
        assert_eq!(range_of(0, body), None);
    }
}
