//! Register sets: bit vectors of 32-bit words, matrices of them, and both typed over entities.
//!
//! | module | subject |
//! |---|---|
//! | [`BitVector`] (this file) | a set of numbers that grows |
//! | [`matrix`] | many sets of one width in one allocation |
//! | [`typed`] | both for entities; used by phases |
//! | [`words`] | single bits, ranges and iteration on a slice of words |
//! | [`kernels`] | whole-set operations on slices of words |
//!
//! The operations are those of the reference's bit vector library under these names:
//!
//! | reference | here |
//! |---|---|
//! | allocate | [`allocate`](BitVector::allocate) |
//! | setBit, clearBit, testBit | [`insert`](BitVector::insert), [`remove`](BitVector::remove), [`contains`](BitVector::contains) |
//! | operator`\|=`, orIfChanged | [`or`](BitVector::or), [`or_if_changed`](BitVector::or_if_changed) |
//! | operator`&=`, andIfChanged | [`and`](BitVector::and), [`and_if_changed`](BitVector::and_if_changed) |
//! | operator`^=` | [`xor`](BitVector::xor) |
//! | assignAND | [`assign_and`](BitVector::assign_and) |
//! | orWithAndNot | [`or_with_and_not`](BitVector::or_with_and_not) |
//! | orWithAndNotIfChanged | [`or_with_and_not_if_changed`](BitVector::or_with_and_not_if_changed) |
//! | extractBits | [`extract_bits`](BitVector::extract_bits) |
//! | popcount, clear, operator`=` | [`count`](BitVector::count), [`clear`](BitVector::clear), [`assign`](BitVector::assign) |
//! | isSubsetOf | [`is_subset_of`](BitVector::is_subset_of) |

pub mod kernels;
pub mod matrix;
mod scratch;
#[cfg(test)]
mod tests;
pub mod typed;
pub mod words;

pub use matrix::BitMatrix;
pub use scratch::ScratchSet;
pub use typed::{EntityBitMatrix, EntityBitSet, EntityBits};
pub use words::SetBits;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{BitAndAssign, BitOrAssign, BitXorAssign, Range, SubAssign};
use words::{CELL_BITS, Cell, GROUP_WORDS, Group, WORD_BITS, cell_bit};

/// A set of numbers, stored as one bit each.
///
/// The number of stored words is not part of the value: a number past them is not in the set. So
/// sets of different lengths can be combined, inserting a number or a longer set grows the set, and
/// equality and hash ignore trailing zeros. Memory is never released; [`allocate`](Self::allocate)
/// reserves it in advance.
///
/// Operations with another set accept anything that lends its words: a [`BitVector`], or a row of a
/// [`BitMatrix`].
///
/// Departure: the reference's header has a pointer, a word count, a capacity and a bit count.
/// Nothing depends on the bit count, so it is not stored.
#[derive(Clone, Default)]
pub struct BitVector {
    groups: Vec<Group>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<BitVector>() == 24);

impl BitVector {
    /// Creates an empty set without memory.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set with room for the numbers below `bits`.
    pub fn with_bits(bits: usize) -> Self {
        let mut set = Self::new();
        set.allocate(bits);
        set
    }

    /// Makes room for the numbers below `bits`. Members stay, and memory is never released.
    #[inline]
    pub fn allocate(&mut self, bits: usize) {
        self.allocate_words(bits.div_ceil(WORD_BITS));
    }

    #[inline]
    fn allocate_words(&mut self, count: usize) {
        if count > self.words().len() {
            self.grow(count);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, count: usize) {
        self.groups.resize(count.div_ceil(GROUP_WORDS), Group::default());
    }

    /// Returns the words: number `n` is bit `n % 32` of word `n / 32`.
    #[inline]
    pub fn words(&self) -> &[u32] {
        bytemuck::cast_slice(&self.groups)
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(&mut self.groups)
    }

    #[inline]
    fn cells(&self) -> &[Cell] {
        bytemuck::cast_slice(&self.groups)
    }

    #[inline]
    fn cells_mut(&mut self) -> &mut [Cell] {
        bytemuck::cast_slice_mut(&mut self.groups)
    }

    /// Adds a number. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, number: usize) -> bool {
        let Some(cell) = self.cells_mut().get_mut(number / CELL_BITS) else {
            return self.insert_past_end(number);
        };
        let new = *cell & cell_bit(number) == 0;
        *cell |= cell_bit(number);
        new
    }

    #[cold]
    #[inline(never)]
    fn insert_past_end(&mut self, number: usize) -> bool {
        self.grow(number / WORD_BITS + 1);
        words::insert(self.words_mut(), number)
    }

    /// Removes a number. Returns whether it was in the set.
    #[inline]
    pub fn remove(&mut self, number: usize) -> bool {
        let Some(cell) = self.cells_mut().get_mut(number / CELL_BITS) else {
            return false;
        };
        let was_in = *cell & cell_bit(number) != 0;
        *cell &= !cell_bit(number);
        was_in
    }

    /// Returns whether a number is in the set.
    #[inline]
    pub fn contains(&self, number: usize) -> bool {
        let cell = self.cells().get(number / CELL_BITS);
        cell.is_some_and(|cell| cell & cell_bit(number) != 0)
    }

    /// Adds all numbers of a range.
    pub fn insert_range(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.allocate(range.end);
            words::insert_range(self.words_mut(), range);
        }
    }

    /// Removes all numbers of a range.
    pub fn remove_range(&mut self, range: Range<usize>) {
        words::remove_range(self.words_mut(), range);
    }

    /// Removes all members.
    #[inline]
    pub fn clear(&mut self) {
        self.words_mut().fill(0);
    }

    /// Copies `source` into this set.
    pub fn assign(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) {
        let source = source.as_ref();
        self.allocate_words(source.len());
        let (common, rest) = self.words_mut().split_at_mut(source.len());
        common.copy_from_slice(source);
        if !rest.is_empty() {
            rest.fill(0);
        }
    }

    /// Adds the members of `source`.
    #[inline]
    pub fn or(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) {
        let source = source.as_ref();
        self.allocate_words(source.len());
        kernels::or(&mut self.words_mut()[..source.len()], source);
    }

    /// Adds the members of `source`. Returns whether one of them was new.
    #[inline]
    pub fn or_if_changed(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) -> bool {
        let source = source.as_ref();
        self.allocate_words(source.len());
        kernels::or_if_changed(&mut self.words_mut()[..source.len()], source)
    }

    /// Keeps only the members that are in `source` too.
    #[inline]
    pub fn and(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) {
        let (common, source, rest) = self.common(source.as_ref());
        kernels::and(common, source);
        if !rest.is_empty() {
            rest.fill(0);
        }
    }

    /// Keeps only the members that are in `source` too. Returns whether one was removed.
    #[inline]
    pub fn and_if_changed(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) -> bool {
        let (common, source, rest) = self.common(source.as_ref());
        let changed = kernels::and_if_changed(common, source);
        if rest.is_empty() {
            return changed;
        }
        let dropped = !kernels::is_empty(rest);
        rest.fill(0);
        changed | dropped
    }

    /// Removes the members of `source`.
    #[inline]
    pub fn and_not(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) {
        let (common, source) = self.shared(source.as_ref());
        kernels::and_not(common, source);
    }

    /// Removes the members of `source`. Returns whether one was in the set.
    #[inline]
    pub fn and_not_if_changed(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) -> bool {
        let (common, source) = self.shared(source.as_ref());
        kernels::and_not_if_changed(common, source)
    }

    /// Removes the members of `source` that are in the set and adds those that are not.
    #[inline]
    pub fn xor(&mut self, source: &(impl AsRef<[u32]> + ?Sized)) {
        let source = source.as_ref();
        self.allocate_words(source.len());
        kernels::xor(&mut self.words_mut()[..source.len()], source);
    }

    /// Sets this set to the intersection of `a` and `b`.
    #[inline]
    pub fn assign_and(&mut self, a: &(impl AsRef<[u32]> + ?Sized), b: &(impl AsRef<[u32]> + ?Sized)) {
        let (a, b) = (a.as_ref(), b.as_ref());
        let length = a.len().min(b.len());
        self.allocate_words(length);
        let (common, rest) = self.words_mut().split_at_mut(length);
        kernels::assign_and(common, &a[..length], &b[..length]);
        if !rest.is_empty() {
            rest.fill(0);
        }
    }

    /// Adds `generate` and the members of `input` that are not in `kill`.
    #[inline]
    pub fn or_with_and_not(
        &mut self,
        generate: &(impl AsRef<[u32]> + ?Sized),
        input: &(impl AsRef<[u32]> + ?Sized),
        kill: &(impl AsRef<[u32]> + ?Sized),
    ) {
        let (generate, input, kill) = (generate.as_ref(), input.as_ref(), kill.as_ref());
        if generate.len() == input.len() && generate.len() == kill.len() {
            self.allocate_words(generate.len());
            kernels::or_with_and_not(&mut self.words_mut()[..generate.len()], generate, input, kill);
        } else {
            self.transfer_of_different_lengths(generate, input, kill);
        }
    }

    /// Adds `generate` and the members of `input` that are not in `kill`. Returns whether one was
    /// new.
    #[inline]
    pub fn or_with_and_not_if_changed(
        &mut self,
        generate: &(impl AsRef<[u32]> + ?Sized),
        input: &(impl AsRef<[u32]> + ?Sized),
        kill: &(impl AsRef<[u32]> + ?Sized),
    ) -> bool {
        let (generate, input, kill) = (generate.as_ref(), input.as_ref(), kill.as_ref());
        if generate.len() == input.len() && generate.len() == kill.len() {
            self.allocate_words(generate.len());
            let dst = &mut self.words_mut()[..generate.len()];
            kernels::or_with_and_not_if_changed(dst, generate, input, kill)
        } else {
            self.transfer_of_different_lengths(generate, input, kill)
        }
    }

    /// Does what [`or_with_and_not_if_changed`](Self::or_with_and_not_if_changed) does, word by
    /// word.
    #[cold]
    fn transfer_of_different_lengths(&mut self, generate: &[u32], input: &[u32], kill: &[u32]) -> bool {
        let length = generate.len().max(input.len());
        self.allocate_words(length);
        let word = |words: &[u32], position: usize| words.get(position).copied().unwrap_or(0);
        let mut changed = false;
        for (position, dst) in self.words_mut()[..length].iter_mut().enumerate() {
            let carried = word(input, position) & !word(kill, position);
            let new = (word(generate, position) | carried) & !*dst;
            if new != 0 {
                *dst |= new;
                changed = true;
            }
        }
        changed
    }

    /// Copies the bits of a range to `out`, the first to bit 0; see [`words::extract_bits`].
    pub fn extract_bits(&self, range: Range<usize>, out: &mut [u32]) {
        words::extract_bits(self.words(), range, out);
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        kernels::is_empty(self.words())
    }

    /// Returns the number of members.
    #[inline]
    pub fn count(&self) -> usize {
        kernels::count(self.words())
    }

    /// True if every member of this set is in `other`.
    #[inline]
    pub fn is_subset_of(&self, other: &(impl AsRef<[u32]> + ?Sized)) -> bool {
        let other = other.as_ref();
        let (common, rest) = self.words().split_at(self.words().len().min(other.len()));
        kernels::is_subset_of(common, &other[..common.len()]) && kernels::is_empty(rest)
    }

    /// True if some number is in both sets.
    #[inline]
    pub fn intersects(&self, other: &(impl AsRef<[u32]> + ?Sized)) -> bool {
        let other = other.as_ref();
        let length = self.words().len().min(other.len());
        kernels::intersects(&self.words()[..length], &other[..length])
    }

    /// Returns the smallest member.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        words::next(self.words(), 0)
    }

    /// Returns the largest member.
    #[inline]
    pub fn last(&self) -> Option<usize> {
        words::previous(self.words(), self.words().len() * WORD_BITS)
    }

    /// The smallest member that is at least `from`.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        words::next(self.words(), from)
    }

    /// Returns the largest member below `before`.
    #[inline]
    pub fn previous(&self, before: usize) -> Option<usize> {
        words::previous(self.words(), before)
    }

    /// Returns the members, ascending.
    #[inline]
    pub fn iter(&self) -> SetBits<'_> {
        SetBits::new(self.words())
    }

    /// Returns the words that this set and `other` both store.
    #[inline]
    fn shared<'other>(&mut self, other: &'other [u32]) -> (&mut [u32], &'other [u32]) {
        let words = self.words_mut();
        let length = words.len().min(other.len());
        (&mut words[..length], &other[..length])
    }

    /// Returns the words that this set and `other` both store, and the rest of this set's.
    #[inline]
    fn common<'other>(&mut self, other: &'other [u32]) -> (&mut [u32], &'other [u32], &mut [u32]) {
        let words = self.words_mut();
        if words.len() == other.len() {
            return (words, other, &mut []);
        }
        let length = words.len().min(other.len());
        let (common, rest) = words.split_at_mut(length);
        (common, &other[..length], rest)
    }

    /// Returns the words up to the last nonzero one.
    fn significant_words(&self) -> &[u32] {
        let length = self
            .words()
            .iter()
            .rposition(|&word| word != 0)
            .map_or(0, |last| last + 1);
        &self.words()[..length]
    }
}

impl AsRef<[u32]> for BitVector {
    #[inline]
    fn as_ref(&self) -> &[u32] {
        self.words()
    }
}

impl PartialEq for BitVector {
    fn eq(&self, other: &Self) -> bool {
        let length = self.words().len().min(other.words().len());
        self.words()[..length] == other.words()[..length]
            && kernels::is_empty(&self.words()[length..])
            && kernels::is_empty(&other.words()[length..])
    }
}

impl Eq for BitVector {}

impl Hash for BitVector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant_words().hash(state);
    }
}

impl fmt::Debug for BitVector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self).finish()
    }
}

impl Extend<usize> for BitVector {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, numbers: I) {
        for number in numbers {
            self.insert(number);
        }
    }
}

impl FromIterator<usize> for BitVector {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::new();
        set.extend(numbers);
        set
    }
}

impl<'a> IntoIterator for &'a BitVector {
    type Item = usize;
    type IntoIter = SetBits<'a>;

    #[inline]
    fn into_iter(self) -> SetBits<'a> {
        self.iter()
    }
}

impl BitOrAssign<&BitVector> for BitVector {
    #[inline]
    fn bitor_assign(&mut self, source: &BitVector) {
        self.or(source);
    }
}

impl BitAndAssign<&BitVector> for BitVector {
    #[inline]
    fn bitand_assign(&mut self, source: &BitVector) {
        self.and(source);
    }
}

impl BitXorAssign<&BitVector> for BitVector {
    #[inline]
    fn bitxor_assign(&mut self, source: &BitVector) {
        self.xor(source);
    }
}

impl SubAssign<&BitVector> for BitVector {
    #[inline]
    fn sub_assign(&mut self, source: &BitVector) {
        self.and_not(source);
    }
}
