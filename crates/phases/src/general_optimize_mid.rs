//! GeneralOptimizeMid (phase 37): promotes stack objects to registers.
//!
//! ```text
//! bix0: ST.local.b32 0, [frame(0)]             bix0: %4 = MOV 0
//!       BRA fall bix1                                BRA fall bix1
//! bix1: %1 = LD.local.b32 [frame(0)]           bix1: %1 = PHI %4, bix0, %2, bix1
//!       %2 = IADD %1, 1                 ─▶           %2 = IADD %1, 1
//!       ST.local.b32 %2, [frame(0)]                  %3 = ISETP.lt %2, %7
//!       %3 = ISETP.lt %2, %7                         BRA %3, bix1, fall bix2
//!       BRA %3, bix1, fall bix2
//! ```
//!
//! The reference also calls the conversion `ConvertMemoryToRegisterOrUniform`, and the phase
//! accepts that name, too. LLVM's pass of this kind, SROA, runs before calls are lowered. At that
//! point structures passed by value have an address. Only after instruction selection are their
//! uses known to be loads into the parameter's space. So the objects that this phase finds in
//! LLVM's code are mostly such copies, and objects that are in memory only because another object
//! holds their address.
//!
//! **Candidates** (`memory_to_register`) are objects whose address is used only by loads and stores
//! at constant offsets, split into the pieces that are accessed as one. Pointers stored in a
//! promoted object are known afterwards, so there are several rounds. Arrays of at most
//! `ConvertMemoryToRegIndexedSizeLimit` bytes (knob 135) may have an index: each access is first
//! replaced by an access for each element. Such arrays come last, one in each round.
//!
//! **Costs**: a load, a store and an address cost one each. They are compared with the costs of the
//! instructions that remain after promotion: a PHI or a constant's move (a cost-exempt class) costs
//! `MovWeightForConvertMemToReg`, or one if the piece is loaded more than four times; an extension
//! costs one, an undefined value nothing. All costs are weighted by block frequency. An object is
//! promoted if the costs afterwards are at most `ConvertMemToRegCostRatio` of those before. Rounds
//! end when none is promoted, or when a round saved less than the weight of a move.
//!
//! **Registers**: the promotion is tried on a copy of the function. If a block then exceeds the
//! budget, and exceeds its previous pressure, the object with most registers there stays in memory,
//! and the rest is tried again.
//!
//! Requires: SSA form. Preserves: control flow. Debug information does not influence the decision;
//! a variable in a promoted object has no location afterwards.
//!
//! Departures from the reference. It gives formula and thresholds of the costs, but not the
//! quantities: instructions by frequency were chosen. Its uniform half puts values that all threads
//! of a warp load into uniform registers: PTX has none, and ptxas finds those values itself, so
//! nothing is done and nothing counted for it. Its bit vectors correspond to `Joins::live_in`
//! (liveness by block), the joins (reaching definitions) and the set of objects that stay
//! (eligibility). Knob 135 has two meanings in the reference, another cost threshold and a size
//! limit for indexed arrays: here arrays up to that size are promoted regardless of costs, and none
//! without it.

use super::knobs::Knob;
use super::memory_to_register::{
    Access, FrameObjects, NoPieces, Piece, Promotion, RewriteCounts, expand, find_pieces,
    has_too_many_positions, pieces_of, promote,
};
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::entity::{Block, EntitySet, FrameObject};
use oriel_ori::analysis::{BlockWeights, PressureMap};
use oriel_ori::{ControlFlow, Function, Instruction, JoinPlacer, Liveness, Operand, Operation};
use std::rc::Rc;

/// The most rounds. Each except the last promotes an object.
const ROUND_LIMIT: u32 = 16;

/// The most copies of the function tried in a round; if the last exceeds the budget, nothing is
/// promoted.
const TRIAL_LIMIT: u32 = 8;

/// A piece with more loads than this pays in full for moves.
const USE_GATE: u32 = 4;

/// The maximum of knob 135: each access of an object considers all of its elements.
const MOST_INDEXED_BYTES: i64 = 4096;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    if own_objects(function).next().is_none() || !context.options.knobs.is_on(Knob::GeneralOptimize) {
        return PhaseResult::Unchanged;
    }
    // A PHI has no value for the function's entry, so a variable cannot be live around a loop back
    // to it.
    let flow = context.control_flow(function);
    if !flow.graph.predecessors(function.entry()).is_empty() {
        return PhaseResult::Unchanged;
    }
    let mut conversion = Conversion::new(context, BlockWeights::compute(function, &flow));
    let (stop, objects) = loop {
        if conversion.rounds == ROUND_LIMIT {
            break ("stopped-at-limit", conversion.objects_of(function));
        }
        conversion.rounds += 1;
        let flow = context.control_flow(function);
        let objects = conversion.objects_of(function);
        match conversion.round(function, context, &objects, &flow) {
            None => break ("stopped-without-candidates", objects),
            Some(saved) if saved < conversion.costs.move_weight => {
                break ("stopped-converged", conversion.objects_of(function));
            }
            Some(_) => {}
        }
    };
    context.count(stop, 1);
    conversion.explain_obstacles(function, context, &objects);
    conversion.finish(context)
}

/// Returns the objects whose contents belong to the function.
fn own_objects(function: &Function) -> impl Iterator<Item = FrameObject> + '_ {
    let objects = function.stack_objects();
    let own = objects.filter(|(_, data)| !data.is_removed && !data.is_fixed);
    own.map(|(object, _)| object)
}

/// The costs of instructions, by the knobs.
#[derive(Debug)]
struct CostModel {
    /// Block frequencies.
    weights: BlockWeights,
    /// The cost of an instruction of a cost-exempt class.
    move_weight: f64,
    /// The share of the costs that promotion may leave.
    ratio: f64,
}

/// Costs before and after a promotion.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    before: f64,
    after: f64,
}

/// Why an object stays in memory.
#[derive(Debug)]
struct Refusal {
    counter: &'static str,
    at: Option<Instruction>,
    why: String,
}

impl Refusal {
    fn new(counter: &'static str, why: &str) -> Self {
        Self {
            counter,
            at: None,
            why: why.to_owned(),
        }
    }

    /// The object has more pieces than one may have.
    fn large() -> Self {
        Self::new("large-object", "it has too many parts")
    }
}

/// A function whose objects should be promoted.
struct Attempt<'a> {
    function: &'a Function,
    objects: &'a FrameObjects,
    flow: &'a Rc<ControlFlow>,
    /// The pressure of its blocks before.
    pressure: PressureMap,
}

/// A function with objects promoted.
struct Promoted {
    function: Function,
    objects: Vec<(Promotion, Cost)>,
    counts: RewriteCounts,
}

/// The state between rounds.
struct Conversion {
    costs: CostModel,
    /// Limit in bytes for an object with an index.
    indexed_limit: u64,
    /// Objects that stay in memory and for which remarks were emitted.
    refused: EntitySet<FrameObject>,
    rounds: u32,
    promoted: u64,
    /// How many of the promoted objects had an index.
    indexed: u64,
    /// The number of selections created for them.
    selections: u64,
    pieces: u64,
    counts: RewriteCounts,
}

impl Conversion {
    fn new(context: &PhaseContext<'_>, weights: BlockWeights) -> Self {
        let knobs = &context.options.knobs;
        Self {
            costs: CostModel {
                weights,
                move_weight: knobs.double(Knob::MovWeightForConvertMemToReg),
                ratio: knobs.double(Knob::ConvertMemToRegCostRatio),
            },
            indexed_limit: knobs
                .integer(Knob::ConvertMemoryToRegIndexedSizeLimit)
                .clamp(0, MOST_INDEXED_BYTES) as u64,
            refused: EntitySet::new(),
            rounds: 0,
            promoted: 0,
            indexed: 0,
            selections: 0,
            pieces: 0,
            counts: RewriteCounts::default(),
        }
    }

    fn objects_of(&self, function: &Function) -> FrameObjects {
        FrameObjects::find(function, self.indexed_limit)
    }

    /// Promotes as much as possible now. Returns the costs saved, or none if nothing was promoted.
    fn round(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        objects: &FrameObjects,
        flow: &Rc<ControlFlow>,
    ) -> Option<f64> {
        let candidates = self.candidates(function, context, objects, flow);
        if !candidates.is_empty() {
            let attempt = Attempt {
                function,
                objects,
                flow,
                pressure: context.pressure_map(function),
            };
            if let Some(promoted) = self.promote_within_budget(&attempt, context, candidates) {
                return Some(self.accept(function, context, promoted));
            }
        }
        let indexed: Vec<FrameObject> = own_objects(function)
            .filter(|&object| objects.of(object).obstacle.is_none() && objects.of(object).is_indexed())
            .filter(|&object| !self.refused.contains(object))
            .collect();
        indexed
            .into_iter()
            .find_map(|object| self.promote_indexed(function, context, objects, object, flow))
    }

    /// Promotes an object with an index, if its elements can be distinguished and there are
    /// registers for them. Returns the cost of its accesses.
    fn promote_indexed(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        objects: &FrameObjects,
        object: FrameObject,
        flow: &Rc<ControlFlow>,
    ) -> Option<f64> {
        let found = objects.of(object);
        if has_too_many_positions(function, object, found) {
            self.refuse(function, context, object, Refusal::large());
            return None;
        }
        let mut expanded = function.clone();
        let selections = expand(&mut expanded, object, found);
        let objects = FrameObjects::find(&expanded, 0);
        let pieces = match pieces_of_object(&expanded, &objects, object) {
            Ok(pieces) => pieces,
            Err(refusal) => {
                self.refuse(&expanded, context, object, refusal);
                return None;
            }
        };
        let accesses = found.accesses.iter();
        // The size limit replaces that of costs, so the cost of the selections is not considered.
        let cost = Cost {
            before: accesses
                .map(|access| self.costs.weight_at(function, access.instruction))
                .sum(),
            after: 0.0,
        };
        let promotion = Promotion::plan(&expanded, &objects, object, pieces, &mut JoinPlacer::new(flow));
        let attempt = Attempt {
            function: &expanded,
            objects: &objects,
            flow,
            pressure: context.pressure_map(function),
        };
        let promoted = self.promote_within_budget(&attempt, context, vec![(promotion, cost)])?;
        self.indexed += 1;
        self.selections += selections;
        Some(self.accept(function, context, promoted))
    }

    /// Accepts a promotion. Returns the costs saved.
    fn accept(&mut self, function: &mut Function, context: &mut PhaseContext<'_>, promoted: Promoted) -> f64 {
        *function = promoted.function;
        context.keep_only(Analyses::CONTROL_FLOW);
        self.promoted += promoted.objects.len() as u64;
        for (promotion, _) in &promoted.objects {
            self.pieces += promotion.pieces.len() as u64;
        }
        self.counts.add(promoted.counts);
        let saved = promoted.objects.iter().map(|(_, cost)| cost.before - cost.after);
        saved.sum()
    }

    /// Returns the objects that can and should be promoted, by their costs.
    fn candidates(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        objects: &FrameObjects,
        flow: &ControlFlow,
    ) -> Vec<(Promotion, Cost)> {
        let mut candidates = Vec::new();
        let mut placer: Option<JoinPlacer<'_>> = None;
        for object in own_objects(function) {
            let found = objects.of(object);
            if self.refused.contains(object) || found.obstacle.is_some() || found.is_indexed() {
                continue;
            }
            let placer = placer.get_or_insert_with(|| JoinPlacer::new(flow));
            match self.candidate(function, objects, object, placer) {
                Ok(candidate) => candidates.push(candidate),
                Err(refusal) => self.refuse(function, context, object, refusal),
            }
        }
        candidates
    }

    fn candidate(
        &self,
        function: &Function,
        objects: &FrameObjects,
        object: FrameObject,
        placer: &mut JoinPlacer<'_>,
    ) -> Result<(Promotion, Cost), Refusal> {
        let pieces = pieces_of_object(function, objects, object)?;
        let promotion = Promotion::plan(function, objects, object, pieces, placer);
        let cost = self.costs.of(function, objects, &promotion);
        if cost.after > self.costs.ratio * cost.before {
            return Err(Refusal::new("not-worth-it", "registers would cost as much"));
        }
        Ok((promotion, cost))
    }

    /// Promotes the candidates on a copy of the function, except those without registers.
    fn promote_within_budget(
        &mut self,
        attempt: &Attempt<'_>,
        context: &mut PhaseContext<'_>,
        mut candidates: Vec<(Promotion, Cost)>,
    ) -> Option<Promoted> {
        let &Attempt {
            function,
            objects,
            flow,
            pressure: ref before,
        } = attempt;
        for trial in 1..=TRIAL_LIMIT {
            let promotions: Vec<Promotion> = candidates.iter().map(|(one, _)| one.clone()).collect();
            let mut copy = function.clone();
            let counts = promote(&mut copy, flow, objects, &promotions);
            let liveness = Rc::new(Liveness::compute(&copy, flow));
            let after = PressureMap::new(&copy, Rc::clone(flow), liveness);
            let budget = context.options.register_budget;
            let is_too_full = |&block: &Block| after.highest_in(block) > budget.max(before.highest_in(block));
            let blocks = function.blocks().iter().copied().filter(is_too_full);
            let Some(fullest) = blocks.max_by_key(|&block| after.highest_in(block)) else {
                return Some(Promoted {
                    function: copy,
                    objects: candidates,
                    counts,
                });
            };
            let units_in = |one: &Promotion| units_in(function, objects, one, fullest);
            let most = (0..candidates.len()).max_by_key(|&number| units_in(&candidates[number].0))?;
            let is_hopeless = trial == TRIAL_LIMIT;
            let refused = if is_hopeless {
                0..candidates.len()
            } else {
                most..most + 1
            };
            let peak = after.highest_in(fullest);
            for (one, _) in candidates.drain(refused) {
                let why = format!("{peak} registers would be live in bix{}", function.label(fullest));
                let refusal = Refusal::new("kept-for-pressure", &why);
                self.refuse(function, context, one.object, refusal);
            }
            if candidates.is_empty() {
                break;
            }
        }
        None
    }

    /// Records that an object stays in memory, and why.
    fn refuse(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        object: FrameObject,
        refusal: Refusal,
    ) {
        self.refused.insert(object);
        context.count(refusal.counter, 1);
        context.remark(RemarkKind::Missed, "StackObject", function, refusal.at, || {
            let (number, size) = (object.as_u32(), function.stack_object(object).size);
            format!(
                "stack object {number} of {size} bytes stays in memory: {}",
                refusal.why
            )
        });
    }

    /// Emits remarks on the obstacles to the remaining objects.
    fn explain_obstacles(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        objects: &FrameObjects,
    ) {
        let rest: Vec<FrameObject> = own_objects(function)
            .filter(|&object| !self.refused.contains(object))
            .collect();
        for object in rest {
            if let Some((obstacle, at)) = objects.of(object).obstacle {
                let refusal = Refusal {
                    counter: obstacle.counter(),
                    at: Some(at),
                    why: obstacle.description().to_owned(),
                };
                self.refuse(function, context, object, refusal);
            }
        }
    }

    fn finish(self, context: &mut PhaseContext<'_>) -> PhaseResult {
        let counts = self.counts;
        for (name, amount) in [
            ("rounds", u64::from(self.rounds)),
            ("promoted-pieces", self.pieces),
            ("promoted-indexed", self.indexed),
            ("selections", self.selections),
            ("removed-loads", counts.loads),
            ("removed-stores", counts.stores),
            ("removed-addresses", counts.addresses),
            ("phis", counts.phis),
            ("moved-constants", counts.constants),
            ("conversions", counts.conversions),
            ("undefined-loads", counts.undefined),
        ] {
            context.count(name, amount);
        }
        context.result_of("promoted-objects", self.promoted as usize)
    }
}

/// Returns the pieces of an object without indexed accesses.
fn pieces_of_object(
    function: &Function,
    objects: &FrameObjects,
    object: FrameObject,
) -> Result<Vec<Piece>, Refusal> {
    find_pieces(function, objects.of(object)).map_err(|why| match why {
        NoPieces::Overlap(access) => Refusal {
            at: Some(access),
            ..Refusal::new("partial-overlap", "this access partly overlaps another")
        },
        NoPieces::TooMany => Refusal::large(),
    })
}

impl CostModel {
    /// Returns the costs of an object in memory and in registers.
    fn of(&self, function: &Function, objects: &FrameObjects, promotion: &Promotion) -> Cost {
        let found = objects.of(promotion.object);
        let at = |instruction| self.weight_at(function, instruction);
        let mut cost = Cost::default();
        for &address in &found.addresses {
            cost.before += at(address);
        }
        for access in &found.accesses {
            cost.before += at(access.instruction);
            cost.after += at(access.instruction) * self.left_of(function, access, promotion);
        }
        for (piece, joins) in promotion.pieces.iter().zip(&promotion.joins) {
            let phis = joins
                .joins
                .iter()
                .map(|&block| self.weights.of(block) * self.of_move(piece));
            cost.after += phis.sum::<f64>();
        }
        cost
    }

    /// Returns how often an instruction is executed per execution of the function.
    fn weight_at(&self, function: &Function, instruction: Instruction) -> f64 {
        self.weights
            .of(function.block_of(instruction).expect("it is in a block"))
    }

    /// Returns the cost of a constant's move or a PHI for a piece.
    fn of_move(&self, piece: &Piece) -> f64 {
        if piece.loads > USE_GATE {
            1.0
        } else {
            self.move_weight
        }
    }

    /// Returns the cost that remains of an access.
    fn left_of(&self, function: &Function, access: &Access, promotion: &Promotion) -> f64 {
        let values = access.values(function);
        let elements = access.offsets(function).zip(values);
        let of_element = |(offset, value): (u64, Operand)| {
            let parts = pieces_of(&promotion.pieces, offset, access.element_bytes(function));
            let parts = &promotion.pieces[parts];
            let Some(register) = value.as_register() else {
                return parts.iter().map(|piece| self.of_move(piece)).sum();
            };
            let bits = function.register(register).bits;
            let is_load = function.operation(access.instruction) == Operation::Ld;
            let converts = parts.iter().any(|piece| {
                u32::from(bits) != piece.variable.data_type.bits()
                    || (is_load && u64::from(bits / 8) != piece.bytes)
            });
            f64::from(u8::from(converts))
        };
        elements.map(of_element).sum()
    }
}

/// Returns the most register units that the pieces of an object take in a block.
fn units_in(function: &Function, objects: &FrameObjects, promotion: &Promotion, block: Block) -> u32 {
    let is_accessed = objects
        .of(promotion.object)
        .accesses
        .iter()
        .any(|access| function.block_of(access.instruction) == Some(block));
    let pieces = promotion.pieces.iter().zip(&promotion.joins);
    let live = pieces.filter(|(_, joins)| is_accessed || joins.live_in.contains(block));
    live.map(|(piece, _)| piece.variable.data_type.bits().div_ceil(32))
        .sum()
}
