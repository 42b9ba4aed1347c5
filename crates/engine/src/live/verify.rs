//! Checks intervals against their function.
//!
//! The checks follow from the definition of a live range, not from an algorithm: segments are
//! ordered and as long as possible, every value is defined where it says, every read sees a value,
//! and registers that are live into a block are live out of its predecessors.

use super::flow_graph::FlowGraph;
use super::live_interval::{LiveIntervals, LiveRange};
use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{OpcodeFlags, OperandFlags};
use std::fmt;

/// A kind of defect of a live range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A segment ends before or where it starts.
    EmptySegment,
    /// A segment starts before the one in front of it ends.
    OverlappingSegments,
    /// Two segments of one value touch.
    UnmergedSegments,
    /// A segment has a value that does not exist or is unused.
    UnknownValue,
    /// A value that is in use has no segment at its definition.
    ValueNotLiveAtDefinition,
    /// Two values are defined at the same index.
    DuplicateDefinition,
    /// A value is defined where no instruction defines the register.
    DefinitionWithoutInstruction,
    /// A PHI value is defined at an index at which no block starts.
    PhiNotAtBlockStart,
    /// An instruction defines the register, but no value is defined there.
    MissingDefinition,
    /// An instruction reads the register where no value is live.
    ReadOfNothing,
    /// A segment starts neither at its value's definition nor at a block's start.
    StartsNowhere,
    /// A segment ends neither at a read, nor at a dead definition, nor at a block's end.
    EndsNowhere,
    /// A value is live into a block, but a predecessor has no value at its end.
    NotLiveOutOfPredecessor,
    /// A value is live into a block, but a predecessor ends with another one and there is no PHI
    /// value.
    OtherValueInPredecessor,
    /// A range leaves a block to no successor that needs it.
    LiveOutToNowhere,
}

/// A finding: its kind, the register and the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The register.
    pub register: Register,
    /// The position.
    pub index: SlotIndex,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{} at {}: {:?}", self.register.index(), self.index, self.kind)
    }
}

/// The definitions and reads of a register.
#[derive(Clone, Debug, Default)]
struct DefsAndUses {
    definitions: Vec<SlotIndex>,
    reads: Vec<SlotIndex>,
    /// Reads by PHIs, at block ends.
    phi_reads: Vec<SlotIndex>,
}

impl LiveIntervals {
    /// Returns all findings, in ascending order of register.
    ///
    /// The numbering must be fresh. A read that no definition reaches is a finding, though LLVM
    /// accepts such code if there is a path with a definition.
    pub fn verify(&self, snapshot: &Snapshot<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let predecessors = FlowGraph::new(snapshot);
        let accesses = self.collect_defs_and_uses(snapshot);
        for (index, accesses) in accesses.iter().enumerate() {
            let register = Register::new(index);
            let mut checker = Checker {
                intervals: self,
                snapshot,
                predecessors: &predecessors,
                register,
                range: self.interval(register),
                accesses,
                findings: &mut findings,
            };
            checker.check_segments();
            checker.check_values();
            checker.check_operands();
            checker.check_boundaries();
        }
        findings
    }

    fn collect_defs_and_uses(&self, snapshot: &Snapshot<'_>) -> Vec<DefsAndUses> {
        let mut accesses = vec![DefsAndUses::default(); snapshot.register_count()];
        for instruction in snapshot.instructions() {
            if self.indexes.has_index(instruction) {
                self.collect_operands(snapshot, instruction, &mut accesses);
            }
        }
        for accesses in &mut accesses {
            accesses.definitions.sort_unstable();
            accesses
                .definitions
                .dedup_by(|later, first| later.is_same_instruction(*first));
        }
        accesses
    }

    fn collect_operands(
        &self,
        snapshot: &Snapshot<'_>,
        instruction: Instruction,
        accesses: &mut [DefsAndUses],
    ) {
        let number = self.indexes.instruction_index(instruction).number();
        let view = snapshot.instruction(instruction);
        let is_phi = view.opcode_flags().contains(OpcodeFlags::PHI);
        let records = view.operand_records();
        for (position, operand) in view.operands().enumerate() {
            let Some(register) = operand.register() else {
                continue;
            };
            let accesses = &mut accesses[register.index()];
            let record = operand.record();
            if defines(record) {
                accesses.definitions.push(definition_slot(number, record));
            } else if reads(record) && is_phi {
                let predecessor = Block::from_u32(records[position + 1].index);
                accesses.phi_reads.push(self.indexes.block_end(predecessor));
            } else if reads(record) {
                debug_assert!(!operand.flags().contains(OperandFlags::DEBUG));
                accesses.reads.push(use_slot(number, record, records));
            }
        }
    }
}

struct Checker<'a> {
    intervals: &'a LiveIntervals,
    snapshot: &'a Snapshot<'a>,
    predecessors: &'a FlowGraph,
    register: Register,
    range: LiveRange<'a>,
    accesses: &'a DefsAndUses,
    findings: &'a mut Vec<Finding>,
}

impl Checker<'_> {
    fn find(&mut self, kind: FindingKind, index: SlotIndex) {
        self.findings.push(Finding {
            kind,
            register: self.register,
            index,
        });
    }

    fn definition(&self, value: ValueNumber) -> Option<SlotIndex> {
        self.range
            .values
            .get(value.index())
            .and_then(|value| value.expand())
    }

    fn check_segments(&mut self) {
        let segments = self.range.segments;
        for segment in segments {
            if segment.start >= segment.end {
                self.find(FindingKind::EmptySegment, segment.start);
            }
            if self.definition(segment.value).is_none() {
                self.find(FindingKind::UnknownValue, segment.start);
            }
        }
        for pair in segments.windows(2) {
            if pair[0].end > pair[1].start {
                self.find(FindingKind::OverlappingSegments, pair[1].start);
            }
            if pair[0].end == pair[1].start && pair[0].value == pair[1].value {
                self.find(FindingKind::UnmergedSegments, pair[1].start);
            }
        }
    }

    fn check_values(&mut self) {
        let range = self.range;
        let mut definitions: Vec<SlotIndex> = Vec::new();
        for (number, definition) in range.values.iter().enumerate() {
            let Some(definition) = definition.expand() else {
                continue;
            };
            definitions.push(definition);
            let at = range.value_at(definition);
            if at != Some(ValueNumber::new(number)) {
                self.find(FindingKind::ValueNotLiveAtDefinition, definition);
            }
            if definition.is_block() {
                let starts_block = self
                    .intervals
                    .indexes
                    .block_at(definition)
                    .is_some_and(|block| self.intervals.indexes.block_start(block) == definition);
                if !starts_block {
                    self.find(FindingKind::PhiNotAtBlockStart, definition);
                }
            } else if self.accesses.definitions.binary_search(&definition).is_err() {
                self.find(FindingKind::DefinitionWithoutInstruction, definition);
            }
        }
        definitions.sort_unstable();
        for pair in definitions.windows(2) {
            if pair[0] == pair[1] {
                self.find(FindingKind::DuplicateDefinition, pair[0]);
            }
        }
        for &slot in &self.accesses.definitions {
            if definitions.binary_search(&slot).is_err() {
                self.find(FindingKind::MissingDefinition, slot);
            }
        }
    }

    fn check_operands(&mut self) {
        let accesses = self.accesses;
        for &read in accesses.reads.iter().chain(&accesses.phi_reads) {
            if self.range.value_before(read).is_none() {
                self.find(FindingKind::ReadOfNothing, read);
            }
        }
    }

    /// Checks where segments begin and end, and that values flow along every edge.
    fn check_boundaries(&mut self) {
        let indexes = &self.intervals.indexes;
        let accesses = self.accesses;
        for segment in self.range.segments {
            let Some(block) = indexes.block_at(segment.start) else {
                self.find(FindingKind::StartsNowhere, segment.start);
                continue;
            };
            let at_start = indexes.block_start(block) == segment.start;
            if self.definition(segment.value) != Some(segment.start) && !at_start {
                self.find(FindingKind::StartsNowhere, segment.start);
            }
            self.check_entries(segment.start, segment.end, segment.value);
            let dead = segment.end.is_dead()
                && self
                    .definition(segment.value)
                    .is_some_and(|definition| definition.is_same_instruction(segment.end));
            let read = accesses.reads.contains(&segment.end);
            let leaves = segment.end.is_block()
                && indexes
                    .block_before(segment.end)
                    .is_some_and(|block| indexes.block_end(block) == segment.end);
            if !(read || leaves || dead) {
                self.find(FindingKind::EndsNowhere, segment.end);
            }
            if leaves {
                self.check_exit(segment.end);
            }
        }
    }

    /// Checks the edges into every block that `[start, end)` enters.
    fn check_entries(&mut self, start: SlotIndex, end: SlotIndex, value: ValueNumber) {
        let indexes = &self.intervals.indexes;
        let mut index = start;
        while let Some(block) = indexes.block_at(index).filter(|_| index < end) {
            let begin = indexes.block_start(block);
            if begin >= start {
                let is_phi = self.definition(value) == Some(begin);
                for &predecessor in self.predecessors.predecessors_of(block) {
                    let last = indexes.block_end(predecessor);
                    match self.range.value_before(last) {
                        None => self.find(FindingKind::NotLiveOutOfPredecessor, last),
                        Some(other) if other != value && !is_phi => {
                            self.find(FindingKind::OtherValueInPredecessor, last);
                        }
                        Some(_) => {}
                    }
                }
            }
            index = indexes.block_end(block);
        }
    }

    /// Checks that a range that reaches a block's end is needed there.
    fn check_exit(&mut self, end: SlotIndex) {
        let indexes = &self.intervals.indexes;
        let Some(block) = indexes.block_before(end) else {
            return;
        };
        let needed = self.accesses.phi_reads.contains(&end)
            || self
                .snapshot
                .successors(block)
                .any(|successor| self.range.value_at(indexes.block_start(successor)).is_some());
        if !needed {
            self.find(FindingKind::LiveOutToNowhere, end);
        }
    }
}
