//! The operands of inline assembly, grouped by constraint.
//!
//! They follow LLVM's `INLINEASM`: the text, a word of properties, then for each constraint a word
//! with the number and kind of the following registers. In Ori, results are separate from sources,
//! so these words relate the two.

use oriel_ori::{Function, Instruction, Operation};
use std::ops::Range;

/// The kind of a constraint, with LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Read.
    Input = 1,
    /// Written.
    Result = 2,
    /// Written before the inputs are read.
    EarlyResult = 3,
    /// A clobbered register.
    Clobber = 4,
    /// An immediate.
    Constant = 5,
    /// An address.
    Memory = 6,
    /// A function.
    Function = 7,
}

impl ConstraintKind {
    const ALL: [Self; 7] = [
        Self::Input,
        Self::Result,
        Self::EarlyResult,
        Self::Clobber,
        Self::Constant,
        Self::Memory,
        Self::Function,
    ];

    /// True if a result is written to it.
    pub const fn is_result(self) -> bool {
        matches!(self, Self::Result | Self::EarlyResult)
    }
}

/// A constraint of inline assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// Its kind.
    pub kind: ConstraintKind,
    /// Its registers: numbers of results for a result, of sources for the others.
    pub operands: Range<usize>,
    /// For an input with the registers of a result: the number of the first.
    pub tied: Option<usize>,
    /// The number of the source after the constraint.
    pub end: usize,
    /// LLVM's register class, numbered from one.
    class: u32,
}

impl Constraint {
    /// Bits of each register, if it reads any.
    pub const fn register_bits(&self) -> Option<u32> {
        match (self.kind, self.class) {
            (ConstraintKind::Memory, _) => Some(64),
            (ConstraintKind::Input, 1) => Some(1),
            (ConstraintKind::Input, 2) => Some(16),
            (ConstraintKind::Input, 6) => Some(64),
            (ConstraintKind::Input, 7) => Some(128),
            (ConstraintKind::Input, _) => Some(32),
            _ => None,
        }
    }
}

/// Returns the constraints of inline assembly, in order; none if the operands do not have LLVM's
/// form.
pub fn constraints(function: &Function, instruction: Instruction) -> Option<Vec<Constraint>> {
    if function.operation(instruction) != Operation::InlineAsm {
        return None;
    }
    let sources = function.sources(instruction);
    let results = function.results(instruction).len();
    let mut constraints: Vec<Constraint> = Vec::new();
    let (mut at, mut defined) = (2, 0);
    while at < sources.len() {
        // Source locations and implicit operands come last.
        let Some(word) = function.integer(sources.get(at)) else {
            break;
        };
        let word = word as u32;
        let kind = ConstraintKind::ALL
            .into_iter()
            .find(|&kind| kind as u32 == word & 7)?;
        let (count, data) = ((word >> 3 & 0x1FFF) as usize, word >> 16 & 0x7FFF);
        at += 1;
        let operands = match kind.is_result() {
            true => defined..defined + count,
            false => at..at + count,
        };
        match kind.is_result() {
            true => defined = operands.end,
            false => at = operands.end,
        }
        let is_tied = word >> 31 != 0;
        let tied_to = constraints
            .get(data as usize)
            .filter(|it| is_tied && it.kind.is_result());
        constraints.push(Constraint {
            kind,
            operands,
            tied: tied_to.map(|it| it.operands.start),
            end: at,
            class: data,
        });
    }
    (at <= sources.len() && defined <= results).then_some(constraints)
}
