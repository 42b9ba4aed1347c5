//! Tests what is recomputed and what is not, and that the result is well formed.

use super::*;
use crate::PhaseOptions;
use crate::testing::run_phase_with;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::parse_function;
use oriel_ori::random_function::random_function;
use proptest::prelude::*;

/// Builds a function whose second block is full: it loads and stores `count` values. `first` comes
/// before it, `last` behind.
fn around_full_block(first: &str, last: &str, count: usize) -> Function {
    let loads: String = (0..count)
        .map(|number| format!("    %{}:R32 = LD.global.b32.b32 [{}]\n", 100 + number, 4 * number))
        .collect();
    let stores: String = (0..count)
        .map(|number| format!("    ST.global.b32.b32 %{}, [{}]\n", 100 + number, 4 * number))
        .collect();
    let text = format!(
        "kernel \"k\" sm_80 ssa {{\nbix0:\n    %1:R32 = LD.global.b32.b32 [0]\n{first}    BRA fall bix1\nbix1:\n\
         {loads}{stores}    BRA fall bix2\nbix2:\n{last}    RET\n}}\n"
    );
    parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run_with_budget(function: &mut Function, register_budget: u32) -> bool {
    let options = PhaseOptions {
        register_budget,
        ..PhaseOptions::default()
    };
    let changed = run_phase_with(run, function, &options);
    assert_eq!(function.verify(), [], "{function}");
    changed
}

fn operations(function: &Function, block: usize) -> Vec<String> {
    let code = function.instructions(function.blocks()[block]);
    code.map(|instruction| format!("{:?}", function.operation(instruction)))
        .collect()
}

const STORES: &str = "    ST.global.b32.b32 %2, [0]\n    ST.global.b32.b32 %1, [4]\n";

#[test]
fn a_sum_moves_behind_the_full_block() {
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", STORES, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Bra"]);
    assert_eq!(operations(&function, 2), ["Iadd", "St", "St", "Ret"]);
}

#[test]
fn where_there_are_registers_nothing_changes() {
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", STORES, 30);
    assert!(!run_with_budget(&mut function, 255));
    assert!(run_with_budget(&mut function, 24), "a budget makes them short");
}

#[test]
fn an_operand_that_would_live_as_long_is_no_gain() {
    let last = "    ST.global.b32.b32 %2, [0]\n";
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", last, 48);
    assert!(!run_with_budget(&mut function, 255));
    // At half the width, it is one.
    let first = "    %2:R64 = CVT.s64.s32 %1\n";
    let mut function = around_full_block(first, &last.replace("b32", "b64"), 48);
    assert!(run_with_budget(&mut function, 255));
}

#[test]
fn products_stay_as_they_take_long() {
    let mut function = around_full_block("    %2:R32 = IMUL.b32 %1, 16\n", STORES, 48);
    assert!(!run_with_budget(&mut function, 255));
}

#[test]
fn what_a_comparison_uses_stays() {
    for last in [
        "    %3:P = ISETP.gt.s32 %2, 5\n",
        "    %4:R32 = IADD.b32 %2, 1\n    %3:P = ISETP.gt.s32 %4, 5\n",
    ] {
        let last = format!("{last}    ST.global.b32.b32 %2, [0]\n    ST.global.b32.b32 %1, [4]\n");
        let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", &last, 48);
        assert!(!run_with_budget(&mut function, 255), "{last}");
    }
}

/// The copy of the second sum needs the first, which is used directly before it.
#[test]
fn a_chain_keeps_its_order() {
    let first = "    %2:R32 = IADD.b32 %1, 16\n    %3:R32 = IADD.b32 %2, 4\n";
    let last =
        "    ST.global.b32.b32 %2, [0]\n    ST.global.b32.b32 %3, [8]\n    ST.global.b32.b32 %1, [4]\n";
    let mut function = around_full_block(first, last, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Bra"]);
    let expected = ["Iadd", "St", "Iadd", "St", "St", "Ret"];
    assert_eq!(operations(&function, 2), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_result_is_well_formed(seed: u64, budget in 1_u32..12) {
        run_with_budget(&mut random_function(seed, Stage::Ssa), budget);
    }
}
