//! Rematerialize: where registers are short, recomputes cheap values in the blocks that use them
//! instead of keeping them live across the blocks in between.
//!
//! ```text
//! bix0: %2 = IADD %1, 16               bix0: ...
//!       ... (%1 and %2 live)     ─▶    bix1: ... (%1 live)
//! bix1: ... (%1 and %2 live)           bix2: %3 = IADD %1, 16
//! bix2: ST %4, [%2]                          ST %4, [%3]
//! ```
//!
//! A value is recomputed if
//!
//! 1. that is cheap: integer arithmetic, an address, a constant, a widening integer conversion;
//! 2. in each block that uses it, its operands are live anyway or take fewer registers than it;
//! 3. it is live into or out of a block that is nearly as full as the fullest one, and the fullest
//!    one holds so many registers that fewer may allow more warps;
//! 4. it does not control a loop: ptxas unrolls a loop if it recognises counter and limit, and
//!    copies of their operands hide them.
//!
//! Each using block gets one copy before its first use.
//!
//! Requires: SSA form. Preserves: control flow.
//!
//! P. Briggs, K. Cooper and L. Torczon, "Rematerialization" (1992) rematerialise values that an
//! allocator would spill. Here ptxas allocates, and it does not undo LLVM's commoning; so the
//! pressure of the input decides. ptxas' own front end, cicc, has such a pass; the reference
//! documents do not name one.

use super::never_worse::{MOST_ADDED_PERCENT, is_data, most_live, weighted_instructions};
use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::{Block, Register};
use oriel_engine::live::SlotIndex;
use oriel_ori::analysis::{BlockWeights, PressureMap};
use oriel_ori::{
    DataType, Function, Instruction, InstructionBuilder, Liveness, Operation, OperationFlags, Position,
    units_of,
};
use smallvec::SmallVec;
use std::rc::Rc;

/// Functions with a lower peak are not changed: fewer registers than these, plus those that ptxas
/// adds, rarely decide how many warps fit. A smaller register budget replaces this value.
const LEAST_PEAK: u32 = 40;

/// A block is full if it reaches this percentage of the function's peak.
const FULL_PERCENT: u32 = 80;

/// The most using blocks: more copies would cost more than the register.
const MOST_BLOCKS: usize = 8;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let least = LEAST_PEAK.min(context.options.register_budget);
    // The bound needs no liveness, and most functions stay below it.
    if most_live(function, |register| is_data(function, register)) < least {
        return PhaseResult::Unchanged;
    }
    let flow = context.control_flow(function);
    let liveness = context.liveness(function);
    let pressure = PressureMap::new(function, Rc::clone(&flow), Rc::clone(&liveness));
    let highest = |&block: &Block| pressure.highest_in(block);
    let peak = function.blocks().iter().map(highest).max().unwrap_or(0);
    if peak < least {
        return PhaseResult::Unchanged;
    }
    let is_full = |block: &Block| highest(block) * 100 >= peak * FULL_PERCENT;
    let full = function.blocks().iter().filter(|block| is_full(block));
    let (starts, ends): (Vec<_>, Vec<_>) = full.map(|&block| liveness.block_range(block)).unzip();
    drop(pressure);
    debug_assert!(
        starts.is_sorted() && ends.is_sorted(),
        "blocks come in the order of the layout"
    );
    let search = Search {
        liveness: &liveness,
        starts,
        ends,
    };
    let weights = BlockWeights::compute(function, &flow);
    let most_weight = weighted_instructions(function, &flow) * MOST_ADDED_PERCENT / 100.0;
    let (mut copies, mut weight) = (0, 0.0);
    // Users of a value come before it here, so that a chain is recomputed from its end.
    let registers: Vec<Register> = function.registers().rev().collect();
    for register in registers {
        let Some(uses) = search.uses_to_serve(function, register) else {
            continue;
        };
        let of_copies: f64 = uses.iter().map(|(block, _)| weights.of(*block)).sum();
        if weight + of_copies > most_weight {
            continue;
        }
        weight += of_copies;
        copies += uses.len();
        for (block, users) in &uses {
            compute_again(function, register, *block, users);
        }
        context.count("values", 1);
        if function.is_unused(register) {
            let definition = function.unique_definition(register);
            function.remove(definition.expect("a value has a definition"));
        }
    }
    context.allow(weight);
    context.result_of("copies", copies)
}

/// Instructions, each with the number of a source.
type Users = SmallVec<[(Instruction, usize); 2]>;

/// The input of the search for values: the function before the phase.
struct Search<'a> {
    liveness: &'a Liveness,
    /// The starts of the blocks where registers are short, in ascending order.
    starts: Vec<SlotIndex>,
    /// Their ends.
    ends: Vec<SlotIndex>,
}

impl Search<'_> {
    /// Returns the uses of a value outside its block, by block, or none if it is not to be
    /// recomputed.
    fn uses_to_serve(&self, function: &Function, register: Register) -> Option<Vec<(Block, Users)>> {
        let definition = function.unique_definition(register)?;
        let home = function.block_of(definition)?;
        if !is_cheap(function, definition) || !self.lives_in_full_block(register) {
            return None;
        }
        let mut blocks: Vec<(Block, Users)> = Vec::new();
        for (user, number) in function.uses(register) {
            if function.operation(user).is_debug() || function.source(user, number).is_undefined() {
                continue;
            }
            if controls_loop(function, user) {
                return None;
            }
            let block = function.block_of(user)?;
            match blocks.iter_mut().find(|(other, _)| *other == block) {
                _ if block == home => {}
                Some((_, users)) => users.push((user, number)),
                None => blocks.push((block, Users::from_slice(&[(user, number)]))),
            }
        }
        let is_paid = |(block, _): &(Block, Users)| self.is_paid_in(function, definition, register, *block);
        if blocks.is_empty() || blocks.len() > MOST_BLOCKS || !blocks.iter().all(is_paid) {
            return None;
        }
        Some(blocks)
    }

    /// True if a register is live into or out of a full block. A function may have thousands of
    /// either, so the blocks are searched by the register's segments.
    fn lives_in_full_block(&self, register: Register) -> bool {
        let mut segments = self.liveness.range(register).segments().iter();
        segments.any(|segment| {
            let start = self.starts.partition_point(|&start| start < segment.start);
            let end = self.ends.partition_point(|&end| end <= segment.start);
            self.starts.get(start).is_some_and(|&start| start < segment.end)
                || self.ends.get(end).is_some_and(|&end| end <= segment.end)
        })
    }

    /// True if the operands of a value that are not live anyway take fewer registers in a block
    /// than the value.
    fn is_paid_in(
        &self,
        function: &Function,
        definition: Instruction,
        register: Register,
        block: Block,
    ) -> bool {
        let sources = function.sources(definition).iter();
        let mut sources: SmallVec<[Register; 4]> =
            sources.filter_map(|source| source.as_register()).collect();
        sources.sort_unstable();
        sources.dedup();
        let longer = sources
            .iter()
            .filter(|&&source| !self.liveness.is_live_in(source, block));
        let units: u32 = longer.map(|&source| units_of(function, source)).sum();
        units < units_of(function, register)
    }
}

/// True if an instruction, or a use of its result, is part of what ptxas recognises a loop by.
fn controls_loop(function: &Function, user: Instruction) -> bool {
    let is_control =
        |instruction| matches!(function.operation(instruction), Operation::Phi | Operation::Isetp);
    let mut results = function
        .results(user)
        .iter()
        .filter_map(|result| result.as_register());
    is_control(user) || results.any(|result| function.uses(result).any(|(next, _)| is_control(next)))
}

/// True if recomputing it is cheaper than holding it in a register.
fn is_cheap(function: &Function, definition: Instruction) -> bool {
    let [result] = function.results(definition).iter().collect::<SmallVec<[_; 2]>>()[..] else {
        return false;
    };
    if !result
        .as_register()
        .is_some_and(|result| is_data(function, result))
        || !function.is_removable_if_unused(definition)
        || function
            .sources(definition)
            .iter()
            .any(|source| source.is_undefined())
    {
        return false;
    }
    match function.operation(definition) {
        // Reading a special register takes long, and an undefined value costs nothing.
        Operation::S2r | Operation::ImplicitDef => false,
        Operation::Cvt => is_widening(function.source_type(definition), function.data_type(definition)),
        operation => operation.flags().contains(OperationFlags::REMATERIALIZABLE),
    }
}

/// True for a widening integer conversion.
fn is_widening(from: DataType, to: DataType) -> bool {
    let is_integer = |data_type| {
        matches!(
            data_type,
            DataType::S16 | DataType::U16 | DataType::S32 | DataType::U32 | DataType::S64 | DataType::U64
        )
    };
    is_integer(from) && (is_integer(to) || to == DataType::B64) && from.bits() < to.bits()
}

/// Recomputes a value in a block before the first of the block's users, for all of them.
fn compute_again(function: &mut Function, register: Register, block: Block, users: &Users) {
    let definition = function.unique_definition(register);
    let definition = definition.expect("a value has a definition");
    let first = match users[..] {
        [(only, _)] => only,
        _ => {
            let is_user = |instruction: &Instruction| users.iter().any(|(user, _)| user == instruction);
            let first = function.instructions(block).find(is_user);
            first.expect("the users are in the block")
        }
    };
    let copy = function.create_register_like(register);
    let result = function.register_operand(copy);
    let new = InstructionBuilder::copy_of(function, definition).result(result);
    function.insert(Position::Before(first), new);
    for &(user, number) in users {
        let source = function.source(user, number).with_register(copy);
        function.set_source(user, number, source);
    }
}

#[cfg(test)]
mod tests;
