use crate::testing::{check_on_random_functions, has, kernel, lines_after, run_named};
use crate::{Manager, PhaseOptions, PhaseResult, Statistics, registry};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;

#[test]
fn random_functions_stay_in_order() {
    check_on_random_functions("GeneralOptimize", 2);
    check_on_random_functions("GeneralOptimizeMid2", 2);
}

fn after(body: &str, knobs: &[&str]) -> Vec<String> {
    lines_after("GeneralOptimize", body, knobs, 2)
}

/// Builds a select of `kind` on the complement of the branch's decision.
fn select(kind: &str, compare: &str) -> String {
    format!(
        "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = {compare} %1, %2\n\
         \x20   BRA %3, bix2, fall bix1\nbix1:\n    %4:R32 = SEL.{kind} %1, %2, %3\n    ST.global.b32 %4, [8]\n\
         \x20   BRA fall bix2\nbix2:\n    RET\n"
    )
}

#[test]
fn a_select_whose_predicate_is_decided_is_an_arm() {
    let lines = after(&select("b32", "ISETP.lt.s32"), &[]);
    assert!(
        has(&lines, "ST.global.b32 %2, [8]") && !has(&lines, "SEL"),
        "{lines:?}"
    );
}

#[test]
fn gates_leave_everything() {
    let body = select("b32", "ISETP.lt.s32");
    for knob in ["487=0", "231", "461=0", "499=0"] {
        assert!(has(&after(&body, &[knob]), "SEL"), "{knob}");
    }
    assert!(has(&lines_after("GeneralOptimize", &body, &[], 1), "SEL"));
    for knob in ["487", "231=0", "461=1", "499=1"] {
        assert!(!has(&after(&body, &[knob]), "SEL"), "{knob}");
    }
}

#[test]
fn limited_folding_of_floats_goes_by_integers_only() {
    for (kind, compare, folds) in [
        ("f32", "ISETP.lt.s32", true),
        ("f32", "FSETP.lt.f32", false),
        ("b32", "FSETP.lt.f32", false),
    ] {
        let body = select(kind, compare);
        assert!(!has(&after(&body, &[]), "SEL"), "{body}");
        assert_eq!(!has(&after(&body, &["limit-fold-fp"]), "SEL"), folds, "{body}");
    }
}

#[test]
fn equal_arms_fold_but_for_limited_floats() {
    let body = |kind: &str| {
        format!(
            "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:P = ISETP.lt.s32 %1, 7\n    %3:R32 = IADD.b32 %1, 1\n\
             \x20   %4:R32 = IADD.b32 %1, 1\n    %5:R32 = SEL.{kind} %3, %4, %2\n    ST.global.b32 %5, [8]\n    RET\n"
        )
    };
    for (kind, knobs, folds) in [
        ("b32", &[][..], true),
        ("f32", &[], true),
        ("b32", &["LimitFoldFp"], true),
        ("f32", &["LimitFoldFp"], false),
    ] {
        let lines = after(&body(kind), knobs);
        assert_eq!(!has(&lines, "SEL"), folds, "{lines:?}");
        // Instructions that only the select needed are removed with it.
        assert_eq!(!has(&lines, "ISETP"), folds, "{lines:?}");
    }
}

#[test]
fn limited_folding_leaves_integers_where_the_gpu_is_simple() {
    for (sm, folds) in [(60, false), (50, true), (90, true)] {
        let body = select("b32", "ISETP.lt.s32");
        let mut function = kernel(&format!("sm_{sm} ssa"), &body);
        let (result, ..) = run_named("GeneralOptimize", &mut function, &["LimitFoldFp"], 2);
        assert_eq!(result == PhaseResult::Changed, folds, "sm_{sm}");
    }
}

#[test]
fn a_complement_takes_the_other_arm() {
    let body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = ISETP.lt.s32 %1, %2\n\
                \x20   %4:P = ISETP.le.s32 %2, %1\n    %5:R32 = SEL.b32 %1, %2, %3\n    %6:R32 = SEL.b32 %1, %2, %4\n\
                \x20   ST.global.b32 %5, [8]\n    ST.global.b32 %6, [12]\n    RET\n";
    let lines = after(body, &[]);
    assert!(has(&lines, "%6:R32 = SEL.b32 %2, %1, %3"), "{lines:?}");
    assert!(!has(&lines, "ISETP.le"), "{lines:?}");
}

#[test]
fn a_complement_stays_where_its_use_has_none() {
    let body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %3:P = ISETP.lt.s32 %1, 7\n    %4:P = ISETP.ge.s32 %1, 7\n\
                \x20   %5:R32 = SEL.b32 %1, 5, %3\n    ST.global.b32 %5, [8]\n    BRA %4, bix2, fall bix1\nbix1:\n\
                \x20   ST.global.b32 %1, [4]\n    BRA fall bix2\nbix2:\n    RET\n";
    assert!(has(&after(body, &[]), "ISETP.ge"));
}

#[test]
fn combinations_with_what_is_known_are_the_rest() {
    let body = |operation: &str, sides: &str| {
        format!(
            "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:P = ISETP.lt.s32 %1, 7\n    %3:P = ISETP.gt.s32 %1, 3\n\
             \x20   BRA %2, {sides}\nbix1:\n    %4:P = {operation}.b1 %2, %3\n    %5:R32 = SEL.b32 %1, 9, %4\n\
             \x20   ST.global.b32 %5, [8]\n    BRA fall bix2\nbix2:\n    RET\n"
        )
    };
    for (operation, sides) in [("AND", "bix1, fall bix2"), ("OR", "bix2, fall bix1")] {
        let lines = after(&body(operation, sides), &[]);
        assert!(has(&lines, "SEL.b32 %1, 9, %3"), "{lines:?}");
    }
    // The other side decides the combination, and the select with it.
    assert!(has(&after(&body("AND", "bix2, fall bix1"), &[]), "MOV.b32 9"));
    assert!(has(
        &after(&body("OR", "bix1, fall bix2"), &[]),
        "ST.global.b32 %1, [8]"
    ));
}

#[test]
fn a_chain_of_selects_ends_in_one_run() {
    let mut body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = ISETP.lt.s32 %1, 7\n\
                    \x20   BRA %3, bix1, fall bix2\nbix1:\n"
        .to_owned();
    for number in 4..40 {
        let before = if number == 4 { 1 } else { number - 1 };
        body += &format!("    %{number}:R32 = SEL.b32 %{before}, %2, %3\n");
    }
    body += "    ST.global.b32 %39, [8]\n    BRA fall bix2\nbix2:\n    RET\n";
    let lines = after(&body, &[]);
    assert!(
        has(&lines, "ST.global.b32 %1, [8]") && !has(&lines, "SEL"),
        "{lines:?}"
    );
}

#[test]
fn the_report_says_what_was_done() {
    let mut function = kernel("sm_80 ssa", &select("b32", "ISETP.lt.s32"));
    let (_, statistics, remarks) = run_named("GeneralOptimize", &mut function, &[], 2);
    let count = |counter| statistics.counter("GeneralOptimize", counter);
    assert_eq!([count("folded-selects"), count("iterations-2")], [1, 1]);
    assert_eq!(count("stopped-converged"), 1);
    let report = remarks.iter().find(|remark| remark.name == "FixedPoint");
    let message = &report.expect("a report").message;
    assert!(
        message.starts_with("2 iterations, at most 2 in one place: 1 folded-selects"),
        "{message}"
    );
}

#[test]
fn the_suite_does_copies_predicates_and_dead_code_together() {
    let body = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = MOV.b32 %1\n    %3:P = ISETP.lt.s32 %1, %2\n\
                \x20   %4:R32 = SEL.b32 5, %1, %3\n    %5:R32 = IADD.b32 %4, 1\n    ST.global.b32 %1, [8]\n\
                \x20   BRA %3, bix1, fall bix2\nbix1:\n    ST.global.b32 %5, [8]\n    BRA fall bix2\nbix2:\n    RET\n";
    for name in ["GeneralOptimizeMid2", "GeneralOptimizeLate2"] {
        let lines = lines_after(name, body, &[], 2);
        let kept = ["LD", "ST", "BRA", "RET"];
        for line in lines.iter().filter(|line| !line.starts_with("bix")) {
            assert!(kept.iter().any(|name| line.contains(name)), "{lines:?}");
        }
        assert!(!has(&lines, "bix1"), "{lines:?}");
    }
    let at_one = |name| lines_after(name, body, &[], 1);
    assert!(has(&at_one("GeneralOptimizeLate2"), "SEL") && !has(&at_one("GeneralOptimizeMid2"), "SEL"));
}

/// If the suite has reached its fixed point and no phase has changed the function since, it does
/// not run again, and would find nothing.
#[test]
fn the_suite_runs_again_only_where_something_has_changed() {
    let options = PhaseOptions {
        optimization_level: 2,
        ..PhaseOptions::default()
    };
    let phase = |name| registry::named(name).next().expect("a phase");
    let (first, again) = (phase("GeneralOptimizeMid2"), phase("GeneralOptimizeLate2"));
    let mut skipped = 0;
    for seed in 0..300 {
        let mut function = random_function(seed, Stage::Ssa);
        let mut manager = Manager::new(&options, false);
        manager.run(first, &mut function);
        let between = ["GvnCse", "MergeBasicBlocks"].map(|name| manager.run(phase(name), &mut function));
        let is_changed = between.contains(&PhaseResult::Changed);
        let before = function.to_string();
        let mut alone = function.clone();
        let result = manager.run(again, &mut function);
        let (statistics, _) = manager.finish();
        assert_eq!(
            statistics.counter(again.name, "iterations-0"),
            u64::from(!is_changed),
            "{before}"
        );
        assert_eq!(
            crate::run(again, &mut alone, &options, &mut Statistics::default()),
            result,
            "{before}"
        );
        assert_eq!(alone.to_string(), function.to_string(), "{before}");
        skipped += u32::from(!is_changed);
    }
    assert!(skipped > 10 && skipped < 290, "{skipped}");
}
