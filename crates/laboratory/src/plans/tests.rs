//! Tests edits of the counting loop of `snapshot/sample.rs` as plans. `lit-tests/plan` tests how
//! LLVM applies plans.

use super::script::EditScript;
use super::{EditError, Editor, InsertionPoint, Operand, fault};
use oriel_engine::entity::{Block, EntityRef, Instruction, Register, RegisterClass};
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{EdgeRecord, OperandKind, PROBABILITY_DENOMINATOR, PROBABILITY_UNKNOWN};
use oriel_engine::snapshot::sample::{B32, counting_loop};
use oriel_ori::plan::Plan;
use oriel_ori::plan::abi::PlanAction;

const ENTRY: usize = 0;
const LOOP: usize = 1;
const EXIT: usize = 2;
const PHI: usize = 1;
const ADD: usize = 2;
const BRANCH: usize = 4;

fn block(index: usize) -> Block {
    Block::new(index)
}

/// Returns the block operands of a plan's PHI.
fn incoming(plan: &Plan) -> Vec<u32> {
    let at = plan
        .instructions
        .iter()
        .position(|instruction| instruction.source == PHI as u32 + 1)
        .expect("the PHI is still there");
    let range =
        plan.instructions[at].first_operand as usize..plan.instructions[at + 1].first_operand as usize;
    let blocks = plan.operands[range].iter();
    blocks
        .filter(|operand| operand.kind == OperandKind::Block as u8)
        .map(|operand| operand.index)
        .collect()
}

fn edges(plan: &Plan, position: usize) -> Vec<(u32, u32)> {
    let range =
        plan.blocks[position].first_successor as usize..plan.blocks[position + 1].first_successor as usize;
    let pair = |edge: &EdgeRecord| (edge.block, edge.probability);
    plan.successors[range].iter().map(pair).collect()
}

fn apply(snapshot: &OwnedSnapshot, commands: &str) -> Result<Plan, String> {
    let script =
        EditScript::parse(&format!("function count\n{commands}")).map_err(|error| error.to_string())?;
    let editor = script.apply(snapshot.view()).map_err(|error| error.to_string())?;
    Ok(editor.expect("the script names the function").finish())
}

#[test]
fn without_edits_the_plan_is_the_identity() {
    let snapshot = counting_loop();
    let mut plan = Editor::new(snapshot.view()).finish();
    let mut identity = Plan::identity(&snapshot.view());
    identity.blocks.last_mut().expect("a sentinel").block = 0;
    // The origin of an input block and the number of the sentinel have no meaning.
    for record in &mut plan.blocks {
        record.origin = 0;
    }
    assert_eq!(plan, identity);
    assert_eq!(identity.instruction_count(), 7);
}

#[test]
fn deleted_instructions_are_left_out() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let add = editor.node(Instruction::new(ADD));
    editor.delete(add).unwrap();
    assert_eq!(editor.delete(add), Err(EditError::Deleted));
    assert_eq!(editor.position(add), Err(EditError::Deleted));
    let plan = editor.finish();
    assert_eq!(plan.instruction_count(), 6);
    assert!(
        plan.instructions
            .iter()
            .all(|instruction| instruction.source != ADD as u32 + 1)
    );
}

#[test]
fn merged_instructions_are_remembered_by_the_survivor() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let node = |index| Editor::new(snapshot.view()).node(Instruction::new(index));
    editor.merge(node(3), node(ADD)).unwrap();
    editor.merge(node(ADD), node(0)).unwrap();
    assert_eq!(editor.merge(node(ADD), node(0)), Err(EditError::Deleted));
    let plan = editor.finish();
    assert_eq!(plan.merged, [3, ADD as u32]);
    assert_eq!(plan.instructions[1].first_merged, 2);
}

#[test]
fn operands_change_only_where_they_are_set() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let add = editor.node(Instruction::new(ADD));
    editor.set_operand(add, 2, Operand::Immediate(5)).unwrap();
    assert_eq!(
        editor.set_operand(add, 3, Operand::Immediate(5)),
        Err(EditError::NoOperand(3))
    );
    let plan = editor.finish();
    let replaced = &plan.instructions[ADD];
    assert_eq!(replaced.action, PlanAction::Replace as u32);
    assert_eq!(plan.operands.len(), 3);
    assert_eq!(plan.operands[2].value, 5);
    assert_eq!(plan.instructions[PHI].action, PlanAction::Keep as u32);
}

#[test]
fn new_registers_follow_those_of_the_input() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let class = RegisterClass::new(B32.into());
    let register = editor.new_register(class);
    assert_eq!(register.index(), 4);
    editor.replace_register(Register::new(2), register);
    let plan = editor.finish();
    assert_eq!(plan.new_registers, [u32::from(B32)]);
    assert!(
        plan.operands
            .iter()
            .all(|operand| operand.kind != OperandKind::Register as u8 || operand.index != 2)
    );
}

#[test]
fn moved_instructions_stand_beside_their_anchor() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let (add, first) = (
        editor.node(Instruction::new(ADD)),
        editor.node(Instruction::new(0)),
    );
    editor.move_instruction(add, first, true).unwrap();
    assert_eq!(editor.nodes_of(block(ENTRY)), [first, add]);
    assert_eq!(
        editor.position(add),
        Ok(InsertionPoint {
            block: block(ENTRY),
            index: 1
        })
    );
}

#[test]
fn a_split_takes_edges_and_phi_values_along() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let place = |index| InsertionPoint {
        block: block(LOOP),
        index,
    };
    let tail = editor.split_block(place(1)).unwrap();
    assert_eq!(editor.layout(), [block(ENTRY), block(LOOP), tail, block(EXIT)]);
    let plan = editor.finish();
    assert_eq!(incoming(&plan), [0, 3]);
    assert_eq!(edges(&plan, 1), [(3, PROBABILITY_DENOMINATOR)]);
    assert_eq!(edges(&plan, 2).len(), 2);

    let mut editor = Editor::new(snapshot.view());
    assert_eq!(editor.split_block(place(0)), Err(EditError::BadSplit));
    assert_eq!(editor.split_block(place(4)), Err(EditError::BadSplit));
}

#[test]
fn a_detour_brings_the_value() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    let detour = editor.new_block(block(EXIT)).unwrap();
    editor.add_edge(detour, block(LOOP)).unwrap();
    assert_eq!(editor.add_edge(detour, block(LOOP)), Err(EditError::EdgeExists));
    editor.retarget(block(LOOP), block(LOOP), detour).unwrap();
    // The entry has another value, for which the detour has no PHI.
    assert_eq!(
        editor.retarget(block(ENTRY), block(LOOP), detour),
        Err(EditError::PhiNeedsValue)
    );
    let plan = editor.finish();
    assert_eq!(incoming(&plan), [0, 3]);
    let branch = plan.instructions[BRANCH].first_operand as usize;
    assert_eq!(plan.operands[branch + 1].index, 3);
}

#[test]
fn edges_into_blocks_with_phis_need_values() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    assert_eq!(
        editor.add_edge(block(EXIT), block(LOOP)),
        Err(EditError::PhiNeedsValue)
    );
    assert_eq!(
        editor.retarget(block(EXIT), block(ENTRY), block(LOOP)),
        Err(EditError::NoEdge)
    );
    editor.add_edge(block(ENTRY), block(EXIT)).unwrap();
    assert_eq!(edges(&editor.finish(), 0)[1], (2, PROBABILITY_UNKNOWN));
}

#[test]
fn edges_that_meet_become_one() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    editor.retarget(block(LOOP), block(LOOP), block(EXIT)).unwrap();
    let plan = editor.finish();
    assert_eq!(edges(&plan, 1), [(2, PROBABILITY_DENOMINATOR)]);
    assert_eq!(incoming(&plan), [0]);
}

#[test]
fn blocks_are_placed_and_deleted() {
    let snapshot = counting_loop();
    let mut editor = Editor::new(snapshot.view());
    assert_eq!(
        editor.place_block(block(ENTRY), block(EXIT)),
        Err(EditError::EntryBlock)
    );
    assert_eq!(editor.delete_block(block(ENTRY)), Err(EditError::EntryBlock));
    assert_eq!(editor.delete_block(block(LOOP)), Err(EditError::StillReached));
    editor.place_block(block(EXIT), block(ENTRY)).unwrap();
    assert_eq!(editor.layout(), [block(ENTRY), block(EXIT), block(LOOP)]);
    editor.retarget(block(ENTRY), block(LOOP), block(EXIT)).unwrap();
    editor.delete_block(block(LOOP)).unwrap();
    assert_eq!(editor.delete_block(block(LOOP)), Err(EditError::DeletedBlock));
    assert_eq!(editor.finish().blocks.len(), 3);
}

#[test]
fn new_blocks_that_were_dropped_leave_no_gap() {
    let snapshot = counting_loop();
    let plan = apply(
        &snapshot,
        "new-block a after bb.2\nnew-block b after bb.2\ndelete-block a",
    );
    let numbers: Vec<u32> = plan.unwrap().blocks.iter().map(|block| block.block).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 0]);
}

#[test]
fn scripts_name_what_they_mean() {
    let snapshot = counting_loop();
    let plan = apply(
        &snapshot,
        "insert after ADD32ri#0: %twice:b32 = ADD32ri ADD32ri#0.0, 3\nset SETP_i32ri#0 1 = %twice",
    )
    .unwrap();
    assert_eq!(plan.instruction_count(), 8);
    assert_eq!(plan.new_registers, [u32::from(B32)]);
    assert_eq!(plan.strings, b"ADD32ri");
    // The operand is a definition there and a use here.
    assert_eq!((plan.operands[1].index, plan.operands[1].flags), (2, 0));
}

#[test]
fn scripts_say_what_is_wrong() {
    let snapshot = counting_loop();
    let problem = |commands| apply(&snapshot, commands).unwrap_err();
    assert_eq!(
        problem("delete ADD32ri#1"),
        "line 2: there is no instruction ADD32ri#1"
    );
    assert_eq!(problem("\n# x\ndelete @7"), "line 4: there is no instruction @7");
    assert_eq!(problem("set @2 1 = %4"), "line 2: there is no register %4");
    assert_eq!(problem("place bb.1 after bb.7"), "line 2: there is no block bb.7");
    assert!(problem("explode").starts_with("line 2: 'explode' is no command; allowed are delete, "));
    assert!(EditScript::parse("delete @0").is_err());
    let other = EditScript::parse("function other\ndelete @0").unwrap();
    assert!(matches!(other.apply(snapshot.view()), Ok(None)));
    let late = EditScript::parse("function count late\ndelete @0").unwrap();
    assert!(matches!(late.apply(snapshot.view()), Ok(None)));
}

#[test]
fn injected_faults_are_what_they_say() {
    let snapshot = counting_loop();
    let view = snapshot.view();
    assert_eq!(fault::malformed(&view).instructions[0].source, 8);
    assert_eq!(fault::unverifiable(Editor::new(view)).instruction_count(), 7 + 3);
    for seed in 0..500 {
        assert_eq!(fault::mutated(&view, seed), fault::mutated(&view, seed));
    }
}
