//! Chooses the estimate: a count that ptxas often gives, near the registers that a kernel needs.
//!
//! ptxas fills registers up to a step of occupancy, since that costs no warps, and most of its counts are
//! even. So of kernels that need about 62 registers, far more get 64 than 61. How often each count occurs,
//! compared with similar ones, was measured by the warps of a multiprocessor, which decide where the steps
//! are. `scripts/calibrate_estimate.py` fits that.

use crate::occupancy::{SmLimits, Usage};

/// The first count that has a weight.
const FIRST: usize = 4;

/// Kernels that need fewer registers, or as many as this or more, get the nearest even count.
const LEAST: f64 = 4.0;
const MOST: f64 = 120.0;

/// The counts that come into question: within this factor, and a few more.
const WITHIN: f64 = 1.5;
const MORE: f64 = 2.0;

/// An estimate that is not close costs 1, and each unit that it is off costs this much more, up to so many
/// units.
const WEIGHT_OF_DISTANCE: f64 = 0.3;
const MOST_DISTANCE: f64 = 8.0;

/// An estimate with which other warps fit on a multiprocessor costs this much more.
const WEIGHT_OF_WARPS: f64 = 0.4;

/// The threads of a block, for the warps that fit.
const THREADS: u32 = 128;

/// How often ptxas gives kernels each count, compared with similar counts.
#[derive(Clone, Debug)]
pub(super) struct UsualCounts<'m> {
    /// By count from 4 on, for multiprocessors with 32, 48 and 64 warps.
    pub weights: [&'m [f64]; 3],
}

impl UsualCounts<'_> {
    /// Returns the estimate for a kernel that needs `needed` registers, give or take `spread` of the
    /// logarithm: the count for which the expected cost of being off is least.
    pub fn likely(&self, sm: u32, needed: f64, spread: f64) -> f64 {
        if !(LEAST..MOST).contains(&needed) {
            return even(needed);
        }
        let weights = self.weights_for(sm);
        let end = (FIRST + weights.len()) as f64 - 1.0;
        let low = ((needed / WITHIN).floor() - MORE).max(FIRST as f64);
        let high = ((needed * WITHIN).ceil() + MORE).min(end);
        let limits = SmLimits::of(sm);
        let shares: Vec<(f64, f64, u32)> = (low as usize..=high as usize)
            .map(|count| {
                let warps = limits.map_or(0, |limits| warps_that_fit(limits, count as u32));
                let (weight, count) = (weights[count - FIRST], count as f64);
                let distance = (count / needed).ln() / spread;
                let share = weight / (count * (1.0 + distance * distance).powf(1.5));
                (count, share, warps)
            })
            .collect();
        let cost = |estimate: f64, estimated_warps: u32| -> f64 {
            let costs = shares.iter().map(|&(count, share, warps)| {
                let off = (estimate - count).abs() / unit(count);
                let is_not_close = if off > 1.0 { 1.0 } else { 0.0 };
                let has_other_warps = if estimated_warps == warps { 0.0 } else { 1.0 };
                let distance = WEIGHT_OF_DISTANCE * off.min(MOST_DISTANCE);
                share * (is_not_close + distance + WEIGHT_OF_WARPS * has_other_warps)
            });
            costs.sum()
        };
        let costs = shares
            .iter()
            .map(|&(count, _, warps)| (count, cost(count, warps)));
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

/// Returns the warps that fit on a multiprocessor by their registers.
fn warps_that_fit(limits: &SmLimits, registers_per_thread: u32) -> u32 {
    let usage = Usage {
        threads_per_block: THREADS,
        registers_per_thread,
        shared_bytes_per_block: 0,
    };
    limits.occupancy(usage).warps_per_sm
}

/// Returns how far off an estimate may be to count as close.
fn unit(registers: f64) -> f64 {
    (0.1 * registers).max(2.0)
}

/// Returns the nearest even number. Four of five of ptxas' counts are even, so that an even estimate is near
/// more of them than an odd one.
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

    #[test]
    fn a_usual_count_near_the_need_is_chosen() {
        let (plain, usual) = (with_one(0), with_one(40));
        let counts = UsualCounts {
            weights: [&plain, &usual, &plain],
        };
        assert_eq!(counts.likely(86, 38.3, 0.1), 40.0);
        // Nearly certain, or too far away.
        assert_eq!(counts.likely(86, 35.0, 0.005), 35.0);
        assert_eq!(counts.likely(86, 70.0, 0.1), counts.likely(80, 70.0, 0.1));
        // No step is there on other multiprocessors.
        assert!((37.0..40.0).contains(&counts.likely(80, 38.3, 0.1)));
    }

    #[test]
    fn an_estimate_stays_on_its_side_of_a_step_of_occupancy() {
        let plain = with_one(0);
        let counts = UsualCounts {
            weights: [&plain, &plain, &plain],
        };
        // 40 warps fit with 48 registers, and fewer with 49. Of the last multiprocessor nothing is known.
        assert_eq!(counts.likely(80, 49.0, 0.1), 49.0);
        assert_eq!(counts.likely(999, 49.0, 0.1), 48.0);
    }

    #[test]
    fn small_and_large_needs_are_made_even() {
        let plain = with_one(0);
        let counts = UsualCounts {
            weights: [&plain, &plain, &plain],
        };
        assert_eq!(counts.likely(80, 1.2, 0.1), 2.0);
        assert_eq!(counts.likely(80, 151.2, 0.1), 152.0);
    }
}
