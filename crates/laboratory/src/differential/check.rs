//! Compares the memory that functions leave before and after phases.

use super::sequence::{Sequence, Step};
use super::tested_module::{Baseline, TestedModule, compile, text};
use oriel_engine::guard::guarded;
use oriel_ori::Function;
use oriel_phases::{PhaseOptions, PhaseResult, Statistics};
use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// A phase panicked.
    Panic,
    /// Ori's verifier refuses the result of a phase.
    Refused,
    /// A phase reported no change, but changed the function.
    FalseReport,
    /// The functions cannot be executed any more.
    Fault,
    /// They leave different contents in memory.
    Memory,
    /// The back end refuses the changed functions, or their machine code leaves different contents in
    /// memory.
    MachineCode,
}

impl FailureKind {
    /// Returns the name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Refused => "refused by the verifier",
            Self::FalseReport => "false report",
            Self::Fault => "fault",
            Self::Memory => "different memory",
            Self::MachineCode => "different machine code",
        }
    }
}

/// A failure of a list of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// A description.
    pub text: String,
    /// The input that shows it, if it needs a run.
    pub input: Option<usize>,
}

impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.kind.name(), self.text)
    }
}

impl Failure {
    fn without_run(kind: FailureKind, text: String) -> Self {
        let input = None;
        Self { kind, text, input }
    }
}

/// The checks of one tested module.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Lists of phases that were run.
    pub sequences: usize,
    /// The numbers of the lists that changed a function.
    pub changed: Vec<usize>,
    /// Compared runs. A result that an earlier list also gave is not run again.
    pub comparisons: usize,
    /// The lists that failed.
    pub failures: Vec<(Sequence, Failure)>,
}

/// Runs each of the lists on a tested module, and compares the memory that the results leave with
/// that of the original functions.
pub fn check(tested: &TestedModule, baseline: &Baseline, sequences: &[Sequence]) -> CheckReport {
    let mut report = CheckReport::default();
    let mut seen = HashSet::from([baseline.text.clone()]);
    for (number, sequence) in sequences.iter().enumerate() {
        report.sequences += 1;
        let outcome = transform(tested, sequence).and_then(|functions| {
            let after = text(&functions);
            if after != baseline.text {
                report.changed.push(number);
            }
            if !seen.insert(after) {
                return Ok(());
            }
            report.comparisons += baseline.usable_inputs();
            baseline.compare(tested, &functions)
        });
        if let Err(failure) = outcome {
            report.failures.push((sequence.clone(), failure));
        }
    }
    report
}

/// Runs one list on a tested module.
///
/// # Errors
/// The list fails.
pub fn check_sequence(
    tested: &TestedModule,
    baseline: &Baseline,
    sequence: &Sequence,
) -> Result<(), Failure> {
    let functions = transform(tested, sequence)?;
    if text(&functions) == baseline.text {
        return Ok(());
    }
    baseline.compare(tested, &functions)
}

/// Returns the functions after the steps.
///
/// # Errors
/// A step panics, leaves an invalid function, or wrongly reports no change.
pub(super) fn transform(tested: &TestedModule, sequence: &Sequence) -> Result<Vec<Function>, Failure> {
    let mut functions = tested.functions.clone();
    for step in &sequence.0 {
        for function in &mut functions {
            run_step(step, function, &tested.phase_options)?;
        }
    }
    Ok(functions)
}

fn run_step(step: &Step, function: &mut Function, options: &PhaseOptions) -> Result<(), Failure> {
    let before = function.to_string();
    let name = function.info.name.clone();
    let result = guarded(|| match step {
        Step::Phase(phase) => oriel_phases::run(phase, function, options, &mut Statistics::default()),
        Step::Edit(edit) => PhaseResult::of(edit.apply(function)),
    });
    let result = result
        .map_err(|text| Failure::without_run(FailureKind::Panic, format!("{step} in {name}: {text}")))?;
    if let Some(finding) = function.verify().first() {
        let text = format!("{step} in {name}: {}", finding.display(function));
        return Err(Failure::without_run(FailureKind::Refused, text));
    }
    if result == PhaseResult::Unchanged && function.to_string() != before {
        let text = format!("{step} says that it did not change {name}");
        return Err(Failure::without_run(FailureKind::FalseReport, text));
    }
    Ok(())
}

impl Baseline {
    /// Runs functions derived from a tested module's on its inputs.
    ///
    /// # Errors
    /// They leave different contents in memory, or cannot be executed.
    pub fn compare(&self, tested: &TestedModule, functions: &[Function]) -> Result<(), Failure> {
        let program = compile(functions, &tested.module)
            .map_err(|text| Failure::without_run(FailureKind::Fault, text))?;
        for (number, (input, run)) in tested.inputs.iter().zip(&self.runs).enumerate() {
            let Ok((expected, limits)) = run else { continue };
            let failure = |kind, text| Failure {
                kind,
                text,
                input: Some(number),
            };
            match input.run(&program, *limits) {
                Err(fault) => return Err(failure(FailureKind::Fault, fault.to_string())),
                Ok((contents, _)) => {
                    if let Some(difference) = expected.difference(&contents) {
                        return Err(failure(FailureKind::Memory, difference));
                    }
                }
            }
        }
        Ok(())
    }
}
