//! The inputs of the register estimate.

use super::Target;
use super::cells::{Cell, Cells};
use super::dead_ends::{divergence_of_remaining_lanes, flow_without_exits, returning_blocks};
use super::expansion::is_call_for_debugger;
use super::live_cells::LiveCells;
use super::nodes::{Nodes, ScheduleNode};
use super::regions::regions;
use super::rounds::constant_rounds;
use super::schedule::{BlockGraph, Cost, SchedulePeaks, Scratch};
use oriel_engine::entity::Block;
use oriel_ori::{
    ControlFlow, Divergence, Function, Liveness, Point, RegisterFile, RegisterSets, Units, each_count,
    each_point,
};
use std::cmp::Reverse;
use std::collections::HashSet;

/// Declares the features, each as a field with its description.
macro_rules! features {
    ($( $(#[$doc:meta])* $name:ident, )*) => {
        /// The features of a function before ptxas has run, in 32-bit registers unless stated
        /// otherwise.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Features {
            $( $(#[$doc])* pub $name: f32, )*
            /// Those that would differ if no registers were allotted; no feature.
            pub(crate) unallotted: WithinTarget,
            /// Most cells live across a call, values that live in its block alone included; no feature.
            pub(crate) over_calls: f32,
            /// Calls by address and recursive ones, of which ptxas knows nothing; no feature.
            pub(crate) opaque_calls: f32,
        }

        impl Features {
            /// Returns the names of all features, in order.
            pub const NAMES: &[&str] = &[$( stringify!($name), )*];

            /// Returns the number of a feature.
            ///
            /// # Panics
            /// If there is no feature of this name.
            pub const fn number(name: &str) -> usize {
                let mut number = 0;
                while number < Self::NAMES.len() {
                    if is_same(Self::NAMES[number], name) {
                        return number;
                    }
                    number += 1;
                }
                panic!("the model asks for a feature that there is not")
            }

            /// Returns the values of all features, in order.
            pub fn values(&self) -> [f32; Self::NAMES.len()] {
                [$( self.$name, )*]
            }

            /// Builds the features from the values of all, in order.
            #[cfg(test)]
            pub fn from_values([$( $name, )*]: [f32; Self::NAMES.len()]) -> Self {
                Self { $( $name, )* ..Self::default() }
            }
        }
    };
}

/// Equality that can be evaluated in constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

features! {
    /// Compute capability times ten.
    sm,
    /// Registers that launch bounds leave a thread; 255 without.
    register_limit,
    /// The same limit if `.maxnreg`, or threads and blocks of the launch bounds, allot these registers,
    /// so that ptxas uses them freely; zero otherwise.
    allotted_registers,
    /// Peak pressure of LLVM's registers, uniform values included.
    pressure,
    /// Peak pressure of LLVM's registers without those that are the same for all lanes.
    divergent_pressure,
    /// Peak of predicates.
    predicates,
    /// Peak of cells in LLVM's order.
    source_peak,
    /// Peak of uniform cells in LLVM's order.
    uniform_peak,
    /// Peak of cells of both kinds (ordinary and uniform) in LLVM's order.
    all_peak,
    /// Peak of cells if every region is ordered by latency.
    latency_peak,
    /// Peak of cells if loads go first.
    loads_first_peak,
    /// Peak of cells if loads go first up to the target: the allotted registers, 32 at least.
    peak_within_target,
    /// Peak of allocated registers (live ones, those that memory instructions still read, and gaps)
    /// if loads go first up to the target.
    spaced_within_target,
    /// Highest trip count of a loop of one region that is unrolled completely.
    constant_rounds,
    /// Most results of loads live at once, including loads from the constant bank, if regions are
    /// ordered by latency.
    loads_in_flight,
    /// The same in LLVM's order.
    loads_in_source_order,
    /// Most temporaries of one instruction.
    temporaries,
    /// Most cells live where a block begins.
    live_between_blocks,
    /// Most cells live where a loop begins.
    live_into_loops,
    /// Most cells live across a call.
    live_over_calls,
    /// Calls.
    calls,
    /// Calls of unknown functions.
    unknown_calls,
    /// Instructions for the machine.
    nodes,
    /// Instructions of the largest region.
    largest_region,
    /// Depth of the deepest loop.
    loop_depth,
    /// Loads from global memory or generic addresses.
    global_loads,
    /// The same in the block with the most of them.
    global_loads_of_block,
    /// Loads from shared memory in the block with the most of them.
    shared_loads_of_block,
    /// Operations of tensor cores.
    matrix_operations,
    /// Copies from global to shared memory that pass no register.
    async_copies,
    /// Most cells of both kinds live across an exchange between lanes.
    live_over_exchanges,
    /// Peak of cells in an order that needs few registers.
    least_peak,
    /// Peak of allocated registers in that order.
    least_spaced,
    /// Peak of cells in that order, without values that one simple instruction can recompute from
    /// another value.
    kept_peak,
    /// The same peak if loads go first up to the target.
    kept_within_target,
    /// Loads in the innermost loops.
    innermost_loads,
    /// Highest product of the trip counts in a nest of loops with constant trip counts.
    nested_rounds,
    /// Instructions of the largest such nest once it is unrolled.
    nested_nodes,
    /// Loads of the nest with the most of them once it is unrolled.
    nested_loads,
    /// Most cells live into an innermost loop, plus the results of its loads once it is unrolled.
    live_with_loads,
    /// Loops with constant trip counts.
    constant_loops,
    /// Highest peak of cells, in LLVM's order, of the functions that its indirect calls may reach.
    called_by_address,
    /// Threads of a block according to launch bounds; zero without.
    threads,
    /// One if ptxas is told to compile for a debugger, zero otherwise.
    debug,
    /// Peak of LLVM's registers and predicates at one place, parameters included; only counted for
    /// a debugger.
    debug_peak,
    /// The most of these that are live across a call, or across an exchange between lanes or a
    /// division, for which ptxas then calls a subroutine; only counted for a debugger.
    debug_over_calls,
}

/// The features that depend on the number of registers up to which loads go first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WithinTarget {
    peak: f32,
    spaced: f32,
    kept: f32,
}

impl From<Cost> for WithinTarget {
    fn from(cost: Cost) -> Self {
        Self {
            peak: cost.registers as f32,
            spaced: cost.spaced as f32,
            kept: cost.kept as f32,
        }
    }
}

/// Registers that loads may take in any kernel, since they cost no warps.
const FREE_REGISTERS: f32 = 32.0;

/// Rounds of a loop that ptxas unrolls, as assumed by the estimate.
pub(super) const UNROLLED_ROUNDS: usize = 4;

/// Unrolling is considered only up to this size of the unrolled loop, in instructions.
pub(super) const UNROLLED_LIMIT: usize = 1_000;

impl Features {
    /// Adds the features of a function called by this one.
    pub fn add_callee(&mut self, callee: &Self) {
        self.add_peaks(callee, self.live_over_calls);
        for (own, of_callee) in [
            (&mut self.calls, callee.calls),
            (&mut self.unknown_calls, callee.unknown_calls),
            (&mut self.opaque_calls, callee.opaque_calls),
            (&mut self.nodes, callee.nodes),
            (&mut self.global_loads, callee.global_loads),
            (&mut self.matrix_operations, callee.matrix_operations),
            (&mut self.async_copies, callee.async_copies),
            (&mut self.innermost_loads, callee.innermost_loads),
            (&mut self.constant_loops, callee.constant_loops),
        ] {
            *own += of_callee;
        }
    }

    /// Adds the features of a function that is only called from dead ends: no value lives across
    /// the call, and instructions are not counted, as in dead ends.
    pub fn add_last_callee(&mut self, callee: &Self) {
        self.add_peaks(callee, 0.0);
        self.unknown_calls += callee.unknown_calls;
        self.opaque_calls += callee.opaque_calls;
    }

    /// Adds the peaks of a callee if `over` cells are live across its calls.
    fn add_peaks(&mut self, callee: &Self, over: f32) {
        let under = |own: &mut f32, of_callee: f32| *own = own.max(over + of_callee);
        under(&mut self.pressure, callee.pressure);
        under(&mut self.divergent_pressure, callee.divergent_pressure);
        under(&mut self.source_peak, callee.source_peak);
        under(&mut self.all_peak, callee.all_peak);
        under(&mut self.latency_peak, callee.latency_peak);
        under(&mut self.loads_first_peak, callee.loads_first_peak);
        under(&mut self.peak_within_target, callee.peak_within_target);
        under(&mut self.spaced_within_target, callee.spaced_within_target);
        // Nothing is allotted to functions, so their target is the other one of kernels.
        under(&mut self.unallotted.peak, callee.peak_within_target);
        under(&mut self.unallotted.spaced, callee.spaced_within_target);
        under(&mut self.unallotted.kept, callee.kept_within_target);
        under(&mut self.live_between_blocks, callee.live_between_blocks);
        under(&mut self.live_into_loops, callee.live_into_loops);
        under(&mut self.live_over_exchanges, callee.live_over_exchanges);
        under(&mut self.debug_peak, callee.debug_peak);
        under(&mut self.debug_over_calls, callee.debug_over_calls);
        under(&mut self.live_with_loads, callee.live_with_loads);
        under(&mut self.least_peak, callee.least_peak);
        under(&mut self.least_spaced, callee.least_spaced);
        under(&mut self.kept_peak, callee.kept_peak);
        under(&mut self.kept_within_target, callee.kept_within_target);
        for (own, of_callee) in [
            (&mut self.predicates, callee.predicates),
            (&mut self.uniform_peak, callee.uniform_peak),
            (&mut self.constant_rounds, callee.constant_rounds),
            (&mut self.loads_in_flight, callee.loads_in_flight),
            (&mut self.loads_in_source_order, callee.loads_in_source_order),
            (&mut self.temporaries, callee.temporaries),
            (&mut self.largest_region, callee.largest_region),
            (&mut self.loop_depth, callee.loop_depth),
            (&mut self.global_loads_of_block, callee.global_loads_of_block),
            (&mut self.shared_loads_of_block, callee.shared_loads_of_block),
            (&mut self.called_by_address, callee.called_by_address),
            // A callee saves the registers that it must preserve, and uses them again.
            (&mut self.over_calls, callee.over_calls),
            (&mut self.nested_rounds, callee.nested_rounds),
            (&mut self.nested_nodes, callee.nested_nodes),
            (&mut self.nested_loads, callee.nested_loads),
        ] {
            *own = own.max(of_callee);
        }
    }

    /// Returns the number of registers up to which loads go first.
    pub(super) fn target_of_loads(&self) -> f32 {
        self.allotted_registers.max(FREE_REGISTERS)
    }

    /// Returns the features of the same kernel if its bounds allotted no registers.
    #[must_use]
    pub fn without_allotment(&self) -> Self {
        if self.allotted_registers == 0.0 {
            return *self;
        }
        let WithinTarget { peak, spaced, kept } = self.unallotted;
        Self {
            allotted_registers: 0.0,
            peak_within_target: peak,
            spaced_within_target: spaced,
            kept_within_target: kept,
            ..*self
        }
    }

    /// Computes the features of a function in late form.
    pub fn new(function: &Function, target: &Target) -> Self {
        let flow = ControlFlow::of(function);
        let liveness = Liveness::compute(function, &flow);
        Self::with_analyses(function, target, &flow, &liveness)
    }

    /// Computes the same with the function's control flow and liveness.
    pub fn with_analyses(
        function: &Function,
        target: &Target,
        flow: &ControlFlow,
        liveness: &Liveness,
    ) -> Self {
        if let Some(flow) = flow_without_exits(function) {
            let liveness = Liveness::compute(function, &flow);
            return Self::of_flow(function, target, &flow, &liveness);
        }
        Self::of_flow(function, target, flow, liveness)
    }

    fn of_flow(function: &Function, target: &Target, flow: &ControlFlow, liveness: &Liveness) -> Self {
        let divergence = divergence_of_remaining_lanes(function, flow, liveness);
        let mut features = Self {
            sm: target.sm as f32,
            register_limit: target.register_limit as f32,
            allotted_registers: target.allotted_registers as f32,
            threads: target.threads as f32,
            debug: f32::from(u8::from(target.is_debug)),
            ..Self::default()
        };
        features.add_pressure(function, liveness, &divergence);
        if target.is_debug {
            features.add_debug_pressure(function, liveness);
        }
        let cells = Cells::new(function, &divergence, target.sm);
        let nodes = Nodes::new(function, &cells, target.sm);
        let live = LiveCells::new(function, flow, &nodes);
        features.add_schedules(function, flow, &cells, &nodes, &live);
        let returning = returning_blocks(function, flow);
        features.add_control_flow(function, flow, &nodes, &returning);
        features.add_loop_nests(function, flow, &nodes, &live);
        features
    }

    fn add_pressure(&mut self, function: &Function, liveness: &Liveness, divergence: &Divergence) {
        const DIVERGENT: usize = 0;
        const UNIFORM: usize = 1;
        const PREDICATE: usize = 2;
        const OTHER: usize = 3;
        let kind = |register| match function.register(register).file {
            RegisterFile::R if divergence.is_uniform(register) => UNIFORM,
            RegisterFile::R => DIVERGENT,
            RegisterFile::P => PREDICATE,
            RegisterFile::Ur | RegisterFile::Up | RegisterFile::B => OTHER,
        };
        let (mut all, mut divergent, mut predicates) = (0, 0, 0);
        each_count::<4>(function, liveness, kind, |units| {
            all = all.max(units[DIVERGENT] + units[UNIFORM]);
            divergent = divergent.max(units[DIVERGENT]);
            predicates = predicates.max(units[PREDICATE]);
        });
        self.pressure = all as f32;
        self.divergent_pressure = divergent as f32;
        self.predicates = predicates as f32;
    }

    /// For a debugger, ptxas keeps every value of the PTX in registers of its own, keeps the given
    /// order, and calls subroutines instead of expanding them in place.
    fn add_debug_pressure(&mut self, function: &Function, liveness: &Liveness) {
        let mut sets = RegisterSets::new(function, liveness, None);
        // A register holds several predicates.
        let count = |units: Units| units.of(RegisterFile::R) as f32 + units.of(RegisterFile::P) as f32 / 8.0;
        for &block in function.blocks() {
            each_point(&mut sets, block, |point, units, behind| {
                self.debug_peak = self.debug_peak.max(count(units));
                if let Point::At(instruction) = point
                    && is_call_for_debugger(function, instruction, self.sm as u32)
                {
                    let over = count(behind.units());
                    self.debug_over_calls = self.debug_over_calls.max(over);
                }
            });
        }
    }

    fn add_schedules(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        cells: &Cells,
        nodes: &Nodes,
        live: &LiveCells,
    ) {
        let mut scratch = Scratch::default();
        let other_target = (self.allotted_registers > 0.0).then_some(FREE_REGISTERS as u32);
        let mut peaks = SchedulePeaks::new(self.target_of_loads() as u32, other_target);
        // The region with the most values first: few others can exceed its peaks.
        let mut regions = regions(function, flow, nodes);
        regions.sort_by_cached_key(|region| Reverse(region.value_count(nodes, live)));
        for region in &regions {
            let size = region.nodes(nodes).count();
            self.largest_region = self.largest_region.max(size as f32);
            let graph = BlockGraph::new(cells, nodes, live, region, &mut scratch);
            peaks.add(&graph);
            let latch = region.latch(flow);
            let rounds = latch.and_then(|latch| constant_rounds(function, latch));
            let rounds = rounds.filter(|rounds| rounds * size <= UNROLLED_LIMIT);
            self.constant_rounds = self.constant_rounds.max(rounds.unwrap_or(0) as f32);
        }
        for &block in function.blocks() {
            self.add_live(cells, flow, block, nodes.of(block), live);
        }
        let SchedulePeaks {
            source,
            least,
            latency,
            loads_first,
            within_target,
            within_other,
            ..
        } = peaks;
        self.unallotted = within_other.into();
        self.source_peak = source.registers as f32;
        self.uniform_peak = source.uniform as f32;
        self.all_peak = source.everything as f32;
        self.latency_peak = latency.registers as f32;
        self.loads_first_peak = loads_first.registers as f32;
        self.peak_within_target = within_target.registers as f32;
        self.loads_in_flight = latency.loaded as f32;
        self.loads_in_source_order = source.loaded as f32;
        self.least_peak = least.registers as f32;
        self.least_spaced = least.spaced as f32;
        self.kept_peak = least.kept as f32;
        self.kept_within_target = within_target.kept as f32;
        self.live_over_exchanges = source.over_exchanges as f32;
        self.spaced_within_target = within_target.spaced as f32;
    }

    fn add_live(
        &mut self,
        cells: &Cells,
        flow: &ControlFlow,
        block: Block,
        nodes: &[ScheduleNode],
        live: &LiveCells,
    ) {
        let divergent = |list: &[_]| list.iter().filter(|&&cell| !cells.is_uniform(cell)).count() as f32;
        let into = divergent(live.live_in(block));
        self.live_between_blocks = self.live_between_blocks.max(into);
        if flow.loops.is_header(block) {
            self.live_into_loops = self.live_into_loops.max(into);
        }
        if nodes.iter().any(|node| node.is_call) {
            // Values live through the block are live across its calls; the others are on one side.
            self.live_over_calls = self.live_over_calls.max(divergent(live.live_out(block)));
            self.add_over_calls(cells, nodes, live.live_out(block));
        }
    }

    /// Walks a block backwards from the cells that are live at its end.
    fn add_over_calls(&mut self, cells: &Cells, nodes: &[ScheduleNode], live_out: &[Cell]) {
        let is_ordinary = |&&cell: &&Cell| !cells.is_uniform(cell);
        let mut live: HashSet<Cell> = live_out.iter().filter(is_ordinary).copied().collect();
        for node in nodes.iter().rev() {
            for cell in &node.defined {
                live.remove(cell);
            }
            if node.is_call {
                self.over_calls = self.over_calls.max(live.len() as f32);
            }
            live.extend(node.used.iter().filter(is_ordinary));
        }
    }
}
