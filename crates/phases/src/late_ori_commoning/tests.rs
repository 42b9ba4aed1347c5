use super::*;
use crate::PhaseOptions;
use crate::testing::{kernel, options_with, run_phase_with};
use oriel_ori::random_function::random_function;
use proptest::prelude::*;

/// Returns a kernel after the phase, which the verifier accepts.
fn after(form: &str, body: &str, knobs: &[&str]) -> String {
    let mut function = kernel(&format!("sm_90 {form}"), body);
    let options = options_with(knobs);
    let before = function.to_string();
    let changed = run_phase_with(run, &mut function, &options);
    assert_eq!(function.verify(), [], "{function}");
    assert_eq!(changed, function.to_string() != before);
    function.to_string()
}

/// Returns how many instructions with this name are left, in both forms.
fn left(body: &str, operation: &str, knobs: &[&str]) -> usize {
    let name = format!("= {operation}.");
    let [ssa, late] = ["ssa", "late"].map(|form| after(form, body, knobs).matches(&name).count());
    assert_eq!(ssa, late);
    ssa
}

const COPIED: &str = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = SHL.b32 %0, 2
    %2:R32 = COPY.b32 %0
    ST.global.b32 %1, [0]
    BRA fall bix1
bix1:
    %3:R32 = SHL.b32 %2, 2
    ST.global.b32 %3, [4]
    RET
";

#[test]
fn copies_stand_for_their_source_unless_a_knob_says_no() {
    assert_eq!(left(COPIED, "SHL", &[]), 1);
    assert_eq!(left(COPIED, "SHL", &["DisableMoveCommoning"]), 2);
    assert_eq!(left(&COPIED.replace("%2, 2", "%2, 3"), "SHL", &[]), 2);
}

#[test]
fn chains_of_copies_have_one_representative() {
    let text = COPIED.replace("ST.global.b32 %1", "%4:R32 = MOV.b32 %2\n    ST.global.b32 %1");
    assert_eq!(left(&text.replace("SHL.b32 %2", "SHL.b32 %4"), "SHL", &[]), 1);
}

#[test]
fn one_block_and_either_order() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = S2R.b32 ctaid.x
    %2:R32 = IMAD.b32 %0, %1, 4
    %3:R32 = IMAD.b32 %1, %0, 4
    %4:R32 = IMAD.b32 %1, %0, 5
    ST.global.b32 %2, [0]
    ST.global.b32 %3, [4]
    ST.global.b32 %4, [8]
    RET
";
    assert_eq!(left(body, "IMAD", &[]), 2);
}

#[test]
fn loads_need_the_same_version() {
    let body = |between: &str| {
        format!(
            "\
bix0:
    %0:R64 = S2R.b64 clock64
    %1:R32 = LD.global.b32 [%0+0]
    {between}
    %2:R32 = LD.global.b32 [%0+0]
    ST.global.b32 %1, [%0+4]
    ST.global.b32 %2, [%0+8]
    RET
"
        )
    };
    assert_eq!(left(&body("ST.shared.b32 1, [0]"), "LD", &[]), 1);
    assert_eq!(left(&body("ST.global.b32 1, [0]"), "LD", &[]), 2);
    assert_eq!(left(&body("BAR.sync 0"), "LD", &[]), 2);
    // Side effects without a load or store may still reveal the writes of others.
    for unknown in [
        "ASM",
        "OPAQUE (GRIDDEPCONTROL_WAIT side_effects)",
        "OPAQUE (EXIT may_store)",
    ] {
        assert_eq!(left(&body(unknown), "LD", &[]), 2, "{unknown}");
    }
    for known in [
        "OPAQUE (MMA convergent)",
        "OPAQUE (LDMATRIX may_load)",
        "OPAQUE (EH_LABEL position)",
    ] {
        assert_eq!(left(&body(known), "LD", &[]), 1, "{known}");
    }
}

#[test]
fn what_does_not_dominate_is_forgotten() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:P = ISETP.lt.s32 %0, 7
    BRA %1, bix2, fall bix1
bix1:
    %2:R32 = SHL.b32 %0, 3
    ST.global.b32 %2, [8]
    RET
bix2:
    %3:R32 = SHL.b32 %0, 3
    ST.global.b32 %3, [12]
    RET
";
    assert_eq!(left(body, "SHL", &[]), 2);
}

#[test]
fn registers_with_several_definitions_stay() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = SHL.b32 %0, 3
    ST.global.b32 %1, [0]
    %0:R32 = IADD.b32 %0, 1
    %2:R32 = SHL.b32 %0, 3
    ST.global.b32 %2, [4]
    RET
";
    assert_eq!(after("late", body, &[]).matches("= SHL.").count(), 2);
}

#[test]
fn a_value_is_kept_only_where_there_is_room_or_a_knob_says_so() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 clock
    %1:R32 = IADD.b32 %0, 1
    ST.global.b32 %1, [0]
    %2:R32 = LD.global.b32 [4]
    %3:R32 = LD.global.b32 [8]
    %4:R32 = IADD.b32 %2, %3
    ST.global.b32 %4, [12]
    %5:R32 = IADD.b32 %0, 1
    ST.global.b32 %5, [16]
    RET
";
    let is_removed = |form: &str, budget, forced| {
        let mut function = kernel(&format!("sm_90 {form}"), body);
        let mut options = PhaseOptions {
            register_budget: budget,
            ..PhaseOptions::default()
        };
        options.knobs.set(&format!("487={forced}")).unwrap();
        run_phase_with(run, &mut function, &options)
    };
    for form in ["ssa", "late"] {
        assert!(is_removed(form, 4, 0));
        assert!(!is_removed(form, 3, 0));
        assert!(is_removed(form, 3, 1));
    }
}

/// The classes never hide equal expressions: without them just as many are found.
#[test]
fn classes_only_filter() {
    let class = |hash| {
        let function = kernel("sm_90 ssa", COPIED);
        let shl = function.instructions(function.entry()).nth(1).unwrap();
        class_of(&function, shl, hash)
    };
    let mut table = ClassTable::default();
    table.enter(None);
    assert!(!table.meet(class(0)));
    assert!(table.meet(class(0)));
    assert!(!table.meet(class(u32::MAX)));
    table.leave(oriel_engine::entity::Block::new(3));
    table.enter(None);
    assert!(!table.meet(class(0)));
    table.enter(Some(oriel_engine::entity::Block::new(3)));
    assert!(table.meet(class(u32::MAX)));
}

proptest! {
    /// For any function, the result verifies, nothing is added, and every removed instruction had
    /// the same words as something that dominates it.
    #[test]
    fn functions_stay_sound(seed: u64, is_late: bool) {
        let mut function = random_function(seed, if is_late { Stage::Late } else { Stage::Ssa });
        let flow = ControlFlow::of(&function);
        let count = |function: &Function| -> usize {
            function.blocks().iter().map(|&block| function.instructions(block).count()).sum()
        };
        // Every expression is repeated at the end of its block, so that there is something to find.
        for &block in flow.dominators.preorder() {
            let all: Vec<Instruction> = function.instructions(block).collect();
            let end = *all.last().unwrap();
            for instruction in all {
                let is_phi = function.operation(instruction) == oriel_ori::Operation::Phi;
                if expression_kind(&function, instruction).is_none() || is_phi {
                    continue;
                }
                let results: Vec<Register> = function.result_registers(instruction).collect();
                let results: Vec<Operand> = results
                    .into_iter()
                    .map(|result| {
                        let register = function.create_register_like(result);
                        function.register_operand(register)
                    })
                    .collect();
                function.clone_instruction(instruction, oriel_ori::Position::Before(end), &results);
            }
        }
        prop_assert_eq!(function.verify(), []);
        let (before, instructions) = (function.to_string(), count(&function));
        let changed = run_phase_with(run, &mut function, &PhaseOptions::default());
        prop_assert_eq!(function.verify(), []);
        prop_assert_eq!(changed, function.to_string() != before);
        prop_assert_eq!(changed, count(&function) < instructions);
    }
}
