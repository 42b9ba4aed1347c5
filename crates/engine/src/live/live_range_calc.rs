//! The engine: computes the live intervals of all registers of a function in the eight phases of
//! the reference.
//!
//! [`LiveRangeCalc::compute`] lists the phases; each is a file or a function. Departures from the
//! reference, beyond those that the files describe: phases 5 and 7 run batch by batch, so that a
//! batch's sets are used while they are in the cache; phase 6 follows at the end and does all that
//! registers with several definitions need ([`web_values`](super::web_values)). The iteration is a
//! loop, not a recursion. Functions of at most 64 blocks, which are nearly all, take a shorter way
//! ([`block_words`](super::block_words)), and so do most registers of functions of many hundreds.

use super::block_words::{BlockWords, FEWEST_FOR_WINDOWS, MOST_BLOCKS};
use super::dataflow::{Dataflow, Problem, Queue};
use super::endpoints::{Endpoints, UseWalker};
use super::flow_graph::FlowGraph;
use super::function::Function;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, OwnedLiveRange, make_room};
use super::resolve::{Chains, Resolver};
use super::scan::Scan;
use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use super::value::ValueNumber;
use super::web_batch;
use super::web_values::WebSolver;
use super::webs::Webs;
use crate::entity::{Block, EntityRef, Register};
use crate::snapshot::abi::{ChainedOperandRecord, RegisterOperandRecord};
use std::cell::Cell;

/// When to bypass the global dataflow. The intervals are the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bypass {
    /// For functions of at most 64 blocks, whose registers are solved one by one.
    #[default]
    Small,
    /// Always, as the reference's fast-compile flag does: by a walk from each use to its
    /// definition.
    Always,
    /// Never.
    Never,
}

/// How phases 5 and 7 are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// By sets of registers for each block.
    Sets,
    /// By sets of blocks for each register.
    BlockWords,
    /// By sets of blocks for each register that is live within few blocks, then by sets of registers.
    Windows,
    /// By a walk back from each use.
    Walk,
}

/// An engine that holds more memory than this releases it after the function.
const KEPT_BYTES: usize = 16 << 20;

thread_local! {
    static SHARED: Cell<Option<Box<LiveRangeCalc>>> = const { Cell::new(None) };
}

/// Computes live intervals. Keeps its memory from function to function: once it has seen the
/// largest function of a module, it allocates nothing more.
#[derive(Debug, Default)]
pub struct LiveRangeCalc {
    bypass: Bypass,
    /// Accesses to registers, for functions that do not list them.
    register_operands: Vec<RegisterOperandRecord>,
    /// Operands of registers with several definitions, for functions that do not list them.
    chains: Vec<ChainedOperandRecord>,
    flow: FlowGraph,
    scan: Scan,
    /// Registers whose intervals are computed together: defined, and live across block boundaries.
    general: Vec<Register>,
    predicates: Vec<Register>,
    webs: Webs,
    dataflow: Dataflow,
    endpoints: Endpoints,
    block_words: Box<BlockWords>,
    walk: UseWalker,
    web_solver: WebSolver,
    resolver: Resolver,
}

impl LiveRangeCalc {
    /// Creates an engine with the default bypass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an engine with the given bypass.
    pub fn with_bypass(bypass: Bypass) -> Self {
        Self {
            bypass,
            ..Self::default()
        }
    }

    /// Runs `work` with the engine of this thread, which keeps its memory from function to function
    /// up to 16 MiB. Within `work` it is another one.
    pub fn shared<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        // A thread that is ending has dropped it, and keeps none any more.
        let kept = SHARED.try_with(Cell::take).ok().flatten();
        let mut engine = kept.unwrap_or_default();
        let result = work(&mut engine);
        if engine.memory_bytes() <= KEPT_BYTES {
            _ = SHARED.try_with(|shared| shared.set(Some(engine)));
        }
        result
    }

    /// Numbers the instructions of `function` and computes its intervals.
    ///
    /// # Panics
    /// The function is malformed; for snapshots see
    /// [`Snapshot::check`](crate::snapshot::Snapshot::check).
    pub fn analyze(&mut self, function: &impl Function) -> LiveIntervals {
        let mut intervals = LiveIntervals::default();
        intervals.indexes.compute(function);
        self.compute(function, &mut intervals);
        intervals
    }

    /// Computes the intervals of `function` into `intervals`, whose numbering must be that of the
    /// function ([`LiveIntervals::renumber`]). Reuses the memory of `intervals`.
    ///
    /// # Panics
    /// The function is malformed; for snapshots see
    /// [`Snapshot::check`](crate::snapshot::Snapshot::check).
    pub fn compute(&mut self, function: &impl Function, intervals: &mut LiveIntervals) {
        assert!(!intervals.indexes.is_edited(), "the numbering must be fresh");
        let mut listed = std::mem::take(&mut self.register_operands);
        let mut listed_chains = std::mem::take(&mut self.chains);
        listed.clear();
        let operands = function.register_operands(&mut listed);
        // Everything that depends on the kind of function is read here and in phases 2 and 4.
        self.initialize(function.register_count(), intervals); //     1
        self.clean_tables(function); //                               2
        let method = self.choose_method(); //                         3
        self.collect_definitions_and_uses(function, operands, intervals); // 4
        let chains = match self.scan.webs.is_empty() {
            true => &[],
            false => function.chains(operands, &mut listed_chains),
        };
        self.webs.collect(operands, chains, &self.scan, intervals);
        match method {
            Method::Sets => self.propagate_and_fix_endpoints(intervals), //      5 and 7
            Method::BlockWords => self.solve_in_windows(intervals),      //           5 and 7, small functions
            Method::Windows => {
                self.solve_in_windows(intervals); //                             5 and 7, most registers
                self.propagate_and_fix_endpoints(intervals); //                  the others
            }
            Method::Walk => self.walk_crossing_registers(intervals), //          the bypass
        }
        self.resolve_values(method, operands, chains, intervals); //      6
        self.register_operands = listed;
        self.chains = listed_chains;
    }

    /// Extends `range` to each of `uses`, with PHI values where several values meet: see
    /// [`LiveIntervals::extend_to`].
    pub(super) fn extend(
        &mut self,
        flow: &FlowGraph,
        indexes: &SlotIndexes,
        range: &mut OwnedLiveRange,
        uses: &[SlotIndex],
    ) {
        self.resolver.extend_range(flow, indexes, range, uses);
    }

    /// Phase 1: clears the results of the previous function.
    fn initialize(&mut self, registers: usize, intervals: &mut LiveIntervals) {
        intervals.reset(registers);
    }

    /// Phase 2: clears stale segments, sets and nodes; their memory stays.
    fn clean_tables(&mut self, function: &impl Function) {
        self.dataflow.segments.clear();
        self.resolver.begin();
        self.flow.compute(function);
    }

    /// Phase 3: decides how to propagate, and prepares the tables for that.
    ///
    /// For sets, the count of active blocks, 4/5 of all less the dead ones, sizes the first
    /// allocation.
    fn choose_method(&mut self) -> Method {
        let blocks = self.flow.block_count();
        match self.bypass {
            Bypass::Small if blocks <= MOST_BLOCKS => Method::BlockWords,
            Bypass::Always => {
                self.walk.begin(blocks);
                Method::Walk
            }
            Bypass::Small | Bypass::Never => {
                let dead = (1..blocks)
                    .filter(|&block| self.flow.predecessors_of(Block::new(block)).is_empty())
                    .count();
                let active = (blocks * 4 / 5).saturating_sub(dead);
                self.dataflow.begin(blocks, active);
                match self.bypass == Bypass::Small && blocks >= FEWEST_FOR_WINDOWS {
                    true => Method::Windows,
                    false => Method::Sets,
                }
            }
        }
    }

    /// Phase 4: one scan collects definitions and uses and finishes the registers that live in one
    /// block.
    fn collect_definitions_and_uses(
        &mut self,
        function: &impl Function,
        operands: &[RegisterOperandRecord],
        intervals: &mut LiveIntervals,
    ) {
        self.scan
            .run(function.register_count(), operands, &intervals.indexes);
        self.general.clear();
        self.predicates.clear();
        make_room(&mut intervals.segments, self.scan.defined().len());
        make_room(&mut intervals.values, self.scan.defined().len());
        for &register in &self.scan.undefined {
            intervals.records[register.index()] = IntervalRecord::default();
            if self.scan.registers[register.index()].crosses_blocks() {
                intervals.unreached.push(register);
            }
        }
        for &register in self.scan.defined() {
            let state = self.scan.registers[register.index()];
            let (Some(start), Some(end)) = (state.definition.expand(), state.end.expand()) else {
                unreachable!("a definition begins a piece, which ends somewhere");
            };
            if self.scan.web_of(register).is_some() {
                continue;
            }
            if state.crosses_blocks() {
                match function.is_predicate(register) {
                    true => self.predicates.push(register),
                    false => self.general.push(register),
                }
                continue;
            }
            intervals.records[register.index()] = IntervalRecord {
                first_segment: intervals.segments.len() as u32,
                segment_count: 1,
                first_value: intervals.values.len() as u32,
                value_count: 1,
            };
            intervals.segments.push(LiveSegment {
                start,
                end,
                value: ValueNumber::ZERO,
            });
            intervals.values.push(start.into());
        }
    }

    /// Phases 5 and 7 for the registers that cross blocks, a full batch at a time.
    fn propagate_and_fix_endpoints(&mut self, intervals: &mut LiveIntervals) {
        // In the order of their definitions: a batch of neighbours touches few blocks.
        let mut queue = Queue {
            general: &self.general,
            predicates: &self.predicates,
        };
        while !queue.is_empty() {
            let problem = Problem {
                scan: &self.scan,
                indexes: &intervals.indexes,
                flow: &self.flow,
            };
            self.dataflow.solve_batch(&mut queue, problem);
            self.endpoints
                .materialize(&mut self.dataflow, &self.scan, intervals);
        }
    }

    /// Phases 5 and 7 for registers that are live within a window of blocks, as all are in small
    /// functions. The others stay in the lists.
    fn solve_in_windows(&mut self, intervals: &mut LiveIntervals) {
        for registers in [&mut self.general, &mut self.predicates] {
            self.block_words.run(registers, &self.flow, &self.scan, intervals);
        }
    }

    /// The bypass of phases 5 and 7.
    fn walk_crossing_registers(&mut self, intervals: &mut LiveIntervals) {
        for &register in self.general.iter().chain(&self.predicates) {
            self.walk.run(register, &self.flow, &self.scan, intervals);
        }
    }

    /// Phase 6: webs. The bypass leaves all of them to the resolver.
    fn resolve_values(
        &mut self,
        method: Method,
        operands: &[RegisterOperandRecord],
        chains: &[ChainedOperandRecord],
        intervals: &mut LiveIntervals,
    ) {
        let mut crossing = std::mem::take(&mut self.webs.crossing);
        let mut unresolved = std::mem::take(&mut self.webs.unresolved);
        let listed = Chains {
            scan: &self.scan,
            webs: &self.webs,
            operands,
            chains,
        };
        if method == Method::Walk {
            unresolved.extend_from_slice(&crossing);
        } else if !crossing.is_empty() {
            self.resolver.find_dominators(&self.flow);
            let input = web_batch::Input {
                flow: &self.flow,
                dominators: &self.resolver.dominators,
                chains: listed,
            };
            self.web_solver
                .run(input, &mut crossing, &mut unresolved, intervals);
        }
        self.resolver.run(&self.flow, listed, &unresolved, intervals);
        self.webs.crossing = crossing;
        self.webs.unresolved = unresolved;
    }

    /// Returns the bytes of memory that the engine holds, without the result.
    pub fn memory_bytes(&self) -> usize {
        self.register_operands.capacity() * size_of::<RegisterOperandRecord>()
            + self.chains.capacity() * size_of::<ChainedOperandRecord>()
            + self.flow.memory_bytes()
            + self.scan.memory_bytes()
            + (self.general.capacity() + self.predicates.capacity()) * size_of::<Register>()
            + self.webs.memory_bytes()
            + self.dataflow.memory_bytes()
            + self.endpoints.memory_bytes()
            + size_of::<BlockWords>()
            + self.walk.memory_bytes()
            + self.web_solver.memory_bytes()
            + self.resolver.memory_bytes()
    }
}

impl LiveIntervals {
    /// Empties the intervals and numbers `function`, keeping memory.
    pub fn renumber(&mut self, function: &impl Function) {
        self.reset(0);
        self.indexes.compute(function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityRef;
    use crate::live::segment::{GENERAL_BITS, PREDICATE_BITS};
    use crate::live::testing::{
        COPY, DEBUG, PHI, PLAIN, Random, TestFunction, covered_slots, def, from, operand, random_function,
        read, structured_function,
    };
    use crate::live::{FindingKind, Slot};
    use crate::snapshot::abi::OperandFlags;
    use proptest::prelude::*;

    fn text(function: &TestFunction, bypass: Bypass) -> String {
        let snapshot = function.snapshot();
        LiveRangeCalc::with_bypass(bypass).analyze(&snapshot).to_string()
    }

    fn check(function: TestFunction, expected: &[&str]) {
        let mut order = 0;
        let function = function.finish(|| {
            order += 1;
            order
        });
        for bypass in [Bypass::Never, Bypass::Always, Bypass::Small] {
            let expected: String = expected
                .iter()
                .map(|line| format!("{line}  weight:0.000000e+00\n"))
                .collect();
            assert_eq!(text(&function, bypass), expected, "{bypass:?}");
        }
    }

    #[test]
    fn straight_line() {
        let mut function = TestFunction::new(5);
        function.block(&[]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(DEBUG, &[operand(3, OperandFlags::DEBUG)]);
        function.instruction(PLAIN, &[def(1), read(0)]);
        function.instruction(PLAIN, &[read(1), read(0), operand(2, OperandFlags::UNDEF)]);
        check(
            function,
            &["%0 [16r,48r:0) 0@16r", "%1 [32r,48r:0) 0@32r", "%2 EMPTY"],
        );
    }

    #[test]
    fn dead_and_early_clobber_definitions() {
        let mut function = TestFunction::new(3);
        let early = operand(1, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        function.block(&[]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[early, read(0)]);
        let mut tied = read(1);
        tied.tied_to = 1;
        let early = operand(2, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        function.instruction(PLAIN, &[early, tied]);
        check(
            function,
            &[
                "%0 [16r,32r:0) 0@16r",
                "%1 [32e,48e:0) 0@32e",
                "%2 [48e,48d:0) 0@48e",
            ],
        );
    }

    #[test]
    fn a_read_beside_an_early_definition_does_not_lengthen_the_value_before() {
        let mut function = TestFunction::new(1);
        let early = operand(0, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[read(0)]);
        function.instruction(PLAIN, &[read(0), early]);
        function.instruction(PLAIN, &[read(0)]);
        check(
            function,
            &["%0 [16r,48r:0)[64r,80r:1)[96e,112r:2) 0@16r 1@64r 2@96e"],
        );
    }

    #[test]
    fn one_block_reads_a_register_before_and_between_its_definitions() {
        let mut function = TestFunction::new(1);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[read(0)]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[def(0), read(0)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        check(
            function,
            &["%0 [16r,32B:0)[32B,48r:3)[64r,80r:1)[80r,112r:2) 0@16r 1@64r 2@80r 3@32B-phi"],
        );
    }

    #[test]
    fn loop_with_phi() {
        let mut function = TestFunction::new(4);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[def(3)]);
        function.block(&[1, 2]);
        function.instruction(PHI, &[def(1), read(0), from(0), read(2), from(1)]);
        function.instruction(PLAIN, &[def(2), read(1), read(3)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(2)]);
        check(
            function,
            &[
                "%0 [16r,48B:0) 0@16r",
                "%1 [64r,80r:0) 0@64r",
                "%2 [80r,112r:0) 0@80r",
                "%3 [32r,96B:0) 0@32r",
            ],
        );
    }

    #[test]
    fn loop_variable_gets_a_phi_value() {
        let mut function = TestFunction::new(1);
        function.block(&[1]);
        function.instruction(COPY, &[def(0)]);
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[def(0), read(0)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        check(
            function,
            &["%0 [16r,32B:0)[32B,48r:2)[48r,80r:1) 0@16r 1@48r 2@32B-phi"],
        );
    }

    #[test]
    fn partially_defined_in_a_loop_is_one_value() {
        let mut function = TestFunction::new(1);
        function.block(&[1]);
        function.instruction(PLAIN, &[]);
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[def(0), read(0)]);
        function.block(&[]);
        check(function, &["%0 [0B,64B:0) 0@48r"]);
    }

    #[test]
    fn undefined_registers_have_empty_intervals() {
        let mut function = TestFunction::new(2);
        function.block(&[1]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(1)]);
        check(function, &["%1 EMPTY"]);
    }

    #[test]
    fn many_registers_take_several_batches() {
        let mut function = TestFunction::new(6000);
        function.block(&[1]);
        for register in 0..6000 {
            function.instruction(PLAIN, &[def(register)]);
        }
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[]);
        function.block(&[]);
        for register in 0..6000 {
            function.instruction(PLAIN, &[read(register)]);
        }
        let function = function.finish(|| 0);
        let snapshot = function.snapshot();
        let mut calc = LiveRangeCalc::with_bypass(Bypass::Never);
        let mut intervals = LiveIntervals::default();
        intervals.renumber(&snapshot);
        calc.compute(&snapshot, &mut intervals);
        assert_eq!(calc.general.len() + calc.predicates.len(), 6000);
        assert!(calc.general.len() > GENERAL_BITS && calc.predicates.len() > PREDICATE_BITS);
        for bypass in [Bypass::Always, Bypass::Small] {
            assert_eq!(intervals.to_string(), text(&function, bypass));
        }
        assert_eq!(intervals.verify(&snapshot), []);
    }

    /// A chain of 100,000 blocks with a detour around every fifth: one register with one
    /// definition, and one that every thousandth block redefines.
    #[test]
    fn a_hundred_thousand_blocks() {
        const BLOCKS: u32 = 100_000;
        let mut function = TestFunction::new(2);
        for block in 0..BLOCKS {
            let around = (block % 5 == 0).then_some(block + 2);
            let successors = [Some(block + 1), around].into_iter().flatten();
            let successors: Vec<u32> = successors.filter(|&next| next < BLOCKS).collect();
            function.block(&successors);
            match block % 1000 {
                0 if block == 0 => function.instruction(PLAIN, &[def(0), def(1)]),
                0 => function.instruction(PLAIN, &[def(1), read(1)]),
                _ => {}
            }
        }
        function.instruction(PLAIN, &[read(0), read(1)]);
        let function = function.finish(|| 0);
        let snapshot = function.snapshot();
        let intervals = LiveRangeCalc::with_bypass(Bypass::Never).analyze(&snapshot);
        let others = LiveRangeCalc::with_bypass(Bypass::Always).analyze(&snapshot);
        assert_eq!(intervals.to_string(), others.to_string());
        let [one, several] = [0, 1].map(|number| intervals.interval(Register::new(number)));
        // 100,000 block entries and 101 instructions before the last use.
        let end = SlotIndex::new((BLOCKS + 100) * 16, Slot::Register);
        assert_eq!(one.to_string(), format!("[16r,{end}:0) 0@16r"));
        assert_eq!((several.start(), several.end()), (one.start(), one.end()));
        assert_eq!(several.value_count(), 100);
        assert_eq!(several.segments().len(), 100);
        assert!(intervals.verify(&snapshot).is_empty());
    }

    /// One block of 200,000 instructions like inline assembly that reads one register and writes
    /// another early: the time for each must not grow with the block.
    #[test]
    fn a_long_block_of_early_clobber_definitions() {
        const LENGTH: u32 = 200_000;
        let mut function = TestFunction::new(LENGTH as usize + 1);
        function.block(&[]);
        function.instruction(PLAIN, &[def(0)]);
        for number in 1..=LENGTH {
            let early = operand(number, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
            function.instruction(PLAIN, &[early, read(number - 1)]);
        }
        let function = function.finish(|| 0);
        let intervals = LiveRangeCalc::new().analyze(&function.snapshot());
        let last = intervals.interval(Register::new(LENGTH as usize - 1));
        let (start, end) = (LENGTH * 16, (LENGTH + 1) * 16);
        assert_eq!(last.to_string(), format!("[{start}e,{end}r:0) 0@{start}e"));
    }

    #[test]
    fn memory_is_reused_without_stale_state() {
        let mut random = Random(7);
        let mut calc = LiveRangeCalc::with_bypass(Bypass::Never);
        let mut intervals = LiveIntervals::default();
        for round in 0..200 {
            // At times more than one batch of webs.
            let (most_blocks, registers) = if round % 8 == 0 { (100, 300) } else { (12, 24) };
            let blocks = 1 + random.below(most_blocks);
            let function = random_function(&mut random, blocks, registers, 8);
            let snapshot = function.snapshot();
            intervals.renumber(&snapshot);
            calc.compute(&snapshot, &mut intervals);
            assert_eq!(
                intervals.to_string(),
                text(&function, Bypass::Never),
                "round {round}"
            );
        }
    }

    /// Returns whether code with reads of undefined registers may have such a finding.
    fn is_tolerated(kind: FindingKind) -> bool {
        matches!(kind, FindingKind::ReadOfNothing)
    }

    fn check_random(seed: u64, blocks: u32, registers: u32, length: u32) -> Result<(), TestCaseError> {
        check_all_ways(&random_function(&mut Random(seed), blocks, registers, length))
    }

    fn check_all_ways(function: &TestFunction) -> Result<(), TestCaseError> {
        let snapshot = function.snapshot();
        let intervals = LiveRangeCalc::with_bypass(Bypass::Never).analyze(&snapshot);
        prop_assert_eq!(intervals.to_string(), text(function, Bypass::Always));
        prop_assert_eq!(intervals.to_string(), text(function, Bypass::Small));
        let mut compared = Vec::new();
        for register in snapshot.registers() {
            let Some(expected) = covered_slots(&snapshot, &intervals, register) else {
                continue;
            };
            compared.push(register);
            let range = intervals.interval(register);
            for (position, &expected) in expected.iter().enumerate() {
                let number = position as u32 / 4 * 16 + position as u32 % 4;
                let index = SlotIndex::from_number(number);
                prop_assert_eq!(
                    range.live_at(index),
                    expected,
                    "%{} at {} in {}",
                    register.index(),
                    index,
                    range
                );
            }
        }
        let findings: Vec<_> = intervals.verify(&snapshot);
        let wrong = findings
            .iter()
            .find(|finding| compared.contains(&finding.register) && !is_tolerated(finding.kind));
        prop_assert!(
            wrong.is_none(),
            "{}: {}",
            wrong.unwrap(),
            intervals.interval(wrong.unwrap().register)
        );
        Ok(())
    }

    /// Returns a random function of many blocks most of whose registers are read close to their
    /// definitions. Edges skip blocks of groups of eight and go back a few blocks.
    fn function_of_short_ranges(random: &mut Random, blocks: u32) -> TestFunction {
        let mut function = TestFunction::new(blocks as usize);
        for block in 0..blocks {
            let last_of_group = (block | 7).min(blocks - 1);
            let mut successors = match block + 1 < blocks {
                true => vec![block + 1],
                false => vec![],
            };
            if random.chance(40) && block < last_of_group {
                successors.push(block + 1 + random.below(last_of_group - block));
            }
            if random.chance(10) && block > 0 {
                successors.push(block - random.below(block.min(12)));
            }
            function.block(&successors);
            if random.chance(80) {
                function.instruction(PLAIN, &[def(block)]);
            }
            for _ in 0..random.below(4) {
                let distance = [1, 9, 20, 40, 100][random.below(5) as usize];
                // The first block of a group dominates what follows.
                let register = block.saturating_sub(random.below(distance)) & !7;
                let register = register + u32::from(random.chance(5));
                function.instruction(PLAIN, &[read(register.min(blocks - 1))]);
            }
        }
        function.finish(|| 0)
    }

    #[test]
    fn windows_of_blocks_solve_many_registers_and_leave_the_others() {
        let mut random = Random(1);
        let function = function_of_short_ranges(&mut random, 800);
        let snapshot = function.snapshot();
        let mut calc = LiveRangeCalc::new();
        let intervals = calc.analyze(&snapshot);
        let crossing = snapshot.registers().filter(|&register| {
            let range = intervals.interval(register);
            range.segments().len() > 1
                || range.segments().iter().any(|segment| {
                    intervals.indexes.block_at(segment.start) != intervals.indexes.block_before(segment.end)
                })
        });
        let (crossing, left) = (crossing.count(), calc.general.len());
        assert!(
            left * 4 > crossing && left * 4 < crossing * 3,
            "{left} of {crossing}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn short_ranges_in_many_blocks(seed: u64, blocks in 60_u32..300) {
            check_all_ways(&function_of_short_ranges(&mut Random(seed), blocks))?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn several_batches_of_webs(
            seed: u64, blocks in 40_u32..160, registers in 200_u32..400, length in 1_u32..8
        ) {
            check_random(seed, blocks, registers, length)?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6000))]

        #[test]
        fn many_values_of_few_registers(
            seed: u64, blocks in 8_u32..40, registers in 2_u32..8, length in 0_u32..3
        ) {
            check_random(seed, blocks, registers, length)?;
        }

        #[test]
        fn many_values_in_nested_loops(seed: u64) {
            check_all_ways(&structured_function(&mut Random(seed)))?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        #[test]
        fn equals_liveness_by_definition(
            seed: u64, blocks in 1_u32..12, registers in 1_u32..24, length in 0_u32..10
        ) {
            check_random(seed, blocks, registers, length)?;
        }

        #[test]
        fn one_block_functions(seed: u64, registers in 1_u32..12, length in 0_u32..20) {
            check_random(seed, 1, registers, length)?;
        }

        #[test]
        fn index_lookups_agree(seed: u64, blocks in 1_u32..12, length in 0_u32..10) {
            let function = random_function(&mut Random(seed), blocks, 8, length);
            let snapshot = function.snapshot();
            let indexes = SlotIndexes::new(&snapshot);
            for block in snapshot.blocks() {
                let (start, end) = indexes.block_range(block);
                prop_assert_eq!(indexes.block_at(start), Some(block));
                prop_assert_eq!(indexes.block_before(end), Some(block));
                let mut before = start;
                for instruction in snapshot.instructions_of(block) {
                    if !indexes.has_index(instruction) {
                        prop_assert_eq!(indexes.index_at_or_before(instruction), before);
                        continue;
                    }
                    let index = indexes.instruction_index(instruction);
                    prop_assert_eq!(index.number(), before.number() + 16);
                    prop_assert_eq!(indexes.instruction_at(index.dead_slot()), Some(instruction));
                    prop_assert_eq!(indexes.block_at(index), Some(block));
                    prop_assert_eq!(indexes.next_instruction_index(before), index);
                    before = index;
                }
                prop_assert_eq!(end.number(), before.number() + 16);
                prop_assert_eq!(indexes.instruction_at(end), None);
            }
        }
    }
}
