//! Reproducible random numbers, and the settings of tests that use them.
//!
//! The stream is PCG64 (XSL-RR 128/64) of `rand_pcg`: a generator with a published definition and
//! reference vectors, which that crate tests against and keeps under the value-stability rule of
//! the Rust Random project. Only its raw 64-bit outputs are used. Ranges and choices are derived
//! here, since the same options must always give the same bytes and `rand` may change its
//! derivations between versions.
//!
//! ```
//! use oriel_random::{Random, Stream};
//!
//! let numbers = || Random::new(42, Stream::Graph).below(1_000_000);
//! assert_eq!(numbers(), numbers());
//! ```

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// The use of a stream. Each use has its own stream, so that a choice added to one leaves the
/// others as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Control flow of generated functions.
    Graph = 1,
    /// Instructions of generated functions.
    Body = 2,
    /// Repairs that make a generated function well formed.
    Repair = 3,
    /// Text that is damaged.
    Text = 4,
    /// Snapshots that are damaged.
    SnapshotDamage = 5,
    /// Plans that are damaged.
    PlanMutation = 6,
    /// Changes of live intervals.
    Updates = 7,
    /// Graphs of unit tests.
    TestGraph = 8,
    /// Functions of unit tests.
    TestOri = 9,
    /// Inputs of kernels.
    Inputs = 10,
    /// Lists of phases.
    Sequences = 11,
    /// Wrong edits.
    Edits = 12,
    /// Orders of instructions.
    InstructionOrder = 13,
    /// Loops over memory with a stride known at run time.
    Walks = 14,
    /// Functions with undefined values.
    Undefined = 15,
    /// Functions with predicates that change.
    Toggles = 16,
}

/// Random numbers of one stream.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        Self(Pcg64::new(u128::from(seed), stream as u128))
    }

    /// A number in `0..bound`; `bound` is not zero.
    ///
    /// The high half of a 128-bit product: its bias is below 2^-32 for the bounds in use here and
    /// needs no loop.
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert_ne!(bound, 0);
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index below a length, which is not zero.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.index(high - low + 1)
    }

    /// True in so many cases of a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// One of the items; there is at least one.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// True in half of all cases.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Any 32 bits.
    pub fn word(&mut self) -> u32 {
        (self.0.next_u64() >> 32) as u32
    }

    /// An index chosen with the given weights, not all zero.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        let mut rest = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            if rest < u64::from(weight) {
                return index;
            }
            rest -= u64::from(weight);
        }
        unreachable!("the rest is below the sum of the weights")
    }
}

/// Returns a setting of tests with random input, such as how many of them run: the value of the
/// environment variable, or else the default.
///
/// # Panics
/// The variable is not a number.
pub fn setting(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a seed gives depend on these numbers.
    #[test]
    fn the_stream_is_pinned() {
        let mut random = Random::new(42, Stream::Graph);
        let first: Vec<u64> = (0..4).map(|_| random.below(1_000_000)).collect();
        assert_eq!(first, PINNED);
    }

    const PINNED: [u64; 4] = [719_021, 348_905, 468_486, 22_359];

    #[test]
    fn weights_of_zero_are_never_chosen() {
        let mut random = Random::new(7, Stream::Body);
        for _ in 0..1000 {
            assert_eq!(random.weighted(&[0, 3, 0]), 1);
        }
    }
}
