//! A sequence of operations: the two sides, and their comparison.

use super::{Judge, NONE, Update};
use crate::oracle::intervals::{ForeignInterval, ForeignIntervals};
use oriel_engine::entity::{Block, EntityRef, Instruction, PackedOption, Register};
use oriel_engine::live::{
    Definition, FlowGraph, LiveInterval, LiveIntervals, LiveRangeCalc, LiveSegment, OwnedLiveRange,
    SLOT_COUNT, SlotIndex, ValueNumber,
};
use oriel_engine::snapshot::{OwnedSnapshot, Snapshot};
use oriel_random::{Random, Stream};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Operations shown in a message.
const SHOWN: usize = 12;

/// A sequence of operations.
pub(super) struct Session<'a> {
    judge: &'a mut dyn Judge,
    /// The function with its current operands; the order of instructions is the original one.
    pub snapshot: OwnedSnapshot,
    pub predecessors: FlowGraph,
    pub intervals: LiveIntervals,
    pub random: Random,
    /// Indexed instructions of each block in their current order.
    pub order: Vec<Vec<Instruction>>,
    /// Instructions of the input; later numbers are new ones.
    pub first_new: usize,
    /// Compared registers: those that no undefined value reaches.
    pub registers: Vec<Register>,
    /// Registers whose range exceeds what their operands need.
    pub extended: BTreeSet<Register>,
    history: Vec<Update>,
}

impl<'a> Session<'a> {
    pub(super) fn new(snapshot: &Snapshot<'_>, judge: &'a mut dyn Judge, seed: u64) -> Self {
        let intervals = LiveRangeCalc::new().analyze(snapshot);
        let theirs = judge.state();
        let registers = snapshot
            .registers()
            .filter(|register| {
                let interval = &theirs.intervals[register.index()];
                let first = interval.first_segment as usize;
                interval.first_segment != NONE
                    && interval.segment_count > 0
                    && theirs.segments[first..first + interval.segment_count as usize]
                        .iter()
                        .all(|segment| segment.value != NONE)
            })
            .collect();
        let order = snapshot
            .blocks()
            .map(|block| {
                let indexed = |instruction: &Instruction| intervals.indexes().has_index(*instruction);
                snapshot.instructions_of(block).filter(indexed).collect()
            })
            .collect();
        Self {
            judge,
            snapshot: OwnedSnapshot::copy_of(snapshot),
            predecessors: FlowGraph::new(snapshot),
            random: Random::new(seed, Stream::Updates),
            order,
            first_new: snapshot.instruction_count(),
            registers,
            extended: BTreeSet::new(),
            history: Vec::new(),
            intervals,
        }
    }

    /// Lets the judge perform `update` and compares its answer with `answer`, and all intervals if
    /// something changed.
    pub(super) fn compare(&mut self, update: Update, answer: &[u32]) -> Result<(), String> {
        let theirs = self.perform(&update);
        if theirs != answer {
            return Err(format!("answers: {answer:?}, LLVM: {theirs:?}"));
        }
        self.compare_state()
    }

    /// Lets the judge perform `update` and returns its answer.
    pub(super) fn perform(&mut self, update: &Update) -> Vec<u32> {
        self.history.push(update.clone());
        self.judge.perform(update)
    }

    /// Compares all intervals and numbers.
    pub(super) fn compare_state(&mut self) -> Result<(), String> {
        let positions = Positions::new(&self.intervals);
        let theirs = self.judge.state();
        let indexes = self.intervals.indexes();
        for (number, &position) in theirs.instruction_indexes.iter().enumerate() {
            let instruction = Instruction::new(number);
            let ours = match indexes.has_index(instruction) {
                true => positions.of(indexes.instruction_index(instruction)),
                false => NONE,
            };
            if ours != position {
                return Err(format!("position of {instruction:?}: {ours}, LLVM: {position}"));
            }
        }
        let blocks = (0..theirs.block_starts.len() - 1).map(Block::new);
        let starts: Vec<u32> = blocks
            .map(|block| positions.of(indexes.block_start(block)))
            .chain([positions.of(indexes.last_index())])
            .collect();
        if starts != theirs.block_starts {
            return Err(format!(
                "block starts: {starts:?}, LLVM: {:?}",
                theirs.block_starts
            ));
        }
        for &register in &self.registers {
            let ours = self.intervals.interval(register);
            let range = positions.range(&theirs.intervals[register.index()], &theirs);
            if ours.segments != &range.segments[..] || ours.values != &range.values[..] {
                let llvm = LiveInterval {
                    register,
                    range: range.as_range(),
                };
                let ours = LiveInterval {
                    register,
                    range: ours,
                };
                let operands = self.describe_operands(register);
                return Err(format!("Oriel: {ours}\nLLVM:  {llvm}\noperands:{operands}"));
            }
        }
        Ok(())
    }

    /// Returns the instructions that mention a register, and their positions.
    fn describe_operands(&self, register: Register) -> String {
        let mut text = String::new();
        for (block, order) in self.order.iter().enumerate() {
            for &instruction in order {
                for operand in self.snapshot.view().instruction(instruction).operands() {
                    if operand.register() == Some(register) {
                        let index = self.intervals.indexes().instruction_index(instruction);
                        let flags = operand.flags();
                        write!(text, " {instruction:?} of {block} at {index} {flags:?};")
                            .expect("writing to a string does not fail");
                    }
                }
            }
        }
        text
    }

    /// Lets the judge perform `update`, and compares everything except the positions of entries
    /// without an instruction.
    ///
    /// LLVM's repair may remove the index of an instruction that stays and give it another, so that
    /// there are more such entries than instructions removed.
    pub(super) fn compare_but_blanks(&mut self, update: &Update) -> Result<(), String> {
        self.perform(update);
        let positions = Positions::new(&self.intervals);
        let theirs = self.judge.state();
        let indexes = self.intervals.indexes();
        let blocks = (0..self.order.len()).map(|block| positions.of(indexes.block_start(Block::new(block))));
        let instructions = self.order.iter().flatten();
        let ours: Vec<u32> = instructions
            .clone()
            .map(|&instruction| positions.of(indexes.instruction_index(instruction)))
            .chain(blocks)
            .collect();
        let llvm: Vec<u32> = instructions
            .map(|instruction| theirs.instruction_indexes[instruction.index()])
            .chain(theirs.block_starts[..self.order.len()].iter().copied())
            .collect();
        let with_index = |number: &usize| indexes.has_index(Instruction::new(*number));
        let llvm_count = theirs
            .instruction_indexes
            .iter()
            .filter(|&&position| position != NONE);
        if (0..self.snapshot.instructions.len()).filter(with_index).count() != llvm_count.count() {
            return Err("instructions with an index".to_owned());
        }
        let (our_entries, llvm_entries) = (Entries::new(&ours), Entries::new(&llvm));
        for (&our, &llvm) in ours.iter().zip(&llvm) {
            if our_entries.rank(our) != llvm_entries.rank(llvm) {
                return Err(format!("the entry at position {our}, LLVM: {llvm}"));
            }
        }
        for &register in &self.registers {
            let our_range = self.intervals.interval(register);
            let interval = &theirs.intervals[register.index()];
            let first = interval.first_segment as usize;
            let llvm_segments = match interval.first_segment {
                NONE => &[],
                _ => &theirs.segments[first..first + interval.segment_count as usize],
            };
            let ours = our_range.segments.iter().map(|segment| {
                let rank = |index| our_entries.rank(positions.of(index));
                (rank(segment.start), rank(segment.end), segment.value.as_u32())
            });
            let llvm = llvm_segments.iter().map(|segment| {
                let rank = |position| llvm_entries.rank(position);
                (rank(segment.start), rank(segment.end), segment.value)
            });
            if !ours.eq(llvm) {
                let range = LiveInterval {
                    register,
                    range: our_range,
                };
                return Err(format!("Oriel: {range}\nLLVM's differs"));
            }
        }
        Ok(())
    }

    /// Returns the message for a difference, with the last operations.
    pub(super) fn explain(&self, problem: &str) -> String {
        let mut text = format!(
            "{problem}\nafter {} operations, of these the last:",
            self.history.len()
        );
        for update in &self.history[self.history.len().saturating_sub(SHOWN)..] {
            write!(text, "\n{update:?}").expect("writing to a string does not fail");
        }
        text
    }

    pub(super) fn positions(&self) -> Positions {
        Positions::new(&self.intervals)
    }

    /// Chooses a register to work on.
    pub(super) fn pick_register(&mut self) -> Option<Register> {
        (!self.registers.is_empty()).then(|| self.random.pick(&self.registers))
    }

    /// Chooses a slot of any entry except the first and the last.
    pub(super) fn pick_index(&mut self, positions: &Positions) -> SlotIndex {
        let count = positions.entries.len() as u64;
        let entry = 1 + self.random.below(count.saturating_sub(2).max(1)) as u32;
        positions.index(entry * SLOT_COUNT + self.random.below(SLOT_COUNT.into()) as u32)
    }
}

/// The positions of entries in the current numbering.
pub(super) struct Positions {
    entries: Vec<SlotIndex>,
    places: HashMap<u32, u32>,
}

impl Positions {
    fn new(intervals: &LiveIntervals) -> Self {
        let entries: Vec<SlotIndex> = intervals
            .indexes()
            .entries()
            .into_iter()
            .map(|(index, _)| index)
            .collect();
        let places = (0..).zip(&entries).map(|(place, index)| (index.base(), place));
        Self {
            places: places.collect(),
            entries,
        }
    }

    /// Converts an index to a position.
    pub(super) fn of(&self, index: SlotIndex) -> u32 {
        self.places[&index.base()] * SLOT_COUNT + index.slot() as u32
    }

    /// Converts a position to an index.
    pub(super) fn index(&self, position: u32) -> SlotIndex {
        let entry = self.entries[(position / SLOT_COUNT) as usize];
        SlotIndex::from_number(entry.number() + position % SLOT_COUNT)
    }

    /// Converts a foreign range to our numbers.
    fn range(&self, interval: &ForeignInterval, theirs: &ForeignIntervals<'_>) -> OwnedLiveRange {
        let mut range = OwnedLiveRange::default();
        if interval.first_segment == NONE {
            return range;
        }
        let first = interval.first_segment as usize;
        let segments = &theirs.segments[first..first + interval.segment_count as usize];
        range.segments = segments
            .iter()
            .map(|segment| LiveSegment {
                start: self.index(segment.start),
                end: self.index(segment.end),
                value: ValueNumber::from_u32(segment.value),
            })
            .collect();
        let first = interval.first_value as usize;
        let definition = |&position: &u32| -> Definition {
            match position {
                NONE => PackedOption::default(),
                position => self.index(position).into(),
            }
        };
        range.values = theirs.values[first..first + interval.value_count as usize]
            .iter()
            .map(definition)
            .collect();
        range
    }
}

/// The entries of one side that belong to an instruction or a block.
struct Entries(Vec<u32>);

impl Entries {
    fn new(positions: &[u32]) -> Self {
        let mut places: Vec<u32> = positions.iter().map(|position| position / SLOT_COUNT).collect();
        places.sort_unstable();
        Self(places)
    }

    /// Returns how many entries lie at or before a position, and the slot if an entry lies there.
    fn rank(&self, position: u32) -> (usize, Option<u32>) {
        let before = self.0.partition_point(|&place| place <= position / SLOT_COUNT);
        let here = before > 0 && self.0[before - 1] == position / SLOT_COUNT;
        (before, here.then_some(position % SLOT_COUNT))
    }
}
