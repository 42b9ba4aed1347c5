//! Tests what is hoisted and what stays, and that functions stay sound.

use super::*;
use crate::PhaseOptions;
use crate::testing::{check_ends_in_one_run, count_of, run_phase_with, text_after};
use oriel_ori::parse_function;
use proptest::prelude::*;

/// Both targets multiply, add to the product and load, each in its own order.
const COMMON: &str = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = LD.global.b32 [4]
    %3:P = ISETP.lt.s32 %2, 7
    BRA %3, bix2, fall bix1
bix1:
    %4:R32 = IMUL.b32 %1, %2
    %5:R32 = IADD.b32 %4, 3
    %6:R32 = LD.global.b32 [8]
    ST.global.b32 %5, [64]
    ST.global.b32 %6, [68]
    RET
bix2:
    %7:R32 = LD.global.b32 [8]
    %8:R32 = IMUL.b32 %2, %1
    %9:R32 = IADD.b32 %8, 3
    %10:R32 = ISUB.b32 %9, %7
    ST.global.b32 %10, [64]
    RET
}
";

fn after(text: &str) -> String {
    text_after(run, text)
}

/// Returns how often a word occurs before the branch of the first block, and after it.
fn counts(text: &str, word: &str) -> (usize, usize) {
    let (before, behind) = text.split_once("BRA").expect("there is a branch");
    (before.matches(word).count(), behind.matches(word).count())
}

#[test]
fn what_all_targets_compute_goes_up() {
    let text = after(COMMON);
    assert_eq!(counts(&text, "IMUL"), (1, 0), "{text}");
    assert_eq!(counts(&text, "IADD"), (1, 0), "{text}");
    assert_eq!(counts(&text, "LD."), (3, 0), "{text}");
    assert_eq!(counts(&text, "ISUB"), (0, 1), "{text}");
    assert!(text.contains("ISUB.b32 %9, %7"), "{text}");
}

#[test]
fn what_one_target_computes_otherwise_stays() {
    for (from, to, stays) in [
        ("IMUL.b32 %2, %1", "IMUL.b32 %2, %2", "IMUL"),
        // Dependent expressions stay with it.
        ("IMUL.b32 %2, %1", "IMUL.b32 %2, %2", "IADD"),
        ("%9:R32 = IADD.b32 %8, 3", "%9:R32 = IADD.b32 %8, 4", "IADD"),
        ("%7:R32 = LD.global.b32 [8]", "%7:R32 = LD.global.b32 [12]", "LD."),
        // The memory differs, or may differ.
        ("bix1:\n", "bix1:\n    ST.global.b32 %1, [8]\n", "LD."),
        ("bix2:\n", "bix2:\n    BAR.sync 0\n", "LD."),
        ("%7:R32 = LD.global.b32", "%7:R32 = LD.volatile.global.b32", "LD."),
    ] {
        let text = after(&COMMON.replace(from, to));
        assert_eq!(counts(&text, stays).1, 2, "{text}");
    }
}

#[test]
fn targets_that_others_lead_to_are_left_alone() {
    let text = after(&COMMON.replace("[68]\n    RET", "[68]\n    BRA bix2"));
    assert_eq!(counts(&text, "IMUL").1, 2, "{text}");
}

/// A terminator with effects may write what the targets load, and its results do not exist before
/// it.
#[test]
fn nothing_goes_above_a_terminator_with_effects() {
    for (terminator, value) in [
        ("OPAQUE.END (JUMP side_effects terminator)", "%1"),
        ("%3:R32 = OPAQUE.END (JUMP terminator)", "%3"),
    ] {
        let text = COMMON
            .replace("BRA %3,", &format!("{terminator} %3,"))
            .replace("    %3:P = ISETP.lt.s32 %2, 7\n", "")
            .replace("%3, bix2", "%2, bix2")
            .replace("%1, %2", &format!("{value}, %2"))
            .replace("%2, %1", &format!("%2, {value}"));
        assert_eq!(
            after(&text),
            parse_function(&text).expect("it is well formed").to_string()
        );
    }
}

#[test]
fn expressions_climb_as_far_as_they_are_common() {
    let text = after(
        "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:P = ISETP.lt.s32 %1, 7
    BRA %2, bix4, fall bix1
bix1:
    %3:P = ISETP.lt.s32 %1, 5
    BRA %3, bix3, fall bix2
bix2:
    %4:R32 = IMUL.b32 %1, %1
    ST.global.b32 %4, [64]
    RET
bix3:
    %5:R32 = IMUL.b32 %1, %1
    ST.global.b32 %5, [68]
    RET
bix4:
    %6:R32 = IMUL.b32 %1, %1
    ST.global.b32 %6, [72]
    RET
}
",
    );
    assert_eq!(counts(&text, "IMUL"), (1, 0), "{text}");
}

#[test]
fn the_knob_and_the_budget_keep_it_from_doing_anything() {
    let mut function = parse_function(COMMON).unwrap();
    let mut options = PhaseOptions::default();
    options.knobs.set("SpeculativeHoistCommonInsts=0").unwrap();
    assert!(!run_phase_with(run, &mut function, &options));
    let options = PhaseOptions {
        register_budget: 2,
        ..PhaseOptions::default()
    };
    assert!(!run_phase_with(run, &mut function, &options));
    assert_eq!(count_of(run, &mut function, "hoisted-expressions"), 3);
}

#[test]
fn what_is_computed_from_a_value_without_room_stays_with_it() {
    let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = LD.global.b32 [64]
    %2:P = ISETP.lt.s32 %1, 7
    BRA %2, bix2, fall bix1
bix1:
    %3:R32 = IMUL.b32 %1, 5
    %4:P = ISETP.lt.s32 %3, 100
    %5:R32 = SEL.b32 1, 2, %4
    ST.global.b32 %5, [64]
    RET
bix2:
    %6:R32 = IMUL.b32 %1, 5
    %7:P = ISETP.lt.s32 %6, 100
    %8:R32 = SEL.b32 3, 4, %7
    ST.global.b32 %8, [64]
    RET
}
";
    let mut function = parse_function(text).unwrap();
    let options = PhaseOptions {
        register_budget: 1,
        ..PhaseOptions::default()
    };
    // A predicate has room of its own.
    assert!(!run_phase_with(run, &mut function, &options), "{function}");
    assert_eq!(function.verify(), []);
    assert_eq!(count_of(run, &mut function, "hoisted-expressions"), 2);
}

#[test]
fn all_results_of_a_load_need_room_at_once() {
    let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:P = ISETP.lt.s32 %9, 7
    BRA %1, bix2, fall bix1
bix1:
    %2:R32, %3:R32 = LD.global.b32 [64]
    ST.global.b32 %2, %3, [72]
    RET
bix2:
    %4:R32, %5:R32 = LD.global.b32 [64]
    ST.global.b32 %4, %5, [80]
    RET
}
"
    .replace("%9", "3");
    for (register_budget, fits) in [(3, false), (4, true)] {
        let mut function = parse_function(&text).unwrap();
        let options = PhaseOptions {
            register_budget,
            ..PhaseOptions::default()
        };
        assert_eq!(run_phase_with(run, &mut function, &options), fits, "{function}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// For any function: the result verifies, and a second run finds nothing.
    #[test]
    fn functions_stay_sound(seed: u64) {
        check_ends_in_one_run(run, seed);
    }
}
