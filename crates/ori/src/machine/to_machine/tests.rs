//! Tests plans for edited functions: new, removed and merged blocks, clones, and instructions that
//! represent others, each on the counting loop of `snapshot::sample`.

use crate::machine::{from_machine, to_machine};
use crate::plan::Plan;
use crate::plan::abi::PlanAction;
use crate::{
    DataType, Function, Instruction, InstructionBuilder, InstructionFlags, Operand, Operation, Position,
};
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{PROBABILITY_DENOMINATOR, PROBABILITY_UNKNOWN};
use oriel_engine::snapshot::sample;

/// Returns the plan for the sample after `edit`.
fn plan_after(edit: impl FnOnce(&mut Function)) -> Plan {
    plan_of(&sample::counting_loop(), edit)
}

fn plan_of(owned: &OwnedSnapshot, edit: impl FnOnce(&mut Function)) -> Plan {
    let snapshot = owned.view();
    let mut function = from_machine(&snapshot).expect("Ori can represent it");
    edit(&mut function);
    assert!(
        function.verify().is_empty(),
        "the edit keeps the function well formed"
    );
    to_machine(&function, &snapshot).expect("LLVM has opcodes for it")
}

/// Returns the instructions of each block of a plan: the action, the input instruction or the new
/// opcode's name, and the number of operands given.
fn written(plan: &Plan) -> Vec<String> {
    let name = |opcode: u32| {
        let name = plan.opcode_names[opcode as usize];
        let bytes = &plan.strings[name.offset as usize..(name.offset + name.length) as usize];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let instruction = |number: usize| {
        let record = plan.instructions[number];
        let operands = plan.instructions[number + 1].first_operand - record.first_operand;
        let source = record
            .source
            .checked_sub(1)
            .map_or(String::new(), |source| format!("@{source}"));
        match record.action {
            action if action == PlanAction::Keep as u32 => source,
            action if action == PlanAction::Replace as u32 => format!("replace {source} {operands}"),
            action if action == PlanAction::Clone as u32 => format!("clone {source} {operands}"),
            _ => format!("{} {operands}{source}", name(record.opcode)),
        }
    };
    let block = |number: usize| {
        let record = plan.blocks[number];
        let end = plan.blocks[number + 1];
        let instructions = (record.first_instruction..end.first_instruction)
            .map(|number| instruction(number as usize))
            .collect::<Vec<_>>();
        let edges = plan.successors[record.first_successor as usize..end.first_successor as usize]
            .iter()
            .map(|edge| match edge.probability {
                PROBABILITY_UNKNOWN => format!("{}", edge.block),
                known => format!(
                    "{}:{}%",
                    edge.block,
                    u64::from(known) * 100 / u64::from(PROBABILITY_DENOMINATOR)
                ),
            })
            .collect::<Vec<_>>();
        format!(
            "{}: {} -> {}",
            record.block,
            instructions.join(", "),
            edges.join(" ")
        )
    };
    (0..plan.blocks.len() - 1).map(block).collect()
}

/// Returns the instruction number `number` of a block.
fn nth(function: &Function, block: usize, number: usize) -> Instruction {
    let mut instructions = function.instructions(Block::new(block));
    instructions.nth(number).expect("the sample has it")
}

#[test]
fn the_sample_is_written_as_it_is() {
    let expected = [
        "0: @0 -> 1:100%",
        "1: @1, @2, @3, @4, @5 -> 1:50% 2:50%",
        "2: @6 -> ",
    ];
    assert_eq!(written(&plan_after(|_| ())), expected);
}

#[test]
fn half_of_a_split_block_is_a_new_one_with_the_branches_of_the_old() {
    let plan = plan_after(|function| {
        let comparison = nth(function, 1, 2);
        let new = function.split_block(comparison).expect("it is among the others");
        assert_eq!(new.index(), 3);
    });
    // The first half runs on into the second; the PHI's value comes from the second.
    let expected = [
        "0: @0 -> 1:100%",
        "1: replace @1 5, @2 -> 3:100%",
        "3: @3, @4, @5 -> 1:50% 2:50%",
        "2: @6 -> ",
    ];
    assert_eq!(written(&plan), expected);
    assert_eq!(plan.blocks[2].origin, 1);
}

#[test]
fn a_block_on_an_edge_takes_the_probability_of_the_edge() {
    let plan = plan_after(|function| {
        let (from, to) = (Block::new(1), Block::new(2));
        function.split_edge(from, to).expect("there is such an edge");
    });
    let expected = [
        "0: @0 -> 1:100%",
        "1: @1, @2, @3, @4 -> 1:50% 3:50%",
        "3:  -> 2:100%",
        "2: @6 -> ",
    ];
    assert_eq!(written(&plan), expected);
}

#[test]
fn a_block_elsewhere_in_the_layout_is_branched_to() {
    let plan = plan_after(|function| {
        let new = function
            .split_edge(Block::new(0), Block::new(1))
            .expect("there is such an edge");
        function.reorder_blocks([0, 1, 2].map(Block::new).into_iter().chain([new]).collect());
    });
    let expected = [
        "0: @0, GOTO 1 -> 3:100%",
        "1: replace @1 5, @2, @3, @4, @5 -> 1:50% 2:50%",
        "2: @6 -> ",
        "3: GOTO 1 -> 1:100%",
    ];
    assert_eq!(written(&plan), expected);
}

#[test]
fn merged_blocks_are_one_and_their_branch_is_gone() {
    let plan = plan_after(|function| {
        function
            .make_unconditional(Block::new(1), Block::new(2))
            .expect("it leads there");
        assert_eq!(function.merge_all_blocks(), 2);
    });
    // The PHI became the value from outside; its only use has that value now.
    assert_eq!(written(&plan), ["0: @0, replace @2 3, @3, @6 -> "]);
}

#[test]
fn a_clone_is_one_of_the_machine_instruction_and_leaves_it() {
    let plan = plan_after(|function| {
        let addition = nth(function, 1, 1);
        let model = function.result(addition, 0).as_register().expect("it has one");
        let result = Operand::register(function.create_register_like(model));
        let clone = function.clone_instruction(addition, Position::After(addition), &[result]);
        assert!(function.flags(clone).contains(InstructionFlags::CLONE));
        let comparison = nth(function, 1, 3);
        function.set_source(comparison, 0, result);
    });
    assert_eq!(
        written(&plan)[1],
        "1: @1, @2, clone @2 3, replace @3 4, @4, @5 -> 1:50% 2:50%"
    );
    assert_eq!(plan.new_registers, [u32::from(sample::B32)]);
}

#[test]
fn a_clone_of_what_a_phase_made_is_made_too() {
    let plan = plan_after(|function| {
        let first = nth(function, 0, 0);
        let results = [(); 2].map(|()| Operand::register(function.create_register_of(DataType::B32)));
        let seven = function.integer_operand(7);
        let new = InstructionBuilder::new(Operation::Mov, DataType::B32)
            .result(results[0])
            .source(seven);
        let made = function.insert(Position::Before(first), new);
        function.clone_instruction(made, Position::After(made), &results[1..]);
    });
    assert_eq!(written(&plan)[0], "0: MOV_B32_i 2, MOV_B32_i 2, @0 -> 1:100%");
}

#[test]
#[should_panic(expected = "cannot be copied")]
fn a_phi_has_no_clone() {
    plan_after(|function| {
        let phi = nth(function, 1, 0);
        let result = function.result(phi, 0);
        function.clone_instruction(phi, Position::After(phi), &[result]);
    });
}

#[test]
fn who_stands_for_others_names_them() {
    let plan = plan_after(|function| {
        let first = nth(function, 0, 0);
        let result = Operand::register(function.create_register_of(DataType::B32));
        let twin = function.clone_instruction(first, Position::After(first), &[result]);
        let zero = function.integer_operand(0);
        let survivor = InstructionBuilder::new(Operation::Mov, DataType::B32)
            .result(Operand::register(function.create_register_of(DataType::B32)))
            .source(zero);
        let survivor = function.insert(Position::Before(first), survivor);
        function.merge_into(twin, survivor);
        function.replace_uses(
            function.result(first, 0).as_register().expect("it has one"),
            function.result(survivor, 0),
        );
        function.merge_into(first, survivor);
    });
    assert_eq!(written(&plan)[0], "0: MOV_B32_i 2 -> 1:100%");
    let record = plan.instructions[0];
    let merged = &plan.merged[record.first_merged as usize..plan.instructions[1].first_merged as usize];
    assert_eq!(merged, [0, 0]);
}
