//! Computes constant trip counts of loops.
//!
//! ```text
//!       %1 = MOV 0
//! bix1: ...
//!       %2 = IADD %1, 4
//!       %3 = ISETP.ne %2, 64
//!       %1 = COPY %2
//!       BRA %3, bix1, bix2      16 rounds
//! ```

use oriel_engine::entity::{Block, Register};
use oriel_ori::{Function, Instruction, Operation};

/// Loops with more rounds are never unrolled.
const MOST_ROUNDS: u64 = 1_024;

/// Returns the trip count of a loop whose only block is `block`, if its counter starts, steps and
/// ends at constants.
pub fn constant_rounds(function: &Function, block: Block) -> Option<usize> {
    let branch = function.terminator(block)?;
    let condition = function.sources(branch).iter().next()?.as_register()?;
    let comparison = definition_in(function, condition, block)?;
    if function.operation(comparison) != Operation::Isetp {
        return None;
    }
    let compared = function.source(comparison, 0).as_register()?;
    let end = function.integer(function.source(comparison, 1))?;
    let step = definition_in(function, compared, block)?;
    if function.operation(step) != Operation::Iadd {
        return None;
    }
    let counter = function.source(step, 0).as_register()?;
    let width = function.integer(function.source(step, 1))?;
    let start = start_of(function, counter, block)?;
    let rounds = end.abs_diff(start).checked_div(width.unsigned_abs())?;
    (1..=MOST_ROUNDS).contains(&rounds).then_some(rounds as usize)
}

/// Returns the definition of a register in a block, if it is the only one.
fn definition_in(function: &Function, register: Register, block: Block) -> Option<Instruction> {
    let definitions = function.definitions(register);
    let mut here = definitions.filter(|&(instruction, _)| function.block_of(instruction) == Some(block));
    match (here.next(), here.next()) {
        (Some((instruction, _)), None) => Some(instruction),
        _ => None,
    }
}

/// Returns the constant that a register holds before the loop.
fn start_of(function: &Function, counter: Register, block: Block) -> Option<i64> {
    let definitions = function.definitions(counter);
    let mut before = definitions.filter(|&(instruction, _)| function.block_of(instruction) != Some(block));
    let (start, _) = before.next()?;
    if before.next().is_some() || !function.operation(start).is_copy() {
        return None;
    }
    let source = function.source(start, 0);
    match source.as_register() {
        None => function.integer(source),
        Some(register) => {
            let definition = function.unique_definition(register)?;
            let is_copy = function.operation(definition).is_copy();
            is_copy.then(|| function.integer(function.source(definition, 0)))?
        }
    }
}
