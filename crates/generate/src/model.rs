//! The program that both emitters print: typed operations in the blocks of a graph.

use super::graph::Graph;
use super::index::{Block, Entity, Span, Table, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    I1,
    I16,
    I32,
    I64,
    F32,
    F64,
    /// A pair of 64-bit registers, in machine code only.
    B128,
}

impl Type {
    pub(super) const ALL: [Self; 7] = [
        Self::I1,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
        Self::B128,
    ];

    /// The types that have constants and arithmetic of all kinds.
    pub(super) const NUMBERS: [Self; 5] = [Self::I16, Self::I32, Self::I64, Self::F32, Self::F64];

    pub(super) fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 | Self::F64 => 64,
            Self::B128 => 128,
        }
    }

    pub(super) fn is_float(self) -> bool {
        match self {
            Self::F32 | Self::F64 => true,
            Self::I1 | Self::I16 | Self::I32 | Self::I64 | Self::B128 => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Minimum,
    Maximum,
    MinimumUnsigned,
    MaximumUnsigned,
    Divide,
    DivideUnsigned,
    Remainder,
    RemainderUnsigned,
}

impl Binary {
    pub(super) fn is_division(self) -> bool {
        matches!(
            self,
            Self::Divide | Self::DivideUnsigned | Self::Remainder | Self::RemainderUnsigned
        )
    }

    pub(super) fn is_shift(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightSigned)
    }

    /// True if NVPTX has a form of the instruction whose second operand is a constant.
    pub(super) fn takes_constant(self, ty: Type) -> bool {
        match self {
            Self::Add | Self::Multiply => ty != Type::I1,
            Self::And | Self::Or | Self::Xor => ty != Type::I1,
            Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightSigned => true,
            Self::Subtract
            | Self::Minimum
            | Self::Maximum
            | Self::MinimumUnsigned
            | Self::MaximumUnsigned
            | Self::Divide
            | Self::DivideUnsigned
            | Self::Remainder
            | Self::RemainderUnsigned => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    ThreadIndex,
    BlockIndex,
    BlockSize,
}

/// The operation of an instruction; `ty` of the instruction is the type that it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Constant(i64),
    Parameter,
    Special(Special),
    Binary(Binary),
    /// `a * b + c` of floats, rounded once.
    MultiplyAdd,
    Negate,
    /// The result is a predicate, `ty` the type of the operands.
    Compare(Comparison),
    /// Operands: a value if true, a value if false, the predicate.
    Select,
    /// From another type to `ty`.
    Convert {
        signed: bool,
    },
    /// One operand: the index in LLVM IR, the address in machine IR.
    Load(Space),
    /// Operands: the value, then the index or address.
    Store(Space),
    /// A device function of an i32 and a float that returns an i32.
    Call,
    /// `IMPLICIT_DEF`.
    Undefined,
    Copy,
    /// Two i64 to a b128 register.
    Pack,
    /// A b128 register to two i64.
    Unpack,
    /// With `tied`, the first result takes the register of the first operand; with `early`, the
    /// last result is written before all operands are read.
    Assembly {
        tied: bool,
        early: bool,
    },
    /// An opcode whose effects no flag but one describes, without operands; one of
    /// [`EFFECTS`](super::opcodes::EFFECTS).
    Effect(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Value(Value),
    /// A register that is named but not read.
    Undefined(Value),
    Integer(i64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) operation: Operation,
    pub(super) ty: Type,
    /// The last one is implicit if marked so.
    pub(super) results: Span,
    /// The last one is implicit if marked so.
    pub(super) operands: Span,
    pub(super) has_implicit_result: bool,
    pub(super) has_implicit_use: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Phi {
    pub(super) result: Value,
    /// One operand for each predecessor, in the graph's order.
    pub(super) operands: Span,
}

/// The part of the program in one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    pub(super) phis: Span,
    pub(super) instructions: Span,
    /// The predicate of a branch or the index of a switch.
    pub(super) condition: Option<Use>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) graph: Graph,
    pub(super) types: Table<Value, Type>,
    /// The first values are variables: registers that are defined any number of times, in the late
    /// form only.
    pub(super) variables: usize,
    pub(super) bodies: Table<Block, Body>,
    pub(super) phis: Vec<Phi>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) results: Vec<Value>,
    pub(super) uses: Vec<Use>,
    /// Variables that get an `IMPLICIT_DEF` before the first instruction of a block.
    pub(super) undefined_at_start: Table<Block, Vec<Value>>,
    /// Variables that get an `IMPLICIT_DEF` before the terminator of a block.
    pub(super) undefined_at_end: Table<Block, Vec<Value>>,
}

impl Function {
    pub(super) fn is_variable(&self, value: Value) -> bool {
        value.index() < self.variables
    }

    pub(super) fn phis_of(&self, block: Block) -> &[Phi] {
        &self.phis[self.bodies[block].phis.range()]
    }

    pub(super) fn instructions_of(&self, block: Block) -> &[Instruction] {
        &self.instructions[self.bodies[block].instructions.range()]
    }

    pub(super) fn results_of(&self, instruction: &Instruction) -> &[Value] {
        &self.results[instruction.results.range()]
    }

    pub(super) fn operands_of(&self, instruction: &Instruction) -> &[Use] {
        &self.uses[instruction.operands.range()]
    }

    pub(super) fn phi_operands(&self, phi: &Phi) -> &[Use] {
        &self.uses[phi.operands.range()]
    }
}
