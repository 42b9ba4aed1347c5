//! Queries of live ranges, with the meaning that LLVM's `LiveRange` and `LiveIntervals` give them.

use super::live_interval::{LiveIntervals, LiveRange, LiveSegment};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, Register};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::OpcodeFlags;

/// The state of a range at one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveQuery {
    early: Option<ValueNumber>,
    late: Option<ValueNumber>,
    end: Option<SlotIndex>,
    kill: bool,
}

impl LiveQuery {
    /// Returns the value that is live into the instruction, which is the one that it reads.
    #[inline]
    pub fn value_in(&self) -> Option<ValueNumber> {
        self.early
    }

    /// True if the live-in value ends at the instruction.
    #[inline]
    pub fn is_kill(&self) -> bool {
        self.kill
    }

    /// True if the instruction defines a value that nothing reads.
    #[inline]
    pub fn is_dead_definition(&self) -> bool {
        self.end.is_some_and(SlotIndex::is_dead)
    }

    /// Returns the value that is live out of the instruction, whether defined there or live
    /// through.
    #[inline]
    pub fn value_out(&self) -> Option<ValueNumber> {
        if self.is_dead_definition() {
            None
        } else {
            self.late
        }
    }

    /// Like [`value_out`](Self::value_out), but including a dead definition's value.
    #[inline]
    pub fn value_out_or_dead(&self) -> Option<ValueNumber> {
        self.late
    }

    /// Returns the value that the instruction defines, dead or not.
    #[inline]
    pub fn value_defined(&self) -> Option<ValueNumber> {
        if self.early == self.late { None } else { self.late }
    }

    /// Returns the end of the segment that leaves the instruction or, if none does, of the one that
    /// ends at it.
    #[inline]
    pub fn end_point(&self) -> Option<SlotIndex> {
        self.end
    }
}

impl<'a> LiveRange<'a> {
    /// Returns the segments, in ascending order.
    #[inline]
    pub fn segments(&self) -> &'a [LiveSegment] {
        self.segments
    }

    /// Returns the used values with their definitions.
    #[inline]
    pub fn values(&self) -> impl Iterator<Item = (ValueNumber, SlotIndex)> + use<'a> {
        self.values
            .iter()
            .enumerate()
            .filter_map(|(number, definition)| Some((ValueNumber::new(number), definition.expand()?)))
    }

    /// Returns the number of values, unused ones included.
    #[inline]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the definition of a value, or none if it is unused.
    #[inline]
    pub fn definition(&self, value: ValueNumber) -> Option<SlotIndex> {
        self.values[value.index()].expand()
    }

    /// True if the value is defined where control flow merges, not by an instruction.
    #[inline]
    pub fn is_phi(&self, value: ValueNumber) -> bool {
        self.definition(value).is_some_and(SlotIndex::is_block)
    }

    /// True if the range has no segment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns where the first segment starts.
    #[inline]
    pub fn start(&self) -> Option<SlotIndex> {
        self.segments.first().map(|segment| segment.start)
    }

    /// Returns where the last segment ends.
    #[inline]
    pub fn end(&self) -> Option<SlotIndex> {
        self.segments.last().map(|segment| segment.end)
    }

    /// True if the range ends at or before `index`.
    #[inline]
    pub fn expired_at(&self, index: SlotIndex) -> bool {
        self.end().is_none_or(|end| end <= index)
    }

    /// Returns the position of the first segment that ends after `index`, or the number of
    /// segments if there is none. That segment need not contain `index`.
    #[inline]
    pub fn find(&self, index: SlotIndex) -> usize {
        self.segments.partition_point(|segment| segment.end <= index)
    }

    /// Does what [`find`](Self::find) does, searching forward from the segment at `position`. The
    /// cost depends on the distance, not on the range's length.
    pub fn advance_to(&self, position: usize, index: SlotIndex) -> usize {
        let rest = &self.segments[position.min(self.segments.len())..];
        position + rest.iter().take_while(|segment| segment.end <= index).count()
    }

    /// Returns the segment that contains `index`.
    #[inline]
    pub fn segment_containing(&self, index: SlotIndex) -> Option<&'a LiveSegment> {
        self.segments
            .get(self.find(index))
            .filter(|segment| segment.start <= index)
    }

    /// True if a value is live at `index`.
    #[inline]
    pub fn live_at(&self, index: SlotIndex) -> bool {
        self.segment_containing(index).is_some()
    }

    /// Returns the value that is live at `index`.
    #[inline]
    pub fn value_at(&self, index: SlotIndex) -> Option<ValueNumber> {
        self.segment_containing(index).map(|segment| segment.value)
    }

    /// Returns the value that is live just before `index`. For the end of a block this is the value
    /// live out of it.
    pub fn value_before(&self, index: SlotIndex) -> Option<ValueNumber> {
        // No position lies between an index and its predecessor, so a segment that starts before
        // `index` and ends at or after it contains the predecessor.
        let position = self.segments.partition_point(|segment| segment.end < index);
        let segment = self.segments.get(position)?;
        (segment.start < index).then_some(segment.value)
    }

    /// Returns the state of the range at the instruction of `index`, whichever slot `index` has.
    pub fn query(&self, index: SlotIndex) -> LiveQuery {
        let mut query = LiveQuery {
            early: None,
            late: None,
            end: None,
            kill: false,
        };
        let mut position = self.find(index.base_index());
        let Some(mut segment) = self.segments.get(position) else {
            return query;
        };
        if segment.start <= index.base_index() {
            // A PHI value may be defined inside a segment, if the block laid out before ends with
            // it; it is not live into the block's start.
            let entering = segment.value;
            let defined_here = self.definition(entering) == Some(index.base_index());
            query.early = Some(entering).filter(|_| !defined_here);
            query.end = Some(segment.end);
            if segment.end.is_same_instruction(index) {
                query.kill = true;
                position += 1;
                match self.segments.get(position) {
                    Some(next) => segment = next,
                    None => return query,
                }
            }
        }
        if !index.is_earlier_instruction(segment.start) {
            query.late = Some(segment.value);
            query.end = Some(segment.end);
        }
        query
    }

    /// True if the ranges share a position.
    #[inline]
    pub fn overlaps(&self, other: &LiveRange<'_>) -> bool {
        self.first_overlap(other, |_| false).is_some()
    }

    /// True if the range shares a position with `[start, end)`.
    pub fn overlaps_interval(&self, start: SlotIndex, end: SlotIndex) -> bool {
        debug_assert!(start < end, "an interval is not empty");
        let position = self.segments.partition_point(|segment| segment.start < end);
        position > 0 && self.segments[position - 1].end > start
    }

    /// True if the ranges interfere even if overlaps that begin at a copy between the two are
    /// allowed.
    ///
    /// `is_copy` tells whether the instruction at an index is such a copy.
    #[inline]
    pub fn overlaps_except_copies(
        &self,
        other: &LiveRange<'_>,
        mut is_copy: impl FnMut(SlotIndex) -> bool,
    ) -> bool {
        self.first_overlap(other, |definition| !definition.is_block() && is_copy(definition))
            .is_some()
    }

    /// Returns the start of the first overlap that `allowed` does not accept.
    fn first_overlap(
        &self,
        other: &LiveRange<'_>,
        mut allowed: impl FnMut(SlotIndex) -> bool,
    ) -> Option<SlotIndex> {
        let (mut ours, mut theirs) = (self.segments, other.segments);
        // Skip segments that end before the other range begins.
        ours = &ours[self.find(other.start()?).min(ours.len())..];
        theirs = &theirs[other.find(ours.first()?.start).min(theirs.len())..];
        while let (Some(our), Some(their)) = (ours.first(), theirs.first()) {
            let begin = our.start.max(their.start);
            if begin < our.end.min(their.end) && !allowed(begin) {
                return Some(begin);
            }
            if our.end < their.end {
                ours = &ours[1..];
            } else {
                theirs = &theirs[1..];
            }
        }
        None
    }

    /// True if this range covers every position of `other`.
    pub fn covers(&self, other: &LiveRange<'_>) -> bool {
        let mut position = 0;
        other.segments.iter().all(|segment| {
            position = self.advance_to(position, segment.start);
            let mut reached = segment.start;
            while let Some(cover) = self.segments.get(position)
                && cover.start <= reached
            {
                reached = cover.end;
                if reached >= segment.end {
                    return true;
                }
                position += 1;
            }
            false
        })
    }

    /// True if the range is live at any of `indices`, which are in ascending order.
    pub fn is_live_at_any(&self, indices: &[SlotIndex]) -> bool {
        let mut position = 0;
        indices.iter().any(|&index| {
            position = self.advance_to(position, index);
            self.segments
                .get(position)
                .is_some_and(|segment| segment.start <= index)
        })
    }
}

impl LiveIntervals {
    /// True if the register is live on entry to a block. A PHI value defined there counts as
    /// live-in.
    #[inline]
    pub fn is_live_in(&self, register: Register, block: Block) -> bool {
        self.interval(register).live_at(self.indexes.block_start(block))
    }

    /// True if the register is live at the end of a block.
    #[inline]
    pub fn is_live_out(&self, register: Register, block: Block) -> bool {
        self.live_out_value(register, block).is_some()
    }

    /// Returns the value that a register has at the end of a block.
    #[inline]
    pub fn live_out_value(&self, register: Register, block: Block) -> Option<ValueNumber> {
        self.interval(register)
            .value_before(self.indexes.block_end(block))
    }

    /// Returns the block that contains the whole range, or none if it touches a block boundary.
    pub fn in_one_block(&self, register: Register) -> Option<Block> {
        let range = self.interval(register);
        let (start, end) = (range.start()?, range.end()?);
        if start.is_block() || end.is_block() {
            return None;
        }
        let block = self.indexes.block_at(start)?;
        (self.indexes.block_at(end)? == block).then_some(block)
    }

    /// True if a value flows into a PHI value of its range.
    pub fn flows_into_phi(&self, register: Register, value: ValueNumber, snapshot: &Snapshot<'_>) -> bool {
        let range = self.interval(register);
        let mut phis = range.values().filter(|(_, definition)| definition.is_block());
        phis.any(|(_, definition)| {
            let block = self
                .indexes
                .block_at(definition)
                .expect("PHI values start blocks");
            snapshot
                .predecessors(block)
                .any(|predecessor| range.value_before(self.indexes.block_end(predecessor)) == Some(value))
        })
    }

    /// True if the intervals of two registers share a position.
    #[inline]
    pub fn interfere(&self, one: Register, other: Register) -> bool {
        self.interval(one).overlaps(&self.interval(other))
    }

    /// True if the two registers would interfere if the copies between them were removed.
    pub fn interfere_except_copies(&self, one: Register, other: Register, snapshot: &Snapshot<'_>) -> bool {
        let is_copy = |index: SlotIndex| {
            let Some(instruction) = self.indexes.instruction_at(index) else {
                return false;
            };
            let view = snapshot.instruction(instruction);
            let mut registers = view.operands().filter_map(|operand| operand.register());
            let operands = (registers.next(), registers.next());
            view.opcode_flags().contains(OpcodeFlags::COPY)
                && (operands == (Some(one), Some(other)) || operands == (Some(other), Some(one)))
        };
        self.interval(one)
            .overlaps_except_copies(&self.interval(other), is_copy)
    }
}
