//! Coalescing: merges the registers of a copy if their live ranges do not interfere, and removes
//! the copy.
//!
//! PHI elimination leaves a copy on every edge, and LLVM's coalescer merges as many as it can; this
//! examines the rest after the phases of the late stage. Two registers may be merged if neither is
//! live where the other is defined, except by a copy between the two: there both hold the same
//! value.
//!
//! All queries of a round refer to the function at the round's start. That is sound as long as no
//! register takes part twice: merging two others changes neither its definitions nor its uses.

use super::marks::Counts;
use super::policy::Policy;
use crate::copies::{is_alike, registers_of_copy};
use crate::{Analyses, PhaseContext, RemarkKind};
use oriel_engine::entity::{Block, EntitySet, Register};
use oriel_ori::analysis::InterferenceTest;
use oriel_ori::{Expected, Function, Instruction, Role};

/// The most passes over the function.
const ROUNDS: usize = 8;

/// The limit for definitions of one register times uses of the other, which is the number of steps
/// of a query.
const QUESTION_LIMIT: usize = 1 << 12;

/// The most definitions, and uses, of a register that takes part.
const MENTION_LIMIT: usize = 256;

/// Merges registers. Returns how many copies were removed.
pub(super) fn coalesce(
    function: &mut Function,
    policy: &mut Policy,
    context: &mut PhaseContext<'_>,
) -> Counts {
    let mut total = Counts::default();
    for round in 0..ROUNDS {
        let (merges, is_last) = find_merges(function, policy, context, round == 0);
        if merges.is_empty() {
            break;
        }
        for merge in &merges {
            total.replaced += rename(function, merge.gone, merge.kept);
        }
        total.removed += remove_identities(function);
        context.keep_only(Analyses::CONTROL_FLOW);
        if is_last {
            break;
        }
    }
    context.count("coalesced", total.removed);
    total
}

struct Merge {
    gone: Register,
    kept: Register,
}

/// Returns the registers to merge in a round, and whether no copy was postponed because of them.
fn find_merges(
    function: &Function,
    policy: &mut Policy,
    context: &mut PhaseContext<'_>,
    speaks: bool,
) -> (Vec<Merge>, bool) {
    let copies = copies_of(function);
    if copies.is_empty() {
        return (Vec::new(), true);
    }
    let liveness = context.liveness(function);
    let test = InterferenceTest::new(function, &liveness);
    let mut taken: EntitySet<Register> = EntitySet::with_capacity(function.register_limit());
    let mut merges = Vec::new();
    let mut is_last = true;
    for (copy, block, gone, kept) in copies {
        if taken.contains(gone) || taken.contains(kept) {
            is_last = false;
            continue;
        }
        let problem = problem_with(function, policy, &test, block, gone, kept);
        if let Some(problem) = problem {
            if speaks {
                context.remark(RemarkKind::Missed, "Coalesce", function, Some(copy), || {
                    format!("%{} and %{} stay apart: {problem}", gone.as_u32(), kept.as_u32())
                });
            }
            continue;
        }
        taken.insert(gone);
        taken.insert(kept);
        merges.push(Merge { gone, kept });
        context.remark(RemarkKind::Passed, "Coalesce", function, Some(copy), || {
            format!(
                "merged %{} and %{} into one register",
                gone.as_u32(),
                kept.as_u32()
            )
        });
    }
    (merges, is_last)
}

/// Returns the copies between registers of one kind, with their blocks and registers.
fn copies_of(function: &Function) -> Vec<(Instruction, Block, Register, Register)> {
    let mut copies = Vec::new();
    for &block in function.blocks() {
        for copy in function.instructions(block) {
            if let Some((result, source)) = registers_of_copy(function, copy)
                && is_alike(function, result, source)
            {
                copies.push((copy, block, result, source));
            }
        }
    }
    copies
}

/// Returns why two registers cannot be merged.
fn problem_with(
    function: &Function,
    policy: &mut Policy,
    test: &InterferenceTest<'_>,
    block: Block,
    gone: Register,
    kept: Register,
) -> Option<&'static str> {
    if gone == kept {
        return None;
    }
    let count = |register| {
        let definitions = function.definitions(register).take(MENTION_LIMIT + 1);
        let uses = function.uses(register).take(MENTION_LIMIT + 1);
        [definitions.count(), uses.count()]
    };
    let ([gone_definitions, gone_uses], [kept_definitions, kept_uses]) = (count(gone), count(kept));
    let counts = [gone_definitions, gone_uses, kept_definitions, kept_uses];
    let steps = gone_definitions * kept_uses + kept_definitions * gone_uses;
    if steps > QUESTION_LIMIT || counts.into_iter().any(|count| count > MENTION_LIMIT) {
        return Some("they are mentioned too often");
    }
    if kept_definitions == 0 {
        return Some("one of them is never written");
    }
    let is_address = |(user, number)| function.expected(user, Role::Source, number) == Expected::Address;
    if !policy.changes_addresses() && function.uses(gone).chain(function.uses(kept)).any(is_address) {
        return Some("one of them is an address, and CopyPropAddr or the pipeline's progress forbids that");
    }
    if test.interferes_but_for_copies(gone, kept) {
        return Some("their values are live at the same time");
    }
    if !policy.copies.spend() {
        return Some("the budget is exhausted");
    }
    let is_local = |register: Register| {
        let mut users = function.uses(register);
        users.all(|(user, _)| function.block_of(user) == Some(block))
    };
    if !is_local(gone) && !policy.global.spend() {
        return Some("the budget is exhausted");
    }
    None
}

/// Replaces every mention of a register by another. Returns how many there were.
fn rename(function: &mut Function, gone: Register, kept: Register) -> u64 {
    let mut changed = 0;
    if gone == kept {
        return changed;
    }
    while let Some((instruction, number)) = function.definitions(gone).next() {
        let operand = function.result(instruction, number).with_register(kept);
        function.set_result(instruction, number, operand);
        changed += 1;
    }
    while let Some((instruction, number)) = function.uses(gone).next() {
        let operand = function.source(instruction, number);
        let renamed = operand.with_register(kept).undefined(operand.is_undefined());
        function.set_source(instruction, number, renamed);
        changed += 1;
    }
    changed
}

/// Removes copies of registers to themselves. Returns how many.
fn remove_identities(function: &mut Function) -> u64 {
    let is_identity = |copy: &Instruction| {
        registers_of_copy(function, *copy).is_some_and(|(result, source)| result == source)
    };
    let copies = function.all_instructions();
    let identities: Vec<Instruction> = copies.filter(is_identity).collect();
    for &copy in &identities {
        function.remove(copy);
    }
    identities.len() as u64
}
