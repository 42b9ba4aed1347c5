//! The hash table from blocks to their segments.
//!
//! Keys are the blocks' start indices, multiples of 16 as the hash expects. Hash, linear probing,
//! sentinels and the load limit of 3/4 are the reference's. Departure: the table holds four-byte
//! positions, and the segments lie densely in the order in which blocks were first met. A table of
//! segments would spend 296 bytes on every free slot, which for a function of 100k blocks is most
//! of the engine's memory.

use super::live_interval::make_room;
use super::segment::{EMPTY_KEY, Segment, TOMBSTONE_KEY};
use super::slot_index::SlotIndex;
use crate::entity::{EntityRef, PackedOption, entity_impl};

/// A segment of the table, by position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(u32);
entity_impl!(SegmentId, "segment");

/// Capacity of the first allocation.
const MINIMUM_CAPACITY: usize = 16;
/// Slots are cleared one by one if they outnumber the segments by this factor.
const SPARSE: usize = 16;

/// Blocks and their segments. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub struct SegmentTable {
    slots: Vec<PackedOption<SegmentId>>,
    segments: Vec<Segment>,
    live: usize,
}

/// Returns the first slot to probe for `key`.
fn hash(key: u64) -> usize {
    ((key >> 4) ^ (key >> 9)) as usize
}

impl SegmentTable {
    /// Forgets all blocks. Stale records are stamped empty, so that none can be mistaken for a
    /// block of the next function.
    pub fn clear(&mut self) {
        let is_sparse = self.segments.len() * SPARSE < self.slots.len();
        if is_sparse && self.live == self.segments.len() {
            // A small function does not pay for the table of a large one before it.
            let mask = self.slots.len() - 1;
            for (index, segment) in self.segments.iter().enumerate() {
                let mut position = hash(segment.key()) & mask;
                while self.slots[position].expand() != Some(SegmentId::new(index)) {
                    position = (position + 1) & mask;
                }
                self.slots[position] = PackedOption::default();
            }
        } else {
            self.slots.fill(PackedOption::default());
        }
        for segment in &mut self.segments {
            segment.set_sentinel(EMPTY_KEY);
        }
        self.segments.clear();
        self.live = 0;
    }

    /// Makes room for `blocks` blocks.
    pub fn reserve(&mut self, blocks: usize) {
        let needed = (blocks * 4).div_ceil(3) + 1;
        if needed > self.slots.len() {
            self.rehash(needed.next_power_of_two().max(MINIMUM_CAPACITY));
        }
        let missing = blocks.saturating_sub(self.segments.len());
        make_room(&mut self.segments, missing);
    }

    /// Returns the number of blocks in the table.
    pub fn len(&self) -> usize {
        self.live
    }

    /// True if there is no block.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Returns the segment of the block that starts at `start`, if there is one.
    pub fn find(&self, start: SlotIndex) -> Option<SegmentId> {
        if self.slots.is_empty() {
            return None;
        }
        let key = u64::from(start.number());
        let mask = self.slots.len() - 1;
        let mut position = hash(key) & mask;
        while let Some(id) = self.slots[position].expand() {
            if self.segments[id.index()].key() == key {
                return Some(id);
            }
            position = (position + 1) & mask;
        }
        None
    }

    /// Returns the segment of the block that starts at `start`, creating it if there is none. The
    /// flag tells whether it is new.
    pub fn find_or_insert(&mut self, start: SlotIndex, instruction_count: u32) -> (SegmentId, bool) {
        if (self.segments.len() + 1) * 4 > self.slots.len() * 3 {
            self.rehash((self.slots.len() * 2).max(MINIMUM_CAPACITY));
        }
        let key = u64::from(start.number());
        let mask = self.slots.len() - 1;
        let mut position = hash(key) & mask;
        while let Some(id) = self.slots[position].expand() {
            if self.segments[id.index()].key() == key {
                return (id, false);
            }
            position = (position + 1) & mask;
        }
        let id = SegmentId::new(self.segments.len());
        self.slots[position] = id.into();
        make_room(&mut self.segments, 1);
        self.segments.push(Segment::new(start, instruction_count));
        self.live += 1;
        (id, true)
    }

    /// Removes a block. Its record becomes a tombstone, so that probing continues after it.
    pub fn remove(&mut self, start: SlotIndex) -> bool {
        let Some(id) = self.find(start) else {
            return false;
        };
        self.segments[id.index()].set_sentinel(TOMBSTONE_KEY);
        self.live -= 1;
        true
    }

    /// Returns a segment.
    pub fn get(&self, id: SegmentId) -> &Segment {
        &self.segments[id.index()]
    }

    /// Returns a segment, to modify.
    pub fn get_mut(&mut self, id: SegmentId) -> &mut Segment {
        &mut self.segments[id.index()]
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<PackedOption<SegmentId>>()
            + self.segments.capacity() * size_of::<Segment>()
    }

    fn rehash(&mut self, capacity: usize) {
        debug_assert!(capacity.is_power_of_two());
        self.slots.clear();
        self.slots.resize(capacity, PackedOption::default());
        let mask = capacity - 1;
        for (index, segment) in self.segments.iter().enumerate() {
            // A tombstone keeps its record but needs no slot of its own.
            if segment.key() == TOMBSTONE_KEY {
                continue;
            }
            let mut position = hash(segment.key()) & mask;
            while self.slots[position].is_some() {
                position = (position + 1) & mask;
            }
            self.slots[position] = SegmentId::new(index).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::slot_index::Slot;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn start(block: u32) -> SlotIndex {
        SlotIndex::new(block * 16, Slot::Block)
    }

    #[test]
    fn cleared_table_finds_nothing_and_keeps_memory() {
        let mut table = SegmentTable::default();
        for block in 0..100 {
            assert!(table.find_or_insert(start(block), 1).1);
        }
        let bytes = table.memory_bytes();
        table.clear();
        assert!(table.is_empty() && (0..100).all(|block| table.find(start(block)).is_none()));
        for block in 50..150 {
            let (id, new) = table.find_or_insert(start(block), 2);
            assert!(new && table.get(id).live_in().is_empty());
        }
        assert_eq!(table.memory_bytes(), bytes);
    }

    #[test]
    fn sparse_table_is_cleared() {
        let mut table = SegmentTable::default();
        table.reserve(1000);
        for round in 0..3 {
            // Keys that share a slot, and one that does not.
            let blocks = [7, 7 + 4096, 7 + 8192, 500 + round];
            for block in blocks {
                assert!(table.find_or_insert(start(block), 1).1);
            }
            table.clear();
            assert!(blocks.iter().all(|&block| table.find(start(block)).is_none()));
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(operations in prop::collection::vec((0_u32..80, 0..4), 1..400)) {
            let mut table = SegmentTable::default();
            let mut model = BTreeMap::new();
            for (block, operation) in operations {
                match operation {
                    0 => prop_assert_eq!(table.remove(start(block)), model.remove(&block).is_some()),
                    1 => prop_assert_eq!(
                        table.find(start(block)).map(|id| table.get(id).instruction_count()),
                        model.get(&block).copied()
                    ),
                    _ => {
                        let (_, new) = table.find_or_insert(start(block), block + 1);
                        prop_assert_eq!(new, model.insert(block, block + 1).is_none());
                    }
                }
                prop_assert_eq!(table.len(), model.len());
            }
        }
    }
}
