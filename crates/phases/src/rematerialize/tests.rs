//! Tests what is recomputed and what is not, and that the result is well formed.

use super::*;
use crate::PhaseOptions;
use crate::testing::run_phase_with;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::parse_function;
use oriel_ori::random_function::random_function;
use proptest::prelude::*;

/// Returns `count` loads into registers from `first` on, and the stores of these: where the ones meet
/// the others, a block is full.
fn loads_and_stores(first: usize, count: usize) -> String {
    let loads = (0..count).map(|number| {
        format!(
            "    %{}:R32 = LD.global.b32.b32 [{}]\n",
            first + number,
            4 * number
        )
    });
    let stores =
        (0..count).map(|number| format!("    ST.global.b32.b32 %{}, [{}]\n", first + number, 4 * number));
    loads.chain(stores).collect()
}

/// Builds a function whose second block is full: it loads and stores `count` values. `first` comes
/// before it, `last` after.
fn around_full_block(first: &str, last: &str, count: usize) -> Function {
    let full = loads_and_stores(100, count);
    let text = format!(
        "kernel \"k\" sm_80 ssa {{\nbix0:\n    %1:R32 = LD.global.b32.b32 [0]\n{first}    BRA fall bix1\nbix1:\n\
         {full}    BRA fall bix2\nbix2:\n{last}    RET\n}}\n"
    );
    parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run_with_budget(function: &mut Function, register_budget: u32) -> bool {
    let options = PhaseOptions {
        register_budget,
        ..PhaseOptions::default()
    };
    let changed = run_phase_with(
        |function, context| recompute(function, context, 0),
        function,
        &options,
    );
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
fn stack_objects_that_callees_may_have_outweigh_the_peak() {
    let first = "    %2:R64 = IMUL.WIDE.s64.s32 %1, 4\n    %3:R64 = IADD.b64 %2, 8\n";
    let last = "    ST.global.b64.b64 %2, [0]\n    ST.global.b64.b64 %3, [8]\n";
    let call = "    CALL.START 1, 0\n    CALL.uniform &callee, 1, 1\n    CALL.END 1, 2\n";
    for (bytes, call, is_recomputed) in [(4000, "", true), (40, call, true), (4000, call, false)] {
        let text = around_full_block(first, &format!("{call}{last}"), 60).to_string();
        let stack = format!("ssa {{\n    stack frame(0) {bytes} bytes align 8\n");
        let text = text.replacen("ssa {\n", &stack, 1);
        let mut function = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(run_with_budget(&mut function, 32), is_recomputed, "{function}");
    }
}

#[test]
fn a_sum_moves_behind_the_full_block() {
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", STORES, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Bra"]);
    assert_eq!(operations(&function, 2), ["Iadd", "St", "St", "Ret"]);
}

#[test]
fn what_lowers_the_peak_by_too_little_is_taken_back() {
    let sums = |count: usize| -> [String; 2] {
        let sums = (2..2 + count).map(|sum| format!("    %{sum}:R32 = IADD.b32 %1, {sum}\n"));
        let stores = (1..2 + count).map(|sum| format!("    ST.global.b32 %{sum}, [{}]\n", 4 * sum));
        [sums.collect(), stores.collect()]
    };
    // The peak is 48 loads, `%1`, and the sums.
    for (count, is_changed) in [(6, false), (7, true)] {
        let [first, last] = sums(count);
        let mut function = around_full_block(&first, &last, 48);
        let before = function.to_string();
        assert_eq!(
            run_phase_with(run, &mut function, &PhaseOptions::default()),
            is_changed
        );
        assert_eq!(function.to_string() != before, is_changed, "{function}");
        assert_eq!(function.verify(), [], "{function}");
    }
}

#[test]
fn where_there_are_registers_nothing_changes() {
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", STORES, 28);
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
fn divisions_stay_as_they_take_long() {
    let mut function = around_full_block("    %2:R32 = IDIV.s32 %1, 16\n", STORES, 48);
    assert!(!run_with_budget(&mut function, 255));
    let mut function = around_full_block("    %2:R32 = IMUL.b32 %1, 16\n", STORES, 48);
    assert!(run_with_budget(&mut function, 255));
}

/// Each copy would read another value.
#[test]
fn what_reads_an_undefined_value_is_not_recomputed() {
    for (first, is_changed) in [
        ("IADD.b32 %1, %9", true),
        ("IADD.b32 undef %1, %9", false),
        ("IADD.b32 %8, %9", false),
    ] {
        let first = format!("    %8:R32 = UNDEF.b32\n    %9:R32 = IMUL.b32 %1, 3\n    %2:R32 = {first}\n");
        let last = "    ST.global.b32.b32 %2, [%9]\n    ST.global.b32.b32 %1, [%9]\n";
        let mut function = around_full_block(&first, last, 48);
        run_with_budget(&mut function, 255);
        let copies = operations(&function, 2).iter().filter(|it| *it == "Iadd").count();
        assert_eq!(copies == 1, is_changed, "{function}");
    }
}

/// The product is used nowhere else, and lives no longer than the sum.
#[test]
fn an_expression_is_recomputed_as_a_whole() {
    let first = "    %2:R64 = IMUL.WIDE.s64.s32 %1, 4\n    %3:R64 = IADD.b64 %2, 64\n";
    let last = "    ST.global.b32.b32 %1, [%3]\n";
    let mut function = around_full_block(first, last, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Bra"]);
    assert_eq!(operations(&function, 2), ["ImulWide", "Iadd", "St", "Ret"]);
    // Where the product has to be kept for something else, the sum starts from it.
    let last = "    ST.global.b32.b32 %1, [%3]\n    %4:R64 = PHI.b64 %2, bix1\n";
    let text = format!(
        "    BRA fall bix3\nbix3:\n    {}",
        &last[last.find("%4").expect("it is there")..]
    );
    let last = format!("    ST.global.b32.b32 %1, [%3]\n{text}    ST.global.b64.b64 %4, [0]\n");
    let mut function = around_full_block(first, &last.replace("bix1\n", "bix2\n"), 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "ImulWide", "Bra"]);
    assert_eq!(operations(&function, 2), ["Iadd", "St", "Bra"]);
}

/// Builds a function with an operand of a product and `more` sums, from which `count` values start
/// that are used after the full block.
fn with_shared_operand(more: usize, count: usize) -> Function {
    let mut first = "    %2:R32 = IMUL.b32 %1, 12\n".to_owned();
    for sum in 3..3 + more {
        first += &format!("    %{sum}:R32 = IADD.b32 %{}, %1\n", sum - 1);
    }
    let (operand, values) = (2 + more, 20..20 + count);
    first.extend(
        values
            .clone()
            .map(|value| format!("    %{value}:R32 = IADD.b32 %{operand}, {value}\n")),
    );
    let stores: String = values
        .map(|value| format!("    ST.global.b32.b32 %{value}, [%1]\n"))
        .collect();
    around_full_block(&first, &stores, 48)
}

/// Recomputing three operations for four values takes nine more than once for all.
#[test]
fn an_operand_of_several_values_stays() {
    let mut function = with_shared_operand(2, 4);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Imul", "Iadd", "Iadd", "Bra"]);
    let one = ["Iadd", "St"];
    assert_eq!(operations(&function, 2), [&one.repeat(4)[..], &["Ret"]].concat());
}

/// Three values repeat six operations of three, or four of two.
#[test]
fn an_operand_of_few_values_is_recomputed_for_each() {
    for (more, count) in [(2, 3), (1, 3)] {
        let mut function = with_shared_operand(more, count);
        assert!(run_with_budget(&mut function, 255));
        assert_eq!(operations(&function, 0), ["Ld", "Bra"]);
        let one = [&["Imul"], &vec!["Iadd"; more][..], &["Iadd", "St"]].concat();
        let all = [&one.repeat(count)[..], &["Ret"]].concat();
        assert_eq!(operations(&function, 2), all);
    }
}

/// The operand stays, so that its own operand serves one value only, which takes it along.
#[test]
fn an_operand_that_stays_does_not_keep_its_own() {
    let values: String = (20..29)
        .map(|value| format!("    %{value}:R32 = IADD.b32 %3, {value}\n"))
        .collect();
    let first = format!(
        "    %2:R32 = IMUL.b32 %1, 12\n    %3:R32 = IADD.b32 %2, 1\n{values}    %4:R32 = IADD.b32 %2, 2\n"
    );
    let mut last: String = (20..29)
        .map(|value| format!("    ST.global.b32.b32 %{value}, [%1]\n"))
        .collect();
    last += "    ST.global.b32.b32 %4, [%1]\n";
    let mut function = around_full_block(&first, &last, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 0), ["Ld", "Imul", "Iadd", "Bra"]);
    let expected = [&["Iadd", "St"].repeat(9)[..], &["Imul", "Iadd", "St", "Ret"]].concat();
    assert_eq!(operations(&function, 2), expected);
}

/// To ptxas a parameter is an operand, which takes no register.
#[test]
fn a_parameter_costs_nothing() {
    let first = "    %2:R64 = LD.param::entry.b64 [&k_param_0]\n    %3:R64 = CVT.s64.s32 %1\n    %4:R64 = IADD.b64 %2, %3\n";
    let last = "    ST.global.b32.b32 5, [%4]\n";
    let mut function = around_full_block(first, last, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 2), ["Cvt", "Iadd", "St", "Ret"]);
    // As the value that is loaded from memory, it would take two.
    let mut function = around_full_block(
        &first.replace("LD.param::entry.b64 [&k_param_0]", "LD.global.b64.b64 [8]"),
        last,
        48,
    );
    assert!(!run_with_budget(&mut function, 255));
}

/// Builds a function with a loop after a full block, which may be full, too: `in_loop` is in it.
fn with_loop(in_loop: &str, limit: &str, is_loop_full: bool) -> Function {
    let count = if is_loop_full { 48 } else { 4 };
    let body = loads_and_stores(200, count);
    let last = format!(
        "    BRA fall bix3\nbix3:\n    %10:R32 = PHI.b32 0, bix2, %11, bix3\n{in_loop}{body}    %11:R32 = IADD.b32 %10, 1\n    \
         %12:P = ISETP.lt.s32 %11, {limit}\n    BRA %12, bix3, fall bix4\nbix4:\n    ST.global.b32.b32 %1, [0]\n"
    );
    around_full_block("    %2:R32 = IADD.b32 %1, 16\n", &last, 48)
}

const STORE_OF_SUM: &str = "    ST.global.b32.b32 %2, [0]\n";

#[test]
fn loops_compute_again_only_where_registers_are_short() {
    assert!(!run_with_budget(&mut with_loop(STORE_OF_SUM, "%1", false), 255));
    let mut function = with_loop(STORE_OF_SUM, "%1", true);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 3)[..3], ["Phi", "Iadd", "St"]);
}

/// ptxas unrolls a loop that counts from a constant to a constant, unless it gets too large.
#[test]
fn loops_with_a_constant_count_stay_small() {
    assert!(!run_with_budget(&mut with_loop(STORE_OF_SUM, "9", true), 255));
}

#[test]
fn what_controls_a_loop_stays() {
    assert!(!run_with_budget(&mut with_loop("", "%2", true), 255));
    let step = "    %5:R32 = IADD.b32 %2, 1\n";
    assert!(!run_with_budget(&mut with_loop(step, "%5", true), 255));
}

/// A comparison that does not end a loop is a use like others.
#[test]
fn what_decides_between_two_ways_is_recomputed() {
    let last =
        "    %3:P = ISETP.gt.s32 %2, 5\n    BRA %3, bix3, fall bix3\nbix3:\n    ST.global.b32.b32 %1, [4]\n";
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", last, 48);
    assert!(run_with_budget(&mut function, 255));
    assert_eq!(operations(&function, 2), ["Iadd", "Isetp", "Bra"]);
}

/// If the value has to live through the full block anyway, a copy after it saves nothing.
#[test]
fn what_stays_live_is_not_recomputed() {
    let last = "    ST.global.b32.b32 %2, [0]\n    BRA fall bix3\nbix3:\n    %4:R32 = PHI.b32 %2, bix2\n    ST.global.b32.b32 %4, [%1]\n";
    let last = last.replace("[%1]", "[4]") + "    ST.global.b32.b32 %1, [8]\n";
    let mut function = around_full_block("    %2:R32 = IADD.b32 %1, 16\n", &last, 48);
    assert!(!run_with_budget(&mut function, 255));
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
