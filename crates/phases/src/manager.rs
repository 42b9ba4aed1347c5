//! The manager: runs phases over one function and keeps what they share.

use super::analyses::{Analyses, AnalysisCache};
use super::knobs::{Budget, Knob};
use super::progress::Progress;
use super::registry::Phase;
use super::remarks::{Remark, RemarkKind};
use super::{PhaseOptions, PhaseResult, Statistics};
use oriel_ori::{ControlFlow, Function, Instruction, Liveness};
use std::rc::Rc;
use std::time::Instant;

/// Runs phases over one function.
#[derive(Debug)]
pub struct Manager<'a> {
    options: &'a PhaseOptions,
    wants_remarks: bool,
    statistics: Statistics,
    remarks: Vec<Remark>,
    analyses: AnalysisCache,
    /// True if the function is at the fixed point of the suite, as the last phase that changed it
    /// left it.
    is_simplified: bool,
    /// How far the pipeline has come.
    pub(super) progress: Progress,
    /// How often phases may still learn that the level of optimisation is above one.
    level_budget: Budget,
    /// Weighted instructions that phases have paid for fewer registers with.
    allowance: f64,
}

impl<'a> Manager<'a> {
    /// Creates a manager for one function. Without `wants_remarks` phases do not spend time on
    /// remarks.
    pub fn new(options: &'a PhaseOptions, wants_remarks: bool) -> Self {
        Self {
            options,
            wants_remarks,
            statistics: Statistics::default(),
            remarks: Vec::new(),
            analyses: AnalysisCache::default(),
            is_simplified: false,
            progress: Progress::START,
            level_budget: options.knobs.budget(Knob::OptBudget),
            allowance: 0.0,
        }
    }

    /// Makes the analyses that a phase needs. [`Manager::run`] does it, too, and takes longer then.
    pub fn prepare(&mut self, phase: &Phase, function: &Function) {
        self.analyses.prepare(phase.needs, function, self.options);
    }

    /// Runs a phase over the function; one that is not part of Oriel does nothing.
    pub fn run(&mut self, phase: &Phase, function: &mut Function) -> PhaseResult {
        let Some(run) = phase.run else {
            return PhaseResult::Unchanged;
        };
        self.prepare(phase, function);
        let was_simplified = std::mem::take(&mut self.is_simplified);
        let start = Instant::now();
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

    /// Checks that the analyses which a phase kept are still right.
    ///
    /// # Errors
    /// They are not; the message names phase and analysis.
    pub fn check_analyses(&self, phase: &Phase, function: &Function) -> Result<(), String> {
        self.analyses.check(phase, function, self.options)
    }

    /// Returns the control flow of the function as the last phase left it.
    pub fn control_flow(&mut self, function: &Function) -> Rc<ControlFlow> {
        self.analyses.control_flow(function, self.options)
    }

    /// Returns the liveness of the function as the last phase left it.
    pub fn liveness(&mut self, function: &Function) -> Rc<Liveness> {
        self.analyses.liveness(function, self.options)
    }

    /// Returns how many weighted instructions the phases have added to have fewer registers.
    pub fn allowance(&self) -> f64 {
        self.allowance
    }

    /// What the phases counted, and what they had to say.
    pub fn finish(self) -> (Statistics, Vec<Remark>) {
        (self.statistics, self.remarks)
    }
}

/// What a phase may ask for and add to while it runs.
#[derive(Debug)]
pub struct PhaseContext<'a> {
    /// What the user asks of phases.
    pub options: &'a PhaseOptions,
    manager: ManagerParts<'a>,
    /// The phase that runs.
    phase: &'static str,
}

#[derive(Debug)]
struct ManagerParts<'a> {
    statistics: &'a mut Statistics,
    remarks: Option<&'a mut Vec<Remark>>,
    analyses: &'a mut AnalysisCache,
    /// Of the function before the phase.
    was_simplified: bool,
    /// Of the function behind it, if the phase says so.
    is_simplified: &'a mut bool,
    progress: &'a mut Progress,
    level_budget: &'a mut Budget,
    allowance: &'a mut f64,
}

impl PhaseContext<'_> {
    /// Adds to one of the counters of the phase that runs.
    pub fn count(&mut self, counter: &'static str, amount: u64) {
        self.manager.statistics.add(self.phase, counter, amount);
    }

    /// Returns the result of a phase that did something so many times, which one of its counters
    /// has.
    pub(super) fn result_of(&mut self, counter: &'static str, amount: usize) -> PhaseResult {
        self.count(counter, amount as u64);
        PhaseResult::of(amount != 0)
    }

    /// Says something about an instruction, or without one about the function, to those who ask for
    /// remarks.
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

    /// Returns the function's control flow as it is now.
    pub fn control_flow(&mut self, function: &Function) -> Rc<ControlFlow> {
        self.manager.analyses.control_flow(function, self.options)
    }

    /// Returns the function's liveness as it is now.
    pub fn liveness(&mut self, function: &Function) -> Rc<Liveness> {
        self.manager.analyses.liveness(function, self.options)
    }

    /// Would the [suite](super::general_optimize) of sub-passes find nothing in the function as the
    /// phase got it, because it has found nothing before and no phase has changed the function
    /// since?
    pub(super) fn is_simplified(&self) -> bool {
        self.manager.was_simplified
    }

    /// Takes note that the suite would find nothing in the function as the phase leaves it.
    pub(super) fn set_simplified(&mut self) {
        *self.manager.is_simplified = true;
    }

    /// Returns the level of optimisation, as phases gate themselves by it: LLVM's, but not above 1
    /// once as many phases have asked as knob 499 (OptBudget) allows.
    pub fn optimization_level(&mut self) -> u32 {
        let level = self.options.optimization_level;
        match level > 1 && !self.manager.level_budget.spend() {
            true => 1,
            false => level,
        }
    }

    /// Takes note that the phase has added so many weighted instructions to have fewer registers:
    /// the guard of profiles does not hold these against the function.
    pub fn allow(&mut self, weighted_instructions: f64) {
        *self.manager.allowance += weighted_instructions.max(0.0);
    }

    /// How far the pipeline has come.
    pub fn progress(&self) -> Progress {
        *self.manager.progress
    }

    /// Takes note that the pipeline has come so far; it never goes back.
    pub fn advance(&mut self, progress: Progress) {
        *self.manager.progress = progress.max(*self.manager.progress);
    }

    /// Takes note that the phase changed the function so that only these analyses are still right;
    /// for those that ask for one again afterwards.
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
