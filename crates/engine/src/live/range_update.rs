//! Changes to one live range, which do the same as LLVM's `LiveRange` methods.
//!
//! Segments stay ordered and as long as possible, except where a definition moves to an earlier
//! slot. Values keep their numbers; a value that loses its last segment is marked unused, and
//! dropped if it has the highest number.

use super::live_interval::{LiveRange, LiveSegment, OwnedLiveRange};
use super::segment_list;
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{EntityRef, PackedOption};

impl OwnedLiveRange {
    /// Returns a range with one value, which is defined at `definition` and live in these segments:
    /// from start to end, in ascending order, none of which touches the next.
    pub fn of_value(definition: SlotIndex, segments: &[(SlotIndex, SlotIndex)]) -> Self {
        debug_assert!(segments.is_sorted_by(|one, next| one.0 < one.1 && one.1 < next.0));
        let value = ValueNumber::ZERO;
        let segments = segments.iter();
        Self {
            segments: segments
                .map(|&(start, end)| LiveSegment { start, end, value })
                .collect(),
            values: [definition.into()].into_iter().collect(),
        }
    }

    /// Creates a value defined at `definition`, without a segment.
    pub fn new_value(&mut self, definition: SlotIndex) -> ValueNumber {
        let value = ValueNumber::new(self.values.len());
        self.values.push(definition.into());
        value
    }

    /// Ensures that a value is defined at `definition`, and returns it. A new value is live up to
    /// the dead slot. If the instruction already defines a value, that one is returned, moved to
    /// the earlier of the two slots.
    ///
    /// # Panics
    /// Another value is live at `definition`.
    pub fn create_dead_definition(&mut self, definition: SlotIndex) -> ValueNumber {
        let position = self.as_range().find(definition);
        if let Some(segment) = self.segments.get_mut(position) {
            if segment.start.is_same_instruction(definition) {
                if definition < segment.start {
                    segment.start = definition;
                    self.values[segment.value.index()] = definition.into();
                }
                return segment.value;
            }
            assert!(
                definition.is_earlier_instruction(segment.start),
                "a value is already live at {definition}"
            );
        }
        let value = self.new_value(definition);
        let segment = LiveSegment {
            start: definition,
            end: definition.dead_slot(),
            value,
        };
        self.segments.insert(position, segment);
        value
    }

    /// If a value is live or defined between `start`, the start of a block, and `index`, extends it
    /// to `index` and returns it.
    pub fn extend_in_block(&mut self, start: SlotIndex, index: SlotIndex) -> Option<ValueNumber> {
        segment_list::extend_in_block(&mut self.segments, start, index)
    }

    /// Adds a segment, which may overlap segments of its own value only.
    pub fn add_segment(&mut self, segment: LiveSegment) {
        debug_assert!(segment.start < segment.end, "a segment is not empty");
        segment_list::add_segment(&mut self.segments, segment);
    }

    /// Removes `[start, end)`, which lies in one segment. If its value has no segment left and
    /// `remove_dead_value` is set, the value is removed too.
    ///
    /// # Panics
    /// A segment contains `start`, but not all up to `end`.
    pub fn remove_segment(&mut self, start: SlotIndex, end: SlotIndex, remove_dead_value: bool) {
        let position = self.as_range().find(start);
        let Some(&segment) = self.segments.get(position) else {
            return;
        };
        assert!(
            segment.contains_interval(start, end),
            "[{start},{end}) is not in one segment"
        );
        match (segment.start == start, segment.end == end) {
            (true, true) => {
                self.segments.remove(position);
                if remove_dead_value && self.segments.iter().all(|other| other.value != segment.value) {
                    self.delete_value(segment.value);
                }
            }
            (true, false) => self.segments[position].start = end,
            (false, true) => self.segments[position].end = start,
            (false, false) => {
                self.segments[position].end = start;
                self.segments.insert(
                    position + 1,
                    LiveSegment {
                        start: end,
                        ..segment
                    },
                );
            }
        }
    }

    /// Removes a value with all its segments.
    pub fn remove_value(&mut self, value: ValueNumber) {
        self.segments.retain(|segment| segment.value != value);
        self.delete_value(value);
    }

    /// Marks a value without segments unused. If it is the last value, drops it and unused ones
    /// before it.
    fn delete_value(&mut self, value: ValueNumber) {
        self.values[value.index()] = PackedOption::default();
        if value.index() + 1 == self.values.len() {
            while self.values.last().is_some_and(|last| last.is_none()) {
                self.values.pop();
            }
        }
    }

    /// Numbers the values in the order of their first segments and drops those without a segment.
    pub fn renumber_values(&mut self) {
        let mut new_numbers: Vec<Option<ValueNumber>> = vec![None; self.values.len()];
        let mut values = smallvec::SmallVec::new();
        for segment in &mut self.segments {
            let old = segment.value.index();
            segment.value = *new_numbers[old].get_or_insert_with(|| {
                values.push(self.values[old]);
                ValueNumber::new(values.len() - 1)
            });
        }
        self.values = values;
    }

    /// Merges two equal values. The lower number stays, with the definition of `into`.
    ///
    /// # Panics
    /// The values are the same.
    pub fn merge_values(&mut self, value: ValueNumber, into: ValueNumber) -> ValueNumber {
        assert!(value != into, "a value is always equal to itself");
        let (keep, drop) = (value.min(into), value.max(into));
        self.values[keep.index()] = self.values[into.index()];
        for segment in &mut self.segments {
            if segment.value == drop {
                segment.value = keep;
            }
        }
        self.merge_neighbours();
        self.delete_value(drop);
        keep
    }

    /// Adds all segments of `other` as `value`. They may overlap segments of `value` only.
    pub fn merge_segments_as(&mut self, other: &LiveRange<'_>, value: ValueNumber) {
        for &segment in other.segments {
            self.add_segment(LiveSegment { value, ..segment });
        }
    }

    /// Adds the segments of `other_value` in `other` as `value`.
    pub fn merge_value_as(&mut self, other: &LiveRange<'_>, other_value: ValueNumber, value: ValueNumber) {
        for &segment in other
            .segments
            .iter()
            .filter(|segment| segment.value == other_value)
        {
            self.add_segment(LiveSegment { value, ..segment });
        }
    }

    /// Adds the segments and values of `other`. Value *v* becomes `ours[v]` of the joint range,
    /// value *v* of `other` becomes `theirs[v]`, and `definitions` are the joint range's values.
    /// The ranges may overlap where their values become one.
    pub fn join(
        &mut self,
        other: &LiveRange<'_>,
        ours: &[ValueNumber],
        theirs: &[ValueNumber],
        definitions: &[SlotIndex],
    ) {
        // Only where a value changes, as in LLVM: a definition that moved to an earlier slot can
        // touch the preceding segment of the same value.
        let stays = |(number, &value): (usize, &PackedOption<SlotIndex>)| {
            ours[number].index() == number && definitions.get(number) == value.expand().as_ref()
        };
        if !self.values.iter().enumerate().all(stays) {
            for segment in &mut self.segments {
                segment.value = ours[segment.value.index()];
            }
            self.merge_neighbours();
        }
        self.values = definitions.iter().map(|&definition| definition.into()).collect();
        for &segment in other.segments {
            self.add_segment(LiveSegment {
                value: theirs[segment.value.index()],
                ..segment
            });
        }
    }

    /// Merges segments that touch and have the same value.
    pub(super) fn merge_neighbours(&mut self) {
        self.segments.dedup_by(|next, segment| {
            let merge = segment.end >= next.start && segment.value == next.value;
            if merge {
                segment.end = segment.end.max(next.end);
            }
            merge
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: u32 = 64;

    /// The value at each slot.
    type Model = Vec<Option<u32>>;

    fn index(number: u32) -> SlotIndex {
        SlotIndex::from_number(number)
    }

    fn check(range: &OwnedLiveRange, model: &Model) -> Result<(), TestCaseError> {
        for (number, &value) in model.iter().enumerate() {
            let at = range.as_range().value_at(index(number as u32));
            prop_assert_eq!(
                at.map(|value| value.as_u32()),
                value,
                "at {} in {}",
                number,
                range.as_range()
            );
        }
        for pair in range.segments.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
            prop_assert!(pair[0].end < pair[1].start || pair[0].value != pair[1].value);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn random_changes_match_a_slot_by_slot_model(
            operations in prop::collection::vec((0_u32..4, 0..SLOTS, 1..12_u32, 0_u32..4), 1..40)
        ) {
            let mut range = OwnedLiveRange::default();
            let mut model: Model = vec![None; SLOTS as usize + 16];
            for value in 0..4 {
                range.new_value(index(1000 + value * 4));
            }
            for (operation, start, length, value) in operations {
                let (start, end) = (start as usize, (start + length) as usize);
                let number = ValueNumber::from_u32(value);
                match operation {
                    0 | 1 => {
                        if model[start..end].iter().any(|at| at.is_some_and(|at| at != value)) {
                            continue;
                        }
                        model[start..end].fill(Some(value));
                        let (start, end) = (index(start as u32), index(end as u32));
                        range.add_segment(LiveSegment { start, end, value: number });
                    }
                    2 => {
                        let first = model[start];
                        if first.is_none() || model[start..end].iter().any(|&at| at != first) {
                            continue;
                        }
                        model[start..end].fill(None);
                        range.remove_segment(index(start as u32), index(end as u32), false);
                    }
                    _ => {
                        let reached = model[..start].iter().rposition(|at| at.is_some());
                        let block = start.saturating_sub(10);
                        let expected = reached.filter(|&at| at >= block).and_then(|at| model[at]);
                        let got = range.extend_in_block(index(block as u32), index(start as u32));
                        prop_assert_eq!(got.map(|value| value.as_u32()), expected);
                        if let (Some(value), Some(at)) = (expected, reached) {
                            model[at..start].fill(Some(value));
                        }
                    }
                }
                check(&range, &model)?;
            }
            let merged = range.merge_values(ValueNumber::from_u32(2), ValueNumber::from_u32(1));
            for at in &mut model {
                *at = at.map(|value| if value == 2 { 1 } else { value });
            }
            prop_assert_eq!(merged.as_u32(), 1);
            check(&range, &model)?;
            range.remove_value(ValueNumber::from_u32(3));
            model.iter_mut().for_each(|at| *at = at.filter(|&value| value != 3));
            check(&range, &model)?;
        }
    }

    #[test]
    fn dead_definitions_are_found_again() {
        let mut range = OwnedLiveRange::default();
        let late = range.create_dead_definition(index(32 + 2));
        let early = range.create_dead_definition(index(16 + 2));
        assert_eq!(range.create_dead_definition(index(32 + 1)), late);
        assert_eq!(range.as_range().to_string(), "[16r,16d:1)[32e,32d:0) 0@32e 1@16r");
        range.renumber_values();
        assert_eq!(range.as_range().to_string(), "[16r,16d:0)[32e,32d:1) 0@16r 1@32e");
        assert_eq!((late.index(), early.index()), (0, 1));
    }

    #[test]
    fn join_that_maps_nothing_leaves_segments_alone() {
        let mut one = OwnedLiveRange::default();
        let value = one.create_dead_definition(index(32 + 2));
        one.add_segment(LiveSegment {
            start: index(18),
            end: index(32 + 1),
            value,
        });
        one.create_dead_definition(index(32 + 1));
        assert_eq!(one.as_range().to_string(), "[16r,32e:0)[32e,32d:0) 0@32e");
        let mut other = OwnedLiveRange::default();
        other.create_dead_definition(index(66));
        let new = ValueNumber::new(1);
        one.join(&other.as_range(), &[value], &[new], &[index(33), index(66)]);
        assert_eq!(
            one.as_range().to_string(),
            "[16r,32e:0)[32e,32d:0)[64r,64d:1) 0@32e 1@64r"
        );
    }

    #[test]
    fn join_maps_values() {
        let mut one = OwnedLiveRange::default();
        let value = one.create_dead_definition(index(18));
        one.extend_in_block(index(0), index(34));
        let mut other = OwnedLiveRange::default();
        let copy = other.create_dead_definition(index(34));
        other.extend_in_block(index(0), index(66));
        one.join(&other.as_range(), &[value], &[value], &[index(18)]);
        assert_eq!(one.as_range().to_string(), "[16r,64r:0) 0@16r");
        assert_eq!(copy, ValueNumber::ZERO);
    }
}
