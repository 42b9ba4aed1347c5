//! The result of the engine: for each register its segments and values.
//!
//! Segments and values of all registers lie in two flat arrays, and each register has a record with
//! its ranges in them. A register whose range was changed later ([`update`](super::update)) has an
//! owned copy instead.

use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use super::value::ValueNumber;
use crate::entity::{EntityRef, PackedOption, Register};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A half-open piece `[start, end)` in which a register holds one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct LiveSegment {
    /// The first position.
    pub start: SlotIndex,
    /// The position after the last one.
    pub end: SlotIndex,
    /// The value.
    pub value: ValueNumber,
}

impl LiveSegment {
    /// True if the segment contains all of `[start, end)`.
    #[inline]
    pub fn contains_interval(&self, start: SlotIndex, end: SlotIndex) -> bool {
        self.start <= start && end <= self.end
    }
}

/// The definition of a value, or none if the value is no longer used.
pub type Definition = PackedOption<SlotIndex>;

/// A borrowed live range: segments in ascending order, and the definition of each value.
#[derive(Clone, Copy, Debug)]
pub struct LiveRange<'a> {
    /// The segments, in ascending order.
    pub segments: &'a [LiveSegment],
    /// The definition of each value; none if it is unused.
    pub values: &'a [Definition],
}

/// A live range with its register, for printing.
#[derive(Clone, Copy, Debug)]
pub struct LiveInterval<'a> {
    /// The register.
    pub register: Register,
    /// Its range.
    pub range: LiveRange<'a>,
}

/// A live range that owns its segments and values and can be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedLiveRange {
    /// The segments, in ascending order.
    pub segments: SmallVec<[LiveSegment; 4]>,
    /// The definition of each value; none if it is unused.
    pub values: SmallVec<[Definition; 4]>,
}

impl OwnedLiveRange {
    /// Borrows the range.
    #[inline]
    pub fn as_range(&self) -> LiveRange<'_> {
        LiveRange {
            segments: &self.segments,
            values: &self.values,
        }
    }
}

impl LiveRange<'_> {
    /// Returns a copy that can be changed.
    #[inline]
    pub fn to_owned(&self) -> OwnedLiveRange {
        OwnedLiveRange {
            segments: self.segments.into(),
            values: self.values.into(),
        }
    }
}

/// A register's ranges in the flat arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalRecord {
    pub first_segment: u32,
    pub segment_count: u32,
    pub first_value: u32,
    /// Zero if the interval is empty.
    pub value_count: u32,
}

impl IntervalRecord {
    /// Marks registers that no instruction mentions; they have no interval, not even an empty one.
    pub(super) const ABSENT: Self = Self {
        first_segment: u32::MAX,
        segment_count: 0,
        first_value: 0,
        value_count: 0,
    };

    fn is_absent(self) -> bool {
        self.first_segment == u32::MAX
    }
}

/// Makes room for `additional` elements, growing by at least an eighth. Doubling would leave up to
/// half of the largest arrays empty, and they make up most of the engine's memory.
pub(super) fn make_room<T>(vector: &mut Vec<T>, additional: usize) {
    if vector.capacity() - vector.len() < additional {
        vector.reserve_exact(additional.max(vector.len() / 8));
    }
}

/// The live intervals of a function.
#[derive(Clone, Debug, Default)]
pub struct LiveIntervals {
    pub(super) indexes: SlotIndexes,
    pub(super) records: Vec<IntervalRecord>,
    pub(super) segments: Vec<LiveSegment>,
    pub(super) values: Vec<Definition>,
    pub(super) edited: BTreeMap<Register, OwnedLiveRange>,
    pub(super) unreached: Vec<Register>,
}

impl LiveIntervals {
    /// Returns the numbering that the intervals refer to.
    #[inline]
    pub fn indexes(&self) -> &SlotIndexes {
        &self.indexes
    }

    /// True if a value of intervals as they were computed is defined early.
    pub fn has_early_clobbers(&self) -> bool {
        let mut values = self.values.iter().filter_map(|definition| definition.expand());
        values.any(SlotIndex::is_early_clobber)
    }

    /// Returns the number of registers, including those without an interval.
    #[inline]
    pub fn register_count(&self) -> usize {
        self.records.len()
    }

    /// True if the register has an interval, possibly an empty one. Registers have one if an
    /// instruction other than a debug instruction mentions them.
    #[inline]
    pub fn has_interval(&self, register: Register) -> bool {
        self.edited.contains_key(&register)
            || self
                .records
                .get(register.index())
                .is_some_and(|record| !record.is_absent())
    }

    /// Returns the range of a register that was edited.
    #[inline]
    fn edited_range(&self, register: Register) -> Option<&OwnedLiveRange> {
        // Apart, so that the rest can be compiled into its many callers.
        #[cold]
        fn find(edited: &BTreeMap<Register, OwnedLiveRange>, register: Register) -> Option<&OwnedLiveRange> {
            edited.get(&register)
        }
        match self.edited.is_empty() {
            true => None,
            false => find(&self.edited, register),
        }
    }

    /// Returns the segments of a register's [interval](Self::interval).
    #[inline]
    pub fn segments(&self, register: Register) -> &[LiveSegment] {
        if let Some(range) = self.edited_range(register) {
            return &range.segments;
        }
        match self.records.get(register.index()) {
            Some(record) if record.segment_count > 0 => {
                &self.segments[record.first_segment as usize..][..record.segment_count as usize]
            }
            _ => &[],
        }
    }

    /// Returns the interval of a register; empty if it has none.
    #[inline]
    pub fn interval(&self, register: Register) -> LiveRange<'_> {
        if let Some(range) = self.edited_range(register) {
            return range.as_range();
        }
        match self.records.get(register.index()) {
            Some(record) if !record.is_absent() => {
                let first = record.first_segment as usize;
                let first_value = record.first_value as usize;
                LiveRange {
                    segments: &self.segments[first..first + record.segment_count as usize],
                    values: &self.values[first_value..first_value + record.value_count as usize],
                }
            }
            _ => LiveRange {
                segments: &[],
                values: &[],
            },
        }
    }

    /// Returns the registers that have an interval, in ascending order.
    pub fn registers(&self) -> impl Iterator<Item = Register> + '_ {
        let count = self
            .edited
            .last_key_value()
            .map_or(0, |(last, _)| last.index() + 1);
        (0..self.records.len().max(count))
            .map(Register::new)
            .filter(|&register| self.has_interval(register))
    }

    /// Returns the registers with a read that no definition reaches on any path or, for registers
    /// with several values, a read in unreachable code. Such reads keep nothing live.
    #[inline]
    pub fn unreached(&self) -> &[Register] {
        &self.unreached
    }

    /// Returns the number of segments of all intervals as they were computed.
    #[inline]
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Empties the result for `registers` registers, keeping its memory and the numbering.
    pub(super) fn reset(&mut self, registers: usize) {
        self.records.clear();
        self.records.resize(registers, IntervalRecord::ABSENT);
        self.segments.clear();
        self.values.clear();
        self.edited.clear();
        self.unreached.clear();
    }
}
