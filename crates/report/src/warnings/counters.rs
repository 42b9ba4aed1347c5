//! Counters of loops with constant rounds.
//!
//! ```text
//!       %1 = MOV 0                 %1 = LEA [frame(0)]
//! bix1: ...                        ...
//!       %1 = IADD %1, 4            %1 = IADD %1, 4
//!       %2 = CVT.u32.u64 %1        %2 = LEA [frame(0)+64]
//!       %3 = ISETP.ne %2, 64       %3 = ISETP.ne %1, %2
//!       BRA %3, bix1, fall bix2
//! ```
//!
//! The register estimate has its own [trip counts](crate::estimate), to which its model was fitted.
//! This file also looks through conversions and addresses.

use super::WarningContext;
use oriel_engine::entity::{FrameObject, Register};
use oriel_engine::graph::Loop;
use oriel_engine::hash::NumberSet;
use oriel_engine::snapshot::abi::BlockFlags;
use oriel_ori::{Function, Instruction, Operand, OperandKind, Operation, Special};

/// Loops with more iterations are not unrolled completely.
const MOST_ROUNDS: u64 = 1_024;

/// Limits on one iteration and on all iterations together, in instructions: ptxas 13.0.88 completely
/// unrolls 400 iterations of 9 instructions, and 16 of 93, but not 16 of 190.
const MOST_OF_ROUND: usize = 128;
const MOST_INSTRUCTIONS: usize = 4_000;

/// The depth to which definitions that depend on each other are followed.
const DEPTH: u32 = 24;

/// A value that is known up to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BasedOffset {
    base: Option<FrameObject>,
    offset: i64,
}

/// A counter of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The first value; none for an address.
    pub start: Option<i64>,
    /// The amount that each iteration adds.
    pub step: i64,
    /// Iterations of the loop, or one less: the comparison may be before or after the sum.
    pub rounds: u64,
    /// True if ptxas may unroll the loop.
    pub is_unrolled: bool,
}

/// Returns the counter in a register; none if it is not the counter of a loop with a constant trip
/// count.
pub fn counter(context: &WarningContext<'_, '_>, register: Register) -> Option<Counter> {
    let function = context.function;
    let loops = &context.flow.loops;
    let mut definitions = function.definitions(register);
    let (Some((one, _)), Some((other, _)), None) =
        (definitions.next(), definitions.next(), definitions.next())
    else {
        return None;
    };
    let depth_of = |instruction| function.block_of(instruction).map(|block| loops.depth_of(block));
    let (outside, inside) = match depth_of(one)? < depth_of(other)? {
        true => (one, other),
        false => (other, one),
    };
    let natural_loop = loops.innermost(function.block_of(inside)?)?;
    let step = step(function, inside, register)?;
    let start = known_result(function, outside)?;
    let (rounds, is_unrolled) = rounds(context, natural_loop)?;
    Some(Counter {
        start: start.base.is_none().then_some(start.offset),
        step,
        rounds,
        is_unrolled,
    })
}

/// True if the value of a register is known in each iteration once ptxas has unrolled the loops
/// around it.
pub fn is_known_when_unrolled(context: &WarningContext<'_, '_>, register: Register) -> bool {
    let function = context.function;
    let mut seen: NumberSet<Register> = NumberSet::default();
    let mut pending = vec![register];
    while let Some(register) = pending.pop() {
        if !seen.insert(register) {
            continue;
        }
        let Some(definition) = function.unique_definition(register) else {
            if counter(context, register).is_some_and(|counter| counter.is_unrolled) {
                continue;
            }
            return false;
        };
        match function.operation(definition) {
            Operation::Mov
            | Operation::Copy
            | Operation::Cvt
            | Operation::Cvta
            | Operation::Lea
            | Operation::Iadd
            | Operation::Isub
            | Operation::Imul
            | Operation::ImulWide
            | Operation::Imad
            | Operation::ImadWide
            | Operation::Shl
            | Operation::Shr
            | Operation::And
            | Operation::Or
            | Operation::Xor => {
                let sources = function.sources(definition).iter();
                pending.extend(sources.filter_map(Operand::as_register));
            }
            _ => return false,
        }
    }
    true
}

/// Returns the trip count of a loop, and whether ptxas may unroll it. Inside a loop that ptxas does not
/// unroll, it does not unroll the inner loops either.
fn rounds(context: &WarningContext<'_, '_>, natural_loop: Loop) -> Option<(u64, bool)> {
    let (count, mut is_unrolled) = own_rounds(context, natural_loop)?;
    let mut around = context.flow.loops.parent(natural_loop);
    while let Some(outer) = around.filter(|_| is_unrolled) {
        is_unrolled = own_rounds(context, outer).is_some_and(|(_, is_unrolled)| is_unrolled);
        around = context.flow.loops.parent(outer);
    }
    Some((count, is_unrolled))
}

/// Returns the same without regard to the loops around it.
fn own_rounds(context: &WarningContext<'_, '_>, natural_loop: Loop) -> Option<(u64, bool)> {
    let (function, flow) = (context.function, context.flow);
    let blocks = flow.loops.nodes(natural_loop).iter();
    let size: usize = blocks.map(|&block| function.instructions(block).count()).sum();
    flow.loops.latches(&flow.graph, natural_loop).find_map(|latch| {
        let branch = function.terminator(latch)?;
        let condition = function.sources(branch).iter().next()?.as_register()?;
        let comparison = function.unique_definition(condition)?;
        if function.operation(comparison) != Operation::Isetp {
            return None;
        }
        let sources = function.sources(comparison);
        let end = known(function, sources.get(1), DEPTH)?;
        let (counter, is_converted) = counted(function, sources.get(0).as_register()?)?;
        let (start, step) = start_and_step(context, natural_loop, counter)?;
        let distance = end.offset.abs_diff(start.offset);
        let rounds = distance.checked_div(step.unsigned_abs())?;
        // A counter that moves away from its end would wrap around.
        let is_toward = (end.offset > start.offset) == (step > 0);
        let is_one = start.base == end.base && is_toward && (1..=MOST_ROUNDS).contains(&rounds);
        let flags = context.snapshot.block_flags(latch);
        let is_small = size <= MOST_OF_ROUND && rounds as usize * size <= MOST_INSTRUCTIONS;
        let is_left = is_converted || flags.contains(BlockFlags::NO_UNROLL);
        is_one.then_some((rounds, is_small && !is_left))
    })
}

/// Returns the counter that a comparison tests, by its value in this iteration or the next, and
/// whether the value is converted to another size first: ptxas 13.0.88 does not unroll such a loop.
fn counted(function: &Function, mut register: Register) -> Option<(Register, bool)> {
    let mut is_converted = false;
    for _ in 0..DEPTH {
        let Some(definition) = function.unique_definition(register) else {
            return Some((register, is_converted));
        };
        match function.operation(definition) {
            operation @ (Operation::Cvt | Operation::Copy | Operation::Mov | Operation::Iadd) => {
                is_converted |= operation == Operation::Cvt;
                register = function.source(definition, 0).as_register()?;
            }
            _ => return None,
        }
    }
    None
}

fn start_and_step(
    context: &WarningContext<'_, '_>,
    natural_loop: Loop,
    register: Register,
) -> Option<(BasedOffset, i64)> {
    let function = context.function;
    let is_inside = |instruction: Instruction| {
        let block = function.block_of(instruction);
        block.is_some_and(|block| context.flow.loops.contains(natural_loop, block))
    };
    let definitions: Vec<Instruction> = function.definitions(register).map(|(it, _)| it).collect();
    let (inside, outside): (Vec<_>, Vec<_>) = definitions.into_iter().partition(|&it| is_inside(it));
    match (inside[..].as_ref(), outside[..].as_ref()) {
        ([inside], [outside]) => Some((
            known_result(function, *outside)?,
            step(function, *inside, register)?,
        )),
        _ => None,
    }
}

/// Returns the constant that a definition of a register adds to it.
fn step(function: &Function, definition: Instruction, register: Register) -> Option<i64> {
    let sum = sum_of(function, definition)?;
    let is_step = function.source(sum, 0).as_register() == Some(register);
    is_step
        .then(|| function.integer(function.source(sum, 1)))?
        .filter(|&step| step != 0)
}

/// Returns the sum that an instruction is or copies.
pub fn sum_of(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let sum = match function.operation(instruction) {
        Operation::Copy | Operation::Mov => {
            let copied = function.source(instruction, 0).as_register()?;
            function.unique_definition(copied)?
        }
        _ => instruction,
    };
    (function.operation(sum) == Operation::Iadd).then_some(sum)
}

/// Returns the value of an instruction's result.
fn known_result(function: &Function, instruction: Instruction) -> Option<BasedOffset> {
    known_computed(function, instruction, DEPTH)
}

fn known(function: &Function, operand: Operand, depth: u32) -> Option<BasedOffset> {
    if let Some(offset) = function.integer(operand) {
        return Some(BasedOffset { base: None, offset });
    }
    if let OperandKind::Special(special) = operand.kind() {
        return match function.special_data(special) {
            Special::Frame(object) => Some(BasedOffset {
                base: Some(object),
                offset: 0,
            }),
            _ => None,
        };
    }
    let definition = function.unique_definition(operand.as_register()?)?;
    known_computed(function, definition, depth.checked_sub(1)?)
}

fn known_computed(function: &Function, instruction: Instruction, depth: u32) -> Option<BasedOffset> {
    let sources = function.sources(instruction);
    match function.operation(instruction) {
        Operation::Mov | Operation::Copy | Operation::Cvta | Operation::Cvt => {
            known(function, sources.get(0), depth)
        }
        Operation::Iadd | Operation::Lea => {
            let base = known(function, sources.get(0), depth)?;
            let added = function.integer(sources.get(1))?;
            Some(BasedOffset {
                offset: base.offset.checked_add(added)?,
                ..base
            })
        }
        _ => None,
    }
}
