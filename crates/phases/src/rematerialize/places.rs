//! Where values are recomputed.

use super::availability::Availability;
use super::expression::Expression;
use super::full_blocks::FullBlocks;
use super::live_blocks::{LiveBlocks, block_of_use};
use super::loop_control::{controls_loop, counts_constants};
use super::shared::{Candidate, shared_operands};
use crate::instruction_order::Weights;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, Register, SecondaryMap};
use oriel_engine::graph::Loop;
use oriel_ori::{ControlFlow, Function, Instruction, Liveness, Operation};
use smallvec::SmallVec;

/// The most registers that a thread can have.
const MOST_REGISTERS: u32 = 255;

/// Instructions, each with the number of a source.
type Users = SmallVec<[(Instruction, usize); 2]>;

/// The uses of a value outside its block. Kept from value to value to save allocations.
#[derive(Default)]
struct Uses {
    /// The uses that a copy can serve, by block.
    served: Vec<(Block, Instruction, usize)>,
    /// The blocks of the other uses.
    kept: Vec<Block>,
}

/// A block in which a value should be recomputed.
pub(super) struct Place {
    pub block: Block,
    /// The uses that get the copy.
    pub users: Users,
    pub expression: Expression,
}

/// Finds the places where values should be recomputed. Liveness and the full blocks are those
/// before the phase; the uses are the current ones.
pub(super) struct PlaceSearch<'a> {
    flow: &'a ControlFlow,
    available: Availability<'a>,
    full: &'a FullBlocks,
    /// Whether a value may be recomputed in a deeper loop than its definition.
    may_enter_loops: bool,
    uses: Uses,
    /// Where a value stays live.
    stays: LiveBlocks<'a>,
    /// Whether each loop [counts from a constant to a constant](counts_constants), once that
    /// was asked: a loop may have thousands of blocks.
    constant_counts: SecondaryMap<Loop, Option<bool>>,
}

impl<'a> PlaceSearch<'a> {
    /// Creates a search in a function with this peak of which these blocks are full.
    pub fn new(
        function: &Function,
        flow: &'a ControlFlow,
        liveness: &'a Liveness,
        units: &'a Weights,
        full: &'a FullBlocks,
        peak: u32,
        asynchronous: &'a EntityBitSet<Register>,
    ) -> Self {
        let asynchronous = (!asynchronous.is_empty()).then_some(asynchronous);
        Self {
            flow,
            // ptxas unrolls a small loop with `wgmma`, but not with a copy in it.
            may_enter_loops: asynchronous.is_none() || peak > MOST_REGISTERS,
            full,
            available: Availability {
                liveness,
                units,
                shared: EntityBitSet::with_room(function.register_limit()),
                asynchronous,
            },
            uses: Uses::default(),
            stays: LiveBlocks::new(function, flow),
            constant_counts: SecondaryMap::new(),
        }
    }

    /// Returns the cheap values that live in a full block, and finds the operands that they share.
    /// Users of a value come before it, so that a chain is recomputed from its end.
    pub fn candidates(&mut self, function: &Function) -> Vec<Candidate> {
        self.stays.clear();
        let registers = function.registers().rev();
        let candidates = registers.filter_map(|register| {
            if self.available.units.get(register) == 0 {
                return None;
            }
            let definition = function.unique_definition(register)?;
            let is_candidate = !self.lives_in_one_block(function, register, definition)
                && self.available.is_cheap(function, definition)
                && self.lives_in_full_block(register);
            is_candidate.then_some(Candidate { register, definition })
        });
        let candidates: Vec<Candidate> = candidates.collect();
        self.available.shared = shared_operands(function, self.available.units, &candidates);
        candidates
    }

    /// Returns the places where a value should be recomputed, or none if it should be nowhere.
    pub fn places(&mut self, function: &Function, candidate: Candidate) -> Option<Vec<Place>> {
        let Candidate { register, definition } = candidate;
        let home = function.block_of(definition)?;
        if self.available.shared.contains(register) {
            return None;
        }
        let mut uses = std::mem::take(&mut self.uses);
        let places = self.find_uses(function, register, home, &mut uses).then(|| {
            let mut places = self.possible_places(function, definition, home, &mut uses);
            if !places.is_empty() {
                self.stays.find(home, uses.kept.drain(..));
                places.retain(|place| !self.stays.contains(place.block));
            }
            places
        });
        self.uses = uses;
        places.filter(|places| !places.is_empty() && self.lives_in_full_block(register))
    }

    /// Returns the blocks in which a value can be recomputed for its uses there. The other blocks join
    /// those of the uses that no copy can serve.
    fn possible_places(
        &mut self,
        function: &Function,
        definition: Instruction,
        home: Block,
        uses: &mut Uses,
    ) -> Vec<Place> {
        let Uses { served, kept } = uses;
        kept.sort_unstable();
        let uses_kept = kept.len();
        let mut places: Vec<Place> = Vec::new();
        for uses in served.chunk_by(|one, other| one.0 == other.0) {
            let block = uses[0].0;
            let may_enter =
                self.may_enter(function, block, home) && kept[..uses_kept].binary_search(&block).is_err();
            let expression = may_enter.then(|| Expression::of(function, &self.available, definition, block));
            match expression.flatten() {
                Some(expression) => places.push(Place {
                    block,
                    users: uses.iter().map(|&(_, user, number)| (user, number)).collect(),
                    expression,
                }),
                None => kept.push(block),
            }
        }
        places
    }

    /// Finds the uses of a value outside its block, by block. False if it has an unusual use.
    fn find_uses(&self, function: &Function, register: Register, home: Block, uses: &mut Uses) -> bool {
        let Uses { served, kept } = uses;
        served.clear();
        kept.clear();
        for (user, number) in function.uses(register) {
            if function.operation(user).is_debug() || function.source(user, number).is_undefined() {
                continue;
            }
            let Some(block) = block_of_use(function, user, number) else {
                return false;
            };
            let is_phi = function.operation(user) == Operation::Phi;
            if is_phi || (block != home && controls_loop(function, &self.flow.loops, user)) {
                kept.push(block);
                continue;
            }
            if block == home {
                continue;
            }
            served.push((block, user, number));
        }
        // Stable, so that the uses of a block keep their order.
        served.sort_by_key(|&(block, ..)| block);
        true
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
        self.may_enter_loops && self.full.contains(block) && !self.has_constant_count(function, inner)
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

    /// True if a register is not live across any block boundary. This is a quick test, and true for
    /// most registers.
    fn lives_in_one_block(&self, function: &Function, register: Register, definition: Instruction) -> bool {
        let liveness = self.available.liveness;
        let ([segment], Some(home)) = (liveness.segments(register), function.block_of(definition)) else {
            return false;
        };
        let (start, end) = liveness.block_range(home);
        start < segment.start && segment.end < end
    }

    /// True if a register is live into or out of a full block in which it does not stay live.
    fn lives_in_full_block(&self, register: Register) -> bool {
        let mut segments = self.available.liveness.segments(register).iter();
        segments.any(|segment| {
            let mut blocks = self.full.entered_or_left(segment);
            blocks.any(|block| !self.stays.contains(block))
        })
    }
}
