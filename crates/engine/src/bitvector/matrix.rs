//! Sets of one width in one allocation: the table of a dataflow problem, with a row for each block.

use super::words::{self, GROUP_WORDS, Group, SetBits, WORD_BITS};
use std::fmt;
use std::ops::Range;

/// Rows of bits, all of the same width.
///
/// A row is a slice of words, for the functions of [`kernels`](super::kernels) and [`words`]. Rows of matrices with
/// the same number of columns have the same length, so they can be operands of one kernel.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BitMatrix {
    groups: Vec<Group>,
    rows: usize,
    columns: usize,
    /// Groups in a row.
    row_groups: usize,
}

impl BitMatrix {
    /// Creates a matrix of empty rows.
    pub fn new(rows: usize, columns: usize) -> Self {
        let mut matrix = Self::default();
        matrix.reset(rows, columns);
        matrix
    }

    /// Removes all members and sets the size. Allocates only if the memory held is too small.
    pub fn reset(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.columns = columns;
        self.row_groups = columns.div_ceil(GROUP_WORDS * WORD_BITS);
        self.groups.clear();
        self.groups.resize(rows * self.row_groups, Group::default());
    }

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the range of a row's groups.
    #[inline]
    fn groups_of(&self, row: usize) -> Range<usize> {
        row * self.row_groups..(row + 1) * self.row_groups
    }

    /// Returns the words of a row.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        bytemuck::cast_slice(&self.groups[self.groups_of(row)])
    }

    /// Returns the words of a row. Bits past the last column must stay zero.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [u32] {
        let groups = self.groups_of(row);
        bytemuck::cast_slice_mut(&mut self.groups[groups])
    }

    /// Adds a column to a row. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, row: usize, column: usize) -> bool {
        assert!(column < self.columns, "column {column} of {}", self.columns);
        words::insert(self.row_mut(row), column)
    }

    /// Removes a column from a row. Returns whether it was in it.
    #[inline]
    pub fn remove(&mut self, row: usize, column: usize) -> bool {
        words::remove(self.row_mut(row), column)
    }

    /// Returns whether a column is in a row.
    #[inline]
    pub fn contains(&self, row: usize, column: usize) -> bool {
        words::contains(self.row(row), column)
    }

    /// Returns the columns of a row, ascending.
    #[inline]
    pub fn iter(&self, row: usize) -> SetBits<'_> {
        SetBits::new(self.row(row))
    }
}

impl fmt::Debug for BitMatrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row| fmt::from_fn(move |f| f.debug_set().entries(self.iter(row)).finish());
        formatter.debug_list().entries((0..self.rows).map(row)).finish()
    }
}
