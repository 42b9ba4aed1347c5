//! What the phase does to functions, and what it leaves alone.

use super::*;
use crate::entity::EntitySet;
use crate::graph::Traversal;
use crate::ori::random_function::random_function;
use crate::ori::{
    ControlFlow, DataType, Instruction, InstructionBuilder, Liveness, Operation, Position, parse_function,
};
use crate::phases::testing::run_named;
use crate::snapshot::abi::Stage;
use proptest::prelude::*;
use std::fmt::Write;

/// A kernel that computes so many values first and adds them up then; each sum has one of its summands at hand.
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
    let (result, _, remarks) = run_named("ScheduleForPressure", function, &[], 2);
    (result, remarks.into_iter().map(|remark| remark.message).collect())
}

fn peak_of(function: &Function) -> u32 {
    let flow = ControlFlow::analyze(function, Traversal::default());
    let liveness = Liveness::compute(function, &flow);
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
    let mut function = parse(&summands_first(LEAST_PEAK as usize - 1));
    assert_eq!(run_on(&mut function), (PhaseResult::Unchanged, Vec::new()));
    assert_eq!(
        run_on(&mut parse(&summands_first(LEAST_PEAK as usize))).0,
        PhaseResult::Changed
    );
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

#[test]
fn operands_of_ptxas_weigh_nothing() {
    let function = parse(&kernel(
        "    %1:R64 = LD.param::entry.b64.b64 [0]
    %2:R64 = CVTA.to.global.b64 %1
    %3:R32 = MOV.b32 5
    %4:R64 = IADD.b64 %2, 8
    %5:R32 = LD.global.b32.b32 [%4]
    ST.global.b32.b32 %3, [%2]
    ST.global.b32.b32 %5, [%4]
",
    ));
    let weights = Weights::of(&function);
    let weights: Vec<u32> = function
        .registers()
        .map(|register| weights.get(register))
        .collect();
    assert_eq!(weights[1..], [0, 0, 0, 2, 1]);
}

/// Where the debug instructions stand, and what they could see: what was done before each is done, and no register has another
/// value than it had, but for what nothing had defined yet.
fn check_debug(before: &Function, after: &Function) {
    for &block in before.blocks() {
        let is_debug = |function: &Function, instruction| function.operation(instruction).is_debug();
        let debug = |function: &Function| -> Vec<Instruction> {
            let all = function.instructions(block);
            all.filter(|&instruction| is_debug(function, instruction))
                .collect()
        };
        assert_eq!(debug(before), debug(after));
        for instruction in debug(before) {
            let prefix = |function: &Function| -> Vec<Instruction> {
                let all = function
                    .instructions(block)
                    .take_while(|&other| other != instruction);
                all.filter(|&other| !is_debug(function, other)).collect()
            };
            let (old, new) = (prefix(before), prefix(after));
            let mut done: EntitySet<Instruction> = EntitySet::new();
            done.extend(old.iter().copied());
            assert!(old.iter().all(|other| new.contains(other)), "{before}\n{after}");
            for &early in new.iter().filter(|&&other| !done.contains(other)) {
                for register in after
                    .results(early)
                    .iter()
                    .filter_map(|result| result.as_register())
                {
                    assert!(after.unique_definition(register).is_some(), "{before}\n{after}");
                }
            }
        }
    }
}

/// Puts a debug instruction behind every so many instructions.
fn with_debug(function: &mut Function, every: usize) {
    for block in function.blocks().to_vec() {
        let instructions: Vec<Instruction> = function.instructions(block).collect();
        for &instruction in instructions.iter().step_by(every) {
            let operation = function.operation(instruction);
            if operation != Operation::Phi && !operation.is_terminator() {
                let debug = InstructionBuilder::new(Operation::Debug, DataType::None);
                function.insert(Position::After(instruction), debug);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn orders_of_all_blocks_leave_debug_instructions_right(seed: u64, late: bool, every in 1usize..4) {
        let mut function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
        let plain = function.clone();
        with_debug(&mut function, every);
        let before = function.clone();
        // The phase would leave most of these blocks alone.
        let order_all = |function: &mut Function| {
            let flow = ControlFlow::analyze(function, Traversal::default());
            let liveness = Liveness::compute(function, &flow);
            let weights = Weights::of(function);
            let blocks = function.blocks().iter();
            let orders: Vec<BlockOrder> =
                blocks.map(|&block| BlockOrder::find(function, &liveness, &weights, block)).collect();
            orders.iter().map(|order| order.apply(function)).sum::<usize>()
        };
        order_all(&mut function);
        prop_assert_eq!(function.verify(), []);
        check_debug(&before, &function);
        // Debug instructions have no say.
        let mut without = plain;
        order_all(&mut without);
        for &block in without.blocks() {
            let code = |function: &Function| -> Vec<Instruction> {
                let all = function.instructions(block);
                all.filter(|&instruction| !function.operation(instruction).is_debug()).collect()
            };
            prop_assert_eq!(code(&function), code(&without));
        }
    }

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
    // Whatever is quadratic in these takes minutes.
    let count = 50_000;
    let mut function = parse(&summands_first(count));
    assert_eq!(run_on(&mut function).0, PhaseResult::Changed);
    assert_eq!(peak_of(&function), 3);
}
