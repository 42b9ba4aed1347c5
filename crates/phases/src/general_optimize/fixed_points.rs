//! The framework of a bundle: steps repeated to a fixed point, with a record.
//!
//! Every bundle uses it to report how many iterations its fixed points took, what each of its
//! sub-passes did and what stopped it: as counters in the statistics, whose `iterations-N` form a
//! histogram, and as one analysis remark per function that was changed.

use crate::knobs::Budget;
use crate::{PhaseContext, PhaseResult, RemarkKind};
use oriel_ori::Function;

/// The reason why an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The last iteration changed nothing.
    Converged,
    /// The knob for iterations is exhausted.
    Budget,
    /// The limit of iterations was reached.
    Cap,
}

impl Stop {
    const ALL: [Self; 3] = [Self::Converged, Self::Budget, Self::Cap];

    /// Returns the counter of fixed points that ended for this reason.
    const fn counter(self) -> &'static str {
        match self {
            Self::Converged => "stopped-converged",
            Self::Budget => "stopped-budget",
            Self::Cap => "stopped-cap",
        }
    }
}

/// The counters of fixed points by the number of iterations; the last includes all longer ones. No
/// iteration is needed if it is known in advance that nothing would change.
const HISTOGRAM: [&str; 10] = [
    "iterations-0",
    "iterations-1",
    "iterations-2",
    "iterations-3",
    "iterations-4",
    "iterations-5",
    "iterations-6",
    "iterations-7",
    "iterations-8",
    "iterations-9-or-more",
];

/// The fixed points of a bundle in one function.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Number of fixed points by iterations.
    histogram: [u64; HISTOGRAM.len()],
    iterations: u64,
    longest: u32,
    stopped: [u64; Stop::ALL.len()],
    /// The work of sub-passes, in the order in which they first did something.
    done: Vec<(&'static str, u64)>,
}

impl Record {
    /// Adds to the count of a sub-pass.
    pub fn count(&mut self, sub_pass: &'static str, amount: u64) {
        match self.done.iter_mut().find(|(name, _)| *name == sub_pass) {
            Some((_, sum)) => *sum += amount,
            None if amount == 0 => {}
            None => self.done.push((sub_pass, amount)),
        }
    }

    /// Repeats a step until it changes nothing. The step gets the record to count in, and returns
    /// whether there was something to change. The budget is spent once for each change; when it is
    /// exhausted, the step must not be called again. Stops after `cap` iterations.
    pub fn fixed_point(
        &mut self,
        cap: u32,
        mut budget: Option<&mut Budget>,
        mut step: impl FnMut(&mut Self, &mut dyn FnMut() -> bool) -> bool,
    ) -> Stop {
        let mut iterations = 0;
        let mut is_spent = false;
        let stop = loop {
            iterations += 1;
            let mut may_change = || {
                let may = budget.as_deref_mut().is_none_or(Budget::spend);
                is_spent |= !may;
                may
            };
            if !step(self, &mut may_change) {
                break if is_spent { Stop::Budget } else { Stop::Converged };
            }
            if iterations == cap {
                break Stop::Cap;
            }
        };
        self.note(iterations, stop);
        stop
    }

    /// Records that a fixed point, or a single pass, took this many iterations.
    pub fn note(&mut self, iterations: u32, stop: Stop) {
        self.iterations += u64::from(iterations);
        self.longest = self.longest.max(iterations);
        self.stopped[stop as usize] += 1;
        self.histogram[(iterations as usize).min(HISTOGRAM.len() - 1)] += 1;
    }

    /// True if anything was done.
    pub fn has_changes(&self) -> bool {
        !self.done.is_empty()
    }

    /// Adds to the counters of the phase and emits the remark.
    pub fn finish(self, function: &Function, context: &mut PhaseContext<'_>) -> PhaseResult {
        for (counter, amount) in HISTOGRAM.into_iter().zip(self.histogram) {
            context.count(counter, amount);
        }
        for (stop, amount) in Stop::ALL.into_iter().zip(self.stopped) {
            context.count(stop.counter(), amount);
        }
        for &(name, amount) in &self.done {
            context.count(name, amount);
        }
        if self.has_changes() {
            context.remark(RemarkKind::Analysis, "FixedPoint", function, None, || {
                self.message()
            });
        }
        PhaseResult::of(self.has_changes())
    }

    fn message(&self) -> String {
        let done: Vec<String> = self
            .done
            .iter()
            .map(|(name, sum)| format!("{sum} {name}"))
            .collect();
        let stopped: Vec<String> = Stop::ALL
            .into_iter()
            .zip(self.stopped)
            .filter(|&(_, amount)| amount != 0)
            .map(|(stop, amount)| format!("{amount} {}", stop.counter()))
            .collect();
        format!(
            "{} iterations, at most {} in one place: {}; {}",
            self.iterations,
            self.longest,
            done.join(", "),
            stopped.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::{Knob, Knobs};

    fn budget(limit: &str) -> Budget {
        let mut knobs = Knobs::default();
        knobs
            .set(&format!("MergeEquivalentConditionalFlowBudget={limit}"))
            .unwrap();
        knobs.budget(Knob::MergeEquivalentConditionalFlowBudget)
    }

    /// Runs a step that has something to do `work` times.
    fn run(work: u32, cap: u32, limit: &str) -> (Record, Stop, u32) {
        let (mut record, mut left) = (Record::default(), work);
        let stop = record.fixed_point(cap, Some(&mut budget(limit)), |record, may_change| {
            if left == 0 || !may_change() {
                return false;
            }
            left -= 1;
            record.count("work", 1);
            true
        });
        (record, stop, work - left)
    }

    #[test]
    fn a_fixed_point_ends_when_nothing_changes() {
        let (record, stop, done) = run(3, 10, "unlimited");
        assert_eq!((stop, done, record.longest), (Stop::Converged, 3, 4));
        assert_eq!(record.histogram[4], 1);
        assert_eq!(
            record.message(),
            "4 iterations, at most 4 in one place: 3 work; 1 stopped-converged"
        );
        assert!(!run(0, 10, "unlimited").0.has_changes());
    }

    #[test]
    fn a_budget_and_a_cap_end_it_before() {
        let (_, stop, done) = run(3, 10, "2");
        assert_eq!((stop, done), (Stop::Budget, 2));
        let (record, stop, done) = run(30, 10, "unlimited");
        assert_eq!((stop, done), (Stop::Cap, 10));
        assert_eq!(record.histogram[9], 1);
    }
}
