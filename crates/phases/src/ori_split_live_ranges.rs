//! OriSplitLiveRanges, phase 19: live ranges end where the pressure is too high, and begin again
//! behind it.
//!
//! ```text
//! bix0: %1 = LD.param [&k_param_1]       bix0: ...
//!       ...                              bix1: (32 values live)
//! bix1: (33 values live)           ─▶          BRA %p, bix1, fall bix2
//!       BRA %p, bix1, fall bix2          bix2: %9 = LD.param [&k_param_1]
//! bix2: ST %0, [%1]                            ST %0, [%9]
//! ```
//!
//! A register is split if its value can come again for little: a constant, an address, a register
//! that the hardware keeps, a kernel's parameter; a copy, whose source takes its place; and in
//! phase 138 also cheap arithmetic on registers that are live anyway. Its range is cut at every
//! place where more units are live than the budget allows; where uses follow the value is made anew
//! in front of the first of them, or before the loop they are in, if the pressure in the loop is
//! low enough.
//!
//! What it needs: nothing. What it leaves true: peak pressure is not higher than before; a round
//! that does not lower the peak, or the number of places above the budget, is undone. In SSA form
//! every new register has one definition in front of its uses.
//!
//! The five steps are the reference's (`sub_BEF110`), with these departures:
//!
//! - The reference splits by copies. A copy takes the register that it frees, as both hold one
//!   value, so it cannot lower the pressure of a form whose registers are virtual; here the value
//!   is made anew, and where a copy was, its source is used.
//! - Its kill, gen and live-through sets are sets of registers for each register; the question that
//!   decides is where a range passes without a use, so here they are sets of blocks, and made for
//!   one register at a time.
//! - Its interference table says which ranges overlap; here, for each register and the sources of
//!   its definition, at how many of its split places the source is live. Only if that is all of
//!   them does making it anew cost no pressure.
//! - It changes opcodes in its cleanup, where here definitions without uses go.
//!
//! **Off by default**: at the default budget it changes 4 of 162 functions of the examples and of
//! kernels written for it, their peaks from 401 to 389 units in sum, and ptxas gives all of them as
//! many registers and instructions as before. With a budget and limit of 32 registers 2 of 14
//! changed functions get 2 registers less each. All figures are in `docs/live-range-splitting.md`.

mod candidate;
mod range;
mod work;

use super::basic_blocks::{RebuildMode, rebuild_basic_blocks};
use super::expressions::single_valued;
use super::knobs::Knob;
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

/// How far a phase goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// Units of data registers that may be live at once.
    pub budget: u32,
    /// Is arithmetic done again?
    pub repeats_arithmetic: bool,
    /// True if a value may be made anew in a deeper loop than where it was made first.
    pub enters_loops: bool,
    /// How often the whole function is gone through, at most.
    pub rounds: u32,
}

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    if !context.options.knobs.is_on(Knob::OriSplitLiveRanges) {
        return PhaseResult::Unchanged;
    }
    let policy = Policy {
        budget: context.options.register_budget,
        repeats_arithmetic: false,
        enters_loops: false,
        rounds: 2,
    };
    split(function, context, policy)
}

/// Splits until the pressure fits the budget or nothing more can be gained.
pub(super) fn split(function: &mut Function, context: &mut PhaseContext<'_>, policy: Policy) -> PhaseResult {
    let mut analysis = PreAnalysis::of_present(function, context, policy.budget);
    let peak_before = analysis.pressure.peak;
    context.count("peak-before", u64::from(peak_before));
    let mut changed = false;
    for _ in 0..policy.rounds {
        if analysis.pressure.peak <= policy.budget {
            break;
        }
        let before = function.clone();
        let round = Round::run(function, &analysis, policy);
        if round.split == 0 {
            break;
        }
        context.keep_only(Analyses::CONTROL_FLOW);
        let next = PreAnalysis::of_present(function, context, policy.budget);
        if next.pressure >= analysis.pressure {
            *function = before;
            context.keep_only(Analyses::CONTROL_FLOW);
            context.count("undone-rounds", 1);
            break;
        }
        changed = true;
        context.count("split-registers", round.split);
        context.count("new-instructions", round.made);
        analysis = next;
    }
    let peak_after = analysis.pressure.peak;
    context.count("peak-after", u64::from(peak_after));
    say_what_became(function, context, policy.budget, (peak_before, peak_after));
    PhaseResult::of(changed)
}

/// Says how far the pressure came down.
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

/// How good or bad a function is: lower is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pressure {
    /// The most units of data registers live at once.
    peak: u32,
    /// Places where there are more than the budget.
    hot_places: usize,
}

/// Step 1: where the pressure is too high.
struct PreAnalysis {
    flow: Rc<ControlFlow>,
    liveness: Rc<Liveness>,
    single_valued: EntitySet<Register>,
    /// By instruction: position in the block, from one on; of PHIs zero.
    positions: Vec<u32>,
    records: BlockRecords,
    /// Positions where the pressure is too high, block by block and in order.
    hot: Vec<u32>,
    /// Loops with such a position in them.
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

    /// Returns the outermost loop around a block in which the pressure is low enough, and that does
    /// not contain the definition; and the block before it.
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

/// A register that could be split.
struct Candidate {
    register: Register,
    definition: Instruction,
    kind: Kind,
    requests: Vec<RequestId>,
    /// Blocks whose pressure is lower, where it is highest, when the register is split.
    relieved: Vec<Block>,
}

/// A pass over the function.
struct Round {
    /// Registers split.
    split: u64,
    /// Instructions made.
    made: u64,
}

impl Round {
    /// Steps 2 to 5.
    fn run(function: &mut Function, analysis: &PreAnalysis, policy: Policy) -> Self {
        let mut search = Search::new(analysis);
        let mut candidates = Vec::new();
        for register in function.registers().rev() {
            candidates.extend(search.candidate(function, register, policy));
        }
        let interferences = search.count_interferences(function, &candidates);
        let Search {
            mut records,
            requests,
            ..
        } = search;
        let mut round = Self { split: 0, made: 0 };
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
            round.split += 1;
            round.made += emit(function, candidate, &requests);
            is_split.insert(candidate.register);
            is_needed.extend(needs.iter().copied());
        }
        for candidate in &candidates {
            if is_split.contains(candidate.register) && function.is_unused(candidate.register) {
                function.remove(candidate.definition);
            }
        }
        round
    }
}

/// Makes the value of a register anew where that was asked for; how many instructions that took.
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
            // The root of a chain may be what inline assembly writes before it reads this.
            if function.may_write_early(user, register) {
                continue;
            }
            let source = function.source(user, number).with_register(register);
            function.set_source(user, number, source);
        }
    }
    made
}

/// Steps 2 and 3: work structures, and the requests that the registers make.
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

    /// Asks for all that splitting a register takes; none if it cannot be split, or that would not
    /// help.
    fn candidate(&mut self, function: &Function, register: Register, policy: Policy) -> Option<Candidate> {
        let analysis = self.analysis;
        let kind = classify(function, &analysis.single_valued, register)?;
        if matches!(kind, Kind::MultiOperand(_)) && !policy.repeats_arithmetic {
            return None;
        }
        let definition = function.unique_definition(register)?;
        let home = function.block_of(definition)?;
        self.range
            .compute(function, &analysis.flow, &analysis.positions, register);
        let is_hot = |block, from| analysis.is_hot(block, from, u32::MAX);
        let crossed = self.range.crossed(&analysis.flow, is_hot);
        let mut plan = Plan::default();
        for &block in self.range.blocks() {
            plan.add_block(function, analysis, &self.range, block, crossed.contains(block));
        }
        let depth = |block: Block| analysis.flow.loops.depth_of(block);
        let is_deeper = |group: &Group| depth(group.block) > depth(home);
        if plan.relieved.is_empty() || (!policy.enters_loops && plan.groups.iter().any(is_deeper)) {
            return None;
        }
        let mut requests = Vec::with_capacity(plan.groups.len());
        for group in plan.groups {
            let record = &mut self.records[group.block];
            requests.push(self.requests.add(record, register, group.before, group.uses));
        }
        Some(Candidate {
            register,
            definition,
            kind,
            requests,
            relieved: plan.relieved,
        })
    }

    /// Step 4: where requests are made, are the registers live that making the values anew needs?
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

/// Uses that share one value made anew.
struct Group {
    block: Block,
    before: Instruction,
    uses: SmallVec<[(Instruction, usize); 2]>,
}

/// Where a register's value is made anew.
#[derive(Default)]
struct Plan {
    groups: Vec<Group>,
    /// The group of a loop whose uses share a value made before it.
    of_loops: HashMap<Loop, usize>,
    relieved: Vec<Block>,
}

impl Plan {
    /// Goes through a block in which a register is live; `is_crossed`: its value no longer reaches
    /// it.
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
        // Up to where the value is accounted for, and the group that it comes from; none: the
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

    /// Returns the group whose value is made at the end of the block before a loop.
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
