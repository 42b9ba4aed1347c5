//! Sets of one width in one allocation: the table of a dataflow problem, with a row for each block.

use super::kernels;
use super::words::{self, GROUP_WORDS, Group, SetBits, WORD_BITS};
use std::fmt;
use std::ops::Range;

/// Rows of bits, all of the same width.
///
/// A row is a slice of words, for the functions of [`kernels`] and [`words`]. Rows of matrices with
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

    /// Returns the number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
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

    /// Returns one row to write and another to read.
    ///
    /// # Panics
    ///
    /// The rows are the same.
    #[inline]
    pub fn row_pair(&mut self, write: usize, read: usize) -> (&mut [u32], &[u32]) {
        let ranges = [self.groups_of(write), self.groups_of(read)];
        let rows = self.groups.get_disjoint_mut(ranges);
        let [write, read] = rows.expect("two different rows of the matrix");
        (bytemuck::cast_slice_mut(write), bytemuck::cast_slice(read))
    }

    /// Adds the members of row `from` to row `to`. Returns whether one was new.
    #[inline]
    pub fn or_row_if_changed(&mut self, to: usize, from: usize) -> bool {
        if to == from {
            return false;
        }
        let (to, from) = self.row_pair(to, from);
        kernels::or_if_changed(to, from)
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

    /// Removes all members.
    #[inline]
    pub fn clear(&mut self) {
        self.groups.fill(Group::default());
    }
}

impl fmt::Debug for BitMatrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row| fmt::from_fn(move |f| f.debug_set().entries(self.iter(row)).finish());
        formatter.debug_list().entries((0..self.rows).map(row)).finish()
    }
}
