//! Properties of every rule, and the weights of registers.

use super::*;
use oriel_engine::entity::EntitySet;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;
use oriel_ori::{
    DataType, Function, Instruction, InstructionBuilder, Liveness, Operation, Position, parse_function,
};
use proptest::prelude::*;

/// Any rule.
pub(super) fn rules() -> impl Strategy<Value = ChoiceRule> {
    (1..=ChoiceRule::COUNT, any::<u64>())
        .prop_map(|(number, seed)| ChoiceRule::of(number, seed).expect("there is one"))
}

#[test]
fn operands_of_ptxas_weigh_nothing() {
    let function = parse_function(&format!(
        "kernel \"k\" sm_80 late {{\nbix0:\n{}    RET\n}}\n",
        "    %1:R64 = LD.param::entry.b64.b64 [0]
    %2:R64 = CVTA.to.global.b64 %1
    %3:R32 = MOV.b32 5
    %4:R64 = IADD.b64 %2, 8
    %5:R32 = LD.global.b32.b32 [%4]
    ST.global.b32.b32 %3, [%2]
    ST.global.b32.b32 %5, [%4]
",
    ))
    .unwrap();
    let weights = Weights::of(&function);
    let weights: Vec<u32> = function
        .registers()
        .map(|register| weights.get(register))
        .collect();
    assert_eq!(weights[1..], [0, 0, 0, 2, 1]);
}

/// Checks the debug instructions: every instruction that preceded one still does, and no register
/// has another value than before, except undefined ones.
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
                for register in after.result_registers(early) {
                    assert!(after.unique_definition(register).is_some(), "{before}\n{after}");
                }
            }
        }
    }
}

/// Puts a debug instruction after every `every` instructions.
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
    fn orders_leave_debug_instructions_right(seed: u64, late: bool, every in 1usize..4, rule in rules()) {
        let mut function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
        let plain = function.clone();
        with_debug(&mut function, every);
        let before = function.clone();
        let order_all = |function: &mut Function| {
            let liveness = Liveness::of(function);
            let weights = Weights::of(function);
            let blocks = function.blocks().iter();
            let orders: Vec<BlockOrder> =
                blocks.map(|&block| BlockOrder::find(rule, function, &liveness, &weights, block)).collect();
            orders.iter().map(|order| order.apply(function)).sum::<usize>()
        };
        order_all(&mut function);
        prop_assert_eq!(function.verify(), []);
        check_debug(&before, &function);
        // Debug instructions do not influence the order.
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
}
