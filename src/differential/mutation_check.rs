//! Can the check fail? Wrong edits are made on purpose, and have to be found.
//!
//! An edit that no run can tell is no wrong edit. So an edit is made only at an instruction that the check's inputs execute
//! and whose result it changes at least once; traps tell that, not the comparison that is on trial. What it changes may
//! still go nowhere: an edit that the check does not find is tried on more inputs than the check had. Where they tell it,
//! the check had too few; where they do not, the edit is equivalent as far as can be seen.

use super::check::{Problem, ProblemKind, check_sequence};
use super::probe::makes_a_difference;
use super::sequence::{Sequence, Step};
use super::subject::{Baseline, Input, Subject};
use super::wrong_edit::{Edit, EditKind};
use crate::execute::Limits;
use crate::ori::Instruction;
use crate::random::{Random, Stream};
use std::ops::AddAssign;

/// What became of wrong edits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MutationCounts {
    /// Edits that change the result of their instruction on the check's inputs.
    pub injected: usize,
    /// Those that the check found.
    pub caught: usize,
    /// Those that it found on more inputs only.
    pub caught_with_more: usize,
    /// Those whose difference reaches memory on no input.
    pub equivalent: usize,
    /// Edits of instructions that no input of the check executes, or that have the same result after it.
    pub without_difference: usize,
    /// Edits that the verifier refuses, or that make what is not modelled.
    pub refused: usize,
}

impl AddAssign for MutationCounts {
    fn add_assign(&mut self, other: Self) {
        self.injected += other.injected;
        self.caught += other.caught;
        self.caught_with_more += other.caught_with_more;
        self.equivalent += other.equivalent;
        self.without_difference += other.without_difference;
        self.refused += other.refused;
    }
}

/// Attempts to find an edit that the verifier accepts and that makes a difference.
const ATTEMPTS: usize = 4;

/// Makes one wrong edit of a kind in a subject, at an instruction that the seed chooses, and sees whether it is found.
/// `more` are inputs beside the subject's own, which say whether an edit that is not found could have been.
pub fn mutation_check(
    subject: &Subject,
    baseline: &Baseline,
    more: &[Input],
    kind: EditKind,
    seed: u64,
    limits: Limits,
) -> MutationCounts {
    let mut counts = MutationCounts::default();
    let mut random = Random::new(seed, Stream::Edits);
    let mut places = places(subject);
    while !places.is_empty() && counts.refused + counts.without_difference < ATTEMPTS {
        let (number, instruction) = places.swap_remove(random.index(places.len()));
        let edit = Edit {
            kind,
            function: subject.functions[number].info.name.clone(),
            instruction,
        };
        let mut edited = subject.functions[number].clone();
        if !edit.apply(&mut edited) {
            continue;
        }
        if !edited.verify().is_empty() {
            counts.refused += 1;
            continue;
        }
        if !makes_a_difference(subject, &subject.inputs, number, &edit, limits) {
            counts.without_difference += 1;
            continue;
        }
        let sequence = Sequence(vec![Step::Edit(edit)]);
        let count = match judge(subject, baseline, more, &sequence, limits) {
            Verdict::Unmodelled => {
                counts.refused += 1;
                continue;
            }
            Verdict::Caught => &mut counts.caught,
            Verdict::CaughtWithMore => &mut counts.caught_with_more,
            Verdict::Untold => &mut counts.equivalent,
        };
        (*count, counts.injected) = (1, 1);
        break;
    }
    counts
}

/// Every instruction, with the number of its function.
fn places(subject: &Subject) -> Vec<(usize, Instruction)> {
    let mut places = Vec::new();
    for (number, function) in subject.functions.iter().enumerate() {
        for &block in function.blocks() {
            places.extend(function.instructions(block).map(|it| (number, it)));
        }
    }
    places
}

enum Verdict {
    Unmodelled,
    Caught,
    CaughtWithMore,
    Untold,
}

fn judge(
    subject: &Subject,
    baseline: &Baseline,
    more: &[Input],
    sequence: &Sequence,
    limits: Limits,
) -> Verdict {
    if let Err(problem) = check_sequence(subject, baseline, sequence) {
        return verdict_on(&problem, Verdict::Caught);
    }
    let stronger = Subject {
        inputs: more.to_vec(),
        ..subject.clone()
    };
    let told = stronger
        .baseline(limits)
        .map(|baseline| check_sequence(&stronger, &baseline, sequence));
    match told {
        Ok(Err(problem)) => verdict_on(&problem, Verdict::CaughtWithMore),
        Ok(Ok(())) | Err(_) => Verdict::Untold,
    }
}

/// What the interpreter does not model says nothing about the edit.
fn verdict_on(problem: &Problem, found: Verdict) -> Verdict {
    let is_unmodelled = problem.kind == ProblemKind::Fault && problem.text.starts_with("unsupported");
    if is_unmodelled { Verdict::Unmodelled } else { found }
}
