//! The verifier: checks the invariants of functions in Ori. Each violation is a finding with a
//! name.
//!
//! | file | subject |
//! |---|---|
//! | `structure.rs` | blocks, lists of instructions, lists of definitions and uses, tables |
//! | `operands.rs` | one instruction: operands, types, modifiers |
//! | `flow.rs` | definitions reach uses, PHIs, call sequences |
//!
//! Each step relies on the checks of earlier ones, so the first step with a finding is the last.

mod flow;
mod operands;
mod structure;
#[cfg(test)]
mod tests;

use super::function::{Function, Instruction};
use oriel_engine::entity::{Block, EntityRef, Register};
use std::fmt::{self, Display, Formatter};

/// Declares the kinds of findings, and their list.
macro_rules! finding_kinds {
    ($( $(#[$doc:meta])* $name:ident, )*) => {
        /// The kind of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $( $(#[$doc])* $name, )*
        }

        impl FindingKind {
            /// Every kind, in order.
            pub const ALL: &[Self] = &[$( Self::$name, )*];
        }
    };
}

finding_kinds! {
    // Structure.
    /// The function has no blocks.
    NoBlocks,
    /// The layout lists a block twice, or contradicts the block.
    WrongPlacement,
    /// The links between instructions of a block are inconsistent.
    BrokenInstructionList,
    /// An operand names a register, block or table row that does not exist, or a stack object that
    /// was removed.
    UnknownEntity,
    /// A register's operand is not in the register's list.
    MissingReference,
    /// A register's list contains a slot that is no operand with the register: of a removed
    /// instruction, or of another register.
    StrayReference,
    /// The table of constants or specials contains a row twice, or does not find one.
    NotInterned,
    /// An integer is in the table of constants though an operand word holds it.
    UnpackedInteger,
    /// Something is recorded for a removed instruction.
    RecordOfRemoved,
    /// A block does not end in a terminator.
    MissingTerminator,
    /// A terminator, or an instruction other than a debug instruction, follows a terminator.
    InstructionAfterTerminator,
    /// An operand names a block that is not in the layout.
    UnplacedBlock,
    // Operands.
    /// A register has a width that its file does not have.
    RegisterKind,
    /// The operation does not allow this number of results.
    ResultCount,
    /// The operation does not allow this number of sources.
    SourceCount,
    /// The operation does not allow this type.
    DataType,
    /// The operation does not allow this source type, or needs one.
    SourceType,
    /// The widths of the types do not match each other, or the number of operands.
    TypeRelation,
    /// The operation does not allow such a modifier.
    UnexpectedModifier,
    /// The operation needs a modifier that is not given.
    MissingModifier,
    /// The kind of operand is not allowed in its position.
    OperandKind,
    /// The operand's tag is for registers of another file.
    RegisterTag,
    /// The register does not have the width that its position requires.
    RegisterWidth,
    /// The constant does not have the width that its position requires.
    ConstantWidth,
    /// A modifier on something other than a source register, or an undefined result.
    OperandModifier,
    /// Inline assembly writes a result before it has read a source, and both have one register.
    EarlyClobber,
    // Flow.
    /// In SSA form, a register has several definitions.
    SeveralDefinitions,
    /// In SSA form, a use that its definition does not dominate.
    UseNotDominated,
    /// A use that no definition reaches.
    UndefinedUse,
    /// A PHI in a function that has no PHIs any more.
    UnexpectedPhi,
    /// A PHI after another instruction.
    PhiNotFirst,
    /// A PHI's blocks are not the predecessors, or one has two values.
    PhiBlocks,
    /// A PHI in the entry block: it has no value for the function's entry.
    PhiInEntry,
    /// A call sequence inside another, without a start or without an end, or a part of one outside
    /// any.
    BrokenCallSequence,
}

/// A finding: its kind and where it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The block.
    pub block: Option<Block>,
    /// The instruction.
    pub instruction: Option<Instruction>,
    /// The register.
    pub register: Option<Register>,
}

impl Finding {
    /// Creates a finding that concerns the whole function.
    fn new(kind: FindingKind) -> Self {
        Self {
            kind,
            block: None,
            instruction: None,
            register: None,
        }
    }

    fn in_block(kind: FindingKind, block: Block) -> Self {
        Self {
            block: Some(block),
            ..Self::new(kind)
        }
    }

    fn of_register(kind: FindingKind, register: Register) -> Self {
        Self {
            register: Some(register),
            ..Self::new(kind)
        }
    }

    fn at(kind: FindingKind, function: &Function, instruction: Instruction) -> Self {
        Self {
            block: function.block_of(instruction),
            instruction: Some(instruction),
            ..Self::new(kind)
        }
    }

    fn register(self, register: Register) -> Self {
        Self {
            register: Some(register),
            ..self
        }
    }

    /// Returns the finding as text, with the instruction in the function's text form.
    pub fn display<'a>(&'a self, function: &'a Function) -> impl Display + 'a {
        FindingText {
            finding: self,
            function,
        }
    }
}

impl Display for Finding {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.kind)?;
        if let Some(register) = self.register {
            write!(out, " of %{}", register.index())?;
        }
        if let Some(block) = self.block {
            write!(out, " in bix{}", block.index())?;
        }
        if let Some(instruction) = self.instruction {
            write!(out, " at {instruction}")?;
        }
        Ok(())
    }
}

struct FindingText<'a> {
    finding: &'a Finding,
    function: &'a Function,
}

impl Display for FindingText<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.finding.fmt(out)?;
        match self.finding.instruction {
            // Without its entities an instruction cannot be printed.
            Some(instruction) if self.finding.kind != FindingKind::UnknownEntity => {
                write!(out, ": {}", self.function.display_instruction(instruction))
            }
            _ => Ok(()),
        }
    }
}

impl Function {
    /// Returns all findings in layout order; empty if the function is valid.
    pub fn verify(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for step in [
            structure::check_entities,
            structure::check_lists,
            structure::check_blocks,
            operands::check,
            flow::check,
        ] {
            step(self, &mut findings);
            if !findings.is_empty() {
                break;
            }
        }
        findings
    }
}
