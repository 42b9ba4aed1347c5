//! Before and after: the same memory?

use super::sequence::{Sequence, Step};
use super::subject::{Baseline, Subject, compile, text};
use oriel_engine::guard::guarded;
use oriel_ori::Function;
use oriel_phases::{PhaseOptions, PhaseResult, Statistics};
use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

/// What a list of steps did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A phase panicked.
    Panic,
    /// Ori's verifier refuses what a phase left.
    Refused,
    /// A phase says that it changed nothing, but it did.
    FalseReport,
    /// The functions no longer run.
    Fault,
    /// They leave something else in memory.
    Memory,
    /// What the back end makes of the changed functions leaves something else in memory, or is
    /// refused.
    MachineCode,
}

impl ProblemKind {
    /// What it is called in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Refused => "refused by the verifier",
            Self::FalseReport => "false report",
            Self::Fault => "fault",
            Self::Memory => "other memory",
            Self::MachineCode => "other machine code",
        }
    }
}

/// Something that a list of steps did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// In one word.
    pub kind: ProblemKind,
    /// In a sentence.
    pub text: String,
    /// The input that shows it, if it takes a run.
    pub input: Option<usize>,
}

impl Display for Problem {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.kind.name(), self.text)
    }
}

impl Problem {
    fn without_run(kind: ProblemKind, text: String) -> Self {
        let input = None;
        Self { kind, text, input }
    }
}

/// What was checked of one subject.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Lists of phases that were run.
    pub sequences: usize,
    /// The numbers of those that changed a function.
    pub changed: Vec<usize>,
    /// Runs that were compared: a result that an earlier list gave as well does not run again.
    pub comparisons: usize,
    /// The lists that did something wrong.
    pub problems: Vec<(Sequence, Problem)>,
}

/// Takes a subject through each of the lists and compares what the results leave in memory with
/// what they left before.
pub fn check(subject: &Subject, baseline: &Baseline, sequences: &[Sequence]) -> CheckReport {
    let mut report = CheckReport::default();
    let mut seen = HashSet::from([baseline.text.clone()]);
    for (number, sequence) in sequences.iter().enumerate() {
        report.sequences += 1;
        let outcome = transform(subject, sequence).and_then(|functions| {
            let after = text(&functions);
            if after != baseline.text {
                report.changed.push(number);
            }
            if !seen.insert(after) {
                return Ok(());
            }
            report.comparisons += baseline.usable_inputs();
            baseline.compare(subject, &functions)
        });
        if let Err(problem) = outcome {
            report.problems.push((sequence.clone(), problem));
        }
    }
    report
}

/// Takes a subject through one list.
///
/// # Errors
/// The list does something wrong.
pub fn check_sequence(subject: &Subject, baseline: &Baseline, sequence: &Sequence) -> Result<(), Problem> {
    let functions = transform(subject, sequence)?;
    if text(&functions) == baseline.text {
        return Ok(());
    }
    baseline.compare(subject, &functions)
}

/// What the steps make of the functions.
///
/// # Errors
/// A step panics, leaves what the verifier refuses, or says that it changed nothing though it did.
pub(super) fn transform(subject: &Subject, sequence: &Sequence) -> Result<Vec<Function>, Problem> {
    let mut functions = subject.functions.clone();
    for step in &sequence.0 {
        for function in &mut functions {
            run_step(step, function, &subject.phase_options)?;
        }
    }
    Ok(functions)
}

fn run_step(step: &Step, function: &mut Function, options: &PhaseOptions) -> Result<(), Problem> {
    let before = function.to_string();
    let name = function.info.name.clone();
    let result = guarded(|| match step {
        Step::Phase(phase) => oriel_phases::run(phase, function, options, &mut Statistics::default()),
        Step::Edit(edit) => PhaseResult::of(edit.apply(function)),
    });
    let result = result
        .map_err(|text| Problem::without_run(ProblemKind::Panic, format!("{step} in {name}: {text}")))?;
    if let Some(finding) = function.verify().first() {
        let text = format!("{step} in {name}: {}", finding.display(function));
        return Err(Problem::without_run(ProblemKind::Refused, text));
    }
    if result == PhaseResult::Unchanged && function.to_string() != before {
        let text = format!("{step} says that it did not change {name}");
        return Err(Problem::without_run(ProblemKind::FalseReport, text));
    }
    Ok(())
}

impl Baseline {
    /// Runs functions that were made of a subject's on its inputs.
    ///
    /// # Errors
    /// They leave something else in memory, or do not run.
    pub fn compare(&self, subject: &Subject, functions: &[Function]) -> Result<(), Problem> {
        let program = compile(functions, &subject.module)
            .map_err(|text| Problem::without_run(ProblemKind::Fault, text))?;
        for (number, (input, run)) in subject.inputs.iter().zip(&self.runs).enumerate() {
            let Ok((expected, limits)) = run else { continue };
            let problem = |kind, text| Problem {
                kind,
                text,
                input: Some(number),
            };
            match input.run(&program, *limits) {
                Err(fault) => return Err(problem(ProblemKind::Fault, fault.to_string())),
                Ok((contents, _)) => {
                    if let Some(difference) = expected.difference(&contents) {
                        return Err(problem(ProblemKind::Memory, difference));
                    }
                }
            }
        }
        Ok(())
    }
}
