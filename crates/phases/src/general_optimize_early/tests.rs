use crate::testing::{check_on_random_functions, has, kernel, lines_after, run_named};

#[test]
fn random_functions_stay_in_order() {
    check_on_random_functions("GeneralOptimizeEarly", 2);
}

fn after(body: &str, knobs: &[&str]) -> Vec<String> {
    lines_after("GeneralOptimizeEarly", body, knobs, 2)
}

/// Builds two exits in a row on conditions of the same values.
fn exits(first: &str, second: &str) -> String {
    format!(
        "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = ISETP.{first}\n\
         \x20   BRA %3, bix3, fall bix1\nbix1:\n    ST.global.b32 %1, [8]\n    %4:P = ISETP.{second}\n\
         \x20   BRA %4, bix3, fall bix2\nbix2:\n    ST.global.b32 %2, [12]\n    BRA fall bix3\nbix3:\n    RET\n"
    )
}

#[test]
fn an_exit_on_the_same_condition_goes() {
    for second in ["lt.s32 %1, %2", "gt.s32 %2, %1"] {
        let lines = after(&exits("lt.s32 %1, %2", second), &[]);
        assert!(
            !has(&lines, "BRA %4") && has(&lines, "BRA fall bix2"),
            "{lines:?}"
        );
    }
    // The complement always leaves.
    let lines = after(&exits("lt.s32 %1, %2", "ge.s32 %1, %2"), &[]);
    assert!(!has(&lines, "[12]"), "{lines:?}");
    assert!(has(
        &after(&exits("lt.s32 %1, %2", "lt.s32 %1, 7"), &[]),
        "BRA %4"
    ));
}

#[test]
fn gates_leave_everything() {
    let body = exits("lt.s32 %1, %2", "lt.s32 %1, %2");
    for knob in ["214", "487=0", "464=0"] {
        assert!(has(&after(&body, &[knob]), "ISETP.lt.s32 %1, %2"), "{knob}");
        assert!(has(&after(&body, &[knob]), "BRA %4"), "{knob}");
    }
    // The comparison goes first, and then the branch.
    let lines = after(&body, &["464=1"]);
    assert!(has(&lines, "BRA %3, bix3, fall bix2"), "{lines:?}");
    let lines = after(&body, &["464=2"]);
    assert!(has(&lines, "BRA fall bix2"), "{lines:?}");
}

#[test]
fn at_level_one_only_branches_go() {
    for (knobs, level) in [(&[][..], 1), (&["OptBudget=0"], 2)] {
        let lines = lines_after(
            "GeneralOptimizeEarly",
            &exits("lt.s32 %1, %2", "lt.s32 %1, %2"),
            knobs,
            level,
        );
        assert!(
            !has(&lines, "BRA %4") && has(&lines, "BRA fall bix2"),
            "{lines:?}"
        );
    }
    let body = exits("lt.s32 %1, %2", "lt.s32 %1, %2");
    assert!(has(&lines_after("GeneralOptimizeEarly", &body, &[], 0), "BRA %4"));
}

/// Builds a branch to two blocks with these lines, whose last values meet in a PHI.
fn diamond(first: &str, second: &str, phi: &str) -> String {
    format!(
        "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = ISETP.lt.s32 %1, %2\n\
         \x20   BRA %3, bix1, fall bix2\nbix1:\n{first}    BRA bix3\nbix2:\n{second}    BRA fall bix3\nbix3:\n\
         \x20   %9:R32 = PHI.b32 {phi}\n    ST.global.b32 %9, [16]\n    RET\n"
    )
}

#[test]
fn an_empty_diamond_goes_if_its_values_are_equal() {
    let lines = after(&diamond("", "", "%1, bix1, %1, bix2"), &[]);
    assert!(!has(&lines, "BRA %3") && !has(&lines, "bix2:"), "{lines:?}");
    assert!(has(&after(&diamond("", "", "%1, bix1, %2, bix2"), &[]), "BRA %3"));
}

#[test]
fn equal_blocks_become_one() {
    let equal = |first: &str, second: &str| {
        let lines = after(&diamond(first, second, "%5, bix1, %7, bix2"), &[]);
        !has(&lines, "BRA %3")
    };
    let first = "    %4:R32 = IADD.b32 %1, 1\n    %5:R32 = IMUL.b32 %4, %2\n    ST.global.b32 %4, [8]\n";
    assert!(equal(
        first,
        "    %6:R32 = IADD.b32 %1, 1\n    %7:R32 = IMUL.b32 %6, %2\n    ST.global.b32 %6, [8]\n"
    ));
    for second in [
        "    %6:R32 = IADD.b32 %1, 2\n    %7:R32 = IMUL.b32 %6, %2\n    ST.global.b32 %6, [8]\n",
        "    %6:R32 = IADD.b32 %1, 1\n    %7:R32 = IMUL.b32 %6, %6\n    ST.global.b32 %6, [8]\n",
        "    %6:R32 = IADD.b32 %1, 1\n    %7:R32 = IMUL.b32 %6, %2\n    ST.global.b32 %7, [8]\n",
        "    %6:R32 = IADD.b32 %1, 1\n    %7:R32 = IMUL.b32 %6, %2\n    ST.shared.b32 %6, [8]\n",
        "    %6:R32 = IADD.b32 %1, 1\n    %7:R32 = IMUL.b32 %6, %2\n",
    ] {
        assert!(!equal(first, second), "{second}");
    }
}

#[test]
fn blocks_where_lanes_wait_stay_two() {
    for line in ["    BAR.sync 0\n", "    %7:R32 = VOTE.ballot.b32 %3\n"] {
        let text = diamond(line, &line.replace("%7", "%8"), "%1, bix1, %1, bix2");
        assert!(has(&after(&text, &[]), "BRA %3"), "{line}");
    }
}

#[test]
fn a_value_that_is_used_further_keeps_its_block() {
    // The second block leads back to itself: its results have more uses than the PHI after it.
    let text = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %3:P = ISETP.lt.s32 %1, 7\n    BRA %3, bix1, fall bix2\n\
                bix1:\n    %4:R32 = IADD.b32 %1, 1\n    BRA %3, bix3, fall bix4\n\
                bix2:\n    %5:R32 = IADD.b32 %1, 1\n    BRA %3, bix3, fall bix5\n\
                bix3:\n    RET\nbix4:\n    ST.global.b32 %4, [8]\n    RET\nbix5:\n    ST.global.b32 %5, [8]\n    RET\n";
    // Each later branch is decided; the blocks themselves lead to different ones.
    let lines = after(text, &[]);
    assert!(has(&lines, "ST.global.b32 %5, [8]"), "{lines:?}");
}

#[test]
fn the_report_says_what_was_done_in_which_block() {
    let body = exits("lt.s32 %1, %2", "lt.s32 %1, %2");
    let mut function = kernel("sm_80 ssa", &body);
    let (_, statistics, remarks) = run_named("GeneralOptimizeEarly", &mut function, &[], 2);
    let count = |counter| statistics.counter("GeneralOptimizeEarly", counter);
    assert_eq!(
        [count("redundant-computations"), count("decided-branches")],
        [1, 1]
    );
    assert_eq!([count("iterations-1"), count("iterations-3")], [3, 1]);
    assert_eq!(count("stopped-converged"), 4);
    assert!(remarks.iter().any(|remark| remark.name == "FixedPoint"));
}

#[test]
fn a_branch_that_went_for_another_reason_decides_nothing() {
    // Both sides of the first branch do the same, and the following branch depends on its
    // condition.
    let body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:P = ISETP.lt.s32 %1, 7\n    BRA %2, bix2, fall bix1\n\
        bix1:\n    ST.global.b32 %1, [64]\n    BRA %2, bix4, fall bix3\n\
        bix2:\n    ST.global.b32 %1, [64]\n    BRA %2, bix4, bix3\n\
        bix3:\n    ST.global.b32 %1, [68]\n    RET\n\
        bix4:\n    ST.global.b32 %1, [72]\n    RET\n";
    let lines = after(body, &[]);
    assert_eq!(
        lines.iter().filter(|line| line.contains("[64]")).count(),
        1,
        "{lines:?}"
    );
    assert!(has(&lines, "[68]") && has(&lines, "[72]"), "{lines:?}");
    // The same through empty blocks, with a select after them.
    let body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:P = ISETP.lt.s32 %1, 7\n    BRA %2, bix2, fall bix1\n\
        bix1:\n    BRA bix3\nbix2:\n    BRA fall bix3\n\
        bix3:\n    %3:R32 = SEL.b32 %1, 9, %2\n    ST.global.b32 %3, [64]\n    RET\n";
    let lines = after(body, &[]);
    assert!(has(&lines, "SEL.b32 %1, 9, %2"), "{lines:?}");
}
