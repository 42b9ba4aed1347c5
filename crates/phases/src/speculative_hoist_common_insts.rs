//! SpeculativeHoistCommonInsts (phase 56): hoists expressions that every target of a branch computes
//! to before the branch.
//!
//! ```text
//! bix0: BRA %p, bix2, fall bix1          bix0: %3 = IMUL %1, %2
//! bix1: %3 = IMUL %1, %2                       BRA %p, bix2, fall bix1
//!       ST %3, [%5]                ─▶    bix1: ST %3, [%5]
//! bix2: %4 = IMUL %1, %2                 bix2: %6 = IADD %3, 1
//!       %6 = IADD %4, 1
//! ```
//!
//! These are very busy expressions, one branch at a time: the targets must have no other
//! predecessor. The first target's expressions are put into a table. In every other target an
//! expression that is in the table is paired, and its result is identified with the first one's
//! from there on, so that dependent expressions pair as well. Expressions in all targets are
//! hoisted. The last branches come first, so that an expression moves up as far as it is common.
//!
//! A load is hoisted only if it reads the version of memory at the branch, and precedes everything
//! in its target that might keep it from being reached (calls, barriers, traps). Constants stay:
//! recomputing them is cheaper than holding them. Nothing is hoisted above a terminator that Ori does
//! not know: it may write memory that the targets read, and define registers that they use.
//!
//! Requires: SSA form, control flow. Preserves: control flow. No path computes more than before:
//! hoisted expressions were on all of them. An expression stays if its result would exceed the
//! register budget in any block through which it would be live.
//!
//! The reference gives this phase's number, its position and the knob that enables it; the method
//! is Oriel's.

use super::knobs::Knob;
use super::shared::expressions::{ExpressionKind, describe, expression_kind, versions_for};
use super::shared::value_table::ValueTable;
use super::{PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, Register};
use oriel_engine::hash::CodeHash;
use oriel_ori::analysis::PressureMap;
use oriel_ori::{ControlFlow, Function, Instruction, MemoryVersions, OperationFlags, Position};
use smallvec::SmallVec;
use std::collections::HashMap;

/// An expression and its equals in the other targets.
type Equals = SmallVec<[Instruction; 2]>;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    if !context.options.knobs.is_on(Knob::SpeculativeHoistCommonInsts) {
        return PhaseResult::Unchanged;
    }
    let flow = context.control_flow(function);
    let mut hoisting = Hoisting {
        versions: None,
        pressure: None,
        hoisted: 0,
    };
    for &block in flow.order.as_slice().iter().rev() {
        let targets = own_targets(&flow, block);
        if targets.len() > 1 {
            hoisting.hoist_into(function, context, block, &targets);
        }
    }
    context.result_of("hoisted-expressions", hoisting.hoisted)
}

/// Returns the targets of a block, if it is their only predecessor.
fn own_targets(flow: &ControlFlow, block: Block) -> SmallVec<[Block; 2]> {
    let mut targets = SmallVec::new();
    for &target in flow.graph.successors(block) {
        let is_own = target != block && flow.graph.predecessors(target).iter().all(|&from| from == block);
        if !is_own {
            return SmallVec::new();
        }
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// The state between branches.
struct Hoisting {
    /// Computed for the first suitable branch; hoisting changes no memory.
    versions: Option<Option<MemoryVersions>>,
    /// Computed for the first hoisted expression.
    pressure: Option<PressureMap>,
    hoisted: usize,
}

impl Hoisting {
    fn hoist_into(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        block: Block,
        targets: &[Block],
    ) {
        let branch = function.terminator(block);
        let Some(branch) = branch.filter(|&branch| !function.operation(branch).is_opaque()) else {
            return;
        };
        let flow = context.control_flow(function);
        let versions = self.versions.get_or_insert_with(|| versions_for(function, &flow));
        // Expressions that depend on a value that stays must stay as well.
        let mut staying: EntityBitSet<Register> = EntityBitSet::new();
        for equals in common_expressions(function, versions.as_ref(), targets) {
            let stays = function
                .sources(equals[0])
                .iter()
                .filter_map(|source| source.as_register())
                .any(|source| staying.contains(source));
            if stays || !self.has_room(function, context, block, targets, &equals) {
                staying.extend(function.result_registers(equals[0]));
                continue;
            }
            let (&first, others) = equals.split_first().expect("an expression equals itself");
            context.remark(RemarkKind::Passed, "Hoisted", function, Some(first), || {
                let operation = function.operation(first).name();
                format!(
                    "hoisted {operation} above the branch, for {} targets",
                    targets.len()
                )
            });
            function.move_to(first, Position::Before(branch));
            for &other in others {
                let pairs: SmallVec<[(Register, Register); 2]> = function
                    .result_registers(other)
                    .zip(function.result_registers(first))
                    .collect();
                for (old, new) in pairs {
                    function.replace_uses(old, function.register_operand(new));
                }
                function.merge_into(other, first);
            }
            self.hoisted += 1;
        }
    }

    /// True if there is room for the results in the block and all through the targets. They count
    /// as live there then. Shortened ranges of sources are not considered, so this is an upper
    /// bound.
    fn has_room(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        block: Block,
        targets: &[Block],
        equals: &[Instruction],
    ) -> bool {
        let map = self
            .pressure
            .get_or_insert_with(|| context.pressure_map(function));
        let blocks = || targets.iter().copied().chain([block]);
        let budget = context.options.register_budget;
        let results: SmallVec<[Register; 4]> = function.result_registers(equals[0]).collect();
        let fits = blocks().all(|block| map.fits_through(function, block, &results, budget));
        if fits {
            for (block, &result) in
                blocks().flat_map(|block| results.iter().map(move |result| (block, result)))
            {
                map.add_through(function, block, result);
            }
        } else {
            context.count("kept-for-pressure", 1);
            context.remark(RemarkKind::Missed, "HighPressure", function, Some(equals[0]), || {
                let operation = function.operation(equals[0]).name();
                format!("{operation} stays in each target of the branch: there is no room for its value before it")
            });
        }
        fits
    }
}

/// Returns the expressions of all targets, each behind those that it depends on.
fn common_expressions(
    function: &Function,
    versions: Option<&MemoryVersions>,
    targets: &[Block],
) -> Vec<Equals> {
    let mut table: ValueTable<Equals> = ValueTable::default();
    let mut words = Vec::new();
    for (number, &target) in targets.iter().enumerate() {
        // Maps the results of this target's expressions to those in the first.
        let mut names: HashMap<Register, Register> = HashMap::new();
        for instruction in movable_expressions(function, target) {
            let name = |register| names.get(&register).copied().unwrap_or(register);
            describe(function, instruction, versions, name, &mut words);
            let hash = CodeHash::new().words(&words).finish();
            match table.find(&words, hash) {
                None if number == 0 => {
                    table.insert(&words, hash, SmallVec::from_elem(instruction, 1));
                }
                // Each earlier target has it, and this one not yet.
                Some(value) if table[value].len() == number => {
                    let firsts = function.result_registers(table[value][0]);
                    names.extend(function.result_registers(instruction).zip(firsts));
                    table[value].push(instruction);
                }
                _ => {}
            }
        }
    }
    let found = table.into_values();
    found.filter(|equals| equals.len() == targets.len()).collect()
}

/// Returns the expressions of a block that could move to the end of its only predecessor, judging
/// by the instructions before them.
fn movable_expressions(function: &Function, block: Block) -> impl Iterator<Item = Instruction> + '_ {
    let barriers = OperationFlags::SIDE_EFFECTS
        | OperationFlags::CONVERGENT
        | OperationFlags::CALL_SEQUENCE
        | OperationFlags::OPAQUE;
    let mut is_reached = true;
    function.instructions(block).filter(move |&instruction| {
        let flags = function.operation(instruction).flags() | function.effects(instruction);
        is_reached &= !flags.intersects(barriers);
        match expression_kind(function, instruction) {
            Some(ExpressionKind::Arithmetic | ExpressionKind::SpecialFunction | ExpressionKind::Copy) => true,
            Some(ExpressionKind::Load) => is_reached,
            Some(ExpressionKind::Constant | ExpressionKind::Phi) | None => false,
        }
    })
}

#[cfg(test)]
mod tests;
