//! The kernels in plain Rust, shaped so that the compiler turns them into vector code.
//!
//! Every operation is one of three loops with a formula on words: [`update`] writes a set, [`any`]
//! asks whether a word isn't zero, and [`update_if_changed`] asks, then writes. The text is
//! compiled once for every instruction set of `x86`; what is compiled for the target's own baseline
//! is the portable form (on x86-64 that baseline is SSE2).
//!
//! `LONG` tells apart two shapes of one loop: with it, blocks of several of the widest registers,
//! then groups; without it, which is the form that is inlined for short sets, groups only.
//!
//! Slices of one call have the same length; the callers in `kernels` check it.

use super::words::GROUP_WORDS;

/// Words that a step of a long loop takes: two AVX-512 registers, four AVX2, eight SSE2.
const BLOCK_WORDS: usize = 32;

/// Sets every word of `dst` to `formula(word, words of sources)`.
#[inline(always)]
fn update<const LONG: bool, const N: usize>(
    dst: &mut [u32],
    sources: [&[u32]; N],
    formula: impl Fn(u32, [u32; N]) -> u32,
) {
    let (mut dst, mut sources) = (dst, sources);
    if LONG {
        (dst, sources) = update_steps::<BLOCK_WORDS, N>(dst, sources, &formula);
    }
    (dst, sources) = update_steps::<GROUP_WORDS, N>(dst, sources, &formula);
    update_steps::<1, N>(dst, sources, &formula);
}

/// [`update`] in steps of `WORDS` words. Returns what is left, less than a step.
///
/// A step reads all its words before it writes one, so that the compiler need not know whether the
/// sources overlap `dst`.
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

/// Whether `changes(word of dst, words of sources)` isn't zero somewhere.
#[inline(always)]
fn any<const LONG: bool, const N: usize>(
    dst: &[u32],
    sources: [&[u32]; N],
    changes: impl Fn(u32, [u32; N]) -> u32,
) -> bool {
    first_change::<LONG, N>(dst, sources, changes).is_some()
}

/// Start of the first group where `changes(word of dst, words of sources)` isn't zero in some word,
/// or the first such word among those after the last whole group.
#[inline(always)]
fn first_change<const LONG: bool, const N: usize>(
    dst: &[u32],
    sources: [&[u32]; N],
    changes: impl Fn(u32, [u32; N]) -> u32,
) -> Option<usize> {
    let length = dst.len();
    let sources = sources.map(|source| &source[..length]);
    let mut start = 0;
    if LONG {
        let (steps, rest) = dst.as_chunks::<BLOCK_WORDS>();
        let source_steps = sources.map(|source| source.as_chunks::<BLOCK_WORDS>().0);
        let found = steps.iter().enumerate().position(|(step, words)| {
            let mut found = 0;
            for (lane, &word) in words.iter().enumerate() {
                found |= changes(word, source_steps.map(|source| source[step][lane]));
            }
            found != 0
        });
        start = found.map_or(length - rest.len(), |step| step * BLOCK_WORDS);
    }
    let (steps, rest) = dst[start..].as_chunks::<GROUP_WORDS>();
    let source_steps = sources.map(|source| source[start..].as_chunks::<GROUP_WORDS>().0);
    for (step, words) in steps.iter().enumerate() {
        let source_words = source_steps.map(|source| &source[step]);
        if half_changes::<0, N>(words, source_words, &changes)
            || half_changes::<{ GROUP_WORDS / 2 }, N>(words, source_words, &changes)
        {
            return Some(start + step * GROUP_WORDS);
        }
    }
    (length - rest.len()..length).find(|&word| changes(dst[word], sources.map(|source| source[word])) != 0)
}

/// Whether `changes` isn't zero in the half of a group that starts at word `START`. Half a group is
/// the smallest register, which takes the fewest instructions to compare with zero.
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

/// Applies `formula` from the group on that has the first word that it changes; whether there is
/// one.
///
/// `changes` is not zero where `formula` differs from the word of `dst`.
#[inline(always)]
fn update_if_changed<const LONG: bool, const N: usize>(
    dst: &mut [u32],
    sources: [&[u32]; N],
    changes: impl Fn(u32, [u32; N]) -> u32,
    formula: impl Fn(u32, [u32; N]) -> u32,
) -> bool {
    let Some(first) = first_change::<LONG, N>(dst, sources, changes) else {
        return false;
    };
    update::<LONG, N>(&mut dst[first..], sources.map(|source| &source[first..]), formula);
    true
}

/// `dst |= source`.
#[inline(always)]
pub(super) fn or<const LONG: bool>(dst: &mut [u32], source: &[u32]) {
    update::<LONG, _>(dst, [source], |d, [s]| d | s);
}

/// `dst |= source`; whether that changed a bit.
#[inline(always)]
pub(super) fn or_if_changed<const LONG: bool>(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed::<LONG, _>(dst, [source], |d, [s]| s & !d, |d, [s]| d | s)
}

/// `dst &= source`.
#[inline(always)]
pub(super) fn and<const LONG: bool>(dst: &mut [u32], source: &[u32]) {
    update::<LONG, _>(dst, [source], |d, [s]| d & s);
}

/// `dst &= source`; whether that changed a bit.
#[inline(always)]
pub(super) fn and_if_changed<const LONG: bool>(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed::<LONG, _>(dst, [source], |d, [s]| d & !s, |d, [s]| d & s)
}

/// `dst &= !source`.
#[inline(always)]
pub(super) fn and_not<const LONG: bool>(dst: &mut [u32], source: &[u32]) {
    update::<LONG, _>(dst, [source], |d, [s]| d & !s);
}

/// `dst &= !source`; whether that changed a bit.
#[inline(always)]
pub(super) fn and_not_if_changed<const LONG: bool>(dst: &mut [u32], source: &[u32]) -> bool {
    update_if_changed::<LONG, _>(dst, [source], |d, [s]| d & s, |d, [s]| d & !s)
}

/// `dst ^= source`.
#[inline(always)]
pub(super) fn xor<const LONG: bool>(dst: &mut [u32], source: &[u32]) {
    update::<LONG, _>(dst, [source], |d, [s]| d ^ s);
}

/// `dst = a & b`.
#[inline(always)]
pub(super) fn assign_and<const LONG: bool>(dst: &mut [u32], a: &[u32], b: &[u32]) {
    update::<LONG, _>(dst, [a, b], |_, [a, b]| a & b);
}

/// `dst |= gen | (input & !kill)`.
#[inline(always)]
pub(super) fn or_with_and_not<const LONG: bool>(
    dst: &mut [u32],
    generate: &[u32],
    input: &[u32],
    kill: &[u32],
) {
    update::<LONG, _>(dst, [generate, input, kill], |d, [g, i, k]| d | g | (i & !k));
}

/// `dst |= gen | (input & !kill)`; whether that changed a bit.
#[inline(always)]
pub(super) fn or_with_and_not_if_changed<const LONG: bool>(
    dst: &mut [u32],
    generate: &[u32],
    input: &[u32],
    kill: &[u32],
) -> bool {
    update_if_changed::<LONG, _>(
        dst,
        [generate, input, kill],
        |d, [g, i, k]| (g | (i & !k)) & !d,
        |d, [g, i, k]| d | g | (i & !k),
    )
}

/// Whether every bit of `a` is in `b`.
#[inline(always)]
pub(super) fn is_subset_of<const LONG: bool>(a: &[u32], b: &[u32]) -> bool {
    !any::<LONG, _>(a, [b], |a, [b]| a & !b)
}

/// Whether some bit is in both.
#[inline(always)]
pub(super) fn intersects<const LONG: bool>(a: &[u32], b: &[u32]) -> bool {
    any::<LONG, _>(a, [b], |a, [b]| a & b)
}

/// Whether no bit is set.
#[inline(always)]
pub(super) fn is_empty<const LONG: bool>(words: &[u32]) -> bool {
    !any::<LONG, _>(words, [], |word, []| word)
}

/// How many bits are set.
#[inline(always)]
pub(super) fn count<const LONG: bool>(words: &[u32]) -> usize {
    let (pairs, rest) = words.as_chunks::<2>();
    let pairs = pairs
        .iter()
        .map(|&[low, high]| (u64::from(low) | u64::from(high) << 32).count_ones() as usize);
    pairs.sum::<usize>() + rest.iter().map(|word| word.count_ones() as usize).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Words that an operation writes when only those of `changing` would change, out of `length`.
    fn written<const LONG: bool>(length: u32, changing: &[u32]) -> Vec<u32> {
        let mut dst: Vec<u32> = (0..length).collect();
        let written = RefCell::new(Vec::new());
        let changed = update_if_changed::<LONG, 0>(
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
            assert!(written::<false>(length, &[]).is_empty());
            assert!(written::<true>(length, &[]).is_empty());
            for first in 0..length {
                let group = GROUP_WORDS as u32;
                // Words after the last whole group are looked at and written singly.
                let start = if first < length / group * group {
                    first / group * group
                } else {
                    first
                };
                let expected: Vec<u32> = (start..length).collect();
                assert_eq!(written::<false>(length, &[first, length - 1]), expected);
                assert_eq!(written::<true>(length, &[first, length - 1]), expected);
            }
        }
    }
}
