use crate::PhaseResult;
use crate::testing::{check_on_random_functions, has, kernel, lines_after, run_named};
use oriel_engine::snapshot::abi::FunctionFlags;

#[test]
fn random_functions_stay_in_order() {
    check_on_random_functions("GeneralOptimizeLate", 3);
}

fn body(lines: &str) -> String {
    format!("bix0:\n    %1:R32 = LD.global.b32 [0]\n{lines}    RET\n")
}

fn after(lines: &str, knobs: &[&str]) -> Vec<String> {
    lines_after("GeneralOptimizeLate", &body(lines), knobs, 3)
}

const ONE_MOVE: &str = "    %2:R32 = MOV.b32 5\n    %3:R32 = IADD.b32 %1, %2\n    ST.global.b32 %3, [8]\n";

#[test]
fn a_constant_becomes_an_operand() {
    let lines = after(ONE_MOVE, &[]);
    assert!(has(&lines, "IADD.b32 %1, 5") && !has(&lines, "MOV"), "{lines:?}");
}

#[test]
fn gates_leave_everything() {
    for (knobs, level) in [(&[][..], 2), (&["499=0"], 3)] {
        let lines = lines_after("GeneralOptimizeLate", &body(ONE_MOVE), knobs, level);
        assert!(has(&lines, "MOV"), "{lines:?}");
    }
    let mut function = kernel("sm_80 ssa", &body(ONE_MOVE));
    function.info.flags |= FunctionFlags::OPT_SIZE;
    let (result, ..) = run_named("GeneralOptimizeLate", &mut function, &[], 3);
    assert_eq!(result, PhaseResult::Unchanged);
}

#[test]
fn pairs_of_constants_fold() {
    for (operation, folded) in [
        ("IADD.b32", "12"),
        ("ISUB.b32", "-2"),
        ("IMUL.b32", "35"),
        ("AND.b32", "5"),
        ("XOR.b32", "2"),
    ] {
        let lines = after(
            &format!(
                "    %2:R32 = MOV.b32 5\n    %3:R32 = MOV.b32 7\n    %4:R32 = {operation} %2, %3\n    ST.global.b32 %4, [8]\n"
            ),
            &[],
        );
        assert!(has(&lines, &format!("%4:R32 = MOV.b32 {folded}")), "{lines:?}");
        assert!(!has(&lines, "%2") && !has(&lines, "%3"), "{lines:?}");
    }
}

#[test]
fn registers_moves_and_operations_are_shared() {
    let lines = after(
        "    %2:R32 = MOV.b32 %1\n    %3:R32 = IADD.b32 %2, 1\n    ST.global.b32 %3, [8]\n",
        &[],
    );
    assert!(has(&lines, "IADD.b32 %1, 1") && !has(&lines, "MOV"), "{lines:?}");
    let two = "    %2:R32 = MOV.b32 5\n    ST.global.b32 %2, [%1]\n    %3:R32 = MOV.b32 5\n    ST.global.b32 %3, [%1+4]\n";
    let lines = after(two, &[]);
    assert!(has(&lines, "ST.global.b32 %2, [%1+4]"), "{lines:?}");
    let operations = "    %2:R32 = MOV.b32 5\n    %3:R32 = IMAD.b32 %1, %1, %2\n    %4:R32 = MOV.b32 5\n\
                      \x20   %5:R32 = IMAD.b32 %1, %1, %4\n    ST.global.b32 %3, [8]\n    ST.global.b32 %5, [12]\n";
    let lines = after(operations, &[]);
    assert!(has(&lines, "ST.global.b32 %3, [12]"), "{lines:?}");
}

#[test]
fn the_window_has_six_slots() {
    // Seven moves, each with a user after it: the first has left the window.
    let mut lines = String::new();
    for number in 2..9 {
        lines += &format!("    %{number}:R32 = MOV.b32 {number}00\n");
    }
    for number in 2..9 {
        lines += &format!(
            "    %{0}:R32 = IADD.b32 %1, %{number}\n    ST.global.b32 %{0}, [{0}]\n",
            number + 10
        );
    }
    let lines = after(&lines, &[]);
    assert!(
        has(&lines, "MOV.b32 200") && !has(&lines, "MOV.b32 300"),
        "{lines:?}"
    );
}

#[test]
fn option_605_keeps_the_window_to_the_beginning() {
    let beginning = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    BRA fall bix1\nbix1:\n    %2:R32 = MOV.b32 5\n\
                     \x20   %3:R32 = IADD.b32 %1, %2\n    %4:R32 = MOV.b32 6\n    %5:R32 = IADD.b32 %3, %4\n\
                     \x20   ST.global.b32 %5, [8]\n    RET\n";
    let lines = lines_after("GeneralOptimizeLate", beginning, &["605"], 3);
    assert!(
        has(&lines, "IADD.b32 %1, 5") && has(&lines, "IADD.b32 %3, %4"),
        "{lines:?}"
    );
    let lines = lines_after("GeneralOptimizeLate", beginning, &[], 3);
    assert!(has(&lines, "IADD.b32 %3, 6"), "{lines:?}");
}

#[test]
fn option_31_extended_follows_moves_with_several_uses_on_dual_issue_gpus() {
    let lines = body(
        "    %2:R32 = MOV.b32 5\n    %3:R32 = IADD.b32 %1, %2\n    %4:R32 = IMUL.b32 %1, %2\n\
         \x20   ST.global.b32 %3, [8]\n    ST.global.b32 %4, [12]\n",
    );
    for (sm, knobs, follows) in [
        (50, &["31=3"][..], true),
        (50, &["31=1"], false),
        (50, &["31=2"], false),
        (50, &[], false),
        (80, &["31=3"], false),
    ] {
        let mut function = kernel(&format!("sm_{sm} ssa"), &lines);
        let (result, ..) = run_named("GeneralOptimizeLate", &mut function, knobs, 3);
        assert_eq!(result == PhaseResult::Changed, follows, "sm_{sm} {knobs:?}");
    }
}
