//! Tests the phase's effects on functions, and what it must not change.

use super::*;
use crate::PhaseOptions;
use crate::testing::run_with;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;
use oriel_ori::{Liveness, parse_function};
use proptest::prelude::*;
use std::fmt::Write;

/// A register budget that functions of tests exceed.
const BUDGET: u32 = 16;

/// Builds a kernel that computes `count` values first and then adds them up; each sum has one of
/// its summands available.
fn summands_first(count: usize) -> String {
    let mut body = "    %1:R32 = LD.global.b32.b32 [0]\n".to_owned();
    for number in 2..=count {
        writeln!(body, "    %{number}:R32 = IMUL.b32 %1, {number}").unwrap();
    }
    let mut sum = 1;
    for number in 2..=count {
        writeln!(body, "    %{}:R32 = IADD.b32 %{sum}, %{number}", count + number).unwrap();
        sum = count + number;
    }
    writeln!(body, "    ST.shared.b32.b32 %{sum}, [0]").unwrap();
    kernel(&body)
}

fn kernel(body: &str) -> String {
    format!("kernel \"k\" sm_80 late {{\nbix0:\n{body}    RET\n}}\n")
}

fn parse(text: &str) -> Function {
    parse_function(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run_on(function: &mut Function) -> (PhaseResult, Vec<String>) {
    let options = PhaseOptions {
        register_budget: BUDGET,
        ..PhaseOptions::default()
    };
    let (result, _, remarks) = run_with("ScheduleForPressure", function, &options);
    (result, remarks.into_iter().map(|remark| remark.message).collect())
}

fn peak_of(function: &Function) -> u32 {
    let liveness = Liveness::of(function);
    let weights = Weights::of(function);
    let mut finder = PeakFinder::new(function, &liveness, &weights);
    let peaks = function.blocks().iter().map(|&block| finder.peak_of_block(block));
    peaks.max().unwrap_or(0)
}

#[test]
fn summands_come_where_they_are_added() {
    let mut function = parse(&summands_first(24));
    assert_eq!(peak_of(&function), 24);
    let (result, remarks) = run_on(&mut function);
    assert_eq!(result, PhaseResult::Changed);
    assert_eq!(peak_of(&function), 3);
    assert_eq!(
        remarks,
        ["1 blocks in another order: 3 units are live at the fullest point, 24 before"]
    );
}

#[test]
fn few_registers_are_left_alone() {
    let at_budget = |count, register_budget| {
        let options = PhaseOptions {
            register_budget,
            ..PhaseOptions::default()
        };
        run_with(
            "ScheduleForPressure",
            &mut parse(&summands_first(count)),
            &options,
        )
        .0
    };
    for least in [BUDGET, LEAST_PEAK] {
        assert_eq!(at_budget(least as usize - 1, least), PhaseResult::Unchanged);
        assert_eq!(at_budget(least as usize, least), PhaseResult::Changed);
    }
    assert_eq!(at_budget(LEAST_PEAK as usize - 1, 255), PhaseResult::Unchanged);
}

#[test]
fn loads_alone_are_left_to_ptxas() {
    let mut text = summands_first(24);
    for number in 2..=24 {
        let product = format!("IMUL.b32 %1, {number}\n");
        text = text.replace(&product, &format!("LD.global.b32.b32 [{}]\n", 4 * number));
    }
    let mut function = parse(&text);
    assert_eq!(peak_of(&function), 24);
    let (result, remarks) = run_on(&mut function);
    assert_eq!(result, PhaseResult::Unchanged);
    assert!(remarks[0].contains("not once loads are moved up"), "{remarks:?}");
}

#[test]
fn what_is_needed_all_at_once_stays() {
    let mut body = String::new();
    for number in 1..=20 {
        writeln!(
            body,
            "    %{number}:R32 = LD.volatile.global.b32.b32 [{}]",
            4 * number
        )
        .unwrap();
    }
    for number in 1..=20 {
        writeln!(body, "    ST.volatile.shared.b32.b32 %{number}, [{}]", 4 * number).unwrap();
    }
    let mut function = parse(&kernel(&body));
    let (result, remarks) = run_on(&mut function);
    assert_eq!(result, PhaseResult::Unchanged);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
}

#[test]
fn what_lives_through_a_block_cannot_be_ordered() {
    let text = summands_first(24).replace("%26:R32 = IADD", "BRA fall bix1\nbix1:\n    %26:R32 = IADD");
    let mut function = parse(&text);
    let (result, remarks) = run_on(&mut function);
    assert_eq!(result, PhaseResult::Unchanged);
    assert!(remarks[0].contains("another order leaves 24"), "{remarks:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_peak_falls_if_something_moves(seed: u64, late: bool) {
        let mut function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
        let before = (function.to_string(), peak_of(&function));
        let (result, _) = run_on(&mut function);
        prop_assert_eq!(result, PhaseResult::of(function.to_string() != before.0));
        if result == PhaseResult::Changed {
            prop_assert!(peak_of(&function) <= most_after(before.1));
        }
    }
}

#[test]
fn long_blocks_take_linear_time() {
    // A quadratic algorithm would take minutes.
    let count = 50_000;
    let mut function = parse(&summands_first(count));
    assert_eq!(run_on(&mut function).0, PhaseResult::Changed);
    assert_eq!(peak_of(&function), 3);
}
