//! Blind memory: every global address exists, and unwritten bytes are a hash of seed and address.
//!
//! The hash is shaped so that programs which read it terminate often enough. The seed chooses a
//! kind for each 4 GiB of addresses, and thus for each pointer parameter. Of eight kinds, three are
//! small 32-bit integers, two are binary32 numbers between -8 and 8, and one each is small 64-bit
//! integers, binary64 numbers, and a mixture of everything. Small integers that are read in parts
//! of one or two bytes give small numbers and zeros.

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

/// Returns the initial eight bytes at `address`, a multiple of eight.
fn initial(seed: u64, address: u64) -> u64 {
    let random = hash(seed, address);
    let kind = match hash(!seed, address >> 32) % 8 {
        7 => random % 7,
        kind => kind,
    };
    let (low, high) = (random >> 8 & 0xFF_FFFF, random >> 36 & 0xFF_FFFF);
    let small = |bits: u64| (bits % 24).saturating_sub(4);
    let single = |bits: u64| u64::from((bits as f32 / (1 << 20) as f32 - 8.0).to_bits());
    match kind {
        0..3 => small(low) | small(high) << 32,
        3 | 4 => single(low) | single(high) << 32,
        5 => small(low),
        _ => (low as f64 / f64::from(1 << 20) - 8.0).to_bits(),
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

    /// Reads bytes at an address.
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

    /// Returns all bytes that were written, by address.
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
    fn every_kind_of_memory_is_met() {
        let words = |seed: u64| -> Vec<u32> {
            let memory = Blind::new(seed);
            (0..256u64)
                .map(|word| u32::from_le_bytes(memory.load(0x5_0000_0000 + 4 * word)))
                .collect()
        };
        let all_small = (0..64).filter(|&seed| words(seed).iter().all(|&word| word < 20));
        let all_moderate =
            (0..64).filter(|&seed| words(seed).iter().all(|&word| f32::from_bits(word).abs() <= 8.0));
        let integers = all_small.count();
        assert!((16..48).contains(&integers), "{integers} of 64");
        // Small integers are also tiny numbers.
        assert!(all_moderate.count() > integers);
        assert_ne!(words(1), words(2));
    }
}
