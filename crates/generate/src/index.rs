//! Entity indexes and their tables.
//!
//! The generator is independent, so it has its own small pair of types instead of the engine's.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

/// A newtype around a `u32` that names one entity of a function.
pub(super) trait Entity: Copy {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! define_entity {
    ($($(#[$documentation:meta])* $name:ident;)*) => {$(
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(u32);

        impl Entity for $name {
            fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("a generated function has fewer than 2^32 entities"))
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }
    )*};
}

define_entity! {
    /// A basic block; blocks are numbered in layout order.
    Block;
    /// A future place in the layout of a block that has not been placed yet.
    Label;
    /// A value in static single assignment, or a variable of the late form.
    Value;
}

/// A vector indexed by an entity.
#[derive(Clone, Debug)]
pub(super) struct Table<I, T> {
    items: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Entity, T> Table<I, T> {
    pub(super) fn new() -> Self {
        Self::from_items(Vec::new())
    }

    pub(super) fn from_items(items: Vec<T>) -> Self {
        Self {
            items,
            index: PhantomData,
        }
    }

    pub(super) fn filled(length: usize, item: T) -> Self
    where
        T: Clone,
    {
        Self::from_items(vec![item; length])
    }

    pub(super) fn push(&mut self, item: T) -> I {
        let index = I::new(self.items.len());
        self.items.push(item);
        index
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn indexes(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::new)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (I::new(index), item))
    }
}

impl<I: Entity, T> Index<I> for Table<I, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        &self.items[index.index()]
    }
}

impl<I: Entity, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.items[index.index()]
    }
}

/// A part of a pool: lists of different lengths share one vector, so that a million short lists
/// need no allocations of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) const EMPTY: Self = Self { start: 0, end: 0 };

    pub(super) fn new(range: Range<usize>) -> Self {
        let narrow = |index| u32::try_from(index).expect("a pool holds fewer than 2^32 items");
        Self {
            start: narrow(range.start),
            end: narrow(range.end),
        }
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
