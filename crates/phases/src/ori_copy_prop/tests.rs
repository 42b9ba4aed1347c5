use crate::registry::named;
use crate::testing::{add_copies, has, kernel, options_with};
use crate::{Manager, PhaseResult, Remark};
use oriel_engine::entity::EntityRef;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;
use oriel_ori::{ControlFlow, Function, InstructionFlags, parse_function};
use oriel_random::{Random, Stream};
use proptest::prelude::*;

/// Runs phases in order, verifying each. Returns whether they changed the function, and the
/// remarks.
fn run(phases: &[&str], function: &mut Function, knobs: &[&str]) -> (bool, Vec<Remark>) {
    let options = options_with(knobs);
    let mut manager = Manager::new(&options, true);
    let mut changed = false;
    for name in phases {
        let phase = named(name).next().expect("a phase");
        changed |= manager.run(phase, function) == PhaseResult::Changed;
        assert_eq!(function.verify(), [], "{function}");
        manager
            .check_analyses(phase, function)
            .expect("what it keeps is right");
    }
    (changed, manager.finish().1)
}

/// Returns the lines of a function after phases, without its header.
fn after(phases: &[&str], text: &str, knobs: &[&str]) -> Vec<String> {
    let mut function = parse_function(text).expect("it is well formed");
    let before = function.to_string();
    let (changed, _) = run(phases, &mut function, knobs);
    let printed = function.to_string();
    assert_eq!(changed, printed != before, "{printed}");
    let lines = printed.lines().skip(1).map(|line| line.trim().to_owned());
    lines.filter(|line| line != "}").collect()
}

fn ssa(lines: &str, knobs: &[&str]) -> Vec<String> {
    after(
        &["OriCopyPropSsa"],
        &format!("kernel \"k\" sm_80 ssa {{\n{lines}}}\n"),
        knobs,
    )
}

const LATE: &[&str] = &["OriCopyPropLate"];
/// The phases that let the late instance change addresses.
const BEHIND_83: &[&str] = &["OriBackCopyPropagate", "OriCopyPropLate"];

fn late(phases: &[&str], lines: &str, knobs: &[&str]) -> Vec<String> {
    after(phases, &format!("kernel \"k\" sm_80 late {{\n{lines}}}\n"), knobs)
}

const CHAIN: &str = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 %1
    BRA fall bix1
bix1:
    %3:R32 = COPY.b32 %2
    %4:R32 = IADD.b32 %3, %2
    ST.global.b32 %4, [64]
    RET
";

#[test]
fn a_chain_of_copies_ends_in_one_run() {
    let lines = ssa(CHAIN, &[]);
    assert!(has(&lines, "IADD.b32 %1, %1"), "{lines:?}");
    assert!(!has(&lines, "MOV") && !has(&lines, "COPY"), "{lines:?}");
    let lines = late(LATE, CHAIN, &[]);
    assert!(has(&lines, "IADD.b32 %1, %1"), "{lines:?}");
    assert!(!has(&lines, "MOV") && !has(&lines, "COPY"), "{lines:?}");
}

#[test]
fn budgets_count_copies() {
    for (knob, left) in [
        ("CopyPropBudget=0", 2),
        ("CopyPropBudget=1", 1),
        ("CopyPropBudget=2", 0),
        // Only the copy in the first block has uses elsewhere.
        ("CopyPropGlobalBudget=0", 1),
        ("CopyPropGlobalBudget=1", 0),
    ] {
        let lines = ssa(CHAIN, &[knob]);
        let copies = lines
            .iter()
            .filter(|line| line.contains("MOV") || line.contains("COPY"));
        assert_eq!(copies.count(), left, "{knob}: {lines:?}");
    }
}

#[test]
fn constants_go_where_an_opcode_takes_them() {
    let text = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 7
    %3:R32 = IADD.b32 %1, %2
    %4:R32 = POPC.b32.b32 %2
    ST.global.b32 %3, [64]
    ST.global.b32 %4, [64]
    RET
";
    let lines = ssa(text, &[]);
    assert!(has(&lines, "IADD.b32 %1, 7"), "{lines:?}");
    // LLVM has no opcode that counts the bits of a constant.
    assert!(
        has(&lines, "POPC.b32.b32 %2") && has(&lines, "%2:R32 = MOV.b32 7"),
        "{lines:?}"
    );
    let lines = ssa(text, &["CopyPropNoWriteNonRR"]);
    assert!(has(&lines, "IADD.b32 %1, %2"), "{lines:?}");
}

#[test]
fn copies_of_another_kind_stay() {
    let text = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R16 = CVT.u16.u32 %1
    %3:R16 = MOV.b16 %2
    ST.global.b16 %3, [64]
    RET
";
    assert!(has(&ssa(text, &[]), "ST.global.b16 %2"));
    assert!(has(
        &ssa(&text.replace("MOV.b16", "CVT.u16.s16"), &[]),
        "ST.global.b16 %3"
    ));
}

#[test]
fn addresses_are_changed_behind_phase_83_and_by_knob() {
    let text = "\
bix0:
    %1:R64 = LD.param::entry.b64 [&k_param_0]
    %2:R64 = IADD.b64 %1, 8
    %3:R64 = MOV.b64 %2
    %4:R32 = LD.global.b32 [%3]
    ST.global.b32 %4, [%2+4]
    RET
";
    assert!(has(&ssa(text, &[]), "LD.global.b32 [%2]"));
    assert!(has(&ssa(text, &["CopyPropAddr=0"]), "LD.global.b32 [%3]"));
    assert!(has(&late(LATE, text, &[]), "LD.global.b32 [%3]"));
    assert!(has(&late(BEHIND_83, text, &[]), "LD.global.b32 [%2]"));
    assert!(has(
        &late(BEHIND_83, text, &["CopyPropAddr=0"]),
        "LD.global.b32 [%3]"
    ));
}

#[test]
fn copies_of_constant_banks_are_propagated_by_knob() {
    for space in ["param::entry", "const"] {
        let text = format!(
            "\
bix0:
    %1:R32 = LD.{space}.b32 [&k_param_0]
    %2:R32 = MOV.b32 %1
    ST.global.b32 %2, [64]
    RET
"
        );
        assert!(has(&ssa(&text, &[]), "ST.global.b32 %1"));
        assert!(has(&ssa(&text, &["CopyPropConstantBank=0"]), "ST.global.b32 %2"));
    }
    let text = CHAIN.replace("MOV", "COPY");
    assert!(has(&ssa(&text, &["CopyPropConstantBank=0"]), "IADD.b32 %1, %1"));
}

const REWRITTEN: &str = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 %1
    %3:R32 = IADD.b32 %2, 1
    %2:R32 = LD.global.b32 [4]
    %1:R32 = IADD.b32 %2, %3
    ST.global.b32 %1, [64]
    ST.global.b32 %2, [68]
    RET
";

#[test]
fn registers_with_several_definitions_need_reaching_definitions() {
    let lines = late(LATE, REWRITTEN, &[]);
    assert!(has(&lines, "IADD.b32 %1, 1") && !has(&lines, "MOV"), "{lines:?}");
    // The two are merged all the same unless that is prevented: both hold values at the end.
    let lines = late(LATE, REWRITTEN, &["CopyPropUseReachingDefs=0"]);
    assert!(has(&lines, "MOV.b32 %1"), "{lines:?}");
}

/// Constants that a register already holds on one path into a block, and on both.
const HELD: &str = "\
bix0:
    %1:R32 = MOV.b32 0
    %2:R32 = MOV.b32 %1
    %3:R32 = LD.global.b32 [0]
    %4:P = ISETP.lt.s32 %3, 7
    BRA %4, bix2, fall bix1
bix1:
    %1:R32 = MOV.f32 0.0f32
    %2:R32 = MOV.b32 %1
    BRA fall bix3
bix3:
    %1:R32 = IADD.b32 %1, %3
    %2:R32 = IADD.b32 %2, %1
    %5:P = ISETP.lt.s32 %2, 700
    BRA %5, bix3, fall bix2
bix2:
    ST.global.b32 %1, [64]
    ST.global.b32 %2, [68]
    RET
";

#[test]
fn what_a_register_holds_already_is_not_written_again() {
    let lines = late(LATE, HELD, &[]);
    let moves = |lines: &[String]| lines.iter().filter(|line| line.contains("MOV")).count();
    assert_eq!(moves(&lines), 2, "{lines:?}");
    assert_eq!(moves(&late(LATE, HELD, &["CopyPropNonRegMultiDef=0"])), 4);
    assert_eq!(moves(&late(LATE, HELD, &["CopyPropGlobalBudget=0"])), 4);
    // In the loop it is another value.
    let other = HELD.replace(
        "bix3:\n    %1:R32 = IADD",
        "bix3:\n    %2:R32 = MOV.b32 0\n    %1:R32 = IADD",
    );
    assert_eq!(moves(&late(LATE, &other, &[])), 3);
}

#[test]
fn a_register_that_some_way_leaves_unwritten_holds_nothing() {
    let text = "\
bix0:
    %3:R32 = LD.global.b32 [0]
    %4:P = ISETP.lt.s32 %3, 7
    BRA %4, bix2, fall bix1
bix1:
    %1:R32 = MOV.b32 0
    BRA fall bix2
bix2:
    %2:R32 = MOV.b32 %1
    %2:R32 = MOV.b32 0
    ST.global.b32 %2, [64]
    RET
";
    let lines = late(LATE, text, &[]);
    assert!(has(&lines, "%2:R32 = MOV.b32 0"), "{lines:?}");
    // If the constant is written on every path, it need not be written again.
    let text = text.replace("BRA %4, bix2, fall bix1", "BRA fall bix1");
    let lines = late(LATE, &text, &[]);
    assert!(
        !has(&lines, "%2:R32 = MOV.b32 0") && !has(&lines, "%2 = MOV.b32 0"),
        "{lines:?}"
    );
}

#[test]
fn pressure_is_weighed_unless_that_is_forced() {
    let load = |number: usize| format!("    %{number}:R32 = LD.global.b32 [{}]\n", 4 * number);
    let store = |number: usize| format!("    ST.global.b32 %{number}, [{}]\n", 4 * number);
    let many = 10..90;
    let text = format!(
        "bix0:\n    %1:R32 = MOV.b32 0\n{}    ST.global.b32 %1, [0]\n{}{}    %1:R32 = MOV.b32 0\n{}    RET\n",
        load(2),
        many.clone().map(load).collect::<String>(),
        many.map(store).collect::<String>(),
        "    ST.global.b32 %1, [4]\n    ST.global.b32 %2, [4]\n",
    );
    let moves = |knobs: &[&str]| {
        let lines = late(LATE, &text, knobs);
        lines.iter().filter(|line| line.contains("MOV")).count()
    };
    assert_eq!(moves(&[]), 2);
    assert_eq!(moves(&["CopyPropForceGlobal"]), 1);
}

#[test]
fn registers_of_the_hardware_are_read_once_by_knob() {
    let text = "\
bix0:
    %1:R32 = S2R.b32 tid.x
    ST.global.b32 %1, [64]
    %2:R32 = S2R.b32 tid.x
    %3:R32 = S2R.b32 tid.y
    %4:R32 = S2R.b32 clock
    %5:R32 = S2R.b32 clock
    ST.global.b32 %2, [68]
    ST.global.b32 %3, [68]
    ST.global.b32 %4, [68]
    ST.global.b32 %5, [68]
    RET
";
    let reads = |lines: &[String]| lines.iter().filter(|line| line.contains("S2R")).count();
    assert_eq!(reads(&ssa(text, &[])), 4);
    assert_eq!(reads(&ssa(text, &["CopyPropPreAllocReg=0"])), 5);
    let again = text.replace("%2", "%1").replace(
        "    %1:R32 = S2R.b32 tid.x\n    %3",
        "    %1 = S2R.b32 tid.x\n    %3",
    );
    assert_eq!(reads(&late(LATE, &again, &[])), 4);
    assert_eq!(reads(&late(LATE, &again, &["CopyPropPreAllocReg=0"])), 5);
}

#[test]
fn matrix_operations_keep_constants_out_by_knob() {
    let text = "\
bix0:
    %1:R32 = LD.param::entry.b32 [&k_param_0]
    %2:R32 = MOV.b32 %1
    %3:R32 = LD.global.b32 [0]
    %4:R32 = MOV.b32 %3
    OPAQUE(\"wmma.mma.sync\" may_store) %2, %4
    RET
";
    assert!(has(&ssa(text, &[]), " %1, %3"));
    assert!(has(&ssa(text, &["CopyPropNoMmaCb"]), " %2, %3"));
    assert!(has(
        &ssa(&text.replace("wmma.mma.sync", "other"), &["CopyPropNoMmaCb"]),
        " %1, %3"
    ));
}

const SELECTS: &str = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = LD.global.b32 [4]
    %3:P = ISETP.lt.s32 %1, %2
    %4:R32 = SEL.b32 %1, %2, %3
    %5:R32 = SEL.b32 %4, %1, %3
    BRA %3, bix2, fall bix1
bix1:
    %6:R32 = SEL.b32 %1, %2, %3
    ST.global.b32 %6, [64]
    ST.global.b32 %4, [68]
    ST.global.b32 %5, [72]
    BRA fall bix2
bix2:
    ST.global.b32 %4, [76]
    RET
";

#[test]
fn selects_give_way_to_an_arm_where_the_predicate_is_known() {
    let lines = ssa(SELECTS, &[]);
    // The select after the branch, uses after it, and a select under the same predicate.
    assert!(has(&lines, "ST.global.b32 %2, [64]"), "{lines:?}");
    assert!(has(&lines, "ST.global.b32 %2, [68]"), "{lines:?}");
    assert!(has(&lines, "ST.global.b32 %1, [72]"), "{lines:?}");
    // Either path leads to the last block.
    assert!(has(&lines, "ST.global.b32 %4, [76]"), "{lines:?}");
    assert_eq!(
        lines.iter().filter(|line| line.contains("SEL")).count(),
        1,
        "{lines:?}"
    );
}

#[test]
fn selects_with_one_arm_or_a_constant_predicate_are_copies() {
    let lines = ssa(
        &SELECTS.replace("SEL.b32 %1, %2, %3\n    %5", "SEL.b32 %2, %2, %3\n    %5"),
        &[],
    );
    assert!(has(&lines, "ST.global.b32 %2, [76]"), "{lines:?}");
    for (value, arm) in [(0, 2), (1, 1), (-1, 1)] {
        let text = SELECTS.replace("ISETP.lt.s32 %1, %2", &format!("MOV.b1 {value}"));
        let lines = ssa(&text, &[]);
        assert!(
            has(&lines, &format!("ST.global.b32 %{arm}, [76]")),
            "{value}: {lines:?}"
        );
    }
}

#[test]
fn phis_take_the_arm_of_their_edge() {
    let text = SELECTS.replace(
        "bix2:\n    ST.global.b32 %4",
        "bix2:\n    %7:R32 = PHI.b32 %4, bix0, %4, bix1\n    ST.global.b32 %7",
    );
    let lines = ssa(&text, &[]);
    assert!(has(&lines, "PHI.b32 %1, bix0, %2, bix1"), "{lines:?}");
}

const COMPLEMENT: &str = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = LD.global.b32 [4]
    %3:P = ISETP.lt.s32 %1, %2
    %4:P = NOT.b1 %3
    %5:R32 = SEL.b32 %1, %2, %4
    ST.global.b32 %5, [8]
    BRA %4, bix2, bix3
bix1:
    RET
bix2:
    ST.global.b32 %1, [64]
    BRA bix1
bix3:
    ST.global.b32 %2, [64]
    BRA bix1
";

#[test]
fn complements_of_predicates_go_where_that_costs_nothing() {
    let lines = late(LATE, COMPLEMENT, &[]);
    assert!(
        has(&lines, "SEL.b32 %2, %1, %3") && has(&lines, "BRA %3, bix3, bix2"),
        "{lines:?}"
    );
    assert!(!has(&lines, "NOT"), "{lines:?}");
    assert!(has(&late(LATE, COMPLEMENT, &["LateCopyPropComplPred=0"]), "NOT"));
    // The branch would need another instruction to reach the next block.
    let text = COMPLEMENT.replace("BRA %4, bix2, bix3", "BRA %4, bix2, fall bix1");
    assert!(has(&late(LATE, &text, &[]), "NOT"));
    // The predicate has changed where its complement is used.
    let text = COMPLEMENT.replace("    BRA %4", "    %3:P = ISETP.lt.s32 %1, 7\n    BRA %4");
    assert!(has(&late(LATE, &text, &[]), "NOT"));
}

#[test]
fn a_predicate_that_is_inverted_in_place_stays() {
    let text = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:P = ISETP.lt.s32 %1, 7
    %3:P = ISETP.lt.s32 %1, 3
    BRA %3, bix1, bix2
bix1:
    %2 = NOT.b1 %2
    BRA fall bix2
bix2:
    %4:R32 = SEL.b32 1, 0, %2
    ST.global.b32 %4, [8]
    RET
";
    assert!(has(&late(LATE, text, &[]), "%2 = NOT.b1 %2"));
}

#[test]
fn registers_merge_if_only_copies_make_them_meet() {
    // %2 is a copy of %1 on one path and is computed on the other; %1 is not needed any more.
    let text = "\
bix0:
    %1:R32 = LD.global.b32 [0]
    %3:P = ISETP.lt.s32 %1, 7
    %2:R32 = MOV.b32 %1
    BRA %3, bix2, fall bix1
bix1:
    %2:R32 = IADD.b32 %1, 5
    BRA fall bix2
bix2:
    ST.global.b32 %2, [64]
    RET
";
    let lines = late(LATE, text, &[]);
    assert!(!has(&lines, "MOV") && !has(&lines, "%2"), "{lines:?}");
    // Both are needed at the end.
    let lines = late(
        LATE,
        &text.replace("    RET", "    ST.global.b32 %1, [68]\n    RET"),
        &[],
    );
    assert!(has(&lines, "MOV"), "{lines:?}");
    assert!(has(&late(LATE, text, &["CopyPropBudget=0"]), "MOV"));
    assert!(has(&late(LATE, text, &["CopyPropGlobalBudget=0"]), "MOV"));
}

#[test]
fn each_decision_is_a_remark() {
    let remarks = |stage: &str, lines: &str, knobs: &[&str]| {
        let mut function = kernel(&format!("sm_80 {stage}"), lines);
        let phase = if stage == "ssa" {
            "OriCopyPropSsa"
        } else {
            "OriCopyPropLate"
        };
        let (_, remarks) = run(&[phase], &mut function, knobs);
        let messages = remarks
            .into_iter()
            .map(|remark| format!("{:?} {}", remark.kind, remark.message));
        messages.collect::<Vec<_>>()
    };
    assert!(has(
        &remarks("ssa", CHAIN, &[]),
        "Passed 2 uses of %2 use %1, 0 stay"
    ));
    assert!(has(
        &remarks("ssa", CHAIN, &["CopyPropBudget=0"]),
        "Missed the copy stays: the budget is exhausted"
    ));
    assert!(has(
        &remarks("late", HELD, &[]),
        "Passed %1 holds this value already"
    ));
    assert!(has(&remarks("late", REWRITTEN, &[]), "Passed uses of %2 use %1"));
    let refused = remarks("late", REWRITTEN, &["CopyPropUseReachingDefs=0"]);
    assert!(
        has(
            &refused,
            "Missed the copy stays: a register has several definitions"
        ),
        "{refused:?}"
    );
}

fn count(function: &Function) -> usize {
    let blocks = function.blocks().iter();
    blocks.map(|&block| function.instructions(block).count()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// For any function: the result verifies, no instruction is added, no mark remains, an
    /// unchanged function is reported as such, and no copy added before uses in reachable SSA code
    /// remains.
    #[test]
    fn added_copies_go(seed: u64, is_late: bool) {
        let mut function = random_function(seed, if is_late { Stage::Late } else { Stage::Ssa });
        function.remove_unreachable_blocks();
        let flow = ControlFlow::of(&function);
        prop_assume!(flow.order.len() == function.blocks().len());
        let mut random = Random::new(seed, Stream::TestOri);
        let first_new = function.instruction_limit();
        add_copies(&mut function, &mut random);
        super::marks::clear_marks(&mut function);
        prop_assert_eq!(function.verify(), []);
        let (before, text) = (count(&function), function.to_string());
        let phases = if is_late { BEHIND_83 } else { &["OriCopyPropSsa"] };
        let (changed, _) = run(phases, &mut function, &[]);
        prop_assert!(count(&function) <= before);
        prop_assert_eq!(changed, function.to_string() != text);
        let marks = InstructionFlags::MARK_PROPAGATED
            | InstructionFlags::MARK_DEFERRED
            | InstructionFlags::MARK_PREDICATED;
        for instruction in function.all_instructions() {
            prop_assert!(!function.flags(instruction).intersects(marks));
            prop_assert!(is_late || instruction.index() < first_new, "{}", function);
        }
    }
}
