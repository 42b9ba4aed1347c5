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
use serde::{Serialize, Serializer};

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

/// Counters of phases, in the order in which the phases first ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    phases: Vec<(&'static str, Vec<(&'static str, u64)>)>,
}

impl Statistics {
    /// Phases that ran, and the counters of each that are not zero.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[(&'static str, u64)])> + '_ {
        self.phases
            .iter()
            .map(|(phase, counters)| (*phase, counters.as_slice()))
    }

    /// Did no phase run?
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    fn counters(&mut self, phase: &'static str) -> &mut Vec<(&'static str, u64)> {
        let known = self.phases.iter().position(|(name, _)| *name == phase);
        let index = known.unwrap_or_else(|| {
            self.phases.push((phase, Vec::new()));
            self.phases.len() - 1
        });
        &mut self.phases[index].1
    }

    fn add(&mut self, phase: &'static str, counter: &'static str, amount: u64) {
        let counters = self.counters(phase);
        match counters.iter_mut().find(|(name, _)| *name == counter) {
            Some((_, value)) => *value += amount,
            None if amount == 0 => {}
            None => counters.push((counter, amount)),
        }
    }
}

/// An object of objects: phases, and in each its counters.
impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Counters<'a>(&'a [(&'static str, u64)]);
        impl Serialize for Counters<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().copied())
            }
        }
        serializer.collect_map(self.iter().map(|(phase, counters)| (phase, Counters(counters))))
    }
}

/// A phase that the user named, and where it has to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The phases in a list of names, at whichever stage.
///
/// # Errors
/// No phase of Oriel has the name.
pub fn named(list: &str) -> Result<Vec<&'static Phase>, String> {
    let mut phases = Vec::new();
    for name in list.split(',') {
        let known = phases.len();
        phases.extend(registry::named(name).filter(|phase| phase.run.is_some()));
        if phases.len() == known {
            return Err(unknown(name));
        }
    }
    Ok(phases)
}

/// The phases that come before one in ptxas' order, each at its own stage; of a group, before its first.
///
/// # Errors
/// No phase of Oriel has the name.
pub fn preceding(name: &str) -> Result<Vec<Selected>, String> {
    let first = named(name)?[0];
    let before = PHASES.iter().take_while(|&phase| phase != first);
    Ok(before
        .filter(|phase| phase.run.is_some())
        .map(|phase| Selected {
            phase,
            stage: phase.stage,
        })
        .collect())
}

/// Runs a phase over a function; one that is not part of Oriel does nothing.
pub fn run(
    phase: &'static Phase,
    function: &mut Function,
    options: &PhaseOptions,
    statistics: &mut Statistics,
) -> PhaseResult {
    let Some(run) = phase.run else {
        return PhaseResult::Unchanged;
    };
    statistics.counters(phase.name);
    let mut context = PhaseContext {
        options,
        statistics,
        phase: phase.name,
    };
    run(function, &mut context)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<(&'static str, Stage)> {
        let selected = select(list).unwrap();
        selected.iter().map(|one| (one.phase.name, one.stage)).collect()
    }

    #[test]
    fn lists_name_phases_groups_and_stages() {
        assert_eq!(
            names("mergebasicblocks,PlaceBlocksInSourceOrder@ssa,LoopStructurePass@late"),
            [
                ("MergeBasicBlocks", Stage::Ssa),
                ("PlaceBlocksInSourceOrder", Stage::Ssa),
                ("LoopMakeSingleEntry", Stage::Late),
            ]
        );
    }

    #[test]
    fn unknown_names_are_errors_that_list_the_phases() {
        for (list, problem) in [
            (
                "GeneralOptimise",
                "'GeneralOptimise' is no phase; phases are: AnalyzeControlFlow, ",
            ),
            (
                "MergeBasicBlocks@dawn",
                "'dawn' is no stage; allowed are: ssa, late",
            ),
            ("", "'' is no phase"),
        ] {
            let error = select(list).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        let place = PHASES.iter().find(|phase| phase.run.is_none()).expect("a place");
        assert!(select(place.name).unwrap_err().contains("is not part of Oriel"));
        assert!(named("MergeBasicBlocks@ssa").is_err());
    }

    #[test]
    fn what_precedes_a_phase_is_what_the_table_has_before_it() {
        let names = |name| -> Vec<&str> { preceding(name).unwrap().iter().map(|it| it.phase.name).collect() };
        assert_eq!(names(PHASES[0].name), [""; 0]);
        let second = PHASES.iter().filter(|phase| phase.run.is_some()).nth(1).unwrap();
        assert_eq!(names(second.name), [PHASES[0].name]);
        assert_eq!(names("LoopStructurePass"), names("LoopMakeSingleEntry"));
        assert!(preceding("GeneralOptimise").is_err());
    }

    #[test]
    fn counters_are_an_object_of_objects() {
        let mut statistics = Statistics::default();
        statistics.counters("A");
        statistics.add("B", "x", 1);
        statistics.add("B", "x", 2);
        statistics.add("B", "y", 0);
        let json = serde_json::to_string(&statistics).unwrap();
        assert_eq!(json, r#"{"A":{},"B":{"x":3}}"#);
    }
}
