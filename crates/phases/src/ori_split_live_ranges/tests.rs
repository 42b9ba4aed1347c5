use super::*;
use crate::testing::run_phase_with;
use crate::{PhaseOptions, ori_split_high_pressure_live_ranges};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::parse_function;
use oriel_ori::random_function::random_function;
use proptest::prelude::*;

const EARLY: crate::registry::Run = super::run;
const LATE: crate::registry::Run = ori_split_high_pressure_live_ranges::run;

fn options(register_budget: u32) -> PhaseOptions {
    PhaseOptions {
        register_budget,
        ..PhaseOptions::default()
    }
}

/// Peak pressure of data registers.
fn peak(function: &Function) -> u32 {
    let flow = Rc::new(ControlFlow::of(function));
    let liveness = Rc::new(Liveness::compute(function, &flow));
    PreAnalysis::new(function, flow, liveness, 0).pressure.peak
}

/// Returns the function after a phase, which must verify, or none if it is unchanged.
fn after(run: crate::registry::Run, text: &str, budget: u32) -> Option<Function> {
    let mut function = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(function.verify(), []);
    let before = peak(&function);
    let changed = run_phase_with(run, &mut function, &options(budget));
    assert_eq!(function.verify(), []);
    assert!(peak(&function) <= before);
    changed.then_some(function)
}

/// Builds a function with a parameter that is live across four other values and used after them.
fn across(form: &str, definition: &str) -> String {
    format!(
        "\
kernel \"k\" sm_80 {form} {{
bix0:
    %0:R32 = LD.global.b32 [16]
    %1:R32 = {definition}
    ST.global.b32 %1, [64]
    %2:R32 = LD.global.b32 [0]
    %3:R32 = LD.global.b32 [4]
    %4:R32 = LD.global.b32 [8]
    %5:R32 = IADD.b32 %2, %3
    %6:R32 = IADD.b32 %5, %4
    ST.global.b32 %6, [68]
    ST.global.b32 %1, [72]
    ST.global.b32 %0, [76]
    RET
}}
"
    )
}

#[test]
fn a_value_that_costs_nothing_is_made_anew_behind_the_peak() {
    for form in ["ssa", "late"] {
        for definition in ["LD.param::entry.b32 [&k_param_0]", "MOV.b32 7", "S2R.b32 ctaid.x"] {
            let text = across(form, definition);
            let function = after(EARLY, &text, 4).expect("the peak is five");
            assert_eq!(peak(&function), 4, "{function}");
            let printed = function.to_string();
            let [first, second] = [" %1, [64]", " %7, [72]"].map(|part| printed.find(part));
            assert!(first.is_some() && second > first, "{printed}");
            assert!(printed.contains(&format!("%7:R32 = {definition}")), "{printed}");
        }
    }
}

#[test]
fn what_fits_the_budget_stays() {
    assert!(after(EARLY, &across("ssa", "MOV.b32 7"), 5).is_none());
    let mut function = parse_function(&across("ssa", "MOV.b32 7")).unwrap();
    let mut off = options(4);
    off.knobs.set("456=0").unwrap();
    assert!(!run_phase_with(EARLY, &mut function, &off));
}

#[test]
fn what_cannot_be_made_anew_stays() {
    for definition in ["LD.global.b32 [12]", "S2R.b32 clock", "IMUL.b32 %0, %0"] {
        assert!(
            after(LATE, &across("late", definition), 4).is_none(),
            "{definition}"
        );
    }
}

#[test]
fn arithmetic_is_repeated_late_and_only_on_what_is_live() {
    let text = across("late", "IADD.b32 %0, 4");
    assert!(after(EARLY, &text, 4).is_none());
    let function = after(LATE, &text, 4).expect("%0 is live to the end");
    assert_eq!(peak(&function), 4, "{function}");
    // %0 is not needed after: holding it instead of %1 gains nothing.
    let text = text.replace("    ST.global.b32 %0, [76]\n", "");
    assert!(after(LATE, &text, 3).is_none());
}

#[test]
fn a_copy_gives_way_to_its_source() {
    let function = after(EARLY, &across("ssa", "COPY.b32 %0"), 4).expect("the peak is five");
    let printed = function.to_string();
    assert!(printed.contains("ST.global.b32 %0, [72]"), "{printed}");
    assert_eq!(peak(&function), 4);
}

#[test]
fn registers_with_several_definitions_stay() {
    let text = across("late", "MOV.b32 7").replace(
        "    ST.global.b32 %6",
        "    %1:R32 = MOV.b32 8\n    ST.global.b32 %6",
    );
    assert!(after(LATE, &text, 4).is_none());
}

/// A loop with four values, and one that is used in a later loop.
const LOOPS: &str = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = LD.param::entry.b32 [&k_param_0]
    BRA fall bix1
bix1:
    %2:R32 = LD.global.b32 [0]
    %3:R32 = LD.global.b32 [4]
    %4:R32 = LD.global.b32 [8]
    %5:R32 = IADD.b32 %2, %3
    %6:R32 = IADD.b32 %5, %4
    %7:P = ISETP.lt.s32 %6, 7
    BRA %7, bix1, fall bix2
bix2:
    BRA fall bix3
bix3:
    ST.global.b32 %1, [64]
    %8:R32 = LD.global.b32 [12]
    %9:P = ISETP.lt.s32 %8, %1
    BRA %9, bix3, fall bix4
bix4:
    RET
}
";

#[test]
fn a_loop_gets_its_value_before_it() {
    let function = after(EARLY, LOOPS, 3).expect("the peak is four");
    assert_eq!(peak(&function), 3, "{function}");
    let printed = function.to_string();
    assert!(
        printed.contains("bix2:\n    %10:R32 = LD.param::entry.b32 [&k_param_0]  clone\n    BRA fall bix3"),
        "{printed}"
    );
    // The definition before the loops has no use left.
    assert!(!printed.contains("%1:"), "{printed}");
}

#[test]
fn phis_get_their_values_where_control_comes_from() {
    let text = LOOPS.replace(
        "bix4:\n    RET",
        "bix4:\n    %10:R32 = PHI.b32 %1, bix3\n    ST.global.b32 %10, [72]\n    RET",
    );
    let function = after(EARLY, &text, 3).expect("the peak is four");
    assert_eq!(peak(&function), 3, "{function}");
}

#[test]
fn the_early_phase_does_not_enter_loops_under_pressure() {
    let text = LOOPS.replace("ISETP.lt.s32 %6, 7", "ISETP.lt.s32 %6, %1");
    assert!(after(EARLY, &text, 3).is_none());
    assert!(after(LATE, &text, 3).is_some());
}

proptest! {
    /// For any function, the peak does not rise, the result verifies, and an unchanged function is
    /// reported as such.
    #[test]
    fn the_peak_never_rises(seed: u64, is_late: bool, is_hard: bool, less in 1u32..6) {
        let mut function = random_function(seed, if is_late { Stage::Late } else { Stage::Ssa });
        let before = peak(&function);
        let text = function.to_string();
        let run = if is_hard { LATE } else { EARLY };
        let changed = run_phase_with(run, &mut function, &options(before.saturating_sub(less).max(1)));
        prop_assert_eq!(function.verify(), []);
        prop_assert!(peak(&function) <= before);
        prop_assert_eq!(changed, function.to_string() != text);
    }
}
