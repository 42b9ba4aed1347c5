//! Mutation testing of the checks: the interpreter and the validator must detect wrong edits that
//! are made on purpose.
//!
//! An edit that no run can detect is not wrong. So edits are made only at instructions that the
//! check's inputs execute and whose result the edit changes at least once. Traps find that out (see
//! `probe.rs`), not the comparison under test. The changed result may still have no effect on
//! memory, so an edit that the check does not detect is tried on more inputs. If these detect it, the
//! check had too few inputs; otherwise the edit counts as equivalent, unless the validator doubts it.
//! The validator must doubt every edit that some input detects.

use super::check::{Failure, FailureKind, check_sequence};
use super::probe::makes_a_difference;
use super::sequence::{Sequence, Step};
use super::tested_module::{Baseline, Input, TestedModule};
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
    /// Those that the interpreter detected on the check's inputs.
    pub caught: usize,
    /// Those that it detected only on additional inputs.
    pub caught_with_more: usize,
    /// Edits that some input detects and that the validator cannot prove.
    pub doubted: usize,
    /// Edits that no input detects and that the validator cannot prove.
    pub doubted_only: usize,
    /// Edits that no input detects and that the validator proves.
    pub equivalent: usize,
    /// Edits of instructions that no input executes, or whose result stays the same.
    pub without_difference: usize,
    /// Edits that the verifier refuses, or whose result the interpreter does not model.
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
    pub const fn detected(&self) -> usize {
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

/// The most edits that are refused or make no difference before the check gives up.
const ATTEMPTS: usize = 4;

/// The functions for wrong edits, and the means to detect them.
#[derive(Clone, Copy, Debug)]
pub struct MutationTrial<'a> {
    /// The functions, with the inputs of the check.
    pub tested: &'a TestedModule,
    /// The results of the unchanged functions.
    pub baseline: &'a Baseline,
    /// Additional inputs, for edits that those of the check do not detect.
    pub more: &'a [Input],
    /// The snapshots of functions that come from LLVM; they define the opcodes for the validator.
    pub snapshots: &'a [OwnedSnapshot],
    /// Limits of a run.
    pub limits: Limits,
}

/// Makes one wrong edit of a kind in a tested module, at an instruction that the seed selects, and
/// counts which checks detect it.
pub fn mutation_check(
    trial: MutationTrial<'_>,
    kind: EditKind,
    seed: u64,
) -> (MutationCounts, Option<WrongProof>) {
    let tested = trial.tested;
    let mut counts = MutationCounts::default();
    let mut random = Random::new(seed, Stream::Edits);
    let mut places = places(tested);
    while !places.is_empty() && counts.refused + counts.without_difference < ATTEMPTS {
        let (number, instruction) = places.swap_remove(random.index(places.len()));
        let edit = Edit {
            kind,
            function: tested.functions[number].info.name.clone(),
            instruction,
        };
        let mut edited = tested.functions[number].clone();
        if !edit.apply(&mut edited) {
            continue;
        }
        if !edited.verify().is_empty() {
            counts.refused += 1;
            continue;
        }
        if !makes_a_difference(tested, &tested.inputs, number, &edit, trial.limits) {
            counts.without_difference += 1;
            continue;
        }
        let sequence = Sequence(vec![Step::Edit(edit)]);
        let failure = match trial.judge(&sequence) {
            Verdict::Unmodelled => {
                counts.refused += 1;
                continue;
            }
            Verdict::Undetected => None,
            Verdict::Caught(failure) => {
                counts.caught = 1;
                Some(failure)
            }
            Verdict::CaughtWithMore(failure) => {
                counts.caught_with_more = 1;
                Some(failure)
            }
        };
        counts.injected = 1;
        let is_proved = trial.is_proved(&tested.functions[number], &edited);
        let Some(failure) = failure else {
            counts.equivalent = usize::from(is_proved);
            counts.doubted_only = usize::from(!is_proved);
            return (counts, None);
        };
        counts.doubted = usize::from(!is_proved);
        let wrong_proof = is_proved.then_some(WrongProof { sequence, failure });
        return (counts, wrong_proof);
    }
    (counts, None)
}

/// Returns every instruction, with the number of its function.
fn places(tested: &TestedModule) -> Vec<(usize, Instruction)> {
    let mut places = Vec::new();
    for (number, function) in tested.functions.iter().enumerate() {
        for &block in function.blocks() {
            places.extend(function.instructions(block).map(|it| (number, it)));
        }
    }
    places
}

/// The interpreter's verdict on an edit.
enum Verdict {
    /// It does not model an operation.
    Unmodelled,
    /// The check's inputs detect the edit.
    Caught(Failure),
    /// Only additional inputs detect it.
    CaughtWithMore(Failure),
    /// No input detects it.
    Undetected,
}

impl MutationTrial<'_> {
    fn judge(&self, sequence: &Sequence) -> Verdict {
        if let Err(failure) = check_sequence(self.tested, self.baseline, sequence) {
            return verdict_on(failure, Verdict::Caught);
        }
        let stronger = TestedModule {
            inputs: self.more.to_vec(),
            ..self.tested.clone()
        };
        let result = stronger
            .baseline(self.limits)
            .map(|baseline| check_sequence(&stronger, &baseline, sequence));
        match result {
            Ok(Err(failure)) => verdict_on(failure, Verdict::CaughtWithMore),
            Ok(Ok(())) | Err(_) => Verdict::Undetected,
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

/// Returns the verdict on a failure. That of an unmodelled operation says nothing about the edit.
fn verdict_on(failure: Failure, found: fn(Failure) -> Verdict) -> Verdict {
    let is_unmodelled = failure.kind == FailureKind::Fault && failure.text.starts_with("unsupported");
    if is_unmodelled {
        Verdict::Unmodelled
    } else {
        found(failure)
    }
}
