//! Counters and times of phases.

use super::registry::Phase;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// The counters of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    phase: &'static str,
    counters: Vec<(&'static str, u64)>,
    time: Duration,
}

/// Counters and times of phases, in the order in which the phases first ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    rows: Vec<Row>,
}

impl Statistics {
    /// Returns the phases that ran, each with its nonzero counters.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[(&'static str, u64)])> + '_ {
        self.rows.iter().map(|row| (row.phase, row.counters.as_slice()))
    }

    /// Returns the phases that ran, each with its time, without analyses that it shares with
    /// others.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.rows.iter().map(|row| (row.phase, row.time))
    }

    /// Returns a counter of a phase; zero if it did not run.
    pub fn counter(&self, phase: &str, counter: &str) -> u64 {
        let mut rows = self.iter().filter(|(name, _)| *name == phase);
        let counters = rows.next().map_or(&[][..], |(_, counters)| counters);
        let mut values = counters.iter().filter(|(name, _)| *name == counter);
        values.next().map_or(0, |&(_, value)| value)
    }

    /// True if no phase ran.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Records that a phase ran.
    pub(crate) fn note_run(&mut self, phase: &Phase, time: Duration) {
        self.row(phase.name).time += time;
    }

    /// Adds to a counter of a phase.
    pub(crate) fn add(&mut self, phase: &'static str, counter: &'static str, amount: u64) {
        let counters = &mut self.row(phase).counters;
        match counters.iter_mut().find(|(name, _)| *name == counter) {
            Some((_, value)) => *value += amount,
            None if amount == 0 => {}
            None => counters.push((counter, amount)),
        }
    }

    fn row(&mut self, phase: &'static str) -> &mut Row {
        let known = self.rows.iter().position(|row| row.phase == phase);
        let index = known.unwrap_or_else(|| {
            self.rows.push(Row {
                phase,
                counters: Vec::new(),
                time: Duration::ZERO,
            });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}

/// Serialises as an object of phases, each an object of its counters.
impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Counters<'a>(&'a [(&'static str, u64)]);
        impl Serialize for Counters<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().copied())
            }
        }
        serializer.collect_map(self.iter().map(|(phase, counters)| (phase, Counters(counters))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_an_object_of_objects() {
        let mut statistics = Statistics::default();
        statistics.add("A", "x", 0);
        statistics.add("B", "x", 1);
        statistics.add("B", "x", 2);
        statistics.add("B", "y", 0);
        let json = serde_json::to_string(&statistics).unwrap();
        assert_eq!(json, r#"{"A":{},"B":{"x":3}}"#);
        assert_eq!(statistics.counter("B", "x"), 3);
        assert_eq!(statistics.counter("A", "x"), 0);
        assert_eq!(statistics.counter("C", "x"), 0);
    }
}
