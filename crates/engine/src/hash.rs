//! Hash functions: two with the reference's constants, and one for tables of the standard library.
//! They depend only on their input, so an order by hash is the same in every process.
//!
//! They are for tables whose keys this program chooses; they do not resist keys chosen to collide.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// FNV-1a over 32 bits: the hash of edges, interferences, value tables (G. Fowler, L. C. Noll,
/// K.-P. Vo).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u32);

/// The hash of no bytes at all.
const OFFSET_BASIS: u32 = 0x811C_9DC5;
const PRIME: u32 = 0x0100_0193;

impl Fnv1a {
    /// The hash of an empty input.
    #[inline]
    pub const fn new() -> Self {
        Self(OFFSET_BASIS)
    }

    /// Adds a byte.
    #[must_use]
    #[inline]
    pub const fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(PRIME))
    }

    /// Adds the four bytes of a word, least significant first.
    #[must_use]
    pub const fn word(self, word: u32) -> Self {
        let [first, second, third, fourth] = word.to_le_bytes();
        self.byte(first).byte(second).byte(third).byte(fourth)
    }

    /// Adds bytes.
    #[must_use]
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |hash, &byte| hash.byte(byte))
    }

    /// Adds words.
    #[must_use]
    #[inline]
    pub fn words(self, words: &[u32]) -> Self {
        words.iter().fold(self, |hash, &word| hash.word(word))
    }

    /// Returns the hash.
    #[inline]
    pub const fn finish(self) -> u32 {
        self.0
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}

/// For the standard library's tables, which take the bucket from the lowest bits and the tag from
/// the highest.
impl Hasher for Fnv1a {
    fn write(&mut self, bytes: &[u8]) {
        *self = self.bytes(bytes);
    }

    fn finish(&self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

/// The hash by which ptxas recognises code that it has seen before, a word at a time: a step of
/// Jenkins' one-at-a-time hash, `x += x << 10; x ^= x >> 6`, without the final mixing. It takes a
/// quarter of the multiplications of [`Fnv1a`], and the top bits are mixed best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeHash(u32);

/// `1 + (1 << 10)`.
const CODE_FACTOR: u32 = 1025;

impl CodeHash {
    /// The hash of an empty input.
    #[inline]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds a word.
    #[must_use]
    pub const fn word(self, word: u32) -> Self {
        let mixed = self.0.wrapping_add(word).wrapping_mul(CODE_FACTOR);
        Self(mixed ^ mixed >> 6)
    }

    /// Adds words.
    #[must_use]
    #[inline]
    pub fn words(self, words: &[u32]) -> Self {
        words.iter().fold(self, |hash, &word| hash.word(word))
    }

    /// Returns the hash.
    #[inline]
    pub const fn finish(self) -> u32 {
        self.0
    }
}

/// A hash table whose keys are numbers of this program. The standard library's default hash
/// withstands chosen collisions, which makes up most of the time of a lookup with keys as short as
/// these.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHash>>;

/// A set of such numbers, for a few out of many: it takes memory by what it contains, and an
/// [`EntitySet`](crate::entity::EntitySet) by the largest number.
pub type NumberSet<K> = HashSet<K, BuildHasherDefault<NumberHash>>;

/// Folded multiplication, as in Wang Yi's wyhash: a word at a time, the two halves of the product
/// combined by exclusive or, so that low and high bits depend on the whole word.
#[derive(Clone, Copy, Debug)]
pub struct NumberHash(u64);

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl NumberHash {
    const fn word(self, word: u64) -> Self {
        let product = (self.0 ^ word) as u128 * GOLDEN as u128;
        Self(product as u64 ^ (product >> 64) as u64)
    }
}

impl Default for NumberHash {
    fn default() -> Self {
        Self(GOLDEN)
    }
}

impl Hasher for NumberHash {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            *self = self.word(u64::from_le_bytes(word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            *self = self.word(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        *self = self.word(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        *self = self.word(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        *self = self.word(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        *self = self.word(number);
    }

    /// Enum discriminants come here too, by the default methods of the signed integers.
    fn write_usize(&mut self, number: usize) {
        *self = self.word(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the test vectors that the authors publish with the hash.
    #[test]
    fn fnv_1a_has_its_published_values() {
        let hash = |text: &str| Fnv1a::new().bytes(text.as_bytes()).finish();
        assert_eq!(hash(""), 0x811C_9DC5);
        assert_eq!(hash("a"), 0xE40C_292C);
        assert_eq!(hash("b"), 0xE70C_2DE5);
        assert_eq!(hash("foobar"), 0xBF9C_F968);
        assert_eq!(Fnv1a::default(), Fnv1a::new());
    }

    #[test]
    fn a_word_is_its_bytes_least_significant_first() {
        let words = [0x6F6F_6600, 0x7261_6262];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        assert_eq!(Fnv1a::new().words(&words), Fnv1a::new().bytes(&bytes));
        // The known value for eight zero bytes.
        assert_eq!(Fnv1a::new().words(&[0, 0]).finish(), 0x9BE1_7165);
    }

    /// The step with shifts, as Jenkins writes it.
    #[test]
    fn a_word_of_code_is_a_step_of_the_one_at_a_time_hash() {
        let step = |mut hash: u32, word: u32| {
            hash = hash.wrapping_add(word);
            hash = hash.wrapping_add(hash << 10);
            hash ^ hash >> 6
        };
        let words = [0, 1, 72, 0xFFFF_FFFF, 0x1000_0007];
        let stepped = words.iter().fold(0, |hash, &word| step(hash, word));
        assert_eq!(CodeHash::new().words(&words).finish(), stepped);
        assert_eq!(CodeHash::new().word(1).finish(), 0x0000_0411);
        assert_ne!(CodeHash::new().words(&[1, 2]), CodeHash::new().words(&[2, 1]));
    }

    /// Keys that differ in one element have different hashes, and consecutive numbers are spread
    /// over the table.
    #[test]
    fn numbers_in_a_row_are_spread() {
        use std::hash::Hash;
        fn hash(value: impl Hash) -> u64 {
            let mut hash = NumberHash::default();
            value.hash(&mut hash);
            hash.finish()
        }
        for bits in [4, 8] {
            let places: std::collections::BTreeSet<u64> = (0..1_u32 << bits)
                .map(|number| hash(number) & ((1 << bits) - 1))
                .collect();
            assert!(
                places.len() > 1 << (bits - 1),
                "{} of {}",
                places.len(),
                1 << bits
            );
        }
        assert_ne!(hash("ADD32rr"), hash("ADD32ri"));
        assert_ne!(hash([1_u32, 2]), hash([2_u32, 1]));
        assert_ne!(hash(Some(0_u32)), hash(None::<u32>));
        let mut map = NumberMap::default();
        map.extend((0..1000_u32).map(|number| (number << 12, number)));
        assert!((0..1000).all(|number| map[&(number << 12)] == number));
    }
}
