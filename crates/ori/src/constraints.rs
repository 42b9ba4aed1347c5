//! Constraints on the types of an operation and on its operands.
//!
//! [`OperationConstraints::of_operation`] is the table. The verifier, phases and the interpreter
//! query it through [`Function::expected`] and [`Function::operand_type`].

use super::function::{Function, Instruction};
use super::operation::{ModifierKinds, Operation};
use super::types::DataType;
use DataType::{
    B1, B8, B16, B16x2, B32, B64, B128, Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64, S8, S16, S16x2, S32, S64,
    Tf32, U8, U16, U16x2, U32, U64,
};

/// The role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The instruction writes it.
    Result,
    /// The instruction reads it.
    Source,
}

/// The operands that are allowed in a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A value of this type: a register of its width or, as a source, a constant.
    Value(DataType),
    /// A value in the low bits of a register that may be wider: there are no registers of eight
    /// bits, and conversions within a register read its low part.
    LowPart(DataType),
    /// An address: a register of 32 or 64 bits, a symbol, a stack object, a number.
    Address,
    /// A known integer.
    Constant,
    /// A block.
    Block,
    /// A special register of the hardware.
    SpecialRegister,
    /// An operand that only the machine function can describe.
    Machine,
    /// Any operand.
    Anything,
}

/// The constraint on an operand, in terms of the instruction's types.
#[derive(Clone, Copy, Debug)]
enum OperandConstraint {
    /// A value of the data type.
    Data,
    /// A value of the source type, or of the data type if there is none.
    Source,
    /// A value of the source type in the low part of a register.
    LowSource,
    /// A value of the data type in the low part of a register.
    LowData,
    /// A value of this type.
    Fixed(DataType),
    /// Exactly this.
    Is(Expected),
}

/// Source types that an operation may or must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceTypes {
    Never,
    Optional(&'static [DataType]),
    Required(&'static [DataType]),
}

/// The constraints on all instructions with an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationConstraints {
    /// The allowed data types; empty if the operation has no type.
    pub data_types: &'static [DataType],
    pub source_types: SourceTypes,
    /// Modifiers that must be given.
    pub required: ModifierKinds,
    /// Constraints on the results in order; the last one applies to all that follow.
    results: &'static [OperandConstraint],
    /// Constraints on the sources in the same way, unless [`OperationConstraints::source`]
    /// overrides them.
    sources: &'static [OperandConstraint],
}

const INTEGER_WIDTHS: &[DataType] = &[B16, B32, B64];
const WORDS: &[DataType] = &[B32, B64];
const LOGIC: &[DataType] = &[B1, B16, B32, B64];
/// Types of additions; signed where they saturate.
const SUMS: &[DataType] = &[B16, B32, B64, B16x2, S32];
const SIGNED: &[DataType] = &[S16, S32, S64];
const WITH_SIGN: &[DataType] = &[U16, U32, U64, S16, S32, S64];
const WITH_SIGN_OR_LANES: &[DataType] = &[U16, U32, U64, S16, S32, S64, U16x2, S16x2];
const INTEGERS: &[DataType] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64];
const SIGN_32: &[DataType] = &[U32, S32];
const SIGN_32_64: &[DataType] = &[U32, U64, S32, S64];
const SIGN_16_32: &[DataType] = &[U16, U32, S16, S32];
const FLOATS: &[DataType] = &[F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64];
const COMPARED_FLOATS: &[DataType] = &[F16, F16x2, Bf16, Bf16x2, F32, F64];
const APPROXIMATED: &[DataType] = &[F16, F16x2, Bf16, Bf16x2, F32];
const HALVES: &[DataType] = &[F16, Bf16];
const SINGLE_DOUBLE: &[DataType] = &[F32, F64];
const SELECTED: &[DataType] = &[B16, B32, B64, F16, Bf16, F32, F64];
const CONVERTED: &[DataType] = &[
    U8, S8, U16, S16, U32, S32, U64, S64, F16, Bf16, F32, F64, Tf32, F16x2, Bf16x2,
];
const MOVED: &[DataType] = &[B1, B16, B32, B64, B128, U32, U64, F16, Bf16, F32, F64];
const REGISTERS: &[DataType] = &[B1, B16, B32, B64, B128];
const IN_MEMORY: &[DataType] = &[
    B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, Bf16, F16x2, Bf16x2, F32, F32x2, F64,
];
const LOADED: &[DataType] = &[B16, B32, B64, B128];
const ATOMIC: &[DataType] = &[
    B16, B32, B64, B128, U32, U64, S32, S64, F16, F16x2, Bf16, Bf16x2, F32, F64,
];
const NO_TYPE: &[DataType] = &[];

const ADDRESS: OperandConstraint = OperandConstraint::Is(Expected::Address);
const CONSTANT: OperandConstraint = OperandConstraint::Is(Expected::Constant);
const ANYTHING: OperandConstraint = OperandConstraint::Is(Expected::Anything);
const BLOCK: OperandConstraint = OperandConstraint::Is(Expected::Block);
const PREDICATE: OperandConstraint = OperandConstraint::Fixed(B1);
/// A shift amount, a thread mask, a count.
const WORD: OperandConstraint = OperandConstraint::Fixed(U32);
const DATA: OperandConstraint = OperandConstraint::Data;
const SOURCE: OperandConstraint = OperandConstraint::Source;

/// The same type for all operands.
const fn uniform(data_types: &'static [DataType]) -> OperationConstraints {
    OperationConstraints {
        data_types,
        source_types: SourceTypes::Never,
        required: ModifierKinds::empty(),
        results: &[DATA],
        sources: &[DATA],
    }
}

/// Constraints of an operation without a type.
const fn untyped(sources: &'static [OperandConstraint]) -> OperationConstraints {
    uniform(NO_TYPE).of(&[ANYTHING], sources)
}

impl OperationConstraints {
    const fn of(self, results: &'static [OperandConstraint], sources: &'static [OperandConstraint]) -> Self {
        Self {
            results,
            sources,
            ..self
        }
    }

    const fn from(self, source_types: &'static [DataType]) -> Self {
        Self {
            source_types: SourceTypes::Required(source_types),
            ..self
        }
    }

    const fn maybe_from(self, source_types: &'static [DataType]) -> Self {
        Self {
            source_types: SourceTypes::Optional(source_types),
            ..self
        }
    }

    const fn with(self, required: ModifierKinds) -> Self {
        Self { required, ..self }
    }

    /// Returns the operation's row.
    pub(crate) const fn of_operation(operation: Operation) -> Self {
        use Operation as O;
        const VARIANT: ModifierKinds = ModifierKinds::VARIANT;
        const SPACE: ModifierKinds = ModifierKinds::SPACE;
        const COMPARISON: ModifierKinds = ModifierKinds::COMPARISON;
        match operation {
            O::Iadd | O::Isub => uniform(SUMS),
            O::Imul | O::Imad => uniform(INTEGER_WIDTHS),
            O::ImulHi | O::Isad | O::Idiv | O::Irem => uniform(WITH_SIGN),
            O::ImulWide => uniform(SIGN_32_64).from(SIGN_16_32).of(&[DATA], &[SOURCE]),
            O::ImadWide => uniform(SIGN_32_64)
                .from(SIGN_16_32)
                .of(&[DATA], &[SOURCE, SOURCE, DATA]),
            O::Imul24 => uniform(SIGN_32),
            O::Imin | O::Imax => uniform(WITH_SIGN_OR_LANES),
            O::Iabs | O::Ineg => uniform(SIGNED),
            O::IaddCarryOut | O::IaddCarry | O::IsubCarryOut | O::IsubCarry => uniform(WORDS),
            O::Dp2a => uniform(SIGN_32)
                .from(SIGN_32)
                .of(&[DATA], &[DATA, SOURCE, DATA])
                .with(VARIANT),
            O::Dp4a => uniform(SIGN_32).from(SIGN_32).of(&[DATA], &[DATA, SOURCE, DATA]),
            O::And | O::Or | O::Xor | O::Not => uniform(LOGIC),
            O::Shl => uniform(INTEGER_WIDTHS).of(&[DATA], &[DATA, WORD]),
            O::Shr => uniform(WITH_SIGN).of(&[DATA], &[DATA, WORD]),
            O::Shf => uniform(&[B32]).of(&[DATA], &[DATA, DATA, WORD]).with(VARIANT),
            O::Bfe => uniform(SIGN_32_64).of(&[DATA], &[DATA, WORD, WORD]),
            O::Bfi => uniform(WORDS).of(&[DATA], &[DATA, DATA, WORD, WORD]),
            O::Bfind => uniform(&[B32]).from(SIGN_32_64).of(&[DATA], &[SOURCE]),
            O::Bmsk | O::Prmt | O::Fns => uniform(&[B32]),
            O::Szext => uniform(SIGN_32).of(&[DATA], &[DATA, WORD]),
            O::Brev => uniform(WORDS),
            O::Clz | O::Popc => uniform(&[B32]).from(WORDS).of(&[DATA], &[SOURCE]),
            // The source type is that of the factors or the first summand if they are halves.
            O::Fadd | O::Fsub => uniform(FLOATS).maybe_from(HALVES).of(&[DATA], &[SOURCE, DATA]),
            O::Ffma => uniform(FLOATS)
                .maybe_from(HALVES)
                .of(&[DATA], &[SOURCE, SOURCE, DATA]),
            O::Fmul | O::Fneg | O::Fabs => uniform(FLOATS),
            O::Fmin | O::Fmax => uniform(COMPARED_FLOATS),
            O::Fdiv | O::Frcp | O::Fsqrt | O::Frsqrt | O::Flg2 | O::Fcopysign => uniform(SINGLE_DOUBLE),
            O::Fsin | O::Fcos => uniform(&[F32]),
            O::Fex2 | O::Ftanh => uniform(APPROXIMATED),
            O::Ftestinf => uniform(&[B1]).from(SINGLE_DOUBLE).of(&[DATA], &[SOURCE]),
            O::Isetp => uniform(&[B1])
                .from(INTEGERS)
                .of(&[DATA], &[SOURCE])
                .with(COMPARISON),
            O::Fsetp => uniform(&[B1])
                .from(COMPARED_FLOATS)
                .of(&[DATA], &[SOURCE])
                .with(COMPARISON),
            O::Sel => uniform(SELECTED).of(&[DATA], &[DATA, DATA, PREDICATE]),
            // The third source is random bits.
            O::Cvt => uniform(CONVERTED).from(CONVERTED).of(
                &[OperandConstraint::LowData],
                &[OperandConstraint::LowSource, OperandConstraint::LowSource, WORD],
            ),
            O::Isspacep => uniform(&[B1]).of(&[DATA], &[ADDRESS]).with(SPACE),
            O::Cvta => uniform(WORDS).with(VARIANT.union(SPACE)),
            O::Mov => uniform(MOVED),
            O::Copy | O::ImplicitDef => uniform(REGISTERS),
            O::Phi => uniform(REGISTERS).of(&[DATA], &[DATA, BLOCK]),
            O::S2r => uniform(WORDS).of(&[DATA], &[OperandConstraint::Is(Expected::SpecialRegister)]),
            O::Lea => uniform(WORDS).of(&[DATA], &[ADDRESS, CONSTANT]),
            O::FrameAddress => uniform(WORDS).of(&[DATA], &[CONSTANT]),
            O::Pack => uniform(&[B32, B64, B128])
                .from(INTEGER_WIDTHS)
                .of(&[DATA], &[SOURCE]),
            O::Unpack => uniform(INTEGER_WIDTHS)
                .from(&[B32, B64, B128])
                .of(&[DATA], &[SOURCE]),
            O::Extract => uniform(&[B16, B32])
                .from(WORDS)
                .of(&[DATA], &[SOURCE])
                .with(VARIANT),
            O::Ld => uniform(LOADED)
                .maybe_from(IN_MEMORY)
                .of(&[DATA], &[ADDRESS, CONSTANT])
                .with(SPACE),
            O::St => uniform(LOADED).maybe_from(IN_MEMORY).with(SPACE),
            O::Atom => uniform(ATOMIC)
                .of(&[DATA], &[ADDRESS, CONSTANT, DATA])
                .with(VARIANT.union(SPACE)),
            O::Bar => untyped(&[WORD]).with(VARIANT),
            O::BarRed => uniform(&[B1, B32]).of(&[DATA], &[WORD]).with(VARIANT),
            O::WarpSync => untyped(&[WORD]),
            O::Shfl => uniform(&[B32])
                .of(&[DATA, PREDICATE], &[DATA, WORD])
                .with(VARIANT),
            O::Vote => uniform(&[B1, B32]).of(&[DATA], &[PREDICATE, WORD]).with(VARIANT),
            O::Match => uniform(WORDS).of(&[WORD, PREDICATE], &[DATA, WORD]).with(VARIANT),
            O::Redux => uniform(&[B32, U32, S32, F32])
                .of(&[DATA], &[DATA, WORD])
                .with(VARIANT),
            O::ActiveMask => uniform(&[B32]),
            O::Bra | O::Ret | O::Exit | O::End | O::Membar | O::Nop | O::Trap => untyped(&[BLOCK]),
            O::Brx => untyped(&[WORD, ANYTHING]),
            O::CallStart | O::CallEnd => untyped(&[CONSTANT]),
            O::DeclareParam | O::Call => untyped(&[ANYTHING, CONSTANT]),
            O::Prototype => untyped(&[ANYTHING]),
            O::Debug => untyped(&[OperandConstraint::Is(Expected::Machine)]),
            O::InlineAsm | O::Opaque | O::OpaqueTerminator => untyped(&[ANYTHING]),
        }
    }

    /// Returns the constraint on source `number` of `count`: by the list, except where it depends
    /// on the count.
    fn source(&self, operation: Operation, number: usize, count: usize) -> OperandConstraint {
        match operation {
            Operation::St if number + 2 == count => ADDRESS,
            Operation::St if number + 1 == count => CONSTANT,
            Operation::Bra if count > 1 && number == 0 => PREDICATE,
            Operation::BarRed if number + 1 == count => PREDICATE,
            Operation::Phi => self.sources[number % 2],
            _ => nth(self.sources, number),
        }
    }
}

fn nth(kinds: &'static [OperandConstraint], number: usize) -> OperandConstraint {
    kinds[number.min(kinds.len() - 1)]
}

/// The properties of an instruction that determine its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub operation: Operation,
    pub data_type: DataType,
    pub source_type: DataType,
    /// The number of sources.
    pub sources: usize,
}

impl Shape {
    /// Returns the operands that are allowed in a position.
    pub fn expected(&self, role: Role, number: usize) -> Expected {
        let constraints = OperationConstraints::of_operation(self.operation);
        let kind = match role {
            Role::Result => nth(constraints.results, number),
            Role::Source => constraints.source(self.operation, number, self.sources),
        };
        match kind {
            OperandConstraint::Data => Expected::Value(self.data_type),
            OperandConstraint::Source if self.source_type == DataType::None => {
                Expected::Value(self.data_type)
            }
            OperandConstraint::Source => Expected::Value(self.source_type),
            OperandConstraint::LowSource => Expected::LowPart(self.source_type),
            OperandConstraint::LowData => Expected::LowPart(self.data_type),
            OperandConstraint::Fixed(data_type) => Expected::Value(data_type),
            OperandConstraint::Is(expected) => expected,
        }
    }
}

impl Function {
    /// Returns the operands that are allowed in a position, by the operation and its types.
    pub fn expected(&self, instruction: Instruction, role: Role, number: usize) -> Expected {
        let shape = Shape {
            operation: self.operation(instruction),
            data_type: self.data_type(instruction),
            source_type: self.source_type(instruction),
            sources: self.sources(instruction).len(),
        };
        shape.expected(role, number)
    }

    /// Returns the type with which the instruction reads or writes an operand, or none if the
    /// operand is no value or belongs to an instruction unknown to Ori.
    pub fn operand_type(&self, instruction: Instruction, role: Role, number: usize) -> Option<DataType> {
        match self.expected(instruction, role, number) {
            Expected::Value(data_type) | Expected::LowPart(data_type) => {
                (data_type != DataType::None).then_some(data_type)
            }
            _ => None,
        }
    }
}

/// True if the operation can have this many sources, beyond the limits of the table of operations.
pub(super) fn has_sound_count(operation: Operation, sources: usize) -> bool {
    match operation {
        Operation::Bra => sources != 2,
        Operation::Phi => sources.is_multiple_of(2),
        _ => true,
    }
}

/// True if the widths of the types and the numbers of operands match.
pub(super) fn types_fit(
    operation: Operation,
    data: DataType,
    source: DataType,
    results: usize,
    sources: usize,
) -> bool {
    let (wide, narrow) = (data.bits() as usize, source.bits() as usize);
    match operation {
        Operation::ImulWide | Operation::ImadWide => wide == 2 * narrow && data.class() == source.class(),
        Operation::Pack => wide == sources * narrow,
        Operation::Unpack => narrow == results * wide,
        Operation::Extract => narrow == 2 * wide,
        Operation::Fsetp => results <= source.lanes() as usize,
        Operation::Cvt => sources == 1 || data.lanes() == 2,
        // Halves are added to a single.
        Operation::Fadd | Operation::Fsub | Operation::Ffma => {
            source == DataType::None || data == DataType::F32
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_fit_the_table_of_operations() {
        for &operation in Operation::ALL {
            let constraints = OperationConstraints::of_operation(operation);
            let properties = operation.properties();
            assert!(
                properties.modifiers.contains(constraints.required),
                "{operation:?} has conflicting constraints"
            );
            assert!(
                constraints.sources.len() <= usize::from(properties.sources.1).max(1),
                "{operation:?} has kinds of sources that it cannot have"
            );
            assert!(
                constraints.results.len() <= usize::from(properties.results.1).max(1),
                "{operation:?} has kinds of results that it cannot have"
            );
            if let SourceTypes::Required(types) | SourceTypes::Optional(types) = constraints.source_types {
                assert!(
                    !types.is_empty() && !constraints.data_types.is_empty(),
                    "{operation:?}"
                );
            }
        }
    }

    /// Instructions that come from LLVM must satisfy the constraints, or the verifier would report
    /// all of them.
    #[test]
    fn constraints_match_the_mappings_of_machine_instructions() {
        use crate::machine::all_mappings;
        for mapping in all_mappings() {
            let constraints = OperationConstraints::of_operation(mapping.operation);
            let properties = mapping.operation.properties();
            let (data, source) = (mapping.description.data_type, mapping.description.source_type);
            let (results, sources) = (mapping.result_count(), mapping.source_count());
            let has_type = constraints.data_types.contains(&data)
                || (constraints.data_types.is_empty() && data == DataType::None);
            assert!(has_type, "{} has data type {data:?}", mapping.name());
            if let SourceTypes::Required(types) | SourceTypes::Optional(types) = constraints.source_types {
                assert!(
                    source == DataType::None || types.contains(&source),
                    "{}",
                    mapping.name()
                );
            } else {
                assert_eq!(source, DataType::None, "{}", mapping.name());
            }
            assert!(
                types_fit(mapping.operation, data, source, results, sources),
                "types of {} do not fit",
                mapping.name()
            );
            assert!(results >= properties.results.0.into() && results <= properties.results.1.into());
            assert!(sources >= properties.sources.0.into() && sources <= properties.sources.1.into());
        }
    }
}
