//! The phases, and the manager that runs them in ptxas' order.
//!
//! One phase is one file with one name, which is the name in the [registry], in options, dumps and
//! tests. A phase gets a function and says whether it changed it.

pub mod analyze_control_flow;
mod irreducible_cycles;
pub mod loop_make_single_entry;
pub mod mark_additional_cold_blocks;
pub mod merge_basic_blocks;
pub mod optimize_hot_cold_flow;
pub mod optimize_hot_cold_in_loop;
pub mod place_blocks_in_source_order;
pub mod registry;
pub mod remove_unreachable_blocks;
pub mod set_control_flow_op_last_in_bb;
#[cfg(test)]
pub(crate) mod testing;

use crate::graph::Traversal;
use crate::ori::Function;
use crate::snapshot::abi::Stage;
use registry::{Forms, PHASES, Phase};

/// Did a phase change the function?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseResult {
    /// It is as it was.
    Unchanged,
    /// It is not.
    Changed,
}

impl PhaseResult {
    /// The result of a phase that changed something or not.
    pub const fn of(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::Unchanged }
    }
}

/// What the user asks of phases beyond which of them run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseOptions {
    /// Does MergeBasicBlocks leave blocks as they are?
    pub dont_merge_basic_blocks: bool,
    /// The walk that blocks are numbered by.
    pub traversal: Traversal,
}

/// What phases share while a function goes through them.
#[derive(Debug)]
pub struct PhaseContext<'a> {
    /// What the user asks of phases.
    pub options: &'a PhaseOptions,
    /// What has been counted, by phase and name.
    pub statistics: &'a mut Statistics,
    /// The phase that runs.
    phase: &'static str,
}

impl PhaseContext<'_> {
    /// Adds to one of the counters of the phase that runs.
    pub fn count(&mut self, counter: &'static str, amount: u64) {
        self.statistics.add(self.phase, counter, amount);
    }
}

/// Counters of phases, in the order in which they first counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    counters: Vec<(&'static str, &'static str, u64)>,
}

impl Statistics {
    /// Phase, counter and value of everything that was counted.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + '_ {
        self.counters.iter().copied()
    }

    fn add(&mut self, phase: &'static str, counter: &'static str, amount: u64) {
        if amount == 0 {
            return;
        }
        let known = self
            .counters
            .iter_mut()
            .find(|row| row.0 == phase && row.1 == counter);
        match known {
            Some((_, _, value)) => *value += amount,
            None => self.counters.push((phase, counter, amount)),
        }
    }
}

/// A phase that the user named, and where it has to run.
#[derive(Clone, Copy, Debug)]
pub struct Selected {
    /// The phase.
    pub phase: &'static Phase,
    /// The stage.
    pub stage: Stage,
}

/// The phases in a list such as `OriPerformLiveDead,PlaceBlocksInSourceOrder@ssa`.
///
/// # Errors
/// A name is unknown, the phase is not part of Oriel, or it does not accept the form of the stage.
pub fn select(list: &str) -> Result<Vec<Selected>, String> {
    let mut selected = Vec::new();
    for word in list.split(',') {
        let (name, stage) = match word.split_once('@') {
            None => (word, None),
            Some((name, "ssa")) => (name, Some(Stage::Ssa)),
            Some((name, "late")) => (name, Some(Stage::Late)),
            Some((_, other)) => return Err(format!("'{other}' is no stage; allowed are: ssa, late")),
        };
        let known = selected.len();
        for phase in registry::named(name).filter(|phase| phase.run.is_some()) {
            let stage = stage.unwrap_or(phase.stage);
            if !phase.forms.contains(Forms::at(stage)) {
                return Err(format!("{} cannot run at stage {}", phase.name, stage.name()));
            }
            selected.push(Selected { phase, stage });
        }
        if selected.len() == known {
            return Err(unknown(name));
        }
    }
    Ok(selected)
}

fn unknown(name: &str) -> String {
    let is_place = registry::named(name).next().is_some();
    let names: Vec<&str> = PHASES
        .iter()
        .filter(|phase| phase.run.is_some())
        .map(|phase| phase.name)
        .collect();
    let what = if is_place {
        "is not part of Oriel"
    } else {
        "is no phase"
    };
    format!("'{name}' {what}; phases are: {}", names.join(", "))
}

/// Runs phases over a function, in the order of the table; did one of them change it?
pub fn run(
    function: &mut Function,
    is_selected: impl Fn(&Phase) -> bool,
    options: &PhaseOptions,
    statistics: &mut Statistics,
    mut after_each: impl FnMut(&Function, &'static Phase),
) -> PhaseResult {
    let mut result = PhaseResult::Unchanged;
    for phase in PHASES.iter().filter(|phase| is_selected(phase)) {
        let Some(run) = phase.run else { continue };
        let mut context = PhaseContext {
            options,
            statistics,
            phase: phase.name,
        };
        if run(function, &mut context) == PhaseResult::Changed {
            result = PhaseResult::Changed;
        }
        after_each(function, phase);
    }
    result
}
