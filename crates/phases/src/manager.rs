//! The manager: runs phases over one function and keeps their shared state.
//!
//! | file | subject |
//! |---|---|
//! | `registry.rs` | the table of phases: number, name, forms, profiles, analyses |
//! | `backend.rs` | the phases that ptxas' back ends provide |
//! | `knobs.rs` | the table of knobs |
//! | `selection.rs` | names of phases in options |
//! | `analyses.rs` | analyses kept from phase to phase |
//! | `never_worse.rs` | reverts a profile's changes that make a function worse |
//! | `progress.rs` | the pipeline's progress |
//! | `statistics.rs`, `remarks.rs` | counters and remarks of phases |
//! | `stage_effects.rs` | the effect of each phase on size and pressure |

mod analyses;
pub mod backend;
pub mod knobs;
pub mod never_worse;
pub mod progress;
pub mod registry;
mod remarks;
mod selection;
mod stage_effects;
mod statistics;

pub use analyses::Analyses;
pub use remarks::{Remark, RemarkKind};
pub use selection::Selected;
pub use stage_effects::{Extent, PhaseEffect, StageEffects};
pub use statistics::Statistics;

use super::{PhaseOptions, PhaseResult};
use analyses::AnalysisCache;
use cpu_time::ThreadTime;
use knobs::{Budget, Knob};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::Register;
use oriel_engine::live::LiveIntervals;
use oriel_ori::analysis::PressureMap;
use oriel_ori::{ControlFlow, Function, Instruction, Liveness};
use progress::PipelineProgress;
use registry::Phase;
use std::rc::Rc;

/// Runs phases over one function.
#[derive(Debug)]
pub struct Manager<'a> {
    options: &'a PhaseOptions,
    wants_remarks: bool,
    statistics: Statistics,
    remarks: Vec<Remark>,
    analyses: AnalysisCache,
    /// True if the function is at the fixed point of the suite, according to the last phase that
    /// changed it.
    is_simplified: bool,
    /// The progress of the pipeline.
    pub(crate) progress: PipelineProgress,
    /// How often phases may still get an optimisation level above one.
    level_budget: Budget,
    /// Weighted instructions that phases have added to save registers.
    allowance: f64,
}

impl<'a> Manager<'a> {
    /// Creates a manager for one function. Without `wants_remarks`, phases spend no time on
    /// remarks.
    pub fn new(options: &'a PhaseOptions, wants_remarks: bool) -> Self {
        Self {
            options,
            wants_remarks,
            statistics: Statistics::default(),
            remarks: Vec::new(),
            analyses: AnalysisCache::default(),
            is_simplified: false,
            progress: PipelineProgress::START,
            level_budget: options.knobs.budget(Knob::OptBudget),
            allowance: 0.0,
        }
    }

    /// Takes the intervals of the snapshot that the function was imported from, which no phase has
    /// changed yet, for phases that need [`Analyses::LIVE_RANGES`]. If they do not fit the function
    /// in Ori, returns false and drops them.
    pub fn know_live_ranges(&mut self, function: &mut Function, intervals: LiveIntervals) -> bool {
        // The liveness follows the log.
        function.keep_edit_log();
        let liveness = Liveness::of_input(function, intervals);
        let is_known = liveness.is_some();
        if let Some(liveness) = liveness {
            self.analyses.know_live_ranges(liveness);
        }
        is_known
    }

    /// True if the function's current liveness is known already, so that a query takes no time.
    pub fn has_current_liveness(&self) -> bool {
        self.analyses.has_current_liveness()
    }

    /// Returns the [registers that may be in use in the background](oriel_ori::analysis::asynchronous_registers).
    pub fn asynchronous_registers(&mut self, function: &Function) -> Rc<EntityBitSet<Register>> {
        self.analyses.asynchronous_registers(function)
    }

    /// Computes the analyses that a phase needs. [`Manager::run`] also does this, outside the phase's
    /// time.
    pub fn prepare(&mut self, phase: &Phase, function: &Function) {
        self.analyses.prepare(phase.needs, function, self.options);
    }

    /// Runs a phase over the function. One that Oriel does not implement does nothing.
    pub fn run(&mut self, phase: &Phase, function: &mut Function) -> PhaseResult {
        let Some(run) = phase.run else {
            return PhaseResult::Unchanged;
        };
        if !self.analyses.has_liveness() {
            function.keep_edit_log();
        }
        self.prepare(phase, function);
        let was_simplified = std::mem::take(&mut self.is_simplified);
        let start = ThreadTime::now();
        let mut context = PhaseContext {
            options: self.options,
            manager: ManagerParts {
                statistics: &mut self.statistics,
                remarks: self.wants_remarks.then_some(&mut self.remarks),
                analyses: &mut self.analyses,
                was_simplified,
                is_simplified: &mut self.is_simplified,
                progress: &mut self.progress,
                level_budget: &mut self.level_budget,
                allowance: &mut self.allowance,
            },
            phase: phase.name,
        };
        let result = run(function, &mut context);
        self.statistics.note_run(phase, start.elapsed());
        match result {
            PhaseResult::Changed => self.analyses.keep(phase.keeps),
            PhaseResult::Unchanged => self.is_simplified |= was_simplified,
        }
        result
    }

    /// Checks that the analyses which a phase preserved are still valid.
    ///
    /// # Errors
    /// One is not; the message names phase and analysis.
    pub fn check_analyses(&self, phase: &Phase, function: &Function) -> Result<(), String> {
        self.analyses.check(phase, function, self.options)
    }

    /// Returns the control flow of the function after the last phase.
    pub fn control_flow(&mut self, function: &Function) -> Rc<ControlFlow> {
        self.analyses.control_flow(function, self.options)
    }

    /// Returns the liveness of the function after the last phase.
    pub fn liveness(&mut self, function: &Function) -> Rc<Liveness> {
        self.analyses.liveness(function, self.options)
    }

    /// Returns the number of weighted instructions that the phases have added to save registers.
    pub fn allowance(&self) -> f64 {
        self.allowance
    }

    /// Returns the phases' counters and remarks.
    pub fn finish(self) -> (Statistics, Vec<Remark>) {
        (self.statistics, self.remarks)
    }
}

/// The interface that a running phase uses.
#[derive(Debug)]
pub struct PhaseContext<'a> {
    /// The options of phases.
    pub options: &'a PhaseOptions,
    manager: ManagerParts<'a>,
    /// The running phase.
    phase: &'static str,
}

#[derive(Debug)]
struct ManagerParts<'a> {
    statistics: &'a mut Statistics,
    remarks: Option<&'a mut Vec<Remark>>,
    analyses: &'a mut AnalysisCache,
    /// `is_simplified` before the phase.
    was_simplified: bool,
    /// `is_simplified` after it.
    is_simplified: &'a mut bool,
    progress: &'a mut PipelineProgress,
    level_budget: &'a mut Budget,
    allowance: &'a mut f64,
}

impl PhaseContext<'_> {
    /// Adds to a counter of the running phase.
    pub fn count(&mut self, counter: &'static str, amount: u64) {
        self.manager.statistics.add(self.phase, counter, amount);
    }

    /// Adds `amount` to a counter. Returns the result of a phase that did something this many
    /// times.
    pub(crate) fn result_of(&mut self, counter: &'static str, amount: usize) -> PhaseResult {
        self.count(counter, amount as u64);
        PhaseResult::of(amount != 0)
    }

    /// Emits a remark on an instruction or, without one, on the function, if remarks are requested.
    pub fn remark(
        &mut self,
        kind: RemarkKind,
        name: &'static str,
        function: &Function,
        instruction: Option<Instruction>,
        message: impl FnOnce() -> String,
    ) {
        if let Some(remarks) = &mut self.manager.remarks {
            remarks.push(Remark {
                kind,
                phase: self.phase,
                name,
                instruction: instruction.and_then(|instruction| function.origin(instruction)),
                message: message(),
            });
        }
    }

    /// Returns the current control flow of the function.
    pub fn control_flow(&mut self, function: &Function) -> Rc<ControlFlow> {
        self.manager.analyses.control_flow(function, self.options)
    }

    /// Returns the current liveness of the function.
    pub fn liveness(&mut self, function: &Function) -> Rc<Liveness> {
        self.manager.analyses.liveness(function, self.options)
    }

    /// Returns a map of the function's current pressure.
    pub fn pressure_map(&mut self, function: &Function) -> PressureMap {
        let flow = self.control_flow(function);
        PressureMap::new(function, flow, self.liveness(function))
    }

    /// As [`PhaseContext::liveness`], but instructions may have no index.
    pub fn live_ranges(&mut self, function: &Function) -> Rc<Liveness> {
        self.manager.analyses.live_ranges(function, self.options)
    }

    /// As [`Manager::asynchronous_registers`].
    pub fn asynchronous_registers(&mut self, function: &Function) -> Rc<EntityBitSet<Register>> {
        self.manager.analyses.asynchronous_registers(function)
    }

    /// True if the [suite](super::general_optimize) of sub-passes would find nothing in the
    /// function at the start of the phase: it found nothing before, and no phase has changed the
    /// function since.
    pub(crate) fn is_simplified(&self) -> bool {
        self.manager.was_simplified
    }

    /// Records that the suite would find nothing in the function at the end of the phase.
    pub(crate) fn set_simplified(&mut self) {
        *self.manager.is_simplified = true;
    }

    /// Returns the optimisation level for the phases' gates: LLVM's level, but at most 1 after as
    /// many queries as knob 499 (OptBudget) allows.
    pub fn optimization_level(&mut self) -> u32 {
        let level = self.options.optimization_level;
        match level > 1 && !self.manager.level_budget.spend() {
            true => 1,
            false => level,
        }
    }

    /// Records that the phase has added this many weighted instructions to save registers: the
    /// guard of profiles does not count these against the function.
    pub fn allow(&mut self, weighted_instructions: f64) {
        *self.manager.allowance += weighted_instructions.max(0.0);
    }

    /// Returns the progress of the pipeline.
    pub fn progress(&self) -> PipelineProgress {
        *self.manager.progress
    }

    /// Advances the progress of the pipeline, which never goes back.
    pub fn advance(&mut self, progress: PipelineProgress) {
        *self.manager.progress = progress.max(*self.manager.progress);
    }

    /// Records that the phase changed the function such that only these analyses are still valid;
    /// for phases that query one again afterwards.
    pub fn keep_only(&mut self, kept: Analyses) {
        self.manager.analyses.keep(kept);
    }
}

/// Runs one phase over a function.
pub fn run(
    phase: &Phase,
    function: &mut Function,
    options: &PhaseOptions,
    statistics: &mut Statistics,
) -> PhaseResult {
    let mut manager = Manager::new(options, false);
    manager.statistics = std::mem::take(statistics);
    let result = manager.run(phase, function);
    *statistics = manager.statistics;
    result
}
