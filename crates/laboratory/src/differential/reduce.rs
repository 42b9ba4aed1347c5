//! Reduces failures: fewer phases, one input, smaller functions.

use super::check::{Failure, transform};
use super::judge::Judge;
use super::sequence::Sequence;
use super::shrink;
use super::subject::Subject;
use oriel_interpreter::Limits;

/// The most attempts of a reduction: each runs the functions twice.
const ATTEMPTS: usize = 3000;

/// Returns the smallest subject and sequence found that fail in the same way.
///
/// # Panics
/// The failure does not occur for this subject and sequence.
pub fn reduce(
    subject: &Subject,
    sequence: &Sequence,
    failure: &Failure,
    limits: Limits,
) -> (Subject, Sequence, Failure) {
    // A longer run than with the original functions indicates a lost loop exit.
    let steps = subject
        .baseline(limits)
        .map_or(limits.steps, |baseline| baseline.most_steps());
    let mut judge = Judge {
        kind: failure.kind,
        limits: Limits { steps, ..limits },
        attempts: ATTEMPTS,
    };
    let (mut subject, mut sequence) = (subject.clone(), sequence.clone());
    keep_one_input(&mut subject, &sequence, failure, &mut judge);
    drop_steps(&subject, &mut sequence, &mut judge);
    run_first_steps(&mut subject, &mut sequence, &mut judge);
    drop_functions(&mut subject, &sequence, &mut judge);
    shrink::shrink(&mut subject, &sequence, &mut judge);
    judge.attempts = 1;
    let failure = judge.ask(&subject, &sequence);
    (
        subject,
        sequence,
        failure.expect("the failure stays while things get smaller"),
    )
}

fn keep_one_input(subject: &mut Subject, sequence: &Sequence, failure: &Failure, judge: &mut Judge) {
    // A failure before any run needs no input.
    let inputs = match failure.input {
        Some(input) => vec![subject.inputs[input].clone()],
        None => Vec::new(),
    };
    let inputs = std::mem::replace(&mut subject.inputs, inputs);
    if judge.ask(subject, sequence).is_none() {
        subject.inputs = inputs;
    }
}

/// Drops each step that the failure does not need.
fn drop_steps(subject: &Subject, sequence: &mut Sequence, judge: &mut Judge) {
    let mut number = sequence.0.len();
    while number > 0 {
        number -= 1;
        let mut fewer = sequence.clone();
        fewer.0.remove(number);
        if judge.ask(subject, &fewer).is_some() {
            *sequence = fewer;
        }
    }
}

/// Runs the steps before the failing one on the functions, so that one step remains.
fn run_first_steps(subject: &mut Subject, sequence: &mut Sequence, judge: &mut Judge) {
    while sequence.0.len() > 1 {
        let first = Sequence(vec![sequence.0[0].clone()]);
        let rest = Sequence(sequence.0[1..].to_vec());
        let Ok(functions) = transform(subject, &first) else {
            return;
        };
        let later = Subject {
            functions,
            ..subject.clone()
        };
        if judge.ask(&later, &rest).is_none() {
            return;
        }
        (*subject, *sequence) = (later, rest);
    }
}

/// Drops each function that the failure does not need.
fn drop_functions(subject: &mut Subject, sequence: &Sequence, judge: &mut Judge) {
    let mut number = subject.functions.len();
    while number > 0 && subject.functions.len() > 1 {
        number -= 1;
        let mut fewer = subject.clone();
        fewer.functions.remove(number);
        if judge.ask(&fewer, sequence).is_some() {
            *subject = fewer;
        }
    }
}
