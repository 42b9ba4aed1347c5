//! Chooses the estimate: a count that ptxas often gives, near the registers that a kernel needs.
//!
//! ptxas fills registers up to a step of occupancy, since that costs no warps, and most of its counts are
//! even. So of kernels that need about 62 registers, far more get 64 than 61. A table says how often each
//! count occurs compared with its neighbours; there is one for each number of warps of a multiprocessor,
//! which decides where the steps are. Whether ptxas stops at a step also depends on the kernel; trees
//! estimate how likely it is. `scripts/calibrate_estimate.py` fits the tables and the trees.

use crate::occupancy::{SmLimits, Usage};
use std::ops::Range;

/// The first count that has a weight.
const FIRST: usize = 4;

/// Kernels that need fewer registers than the first count, or at least this many, get the nearest
/// even count.
const LEAST: f64 = 4.0;
const MOST: f64 = 120.0;

/// Candidates are the counts within this factor, and a few more.
const WITHIN: f64 = 1.5;
const MORE: f64 = 2.0;

/// An estimate that is not close costs 1, plus this much for each unit of its error, up to a number of
/// units.
const WEIGHT_OF_DISTANCE: f64 = 0.3;
const MOST_DISTANCE: f64 = 8.0;

/// The additional cost of an estimate with which another number of warps fits on a multiprocessor.
const WEIGHT_OF_WARPS: f64 = 0.4;

/// The threads of a block, for computing the warps that fit.
const THREADS: u32 = 128;

/// Added both to the share that the trees give to the counts between two steps and to the share that these
/// counts have already, so that trees that are certain do not exclude a count.
const LEAST_SHARE: f64 = 0.001;

/// The probability that a kernel has at most a given number of registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub count: u32,
    pub probability: f64,
}

/// A candidate.
struct Candidate {
    count: f64,
    /// Its likelihood relative to the other candidates.
    share: f64,
    /// The warps that fit with it.
    warps: u32,
}

/// How often ptxas gives kernels each count, compared with similar counts.
#[derive(Clone, Debug)]
pub(super) struct UsualCounts<'m> {
    /// By count from 4 on, for multiprocessors with 32, 48 and 64 warps.
    pub weights: [&'m [f64]; 3],
}

impl UsualCounts<'_> {
    /// Returns the estimate for a kernel that needs `needed` registers, where the logarithm is
    /// uncertain by `spread`: the count with the least expected cost of being wrong. `steps` returns
    /// the steps within a range of counts, ascending.
    pub fn likely(
        &self,
        sm: u32,
        needed: f64,
        spread: f64,
        steps: impl FnOnce(Range<u32>) -> Vec<Step>,
    ) -> f64 {
        if !(LEAST..MOST).contains(&needed) {
            return even(needed);
        }
        let weights = self.weights_for(sm);
        let end = (FIRST + weights.len()) as f64 - 1.0;
        let low = ((needed / WITHIN).floor() - MORE).max(FIRST as f64);
        let high = ((needed * WITHIN).ceil() + MORE).min(end);
        let limits = SmLimits::of(sm);
        let mut candidates: Vec<Candidate> = (low as usize..=high as usize)
            .map(|count| {
                let warps = limits.map_or(0, |limits| warps_that_fit(limits, count as u32));
                let (weight, count) = (weights[count - FIRST], count as f64);
                let distance = (count / needed).ln() / spread;
                let share = weight / (count * (1.0 + distance * distance).powf(1.5));
                Candidate { count, share, warps }
            })
            .collect();
        weigh_by_steps(&mut candidates, &steps(low as u32..high as u32));
        let cost = |estimate: &Candidate| -> f64 {
            let costs = candidates.iter().map(|candidate| {
                let off = (estimate.count - candidate.count).abs() / unit(candidate.count);
                let is_not_close = if off > 1.0 { 1.0 } else { 0.0 };
                let has_other_warps = if estimate.warps == candidate.warps {
                    0.0
                } else {
                    1.0
                };
                let distance = WEIGHT_OF_DISTANCE * off.min(MOST_DISTANCE);
                candidate.share * (is_not_close + distance + WEIGHT_OF_WARPS * has_other_warps)
            });
            costs.sum()
        };
        let costs = candidates
            .iter()
            .map(|candidate| (candidate.count, cost(candidate)));
        let least = costs.min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map_or(even(needed), |(count, _)| count)
    }

    fn weights_for(&self, sm: u32) -> &[f64] {
        match SmLimits::of(sm).map(|limits| limits.warps) {
            Some(32) => self.weights[0],
            Some(48) => self.weights[1],
            _ => self.weights[2],
        }
    }
}

/// Scales the candidates between two steps so that their total is the share given by the steps'
/// probabilities.
fn weigh_by_steps(candidates: &mut [Candidate], steps: &[Step]) {
    let sum = |candidates: &[Candidate]| candidates.iter().map(|it| it.share).sum::<f64>();
    let every = sum(candidates);
    let mut rest = candidates;
    let mut below = 0.0_f64;
    let ends = steps.iter().map(|step| (f64::from(step.count), step.probability));
    for (count, probability) in ends.chain([(f64::INFINITY, 1.0)]) {
        let behind = rest.partition_point(|candidate| candidate.count <= count);
        let (part, others) = std::mem::take(&mut rest).split_at_mut(behind);
        rest = others;
        // Each step has trees of its own, which know nothing of each other.
        let probability = probability.max(below);
        let factor = (probability - below + LEAST_SHARE) / (sum(part) / every + LEAST_SHARE);
        part.iter_mut().for_each(|candidate| candidate.share *= factor);
        below = probability;
    }
}

/// Returns the warps that fit on a multiprocessor by their registers.
fn warps_that_fit(limits: &SmLimits, registers_per_thread: u32) -> u32 {
    let usage = Usage {
        threads_per_block: THREADS,
        registers_per_thread,
        shared_bytes_per_block: 0,
    };
    limits.occupancy(usage).warps_per_sm
}

/// Returns the largest error of an estimate that counts as close.
fn unit(registers: f64) -> f64 {
    (0.1 * registers).max(2.0)
}

/// Returns the nearest even number. Four of five of ptxas' counts are even, so an even estimate is more
/// often close than an odd one.
pub(super) fn even(registers: f64) -> f64 {
    2.0 * (registers / 2.0 + 0.5).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of counts that are all alike but for one.
    fn with_one(usual: usize) -> Vec<f64> {
        (FIRST..=255)
            .map(|count| if count == usual { 99.0 } else { 1.0 })
            .collect()
    }

    fn none(_: Range<u32>) -> Vec<Step> {
        Vec::new()
    }

    #[test]
    fn a_usual_count_near_the_need_is_chosen() {
        let (plain, usual) = (with_one(0), with_one(40));
        let counts = UsualCounts {
            weights: [&plain, &usual, &plain],
        };
        assert_eq!(counts.likely(86, 38.3, 0.1, none), 40.0);
        // Nearly certain, or too far away.
        assert_eq!(counts.likely(86, 35.0, 0.005, none), 35.0);
        assert_eq!(
            counts.likely(86, 70.0, 0.1, none),
            counts.likely(80, 70.0, 0.1, none)
        );
        // No step is there on other multiprocessors.
        assert!((37.0..40.0).contains(&counts.likely(80, 38.3, 0.1, none)));
    }

    #[test]
    fn an_estimate_stays_on_its_side_of_a_step_of_occupancy() {
        let plain = with_one(0);
        let counts = UsualCounts {
            weights: [&plain, &plain, &plain],
        };
        // 40 warps fit with 48 registers, and fewer with 49. Of the last multiprocessor nothing is known.
        assert_eq!(counts.likely(80, 49.0, 0.1, none), 49.0);
        assert_eq!(counts.likely(999, 49.0, 0.1, none), 48.0);
    }

    #[test]
    fn the_estimate_is_on_the_likely_side_of_a_step() {
        let plain = with_one(0);
        let counts = UsualCounts {
            weights: [&plain, &plain, &plain],
        };
        let likely = |probability: f64| {
            counts.likely(80, 48.0, 0.1, |range| {
                // 48 / 1.5 - 2 and 48 * 1.5 + 2.
                assert_eq!(range, 30..74);
                vec![
                    Step {
                        count: 40,
                        probability: 0.0,
                    },
                    Step {
                        count: 48,
                        probability,
                    },
                ]
            })
        };
        assert!((41.0..=48.0).contains(&likely(0.99)));
        assert!((49.0..56.0).contains(&likely(0.01)));
        // A step says at least what the one below it says.
        let steps = |_| {
            let of = |(count, probability)| Step { count, probability };
            [(40, 1.0), (48, 0.0)].map(of).to_vec()
        };
        assert!(counts.likely(80, 48.0, 0.1, steps) <= 40.0);
    }

    #[test]
    fn small_and_large_needs_are_made_even() {
        let plain = with_one(0);
        let counts = UsualCounts {
            weights: [&plain, &plain, &plain],
        };
        assert_eq!(counts.likely(80, 1.2, 0.1, none), 2.0);
        assert_eq!(counts.likely(80, 151.2, 0.1, none), 152.0);
    }
}
