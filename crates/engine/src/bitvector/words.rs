//! Single bits, ranges of bits and iteration over a slice of words.
//!
//! A slice of words is a set of a fixed width. Adding a number past its end panics; for all other
//! operations such a number is not in the set.

use bytemuck::{Pod, Zeroable};
use std::iter::FusedIterator;
use std::ops::Range;
use std::{mem, slice};

/// Bits in a word.
pub const WORD_BITS: usize = 32;

/// Words in the unit of storage of sets.
pub const GROUP_WORDS: usize = 8;

/// The unit of storage of sets: two SSE2 registers. No operation between sets has words left over
/// to process singly, and no register access crosses a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(32))]
pub(super) struct Group([u32; GROUP_WORDS]);

const _: () = assert!(size_of::<Group>() * 8 == GROUP_WORDS * WORD_BITS);

/// The unit of single-bit accesses to stored sets: the widest in which numbers have the same bits
/// as in words. The fewer units a small set has, the fewer loads wait for a mispredicted store.
#[cfg(target_endian = "little")]
pub(super) type Cell = u64;
/// The unit of single-bit accesses to stored sets.
#[cfg(not(target_endian = "little"))]
pub(super) type Cell = u32;

/// Bits in a cell.
pub(super) const CELL_BITS: usize = Cell::BITS as usize;

/// Returns the bit of a number in its cell.
#[inline]
pub(super) fn cell_bit(number: usize) -> Cell {
    1 << (number % CELL_BITS)
}

/// Returns the bit of a number in its word.
#[inline]
fn bit(number: usize) -> u32 {
    1 << (number % WORD_BITS)
}

/// Adds a number. Returns whether it was new.
#[inline]
pub fn insert(words: &mut [u32], number: usize) -> bool {
    let word = &mut words[number / WORD_BITS];
    let new = *word & bit(number) == 0;
    *word |= bit(number);
    new
}

/// Removes a number. Returns whether it was in the set.
#[inline]
pub fn remove(words: &mut [u32], number: usize) -> bool {
    let Some(word) = words.get_mut(number / WORD_BITS) else {
        return false;
    };
    let was_in = *word & bit(number) != 0;
    *word &= !bit(number);
    was_in
}

/// Returns whether a number is in the set.
#[inline]
pub fn contains(words: &[u32], number: usize) -> bool {
    words
        .get(number / WORD_BITS)
        .is_some_and(|word| word & bit(number) != 0)
}

/// Adds all numbers of a range, which must lie within the words.
pub fn insert_range(words: &mut [u32], range: Range<usize>) {
    for_range(words, range, |word, mask| *word |= mask);
}

/// Removes all numbers of a range.
pub fn remove_range(words: &mut [u32], range: Range<usize>) {
    let end = range.end.min(words.len() * WORD_BITS);
    for_range(words, range.start..end, |word, mask| *word &= !mask);
}

/// Calls `apply` with each word that a range overlaps and the mask of the range's bits in it.
#[inline]
fn for_range(words: &mut [u32], range: Range<usize>, apply: impl Fn(&mut u32, u32)) {
    if range.is_empty() {
        return;
    }
    let last = range.end - 1;
    let from_start = u32::MAX << (range.start % WORD_BITS);
    let to_end = u32::MAX >> (WORD_BITS - 1 - last % WORD_BITS);
    match &mut words[range.start / WORD_BITS..=last / WORD_BITS] {
        [] => unreachable!("a range that isn't empty touches a word"),
        [only] => apply(only, from_start & to_end),
        [first, middle @ .., last] => {
            apply(first, from_start);
            for word in middle {
                apply(word, u32::MAX);
            }
            apply(last, to_end);
        }
    }
}

/// Copies the bits of a range to `out`, the first to bit 0 of its first word. All other bits of
/// `out` become zero, and so do bits past the end of `words`.
///
/// # Panics
///
/// The range has more bits than `out`.
pub fn extract_bits(words: &[u32], range: Range<usize>, out: &mut [u32]) {
    let length = range.len();
    assert!(
        length <= out.len() * WORD_BITS,
        "the range has more bits than there is room for"
    );
    let first = range.start / WORD_BITS;
    let shift = range.start % WORD_BITS;
    let word = |position: usize| words.get(position).map_or(0, |&word| u64::from(word));
    for (position, out) in out.iter_mut().enumerate() {
        let both = word(first + position) | word(first + position + 1) << WORD_BITS;
        *out = (both >> shift) as u32;
    }
    remove_range(out, length..usize::MAX);
}

/// The smallest member that is at least `from`.
#[inline]
pub fn next(words: &[u32], from: usize) -> Option<usize> {
    let start = from / WORD_BITS;
    let first = words.get(start)? & (u32::MAX << (from % WORD_BITS));
    if first != 0 {
        return Some(start * WORD_BITS + first.trailing_zeros() as usize);
    }
    let found = start + 1 + words[start + 1..].iter().position(|&word| word != 0)?;
    Some(found * WORD_BITS + words[found].trailing_zeros() as usize)
}

/// Returns the largest member below `before`.
#[inline]
pub fn previous(words: &[u32], before: usize) -> Option<usize> {
    let highest = |position: usize, word: u32| position * WORD_BITS + word.ilog2() as usize;
    let mut whole = before / WORD_BITS;
    if let Some(word) = words.get(whole) {
        let word = word & !(u32::MAX << (before % WORD_BITS));
        if word != 0 {
            return Some(highest(whole, word));
        }
    } else {
        whole = words.len();
    }
    let found = words[..whole].iter().rposition(|&word| word != 0)?;
    Some(highest(found, words[found]))
}

/// Iterates over the members of a set, ascending, two words at a time.
#[derive(Clone, Debug)]
pub struct SetBits<'a> {
    /// Members of the current two words that are still to be returned.
    current: u64,
    /// The number of bit 0 of `current`.
    base: usize,
    /// The following words, in pairs.
    pairs: slice::Iter<'a, [u32; 2]>,
    /// The word after the last pair; zero if there is none, or once it has become `current`.
    last: u32,
}

impl<'a> SetBits<'a> {
    /// Iterates over the members of `words`.
    #[inline]
    pub fn new(words: &'a [u32]) -> Self {
        let (pairs, last) = words.as_chunks();
        let mut pairs = pairs.iter();
        let mut last = last.first().copied().unwrap_or(0);
        let current = match pairs.next() {
            Some(pair) => join(pair),
            None => u64::from(mem::take(&mut last)),
        };
        SetBits {
            current,
            base: 0,
            pairs,
            last,
        }
    }
}

/// Joins two words.
#[inline]
fn join(&[low, high]: &[u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << WORD_BITS
}

impl Iterator for SetBits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.current == 0 {
            self.current = match self.pairs.next() {
                Some(pair) => join(pair),
                None if self.last == 0 => return None,
                None => u64::from(mem::take(&mut self.last)),
            };
            self.base += 2 * WORD_BITS;
        }
        let number = self.base + self.current.trailing_zeros() as usize;
        self.current &= self.current - 1;
        Some(number)
    }
}

impl FusedIterator for SetBits<'_> {}
