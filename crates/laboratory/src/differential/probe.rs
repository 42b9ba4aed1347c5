//! Tests whether an edit makes a difference at its instruction, by traps.
//!
//! ```text
//!   %3 = IADD %1, %2            %3 = ISUB %1, %2        // the edit
//!                               %4 = IADD %1, %2        // as it was
//!                               %5 = ISETP.ne %4, %3
//!                               BRA %5, trap, fall rest
//! ```

use super::tested_module::{Input, TestedModule};
use super::wrong_edit::{Edit, EditKind};
use oriel_engine::entity::Block;
use oriel_interpreter::{FaultKind, Limits};
use oriel_ori::{
    Comparison, DataType, Function, Instruction, InstructionBuilder, Modifiers, Operand, Operation, Position,
};

/// True if an edited instruction is executed on one of the inputs with another result than before.
/// If results cannot be compared, as for a store or a moved copy, execution suffices.
pub(super) fn makes_a_difference(
    tested: &TestedModule,
    inputs: &[Input],
    number: usize,
    edit: &Edit,
    limits: Limits,
) -> bool {
    let mut probed = tested.clone();
    let function = &mut probed.functions[number];
    if !compare_results(function, edit) {
        *function = tested.functions[number].clone();
        trap_before(function, edit.instruction);
    }
    let Ok(program) = probed.compile() else {
        return false;
    };
    let traps =
        |input: &Input| matches!(input.run(&program, limits), Err(fault) if fault.kind == FaultKind::Trap);
    inputs.iter().any(traps)
}

fn trap_before(function: &mut Function, instruction: Instruction) {
    let at = match function.operation(instruction) {
        Operation::Phi => after_phis(function, instruction),
        _ => instruction,
    };
    let trap = InstructionBuilder::new(Operation::Trap, DataType::None);
    function.insert(Position::Before(at), trap);
}

/// Returns the first instruction after the PHIs of the block of one of them.
fn after_phis(function: &Function, phi: Instruction) -> Instruction {
    let block = function.block_of(phi).expect("the PHI is in a block");
    function.first_non_phi(block).expect("a block has a terminator")
}

/// Makes the edit, computes the original result as well, and traps where they differ. Returns false
/// if that is impossible.
fn compare_results(function: &mut Function, edit: &Edit) -> bool {
    let instruction = edit.instruction;
    // A moved copy has the same result; the instructions that it crosses may not.
    let can_be_repeated = edit.kind != EditKind::ReorderCopy
        && !function.operation(instruction).is_opaque()
        && function.is_removable_if_unused(instruction)
        && function.results(instruction).len() == 1
        && !overwrites_source(function, instruction);
    if !can_be_repeated {
        return false;
    }
    let Some(result) = function.result(instruction, 0).as_register() else {
        return false;
    };
    let (again, at) = match function.operation(instruction) {
        Operation::Phi => (Position::Before(instruction), after_phis(function, instruction)),
        _ => {
            let next = function
                .next(instruction)
                .expect("what has a result is no terminator");
            (Position::Before(next), next)
        }
    };
    let old = function.create_register_like(result);
    let mut before =
        InstructionBuilder::new(function.operation(instruction), function.data_type(instruction))
            .source_type(function.source_type(instruction))
            .modifiers(function.modifiers(instruction))
            .result(function.register_operand(old));
    for source in function.sources(instruction) {
        before = before.source(source);
    }
    if !edit.apply(function) {
        return false;
    }
    let again = match again {
        // An edited PHI keeps its position; anything else may be removed.
        Position::Before(phi) if function.block_of(phi).is_some() => again,
        _ => Position::Before(at),
    };
    function.insert(again, before);
    let (new, old) = (function.register_operand(result), function.register_operand(old));
    let differs = function.create_register_of(DataType::B1);
    let comparison = match function.register(result).bits {
        1 => InstructionBuilder::new(Operation::Xor, DataType::B1),
        bits => {
            let Some(source_type) = DataType::of_bits(u32::from(bits)).filter(|it| it.bits() <= 64) else {
                return false;
            };
            let modifiers = Modifiers {
                comparison: Comparison::Ne,
                ..Modifiers::default()
            };
            InstructionBuilder::new(Operation::Isetp, DataType::B1)
                .source_type(source_type)
                .modifiers(modifiers)
        }
    };
    let comparison = comparison
        .result(Operand::predicate(differs))
        .source(new)
        .source(old);
    function.insert(Position::Before(at), comparison);
    trap_if(function, Operand::predicate(differs), at)
}

fn overwrites_source(function: &Function, instruction: Instruction) -> bool {
    let result = function.result(instruction, 0);
    let mut sources = function.sources(instruction).iter();
    sources.any(|source| source.as_register() == result.as_register())
}

/// Inserts a trap before an instruction if a predicate is true.
fn trap_if(function: &mut Function, predicate: Operand, at: Instruction) -> bool {
    let block = function.block_of(at).expect("the place is in a block");
    let Ok(rest) = function.split_block(at) else {
        return false;
    };
    let trap: Block = function.create_block(None);
    function.place_block(trap, None);
    for operation in [Operation::Trap, Operation::Ret] {
        function.insert(
            Position::End(trap),
            InstructionBuilder::new(operation, DataType::None),
        );
    }
    let branch = function.terminator(block).expect("a block has a terminator");
    function.set_sources(
        branch,
        &[predicate, Operand::target(trap), Operand::fall_through(rest)],
    );
    true
}
