//! Arithmetic of 64 bits on values that always fit 32.
//!
//! ```text
//! size_t row = blockIdx.y * (size_t)blockDim.y + threadIdx.y;     at most 2^26
//! size_t tile = row / TILE;                                       a division of 64 bits
//! ```
//!
//! The machine has integers of 32 bits. A product of 64 bits takes four instructions, a quotient
//! around seventy, a sum two, and each value two registers. A value that is added to an address needs
//! 64 bits in the end, and a product of two values of 32 bits is a single instruction, so neither
//! counts. There is no warning if a parameter or a loaded value of 64 bits is involved: its range is
//! unknown. LLVM itself has already narrowed many of the other values.

use super::counters::counter;
use super::ranges::{Ranges, most_threads};
use super::{Warning, WarningContext, WarningKind};
use oriel_engine::entity::Register;
use oriel_engine::hash::NumberSet;
use oriel_ori::{Function, Instruction, Operation};

/// The fewest machine instructions that a warning is worth.
const LEAST_COST: u32 = 6;

/// The assumed number of iterations of a loop.
const ROUNDS: u32 = 8;

/// Finds all such arithmetic of a function, as one warning.
pub(super) fn find(context: &WarningContext<'_, '_>) -> Option<Warning> {
    let function = context.function;
    // Most functions have no such arithmetic, and need no ranges.
    let candidates: Vec<(Instruction, usize)> = context
        .instructions()
        .filter_map(|instruction| Some((instruction, operand_count(function, instruction)?)))
        .collect();
    if candidates.is_empty() {
        return None;
    }
    let mut ranges = Ranges::new(function, most_threads(context.snapshot));
    for register in function.registers() {
        if let Some((start, counter)) = counter(context, register).and_then(|it| Some((it.start?, it)))
            && let Some(way) = (counter.rounds as i64 + 2).checked_mul(counter.step)
            && let Some(end) = start.checked_add(way)
        {
            ranges.set(register, start.min(end), start.max(end));
        }
    }
    let found: Vec<(Instruction, u32)> = candidates
        .into_iter()
        .filter(|&(instruction, operands)| is_needless(function, &mut ranges, instruction, operands))
        .map(|(instruction, _)| (instruction, needless_instructions(function, instruction)))
        .collect();
    let weight = |&(instruction, cost): &(Instruction, u32)| {
        let depth = context.depth(instruction).min(4) as u32;
        cost * ROUNDS.pow(depth)
    };
    if found.iter().map(weight).sum::<u32>() < LEAST_COST {
        return None;
    }
    // The first of the costliest.
    let worst = found.iter().rev().max_by_key(|it| weight(it))?.0;
    let instructions: u32 = found.iter().map(|(_, cost)| cost).sum();
    let name = match function.operation(worst) {
        Operation::Idiv => "quotient",
        Operation::Irem => "remainder",
        Operation::Iadd => "counter",
        _ => "product",
    };
    let others = match found.len() - 1 {
        0 => String::new(),
        1 => ", and so does another one".to_owned(),
        count => format!(", and so do {count} others"),
    };
    Some(Warning {
        kind: WarningKind::WideIndex,
        place: context.place(worst),
        problem: format!("this {name} of 64 bits always fits 32 bits{others}"),
        cost: format!("about {instructions} instructions, and two registers a value instead of one"),
        remedy:
            "compute it in 32 bits (unsigned int instead of size_t), and convert where an address is formed"
                .to_owned(),
    })
}

/// Returns the number of operands of a product, quotient, remainder or counter of 64 bits; none for
/// other instructions.
fn operand_count(function: &Function, instruction: Instruction) -> Option<usize> {
    if function.data_type(instruction).bits() != 64 {
        return None;
    }
    match function.operation(instruction) {
        Operation::Iadd if only_counts(function, instruction) => Some(2),
        Operation::Imul | Operation::Idiv | Operation::Irem => Some(2),
        Operation::Imad => Some(3),
        _ => None,
    }
}

/// True if 32 bits hold the first `operands` operands and the result.
fn is_needless(
    function: &Function,
    ranges: &mut Ranges<'_>,
    instruction: Instruction,
    operands: usize,
) -> bool {
    let is_division = matches!(function.operation(instruction), Operation::Idiv | Operation::Irem);
    let mut operands = (0..operands).map(|number| ranges.of(function.source(instruction, number), 64));
    let do_operands_fit = operands.all(|range| {
        // A division treats both operands alike, signed or unsigned.
        range.is_some_and(|range| range.fits_32_bits() && (!is_division || range.low >= 0))
    });
    drop(operands);
    // A quotient is no greater than what is divided, a remainder neither.
    do_operands_fit && (is_division || ranges.of_result(instruction).is_some_and(|it| it.fits_32_bits()))
}

/// Returns the instructions that 32 bits would save, as ptxas 13.0.88 writes them for sm_80.
fn needless_instructions(function: &Function, instruction: Instruction) -> u32 {
    let is_constant = function.integer(function.source(instruction, 1)).is_some();
    match function.operation(instruction) {
        // By a constant, a product and shifts.
        Operation::Idiv | Operation::Irem if is_constant => 8,
        Operation::Idiv | Operation::Irem => 60,
        Operation::Iadd => 1,
        _ => 3,
    }
}

/// True if a sum is used only by itself in the next iteration, by comparisons and by conversions to
/// 32 bits.
fn only_counts(function: &Function, sum: Instruction) -> bool {
    let mut seen: NumberSet<Register> = NumberSet::default();
    let mut pending: Vec<Register> = function.result(sum, 0).as_register().into_iter().collect();
    let mut comes_back = false;
    while let Some(register) = pending.pop() {
        if !seen.insert(register) {
            continue;
        }
        for (reader, _) in function.uses(register) {
            match function.operation(reader) {
                operation if operation.is_debug() => {}
                Operation::Iadd if reader == sum => comes_back = true,
                Operation::Isetp => {}
                Operation::Cvt if function.data_type(reader).bits() == 32 => {}
                Operation::Copy | Operation::Mov => {
                    pending.extend(function.result(reader, 0).as_register());
                }
                _ => return false,
            }
        }
    }
    comes_back
}
