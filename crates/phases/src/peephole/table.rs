//! The table of rules.

use super::rule::Rule;
use super::{address, constants, conversions, float, integer, logic, narrowing, predicates, shifts};
use oriel_ori::Operation;
use std::sync::LazyLock;

/// Number of a rule in the table.
pub(super) type RuleNumber = usize;

/// All rules, indexed by the operation of their root.
#[derive(Debug)]
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// By operation: its rules, in the order in which they are tried.
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

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns a rule.
    pub fn rule(&self, number: RuleNumber) -> &'static Rule {
        self.rules[number]
    }

    /// Returns the rules with this root operation.
    pub fn starting_at(&self, operation: Operation) -> &[RuleNumber] {
        &self.by_root[operation as usize]
    }
}
