//! Changes to single ranges, regardless of the function: the operations of `LiveRange`.

use super::session::{Positions, Session};
use super::{NONE, Update, UpdateKind};
use oriel_engine::entity::{EntityRef, Register};
use oriel_engine::live::{LiveSegment, OwnedLiveRange, SlotIndex, ValueNumber};

/// The most entries in a new segment.
const LONGEST: u64 = 20;
/// The percentage of values in a joined range that are merged with a value of the other range.
const SAME_VALUE_PERCENT: u32 = 30;

impl Session<'_> {
    /// Makes one change of a random range, and queries now and then.
    pub(super) fn change_ranges(&mut self) -> Result<(), String> {
        let Some(register) = self.pick_register() else {
            return Ok(());
        };
        match self.random.below(12) {
            0 => self.create_dead_definition(register),
            1 => self.extend_in_block(register),
            2 | 3 => self.add_segment(register),
            4 | 5 => self.remove_segment(register),
            6 => self.remove_value(register),
            7 => self.merge_values(register),
            8 => self.renumber_values(register),
            9 => self.merge_segments(register),
            10 => self.join(register),
            _ => {
                self.ask()?;
                self.ask_copies()
            }
        }
    }

    fn range(&self, register: Register) -> OwnedLiveRange {
        self.intervals.interval(register).to_owned()
    }

    /// Returns a used value of the range.
    fn pick_value(&mut self, register: Register) -> Option<ValueNumber> {
        let values: Vec<ValueNumber> = self
            .intervals
            .interval(register)
            .values()
            .map(|(value, _)| value)
            .collect();
        (!values.is_empty()).then(|| self.random.pick(&values))
    }

    fn new_value(&mut self, register: Register, positions: &Positions) -> Result<ValueNumber, String> {
        let definition = self.pick_index(positions).register_slot(false);
        let value = self.intervals.range_mut(register).new_value(definition);
        let update = Update {
            start: positions.of(definition),
            ..Update::of_range(UpdateKind::NewValue, register)
        };
        self.compare(update, &[value.as_u32()])?;
        Ok(value)
    }

    fn create_dead_definition(&mut self, register: Register) -> Result<(), String> {
        let positions = self.positions();
        let definition = self.pick_index(&positions);
        let definition = definition.register_slot(self.random.coin());
        let range = self.intervals.interval(register);
        let next = range.segments().get(range.find(definition));
        // A value may be defined where none is live, or where one is defined already.
        if next.is_some_and(|next| {
            next.start.is_earlier_or_same_instruction(definition)
                && !(next.start.is_same_instruction(definition)
                    && range.definition(next.value) == Some(next.start))
        }) {
            return Ok(());
        }
        let value = self
            .intervals
            .range_mut(register)
            .create_dead_definition(definition);
        let update = Update {
            start: positions.of(definition),
            ..Update::of_range(UpdateKind::CreateDeadDefinition, register)
        };
        self.compare(update, &[value.as_u32()])
    }

    fn extend_in_block(&mut self, register: Register) -> Result<(), String> {
        let positions = self.positions();
        let (one, other) = (self.pick_index(&positions), self.pick_index(&positions));
        let (start, end) = (one.min(other).base_index(), one.max(other));
        if start == end {
            return Ok(());
        }
        let value = self.intervals.range_mut(register).extend_in_block(start, end);
        let update = Update {
            start: positions.of(start),
            end: positions.of(end),
            ..Update::of_range(UpdateKind::ExtendInBlock, register)
        };
        self.compare(update, &[value.map_or(NONE, ValueNumber::as_u32)])
    }

    /// True if the range is free of values other than `value` between `start` and `end`.
    fn is_free(&self, register: Register, start: SlotIndex, end: SlotIndex, value: ValueNumber) -> bool {
        let range = self.intervals.interval(register);
        let mut others = range.segments().iter().filter(|segment| segment.value != value);
        others.all(|segment| segment.end <= start || segment.start >= end)
    }

    fn add_segment(&mut self, register: Register) -> Result<(), String> {
        let positions = self.positions();
        let value = match self.random.percent(80) {
            true => self.pick_value(register),
            false => None,
        };
        let value = match value {
            Some(value) => value,
            None => self.new_value(register, &positions)?,
        };
        let start = self.pick_index(&positions);
        let length = 1 + self.random.below(LONGEST) as u32;
        let last = positions.of(self.intervals.indexes().last_index());
        let end = positions.index((positions.of(start) + length).min(last));
        if !self.is_free(register, start, end, value) {
            return Ok(());
        }
        let segment = LiveSegment { start, end, value };
        self.intervals.range_mut(register).add_segment(segment);
        let update = Update {
            start: positions.of(start),
            end: positions.of(end),
            value: value.as_u32(),
            ..Update::of_range(UpdateKind::AddSegment, register)
        };
        self.compare(update, &[])
    }

    /// Removes a segment, or a piece of one.
    fn remove_segment(&mut self, register: Register) -> Result<(), String> {
        let positions = self.positions();
        let segments = self.range(register).segments;
        if segments.is_empty() {
            return Ok(());
        }
        let LiveSegment { start, end, .. } = self.random.pick(&segments);
        let (first, last) = (positions.of(start), positions.of(end));
        let length = u64::from(last - first);
        let (first, last) = match self.random.below(4) {
            0 => (first, last),
            1 => (first, first + 1 + self.random.below(length) as u32),
            2 => (first + self.random.below(length) as u32, last),
            _ => {
                let first = first + self.random.below(length) as u32;
                (
                    first,
                    first + 1 + self.random.below(u64::from(last - first)) as u32,
                )
            }
        };
        let drop_value = self.random.coin();
        let (start, end) = (positions.index(first), positions.index(last));
        self.intervals
            .range_mut(register)
            .remove_segment(start, end, drop_value);
        let update = Update {
            start: first,
            end: last,
            flag: drop_value.into(),
            ..Update::of_range(UpdateKind::RemoveSegment, register)
        };
        self.compare(update, &[])
    }

    fn remove_value(&mut self, register: Register) -> Result<(), String> {
        // LLVM does nothing to a range without segments.
        if self.intervals.interval(register).is_empty() {
            return Ok(());
        }
        let Some(value) = self.pick_value(register) else {
            return Ok(());
        };
        self.intervals.range_mut(register).remove_value(value);
        let update = Update {
            value: value.as_u32(),
            ..Update::of_range(UpdateKind::RemoveValue, register)
        };
        self.compare(update, &[])
    }

    fn merge_values(&mut self, register: Register) -> Result<(), String> {
        let (Some(value), Some(into)) = (self.pick_value(register), self.pick_value(register)) else {
            return Ok(());
        };
        if value == into {
            return Ok(());
        }
        let merged = self.intervals.range_mut(register).merge_values(value, into);
        let update = Update {
            value: value.as_u32(),
            into: into.as_u32(),
            ..Update::of_range(UpdateKind::MergeValues, register)
        };
        self.compare(update, &[merged.as_u32()])
    }

    fn renumber_values(&mut self, register: Register) -> Result<(), String> {
        self.intervals.range_mut(register).renumber_values();
        let update = Update::of_range(UpdateKind::RenumberValues, register);
        self.compare(update, &[])
    }

    /// Adds the segments of another range, all of them or those of one value.
    fn merge_segments(&mut self, register: Register) -> Result<(), String> {
        let positions = self.positions();
        let Some(other) = self.pick_register().filter(|&other| other != register) else {
            return Ok(());
        };
        let Some(other_value) = self.pick_value(other) else {
            return Ok(());
        };
        let value = self.new_value(register, &positions)?;
        let all = self.random.coin();
        let theirs = self.range(other);
        let mut added = theirs
            .segments
            .iter()
            .filter(|segment| all || segment.value == other_value);
        if !added.all(|segment| self.is_free(register, segment.start, segment.end, value)) {
            return Ok(());
        }
        let range = self.intervals.range_mut(register);
        let kind = if all {
            range.merge_segments_as(&theirs.as_range(), value);
            UpdateKind::MergeSegments
        } else {
            range.merge_value_as(&theirs.as_range(), other_value, value);
            UpdateKind::MergeValue
        };
        let update = Update {
            other: other.as_u32(),
            value: value.as_u32(),
            into: other_value.as_u32(),
            ..Update::of_range(kind, register)
        };
        self.compare(update, &[])
    }

    fn join(&mut self, register: Register) -> Result<(), String> {
        let Some(other) = self.pick_register().filter(|&other| other != register) else {
            return Ok(());
        };
        // Only used values occur in the joint range.
        self.renumber_values(register)?;
        self.renumber_values(other)?;
        let (ours, theirs) = (self.range(register), self.range(other));
        if ours.segments.is_empty() || ours.as_range().overlaps(&theirs.as_range()) {
            return Ok(());
        }
        let count = ours.values.len();
        let our_numbers: Vec<ValueNumber> = (0..count).map(ValueNumber::new).collect();
        let mut definitions: Vec<SlotIndex> = ours.values.iter().filter_map(|value| value.expand()).collect();
        let mut their_numbers = Vec::new();
        for definition in theirs.values.iter().filter_map(|value| value.expand()) {
            their_numbers.push(match self.random.percent(SAME_VALUE_PERCENT) {
                true => ValueNumber::new(self.random.index(count)),
                false => {
                    definitions.push(definition);
                    ValueNumber::new(definitions.len() - 1)
                }
            });
        }
        self.intervals.range_mut(register).join(
            &theirs.as_range(),
            &our_numbers,
            &their_numbers,
            &definitions,
        );
        self.intervals.set_range(other, OwnedLiveRange::default());
        let numbers = our_numbers.iter().chain(&their_numbers);
        let update = Update {
            other: other.as_u32(),
            value: definitions.len() as u32,
            list: numbers.map(|number| number.as_u32()).collect(),
            ..Update::of_range(UpdateKind::Join, register)
        };
        self.compare(update, &[])
    }
}
