//! The set operations on slices of 32-bit words.
//!
//! Every operation is one of three loops over words: `update` writes a set, `first_change` tests
//! for a nonzero word, and `update_if_changed` tests, then writes. They work on groups of words,
//! which the compiler turns into vector code for the target's baseline (SSE2 on x86-64).
//!
//! All slices of a call must have the same length; otherwise the call panics. The `…_if_changed`
//! operations find the first word that would change and write only from its group of
//! [`GROUP_WORDS`] words on, so a converged set is read but never written.

use super::words::GROUP_WORDS;

/// `dst |= source`.
#[inline]
pub fn or(dst: &mut [u32], source: &[u32]) {
    update(dst, [source], |d, [s]| d | s);
}

/// `dst |= source`. Returns whether a bit changed.
#[inline]
pub fn or_if_changed(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed(dst, [source], |d, [s]| s & !d, |d, [s]| d | s)
}

/// `dst &= source`.
#[inline]
pub fn and(dst: &mut [u32], source: &[u32]) {
    update(dst, [source], |d, [s]| d & s);
}

/// `dst &= source`. Returns whether a bit changed.
#[inline]
pub fn and_if_changed(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed(dst, [source], |d, [s]| d & !s, |d, [s]| d & s)
}

/// `dst &= !source`.
#[inline]
pub fn and_not(dst: &mut [u32], source: &[u32]) {
    update(dst, [source], |d, [s]| d & !s);
}

/// `dst &= !source`. Returns whether a bit changed.
#[inline]
pub fn and_not_if_changed(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed(dst, [source], |d, [s]| d & s, |d, [s]| d & !s)
}

/// `dst ^= source`.
#[inline]
pub fn xor(dst: &mut [u32], source: &[u32]) {
    update(dst, [source], |d, [s]| d ^ s);
}

/// `dst = a & b`.
#[inline]
pub fn assign_and(dst: &mut [u32], a: &[u32], b: &[u32]) {
    update(dst, [a, b], |_, [a, b]| a & b);
}

/// `dst |= gen | (input & !kill)`.
#[inline]
pub fn or_with_and_not(dst: &mut [u32], generate: &[u32], input: &[u32], kill: &[u32]) {
    update(dst, [generate, input, kill], |d, [g, i, k]| d | g | (i & !k));
}

/// `dst |= gen | (input & !kill)`. Returns whether a bit changed.
#[inline]
pub fn or_with_and_not_if_changed(dst: &mut [u32], generate: &[u32], input: &[u32], kill: &[u32]) -> bool {
    update_if_changed(
        dst,
        [generate, input, kill],
        |d, [g, i, k]| (g | (i & !k)) & !d,
        |d, [g, i, k]| d | g | (i & !k),
    )
}

/// Returns whether every bit of `a` is in `b`.
#[inline]
pub fn is_subset_of(a: &[u32], b: &[u32]) -> bool {
    first_change(a, [b], |a, [b]| a & !b).is_none()
}

/// Returns whether some bit is in both.
#[inline]
pub fn intersects(a: &[u32], b: &[u32]) -> bool {
    first_change(a, [b], |a, [b]| a & b).is_some()
}

/// Returns whether no bit is set.
#[inline]
pub fn is_empty(words: &[u32]) -> bool {
    first_change(words, [], |word, []| word).is_none()
}

/// Returns how many bits are set.
#[inline]
pub fn count(words: &[u32]) -> usize {
    let (pairs, rest) = words.as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|&[low, high]| (u64::from(low) | u64::from(high) << 32).count_ones() as usize);
    pairs.sum::<usize>() + rest.iter().map(|word| word.count_ones() as usize).sum::<usize>()
}

/// Asserts that each source has the length of `dst`, and returns the sources.
#[inline(always)]
fn same_length<'source, const N: usize>(dst: &[u32], sources: [&'source [u32]; N]) -> [&'source [u32]; N] {
    sources.map(|source| {
        assert!(source.len() == dst.len(), "sets of different width");
        &source[..dst.len()]
    })
}

/// Sets every word of `dst` to `formula(word, words of sources)`.
#[inline(always)]
fn update<const N: usize>(dst: &mut [u32], sources: [&[u32]; N], formula: impl Fn(u32, [u32; N]) -> u32) {
    let sources = same_length(dst, sources);
    let (dst, sources) = update_steps::<GROUP_WORDS, N>(dst, sources, &formula);
    update_steps::<1, N>(dst, sources, &formula);
}

/// Does what [`update`] does, in steps of `WORDS` words. Returns the remaining words, fewer than a
/// step.
///
/// A step reads all its words before it writes one, so that the compiler need not prove that the
/// sources do not overlap `dst`.
#[inline(always)]
fn update_steps<'dst, 'source, const WORDS: usize, const N: usize>(
    dst: &'dst mut [u32],
    sources: [&'source [u32]; N],
    formula: &impl Fn(u32, [u32; N]) -> u32,
) -> (&'dst mut [u32], [&'source [u32]; N]) {
    let length = dst.len();
    let sources = sources.map(|source| &source[..length]);
    let (steps, dst) = dst.as_chunks_mut::<WORDS>();
    let source_steps = sources.map(|source| source.as_chunks::<WORDS>().0);
    for (step, words) in steps.iter_mut().enumerate() {
        let mut result = *words;
        for (lane, word) in result.iter_mut().enumerate() {
            *word = formula(*word, source_steps.map(|source| source[step][lane]));
        }
        *words = result;
    }
    (dst, sources.map(|source| source.as_chunks::<WORDS>().1))
}

/// Returns the start of the first group with a word for which `changes(word of dst, words of
/// sources)` is nonzero, or the first such word after the last whole group.
#[inline(always)]
fn first_change<const N: usize>(
    dst: &[u32],
    sources: [&[u32]; N],
    changes: impl Fn(u32, [u32; N]) -> u32,
) -> Option<usize> {
    let sources = same_length(dst, sources);
    let length = dst.len();
    let (steps, rest) = dst.as_chunks::<GROUP_WORDS>();
    let source_steps = sources.map(|source| source.as_chunks::<GROUP_WORDS>().0);
    for (step, words) in steps.iter().enumerate() {
        let source_words = source_steps.map(|source| &source[step]);
        if half_changes::<0, N>(words, source_words, &changes)
            || half_changes::<{ GROUP_WORDS / 2 }, N>(words, source_words, &changes)
        {
            return Some(step * GROUP_WORDS);
        }
    }
    (length - rest.len()..length).find(|&word| changes(dst[word], sources.map(|source| source[word])) != 0)
}

/// True if `changes` is nonzero in the half group that starts at word `START`. Half a group is the
/// smallest register, which takes the fewest instructions to compare with zero.
#[inline(always)]
fn half_changes<const START: usize, const N: usize>(
    words: &[u32; GROUP_WORDS],
    sources: [&[u32; GROUP_WORDS]; N],
    changes: &impl Fn(u32, [u32; N]) -> u32,
) -> bool {
    let mut found = 0;
    for lane in START..START + GROUP_WORDS / 2 {
        found |= changes(words[lane], sources.map(|source| source[lane]));
    }
    found != 0
}

/// Applies `formula` from the group of the first word that it changes. Returns whether there is
/// one.
///
/// `changes` is nonzero where `formula` differs from the word of `dst`.
#[inline(always)]
fn update_if_changed<const N: usize>(
    dst: &mut [u32],
    sources: [&[u32]; N],
    changes: impl Fn(u32, [u32; N]) -> u32,
    formula: impl Fn(u32, [u32; N]) -> u32,
) -> bool {
    let Some(first) = first_change(dst, sources, changes) else {
        return false;
    };
    update(&mut dst[first..], sources.map(|source| &source[first..]), formula);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Returns how many of `length` words an operation writes if only those of `changing` would
    /// change.
    fn written(length: u32, changing: &[u32]) -> Vec<u32> {
        let mut dst: Vec<u32> = (0..length).collect();
        let written = RefCell::new(Vec::new());
        let changed = update_if_changed(
            &mut dst,
            [],
            |word, []| u32::from(changing.contains(&word)),
            |word, []| {
                written.borrow_mut().push(word);
                word
            },
        );
        assert_eq!(changed, changing.iter().any(|&word| word < length));
        written.into_inner()
    }

    #[test]
    fn words_before_the_first_changing_group_are_not_written() {
        for length in 0..75 {
            assert!(written(length, &[]).is_empty());
            for first in 0..length {
                let group = GROUP_WORDS as u32;
                // Words after the last whole group are tested and written singly.
                let start = if first < length / group * group {
                    first / group * group
                } else {
                    first
                };
                let expected: Vec<u32> = (start..length).collect();
                assert_eq!(written(length, &[first, length - 1]), expected);
            }
        }
    }
}
