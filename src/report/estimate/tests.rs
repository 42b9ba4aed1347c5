//! Tests on small functions, rule by rule.

use super::*;
use crate::ori::parse_function;
use crate::snapshot::abi::Stage;
use proptest::prelude::*;

/// The features of a kernel's body for sm_90, without launch bounds.
fn features(body: &str) -> Features {
    features_for(90, body)
}

fn features_for(sm: u32, body: &str) -> Features {
    let text = format!("kernel \"k\" sm_{sm} late {{\n{body}}}\n");
    let function = parse_function(&text).expect("it parses");
    assert_eq!(function.verify(), []);
    let target = Target {
        sm,
        register_limit: MOST_REGISTERS,
    };
    Features::new(&function, &target)
}

#[test]
fn parameters_immediates_and_addresses_with_constants_take_no_register() {
    let found = features(
        "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    %2:R64 = CVT.u64.u32 %1
    %3:R64 = IADD.b64 %0, %2
    %4:R64 = IADD.b64 %3, 64
    %5:R32 = MOV.b32 7
    ST.global.b32 %5, [%4]
    ST.global.b32 %5, [%3]
    RET
",
    );
    // LLVM has base, address, sum and constant; the machine has the address alone.
    assert_eq!(found.pressure, 5.0);
    assert_eq!(found.source_peak, 2.0);
    assert_eq!(found.nodes, 5.0);
}

#[test]
fn parts_of_a_wide_value_are_its_own_registers() {
    let found = features(
        "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R64 = LD.global.b64 [%0]
    %2:R32, %3:R32 = UNPACK.b32.b64 %1
    %4:R32 = CVT.u32.u64 %1
    ST.global.b32 %2, [%0]
    ST.global.b32 %3, [%0+4]
    ST.global.b32 %4, [%0+8]
    RET
",
    );
    assert_eq!(found.source_peak, 2.0);
}

#[test]
fn uniform_integers_are_counted_apart_where_there_is_a_file_for_them() {
    let body = "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 ctaid.x
    %2:R32 = IADD.b32 %1, 5
    %3:R32 = S2R.b32 tid.x
    ST.global.b32 %1, [%0]
    ST.global.b32 %2, [%0+4]
    ST.global.b32 %3, [%0+8]
    RET
";
    let with = features_for(75, body);
    assert_eq!(
        (with.source_peak, with.uniform_peak, with.all_peak),
        (1.0, 2.0, 3.0)
    );
    let without = features_for(70, body);
    assert_eq!((without.source_peak, without.uniform_peak), (3.0, 0.0));
}

/// Loads a few values one after the other, each used at once.
fn loads_in_turn(count: usize) -> String {
    let mut body = "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = MOV.b32 0
    %2:R32 = S2R.b32 tid.x
"
    .to_owned();
    for number in 0..count {
        let (value, sum) = (2 * number + 3, 2 * number + 4);
        let before = 2 * number + 2;
        body += &format!("    %{value}:R32 = LD.nc.global.b32.b32 [%0+{}]\n", 4 * number);
        body += &format!("    %{sum}:R32 = IADD.b32 %{before}, %{value}\n");
    }
    body + &format!("    ST.global.b32 %{}, [%0]\n    RET\n", 2 * count + 2)
}

#[test]
fn loads_go_first_as_far_as_the_target_lets_them() {
    let few = features(&loads_in_turn(8));
    assert_eq!(few.source_peak, 2.0);
    assert_eq!((few.loads_first_peak, few.peak_within_32), (9.0, 9.0));
    assert_eq!(few.loads_in_flight, 8.0);
    let many = features(&loads_in_turn(100));
    assert_eq!(many.loads_first_peak, 101.0);
    assert!(many.latency_peak > many.peak_within_64);
    assert!(
        (32.0..=34.0).contains(&many.peak_within_32),
        "{}",
        many.peak_within_32
    );
    assert!(
        (64.0..=66.0).contains(&many.peak_within_64),
        "{}",
        many.peak_within_64
    );
}

#[test]
fn loads_stay_behind_stores_that_may_write_their_memory() {
    let body = |second: &str| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R64 = LD.param::entry.b64 [&k_param_1]
    %2:R32 = LD.global.b32.b32 [%0]
    ST.global.b32.b32 %2, [%0]
    %3:R32 = LD.{second}
    ST.global.b32.b32 %3, [%0]
    RET
"
        ))
    };
    assert_eq!(body("global.b32.b32 [%1]").loads_in_flight, 1.0);
    assert_eq!(body("shared.b32.b32 [%1]").loads_in_flight, 2.0);
    assert_eq!(body("nc.global.b32.b32 [%1]").loads_in_flight, 2.0);
}

#[test]
fn short_sides_of_branches_are_scheduled_with_what_surrounds_them() {
    let found = features(
        "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    %2:P = ISETP.lt.s32 %1, 5
    BRA %2, bix1, bix2
bix1:
    %3:R32 = LD.nc.global.b32.b32 [%0]
    ST.global.b32 %3, [%0+16]
    BRA fall bix2
bix2:
    %4:R32 = LD.nc.global.b32.b32 [%0+8]
    ST.global.b32 %4, [%0+32]
    RET
",
    );
    assert_eq!((found.largest_block, found.largest_region), (3.0, 9.0));
    assert_eq!(found.loads_in_flight, 2.0);
}

#[test]
fn loops_are_unrolled_by_their_rounds() {
    let body = |rounds: usize| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = MOV.b32 0
    %2:R32 = MOV.b32 0
    %9:R32 = S2R.b32 tid.x
    BRA fall bix1
bix1:
    %3:R64 = CVT.u64.u32 %1
    %4:R64 = IADD.b64 %0, %3
    %5:R32 = LD.nc.global.b32.b32 [%4]
    %2:R32 = IADD.b32 %2, %5
    %1:R32 = IADD.b32 %1, 4
    %6:P = ISETP.ne.s32 %1, {}
    BRA %6, bix1, bix2
bix2:
    ST.global.b32 %2, [%0]
    ST.global.b32 %9, [%0+4]
    RET
",
            4 * rounds
        ))
    };
    let (eight, sixteen) = (body(8), body(16));
    assert_eq!((eight.constant_rounds, sixteen.constant_rounds), (8.0, 16.0));
    assert!(sixteen.unrolled_peak >= eight.unrolled_peak + 6.0);
    // Too many rounds to be unrolled completely: a few are.
    let many = body(1_000);
    assert_eq!(many.constant_rounds, 0.0);
    assert!(many.unrolled_peak < eight.unrolled_peak);
}

#[test]
fn divisions_need_registers_in_between() {
    let body = |operation: &str| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = LD.global.b32.b32 [%0]
    %2:R32 = {operation} %1, %1
    ST.global.b32 %2, [%0]
    RET
"
        ))
    };
    assert_eq!(body("IDIV.s32").source_peak, body("IADD.b32").source_peak + 4.0);
}

fn calling(callee: &str) -> CallGraph {
    let mut graph = CallGraph::default();
    let kernel = format!(
        "kernel \"k\" sm_90 late {{
bix0:
    CALL.START 0, 0
    CALL &{callee}, 0, 0
    CALL.END 0, 0
    RET
}}
"
    );
    let device = format!(
        "function \"f\" sm_90 late {{\n{}}}\n",
        loads_in_turn(8).replace("param::entry", "param::func")
    );
    for text in [kernel, device] {
        let function = parse_function(&text).expect("it parses");
        let target = Target {
            sm: 90,
            register_limit: MOST_REGISTERS,
        };
        graph.add(&function, &target);
    }
    graph
}

#[test]
fn a_kernel_has_the_registers_of_what_it_calls() {
    let known = calling("f").features("k").expect("it was added");
    assert!(known.source_peak > 0.0);
    assert_eq!((known.calls, known.unknown_calls), (1.0, 0.0));
    let unknown = calling("g").features("k").expect("it was added");
    assert_eq!((unknown.source_peak, unknown.unknown_calls), (0.0, 1.0));
    // A function that calls itself is counted once.
    let itself = calling("k").features("k").expect("it was added");
    assert_eq!(itself.unknown_calls, 1.0);
    assert!(calling("f").estimate("h").is_none());
}

#[test]
fn launch_bounds_leave_a_thread_so_many_registers() {
    assert_eq!(register_limit(0, None, 0), 255);
    assert_eq!(register_limit(0, Some(1024), 0), 64);
    assert_eq!(register_limit(0, Some(256), 4), 64);
    assert_eq!(register_limit(0, Some(384), 2), 80);
    assert_eq!(register_limit(40, Some(256), 4), 40);
    assert_eq!(register_limit(128, Some(256), 4), 64);
    assert_eq!(threads([0, 0, 0]), None);
    assert_eq!(threads([32, 4, 0]), Some(128));
}

proptest! {
    #[test]
    fn any_function_has_an_estimate_and_always_the_same(seed: u64) {
        let function = crate::ori::random_function::random_function(seed, Stage::Late);
        let target = Target { sm: 90, register_limit: 64 };
        let features = Features::new(&function, &target);
        prop_assert_eq!(features, Features::new(&function, &target));
        let estimate = RegisterEstimate::from_features(&features);
        prop_assert!(estimate.low <= estimate.registers && estimate.registers <= estimate.high);
        prop_assert!(estimate.high <= 64);
        prop_assert!(features.peak_within_32 <= features.loads_first_peak.max(features.source_peak + 32.0));
    }
}
