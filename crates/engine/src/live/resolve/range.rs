//! The range under construction, segment by segment.

use crate::entity::{Block, EntityRef};
use crate::live::live_interval::LiveSegment;
use crate::live::segment_list;
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
        segment_list::extend_in_block(&mut self.segments, start, slot)
    }

    /// Adds `[start, end)`, which overlaps no segment of another value.
    pub fn add_segment(&mut self, start: SlotIndex, end: SlotIndex, value: ValueNumber) {
        segment_list::add_segment(&mut self.segments, LiveSegment { start, end, value });
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.segments.capacity() * size_of::<LiveSegment>() + self.values.capacity() * size_of::<Value>()
    }
}
