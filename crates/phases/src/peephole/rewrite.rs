//! The proposals of rules, as data: nothing changes before it is weighed.

use oriel_arithmetic::TypedOperation;
use oriel_ori::{Comparison, DataType, Instruction, Modifiers, Operand, Operation, Variant};
use smallvec::{SmallVec, smallvec};

/// A source of a new instruction, or the replacement of a result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// An existing operand.
    Operand(Operand),
    /// An integer.
    Integer(i64),
    /// The bits of a float of the result's type.
    Bits(u64),
    /// The result of an earlier node of the same change.
    NewInstruction(usize),
}

impl From<Operand> for Value {
    fn from(operand: Operand) -> Self {
        Self::Operand(operand)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

/// An instruction to create.
#[derive(Clone, Debug)]
pub(super) struct NewInstruction {
    pub typed: TypedOperation,
    pub sources: SmallVec<[Value; 4]>,
}

/// The change of one instruction.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub target: Instruction,
    pub becomes: Becomes,
}

/// The replacement of an instruction.
#[derive(Clone, Debug)]
pub(super) enum Becomes {
    /// This value replaces its result.
    Value(Value),
    /// The last of these replaces it; the others come before it.
    Nodes(SmallVec<[NewInstruction; 1]>),
    /// The same instruction with other sources.
    Sources(SmallVec<[Value; 4]>),
}

/// The effect of a rule: one change, or several that only make sense together.
pub(super) type Rewrite = SmallVec<[Change; 1]>;

/// Replaces an instruction by a value.
pub(super) fn value(target: Instruction, value: impl Into<Value>) -> Option<Rewrite> {
    let becomes = Becomes::Value(value.into());
    Some(smallvec![Change { target, becomes }])
}

/// Replaces an instruction by another.
pub(super) fn node(target: Instruction, typed: TypedOperation, sources: &[Value]) -> Option<Rewrite> {
    nodes(target, smallvec![NewInstruction::new(typed, sources)])
}

/// Replaces an instruction by several.
pub(super) fn nodes(target: Instruction, nodes: SmallVec<[NewInstruction; 1]>) -> Option<Rewrite> {
    let becomes = Becomes::Nodes(nodes);
    Some(smallvec![Change { target, becomes }])
}

/// Replaces the sources of an instruction.
pub(super) fn sources(target: Instruction, sources: SmallVec<[Value; 4]>) -> Option<Rewrite> {
    let becomes = Becomes::Sources(sources);
    Some(smallvec![Change { target, becomes }])
}

impl NewInstruction {
    pub fn new(typed: TypedOperation, sources: &[Value]) -> Self {
        Self {
            typed,
            sources: SmallVec::from_slice(sources),
        }
    }
}

/// Returns an operation of one type without modifiers.
pub(super) fn plain(operation: Operation, data_type: DataType) -> TypedOperation {
    TypedOperation::new(operation, data_type, DataType::None)
}

/// Returns a comparison.
pub(super) fn compare(operation: Operation, source_type: DataType, comparison: Comparison) -> TypedOperation {
    let modifiers = Modifiers {
        comparison,
        ..Modifiers::default()
    };
    TypedOperation {
        modifiers,
        ..TypedOperation::new(operation, DataType::B1, source_type)
    }
}

/// Returns a member of a family of operations.
pub(super) fn variant(operation: Operation, data_type: DataType, variant: Variant) -> TypedOperation {
    let modifiers = Modifiers {
        variant,
        ..Modifiers::default()
    };
    TypedOperation {
        modifiers,
        ..plain(operation, data_type)
    }
}
