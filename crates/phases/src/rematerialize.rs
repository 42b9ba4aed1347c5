//! Rematerialize: where registers are short, recomputes cheap expressions in the blocks that use
//! them instead of keeping their values live across the blocks in between.
//!
//! ```text
//! bix0: %2 = IMUL.WIDE %1, 4           bix0: ...
//!       %3 = IADD %2, %0               bix1: ... (%1 live)
//!       ... (%1 and %3 live)     ─▶    bix2: %4 = IMUL.WIDE %1, 4
//! bix1: ... (%1 and %3 live)                 %5 = IADD %4, %0
//! bix2: ST %6, [%3]                          ST %6, [%5]
//! ```
//!
//! A value is recomputed in a block if
//!
//! 1. computing it is cheap: integer arithmetic, an address, a constant, a widening integer
//!    conversion (`availability.rs`), and expressions of these up to five operations deep
//!    (`expression.rs`);
//! 2. the operands that the expression starts from are live in the block anyway, are operands to
//!    ptxas such as a kernel's parameters, take fewer registers than the value, or serve several
//!    values and so stay in their registers (`shared.rs`);
//! 3. the block is in no deeper loop than the definition. A deeper loop is allowed only if registers
//!    are short in the block, since otherwise the loop would only compute more, and if the loop does
//!    not count from a constant to a constant, since ptxas unrolls such a loop unless it gets too
//!    large (`loop_control.rs`). In functions with `wgmma` or `tcgen05`, whose loops ptxas also
//!    unrolls, more registers than a thread can have must be live at once;
//! 4. the value does not control a loop there: ptxas unrolls a loop if it recognises counter and
//!    limit, and copies of their operands hide them.
//!
//! The value stays live for its other uses. So it is recomputed only if it is then no longer live
//! into or out of some block that is nearly as full as the fullest one, and only in blocks where it
//! would not be live anyway.
//!
//! Nothing is recomputed in a function that calls others and whose stack objects outweigh its peak:
//! ptxas inlines the calls and keeps the objects in registers, which the peak does not count.
//!
//! Each using block gets one copy before its first use. If the function's peak falls by too little,
//! the phase undoes everything.
//!
//! Requires: SSA form. Preserves: control flow.
//!
//! P. Briggs, K. Cooper and L. Torczon, "Rematerialization" (1992) rematerialise values that an
//! allocator would spill. Here ptxas allocates, and it does not undo LLVM's commoning; so the
//! pressure of the input decides. ptxas' own front end, cicc, has such a pass; the reference
//! documents do not name one.

mod availability;
mod expression;
mod full_blocks;
mod live_blocks;
mod loop_control;
mod places;
mod shared;

use super::instruction_order::Weights;
use super::never_worse::weighted_instructions;
use super::shared::dead_code::remove_unneeded_by;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use full_blocks::FullBlocks;
use live_blocks::LiveBlocks;
use oriel_engine::entity::{EntityRef, Register, SecondaryMap};
use oriel_ori::analysis::BlockWeights;
use oriel_ori::{
    ControlFlow, Function, Instruction, InstructionBuilder, Operation, Position, Trial, peaks_of_blocks,
};
use places::{Place, PlaceSearch};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Functions with a lower peak are not changed: a multiprocessor for 2,048 threads holds all of its
/// threads with 32 registers each. A smaller register budget replaces this value.
const LEAST_PEAK: u32 = 32;

/// A block is full if it reaches this percentage of the function's peak. ptxas schedules across
/// LLVM's order, so that blocks below the peak become the fullest.
const FULL_PERCENT: u32 = 60;

/// The most executed instructions that copies may add, in percent of all. Where LLVM knows no
/// frequencies, a loop counts ten times. ptxas hoists loop-invariant copies if there are registers.
const MOST_ADDED_PERCENT: f64 = 20.0;

/// The least fall of the peak, in percent. In kernels where it fell by less, ptxas needed more
/// registers nearly as often as fewer.
const LEAST_GAIN_PERCENT: u32 = 12;

/// The bytes of a unit of pressure.
const REGISTER_BYTES: u64 = 4;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    recompute(function, context, LEAST_GAIN_PERCENT)
}

/// Returns the size of the stack objects of a function that calls others, since the callees may have
/// their addresses.
fn stack_of_callees(function: &Function) -> Option<u64> {
    let sizes = function.stack_objects().filter(|(_, object)| !object.is_removed);
    let bytes = sizes.map(|(_, object)| object.size).sum();
    let mut operations = function.all_instructions().map(|it| function.operation(it));
    (bytes > 0 && operations.any(|operation| operation == Operation::Call)).then_some(bytes)
}

/// Recomputes values, and undoes everything if the peak does not fall by `least_percent`.
fn recompute(function: &mut Function, context: &mut PhaseContext<'_>, least_percent: u32) -> PhaseResult {
    let least = LEAST_PEAK.min(context.options.register_budget);
    let liveness = context.live_ranges(function);
    let mut units = Weights::of(function);
    let peaks = peaks_of_blocks(function, &liveness, |register| units.get(register));
    let peak = peaks.iter().map(|&(_, peak)| peak).max().unwrap_or(0);
    if peak < least {
        return PhaseResult::Unchanged;
    }
    if let Some(bytes) = stack_of_callees(function).filter(|&bytes| bytes / REGISTER_BYTES > peak.into()) {
        context.remark(RemarkKind::Missed, "Stack", function, None, || {
            format!(
                "no value is recomputed: {bytes} bytes of stack objects, which ptxas may keep in registers once it \
                 has inlined calls, outweigh the peak of {peak} units"
            )
        });
        return PhaseResult::Unchanged;
    }
    let full = FullBlocks::new(function, &liveness, &peaks, (peak * FULL_PERCENT).div_ceil(100));
    let flow = context.control_flow(function);
    let asynchronous = context.asynchronous_registers(function);
    let mut search = PlaceSearch::new(function, &flow, &liveness, &units, &full, peak, &asynchronous);
    let mut done = recompute_around(function, &flow, &mut search);
    if done.trial.is_empty() {
        return PhaseResult::Unchanged;
    }
    let most_after = peak - (peak * least_percent).div_ceil(100);
    done.shortened.retain(|&register| units.knows(register));
    done.shortened.sort_unstable();
    done.shortened.dedup();
    let above = FullBlocks::new(function, &liveness, &peaks, most_after + 1);
    let mut now_live = LiveBlocks::new(function, &flow);
    let least_after = above.least_peak_after(function, &liveness, &units, &done.shortened, &mut now_live);
    // Then the context can bring the ranges up to date where they are.
    drop(liveness);
    context.keep_only(Analyses::CONTROL_FLOW);
    let mut is_enough = least_after <= most_after;
    // In debug builds the bound is held against the peak.
    if is_enough || cfg!(debug_assertions) {
        units.add_new(function);
        let peaks = peaks_of_blocks(function, &context.live_ranges(function), |register| {
            units.get(register)
        });
        let peak_after = peaks.iter().map(|&(_, peak)| peak).max().unwrap_or(0);
        debug_assert!(
            least_after <= peak_after,
            "a peak of at least {least_after} units is {peak_after}"
        );
        is_enough = peak_after <= most_after;
    }
    if !is_enough {
        done.trial.take_back(function);
        context.keep_only(Analyses::CONTROL_FLOW);
        context.count("taken-back", done.values);
        context.remark(RemarkKind::Missed, "Peak", function, None, || {
            format!(
                "no value is recomputed: {} of them would lower the peak of {peak} units by less than {least_percent} %",
                done.values
            )
        });
        return PhaseResult::Unchanged;
    }
    context.allow(done.weight);
    context.count("values", done.values);
    context.result_of("copies", done.copies)
}

/// The changes made to a function.
#[derive(Default)]
struct Done {
    trial: Trial,
    values: u64,
    copies: usize,
    /// The weighted instructions of the copies.
    weight: f64,
    /// The registers that lost uses or their definition.
    shortened: Vec<Register>,
}

/// Recomputes values that live in full blocks, as far as it does not add too many instructions.
fn recompute_around(function: &mut Function, flow: &ControlFlow, search: &mut PlaceSearch<'_>) -> Done {
    let mut done = Done::default();
    let candidates = search.candidates(function);
    if candidates.is_empty() {
        return done;
    }
    let weights = BlockWeights::compute(function, flow);
    let most_weight = weighted_instructions(function, flow) * MOST_ADDED_PERCENT / 100.0;
    let order = Order::of_all(function);
    for candidate in candidates {
        let Some(places) = search.places(function, candidate) else {
            continue;
        };
        let weight_of = |place: &Place| weights.of(place.block) * place.expression.len() as f64;
        let of_copies: f64 = places.iter().map(weight_of).sum();
        if done.weight + of_copies > most_weight {
            continue;
        }
        done.weight += of_copies;
        done.values += 1;
        for place in &places {
            done.copies += place.expression.len();
            compute_again(function, &order, &mut done.trial, place);
        }
        let Done { trial, shortened, .. } = &mut done;
        shortened.push(candidate.register);
        let remove = |function: &mut Function, unneeded| {
            let sources = function.sources(unneeded).iter();
            shortened.extend(sources.filter_map(|source| source.as_register()));
            shortened.extend(function.result_registers(unneeded));
            trial.remove(function, unneeded);
        };
        remove_unneeded_by(function, vec![candidate.definition], remove);
    }
    done
}

/// The order of instructions while copies are inserted. Blocks are too long to be searched for each
/// value.
struct Order {
    /// The positions in the layout of the instructions that existed before the phase.
    places: SecondaryMap<Instruction, u32>,
    /// The number of the first instruction that the phase created.
    first_new: usize,
}

impl Order {
    fn of_all(function: &Function) -> Self {
        let mut places = SecondaryMap::new();
        places.resize(function.instruction_limit());
        for (place, instruction) in function.all_instructions().enumerate() {
            places[instruction] = place as u32;
        }
        Self {
            places,
            first_new: function.instruction_limit(),
        }
    }

    /// Returns a key that is smaller for an instruction that comes earlier in a block: the place of
    /// the next instruction that is not new, and how many come before that one.
    fn of(&self, function: &Function, instruction: Instruction) -> (u32, Reverse<u32>) {
        let (mut at, mut distance) = (instruction, 0);
        while at.index() >= self.first_new {
            at = function.next(at).expect("copies are made before a user");
            distance += 1;
        }
        (self.places[at], Reverse(distance))
    }
}

/// Recomputes a value in a block before the first of its users there, for all of them.
fn compute_again(function: &mut Function, order: &Order, trial: &mut Trial, place: &Place) {
    let users = place.users.iter().map(|&(user, _)| user);
    let first = users.min_by_key(|&user| order.of(function, user));
    let first = first.expect("a place has users");
    let mut copies: SmallVec<[(Register, Register); 4]> = SmallVec::new();
    for &definition in place.expression.definitions() {
        let original = function.results(definition).iter().next();
        let original = original.and_then(|result| result.as_register());
        let original = original.expect("a cheap operation has one result, a register");
        let copy = function.create_register_like(original);
        let result = function.register_operand(copy);
        let new = InstructionBuilder::copy_of(function, definition).result(result);
        let new = trial.insert(function, Position::Before(first), new);
        for number in 0..function.sources(new).len() {
            let source = function.source(new, number);
            let copied = copies.iter().find(|(of, _)| source.as_register() == Some(*of));
            if let Some(&(_, copy)) = copied {
                trial.set_source(function, new, number, source.with_register(copy));
            }
        }
        copies.push((original, copy));
    }
    let &(_, copy) = copies.last().expect("the value itself comes last");
    for &(user, number) in &place.users {
        let source = function.source(user, number).with_register(copy);
        trial.set_source(function, user, number, source);
    }
}

#[cfg(test)]
mod tests;
