//! From features to registers.

use super::{Features, RegisterEstimate};

/// Estimates from features.
pub fn estimate(features: &Features) -> RegisterEstimate {
    let limit = features.register_limit;
    // What the schedule takes, and as much again as a kernel without work has.
    let registers = (features.peak_within_32.max(features.unrolled_within_32) + 4.0).max(8.0);
    let (low, high) = (registers * 0.8 - 1.0, registers * 1.25 + 3.0);
    let bounded = |value: f32| value.min(limit).round() as u32;
    RegisterEstimate {
        registers: bounded(registers),
        low: bounded(low),
        high: bounded(high),
        limit: limit as u32,
        spill_risk_percent: u32::from(registers > limit) * 80 + u32::from(high > limit) * 10,
    }
}
