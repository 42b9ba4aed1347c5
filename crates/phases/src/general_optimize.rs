//! GeneralOptimize (phase 29): known predicates, and the selects and branches that depend on them.
//!
//! ```text
//! bix0: %3 = ISETP.lt %1, %2              bix0: %3 = ISETP.lt %1, %2
//!       BRA %3, bix2, fall bix1                 BRA %3, bix2, fall bix1
//! bix1: %4 = ISETP.ge %1, %2        ─▶    bix1: ST %1, [%6]
//!       %5 = SEL %1, %2, %4                     BRA fall bix2
//!       ST %5, [%6]
//!       BRA fall bix2
//! ```
//!
//! A forward walk decides and marks, and an apply step rewrites and consumes the marks; this
//! repeats until nothing is found. The walk visits the blocks in order (the reference's definition
//! anchors) and considers
//!
//! - *operations that set predicates*. An operation that an earlier one makes redundant is
//!   propagated (0x100). If its result is known, or combines a known predicate with another one, it
//!   is propagated conditionally (0x400): its uses are rewritten, and it is removed (0x200) when it
//!   has none left;
//! - *selects*. If the arms are equal, or the simplifier knows the predicate, the select becomes an
//!   arm (0x100), or a move of the arm if that is a constant (0x200);
//! - *conditional branches*. A branch on a known predicate loses a target;
//! - all other instructions. They are only removed if nothing needs them.
//!
//! Requires: SSA form. Preserves: no instruction is added, none has a mark.
//!
//! | file | subject |
//! |---|---|
//! | `fixed_points.rs` | fixed points and their statistics, for all bundles |
//! | `values.rs`, `condition.rs`, `branch_conditions.rs` | structural equivalence; conditions of predicates; conditions known from branches |
//! | `redundant.rs` | comparisons and selects computed twice |
//! | `knowledge.rs` | these together, for a walk |
//! | `eligibility.rs`, `simplifier.rs` | eligibility for folding; decisions of predicates |
//! | `suite.rs` | the sub-passes together, for phases 46 and 65 |
//!
//! Departures from the reference (`sub_908EB0` and its callees):
//!
//! - Marks are consumed by the apply step of [OriCopyProp](super::ori_copy_prop); the reference
//!   leaves that to later passes.
//! - The legality of a fold is proved here, where the reference only looks for an eligible chain.
//!   So tier 0, which commits without a check, and the higher tiers differ in how far they look:
//!   with `limit-fold-fp` (tier 1) comparisons of floats decide nothing, selects of floats fold
//!   only if the simplifier knows the predicate, and those of integers only on GPUs that [back
//!   ends](super::backend) call conservative.
//! - `sub_7DDB50`, which one part of the text calls the number of functions, is the optimisation
//!   level, as the table of options says.
//! - Option 461 is a gate with an unspecified pass condition; 0 closes it.

pub(super) mod branch_conditions;
pub(super) mod condition;
mod eligibility;
pub(super) mod fixed_points;
pub(super) mod knowledge;
pub(super) mod redundant;
mod simplifier;
pub(super) mod suite;
pub(super) mod values;

use super::backend::is_conservative;
use super::knobs::Knob;
use super::ori_copy_prop::marks::{apply_marks, clear_marks};
use super::shared::copies::is_alike;
use super::shared::dead_code::{is_unneeded, remove_unneeded};
use super::shared::replacement::Replacement;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use branch_conditions::{BranchConditions, conditional_branch, parts};
use eligibility::{arms, is_foldable_predicate, is_foldable_select};
use fixed_points::Record;
use knowledge::Knowledge;
use oriel_engine::entity::Block;
use oriel_ori::{Function, Instruction, InstructionFlags, Operand, Operation};
use redundant::Pair;
use std::rc::Rc;

/// The most iterations. Each except the last removes an instruction or an edge.
const ITERATIONS: u32 = 16;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    let is_open = knobs.is_on(Knob::GeneralOptimize)
        && !knobs.is_on(Knob::DisableRedundantBarrierRemoval)
        && knobs.integer(Knob::MembarFlowControl) != 0;
    if !is_open || context.optimization_level() <= 1 {
        return PhaseResult::Unchanged;
    }
    let mut record = Record::default();
    record.fixed_point(ITERATIONS, None, |record, _| {
        simplify_predicates(function, context, record).is_none()
    });
    record.finish(function, context)
}

/// Runs one walk and applies its decisions. If nothing changed, returns the conditions that branches
/// decide.
pub(super) fn simplify_predicates(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    record: &mut Record,
) -> Option<BranchConditions> {
    clear_marks(function);
    let flow = context.control_flow(function);
    let limits_floats = context.options.knobs.is_on(Knob::LimitFoldFp);
    let mut simplifier = PredicateSimplifier {
        knowledge: Knowledge::new(function, flow, !limits_floats),
        limits_floats,
    };
    let found = simplifier.decide_all(function);
    if found.is_empty() {
        return Some(simplifier.knowledge.branch_conditions);
    }
    let mut changed = apply_all(function, context, record, &found);
    record.count("removed-instructions", apply_marks(function, context).removed);
    let unneeded = found
        .iter()
        .filter(|(_, decision)| matches!(decision, Decision::Unneeded));
    let unneeded = remove_unneeded(function, unneeded.map(|&(instruction, _)| instruction).collect());
    record.count("unneeded-instructions", unneeded);
    changed |= unneeded != 0;
    let removed_blocks = function.remove_unreachable_blocks();
    record.count("removed-blocks", removed_blocks as u64);
    context.keep_only(Analyses::empty());
    changed |= removed_blocks != 0;
    (!changed).then_some(simplifier.knowledge.branch_conditions)
}

/// Applies the decisions. Returns whether anything was done.
///
/// Selects come before comparisons that others make redundant, since these may exchange arms.
/// Branches come last, since liveness is queried up to there.
fn apply_all(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    record: &mut Record,
    found: &[(Instruction, Decision)],
) -> bool {
    let mut replacement = Replacement::new(false);
    let mut changed = false;
    for step in 0..3 {
        if changed && step == 1 {
            context.keep_only(Analyses::CONTROL_FLOW);
        }
        for &(instruction, decision) in found.iter().filter(|(_, decision)| decision.step() == step) {
            let is_done = apply(function, context, &mut replacement, instruction, decision);
            record.count(decision.counter(), u64::from(is_done));
            changed |= is_done;
        }
    }
    changed
}

/// The decision about an instruction.
#[derive(Clone, Copy, Debug)]
enum Decision {
    /// An earlier instruction computes the same.
    Redundant(Pair),
    /// A select becomes its arm with this number.
    Arm(usize),
    /// A combination of predicates becomes its source with this number.
    Part(usize),
    /// A branch always goes to this block.
    Branch(Block),
    /// Nothing needs it; liveness decides what is removed.
    Unneeded,
}

impl Decision {
    /// Returns the step in which the decision is applied.
    const fn step(self) -> u32 {
        match self {
            Self::Arm(_) | Self::Part(_) | Self::Unneeded => 0,
            Self::Redundant(_) => 1,
            Self::Branch(_) => 2,
        }
    }

    /// Returns the counter of such decisions.
    const fn counter(self) -> &'static str {
        match self {
            Self::Redundant(_) => "redundant-computations",
            Self::Arm(_) => "folded-selects",
            Self::Part(_) => "simplified-predicates",
            Self::Branch(_) => "decided-branches",
            Self::Unneeded => "unneeded-instructions",
        }
    }
}

struct PredicateSimplifier {
    knowledge: Knowledge,
    /// The tier: 1 with `limit-fold-fp`, else 0.
    limits_floats: bool,
}

impl PredicateSimplifier {
    fn decide_all(&mut self, function: &Function) -> Vec<(Instruction, Decision)> {
        let mut found = Vec::new();
        for &anchor in Rc::clone(&self.knowledge.flow).order.as_slice() {
            for instruction in function.instructions(anchor) {
                if let Some(decision) = self.decide(function, instruction, anchor) {
                    found.push((instruction, decision));
                }
            }
        }
        found
    }

    fn decide(&mut self, function: &Function, instruction: Instruction, anchor: Block) -> Option<Decision> {
        if is_foldable_predicate(function, instruction) {
            return self.decide_predicate(function, instruction, anchor);
        }
        match function.operation(instruction) {
            Operation::Sel => self.decide_select(function, instruction, anchor),
            Operation::Bra => {
                let (predicate, [taken, other]) = conditional_branch(function, anchor)?;
                let holds = self.knowledge.simplify(function, predicate, anchor)?;
                Some(Decision::Branch(if holds { taken } else { other }))
            }
            _ => is_unneeded(function, instruction).then_some(Decision::Unneeded),
        }
    }

    fn decide_predicate(
        &mut self,
        function: &Function,
        instruction: Instruction,
        anchor: Block,
    ) -> Option<Decision> {
        if is_unneeded(function, instruction) {
            return Some(Decision::Unneeded);
        }
        let result = function.result(instruction, 0).as_register()?;
        if let Some((Operation::And | Operation::Or, [first, second])) = parts(function, result) {
            let is_and = function.operation(instruction) == Operation::And;
            let known = |operand| self.knowledge.value_of_operand(function, operand, anchor);
            // The operand that does not decide the combination remains.
            let rest = match (known(first), known(second)) {
                (Some(value), None) if value == is_and => 1,
                (None, Some(value)) if value == is_and => 0,
                _ if first == second => 0,
                _ => return None,
            };
            let operand = function.source(instruction, rest);
            let is_plain = !operand.is_modified() && !operand.is_undefined();
            return is_plain.then_some(Decision::Part(rest));
        }
        self.knowledge
            .visit(function, instruction)
            .map(Decision::Redundant)
    }

    fn decide_select(&mut self, function: &Function, select: Instruction, anchor: Block) -> Option<Decision> {
        if is_unneeded(function, select) {
            return Some(Decision::Unneeded);
        }
        if is_foldable_select(function, select)
            && let Some(arm) = self.arm(function, select, anchor)
        {
            return Some(Decision::Arm(arm));
        }
        self.knowledge.visit(function, select).map(Decision::Redundant)
    }

    /// Returns the number of the arm that a select becomes, as far as the tier looks.
    fn arm(&mut self, function: &Function, select: Instruction, anchor: Block) -> Option<usize> {
        let [first, second] = arms(function, select);
        let is_float = function.data_type(select).is_float();
        if self.limits_floats && !is_float && !is_conservative(function.info.sm) {
            return None;
        }
        if !(self.limits_floats && is_float) && self.is_same(function, first, second) {
            return Some(0);
        }
        let predicate = function.source(select, 2);
        let holds = self.knowledge.simplify(function, predicate, anchor)?;
        Some(usize::from(!holds))
    }

    fn is_same(&mut self, function: &Function, first: Operand, second: Operand) -> bool {
        match (first.as_register(), second.as_register()) {
            (Some(first), Some(second)) => {
                let values = &mut self.knowledge.values;
                values.of(function, first) == values.of(function, second)
            }
            _ => first == second,
        }
    }
}

/// Rewrites the subject of a decision and marks the instruction. Returns whether it was done.
fn apply(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    replacement: &mut Replacement,
    instruction: Instruction,
    decision: Decision,
) -> bool {
    let Some(block) = function.block_of(instruction) else {
        return false;
    };
    let is_done = match decision {
        Decision::Redundant(pair) => {
            return function.block_of(pair.leader).is_some()
                && redundant::replace(function, context, replacement, pair);
        }
        Decision::Branch(target) => function.make_unconditional(block, target).is_ok(),
        // These are applied after the others.
        Decision::Unneeded => return false,
        Decision::Part(number) => {
            let marks = InstructionFlags::MARK_PREDICATED | InstructionFlags::MARK_DEFERRED;
            replace_by_source(function, instruction, number, marks)
        }
        Decision::Arm(number) => match function.source(instruction, number) {
            arm if arm.as_register().is_some() => {
                replace_by_source(function, instruction, number, InstructionFlags::MARK_PROPAGATED)
            }
            arm => {
                function.set_operation(instruction, Operation::Mov);
                function.set_sources(instruction, &[arm]);
                function.set_marks(instruction, InstructionFlags::MARK_DEFERRED, true);
                true
            }
        },
    };
    if is_done {
        context.remark(
            RemarkKind::Passed,
            "Predicate",
            function,
            Some(instruction),
            || match decision {
                Decision::Arm(_) => "replaced the select by one of its arms".to_owned(),
                Decision::Part(_) => "replaced the predicate by one of its parts".to_owned(),
                Decision::Branch(target) => format!("control always goes to bix{}", target.as_u32()),
                Decision::Redundant(_) | Decision::Unneeded => unreachable!("these have returned"),
            },
        );
    }
    is_done
}

/// Replaces the uses of an instruction's result by a source of the same kind, and marks the
/// instruction.
fn replace_by_source(
    function: &mut Function,
    instruction: Instruction,
    number: usize,
    marks: InstructionFlags,
) -> bool {
    let result = function.result(instruction, 0).as_register();
    let source = function.source(instruction, number).as_register();
    let (Some(result), Some(source)) = (result, source) else {
        return false;
    };
    if result == source || !is_alike(function, result, source) {
        return false;
    }
    function.replace_uses(result, function.register_operand(source));
    function.set_marks(instruction, marks, true);
    true
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
