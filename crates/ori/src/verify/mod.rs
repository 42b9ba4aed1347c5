//! The verifier: what holds for every function in Ori, each violation a finding with a name.
//!
//! | file | subject |
//! |---|---|
//! | `structure.rs` | blocks, lists of instructions, lists of definitions and uses, tables |
//! | `operands.rs` | one instruction: operands, types, modifiers |
//! | `flow.rs` | definitions reach uses, PHIs, call sequences |
//!
//! Each step relies on what the ones before have checked; the first that finds something is the
//! last.

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
        /// What is wrong.
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
    /// The layout has a block twice, or the block says something else than the layout.
    WrongPlacement,
    /// The links between instructions of a block do not fit together.
    BrokenInstructionList,
    /// An operand names a register, block or table row that does not exist, or a stack object that
    /// was removed.
    UnknownEntity,
    /// A register's operand is not in the register's list.
    MissingReference,
    /// A register's list has what is no operand with the register: of a removed instruction, or of
    /// another register.
    StrayReference,
    /// The table of constants or specials has a row twice, or does not find one.
    NotInterned,
    /// An integer is in the table of constants though an operand word holds it.
    UnpackedInteger,
    /// Something is recorded of an instruction that was removed.
    RecordOfRemoved,
    /// A block does not end in a terminator.
    MissingTerminator,
    /// A terminator, or something that is not for debuggers, follows a terminator.
    InstructionAfterTerminator,
    /// An operand names a block that is not in the layout.
    UnplacedBlock,
    // Operands.
    /// A register has a width that its file does not have.
    RegisterKind,
    /// The operation never has so many or so few results.
    ResultCount,
    /// The operation never has so many or so few sources.
    SourceCount,
    /// The operation does not have this type.
    DataType,
    /// The operation does not have this source type, or needs one.
    SourceType,
    /// The widths of the types do not fit each other, or the number of operands.
    TypeRelation,
    /// The operation does not have such a modifier.
    UnexpectedModifier,
    /// The operation needs a modifier that is not given.
    MissingModifier,
    /// The operand is of a kind that does not belong at its place.
    OperandKind,
    /// The operand's tag is for registers of another file.
    RegisterTag,
    /// The register is of another width than its place asks for.
    RegisterWidth,
    /// The constant is of another width than its place asks for.
    ConstantWidth,
    /// A sign or the like on what is no source register, or a result said to be undefined.
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
    /// A PHI in a function that has none any more.
    UnexpectedPhi,
    /// A PHI behind another instruction.
    PhiNotFirst,
    /// A PHI's blocks are not the predecessors, or one comes with two values.
    PhiBlocks,
    /// A PHI in the entry, where control also begins: it has no value for that.
    PhiInEntry,
    /// A call sequence within a call sequence, without a beginning or without an end, or a part of
    /// one that is in none.
    BrokenCallSequence,
}

/// A finding: what is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// In which block.
    pub block: Option<Block>,
    /// In which instruction.
    pub instruction: Option<Instruction>,
    /// Of which register.
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

    /// Returns the finding as text, with the instruction as the function has it.
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
    /// Everything that is wrong with the function, in order of the layout; empty if it is right.
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
