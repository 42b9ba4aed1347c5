//! Sets of entities, so that a set of registers cannot be queried for a block.
//!
//! [`EntityBits`] is a borrowed set of a fixed width: it is to [`EntityBitSet`] and
//! [`EntityBitMatrix`] what `str` is to `String`.

use super::words::{self, SetBits};
use super::{BitMatrix, BitVector, kernels};
use crate::entity::EntityRef;
use bytemuck::TransparentWrapper;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::Range;

/// Passes the operations that both kinds of set share to a macro: first those that modify a set,
/// then those that query it.
macro_rules! for_each_operation {
    ($expand:ident) => {
        $expand! {
            change {
                /// Adds the members of `source`.
                fn or(source);
                /// Adds the members of `source`. Returns whether one was new.
                fn or_if_changed(source) -> bool;
                /// Keeps only the members that are in `source` too.
                fn and(source);
                /// Keeps only the members that are in `source` too. Returns whether one was
                /// removed.
                fn and_if_changed(source) -> bool;
                /// Removes the members of `source`.
                fn and_not(source);
                /// Removes the members of `source`. Returns whether one was in the set.
                fn and_not_if_changed(source) -> bool;
                /// Removes the members of `source` that are in the set and adds those that are not.
                fn xor(source);
                /// Sets this set to the intersection of `a` and `b`.
                fn assign_and(a, b);
                /// Adds `generate` and the members of `input` that are not in `kill`.
                fn or_with_and_not(generate, input, kill);
                /// Adds `generate` and the members of `input` that are not in `kill`. Returns
                /// whether one was new.
                fn or_with_and_not_if_changed(generate, input, kill) -> bool;
            }
            ask {
                /// True if the set is empty.
                fn is_empty() -> bool;
                /// Returns the number of members.
                fn count() -> usize;
                /// True if every member of this set is in `other`.
                fn is_subset_of(other) -> bool;
                /// True if some entity is in both sets.
                fn intersects(other) -> bool;
            }
        }
    };
}

/// The words of a set of entities `E`, as an operand.
pub trait EntityWords<E>: AsRef<[u32]> {}

impl<E> EntityWords<E> for EntityBits<E> {}

impl<E> EntityWords<E> for EntityBitSet<E> {}

/// The derived `TransparentWrapper` compares types by their text and needs a single name.
type Words = [u32];

/// A set of entities in borrowed words.
///
/// The operands of an operation must have the set's width, as rows of matrices over the same
/// entities have.
#[derive(TransparentWrapper)]
#[repr(transparent)]
#[transparent(Words)]
pub struct EntityBits<E> {
    entity: PhantomData<E>,
    words: Words,
}

macro_rules! operations_on_words {
    (
        change { $($(#[$change_doc:meta])* fn $change:ident($($source:ident),*) $(-> $result:ty)?;)* }
        ask { $($(#[$ask_doc:meta])* fn $ask:ident($($other:ident)?) -> $answer:ty;)* }
    ) => {
        impl<E: EntityRef> EntityBits<E> {
            $(
                $(#[$change_doc])*
                #[inline]
                pub fn $change(&mut self, $($source: &(impl EntityWords<E> + ?Sized)),*) $(-> $result)? {
                    kernels::$change(&mut self.words, $($source.as_ref()),*)
                }
            )*
            $(
                $(#[$ask_doc])*
                #[inline]
                pub fn $ask(&self, $($other: &(impl EntityWords<E> + ?Sized))?) -> $answer {
                    kernels::$ask(&self.words, $($other.as_ref())?)
                }
            )*
        }
    };
}

for_each_operation!(operations_on_words);

impl<E: EntityRef> EntityBits<E> {
    /// Views words as a set of entities.
    #[inline]
    pub fn new(words: &[u32]) -> &Self {
        Self::wrap_ref(words)
    }

    /// Views words as a set of entities.
    #[inline]
    pub fn new_mut(words: &mut [u32]) -> &mut Self {
        Self::wrap_mut(words)
    }

    /// Adds an entity, which must be within the width. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, entity: E) -> bool {
        words::insert(&mut self.words, entity.index())
    }

    /// Removes an entity. Returns whether it was in the set.
    #[inline]
    pub fn remove(&mut self, entity: E) -> bool {
        words::remove(&mut self.words, entity.index())
    }

    /// Returns whether an entity is in the set.
    #[inline]
    pub fn contains(&self, entity: E) -> bool {
        words::contains(&self.words, entity.index())
    }

    /// Removes all members.
    #[inline]
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Copies `source` into this set.
    #[inline]
    pub fn assign(&mut self, source: &(impl EntityWords<E> + ?Sized)) {
        self.words.copy_from_slice(source.as_ref());
    }

    /// The first member that is not before `from`.
    #[inline]
    pub fn next(&self, from: E) -> Option<E> {
        words::next(&self.words, from.index()).map(E::new)
    }

    /// Returns the last member before `before`.
    #[inline]
    pub fn previous(&self, before: E) -> Option<E> {
        words::previous(&self.words, before.index()).map(E::new)
    }

    /// Returns the members, ascending.
    #[inline]
    pub fn iter(&self) -> Entities<'_, E> {
        Entities {
            bits: SetBits::new(&self.words),
            entity: PhantomData,
        }
    }
}

impl<E> AsRef<[u32]> for EntityBits<E> {
    #[inline]
    fn as_ref(&self) -> &[u32] {
        &self.words
    }
}

impl<E: EntityRef + fmt::Debug> fmt::Debug for EntityBits<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self).finish()
    }
}

impl<'a, E: EntityRef> IntoIterator for &'a EntityBits<E> {
    type Item = E;
    type IntoIter = Entities<'a, E>;

    #[inline]
    fn into_iter(self) -> Entities<'a, E> {
        self.iter()
    }
}

/// Iterates over the members of a set of entities, ascending.
#[derive(Clone, Debug)]
pub struct Entities<'a, E> {
    bits: SetBits<'a>,
    entity: PhantomData<E>,
}

impl<E: EntityRef> Iterator for Entities<'_, E> {
    type Item = E;

    #[inline]
    fn next(&mut self) -> Option<E> {
        self.bits.next().map(E::new)
    }
}

impl<E: EntityRef> FusedIterator for Entities<'_, E> {}

/// A set of entities that grows: a [`BitVector`] with typed members.
///
/// As for [`BitVector`], the amount of memory is not part of the value, and operands may have any
/// length.
#[derive(Clone)]
pub struct EntityBitSet<E> {
    bits: BitVector,
    entity: PhantomData<E>,
}

macro_rules! operations_on_set {
    (
        change { $($(#[$change_doc:meta])* fn $change:ident($($source:ident),*) $(-> $result:ty)?;)* }
        ask { $($(#[$ask_doc:meta])* fn $ask:ident($($other:ident)?) -> $answer:ty;)* }
    ) => {
        impl<E: EntityRef> EntityBitSet<E> {
            $(
                $(#[$change_doc])*
                #[inline]
                pub fn $change(&mut self, $($source: &(impl EntityWords<E> + ?Sized)),*) $(-> $result)? {
                    self.bits.$change($($source),*)
                }
            )*
            $(
                $(#[$ask_doc])*
                #[inline]
                pub fn $ask(&self, $($other: &(impl EntityWords<E> + ?Sized))?) -> $answer {
                    self.bits.$ask($($other)?)
                }
            )*
        }
    };
}

for_each_operation!(operations_on_set);

impl<E: EntityRef> EntityBitSet<E> {
    /// Creates an empty set without memory.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty set with room for the first `entities` entities.
    pub fn with_room(entities: usize) -> Self {
        EntityBitSet {
            bits: BitVector::with_bits(entities),
            entity: PhantomData,
        }
    }

    /// Makes room for the first `entities` entities.
    #[inline]
    pub fn allocate(&mut self, entities: usize) {
        self.bits.allocate(entities);
    }

    /// Adds an entity. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, entity: E) -> bool {
        self.bits.insert(entity.index())
    }

    /// Removes an entity. Returns whether it was in the set.
    #[inline]
    pub fn remove(&mut self, entity: E) -> bool {
        self.bits.remove(entity.index())
    }

    /// Returns whether an entity is in the set.
    #[inline]
    pub fn contains(&self, entity: E) -> bool {
        self.bits.contains(entity.index())
    }

    /// Adds the entities of a half-open range.
    pub fn insert_range(&mut self, range: Range<E>) {
        self.bits.insert_range(range.start.index()..range.end.index());
    }

    /// Removes the entities of a half-open range.
    pub fn remove_range(&mut self, range: Range<E>) {
        self.bits.remove_range(range.start.index()..range.end.index());
    }

    /// Removes all members.
    #[inline]
    pub fn clear(&mut self) {
        self.bits.clear();
    }

    /// Copies `source` into this set.
    #[inline]
    pub fn assign(&mut self, source: &(impl EntityWords<E> + ?Sized)) {
        self.bits.assign(source);
    }

    /// Returns the first member.
    #[inline]
    pub fn first(&self) -> Option<E> {
        self.bits.first().map(E::new)
    }

    /// Returns the last member.
    #[inline]
    pub fn last(&self) -> Option<E> {
        self.bits.last().map(E::new)
    }

    /// The first member that is not before `from`.
    #[inline]
    pub fn next(&self, from: E) -> Option<E> {
        self.bits.next(from.index()).map(E::new)
    }

    /// Returns the last member before `before`.
    #[inline]
    pub fn previous(&self, before: E) -> Option<E> {
        self.bits.previous(before.index()).map(E::new)
    }

    /// Returns the members, ascending.
    #[inline]
    pub fn iter(&self) -> Entities<'_, E> {
        EntityBits::new(self.bits.words()).iter()
    }
}

impl<E> AsRef<[u32]> for EntityBitSet<E> {
    #[inline]
    fn as_ref(&self) -> &[u32] {
        self.bits.words()
    }
}

impl<E> Default for EntityBitSet<E> {
    #[inline]
    fn default() -> Self {
        EntityBitSet {
            bits: BitVector::default(),
            entity: PhantomData,
        }
    }
}

impl<E> PartialEq for EntityBitSet<E> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<E> Eq for EntityBitSet<E> {}

impl<E> Hash for EntityBitSet<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<E: EntityRef + fmt::Debug> fmt::Debug for EntityBitSet<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self).finish()
    }
}

impl<E: EntityRef> Extend<E> for EntityBitSet<E> {
    fn extend<I: IntoIterator<Item = E>>(&mut self, entities: I) {
        self.bits.extend(entities.into_iter().map(E::index));
    }
}

impl<E: EntityRef> FromIterator<E> for EntityBitSet<E> {
    fn from_iter<I: IntoIterator<Item = E>>(entities: I) -> Self {
        let mut set = Self::new();
        set.extend(entities);
        set
    }
}

impl<'a, E: EntityRef> IntoIterator for &'a EntityBitSet<E> {
    type Item = E;
    type IntoIter = Entities<'a, E>;

    #[inline]
    fn into_iter(self) -> Entities<'a, E> {
        self.iter()
    }
}

/// A set of entities `C` for each entity `R`: a [`BitMatrix`] with typed rows and columns.
#[derive(Clone)]
pub struct EntityBitMatrix<R, C> {
    bits: BitMatrix,
    entities: PhantomData<(R, C)>,
}

impl<R: EntityRef, C: EntityRef> EntityBitMatrix<R, C> {
    /// Creates a matrix of empty rows for `rows` and `columns` entities.
    pub fn new(rows: usize, columns: usize) -> Self {
        EntityBitMatrix {
            bits: BitMatrix::new(rows, columns),
            entities: PhantomData,
        }
    }

    /// Returns the set of a row.
    #[inline]
    pub fn row(&self, row: R) -> &EntityBits<C> {
        EntityBits::new(self.bits.row(row.index()))
    }

    /// Returns the set of a row, to modify. Members past the last column are not allowed.
    #[inline]
    pub fn row_mut(&mut self, row: R) -> &mut EntityBits<C> {
        EntityBits::new_mut(self.bits.row_mut(row.index()))
    }

    /// Adds a column to a row. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, row: R, column: C) -> bool {
        self.bits.insert(row.index(), column.index())
    }

    /// Removes a column from a row. Returns whether it was in it.
    #[inline]
    pub fn remove(&mut self, row: R, column: C) -> bool {
        self.bits.remove(row.index(), column.index())
    }

    /// Returns whether a column is in a row.
    #[inline]
    pub fn contains(&self, row: R, column: C) -> bool {
        self.bits.contains(row.index(), column.index())
    }
}

impl<R, C> Default for EntityBitMatrix<R, C> {
    fn default() -> Self {
        EntityBitMatrix {
            bits: BitMatrix::default(),
            entities: PhantomData,
        }
    }
}

impl<R: EntityRef + fmt::Debug, C: EntityRef + fmt::Debug> fmt::Debug for EntityBitMatrix<R, C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = (0..self.bits.rows()).map(R::new);
        formatter
            .debug_map()
            .entries(rows.map(|row| (row, self.row(row))))
            .finish()
    }
}
