//! The engine: computes the live intervals of all registers of a function in the eight phases of
//! the reference.
//!
//! [`LiveRangeCalc::compute`] lists the phases; each is a file or a function. Departures from the
//! reference, beyond those that the files describe: phases 5 and 7 run batch by batch, so that a
//! batch's sets are used while they are in the cache. Phase 6 follows at the end and handles
//! registers with several definitions completely ([`web_values`](super::web_values)). The iteration
//! is a loop, not a recursion. Functions of at most 64 blocks, which are nearly all, use words of
//! blocks instead of sets ([`block_words`](super::block_words)), and so do most registers in
//! functions of many hundred blocks.

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
    /// For functions of at most 64 blocks, whose registers are solved one by one, and in functions of
    /// many hundreds of blocks for registers that are live in a window of 64.
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
mod tests;
