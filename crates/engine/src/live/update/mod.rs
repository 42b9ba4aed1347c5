//! Changes to intervals that keep them valid while the function changes.
//!
//! The operations are those of LLVM's `LiveIntervals`. Each has a file, except the small ones here.

mod components;
mod join;
mod move_instruction;
mod number_anew;
mod prune;
mod shrink;
#[cfg(test)]
mod testing;

pub use shrink::Shrunk;

use super::entry_map::{InsertionPoint, Renumbering};
use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveRange, OwnedLiveRange};
use super::live_range_calc::LiveRangeCalc;
use super::slot_index::SlotIndex;
use crate::entity::{Block, EntityRef, Instruction, PackedOption, Register};

impl LiveIntervals {
    /// Returns the range of a register, to modify. A register without one gets an empty range.
    pub fn range_mut(&mut self, register: Register) -> &mut OwnedLiveRange {
        if !self.edited.contains_key(&register) {
            let range = self.interval(register).to_owned();
            self.edited.insert(register, range);
        }
        self.edited.get_mut(&register).expect("it was just inserted")
    }

    /// Replaces the range of a register.
    pub fn set_range(&mut self, register: Register, range: OwnedLiveRange) {
        self.edited.insert(register, range);
    }

    /// Replaces the range of a register for good: queries find it as fast as computed ones. The
    /// memory of the old range stays in use.
    pub fn replace_range(&mut self, register: Register, range: LiveRange<'_>) {
        self.edited.remove(&register);
        if self.records.len() <= register.index() {
            self.records.resize(register.index() + 1, IntervalRecord::ABSENT);
        }
        self.records[register.index()] = IntervalRecord {
            first_segment: self.segments.len() as u32,
            segment_count: range.segments.len() as u32,
            first_value: self.values.len() as u32,
            value_count: range.values.len() as u32,
        };
        self.segments.extend_from_slice(range.segments);
        self.values.extend_from_slice(range.values);
    }

    /// Removes the interval of a register that no instruction mentions any more.
    pub fn remove_interval(&mut self, register: Register) {
        self.edited.remove(&register);
        if let Some(record) = self.records.get_mut(register.index()) {
            *record = IntervalRecord::ABSENT;
        }
    }

    /// Updates all ranges after a renumbering.
    ///
    /// This visits every segment: the ends of ranges that are live through the renumbered entries
    /// can be anywhere, and the flat arrays are in the order of registers. Renumberings are rare;
    /// each makes room for many insertions.
    pub fn apply_renumbering(&mut self, renumbering: &Renumbering) {
        let Some((first, last)) = renumbering.window() else {
            return;
        };
        for segment in &mut self.segments {
            if segment.start <= last && segment.end >= first {
                segment.start = renumbering.map(segment.start);
                segment.end = renumbering.map(segment.end);
            }
        }
        let map = |definition: &mut PackedOption<SlotIndex>| {
            *definition = definition.map(|index| renumbering.map(index)).into();
        };
        self.values.iter_mut().for_each(map);
        for range in self.edited.values_mut() {
            for segment in &mut range.segments {
                segment.start = renumbering.map(segment.start);
                segment.end = renumbering.map(segment.end);
            }
            range.values.iter_mut().for_each(map);
        }
    }

    /// Gives a new instruction an index. The caller extends its registers' ranges.
    pub fn insert_instruction(&mut self, instruction: Instruction, at: InsertionPoint) -> SlotIndex {
        let (index, renumbering) = self.indexes.insert_instruction(instruction, at);
        self.apply_renumbering(&renumbering);
        index
    }

    /// Repairs the indexes of a block between `begin` and `end`, or to its ends, after its
    /// instructions were changed. `order` lists the instructions that are there now. Removed
    /// instructions must not be part of any range.
    pub fn repair_instructions(
        &mut self,
        block: Block,
        begin: Option<Instruction>,
        end: Option<Instruction>,
        order: &[Instruction],
    ) {
        let renumbering = self.indexes.repair(block, begin, end, order);
        self.apply_renumbering(&renumbering);
    }

    /// Numbers every instruction afresh with the default distance.
    pub fn pack_indexes(&mut self) {
        let renumbering = self.indexes.pack();
        self.apply_renumbering(&renumbering);
    }

    /// Removes the index of an instruction, which no live range may need any more.
    pub fn remove_instruction(&mut self, instruction: Instruction) {
        self.indexes.remove_instruction(instruction);
    }

    /// Extends the range of `register` to each of `uses`: slots of instructions, and ends of blocks
    /// for PHIs. PHI values are created where several values meet.
    ///
    /// `flow` is the control flow, so it must have the blocks of the numbering in the same layout.
    /// A function whose blocks changed needs new intervals.
    ///
    /// # Panics
    /// Blocks were inserted or removed since the intervals were computed.
    pub fn extend_to(
        &mut self,
        calc: &mut LiveRangeCalc,
        flow: &FlowGraph,
        register: Register,
        uses: &[SlotIndex],
    ) {
        let mut range = std::mem::take(self.range_mut(register));
        calc.extend(flow, &self.indexes, &mut range, uses);
        self.edited.insert(register, range);
    }
}
