//! Rules, and the table that has all of them.

use super::matcher::Matcher;
use super::rewrite::Rewrite;
use super::{address, constants, conversions, float, integer, logic, narrowing, predicates, shifts};
use oriel_ori::{Instruction, Operation};
use std::sync::LazyLock;

/// What decides whether a rule may be used on an instruction, beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Governs {
    /// The instruction computes in one lane and has no flags: no saturation, no carry.
    PlainIntegers,
    /// The rule looks at the instruction's flags itself, and gives the same bits; with
    /// `LimitFoldFp` it is not used.
    ExactFloats,
    /// Nothing more than what the rule asks.
    RuleAlone,
}

/// One identity. Adding one is adding an entry to the table of its family.
#[derive(Debug)]
pub(super) struct Rule {
    /// The name of its counter.
    pub name: &'static str,
    /// The operations of the instruction that it begins at.
    pub roots: &'static [Operation],
    /// The widths in bits that this instruction may compute in; of a comparison, those of what is
    /// compared. Empty: any.
    pub widths: &'static [u32],
    /// What else has to hold.
    pub governed_by: Governs,
    /// What the instruction becomes; none if the rule does not apply.
    pub rewrite: fn(&Matcher<'_>, Instruction) -> Option<Rewrite>,
    /// Code that it applies to, in Ori's text form: `%9` is the value, `{w}` stands for a width.
    /// Tests prove the rule on each of them, and fail for a rule without.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the proof needs them, and they say what a rule does")
    )]
    pub examples: &'static [&'static str],
}

impl Rule {
    /// Returns a rule about plain integers.
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

/// Number of a rule in the table.
pub(super) type RuleNumber = usize;

/// All rules, and which begin at which operation.
#[derive(Debug)]
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// By operation: the rules that begin at it, in the order in which they are tried.
    by_root: Vec<Vec<RuleNumber>>,
}

/// Returns the table. Within an operation, rules are tried in this order.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        Table::of(&[
            constants::RULES,
            shifts::RULES,
            integer::RULES,
            logic::RULES,
            predicates::RULES,
            conversions::RULES,
            narrowing::RULES,
            float::RULES,
            address::RULES,
        ])
    });
    &TABLE
}

impl Table {
    fn of(families: &[&'static [Rule]]) -> Self {
        let rules: Vec<&'static Rule> = families.iter().flat_map(|family| family.iter()).collect();
        let mut by_root = vec![Vec::new(); Operation::ALL.len()];
        for (number, rule) in rules.iter().enumerate() {
            for &root in rule.roots {
                by_root[root as usize].push(number);
            }
        }
        Self { rules, by_root }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns a rule.
    pub fn rule(&self, number: RuleNumber) -> &'static Rule {
        self.rules[number]
    }

    /// Returns the rules that begin at an operation.
    pub fn starting_at(&self, operation: Operation) -> &[RuleNumber] {
        &self.by_root[operation as usize]
    }
}
