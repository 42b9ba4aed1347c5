//! The type of rules.

use super::matcher::Matcher;
use super::rewrite::Rewrite;
use oriel_ori::{Instruction, Operation};

/// A precondition of a rule on its root, besides the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Governs {
    /// The instruction computes on one lane and has no flags: no saturation, no carry.
    PlainIntegers,
    /// The rule checks the instruction's flags itself and preserves all bits; with `LimitFoldFp` it
    /// is not used.
    ExactFloats,
    /// No further condition.
    RuleAlone,
}

/// An identity. To add one, add an entry to the table of its family.
#[derive(Debug)]
pub(super) struct Rule {
    /// The name of its counter.
    pub name: &'static str,
    /// The operations of its root.
    pub roots: &'static [Operation],
    /// The allowed widths of the root in bits; for a comparison, those of the compared values.
    /// Empty: any.
    pub widths: &'static [u32],
    /// The precondition.
    pub governed_by: Governs,
    /// Returns the replacement of the root, or none if the rule does not apply.
    pub rewrite: fn(&Matcher<'_>, Instruction) -> Option<Rewrite>,
    /// Code to which it applies, in Ori's text form: `%9` is the value, `{w}` represents a width.
    /// Tests prove the rule on each example and fail for a rule without any.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the proof needs them, and they say what a rule does")
    )]
    pub examples: &'static [&'static str],
}

impl Rule {
    /// Creates a rule about plain integers.
    pub const fn plain(
        name: &'static str,
        roots: &'static [Operation],
        widths: &'static [u32],
        rewrite: fn(&Matcher<'_>, Instruction) -> Option<Rewrite>,
        examples: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            roots,
            widths,
            governed_by: Governs::PlainIntegers,
            rewrite,
            examples,
        }
    }
}
