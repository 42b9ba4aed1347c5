//! LateOriCommoning (phase 64): merges expressions that predication and lowering made equal.
//!
//! ```text
//! %3 = COPY %0
//! %4 = SHL %0, 2            %3 = COPY %0
//! ...                  ─▶   %4 = SHL %0, 2
//! %5 = SHL %3, 2            ...
//! ST %5, [%1]               ST %4, [%1]
//! ```
//!
//! A single walk of the dominator tree. Expressions are described with each register replaced by
//! its *representative*: the register whose value it has through copies. A table of classes, as
//! bits met on the path from the entry (`classes.rs`), tells whether an equal expression can exist
//! at all. Then the value table is queried, and the last equal expression replaces the current one
//! if it dominates it. If it does not dominate the walk's position, neither it nor any earlier one
//! will do so again.
//!
//! Requires: nothing; in late form it considers registers with one definition only. Preserves:
//! control flow. No instruction is added or moved. An expression stays if extending the available
//! value would exceed the register budget, unless ForceLateCommoning is on.
//!
//! Departures from the reference (`sub_9055F0` and its callees):
//!
//! - C1 requires that two equal instructions are in different blocks, and leaves those of one block
//!   to a table that is not described; here one table finds both.
//! - Its accumulator of classes restarts at selects and is kept at PHIs, in code order; here it
//!   follows the dominator tree, so that it covers exactly the blocks that values can come from.
//! - C3 queries the scheduler for dependencies; here loads have the versions of memory that they
//!   read.
//! - Its remapping writes the representative into the operands, which pays off only if nothing else
//!   needs the copies; here it is for comparison only, and copy propagation does the rest.
//! - C1 to C7 are checked by comparing descriptions word for word.
//! - Commutative operands match in either order.
//! - The hash is that of code caching, as that of `sub_748440` is not given.

mod classes;

use super::knobs::Knob;
use super::shared::expressions::{
    ExpressionKind, copied_register, describe, expression_kind, single_valued, versions_for,
};
use super::shared::replacement::Replacement;
use super::shared::value_table::ValueTable;
use super::{PhaseContext, PhaseResult};
use classes::{ClassTable, class_of};
use oriel_engine::entity::{EntityRef, EntitySet, Register};
use oriel_engine::hash::CodeHash;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::{ControlFlow, Function, Instruction, MemoryVersions, Operand};
use std::rc::Rc;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut set = WorkingSet::new(function, context);
    let mut replacement = Replacement::new(context.options.knobs.is_on(Knob::ForceLateCommoning));
    for &block in Rc::clone(&set.flow).dominators.preorder() {
        set.classes.enter(set.flow.dominators.immediate(block));
        let mut next = function.first(block);
        while let Some(instruction) = next {
            next = function.next(instruction);
            if let Some(leader) = set.visit(function, instruction) {
                replacement.replace(function, context, instruction, leader);
            }
        }
        set.classes.leave(block);
    }
    context.count("filtered-expressions", set.filtered);
    replacement.count(context);
    PhaseResult::of(replacement.replaced() > 0)
}

/// The state of the walk.
struct WorkingSet {
    flow: Rc<ControlFlow>,
    versions: Option<MemoryVersions>,
    /// Registers with one definition that comes before each use; none if all registers are like
    /// that.
    single_valued: Option<EntitySet<Register>>,
    follows_moves: bool,
    /// By register: its representative.
    representatives: Vec<Register>,
    classes: ClassTable,
    /// The last instruction that computes a value.
    table: ValueTable<Instruction>,
    words: Vec<u32>,
    /// Expressions that the classes showed to be unique so far.
    filtered: u64,
}

impl WorkingSet {
    fn new(function: &Function, context: &mut PhaseContext<'_>) -> Self {
        let flow = context.control_flow(function);
        let single_valued = (function.info.stage == Stage::Late)
            .then(|| single_valued(function, &context.liveness(function)));
        Self {
            versions: versions_for(function, &flow),
            flow,
            single_valued,
            follows_moves: !context.options.knobs.is_on(Knob::DisableMoveCommoning),
            representatives: function.registers().collect(),
            classes: ClassTable::default(),
            table: ValueTable::default(),
            words: Vec::new(),
            filtered: 0,
        }
    }

    /// Records an instruction. Returns the one that computes the same and dominates it, if there is
    /// one.
    fn visit(&mut self, function: &Function, instruction: Instruction) -> Option<Instruction> {
        let kind = expression_kind(function, instruction)?;
        if kind == ExpressionKind::Constant || !self.has_single_values(function, instruction) {
            return None;
        }
        if kind == ExpressionKind::Copy
            && let Some(source) = copied_register(function, instruction)
        {
            if self.follows_moves {
                let result = function.result_registers(instruction).next();
                let result = result.expect("a copy has a result");
                self.representatives[result.index()] = self.representatives[source.index()];
            }
            return None;
        }
        let representatives = &self.representatives;
        let value = |register: Register| representatives[register.index()];
        describe(
            function,
            instruction,
            self.versions.as_ref(),
            value,
            &mut self.words,
        );
        let hash = CodeHash::new().words(&self.words).finish();
        let found = if self.classes.meet(class_of(function, instruction, hash)) {
            let known = self.table.find(&self.words, hash).map(|value| self.table[value]);
            known.filter(|&known| self.dominates(function, known, instruction))
        } else {
            self.filtered += 1;
            None
        };
        if found.is_none() {
            self.table.insert(&self.words, hash, instruction);
        }
        found
    }

    /// True if every path to the second, which the walk met later, leads through the first.
    fn dominates(&self, function: &Function, first: Instruction, second: Instruction) -> bool {
        match (function.block_of(first), function.block_of(second)) {
            (Some(outer), Some(inner)) => self.flow.dominators.dominates(outer, inner),
            _ => false,
        }
    }

    /// True if every register that it mentions has a single value.
    fn has_single_values(&self, function: &Function, instruction: Instruction) -> bool {
        let Some(single_valued) = &self.single_valued else {
            return true;
        };
        let sources = function.sources(instruction).iter();
        let mut mentioned = function.results(instruction).iter().chain(sources);
        mentioned.all(|operand: Operand| {
            let register = operand.as_register();
            register.is_none_or(|register| single_valued.contains(register))
        })
    }
}

#[cfg(test)]
mod tests;
