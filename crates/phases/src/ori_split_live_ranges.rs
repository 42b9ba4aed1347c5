//! OriSplitLiveRanges (phase 19): splits live ranges where the pressure is too high.
//!
//! ```text
//! bix0: %1 = LD.param [&k_param_1]       bix0: ...
//!       ...                              bix1: (32 values live)
//! bix1: (33 values live)           ─▶          BRA %p, bix1, fall bix2
//!       BRA %p, bix1, fall bix2          bix2: %9 = LD.param [&k_param_1]
//! bix2: ST %0, [%1]                            ST %0, [%9]
//! ```
//!
//! A register is split if its value is cheap to recompute: a constant, an address, a special
//! register, a kernel's parameter; a copy, which its source replaces; and in phase 138 also cheap
//! arithmetic on registers that are live anyway. Its range is cut at every point with more live
//! units than the budget allows. Behind such a point the value is recomputed before its first use,
//! or before the loop that contains the use, if the pressure in the loop is low enough.
//!
//! Requires: nothing. Preserves: the peak pressure does not rise; a round is kept only if it
//! lowers the peak or the number of points above the budget. In SSA form every new register has one
//! definition before its uses.
//!
//! The five steps are the reference's (`sub_BEF110`), with these departures:
//!
//! - The reference splits by copies. A copy takes the register that it frees, as both hold one
//!   value, so it cannot lower the pressure with virtual registers. Here the value is recomputed,
//!   and a copy is replaced by its source.
//! - Its kill, gen and live-through sets are sets of registers for each block. The question that
//!   decides is where a range passes without a use, so here they are sets of blocks, computed for
//!   one register at a time.
//! - Its interference table lists overlapping ranges. Here it counts, for each register and the
//!   sources of its definition, at how many of its split points the source is live. Recomputation
//!   costs no pressure only if that is all of them.
//! - It changes opcodes in its cleanup; here definitions without uses are removed.
//!
//! **Off by default**: at the default budget it changes 4 of 162 functions of the examples and of
//! kernels written for it, lowering the sum of their peaks from 401 to 389 units, and ptxas gives
//! all of them as many registers and instructions as before. With a budget and limit of 32
//! registers 2 of 14 changed functions get 2 registers less each. `docs/live-range-splitting.md`
//! has all figures.

mod candidate;
mod range;
mod work;

use super::knobs::Knob;
use super::never_worse::{MOST_ADDED_PERCENT, weighted_instructions};
use super::shared::basic_blocks::{RebuildMode, rebuild_basic_blocks};
use super::shared::expressions::single_valued;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use candidate::{Kind, classify};
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};
use oriel_engine::graph::Loop;
use oriel_ori::{
    ControlFlow, Function, Instruction, InstructionBuilder, Liveness, Operation, Point, Position,
    RegisterSets, each_point, units_of,
};
use range::Range;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::rc::Rc;
use work::{BlockRecords, InterferenceTable, RequestId, Requests};

/// How aggressively a phase splits.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitSettings {
    /// Units of data registers that may be live at once.
    pub budget: u32,
    /// True if arithmetic is repeated.
    pub repeats_arithmetic: bool,
    /// True if a value may be recomputed in a deeper loop than its definition.
    pub enters_loops: bool,
    /// The most passes over the whole function.
    pub rounds: u32,
}

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    if !context.options.knobs.is_on(Knob::OriSplitLiveRanges) {
        return PhaseResult::Unchanged;
    }
    let settings = SplitSettings {
        budget: context.options.register_budget,
        repeats_arithmetic: false,
        enters_loops: false,
        rounds: 2,
    };
    split(function, context, settings)
}

/// Splits until the pressure fits the budget or nothing more can be gained.
pub(super) fn split(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    settings: SplitSettings,
) -> PhaseResult {
    let mut analysis = PreAnalysis::of_present(function, context, settings.budget);
    let peak_before = analysis.pressure.peak;
    context.count("peak-before", u64::from(peak_before));
    let weight_before = weight_of(function, context);
    let mut changed = false;
    for _ in 0..settings.rounds {
        if analysis.pressure.peak <= settings.budget {
            break;
        }
        let before = function.clone();
        let counts = split_once(function, &analysis, settings);
        if counts.split == 0 {
            break;
        }
        context.keep_only(Analyses::CONTROL_FLOW);
        let next = PreAnalysis::of_present(function, context, settings.budget);
        if next.pressure >= analysis.pressure {
            *function = before;
            context.keep_only(Analyses::CONTROL_FLOW);
            context.count("undone-rounds", 1);
            break;
        }
        changed = true;
        context.count("split-registers", counts.split);
        context.count("new-instructions", counts.made);
        analysis = next;
    }
    let peak_after = analysis.pressure.peak;
    context.count("peak-after", u64::from(peak_after));
    if changed {
        let added = weight_of(function, context) - weight_before;
        context.allow(added.min(weight_before * MOST_ADDED_PERCENT / 100.0));
    }
    say_what_became(function, context, settings.budget, (peak_before, peak_after));
    PhaseResult::of(changed)
}

fn weight_of(function: &Function, context: &mut PhaseContext<'_>) -> f64 {
    let flow = context.control_flow(function);
    weighted_instructions(function, &flow)
}

/// Emits a remark on the change of the pressure.
fn say_what_became(function: &Function, context: &mut PhaseContext<'_>, budget: u32, peak: (u32, u32)) {
    if peak.1 < peak.0 {
        context.remark(RemarkKind::Passed, "LowerPressure", function, None, || {
            format!(
                "at most {} units of data registers are live at once, before {}",
                peak.1, peak.0
            )
        });
    }
    if peak.1 > budget {
        context.remark(RemarkKind::Missed, "HighPressure", function, None, || {
            format!(
                "{} units of data registers are live at once, more than {budget}, and no value that is live there can be \
                 made anew for less",
                peak.1
            )
        });
    }
}

/// The pressure of a function; lower is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pressure {
    /// The most units of data registers live at once.
    peak: u32,
    /// Points that exceed the budget.
    hot_places: usize,
}

/// Step 1: finds where the pressure is too high.
struct PreAnalysis {
    flow: Rc<ControlFlow>,
    liveness: Rc<Liveness>,
    single_valued: EntitySet<Register>,
    /// By instruction: position in the block, from one; zero for PHIs.
    positions: Vec<u32>,
    records: BlockRecords,
    /// Positions where the pressure is too high, by block and in order.
    hot: Vec<u32>,
    /// Loops with such a position.
    hot_loops: EntitySet<Loop>,
    pressure: Pressure,
}

impl PreAnalysis {
    fn of_present(function: &mut Function, context: &mut PhaseContext<'_>, budget: u32) -> Self {
        let (flow, _) = rebuild_basic_blocks(function, RebuildMode::Reset, context);
        let liveness = context.liveness(function);
        Self::new(function, flow, liveness, budget)
    }

    fn new(function: &Function, flow: Rc<ControlFlow>, liveness: Rc<Liveness>, budget: u32) -> Self {
        let mut analysis = Self {
            single_valued: single_valued(function, &liveness),
            positions: positions(function),
            records: BlockRecords::new(),
            hot: Vec::new(),
            hot_loops: EntitySet::new(),
            pressure: Pressure::default(),
            flow,
            liveness,
        };
        let mut sets = RegisterSets::new(function, &analysis.liveness, None);
        for &block in function.blocks() {
            let record = &mut analysis.records[block];
            record.first_hot = analysis.hot.len() as u32;
            let mut highest = 0;
            each_point(&mut sets, block, |point, units, _| {
                let position = match point {
                    Point::Start(_) => 0,
                    Point::At(instruction) => analysis.positions[instruction.index()],
                };
                let is_known = analysis.hot[record.first_hot as usize..].last() == Some(&position);
                if units.data() > budget && !is_known {
                    analysis.hot.push(position);
                }
                if units.data() > highest {
                    (highest, record.peak_position) = (units.data(), position);
                }
            });
            analysis.hot[record.first_hot as usize..].reverse();
            record.hot_count = analysis.hot.len() as u32 - record.first_hot;
            record.excess = highest.saturating_sub(budget);
            analysis.pressure.peak = analysis.pressure.peak.max(highest);
        }
        analysis.pressure.hot_places = analysis.hot.len();
        analysis.mark_hot_loops(function);
        analysis
    }

    fn mark_hot_loops(&mut self, function: &Function) {
        for &block in function.blocks() {
            let mut next = self.flow.loops.innermost(block);
            while let Some(inner) = next.filter(|_| self.records[block].hot_count > 0) {
                self.hot_loops.insert(inner);
                next = self.flow.loops.parent(inner);
            }
        }
    }

    /// True if the pressure is too high somewhere between two positions of a block, the second
    /// excluded.
    fn is_hot(&self, block: Block, from: u32, to: u32) -> bool {
        let record = &self.records[block];
        let first = record.first_hot as usize;
        let hot = &self.hot[first..first + record.hot_count as usize];
        hot.get(hot.partition_point(|&position| position < from))
            .is_some_and(|&position| position < to)
    }

    /// Returns the outermost loop around a block with sufficiently low pressure that does not
    /// contain the definition, and the block before it.
    fn cool_loop(&self, block: Block, home: Block) -> Option<(Loop, Block)> {
        let loops = &self.flow.loops;
        let is_cool = |inner: Loop| !self.hot_loops.contains(inner) && !loops.contains(inner, home);
        let mut found = None;
        let mut next = loops.innermost(block).filter(|&inner| is_cool(inner));
        while let Some(inner) = next {
            if let Some(before) = loops.preheader(&self.flow.graph, inner) {
                found = Some((inner, before));
            }
            next = loops.parent(inner).filter(|&outer| is_cool(outer));
        }
        found
    }
}

fn positions(function: &Function) -> Vec<u32> {
    let mut positions = vec![0; function.instruction_limit()];
    for &block in function.blocks() {
        let mut position = 0;
        for instruction in function.instructions(block) {
            position += u32::from(function.operation(instruction) != Operation::Phi);
            positions[instruction.index()] = position;
        }
    }
    positions
}

/// A register that can be split.
struct Candidate {
    register: Register,
    definition: Instruction,
    kind: Kind,
    requests: Vec<RequestId>,
    /// Blocks whose peak is lower if the register is split.
    relieved: Vec<Block>,
}

/// The result of a pass over the function.
struct SplitCounts {
    /// Registers split.
    split: u64,
    /// Instructions made.
    made: u64,
}

/// Steps 2 to 5: one pass over the function.
fn split_once(function: &mut Function, analysis: &PreAnalysis, settings: SplitSettings) -> SplitCounts {
    let mut search = Search::new(analysis);
    let mut candidates = Vec::new();
    for register in function.registers().rev() {
        candidates.extend(search.candidate(function, register, settings));
    }
    let interferences = search.count_interferences(function, &candidates);
    let Search {
        mut records,
        requests,
        ..
    } = search;
    let mut counts = SplitCounts { split: 0, made: 0 };
    let mut is_split = EntitySet::with_capacity(function.register_limit());
    let mut is_needed = EntitySet::with_capacity(function.register_limit());
    for candidate in &candidates {
        let needs = candidate.kind.needs();
        let are_live = needs.iter().all(|&source| {
            let count = interferences.count(candidate.register, source);
            count as usize == candidate.requests.len() && !is_split.contains(source)
        });
        let relieves = |&block: &Block| records[block].excess > 0;
        let helps = candidate.relieved.iter().any(relieves);
        if !are_live || !helps || is_needed.contains(candidate.register) {
            continue;
        }
        let units = units_of(function, candidate.register);
        for &block in &candidate.relieved {
            records[block].excess = records[block].excess.saturating_sub(units);
        }
        counts.split += 1;
        counts.made += emit(function, candidate, &requests);
        is_split.insert(candidate.register);
        is_needed.extend(needs.iter().copied());
    }
    for candidate in &candidates {
        if is_split.contains(candidate.register) && function.is_unused(candidate.register) {
            function.remove(candidate.definition);
        }
    }
    counts
}

/// Recomputes the value of a register at its requests. Returns how many instructions that took.
fn emit(function: &mut Function, candidate: &Candidate, requests: &Requests) -> u64 {
    let mut made = 0;
    for &request in &candidate.requests {
        let request = requests.get(request);
        let register = match candidate.kind {
            Kind::Chain(root) => root,
            Kind::Move | Kind::MultiOperand(_) => {
                made += 1;
                let register = function.create_register_like(candidate.register);
                let result = function.register_operand(register);
                let copy = InstructionBuilder::copy_of(function, candidate.definition).result(result);
                function.insert(Position::Before(request.before), copy);
                register
            }
        };
        for &(user, number) in &request.uses {
            // The root of a chain may be a register that inline assembly writes before it reads
            // this one.
            if function.may_write_early(user, register) {
                continue;
            }
            let source = function.source(user, number).with_register(register);
            function.set_source(user, number, source);
        }
    }
    made
}

/// Steps 2 and 3: work structures, and the split requests of registers.
struct Search<'a> {
    analysis: &'a PreAnalysis,
    records: BlockRecords,
    requests: Requests,
    range: Range,
}

impl<'a> Search<'a> {
    fn new(analysis: &'a PreAnalysis) -> Self {
        Self {
            analysis,
            records: analysis.records.clone(),
            requests: Requests::default(),
            range: Range::default(),
        }
    }

    /// Makes the requests for splitting a register; none if it cannot be split, or if that would
    /// not help.
    fn candidate(
        &mut self,
        function: &Function,
        register: Register,
        settings: SplitSettings,
    ) -> Option<Candidate> {
        let analysis = self.analysis;
        let kind = classify(function, &analysis.single_valued, register)?;
        if matches!(kind, Kind::MultiOperand(_)) && !settings.repeats_arithmetic {
            return None;
        }
        let definition = function.unique_definition(register)?;
        let home = function.block_of(definition)?;
        self.range
            .compute(function, &analysis.flow, &analysis.positions, register);
        let is_hot = |block, from| analysis.is_hot(block, from, u32::MAX);
        let crossed = self.range.crossed(&analysis.flow, is_hot);
        let mut points = RecomputePoints::default();
        for &block in self.range.blocks() {
            points.add_block(function, analysis, &self.range, block, crossed.contains(block));
        }
        let depth = |block: Block| analysis.flow.loops.depth_of(block);
        let is_deeper = |group: &Group| depth(group.block) > depth(home);
        if points.relieved.is_empty() || (!settings.enters_loops && points.groups.iter().any(is_deeper)) {
            return None;
        }
        let mut requests = Vec::with_capacity(points.groups.len());
        for group in points.groups {
            let record = &mut self.records[group.block];
            requests.push(self.requests.add(record, register, group.before, group.uses));
        }
        Some(Candidate {
            register,
            definition,
            kind,
            requests,
            relieved: points.relieved,
        })
    }

    /// Step 4: counts at which requests the registers needed for recomputation are live.
    fn count_interferences(&self, function: &Function, candidates: &[Candidate]) -> InterferenceTable {
        let with_needs = candidates
            .iter()
            .filter(|candidate| !candidate.kind.needs().is_empty());
        let needs: HashMap<Register, &[Register]> = with_needs
            .map(|candidate| (candidate.register, candidate.kind.needs()))
            .collect();
        let mut table = InterferenceTable::with_room(needs.len());
        let mut sets = RegisterSets::new(function, &self.analysis.liveness, None);
        for &block in function.blocks() {
            let record = &self.records[block];
            if record.count == 0 {
                continue;
            }
            let mut waiting: HashMap<Instruction, Vec<Register>> = HashMap::new();
            for request in self.requests.of_block(record) {
                if needs.contains_key(&request.register) {
                    waiting.entry(request.before).or_default().push(request.register);
                }
            }
            sets.enter_end(block);
            for instruction in function.instructions(block).rev() {
                sets.step_back(instruction);
                for &register in waiting.get(&instruction).into_iter().flatten() {
                    let live = needs[&register].iter().filter(|&&source| sets.contains(source));
                    live.for_each(|&source| table.add(register, source));
                }
            }
        }
        table
    }
}

/// Uses that share a recomputed value.
struct Group {
    block: Block,
    before: Instruction,
    uses: SmallVec<[(Instruction, usize); 2]>,
}

/// The points at which a register's value is recomputed.
#[derive(Default)]
struct RecomputePoints {
    groups: Vec<Group>,
    /// The group of a loop whose uses share a value recomputed before it.
    of_loops: HashMap<Loop, usize>,
    relieved: Vec<Block>,
}

impl RecomputePoints {
    /// Visits a block in which a register is live; `is_crossed`: its value no longer reaches the
    /// block.
    fn add_block(
        &mut self,
        function: &Function,
        analysis: &PreAnalysis,
        range: &Range,
        block: Block,
        is_crossed: bool,
    ) {
        let record = &analysis.records[block];
        if range.is_live_through(block) {
            if record.excess > 0 {
                self.relieved.push(block);
            }
            return;
        }
        let peak = record.peak_position;
        let mut relieved = false;
        // The value is accounted for up to here, and comes from this group; none: from the
        // definition.
        let mut from = if range.is_home(block) {
            range.definition_position + 1
        } else {
            0
        };
        let mut group: Option<usize> = None;
        let mut has_value = !is_crossed;
        for place in range.uses(block) {
            if !has_value || analysis.is_hot(block, from, place.position) {
                relieved |= (from..place.position).contains(&peak);
                group = Some(
                    match analysis.cool_loop(block, range.home()).filter(|_| !has_value) {
                        Some((inner, before)) => self.group_of_loop(function, inner, before),
                        None => self.new_group(block, place.before),
                    },
                );
                has_value = true;
            }
            if let Some(group) = group {
                self.groups[group].uses.push((place.user, place.number));
            }
            from = place.position;
        }
        if range.is_live_out(block) && analysis.is_hot(block, from, u32::MAX) {
            relieved |= peak >= from;
        }
        if relieved && record.excess > 0 {
            self.relieved.push(block);
        }
    }

    fn new_group(&mut self, block: Block, before: Instruction) -> usize {
        self.groups.push(Group {
            block,
            before,
            uses: SmallVec::new(),
        });
        self.groups.len() - 1
    }

    /// Returns the group whose value is recomputed at the end of the block before a loop.
    fn group_of_loop(&mut self, function: &Function, inner: Loop, before: Block) -> usize {
        if let Some(&group) = self.of_loops.get(&inner) {
            return group;
        }
        let end = function
            .terminator(before)
            .expect("the block before a loop leads to it");
        let group = self.new_group(before, end);
        self.of_loops.insert(inner, group);
        group
    }
}

#[cfg(test)]
mod tests;
