//! The phases denoted by the names in an option.

use super::registry::{Forms, Phase, Registry};
use oriel_engine::snapshot::abi::Stage;

/// A phase that the user named, and its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The phase.
    pub phase: &'static Phase,
    /// The stage.
    pub stage: Stage,
}

impl Registry {
    /// Returns the phases in a list such as `OriPerformLiveDead,PlaceBlocksInSourceOrder@ssa`.
    ///
    /// # Errors
    /// A name is unknown, Oriel does not implement the phase, or it does not accept the form of the
    /// stage.
    pub fn select(&self, list: &str) -> Result<Vec<Selected>, String> {
        let mut selected = Vec::new();
        for word in list.split(',') {
            let (name, stage) = match word.split_once('@') {
                None => (word, None),
                Some((name, "ssa")) => (name, Some(Stage::Ssa)),
                Some((name, "late")) => (name, Some(Stage::Late)),
                Some((_, other)) => return Err(format!("'{other}' is no stage; allowed are: ssa, late")),
            };
            let known = selected.len();
            for phase in self.runnable(name) {
                let stage = stage.unwrap_or(phase.stage);
                if !phase.forms.contains(Forms::at(stage)) {
                    return Err(format!("{} cannot run at stage {}", phase.name, stage.name()));
                }
                selected.push(Selected { phase, stage });
            }
            if selected.len() == known {
                return Err(self.unknown(name));
            }
        }
        Ok(selected)
    }

    /// Returns the phases in a list of names, at any stage.
    ///
    /// # Errors
    /// No implemented phase has the name.
    pub fn named(&self, list: &str) -> Result<Vec<&'static Phase>, String> {
        let mut phases = Vec::new();
        for name in list.split(',') {
            let known = phases.len();
            phases.extend(self.runnable(name));
            if phases.len() == known {
                return Err(self.unknown(name));
            }
        }
        Ok(phases)
    }

    /// Returns the phases before one in the order, each at its own stage; for a group, before its
    /// first.
    ///
    /// # Errors
    /// No implemented phase has the name.
    pub fn preceding(&self, name: &str) -> Result<Vec<Selected>, String> {
        let first = self.named(name)?[0];
        let before = self.phases().take_while(|&phase| phase != first);
        Ok(before
            .filter(|phase| phase.run.is_some())
            .map(|phase| Selected {
                phase,
                stage: phase.stage,
            })
            .collect())
    }

    /// Returns the implemented phases with a name.
    fn runnable<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'static Phase> + 'n {
        self.phases()
            .filter(move |phase| phase.run.is_some() && phase.is_named(name))
    }

    fn unknown(&self, name: &str) -> String {
        let is_place = self.phases().any(|phase| phase.is_named(name));
        let runnable = self.phases().filter(|phase| phase.run.is_some());
        let names: Vec<&str> = runnable.map(|phase| phase.name).collect();
        let what = if is_place {
            "is not part of Oriel"
        } else {
            "is no phase"
        };
        format!("'{name}' {what}; phases are: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::PHASES;

    fn names(list: &str) -> Vec<(&'static str, Stage)> {
        let selected = Registry::default().select(list).unwrap();
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
            let error = Registry::default().select(list).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        let place = PHASES.iter().find(|phase| phase.run.is_none()).expect("a place");
        let registry = Registry::default();
        let problem = registry.select(place.name).unwrap_err();
        assert!(problem.contains("is not part of Oriel"), "{problem}");
        assert!(registry.named("MergeBasicBlocks@ssa").is_err());
    }

    #[test]
    fn what_precedes_a_phase_is_what_the_table_has_before_it() {
        let registry = Registry::default();
        let names = |name| -> Vec<&str> {
            let preceding = registry.preceding(name).unwrap();
            preceding.iter().map(|it| it.phase.name).collect()
        };
        assert_eq!(names(PHASES[0].name), [""; 0]);
        let second = PHASES.iter().filter(|phase| phase.run.is_some()).nth(1).unwrap();
        assert_eq!(names(second.name), [PHASES[0].name]);
        assert_eq!(names("LoopStructurePass"), names("LoopMakeSingleEntry"));
        assert!(registry.preceding("GeneralOptimise").is_err());
    }
}
