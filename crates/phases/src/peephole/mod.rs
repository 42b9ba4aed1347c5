//! Constant folding and algebraic identities: a table of rules and the engine that applies them.
//!
//! ```text
//! %3 = CVT.s64.s32 %1                 %4 = IMUL.WIDE.s64.s32 %1, 8
//! %4 = SHL.b64 %3, 3          ─▶      %6 = ISETP.ge.s32 %1, 7
//! %5 = ISETP.lt.s32 %1, 7
//! %6 = NOT.b1 %5
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `rule.rs`, `table.rs` | the type of rules; the table |
//! | `constants.rs`, `integer.rs`, `shifts.rs`, `logic.rs`, `predicates.rs`, `conversions.rs`, `narrowing.rs`, `float.rs`, `address.rs` | the rules, by family |
//! | `matcher.rs` | queries of rules about a function |
//! | `rewrite.rs` | the edits of a rule, as data |
//! | `weigh.rs` | the profitability of edits |
//! | `apply.rs` | applies edits |
//!
//! A rule examines one instruction, its *root*, and the definitions of its sources, and proposes
//! replacements; it changes nothing. The engine weighs every proposal in the same way, so that no
//! rule can make code worse:
//!
//! - LLVM has an opcode for each new instruction, including its constants;
//! - *the measure falls*: the number of instructions, counting those that become unused; or, if it
//!   is equal, the sum of their ranks (`weigh.rs`). It is a pair of natural numbers, so rewriting
//!   terminates whatever the rules are;
//! - no block gets more instructions than it loses, so nothing moves into a loop;
//! - values with extended ranges are no wider than the removed ones, or the register budget has
//!   room for them.
//!
//! Constants are folded by the interpreter's own arithmetic. Floats are folded where the result has
//! the same bits: of LLVM's flags, Ori keeps only the one for contraction, and LLVM has contracted
//! already.
//!
//! Requires: SSA form. Preserves: control flow, except the order of the edges of branches that it
//! inverts; then it invalidates the context's control flow.
//!
//! In the reference, the bundles of GeneralOptimize leave identities to a peephole that is not
//! described further. Its `limit-fold-fp` is the knob `LimitFoldFp` here: with it, no rule about
//! floats is used.

mod address;
mod apply;
mod constants;
mod conversions;
mod float;
mod integer;
mod logic;
mod matcher;
mod narrowing;
mod predicates;
#[cfg(test)]
mod proof;
mod rewrite;
mod rule;
mod shifts;
mod table;
#[cfg(test)]
mod tests;
mod weigh;

use super::knobs::Knob;
use super::{Analyses, PhaseContext, RemarkKind};
use matcher::Matcher;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, InstructionFlags, Operation};
use rewrite::Rewrite;
use rule::Governs;
use table::{RuleNumber, table};
use weigh::Scale;

/// The most levels of definitions that a rule considers.
const LEVELS: u32 = narrowing::DEPTH + 1;

/// The rewriter. Create one for a function, let it simplify changed code as often as necessary, and
/// read its counts. After changes of blocks or edges, create another: it keeps the pressure that it
/// knows.
#[derive(Debug)]
pub struct Peephole {
    /// True if rules about floats are used.
    folds_floats: bool,
    /// By rule: the number of its applications.
    counts: Vec<u64>,
    scale: Scale,
    /// Instructions to visit, the next one last.
    pending: Vec<Instruction>,
    is_pending: EntityBitSet<Instruction>,
}

impl Peephole {
    /// Creates a rewriter with no work.
    pub fn new(context: &PhaseContext<'_>) -> Self {
        Self {
            folds_floats: !context.options.knobs.is_on(Knob::LimitFoldFp),
            counts: vec![0; table().len()],
            scale: Scale::new(context.options.register_budget),
            pending: Vec::new(),
            is_pending: EntityBitSet::new(),
        }
    }

    /// Applies rules to a whole function until none applies. Returns the number of applications.
    pub fn simplify_function(&mut self, function: &mut Function, context: &mut PhaseContext<'_>) -> u64 {
        for &block in function.blocks().iter().rev() {
            for instruction in function.instructions(block).rev() {
                Self::push(&mut self.pending, &mut self.is_pending, instruction);
            }
        }
        self.run(function, context)
    }

    /// Applies rules around registers that have lost uses: to their definitions, and to their
    /// direct and indirect users up to the depth of rules. Returns the number of applications.
    pub fn simplify_around(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        registers: &[Register],
    ) -> u64 {
        let mut level: Vec<Register> = registers.to_vec();
        let definitions = registers
            .iter()
            .filter_map(|&register| function.unique_definition(register));
        for definition in definitions {
            Self::push(&mut self.pending, &mut self.is_pending, definition);
        }
        for _ in 0..LEVELS {
            let mut next = Vec::new();
            for (user, _) in level.iter().flat_map(|&register| function.uses(register)) {
                if !self.is_pending.contains(user) {
                    Self::push(&mut self.pending, &mut self.is_pending, user);
                    next.extend(function.result_registers(user));
                }
            }
            level = next;
        }
        self.run(function, context)
    }

    /// Returns the name of each applied rule, with the number of its applications.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let counts = self.counts.iter().enumerate();
        counts
            .filter(|&(_, &count)| count != 0)
            .map(|(number, &count)| (table().rule(number).name, count))
    }

    /// Adds the counts to the counters of the phase.
    pub fn report(&self, context: &mut PhaseContext<'_>) {
        for (name, count) in self.counts() {
            context.count(name, count);
        }
        context.count("kept-for-pressure", self.scale.kept_for_pressure());
    }

    fn push(
        pending: &mut Vec<Instruction>,
        is_pending: &mut EntityBitSet<Instruction>,
        instruction: Instruction,
    ) {
        if is_pending.insert(instruction) {
            pending.push(instruction);
        }
    }

    fn run(&mut self, function: &mut Function, context: &mut PhaseContext<'_>) -> u64 {
        let mut applied = 0;
        while let Some(instruction) = self.pending.pop() {
            self.is_pending.remove(instruction);
            // It may have been removed since it was added.
            while function.block_of(instruction).is_some() && self.visit(function, context, instruction) {
                applied += 1;
            }
        }
        applied
    }

    /// Applies the first rule that improves the code. Returns whether there was one.
    fn visit(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
    ) -> bool {
        let rules = table().starting_at(function.operation(instruction));
        let is_fixed = function
            .flags(instruction)
            .contains(InstructionFlags::ATTACHMENTS);
        if rules.is_empty() || is_fixed || !(Matcher { function }).has_plain_sources(instruction) {
            return false;
        }
        let width = match function.operation(instruction) {
            Operation::Isetp | Operation::Fsetp => function.source_type(instruction).bits(),
            _ => function.data_type(instruction).bits(),
        };
        let is_plain = (Matcher { function }).is_plain(instruction);
        for &number in rules {
            let rule = table().rule(number);
            let is_governed = match rule.governed_by {
                Governs::PlainIntegers => is_plain,
                Governs::ExactFloats => self.folds_floats,
                Governs::RuleAlone => true,
            };
            if is_governed
                && (rule.widths.is_empty() || rule.widths.contains(&width))
                && let Some(rewrite) = (rule.rewrite)(&Matcher { function }, instruction)
                && self.apply(function, context, number, instruction, &rewrite)
            {
                return true;
            }
        }
        false
    }

    /// Weighs a rewrite and applies it if it improves the code.
    fn apply(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        number: RuleNumber,
        root: Instruction,
        rewrite: &Rewrite,
    ) -> bool {
        let Some(planned) = apply::plan(function, rewrite) else {
            return false;
        };
        let Some(gone) = self.scale.weigh(function, context, &planned) else {
            return false;
        };
        let name = table().rule(number).name;
        context.remark(RemarkKind::Passed, "Peephole", function, Some(root), || {
            format!("{}: {name}", function.operation(root).name())
        });
        let touched = apply::apply(function, &planned, &gone);
        // An inverted branch has its edges in another order.
        let kept = match function.operation(root).is_terminator() {
            true => Analyses::empty(),
            false => Analyses::CONTROL_FLOW,
        };
        context.keep_only(kept);
        self.counts[number] += 1;
        for instruction in touched {
            Self::push(&mut self.pending, &mut self.is_pending, instruction);
        }
        true
    }
}
