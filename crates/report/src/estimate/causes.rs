//! Explains an estimate: by how much each cause raises it, in words.
//!
//! Each test in a tree moves the estimate away from the mean of both sides. The sum of these moves
//! for each subject of the tested features says by how much the subject raises the estimate over
//! that of an average kernel.

use super::features::Features;
use std::sync::LazyLock;

/// By feature: its subject.
static SUBJECTS: LazyLock<[Cause; Features::NAMES.len()]> =
    LazyLock::new(|| std::array::from_fn(|number| Cause::of_feature(Features::NAMES[number])));

/// A cause of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Values that are in use at once in any order.
    ValuesInUse,
    /// Results of loads that are on the way at once.
    LoadsInFlight,
    /// Values that a loop needs and those that it carries.
    LiveThroughLoops,
    /// Loops that ptxas unrolls.
    UnrolledLoops,
    /// Tuples of registers and the gaps between them.
    Tuples,
    /// Tensor cores.
    TensorCores,
    /// Calls.
    Calls,
    /// Divisions, roots and special functions.
    Divisions,
    /// Exchanges between lanes.
    Exchanges,
    /// Addresses and parameters.
    Addresses,
    /// The amount of code.
    CodeSize,
    /// ptxas compiles for a debugger and keeps every value.
    Debugger,
    /// The registers that the multiprocessor and the launch bounds allow.
    Target,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Self; 13] = [
        Self::ValuesInUse,
        Self::LoadsInFlight,
        Self::LiveThroughLoops,
        Self::UnrolledLoops,
        Self::Tuples,
        Self::TensorCores,
        Self::Calls,
        Self::Divisions,
        Self::Exchanges,
        Self::Addresses,
        Self::CodeSize,
        Self::Debugger,
        Self::Target,
    ];

    /// Returns the cause in words, as reports have it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ValuesInUse => "values in use at once",
            Self::LoadsInFlight => "loads in flight",
            Self::LiveThroughLoops => "values live through loops",
            Self::UnrolledLoops => "unrolled loop",
            Self::Tuples => "tuples of registers",
            Self::TensorCores => "tensor cores",
            Self::Calls => "calls",
            Self::Divisions => "divisions and special functions",
            Self::Exchanges => "exchanges between lanes",
            Self::Addresses => "addresses and parameters",
            Self::CodeSize => "amount of code",
            Self::Debugger => "compiled for a debugger",
            Self::Target => "target and launch bounds",
        }
    }

    /// Returns the subject of a feature.
    fn of_feature(name: &str) -> Self {
        match name {
            "loads_first_peak"
            | "peak_within_target"
            | "latency_peak"
            | "loads_in_flight"
            | "loads_in_source_order"
            | "global_loads"
            | "global_loads_of_block"
            | "shared_loads_of_block"
            | "innermost_loads" => Self::LoadsInFlight,
            "live_between_blocks" | "live_into_loops" | "loop_depth" => Self::LiveThroughLoops,
            "constant_rounds" | "nested_rounds" | "nested_nodes" | "nested_loads" | "live_with_loads"
            | "constant_loops" => Self::UnrolledLoops,
            "spaced_within_target" | "least_spaced" => Self::Tuples,
            "matrix_operations" | "async_copies" => Self::TensorCores,
            "calls" | "unknown_calls" | "live_over_calls" | "called_by_address" => Self::Calls,
            "temporaries" => Self::Divisions,
            "live_over_exchanges" => Self::Exchanges,
            "uniform_peak" => Self::Addresses,
            "nodes" | "largest_region" => Self::CodeSize,
            "debug" | "debug_peak" | "debug_over_calls" => Self::Debugger,
            "sm" | "register_limit" | "allotted_registers" | "threads" => Self::Target,
            _ => Self::ValuesInUse,
        }
    }
}

/// A reason for an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The cause.
    pub cause: Cause,
    /// Registers by which it raises the estimate over that of an average kernel.
    pub registers: u32,
}

/// The largest reasons, in descending order.
pub type Reasons = [Option<Reason>; 3];

/// Returns the largest reasons for `registers`, of which the logarithm was raised by `steps`, by
/// input; `features` are the features of the inputs, by number.
pub fn largest_reasons(registers: f64, steps: &[f64], features: impl Iterator<Item = usize>) -> Reasons {
    let mut sums = [0.0; Cause::ALL.len()];
    for (step, feature) in steps.iter().zip(features) {
        sums[SUBJECTS[feature] as usize] += step;
    }
    let reason = |cause: &Cause| Reason {
        cause: *cause,
        registers: (registers * (1.0 - (-sums[*cause as usize].max(0.0)).exp())).round() as u32,
    };
    let mut reasons: Vec<Reason> = Cause::ALL
        .iter()
        .map(reason)
        .filter(|reason| reason.registers > 0)
        .collect();
    reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.registers), reason.cause));
    let mut reasons = reasons.into_iter();
    std::array::from_fn(|_| reasons.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_added_by_cause_and_only_those_up_count() {
        let inputs = ["loads_in_flight", "global_loads", "calls", "sm"].map(Features::number);
        let half = 2.0_f64.ln() / 2.0;
        let found = largest_reasons(40.0, &[half, half, 0.1, -1.0], inputs.into_iter());
        let found: Vec<_> = found
            .iter()
            .flatten()
            .map(|reason| (reason.cause.words(), reason.registers))
            .collect();
        assert_eq!(found, [("loads in flight", 20), ("calls", 4)]);
    }

    #[test]
    fn numbers_of_causes_are_their_places() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place);
        }
    }
}
