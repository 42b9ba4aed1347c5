//! Lists of phases to try.

use super::wrong_edit::Edit;
use oriel_engine::snapshot::abi::Stage;
use oriel_phases::registry::{Forms, PHASES, Phase};
use oriel_random::{Random, Stream};
use std::fmt::{self, Display, Formatter};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run a phase.
    Phase(&'static Phase),
    /// Make a wrong edit, to test whether it is found.
    Edit(Edit),
}

impl Display for Step {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase(phase) => out.write_str(phase.name),
            Self::Edit(edit) => edit.fmt(out),
        }
    }
}

/// A list of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence(pub Vec<Step>);

impl Display for Sequence {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            write!(out, "{}{step}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Sequence {
    /// Creates a list of phases.
    pub fn of_phases(phases: impl IntoIterator<Item = &'static Phase>) -> Self {
        Self(phases.into_iter().map(Step::Phase).collect())
    }

    /// Returns the list as `oriel exec --after` and `-oriel-phases` expect it: each phase with its
    /// stage.
    pub fn at(&self, stage: Stage) -> String {
        let steps: Vec<String> = self
            .0
            .iter()
            .map(|step| format!("{step}@{}", stage.name()))
            .collect();
        steps.join(",")
    }
}

/// The most phases in a random list.
const LONGEST: usize = 8;

/// Returns the lists for functions of a stage: each phase that accepts them alone, the pipeline
/// (all phases of that stage in ptxas' order), and `random` lists with repetitions from the seed.
/// `is_wanted` filters the phases.
pub fn sequences(
    stage: Stage,
    is_wanted: &dyn Fn(&Phase) -> bool,
    random: usize,
    seed: u64,
) -> Vec<Sequence> {
    let form = Forms::at(stage);
    let phases: Vec<&'static Phase> = PHASES
        .iter()
        .filter(|phase| phase.run.is_some() && phase.forms.contains(form) && is_wanted(phase))
        .collect();
    if phases.is_empty() {
        return Vec::new();
    }
    let mut sequences: Vec<Sequence> = phases.iter().map(|&phase| Sequence::of_phases([phase])).collect();
    sequences.push(Sequence::of_phases(
        phases.iter().copied().filter(|phase| phase.stage == stage),
    ));
    let mut choices = Random::new(seed, Stream::Sequences);
    sequences.extend((0..random).map(|_| {
        let length = choices.between(2, LONGEST);
        Sequence::of_phases((0..length).map(|_| choices.pick(&phases)))
    }));
    sequences.retain(|sequence| !sequence.0.is_empty());
    sequences
}
