//! Tests the checks: the interpreter and the validator must find wrong edits that are made on
//! purpose.
//!
//! An edit that no run can detect is not wrong. So edits are made only at instructions that the
//! check's inputs execute and whose result the edit changes at least once; traps determine that,
//! not the comparison under test. The change may still have no effect, so an edit that the check
//! does not find is tried on more inputs. If these detect it, the check had too few inputs;
//! otherwise the edit is equivalent as far as can be seen. The validator must doubt every edit that
//! some input detects.

use super::check::{Failure, FailureKind, check_sequence};
use super::probe::makes_a_difference;
use super::sequence::{Sequence, Step};
use super::subject::{Baseline, Input, Subject};
use super::wrong_edit::{Edit, EditKind};
use oriel_engine::guard::guarded;
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_interpreter::Limits;
use oriel_ori::{Function, Instruction};
use oriel_random::{Random, Stream};
use oriel_validator::Validator;
use std::ops::AddAssign;

/// The results for wrong edits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MutationCounts {
    /// Edits that change the result of their instruction on the check's inputs.
    pub injected: usize,
    /// Those that the interpreter found.
    pub caught: usize,
    /// Those that it found on additional inputs only.
    pub caught_with_more: usize,
    /// Those of the above that the validator doubts.
    pub doubted: usize,
    /// Those that the validator doubts though no input detects them.
    pub doubted_only: usize,
    /// Those that no input detects and the validator proves: equivalent.
    pub equivalent: usize,
    /// Edits of instructions that no input executes, or whose result stays the same.
    pub without_difference: usize,
    /// Edits that the verifier refuses, or with an unmodelled result.
    pub refused: usize,
}

/// A wrong edit that the interpreter detects but the validator proves.
#[derive(Clone, Debug)]
pub struct WrongProof {
    /// The edit.
    pub sequence: Sequence,
    /// The interpreter's finding.
    pub failure: Failure,
}

impl MutationCounts {
    /// Returns the number of edits that some input detects.
    pub const fn told(&self) -> usize {
        self.caught + self.caught_with_more
    }
}

impl AddAssign for MutationCounts {
    fn add_assign(&mut self, other: Self) {
        self.injected += other.injected;
        self.caught += other.caught;
        self.caught_with_more += other.caught_with_more;
        self.doubted += other.doubted;
        self.doubted_only += other.doubted_only;
        self.equivalent += other.equivalent;
        self.without_difference += other.without_difference;
        self.refused += other.refused;
    }
}

/// Attempts to find an edit that the verifier accepts and that makes a difference.
const ATTEMPTS: usize = 4;

/// The functions for wrong edits, and the means to detect them.
#[derive(Clone, Copy, Debug)]
pub struct MutationTrial<'a> {
    /// The functions, with the inputs of the check.
    pub subject: &'a Subject,
    /// The results of the unchanged functions.
    pub baseline: &'a Baseline,
    /// Additional inputs, which tell whether an undetected edit is detectable.
    pub more: &'a [Input],
    /// The snapshots of functions that come from LLVM, from which the validator knows opcodes.
    pub snapshots: &'a [OwnedSnapshot],
    /// Limits of a run.
    pub limits: Limits,
}

/// Makes one wrong edit of a kind in a subject, at an instruction that the seed selects, and
/// records who finds it.
pub fn mutation_check(
    trial: MutationTrial<'_>,
    kind: EditKind,
    seed: u64,
) -> (MutationCounts, Option<WrongProof>) {
    let subject = trial.subject;
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
        if !makes_a_difference(subject, &subject.inputs, number, &edit, trial.limits) {
            counts.without_difference += 1;
            continue;
        }
        let sequence = Sequence(vec![Step::Edit(edit)]);
        let verdict = trial.judge(&sequence);
        if let Verdict::Unmodelled = verdict {
            counts.refused += 1;
            continue;
        }
        counts.injected = 1;
        let is_proved = trial.is_proved(&subject.functions[number], &edited);
        let failure = match verdict {
            Verdict::Unmodelled | Verdict::Untold => {
                *(if is_proved {
                    &mut counts.equivalent
                } else {
                    &mut counts.doubted_only
                }) = 1;
                return (counts, None);
            }
            Verdict::Caught(failure) => {
                counts.caught = 1;
                failure
            }
            Verdict::CaughtWithMore(failure) => {
                counts.caught_with_more = 1;
                failure
            }
        };
        counts.doubted = usize::from(!is_proved);
        let wrong_proof = is_proved.then_some(WrongProof { sequence, failure });
        return (counts, wrong_proof);
    }
    (counts, None)
}

/// Returns every instruction, with the number of its function.
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
    Caught(Failure),
    CaughtWithMore(Failure),
    Untold,
}

impl MutationTrial<'_> {
    fn judge(&self, sequence: &Sequence) -> Verdict {
        if let Err(failure) = check_sequence(self.subject, self.baseline, sequence) {
            return verdict_on(failure, Verdict::Caught);
        }
        let stronger = Subject {
            inputs: self.more.to_vec(),
            ..self.subject.clone()
        };
        let told = stronger
            .baseline(self.limits)
            .map(|baseline| check_sequence(&stronger, &baseline, sequence));
        match told {
            Ok(Err(failure)) => verdict_on(failure, Verdict::CaughtWithMore),
            Ok(Ok(())) | Err(_) => Verdict::Untold,
        }
    }

    /// True if the validator proves that the edit changes nothing.
    fn is_proved(&self, function: &Function, edited: &Function) -> bool {
        let of_function = |snapshot: &&OwnedSnapshot| {
            let view = snapshot.view();
            view.name() == function.info.name && view.stage() == function.info.stage
        };
        let snapshot = self.snapshots.iter().find(of_function).map(OwnedSnapshot::view);
        let side = |function| oriel_validator::Subject { function, snapshot };
        let proof = guarded(|| Validator::default().validate(side(function), side(edited)));
        matches!(proof, Ok(Ok(())))
    }
}

/// A failure of an unmodelled operation says nothing about the edit.
fn verdict_on(failure: Failure, found: fn(Failure) -> Verdict) -> Verdict {
    let is_unmodelled = failure.kind == FailureKind::Fault && failure.text.starts_with("unsupported");
    if is_unmodelled {
        Verdict::Unmodelled
    } else {
        found(failure)
    }
}
