//! The range under construction, segment by segment.

use crate::entity::{Block, EntityRef};
use crate::live::live_interval::LiveSegment;
use crate::live::slot_index::SlotIndex;
use crate::live::value::ValueNumber;

/// The definition of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub definition: SlotIndex,
    pub block: Block,
}

/// A live range under construction.
#[derive(Debug, Default)]
pub(super) struct Range {
    pub segments: Vec<LiveSegment>,
    pub values: Vec<Value>,
}

impl Range {
    pub fn block_of(&self, value: ValueNumber) -> Block {
        self.values[value.index()].block
    }

    pub fn new_value(&mut self, definition: SlotIndex, block: Block) -> ValueNumber {
        let value = ValueNumber::new(self.values.len());
        self.values.push(Value { definition, block });
        value
    }

    /// Ensures that a value is defined at `definition`. A normal and an early-clobber definition by
    /// one instruction are one value, defined early.
    pub fn create_dead_definition(&mut self, definition: SlotIndex, block: Block) {
        let position = self.segments.partition_point(|segment| segment.end <= definition);
        if let Some(segment) = self.segments.get_mut(position)
            && segment.start.is_same_instruction(definition)
        {
            if definition < segment.start {
                segment.start = definition;
                self.values[segment.value.index()].definition = definition;
            }
            return;
        }
        let value = self.new_value(definition, block);
        let segment = LiveSegment {
            start: definition,
            end: definition.dead_slot(),
            value,
        };
        self.segments.insert(position, segment);
    }

    /// If a value is live or defined in the block that begins at `start` and before `slot`, extends
    /// it to `slot`.
    pub fn extend_in_block(&mut self, start: SlotIndex, slot: SlotIndex) -> Option<ValueNumber> {
        let next = self.segments.partition_point(|segment| segment.start < slot);
        let position = next.checked_sub(1)?;
        let LiveSegment { end, value, .. } = self.segments[position];
        if end <= start {
            return None;
        }
        if end < slot {
            self.segments[position].end = slot;
            self.merge_following(position);
        }
        Some(value)
    }

    /// Adds `[start, end)`, which overlaps no segment of another value.
    pub fn add_segment(&mut self, start: SlotIndex, end: SlotIndex, value: ValueNumber) {
        let mut position = self.segments.partition_point(|segment| segment.start <= start);
        match position.checked_sub(1).map(|before| self.segments[before]) {
            Some(before) if before.value == value && before.end >= start => {
                position -= 1;
                self.segments[position].end = before.end.max(end);
            }
            _ => self.segments.insert(position, LiveSegment { start, end, value }),
        }
        self.merge_following(position);
    }

    /// Merges the segment at `position` with those behind it that it reaches and that have its
    /// value.
    pub fn merge_following(&mut self, position: usize) {
        let LiveSegment { mut end, value, .. } = self.segments[position];
        let mut last = position + 1;
        while let Some(segment) = self.segments.get(last)
            && segment.start <= end
            && segment.value == value
        {
            end = end.max(segment.end);
            last += 1;
        }
        if last > position + 1 {
            self.segments[position].end = end;
            self.segments.drain(position + 1..last);
        }
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.segments.capacity() * size_of::<LiveSegment>() + self.values.capacity() * size_of::<Value>()
    }
}
