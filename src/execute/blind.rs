//! Blind memory: every global address exists, and what was never written is a hash of seed and address.
//!
//! The hash is shaped, eight bytes at a time, so that programs that read it come to an end: of four such pieces one is a
//! small 64-bit integer, two are pairs of small 32-bit integers, and one is a moderate float, in binary64 or a pair in
//! binary32. Read a byte or two at a time the small integers are small numbers and zeros.

use crate::launch::SplitMix64;
use std::collections::HashMap;

const PAGE_BITS: u32 = 12;
const PAGE_BYTES: usize = 1 << PAGE_BITS;

#[derive(Clone, Debug)]
struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
    is_written: Box<[bool; PAGE_BYTES]>,
}

/// Memory without holes.
#[derive(Clone, Debug)]
pub(super) struct Blind {
    seed: u64,
    pages: HashMap<u64, Page>,
}

/// The first random number of a stream.
pub(super) fn hash(seed: u64, value: u64) -> u64 {
    let mut stream = SplitMix64::new(seed ^ value.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    stream.next().unwrap_or_default()
}

/// The eight bytes that lie at `address`, a multiple of eight, before anything is written.
fn initial(seed: u64, address: u64) -> u64 {
    let random = hash(seed, address);
    let kind = random & 3;
    let small = |bits: u64| (bits % 24).saturating_sub(4);
    let (low, high) = (random >> 8 & 0xFF_FFFF, random >> 36);
    match kind {
        0 => small(low),
        1 | 2 => small(low) | small(high) << 32,
        _ if random & 4 == 0 => (low as f64 / f64::from(1 << 20) - 8.0).to_bits(),
        _ => {
            let single =
                |bits: u64| u64::from(((bits & 0xFF_FFFF) as f32 / (1 << 20) as f32 - 8.0).to_bits());
            single(low) | single(high) << 32
        }
    }
}

impl Blind {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            pages: HashMap::new(),
        }
    }

    fn byte(&self, address: u64) -> u8 {
        if let Some(page) = self.pages.get(&(address >> PAGE_BITS)) {
            let offset = address as usize & (PAGE_BYTES - 1);
            if page.is_written[offset] {
                return page.bytes[offset];
            }
        }
        (initial(self.seed, address & !7) >> (8 * (address & 7))) as u8
    }

    /// What lies at an address.
    pub fn load<const N: usize>(&self, address: u64) -> [u8; N] {
        std::array::from_fn(|index| self.byte(address.wrapping_add(index as u64)))
    }

    /// Writes to an address.
    pub fn store<const N: usize>(&mut self, address: u64, value: [u8; N]) {
        for (index, byte) in value.into_iter().enumerate() {
            let address = address.wrapping_add(index as u64);
            let page = self.pages.entry(address >> PAGE_BITS).or_insert_with(|| Page {
                bytes: Box::new([0; PAGE_BYTES]),
                is_written: Box::new([false; PAGE_BYTES]),
            });
            let offset = address as usize & (PAGE_BYTES - 1);
            page.bytes[offset] = byte;
            page.is_written[offset] = true;
        }
    }

    /// All bytes that were written, in order of address.
    pub fn writes(&self) -> Vec<(u64, u8)> {
        let mut numbers: Vec<u64> = self.pages.keys().copied().collect();
        numbers.sort_unstable();
        let mut writes = Vec::new();
        for number in numbers {
            let page = &self.pages[&number];
            let written = (0..PAGE_BYTES).filter(|&offset| page.is_written[offset]);
            writes.extend(written.map(|offset| (number << PAGE_BITS | offset as u64, page.bytes[offset])));
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_listed() {
        let mut memory = Blind::new(3);
        let before: [u8; 8] = memory.load(0xFFC);
        memory.store(0xFFE, [1, 2, 3, 4]);
        assert_eq!(memory.load::<4>(0xFFE), [1, 2, 3, 4]);
        assert_eq!(memory.load::<2>(0xFFC), before[..2]);
        assert_eq!(memory.load::<2>(0x1002), before[6..]);
        assert_eq!(
            memory.writes(),
            [(0xFFE, 1), (0xFFF, 2), (0x1000, 3), (0x1001, 4)]
        );
    }

    #[test]
    fn words_are_small_integers_often_enough() {
        let memory = Blind::new(1);
        let small = (0..4000u64)
            .filter(|word| u32::from_le_bytes(memory.load(0x10_0000 + 4 * word)) < 32)
            .count();
        assert!((2500..3500).contains(&small), "{small} of 4000");
        let other = Blind::new(2);
        let same = (0..512u64).filter(|word| memory.load::<8>(8 * word) == other.load::<8>(8 * word));
        assert!(same.count() < 100, "two seeds give different memory");
    }
}
