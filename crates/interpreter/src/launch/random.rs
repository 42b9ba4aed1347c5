//! The random numbers of buffers' initial contents, specified bit for bit so that every
//! implementation agrees.

use super::Number;

/// The SplitMix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014): an endless sequence of 64-bit numbers.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }
}

impl Iterator for SplitMix64 {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    }
}

/// Returns the uniformly distributed number for `bits`.
///
/// An integer takes the remainder, whose bias does not matter here; a float takes the upper 53 bits
/// as a fraction.
pub(super) fn uniform(bits: u64, low: Number, high: Number, is_float: bool) -> Number {
    match (low, high) {
        (Number::Integer(low), Number::Integer(high)) if !is_float => {
            Number::Integer(low + i128::from(bits) % (high - low + 1))
        }
        _ => {
            let fraction = (bits >> 11) as f64 * 2f64.powi(-53);
            Number::Float(low.to_f64() + (high.to_f64() - low.to_f64()) * fraction)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn published_sequence() {
        let numbers: Vec<u64> = SplitMix64::new(1_234_567).take(3).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    proptest! {
        #[test]
        fn integers_stay_in_range(bits: u64, low in -1000i128..1000, width in 0i128..1000) {
            let number = uniform(bits, Number::Integer(low), Number::Integer(low + width), false);
            let Number::Integer(value) = number else { panic!("{number} is not an integer") };
            prop_assert!((low..=low + width).contains(&value));
        }

        #[test]
        fn floats_stay_in_range(bits: u64, low in -1e6..1e6f64, width in 1e-3..1e6f64) {
            let value = uniform(bits, Number::Float(low), Number::Float(low + width), true).to_f64();
            prop_assert!(low <= value && value <= low + width);
        }
    }
}
