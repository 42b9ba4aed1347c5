//! Instructions that become a part of their only reader.
//!
//! ```text
//! %2 = SHL %1, 3             nothing
//! %3 = IADD %0, %2           LEA %0, %1, 3
//! ```

use oriel_engine::entity::EntitySet;
use oriel_ori::{Function, Instruction, OperandKind, Operation};
use smallvec::SmallVec;

/// Returns the only reader of the only result of another instruction, if both are in one block and
/// the register has no other definition.
fn only_user(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let [result] = function.results(instruction).iter().collect::<SmallVec<[_; 2]>>()[..] else {
        return None;
    };
    let register = result.as_register()?;
    function.unique_definition(register)?;
    let mut uses = function.uses(register);
    match (uses.next(), uses.next()) {
        (Some((user, _)), None) => {
            (function.block_of(user) == function.block_of(instruction)).then_some(user)
        }
        _ => None,
    }
}

/// Instructions that are folded into their only user: sign extensions and shifts by constants
/// before wide sums, products before sums.
pub fn folded_instructions(function: &Function) -> EntitySet<Instruction> {
    let mut folded = EntitySet::with_capacity(function.instruction_limit());
    for instruction in function.all_instructions() {
        let operation = function.operation(instruction);
        if !may_be_folded(operation) {
            continue;
        }
        let Some(user) = only_user(function, instruction) else {
            continue;
        };
        let by = function.operation(user);
        let is_shift_by_constant = operation == Operation::Shl
            && !matches!(function.source(instruction, 1).kind(), OperandKind::Register(_));
        let is_folded = match operation {
            Operation::Shl if is_shift_by_constant => matches!(by, Operation::Iadd),
            Operation::Imul | Operation::ImulWide => by == Operation::Iadd,
            Operation::Cvt => {
                let (to, from) = (function.data_type(instruction), function.source_type(instruction));
                let widens = !to.is_float() && !from.is_float() && to.bits() == 64 && from.bits() == 32;
                let is_multiplied = matches!(by, Operation::Shl | Operation::Imul | Operation::Imad);
                widens && is_multiplied
            }
            Operation::Fneg | Operation::Fabs | Operation::Not => {
                function.data_type(instruction).bits() >= 32
            }
            _ => false,
        };
        if is_folded {
            folded.insert(instruction);
        }
    }
    folded
}

/// True for the operations that [`folded_instructions`] looks at.
fn may_be_folded(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Shl
            | Operation::Imul
            | Operation::ImulWide
            | Operation::Cvt
            | Operation::Fneg
            | Operation::Fabs
            | Operation::Not
    )
}
