//! Reduces failures: fewer phases, one input, smaller functions.

use super::check::{Failure, transform};
use super::failure_test::FailureTest;
use super::sequence::Sequence;
use super::shrink;
use super::tested_module::TestedModule;
use oriel_interpreter::Limits;

/// The most attempts of a reduction: each runs the functions twice.
const ATTEMPTS: usize = 3000;

/// Returns the smallest tested module and sequence found that fail in the same way.
///
/// # Panics
/// The failure does not occur for this tested module and sequence.
pub fn reduce(
    tested: &TestedModule,
    sequence: &Sequence,
    failure: &Failure,
    limits: Limits,
) -> (TestedModule, Sequence, Failure) {
    // A longer run than with the original functions indicates a lost loop exit.
    let steps = tested
        .baseline(limits)
        .map_or(limits.steps, |baseline| baseline.most_steps());
    let mut test = FailureTest {
        kind: failure.kind,
        limits: Limits { steps, ..limits },
        attempts: ATTEMPTS,
    };
    let (mut tested, mut sequence) = (tested.clone(), sequence.clone());
    keep_one_input(&mut tested, &sequence, failure, &mut test);
    drop_steps(&tested, &mut sequence, &mut test);
    run_first_steps(&mut tested, &mut sequence, &mut test);
    drop_functions(&mut tested, &sequence, &mut test);
    shrink::shrink(&mut tested, &sequence, &mut test);
    test.attempts = 1;
    let failure = test.failure_of(&tested, &sequence);
    (
        tested,
        sequence,
        failure.expect("the failure stays while things get smaller"),
    )
}

fn keep_one_input(tested: &mut TestedModule, sequence: &Sequence, failure: &Failure, test: &mut FailureTest) {
    // A failure before any run needs no input.
    let inputs = match failure.input {
        Some(input) => vec![tested.inputs[input].clone()],
        None => Vec::new(),
    };
    let inputs = std::mem::replace(&mut tested.inputs, inputs);
    if test.failure_of(tested, sequence).is_none() {
        tested.inputs = inputs;
    }
}

/// Drops each step that the failure does not need.
fn drop_steps(tested: &TestedModule, sequence: &mut Sequence, test: &mut FailureTest) {
    let mut number = sequence.0.len();
    while number > 0 {
        number -= 1;
        let mut fewer = sequence.clone();
        fewer.0.remove(number);
        if test.failure_of(tested, &fewer).is_some() {
            *sequence = fewer;
        }
    }
}

/// Runs the steps before the failing one on the functions, so that one step remains.
fn run_first_steps(tested: &mut TestedModule, sequence: &mut Sequence, test: &mut FailureTest) {
    while sequence.0.len() > 1 {
        let first = Sequence(vec![sequence.0[0].clone()]);
        let rest = Sequence(sequence.0[1..].to_vec());
        let Ok(functions) = transform(tested, &first) else {
            return;
        };
        let later = TestedModule {
            functions,
            ..tested.clone()
        };
        if test.failure_of(&later, &rest).is_none() {
            return;
        }
        (*tested, *sequence) = (later, rest);
    }
}

/// Drops each function that the failure does not need.
fn drop_functions(tested: &mut TestedModule, sequence: &Sequence, test: &mut FailureTest) {
    let mut number = tested.functions.len();
    while number > 0 && tested.functions.len() > 1 {
        number -= 1;
        let mut fewer = tested.clone();
        fewer.functions.remove(number);
        if test.failure_of(&fewer, sequence).is_some() {
            *tested = fewer;
        }
    }
}
