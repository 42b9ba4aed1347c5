//! Can the check fail? Wrong edits are made on purpose, and have to be found.
//!
//! An edit that no run can tell is no wrong edit. So what the check does not find is tried on more inputs than the check
//! had: where they tell it, the edit was missed; where they do not, it is equivalent as far as can be seen, and not
//! counted as injected. Whether the edited instruction is executed at all is asked by a trap in its place.

use super::check::{Problem, ProblemKind, check_sequence};
use super::sequence::{Sequence, Step};
use super::subject::{Baseline, Input, Subject};
use super::wrong_edit::{Edit, EditKind};
use crate::execute::{FaultKind, Limits};
use crate::ori::{DataType, Instruction, InstructionBuilder, Operation, Position};
use crate::random::{Random, Stream};
use std::ops::AddAssign;

/// What became of wrong edits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MutationCounts {
    /// Edits that change what some input leaves in memory, or make it fail.
    pub injected: usize,
    /// Those of them that the check found.
    pub caught: usize,
    /// Edits of instructions that are executed, but that no input tells.
    pub equivalent: usize,
    /// Edits of instructions that no input executes.
    pub not_executed: usize,
    /// Edits that the verifier refuses, or that make what is not modelled.
    pub refused: usize,
}

impl AddAssign for MutationCounts {
    fn add_assign(&mut self, other: Self) {
        self.injected += other.injected;
        self.caught += other.caught;
        self.equivalent += other.equivalent;
        self.not_executed += other.not_executed;
        self.refused += other.refused;
    }
}

/// Attempts to find an edit that the verifier accepts.
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
) -> (MutationCounts, Option<(Sequence, Problem)>) {
    let mut counts = MutationCounts::default();
    let mut random = Random::new(seed, Stream::Edits);
    let mut places = places(subject);
    while !places.is_empty() && counts.refused < ATTEMPTS {
        let (function, instruction) = places.swap_remove(random.index(places.len()));
        let edit = Edit {
            kind,
            function: subject.functions[function].info.name.clone(),
            instruction,
        };
        if !edit.apply(&mut subject.functions[function].clone()) {
            continue;
        }
        let sequence = Sequence(vec![Step::Edit(edit)]);
        match judge(subject, baseline, more, &sequence, limits) {
            Verdict::Refused => counts.refused += 1,
            Verdict::Caught(problem) => {
                (counts.injected, counts.caught) = (1, 1);
                return (counts, Some((sequence, problem)));
            }
            Verdict::Missed(problem) => {
                counts.injected = 1;
                return (counts, Some((sequence, problem)));
            }
            Verdict::Untold if is_executed(subject, more, function, instruction, limits) => {
                counts.equivalent = 1;
                return (counts, None);
            }
            Verdict::Untold => {
                counts.not_executed = 1;
                return (counts, None);
            }
        }
    }
    (counts, None)
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
    Refused,
    Caught(Problem),
    Missed(Problem),
    Untold,
}

fn judge(
    subject: &Subject,
    baseline: &Baseline,
    more: &[Input],
    sequence: &Sequence,
    limits: Limits,
) -> Verdict {
    match check_sequence(subject, baseline, sequence) {
        Err(problem) => verdict_on(problem, Verdict::Caught),
        Ok(()) => {
            let stronger = Subject {
                inputs: more.to_vec(),
                ..subject.clone()
            };
            let told = stronger
                .baseline(limits)
                .map(|baseline| check_sequence(&stronger, &baseline, sequence));
            match told {
                Ok(Err(problem)) => verdict_on(problem, Verdict::Missed),
                _ => Verdict::Untold,
            }
        }
    }
}

fn verdict_on(problem: Problem, found: impl FnOnce(Problem) -> Verdict) -> Verdict {
    let is_unmodelled = problem.kind == ProblemKind::Fault && problem.text.starts_with("unsupported");
    match problem.kind {
        ProblemKind::Memory | ProblemKind::Fault if !is_unmodelled => found(problem),
        _ => Verdict::Refused,
    }
}

/// Does some input execute an instruction? A trap in its place tells.
fn is_executed(
    subject: &Subject,
    more: &[Input],
    function: usize,
    instruction: Instruction,
    limits: Limits,
) -> bool {
    let mut trapping = subject.clone();
    let code = &mut trapping.functions[function];
    let block = code.block_of(instruction).expect("a place is in a block");
    let at = match code.operation(instruction) {
        Operation::Phi => code.first_non_phi(block).expect("a block has a terminator"),
        _ => instruction,
    };
    code.insert(Position::Before(at), InstructionBuilder::new(Operation::Trap, DataType::None));
    let Ok(program) = trapping.compile() else {
        return false;
    };
    let mut inputs = subject.inputs.iter().chain(more);
    inputs.any(|input| matches!(input.run(&program, limits), Err(fault) if fault.kind == FaultKind::Trap))
}
