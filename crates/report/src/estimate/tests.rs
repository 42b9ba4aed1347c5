//! Tests each rule on small functions.

use super::*;
use crate::occupancy::MAX_REGISTERS_PER_THREAD;
use oriel_engine::snapshot::abi::{FunctionFlags, Stage};
use oriel_ori::parse_function;
use proptest::prelude::*;

/// Computes the features of a kernel's body for sm_90, without launch bounds.
fn features(body: &str) -> Features {
    features_for(90, body)
}

fn features_for(sm: u32, body: &str) -> Features {
    features_with(sm, 0, body)
}

/// The features if the launch bounds allot registers, or with 0, if there are no bounds.
fn features_with(sm: u32, allotted_registers: u32, body: &str) -> Features {
    let text = format!("kernel \"k\" sm_{sm} late {{\n{body}}}\n");
    let function = parse_function(&text).expect("it parses");
    assert_eq!(function.verify(), []);
    let target = Target {
        sm,
        register_limit: MAX_REGISTERS_PER_THREAD,
        allotted_registers,
        threads: 0,
        is_debug: false,
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
    // LLVM has base, address, sum and constant; the machine has thread number and base, then only
    // the address.
    assert_eq!(found.pressure, 5.0);
    assert_eq!(found.source_peak, 3.0);
    assert_eq!(found.nodes, 6.0);
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
    // The value, and the address of all accesses.
    assert_eq!(found.source_peak, 4.0);
}

#[test]
fn parts_of_aggregates_and_changes_of_sign_take_no_register() {
    let body = |value: &str| {
        features(&format!(
            "bix0:
    %0:R64 = MOV.b64 &k_param_0
    %1:R32 = LD.param::entry.b32.b32 [%0]
    %2:R32 = LD.param::entry.b32.b32 [%0+4]
    %3:R32 = FNEG.f32 %1
    %4:R32 = S2R.b32 tid.x
    %5:R32 = FMUL.f32 %4, {value}
    %6:R32 = FADD.f32 %5, %2
    ST.shared.b32.b32 %6, [&k_shared]
    RET
"
        ))
    };
    assert_eq!((body("%3").source_peak, body("%3").nodes), (1.0, 5.0));
    assert_eq!(body("%1").source_peak, 1.0);
}

#[test]
fn addresses_of_accesses_are_moved_to_registers_once_a_block_but_on_turing() {
    let body = "bix0:
    ST.global.b32.b32 0, [&one]
    ST.global.b32.b32 0, [&one+4]
    ST.global.b32.b32 0, [&other]
    RET
";
    assert_eq!(features(body).nodes, 6.0);
    assert_eq!(features_for(75, body).nodes, 4.0);
}

/// Loads `count` words at one address, adds one to each and stores them.
fn copies(count: usize) -> String {
    let mut body = "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    %2:R64 = IMAD.WIDE.u64.u32 %1, 4, %0
"
    .to_owned();
    for number in 0..count {
        body += &format!(
            "    %{}:R32 = LD.nc.global.b32.b32 [%2+{}]\n",
            number + 3,
            4 * number
        );
    }
    for number in 0..count {
        let (value, sum) = (number + 3, number + 3 + count);
        body += &format!("    %{sum}:R32 = FADD.f32 %{value}, 1.0f32\n");
        body += &format!("    ST.global.b32.b32 %{sum}, [%2+{}]\n", 4 * number);
    }
    body + "    RET\n"
}

#[test]
fn what_stores_read_is_kept_at_odd_registers() {
    // ptxas needs two registers more in each case: 10, 14 and 22 for every SM.
    let spaced = |count| features(&copies(count)).spaced_within_target;
    assert_eq!((spaced(2), spaced(4), spaced(8)), (8.0, 12.0, 20.0));
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

#[test]
fn the_sizes_of_a_launch_take_no_register() {
    let sum_with = |source: &str| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 {source}
    %2:R32 = S2R.b32 tid.x
    %3:R32 = IADD.b32 %2, %1
    ST.global.b32 %3, [%0]
    RET
"
        ))
    };
    let (size, place) = (sum_with("ntid.x"), sum_with("ctaid.x"));
    assert_eq!((size.uniform_peak, place.uniform_peak), (0.0, 1.0));
    assert_eq!(size.nodes + 1.0, place.nodes);
}

#[test]
fn addresses_of_shared_memory_take_one_register() {
    let load_from = |space: &str| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    %2:R64 = IMAD.WIDE.u64.u32 %1, 8, %0
    %3:R64 = LD.global.b64.b64 [%2]
    %4:R64 = SHL.b64 %3, 2
    %5:R64 = IADD.b64 %4, %3
    %6:R32 = LD.{space}.b32.b32 [%5]
    %7:R32 = LD.{space}.b32.b32 [%4]
    ST.global.b32 %6, [%2]
    ST.global.b32 %7, [%2+4]
    RET
"
        ))
    };
    let (shared, global) = (load_from("shared"), load_from("global"));
    // Live after the sum are the sum, the shifted value, and both halves of the address in global memory.
    assert_eq!((shared.source_peak, global.source_peak), (4.0, 6.0));
}

#[test]
fn lanes_that_return_do_not_part_the_others() {
    let guarded = |end: &str| {
        features(&format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    %2:R32 = LD.param::entry.b32 [&k_param_1]
    %3:P = ISETP.lt.s32 %1, %2
    BRA %3, bix1, bix2
bix1:
    %4:R32 = S2R.b32 ctaid.x
    %5:R32 = IADD.b32 %4, %2
    ST.global.b32 %5, [%0]
    BRA fall bix2
bix2:
{end}    RET
"
        ))
    };
    assert_eq!(guarded("").uniform_peak, 1.0);
    assert_eq!(guarded("    ST.global.b32 %1, [%0+4]\n").uniform_peak, 0.0);
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
    let few = features_for(75, &loads_in_turn(8));
    assert_eq!(few.source_peak, 2.0);
    assert_eq!((few.loads_first_peak, few.peak_within_target), (9.0, 9.0));
    assert_eq!(few.loads_in_flight, 8.0);
    let many = features_for(75, &loads_in_turn(100));
    assert_eq!(many.loads_first_peak, 101.0);
    assert!(many.latency_peak > 2.0 * many.peak_within_target);
    assert!(
        (32.0..=34.0).contains(&many.peak_within_target),
        "{}",
        many.peak_within_target
    );
}

#[test]
fn allotted_registers_are_the_target_of_loads() {
    let body = loads_in_turn(100);
    let within = |registers| features_with(75, registers, &body).peak_within_target;
    assert!((64.0..=66.0).contains(&within(64)), "{}", within(64));
    assert_eq!(within(255), 101.0);
    assert_eq!(within(16), within(0));
}

#[test]
fn loads_stay_behind_stores_that_may_write_their_memory() {
    let body = |second: &str| {
        let body = format!(
            "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R64 = LD.param::entry.b64 [&k_param_1]
    %2:R32 = LD.global.b32.b32 [%0]
    ST.global.b32.b32 %2, [%0]
    %3:R32 = LD.{second}
    ST.global.b32.b32 %3, [%0]
    RET
"
        );
        features_for(75, &body)
    };
    assert_eq!(body("global.b32.b32 [%1]").loads_in_flight, 1.0);
    assert_eq!(body("shared.b32.b32 [%1]").loads_in_flight, 2.0);
    assert_eq!(body("nc.global.b32.b32 [%1]").loads_in_flight, 2.0);
}

#[test]
fn short_sides_of_branches_are_scheduled_with_what_surrounds_them() {
    let found = features_for(
        75,
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
    assert_eq!((found.nodes, found.largest_region), (9.0, 9.0));
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
    assert_eq!(sixteen.live_with_loads, eight.live_with_loads + 8.0);
    assert_eq!((eight.nested_rounds, eight.nested_loads), (8.0, 8.0));
    // Too many rounds to be unrolled completely: a few are.
    let many = body(1_000);
    assert_eq!(many.constant_rounds, 0.0);
    assert!(many.live_with_loads < eight.live_with_loads);
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
    assert_eq!(body("IDIV.s32").source_peak, body("IADD.b32").source_peak + 7.0);
}

/// Adds a kernel and a function `f` to a graph.
fn with_device_function(kernel: &str) -> CallGraph {
    let device = format!(
        "function \"f\" sm_90 late {{\n{}}}\n",
        loads_in_turn(8).replace("param::entry", "param::func")
    );
    let mut graph = CallGraph::default();
    for text in [kernel, &device] {
        let function = parse_function(text).expect("it parses");
        graph.add(&function, &target_of(90));
    }
    graph
}

/// A target without bounds.
fn target_of(sm: u32) -> Target {
    Target {
        sm,
        register_limit: MAX_REGISTERS_PER_THREAD,
        allotted_registers: 0,
        threads: 0,
        is_debug: false,
    }
}

fn calling(callee: &str) -> CallGraph {
    with_device_function(&format!(
        "kernel \"k\" sm_90 late {{
bix0:
    CALL.START 0, 0
    CALL &{callee}, 0, 0
    CALL.END 0, 0
    RET
}}
"
    ))
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
    assert!(calling("f").features("h").is_none());
}

#[test]
fn a_graph_is_complete_if_it_has_all_that_may_be_called() {
    let everything = |_: &str| true;
    assert!(calling("f").settle_if_complete("k", everything));
    assert!(calling("k").settle_if_complete("k", everything));
    let mut graph = calling("g");
    assert!(!graph.settle_if_complete("k", everything));
    assert!(graph.settle_if_complete("k", |name| name != "g"));
    assert!(graph.settle_if_complete("f", everything));
    assert!(!graph.settle_if_complete("h", everything));
}

#[test]
fn a_call_by_address_reaches_the_functions_whose_addresses_are_taken() {
    let kernel = "kernel \"k\" sm_90 late {
bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    CALL.START 0, 0
    CALL %0, 0, 0
    CALL.END 0, 0
    RET
}
";
    let mut graph = with_device_function(kernel);
    assert_eq!(graph.features("k").expect("it was added").called_by_address, 0.0);
    let device = format!(
        "function \"g\" sm_90 late {{\n{}}}\n",
        copies(60).replace("param::entry", "param::func")
    );
    let mut function = parse_function(&device).expect("it parses");
    function.info.flags |= FunctionFlags::ADDRESS_TAKEN;
    graph.add(&function, &target_of(90));
    let features = graph.features("k").expect("it was added");
    assert!(features.called_by_address >= 60.0);
    assert_eq!(RegisterEstimate::from_features(&features).registers, 72);
}

#[test]
fn settled_features_are_those_of_each_function_alone() {
    // `b` and `c` call each other; `a` calls both, `d` nothing that calls.
    let function = |name: &str, callees: &[&str], values: usize| {
        let calls = callees
            .iter()
            .map(|callee| format!("    CALL.START 0, 0\n    CALL &{callee}, 0, 0\n    CALL.END 0, 0\n"));
        let body = copies(values).replace("param::entry", "param::func");
        let body = body.replace("    RET\n", &format!("{}    RET\n", calls.collect::<String>()));
        parse_function(&format!("function \"{name}\" sm_90 late {{\n{body}}}\n")).expect("it parses")
    };
    let functions = [
        function("a", &["b", "c", "d", "unknown"], 4),
        function("b", &["c", "d"], 8),
        function("c", &["b"], 16),
        function("d", &["e"], 24),
        function("e", &[], 32),
    ];
    let mut graph = CallGraph::default();
    for function in &functions {
        graph.add(function, &target_of(90));
    }
    let names = functions.each_ref().map(|function| function.info.name.as_str());
    let alone = names.map(|name| graph.features(name));
    graph.settle();
    assert_eq!(names.map(|name| graph.features(name)), alone);
    let [a, b, c, d, _] = alone.map(|features| features.expect("it was added"));
    assert_eq!(
        [a, b, c, d].map(|features| features.unknown_calls),
        [3.0, 1.0, 1.0, 0.0]
    );
    assert!(d.source_peak >= 32.0 && a.source_peak >= c.source_peak);
}

/// A kernel that calls `f` where a value is wrong, with `behind` after the call.
fn checking(behind: &str) -> Features {
    let kernel = format!(
        "kernel \"k\" sm_90 late {{
bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %3:R32 = S2R.b32 tid.x
    %4:R64 = IMAD.WIDE.u64.u32 %3, 4, %0
    %1:R32 = LD.global.b32.b32 [%4]
    %2:P1 = ISETP.eq.b32 %1, 0
    BRA bix2, %2
bix1:
    CALL.START 0, 0
    CALL &f, 0, 0
    CALL.END 0, 0
{behind}    BRA bix2
bix2:
    ST.global.b32 %1, [%4]
    RET
}}
"
    );
    with_device_function(&kernel).features("k").expect("it was added")
}

#[test]
fn nothing_lives_over_a_call_that_is_followed_by_an_exit() {
    let goes_on = checking("");
    assert_eq!(goes_on.live_over_calls, 3.0);
    let guarded = checking("    ASM &\"@p exit;\", 1\n");
    assert_eq!(guarded.live_over_calls, 3.0);
    let exits = checking("    ASM &\"exit;\", 1\n");
    assert_eq!(exits.live_over_calls, 0.0);
    assert!(exits.source_peak < goes_on.source_peak);
    // What only reports an error is not counted, neither here nor in the callee.
    assert_eq!((goes_on.calls, exits.calls), (1.0, 0.0));
    assert!(exits.global_loads < goes_on.global_loads);
    assert_eq!((goes_on.nodes, exits.nodes), (32.0, 8.0));
}

#[test]
fn blocks_of_a_function_that_never_returns_are_counted() {
    let found = features(
        "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    BRA bix1
bix1:
    %1:R32 = LD.global.b32.b32 [%0]
    ST.global.b32 %1, [%0+4]
    BRA bix1
",
    );
    assert_eq!((found.nodes, found.global_loads), (5.0, 1.0));
}

proptest! {
    #[test]
    fn features_without_an_allotment_are_those_of_a_kernel_that_has_none(seed: u64, allotted in 0..256_u32) {
        let function = oriel_ori::random_function::random_function(seed, Stage::Late);
        let with = |allotted_registers| {
            let target = Target {
                sm: 80,
                register_limit: 128,
                allotted_registers,
                threads: 256,
                is_debug: false,
            };
            Features::new(&function, &target)
        };
        prop_assert_eq!(with(allotted).without_allotment().values(), with(0).values());
    }

    #[test]
    fn any_function_has_an_estimate_and_always_the_same(seed: u64) {
        let function = oriel_ori::random_function::random_function(seed, Stage::Late);
        let target = Target { sm: 90, register_limit: 64, allotted_registers: 0, threads: 0, is_debug: false };
        let features = Features::new(&function, &target);
        prop_assert_eq!(features, Features::new(&function, &target));
        let estimate = RegisterEstimate::from_features(&features);
        prop_assert!(estimate.low <= estimate.registers && estimate.registers <= estimate.high);
        prop_assert!(estimate.high <= 64);
        prop_assert!(features.peak_within_target <= features.loads_first_peak.max(features.source_peak + 32.0));
    }
}

#[test]
fn loads_in_assembly_are_loads() {
    // Assembly with side effects stays where it is in LLVM; ptxas loads both values first.
    let body = "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = ASM &\"ld.global.b32 $0, [$1 + 0];\", 1, 10, 9, %0
    %2:R32 = IADD.b32 %1, 1
    %3:R32 = ASM &\"ld.global.b32 $0, [$1 + 4];\", 1, 10, 9, %0
    %4:R32 = IADD.b32 %2, %3
    ST.global.b32 %4, [%0]
    RET
";
    let found = features_for(75, body);
    assert_eq!((found.global_loads, found.loads_in_flight), (2.0, 2.0));
}

#[test]
fn an_order_that_needs_few_registers_has_loads_next_to_their_readers() {
    let mut body = "bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = MOV.b32 0
    %2:R32 = S2R.b32 tid.x
"
    .to_owned();
    for number in 0..20 {
        body += &format!(
            "    %{}:R32 = LD.nc.global.b32.b32 [%0+{}]\n",
            number + 3,
            4 * number
        );
    }
    body += "    %30:R32 = IADD.b32 %2, %3\n";
    for number in 1..20 {
        body += &format!(
            "    %{}:R32 = IADD.b32 %{}, %{}\n",
            number + 30,
            number + 29,
            number + 3
        );
    }
    body += "    ST.global.b32 %49, [%0]\n    RET\n";
    let found = features_for(75, &body);
    assert_eq!((found.source_peak, found.least_peak), (21.0, 2.0));
}

#[test]
fn for_a_debugger_parameters_and_predicates_take_registers() {
    let text = "kernel \"k\" sm_80 late {
bix0:
    %0:R64 = LD.param::entry.b64 [&k_param_0]
    %1:R32 = S2R.b32 tid.x
    ST.global.b32 %1, [%0]
    RET
}
";
    let function = parse_function(text).expect("it parses");
    let features = |is_debug| {
        let target = Target {
            sm: 80,
            register_limit: MAX_REGISTERS_PER_THREAD,
            allotted_registers: 0,
            threads: 0,
            is_debug,
        };
        Features::new(&function, &target)
    };
    assert_eq!(
        (features(false).debug_peak, features(true).debug_peak),
        (0.0, 3.0)
    );
    let estimate = RegisterEstimate::from_features(&features(true));
    assert_eq!(estimate.registers, 9);
    assert_eq!(
        estimate.reasons[0].map(|reason| reason.cause),
        Some(Cause::Debugger)
    );
}
