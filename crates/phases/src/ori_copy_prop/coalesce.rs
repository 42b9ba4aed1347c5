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
use super::settings::CopySettings;
use crate::shared::copies::{is_alike, registers_of_copy};
use crate::{Analyses, PhaseContext, RemarkKind};
use oriel_engine::entity::{Block, EntitySet, Register};
use oriel_engine::live::SlotIndex;
use oriel_ori::{Expected, Function, Instruction, Liveness, Role};
use smallvec::SmallVec;

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
    settings: &mut CopySettings,
    context: &mut PhaseContext<'_>,
) -> Counts {
    let mut total = Counts::default();
    for round in 0..ROUNDS {
        let (merges, is_last) = find_merges(function, settings, context, round == 0);
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
    settings: &mut CopySettings,
    context: &mut PhaseContext<'_>,
    speaks: bool,
) -> (Vec<Merge>, bool) {
    let copies = copies_of(function);
    if copies.is_empty() {
        return (Vec::new(), true);
    }
    let liveness = context.liveness(function);
    let mut taken: EntitySet<Register> = EntitySet::with_capacity(function.register_limit());
    let mut merges = Vec::new();
    let mut is_last = true;
    for (copy, block, gone, kept) in copies {
        if taken.contains(gone) || taken.contains(kept) {
            is_last = false;
            continue;
        }
        let problem = problem_with(function, settings, &liveness, block, gone, kept);
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
    settings: &mut CopySettings,
    liveness: &Liveness,
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
    if !settings.changes_addresses() && function.uses(gone).chain(function.uses(kept)).any(is_address) {
        return Some("one of them is an address, and CopyPropAddr or the pipeline's progress forbids that");
    }
    if interfere_but_for_copies(function, liveness, gone, kept) {
        return Some("their values are live at the same time");
    }
    if !settings.copies.spend() {
        return Some("the budget is exhausted");
    }
    let is_local = |register: Register| {
        let mut users = function.uses(register);
        users.all(|(user, _)| function.block_of(user) == Some(block))
    };
    if !is_local(gone) && !settings.global.spend() {
        return Some("the budget is exhausted");
    }
    None
}

/// True if two registers hold different values at the same time. A copy between them gives both the same value, so both may
/// be live after it (Chaitin's exception for copies). Inline assembly may write a result before it has read its sources,
/// whether it declares that or not.
fn interfere_but_for_copies(
    function: &Function,
    liveness: &Liveness,
    one: Register,
    other: Register,
) -> bool {
    let mut copies: SmallVec<[SlotIndex; 8]> = SmallVec::new();
    for (defined, source) in [(one, other), (other, one)] {
        for (definition, _) in function.definitions(defined) {
            if function.is_inline_assembly(definition) {
                let mut sources = function.sources(definition).iter();
                if sources.any(|read| read.read_register() == Some(source)) {
                    return true;
                }
            } else if registers_of_copy(function, definition) == Some((defined, source)) {
                copies.push(liveness.index(definition).register_slot(false));
            }
        }
    }
    let (one, other) = (liveness.range(one), liveness.range(other));
    one.overlaps_except_copies(&other, |at| copies.contains(&at))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kernel;
    use oriel_engine::entity::EntityRef;

    fn interfere(body: &str) -> bool {
        let function = kernel("sm_80 late", &format!("bix0:\n{body}    RET\n"));
        let liveness = Liveness::of(&function);
        let [one, other] = [1, 2].map(Register::new);
        let found = interfere_but_for_copies(&function, &liveness, one, other);
        assert_eq!(
            interfere_but_for_copies(&function, &liveness, other, one),
            found,
            "{body}"
        );
        found
    }

    #[test]
    fn copies_between_two_registers_are_no_reason_to_keep_them_apart() {
        let text = |middle: &str, end: &str| {
            format!(
                "    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 %1
{middle}    ST.global.b32 %1, [8]
    ST.global.b32 %2, [8]
{end}"
            )
        };
        assert!(!interfere(&text("", "")));
        // Another value while the other is live.
        assert!(interfere(&text("    %2 = IADD.b32 %2, 1\n", "")));
        assert!(interfere(&text("    %1 = IADD.b32 %2, 1\n", "")));
        // Back again.
        assert!(!interfere(&text(
            "    %2 = MOV.b32 %1\n    %1 = MOV.b32 %2\n",
            ""
        )));
        // Another value when the other is dead.
        let end = "    %1 = LD.global.b32 [4]\n    ST.global.b32 %1, [8]\n";
        assert!(!interfere(&text("", end)));
    }

    #[test]
    fn a_modified_copy_is_another_value() {
        let text = |source: &str| {
            format!(
                "    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 {source}
    ST.global.b32 %1, [8]
    ST.global.b32 %2, [8]
"
            )
        };
        assert!(!interfere(&text("%1")));
        assert!(interfere(&text("-%1")));
    }

    #[test]
    fn inline_assembly_may_write_before_it_reads() {
        let text = |middle: &str| {
            format!("    %1:R32 = LD.global.b32 [0]\n    %2:R32 = {middle}\n    ST.global.b32 %2, [8]\n")
        };
        assert!(!interfere(&text("IADD.b32 %1, 1")));
        assert!(interfere(&text("ASM &\"...\", 0, 2818058, 2818057, %1")));
    }

    #[test]
    fn results_that_nothing_reads_need_a_register() {
        assert!(interfere(
            "    %1:R32 = LD.global.b32 [0]
    %2:R32 = LD.global.b32 [4]
    ST.global.b32 %1, [8]
"
        ));
        assert!(interfere(
            "    %1:R32, %2:R32 = LD.global.b32.b32 [0]\n    ST.global.b32 %1, [8]\n"
        ));
    }
}
