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
//! 1. that is cheap: integer arithmetic, an address, a constant, a widening integer conversion, and
//!    expressions of these up to five operations deep (`expression.rs`);
//! 2. what the expression starts from is live in the block anyway, is an operand to ptxas such as a
//!    kernel's parameter, takes fewer registers than the value, or serves several values, so that it
//!    stays in its register (`shared.rs`);
//! 3. the block is in no deeper loop than the definition, or registers are short in the block and
//!    the loop does not count from a constant to a constant: elsewhere the loop would only compute
//!    more, and ptxas unrolls such a loop unless it gets too large;
//! 4. the value does not control a loop there: ptxas unrolls a loop if it recognises counter and
//!    limit, and copies of their operands hide them.
//!
//! The value stays live for its other uses. So it is recomputed only if, with these uses alone, it
//! is no longer live into or out of some block that is nearly as full as the fullest one; and only
//! where it would not be live anyway.
//!
//! Each using block gets one copy before its first use. If all of this lowers the function's peak by
//! too little, the phase takes it back.
//!
//! Requires: SSA form. Preserves: control flow.
//!
//! P. Briggs, K. Cooper and L. Torczon, "Rematerialization" (1992) rematerialise values that an
//! allocator would spill. Here ptxas allocates, and it does not undo LLVM's commoning; so the
//! pressure of the input decides. ptxas' own front end, cicc, has such a pass; the reference
//! documents do not name one.

mod expression;
mod shared;

use super::dead_code::remove_unneeded_by;
use super::instruction_order::{PeakFinder, Weights};
use super::never_worse::{is_data, most_live, weighted_instructions};
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use expression::{Expression, is_cheap};
use oriel_engine::bitvector::{EntityBitSet, ScratchSet};
use oriel_engine::entity::{Block, EntityRef, Register, SecondaryMap};
use oriel_engine::graph::Loop;
use oriel_engine::live::SlotIndex;
use oriel_ori::analysis::BlockWeights;
use oriel_ori::{
    ControlFlow, Function, Instruction, InstructionBuilder, Liveness, Operand, OperandKind, Operation,
    Position, Trial,
};
use shared::shared_operands;
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Functions with a lower peak are not changed: a multiprocessor for 2,048 threads holds all of
/// them with 32 registers each. A smaller register budget replaces this value.
const LEAST_PEAK: u32 = 32;

/// A block is full if it reaches this percentage of the function's peak. ptxas schedules across
/// LLVM's order, so that blocks below the peak become the fullest.
const FULL_PERCENT: u32 = 60;

/// The most executed instructions that copies may add, in percent of all. Where LLVM knows no
/// frequencies, a loop counts ten times, and ptxas moves copies that do not change in a loop out of
/// it if there are registers.
const MOST_ADDED_PERCENT: f64 = 20.0;

/// The least part of the peak, in percent, by which it has to fall. In kernels where it fell by less,
/// ptxas needed more registers nearly as often as fewer.
const LEAST_GAIN_PERCENT: u32 = 12;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    recompute(function, context, LEAST_GAIN_PERCENT)
}

/// Recomputes values, and takes everything back if the peak does not fall by `least_percent`.
fn recompute(function: &mut Function, context: &mut PhaseContext<'_>, least_percent: u32) -> PhaseResult {
    let least = LEAST_PEAK.min(context.options.register_budget);
    // The bound needs no liveness, and most functions stay below it.
    if most_live(function, |register| is_data(function, register)) < least {
        return PhaseResult::Unchanged;
    }
    let peaks = peaks_of_blocks(function, context);
    let peak = peaks.iter().map(|&(_, peak)| peak).max().unwrap_or(0);
    if peak < least {
        return PhaseResult::Unchanged;
    }
    let full = peaks
        .iter()
        .filter(|&(_, of_block)| of_block * 100 >= peak * FULL_PERCENT);
    let full: Vec<Block> = full.map(|&(block, _)| block).collect();
    let done = recompute_around(function, context, full);
    if done.trial.is_empty() {
        return PhaseResult::Unchanged;
    }
    context.keep_only(Analyses::CONTROL_FLOW);
    let peaks = peaks_of_blocks(function, context);
    let peak_after = peaks.iter().map(|&(_, peak)| peak).max().unwrap_or(0);
    let least_gain = (peak * least_percent).div_ceil(100);
    if peak_after + least_gain > peak {
        done.trial.take_back(function);
        context.keep_only(Analyses::CONTROL_FLOW);
        context.count("taken-back", done.values);
        context.remark(RemarkKind::Missed, "Peak", function, None, || {
            format!("no value is recomputed: {} of them would lower the peak from {peak} units to {peak_after} only", done.values)
        });
        return PhaseResult::Unchanged;
    }
    context.allow(done.weight);
    context.count("values", done.values);
    context.result_of("copies", done.copies)
}

/// Returns the peak of each block.
fn peaks_of_blocks(function: &Function, context: &mut PhaseContext<'_>) -> Vec<(Block, u32)> {
    let liveness = context.liveness(function);
    let units = Weights::of(function);
    let mut finder = PeakFinder::new(function, &liveness, &units);
    let blocks = function.blocks().iter();
    blocks
        .map(|&block| (block, finder.peak_of_block(block)))
        .collect()
}

/// The changes made to a function.
#[derive(Default)]
struct Done {
    trial: Trial,
    values: u64,
    copies: usize,
    /// The weighted instructions of the copies.
    weight: f64,
}

/// Recomputes values that live in full blocks, as far as it does not add too many instructions.
fn recompute_around(function: &mut Function, context: &mut PhaseContext<'_>, full: Vec<Block>) -> Done {
    let flow = context.control_flow(function);
    let liveness = context.liveness(function);
    let units = Weights::of(function);
    let mut search = PlaceSearch::new(function, &flow, &liveness, &units, full);
    let weights = BlockWeights::compute(function, &flow);
    let most_weight = weighted_instructions(function, &flow) * MOST_ADDED_PERCENT / 100.0;
    let mut done = Done::default();
    let order = Order {
        liveness: &liveness,
        first_new: function.instruction_limit(),
    };
    let candidates = search.candidates(function);
    search.shared = shared_operands(function, &units, &candidates);
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
            compute_again(function, order, &mut done.trial, place);
        }
        let remove = |function: &mut Function, unneeded| done.trial.remove(function, unneeded);
        remove_unneeded_by(function, vec![candidate.definition], remove);
    }
    done
}

/// A value that might be recomputed elsewhere.
#[derive(Clone, Copy)]
struct Candidate {
    register: Register,
    definition: Instruction,
}

/// Instructions, each with the number of a source.
type Users = SmallVec<[(Instruction, usize); 2]>;

/// The uses of a value outside its block.
struct Uses {
    /// Those that a copy can serve, by block.
    blocks: Vec<(Block, Users)>,
    /// The blocks of the others.
    kept: Vec<Block>,
}

/// A block in which a value should be recomputed.
struct Place {
    block: Block,
    /// The uses that get the copy.
    users: Users,
    expression: Expression,
}

/// The order of a block's instructions while copies are inserted. Blocks are too long to be searched
/// for each value.
#[derive(Clone, Copy)]
struct Order<'a> {
    /// From before the phase.
    liveness: &'a Liveness,
    /// The number of the first instruction made since.
    first_new: usize,
}

impl Order<'_> {
    /// Returns a key that is smaller for an instruction that comes earlier in a block: the index of
    /// the next instruction that is not new, and how many come before that one.
    fn of(self, function: &Function, instruction: Instruction) -> (SlotIndex, Reverse<u32>) {
        let (mut at, mut distance) = (instruction, 0);
        while at.index() >= self.first_new {
            at = function.next(at).expect("copies are made before a user");
            distance += 1;
        }
        (self.liveness.index(at), Reverse(distance))
    }
}

/// Finds the places where values should be recomputed. Liveness and the full blocks are those
/// before the phase; the uses are the current ones.
struct PlaceSearch<'a> {
    flow: &'a ControlFlow,
    liveness: &'a Liveness,
    /// The registers that ptxas needs for each value.
    units: &'a Weights,
    /// The blocks where registers are short, in the order of the layout.
    full: Vec<Block>,
    is_full: EntityBitSet<Block>,
    /// The starts of these blocks, in ascending order.
    starts: Vec<SlotIndex>,
    /// Their ends.
    ends: Vec<SlotIndex>,
    /// The values that stay in registers because others start from them.
    shared: EntityBitSet<Register>,
    /// The blocks that a value stays live into; kept to save allocations.
    stays: ScratchSet<Block>,
    /// Whether each loop [counts from a constant to a constant](counts_constants), once that
    /// was asked: a loop may have thousands of blocks.
    constant_counts: SecondaryMap<Loop, Option<bool>>,
}

impl<'a> PlaceSearch<'a> {
    fn new(
        function: &Function,
        flow: &'a ControlFlow,
        liveness: &'a Liveness,
        units: &'a Weights,
        full: Vec<Block>,
    ) -> Self {
        let mut is_full = EntityBitSet::with_room(function.block_limit());
        for &block in &full {
            is_full.insert(block);
        }
        let (starts, ends): (Vec<_>, Vec<_>) = full.iter().map(|&block| liveness.block_range(block)).unzip();
        debug_assert!(
            starts.is_sorted() && ends.is_sorted(),
            "blocks come in the order of the layout"
        );
        Self {
            flow,
            liveness,
            units,
            full,
            is_full,
            starts,
            ends,
            shared: EntityBitSet::with_room(function.register_limit()),
            stays: ScratchSet::with_room(function.block_limit()),
            constant_counts: SecondaryMap::new(),
        }
    }

    /// Returns the cheap values that live in a full block. Users of a value come before it, so that a
    /// chain is recomputed from its end.
    fn candidates(&mut self, function: &Function) -> Vec<Candidate> {
        self.stays.clear();
        let registers = function.registers().rev();
        let candidates = registers.filter_map(|register| {
            let definition = function.unique_definition(register)?;
            let is_candidate = self.units.get(register) > 0
                && is_cheap(function, definition)
                && self.lives_in_full_block(register);
            is_candidate.then_some(Candidate { register, definition })
        });
        candidates.collect()
    }

    /// Returns the places where a value should be recomputed, or none if it should be nowhere.
    fn places(&mut self, function: &Function, candidate: Candidate) -> Option<Vec<Place>> {
        let Candidate { register, definition } = candidate;
        let home = function.block_of(definition)?;
        if self.shared.contains(register) {
            return None;
        }
        self.stays.clear();
        let Uses { blocks, mut kept } = self.uses_by_block(function, register, home)?;
        kept.sort_unstable();
        let uses_kept = kept.len();
        let mut places: Vec<Place> = Vec::with_capacity(blocks.len());
        for (block, users) in blocks {
            let may_enter =
                self.may_enter(function, block, home) && kept[..uses_kept].binary_search(&block).is_err();
            let expression = may_enter.then(|| Expression::of(function, self, definition, block));
            match expression.flatten() {
                Some(expression) => places.push(Place {
                    block,
                    users,
                    expression,
                }),
                None => kept.push(block),
            }
        }
        self.find_where_it_stays(home, kept);
        places.retain(|place| !self.stays.contains(place.block));
        (!places.is_empty() && self.lives_in_full_block(register)).then_some(places)
    }

    /// True if using a register in a block makes nothing live there that is not live anyway.
    fn is_at_hand(&self, function: &Function, register: Register, block: Block) -> bool {
        // A copy that the phase has made is live in one block only.
        let is_operand = || is_data(function, register) && self.units.get(register) == 0;
        self.units.knows(register)
            && (is_operand() || self.shared.contains(register) || self.liveness.is_live_in(register, block))
    }

    /// Returns the uses of a value outside its block; none if it has an unusual use.
    fn uses_by_block(&self, function: &Function, register: Register, home: Block) -> Option<Uses> {
        let (mut uses, mut kept): (Vec<(Block, Instruction, usize)>, Vec<Block>) = Default::default();
        for (user, number) in function.uses(register) {
            if function.operation(user).is_debug() || function.source(user, number).is_undefined() {
                continue;
            }
            let block = match function.operation(user) {
                // A PHI reads the value at the end of the block that control comes from.
                Operation::Phi => match function.source(user, number + 1).kind() {
                    OperandKind::Target(from) => from,
                    _ => return None,
                },
                _ => function.block_of(user)?,
            };
            let is_phi = function.operation(user) == Operation::Phi;
            if is_phi || (block != home && self.controls_loop(function, user)) {
                kept.push(block);
                continue;
            }
            if block == home {
                continue;
            }
            uses.push((block, user, number));
        }
        // Stable, so that the uses of a block keep their order.
        uses.sort_by_key(|&(block, ..)| block);
        let blocks = uses
            .chunk_by(|one, other| one.0 == other.0)
            .map(|uses| {
                (
                    uses[0].0,
                    uses.iter().map(|&(_, user, number)| (user, number)).collect(),
                )
            })
            .collect();
        Some(Uses { blocks, kept })
    }

    /// True if a value may be recomputed in a block: in a deeper loop than its definition only if
    /// registers are short there, and if ptxas does not unroll the loop anyway.
    fn may_enter(&mut self, function: &Function, block: Block, home: Block) -> bool {
        let loops = &self.flow.loops;
        if loops.depth_of(block) <= loops.depth_of(home) {
            return true;
        }
        let inner = loops
            .innermost(block)
            .expect("a block in a loop has an innermost one");
        self.is_full.contains(block) && !self.has_constant_count(function, inner)
    }

    /// As [`counts_constants`], remembered for each loop.
    fn has_constant_count(&mut self, function: &Function, natural_loop: Loop) -> bool {
        if let Some(known) = self.constant_counts[natural_loop] {
            return known;
        }
        let has_one = counts_constants(function, self.flow, natural_loop);
        self.constant_counts[natural_loop] = Some(has_one);
        has_one
    }

    /// Sets the blocks that a value stays live into, or out of in the case of its own, for uses in
    /// blocks.
    fn find_where_it_stays(&mut self, home: Block, mut pending: Vec<Block>) {
        while let Some(block) = pending.pop() {
            if self.stays.insert(block) && block != home {
                pending.extend_from_slice(self.flow.graph.predecessors(block));
            }
        }
    }

    /// True if a register is live into or out of a full block in which it does not stay live. A
    /// function may have thousands of either, so the blocks are searched by the register's segments.
    fn lives_in_full_block(&self, register: Register) -> bool {
        let mut segments = self.liveness.range(register).segments().iter();
        segments.any(|segment| {
            let first = self.ends.partition_point(|&end| end <= segment.start);
            let starts_before_end = self.starts.partition_point(|&start| start < segment.end);
            (first..starts_before_end).any(|number| {
                let enters = self.starts[number] >= segment.start;
                let leaves = self.ends[number] <= segment.end;
                (enters || leaves) && !self.stays.contains(self.full[number])
            })
        })
    }

    /// True if an instruction, or a use of its result, decides whether a loop ends or steps its
    /// counter: ptxas recognises a loop by these.
    fn controls_loop(&self, function: &Function, user: Instruction) -> bool {
        let loops = &self.flow.loops;
        let ends_loop = |branch: Instruction| {
            function.operation(branch) != Operation::Bra
                || function.block_of(branch).is_some_and(|block| {
                    let mut next = function.successors(block);
                    let inner = loops.innermost(block);
                    inner.is_some_and(|inner| next.any(|next| !loops.contains(inner, next)))
                })
        };
        let is_control = |instruction: Instruction| match function.operation(instruction) {
            Operation::Phi => function
                .block_of(instruction)
                .is_some_and(|block| loops.is_header(block)),
            Operation::Isetp => each_use_of_results(function, instruction).any(ends_loop),
            _ => false,
        };
        is_control(user) || each_use_of_results(function, user).any(is_control)
    }
}

/// True if a loop counts from a constant to a constant. ptxas unrolls such a loop as a whole if
/// it is not too large, which copies may make it.
fn counts_constants(function: &Function, flow: &ControlFlow, natural_loop: Loop) -> bool {
    let loops = &flow.loops;
    let header = loops.header(natural_loop);
    let starts_constant = |phi: Instruction| {
        let sources: SmallVec<[_; 4]> = function.sources(phi).iter().collect();
        let mut pairs = sources.chunks(2);
        pairs.any(|pair| match pair[1].kind() {
            OperandKind::Target(from) => {
                !loops.contains(natural_loop, from) && is_constant(function, pair[0])
            }
            _ => false,
        })
    };
    let is_counter = |register: Register| {
        let mut definition = function.unique_definition(register);
        if let Some(sum) = definition.filter(|&it| function.operation(it) == Operation::Iadd) {
            let mut sources = function.sources(sum).iter();
            let counter = sources.find_map(|source| source.as_register());
            definition = counter.and_then(|counter| function.unique_definition(counter));
        }
        definition.is_some_and(|phi| {
            function.operation(phi) == Operation::Phi
                && function.block_of(phi) == Some(header)
                && starts_constant(phi)
        })
    };
    let mut exits = loops.exit_edges(&flow.graph, natural_loop);
    exits.any(|(block, _)| {
        let branch = function.terminator(block);
        let predicate = branch.and_then(|branch| {
            let mut sources = function.sources(branch).iter();
            sources.find_map(|source| source.as_register())
        });
        let comparison = predicate.and_then(|predicate| function.unique_definition(predicate));
        let comparison = comparison.filter(|&it| function.operation(it) == Operation::Isetp);
        comparison.is_some_and(|comparison| {
            let (left, right) = (function.source(comparison, 0), function.source(comparison, 1));
            left.as_register().is_some_and(is_counter) && is_constant(function, right)
        })
    })
}

/// True if an operand is a number, or a register that holds one.
fn is_constant(function: &Function, operand: Operand) -> bool {
    let is_number = |operand: Operand| {
        matches!(
            operand.kind(),
            OperandKind::Immediate(_) | OperandKind::Constant(_)
        )
    };
    let definition = operand
        .as_register()
        .and_then(|register| function.unique_definition(register));
    is_number(operand)
        || definition.is_some_and(|definition| {
            function.operation(definition) == Operation::Mov && is_number(function.source(definition, 0))
        })
}

/// Returns the instructions that use a result of another.
fn each_use_of_results(
    function: &Function,
    instruction: Instruction,
) -> impl Iterator<Item = Instruction> + '_ {
    let results = function.results(instruction).iter();
    let registers = results.filter_map(|result| result.as_register());
    registers.flat_map(|register| function.uses(register).map(|(user, _)| user))
}

/// Recomputes a value in a block before the first of its users there, for all of them.
fn compute_again(function: &mut Function, order: Order<'_>, trial: &mut Trial, place: &Place) {
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
