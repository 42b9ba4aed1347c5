//! GeneralOptimizeEarly (phase 13): merges equivalent conditional control flow.
//!
//! ```text
//! bix0: %3 = ISETP.lt %1, %2              bix0: %3 = ISETP.lt %1, %2
//!       BRA %3, bix3, fall bix1                 BRA %3, bix3, fall bix1
//! bix1: %4 = ISETP.gt %2, %1        ─▶    bix1: BRA fall bix2
//!       BRA %4, bix3, fall bix2           bix2: ...
//! bix2: ...
//! ```
//!
//! and a branch between two ways that do the same becomes a way:
//!
//! ```text
//! bix0: BRA %3, bix1, fall bix2           bix0: BRA fall bix1
//! bix1: %5 = IADD %1, 1                   bix1: %5 = IADD %1, 1
//!       BRA bix3                    ─▶          BRA bix3
//! bix2: %6 = IADD %1, 1                   bix3: ...
//!       BRA fall bix3
//! bix3: %7 = PHI %5, bix1, %6, bix2
//! ```
//!
//! For each block, matches are found and applied until there are none (knob 464 limits their number
//! in a function):
//!
//! - a comparison or select that is computed already, or whose complement is;
//! - a branch on a condition that an earlier branch has decided: two exits in a row on the same
//!   condition;
//! - a branch whose two sides lead through empty blocks to one block where PHIs have equal values,
//!   or to blocks with equal instructions.
//!
//! Requires: SSA form. Preserves: no instruction is added, copied or moved; convergent instructions
//! stay where they are, and two of them are never merged.
//!
//! At level 1 only decided branches are handled, as on the reference's path for a single function.
//! The state that the reference keeps for a chain (`sub_753600`) is a match here. Its flag for
//! functions that were processed already is not needed, as the manager runs the phase once.

mod targets;

use super::general_optimize::branch_conditions::conditional_branch;
use super::general_optimize::fixed_points::Record;
use super::general_optimize::knowledge::Knowledge;
use super::general_optimize::redundant;
use super::knobs::Knob;
use super::shared::dead_code::remove_unneeded;
use super::shared::replacement::Replacement;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::entity::Block;
use oriel_ori::{ControlFlow, Function, Instruction};
use std::rc::Rc;
use targets::EqualTargets;

/// The most iterations for a block.
const ITERATIONS: u32 = 1000;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    if knobs.is_on(Knob::DisableMergeEquivalentConditionalFlow) || !knobs.is_on(Knob::GeneralOptimize) {
        return PhaseResult::Unchanged;
    }
    let mut budget = knobs.budget(Knob::MergeEquivalentConditionalFlowBudget);
    let is_whole = match context.optimization_level() {
        0 => return PhaseResult::Unchanged,
        level => level > 1,
    };
    let flow = context.control_flow(function);
    let mut matcher = Matcher::new(function, Rc::clone(&flow), is_whole);
    let mut record = Record::default();
    for &block in flow.order.as_slice() {
        let mut next = function.first(block);
        record.fixed_point(ITERATIONS, Some(&mut budget), |record, may_change| {
            while let Some(found) = matcher.find(function, block, &mut next) {
                if !may_change() {
                    return false;
                }
                let predicate = conditional_branch(function, block).map(|(predicate, _)| predicate);
                if matcher.apply(function, context, block, found) {
                    record.count(found.counter(), 1);
                    let definition = predicate.and_then(|it| function.unique_definition(it.as_register()?));
                    let unneeded = remove_unneeded(function, definition.into_iter().collect());
                    record.count("unneeded-instructions", unneeded);
                    return true;
                }
            }
            false
        });
    }
    if record.has_changes() {
        record.count("removed-blocks", function.remove_unreachable_blocks() as u64);
        context.keep_only(Analyses::empty());
    }
    record.finish(function, context)
}

/// An equivalence that was found.
#[derive(Clone, Copy, Debug)]
enum Match {
    /// A comparison or select.
    Computation(redundant::Pair),
    /// The branch always goes to this block.
    Decided(Block),
    /// Both sides do the same.
    Targets(EqualTargets),
}

impl Match {
    const fn counter(self) -> &'static str {
        match self {
            Self::Computation(_) => "redundant-computations",
            Self::Decided(_) => "decided-branches",
            Self::Targets(EqualTargets::Tail(_)) => "empty-diamonds",
            Self::Targets(EqualTargets::Blocks { .. }) => "equal-blocks",
        }
    }
}

struct Matcher {
    knowledge: Knowledge,
    replacement: Replacement,
    /// True if more than the work of level 1 is done.
    is_whole: bool,
}

impl Matcher {
    fn new(function: &Function, flow: Rc<ControlFlow>, is_whole: bool) -> Self {
        Self {
            knowledge: Knowledge::new(function, flow, true),
            replacement: Replacement::new(false),
            is_whole,
        }
    }

    /// Returns the next match in a block; `next` is the first instruction that was not examined.
    fn find(&mut self, function: &Function, block: Block, next: &mut Option<Instruction>) -> Option<Match> {
        while let Some(instruction) = next.filter(|_| self.is_whole) {
            *next = function.next(instruction);
            if let Some(pair) = self.knowledge.visit(function, instruction) {
                return Some(Match::Computation(pair));
            }
        }
        let (predicate, targets) = conditional_branch(function, block)?;
        if let Some(holds) = self.knowledge.value_of_operand(function, predicate, block) {
            return Some(Match::Decided(targets[usize::from(!holds)]));
        }
        let Knowledge { flow, values, .. } = &mut self.knowledge;
        let equal = targets::find_equal(function, flow, values, block, targets);
        equal.filter(|_| self.is_whole).map(Match::Targets)
    }

    /// Applies a match. Returns whether it was done.
    fn apply(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        block: Block,
        found: Match,
    ) -> bool {
        let branch = function.terminator(block);
        let (is_done, what) = match found {
            Match::Computation(pair) => {
                let replacement = &mut self.replacement;
                return redundant::replace(function, context, replacement, pair);
            }
            Match::Decided(target) => (
                function.make_unconditional(block, target).is_ok(),
                "another branch decides it",
            ),
            Match::Targets(equal) => (targets::merge(function, block, equal), "both targets do the same"),
        };
        if is_done {
            if matches!(found, Match::Targets(_)) {
                self.knowledge.branch_conditions.forget(block);
            }
            // Liveness, if needed, must be that of the new edges.
            context.keep_only(Analyses::empty());
            context.remark(RemarkKind::Passed, "Branch", function, branch, || {
                format!("removed the branch at the end of bix{}: {what}", block.as_u32())
            });
        }
        is_done
    }
}

#[cfg(test)]
mod tests;
