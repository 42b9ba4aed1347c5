//! Changes to the ordered segments of one range, for ranges under construction and for finished
//! ones.
//!
//! Segments do not overlap, and those that touch and have the same value are merged.

use super::live_interval::LiveSegment;
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use smallvec::SmallVec;
use std::ops::{DerefMut, Range};

/// The segments of one range, in ascending order.
pub(super) trait SegmentList: DerefMut<Target = [LiveSegment]> {
    /// Inserts a segment in front of the one at a position.
    fn insert(&mut self, position: usize, segment: LiveSegment);

    /// Removes the segments at these positions.
    fn remove_range(&mut self, positions: Range<usize>);
}

impl SegmentList for Vec<LiveSegment> {
    fn insert(&mut self, position: usize, segment: LiveSegment) {
        self.insert(position, segment);
    }

    fn remove_range(&mut self, positions: Range<usize>) {
        self.drain(positions);
    }
}

impl SegmentList for SmallVec<[LiveSegment; 4]> {
    fn insert(&mut self, position: usize, segment: LiveSegment) {
        self.insert(position, segment);
    }

    fn remove_range(&mut self, positions: Range<usize>) {
        self.drain(positions);
    }
}

/// If a value is live or defined between `start`, the start of a block, and `index`, extends it to
/// `index` and returns it.
pub(super) fn extend_in_block(
    segments: &mut impl SegmentList,
    start: SlotIndex,
    index: SlotIndex,
) -> Option<ValueNumber> {
    let next = segments.partition_point(|segment| segment.start < index);
    let position = next.checked_sub(1)?;
    let LiveSegment { end, value, .. } = segments[position];
    if end <= start {
        return None;
    }
    if end < index {
        segments[position].end = index;
        merge_following(segments, position);
    }
    Some(value)
}

/// Adds a segment, which may overlap segments of its own value only.
pub(super) fn add_segment(segments: &mut impl SegmentList, segment: LiveSegment) {
    let LiveSegment { start, end, value } = segment;
    let mut position = segments.partition_point(|segment| segment.start <= start);
    match position.checked_sub(1).map(|before| segments[before]) {
        Some(before) if before.value == value && before.end >= start => {
            position -= 1;
            segments[position].end = before.end.max(end);
        }
        _ => segments.insert(position, segment),
    }
    merge_following(segments, position);
}

/// Merges the segment at `position` with those after it that it reaches and that have its value.
fn merge_following(segments: &mut impl SegmentList, position: usize) {
    let LiveSegment { mut end, value, .. } = segments[position];
    let mut last = position + 1;
    while let Some(segment) = segments.get(last)
        && segment.start <= end
        && segment.value == value
    {
        end = end.max(segment.end);
        last += 1;
    }
    if last > position + 1 {
        segments[position].end = end;
        segments.remove_range(position + 1..last);
    }
}
