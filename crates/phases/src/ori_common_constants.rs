//! OriCommonConstants: reuses a register that already holds a constant instead of moving the
//! constant again.
//!
//! ```text
//! bix0: %1 = MOV 1065353216             bix0: %1 = MOV 1065353216
//!       ST %1, [%4]                           ST %1, [%4]
//!       BRA %p, bix2, fall bix1   ─▶          BRA %p, bix2, fall bix1
//! bix1: %2 = MOV 1065353216             bix1: %3 = FSUB %1, %5
//!       %3 = FSUB %2, %5
//! ```
//!
//! Moves of the same bits into registers of one kind are grouped. If one dominates another, it
//! replaces the other's uses, provided the register budget allows the longer live range. Otherwise
//! the move stays: it costs an instruction, but no register in between. Constants that are live too
//! long in the input are handled by [OriSplitLiveRanges](super::ori_split_live_ranges), which
//! recomputes them after points of high pressure.
//!
//! A constant used only by PHIs stays: PHI elimination gives each PHI a register of its own, to
//! which the constant must be moved anyway, so nothing would be saved. The late
//! [OriCopyProp](super::ori_copy_prop) finds duplicates in such registers after PHI elimination;
//! its other instance replaces constants by operands where possible.
//!
//! ptxas has no phase of this name: its constants come from constant banks. After phase 51
//! (ExtractShaderConstsFinal), a constant is in a register only if no operand can hold it. So this
//! phase runs at that point.
//!
//! Requires: SSA form. Preserves: control flow; no instruction is added.

use super::shared::copies::is_alike;
use super::{PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::entity::{Block, Register};
use oriel_ori::{ControlFlow, Function, Instruction, Operation};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A register that holds a constant, and its definition.
#[derive(Clone, Copy)]
struct ConstantHolder {
    register: Register,
    definition: Instruction,
    block: Block,
}

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let flow = context.control_flow(function);
    let repeated = find_repeated(function, &flow);
    if repeated.is_empty() {
        return PhaseResult::Unchanged;
    }
    let mut map = context.pressure_map(function);
    let mut commoned = 0;
    for (leader, other) in repeated {
        let extension = map.extension(function, leader.register, other.definition);
        let [kept, gone] = [leader, other].map(|holder| holder.register.as_u32());
        if !extension.fits(context.options.register_budget) {
            context.remark(
                RemarkKind::Missed,
                "Constant",
                function,
                Some(other.definition),
                || format!("created again: %{kept} already holds it, but there is no room to keep it live up to here"),
            );
            context.count("made-again", 1);
            continue;
        }
        map.accept(function, &extension, Some(other.register));
        context.remark(
            RemarkKind::Passed,
            "Constant",
            function,
            Some(other.definition),
            || format!("replaced %{gone} by %{kept}, which holds the same value"),
        );
        let operand = function.register_operand(leader.register);
        function.replace_uses(other.register, operand);
        function.merge_into(other.definition, leader.definition);
        commoned += 1;
    }
    context.result_of("commoned-constants", commoned)
}

/// Returns pairs of definitions of one constant, the first dominating the second; no second is also
/// a first.
fn find_repeated(function: &Function, flow: &ControlFlow) -> Vec<(ConstantHolder, ConstantHolder)> {
    let mut leaders: HashMap<u64, SmallVec<[ConstantHolder; 2]>> = HashMap::new();
    let mut repeated = Vec::new();
    for &block in flow.order.as_slice() {
        for definition in function.instructions(block) {
            let Some((register, bits)) = constant_of(function, definition) else {
                continue;
            };
            let own = ConstantHolder {
                register,
                definition,
                block,
            };
            let leaders = leaders.entry(bits).or_default();
            let dominating = leaders.iter().find(|leader| {
                is_alike(function, leader.register, register)
                    && flow.dominators.dominates(leader.block, block)
            });
            match dominating {
                Some(&leader) if has_other_users_than_phis(function, register) => {
                    repeated.push((leader, own))
                }
                Some(_) => {}
                None => leaders.push(own),
            }
        }
    }
    repeated
}

/// Returns the register to which an instruction moves a constant, and the bits.
fn constant_of(function: &Function, definition: Instruction) -> Option<(Register, u64)> {
    if function.operation(definition) != Operation::Mov || !function.is_removable_if_unused(definition) {
        return None;
    }
    let register = function.result(definition, 0).as_register()?;
    let bits = function.register(register).bits;
    let mask = u64::MAX.checked_shr(64 - u32::from(bits.min(64)))?;
    let source = function.source(definition, 0);
    let value = function
        .constant_bits(source)
        .filter(|_| bits <= 64 && !source.is_modified())?;
    Some((register, value & mask))
}

fn has_other_users_than_phis(function: &Function, register: Register) -> bool {
    let mut users = function.uses(register);
    users.any(|(user, _)| function.operation(user) != Operation::Phi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PhaseOptions;
    use crate::testing::{check_ends_in_one_run, count_of, run_phase_with, text_after};
    use oriel_ori::parse_function;
    use proptest::prelude::*;

    const REPEATED: &str = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = MOV.b32 1065353216
    ST.global.b32 %1, [0]
    %2:R32 = LD.global.b32 [4]
    %3:P = ISETP.lt.s32 %2, 7
    BRA %3, bix2, fall bix1
bix1:
    %4:R32 = MOV.f32 1.0f32
    %5:R32 = FSUB.f32 %4, %2
    ST.global.b32 %5, [64]
    BRA fall bix2
bix2:
    RET
}
";

    fn after(text: &str) -> String {
        text_after(run, text)
    }

    #[test]
    fn the_same_bits_are_one_constant() {
        let printed = after(REPEATED);
        assert!(printed.contains("FSUB.f32 %1, %2"), "{printed}");
        assert_eq!(printed.matches("MOV").count(), 1, "{printed}");
    }

    #[test]
    fn other_bits_kinds_and_places_are_not() {
        for (from, to) in [
            ("MOV.f32 1.0f32", "MOV.f32 -1.0f32"),
            // Neither dominates the other.
            ("    ST.global.b32 %1, [0]\n", ""),
            (
                "%5:R32 = FSUB.f32 %4, %2\n    ST.global.b32 %5, [64]",
                "BRA fall bix3\nbix3:\n    %5:R32 = PHI.b32 %4, bix1",
            ),
        ] {
            let text = match from.contains("ST") {
                true => REPEATED
                    .replace("    %1:R32 = MOV.b32 1065353216\n    ST.global.b32 %1, [0]\n", "")
                    .replace(
                        "bix2:\n",
                        "bix2:\n    %1:R32 = MOV.b32 1065353216\n    ST.global.b32 %1, [0]\n",
                    ),
                false => REPEATED.replace(from, to),
            };
            assert_eq!(after(&text).matches("MOV").count(), 2, "{text}");
        }
    }

    #[test]
    fn without_room_it_is_made_again() {
        let mut function = parse_function(REPEATED).unwrap();
        let options = PhaseOptions {
            register_budget: 1,
            ..PhaseOptions::default()
        };
        assert!(!run_phase_with(run, &mut function, &options));
        assert_eq!(count_of(run, &mut function, "commoned-constants"), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// For any function: the result verifies, and a second run finds nothing.
        #[test]
        fn functions_stay_sound(seed: u64) {
            check_ends_in_one_run(run, seed);
        }
    }
}
