//! Tests whether something smaller still fails.

use super::check::{Failure, FailureKind, check_sequence};
use super::sequence::Sequence;
use super::tested_module::TestedModule;
use oriel_interpreter::Limits;

/// Tests whether something smaller still fails in the same way, within a number of attempts.
pub(super) struct FailureTest {
    pub kind: FailureKind,
    pub limits: Limits,
    pub attempts: usize,
}

impl FailureTest {
    /// Returns the failure of a sequence on a tested module, if it is of the expected kind.
    pub fn failure_of(&mut self, tested: &TestedModule, sequence: &Sequence) -> Option<Failure> {
        self.attempts = self.attempts.checked_sub(1)?;
        if tested
            .functions
            .iter()
            .any(|function| !function.verify().is_empty())
        {
            return None;
        }
        let baseline = tested.baseline(self.limits).ok()?;
        let failure = check_sequence(tested, &baseline, sequence).err()?;
        (failure.kind == self.kind).then_some(failure)
    }
}
