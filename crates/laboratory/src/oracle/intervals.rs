//! Compares the engine's live intervals with LLVM's, which come as arrays from the C++ side.

use oriel_engine::entity::{EntityRef, PackedOption, Register};
use oriel_engine::live::{
    Bypass, Definition, LiveInterval, LiveIntervals, LiveRange, LiveRangeCalc, LiveSegment, SlotIndex,
    ValueNumber,
};
use oriel_engine::snapshot::Snapshot;
use std::fmt::Write;

/// "None" in foreign arrays.
const NONE: u32 = u32::MAX;
/// The most differences that a message shows.
const SHOWN: usize = 20;

/// The range of a register's segments and values in foreign arrays.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ForeignInterval {
    /// The first segment; all ones if the register has no interval.
    pub first_segment: u32,
    /// Number of segments.
    pub segment_count: u32,
    /// The first value's definition.
    pub first_value: u32,
    /// Number of values.
    pub value_count: u32,
}

/// A foreign segment; positions are index numbers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ForeignSegment {
    /// First position.
    pub start: u32,
    /// The first position that no longer belongs to it.
    pub end: u32,
    /// The value; all ones if there is none.
    pub value: u32,
}

/// The intervals and the numbering of another implementation.
#[derive(Clone, Copy, Debug)]
pub struct ForeignIntervals<'a> {
    /// By register.
    pub intervals: &'a [ForeignInterval],
    /// Segments of all registers.
    pub segments: &'a [ForeignSegment],
    /// Definitions of all registers' values; all ones if unused.
    pub values: &'a [u32],
    /// By instruction; all ones if it has no index.
    pub instruction_indexes: &'a [u32],
    /// By block in layout order, and the end of the last block.
    pub block_starts: &'a [u32],
}

/// Compares `ours`, the intervals of `snapshot`, with `theirs`: numbering, registers, segments and
/// values. Also compares them with those that the engine computes with and without the bypass.
///
/// # Errors
/// They differ; the message shows both.
pub fn check(
    snapshot: &Snapshot<'_>,
    ours: &LiveIntervals,
    theirs: &ForeignIntervals<'_>,
) -> Result<(), String> {
    let mut differences = Vec::new();
    compare_numbering(snapshot, ours, theirs, &mut differences);
    compare_intervals(ours, theirs, &mut differences);
    for bypass in [Bypass::Never, Bypass::Always] {
        let other = LiveRangeCalc::with_bypass(bypass).analyze(snapshot);
        compare_engines(ours, &other, bypass, &mut differences);
    }
    if differences.is_empty() {
        return Ok(());
    }
    let mut message = String::new();
    for difference in differences.iter().take(SHOWN) {
        writeln!(message, "{difference}").expect("writing to a string does not fail");
    }
    if differences.len() > SHOWN {
        writeln!(message, "and {} more", differences.len() - SHOWN).expect("as above");
    }
    Err(message)
}

/// Makes the last segment of some register one slot longer, to test that the comparison detects it.
pub fn damage(intervals: &mut LiveIntervals) {
    let register = intervals
        .registers()
        .find(|&register| !intervals.interval(register).is_empty());
    if let Some(register) = register
        && let Some(segment) = intervals.range_mut(register).segments.last_mut()
    {
        segment.end = SlotIndex::from_number(segment.end.number() + 1);
    }
}

/// Compares the numbers of blocks and instructions.
fn compare_numbering(
    snapshot: &Snapshot<'_>,
    ours: &LiveIntervals,
    theirs: &ForeignIntervals<'_>,
    differences: &mut Vec<String>,
) {
    let indexes = ours.indexes();
    let starts: Vec<u32> = snapshot
        .blocks()
        .map(|block| indexes.block_start(block).number())
        .chain([indexes.last_index().number()])
        .collect();
    if starts != theirs.block_starts {
        differences.push(format!(
            "block starts: {starts:?}, LLVM: {:?}",
            theirs.block_starts
        ));
    }
    if theirs.instruction_indexes.len() != snapshot.instruction_count() {
        differences.push(format!(
            "instructions: {}, LLVM: {}",
            snapshot.instruction_count(),
            theirs.instruction_indexes.len()
        ));
    }
    for (instruction, &number) in snapshot.instructions().zip(theirs.instruction_indexes) {
        let our_number = match indexes.has_index(instruction) {
            true => indexes.instruction_index(instruction).number(),
            false => NONE,
        };
        if our_number != number {
            differences.push(format!("index of {instruction:?}: {our_number}, LLVM: {number}"));
        }
    }
}

/// Compares the segments and values of each register.
fn compare_intervals(ours: &LiveIntervals, theirs: &ForeignIntervals<'_>, differences: &mut Vec<String>) {
    if ours.register_count() != theirs.intervals.len() {
        let (ours, theirs) = (ours.register_count(), theirs.intervals.len());
        differences.push(format!("registers: {ours}, LLVM: {theirs}"));
    }
    let (mut segments, mut values) = (Vec::new(), Vec::new());
    for (index, interval) in theirs.intervals.iter().enumerate() {
        let register = Register::new(index);
        let present = interval.first_segment != NONE;
        if ours.has_interval(register) != present {
            differences.push(format!("%{index} has an interval: {}, LLVM: {present}", !present));
            continue;
        }
        if present && !read_range(interval, theirs, &mut segments, &mut values) {
            // LLVM's segments have no value where no definition reaches a read. Oriel's always do.
            continue;
        }
        let (ours, theirs) = (
            ours.interval(register),
            LiveRange {
                segments: &segments,
                values: &values,
            },
        );
        if present && (ours.segments != theirs.segments || ours.values != theirs.values) {
            differences.push(format!(
                "Oriel: {}\nLLVM:  {}",
                LiveInterval {
                    register,
                    range: ours
                },
                LiveInterval {
                    register,
                    range: theirs
                }
            ));
        }
    }
}

/// Reads a foreign range. Returns whether every segment has a value.
fn read_range(
    interval: &ForeignInterval,
    theirs: &ForeignIntervals<'_>,
    segments: &mut Vec<LiveSegment>,
    values: &mut Vec<Definition>,
) -> bool {
    let first = interval.first_segment as usize;
    let foreign = &theirs.segments[first..first + interval.segment_count as usize];
    segments.clear();
    segments.extend(foreign.iter().map(|segment| LiveSegment {
        start: SlotIndex::from_number(segment.start),
        end: SlotIndex::from_number(segment.end),
        value: ValueNumber::from_u32(segment.value),
    }));
    let first = interval.first_value as usize;
    values.clear();
    values.extend(
        theirs.values[first..first + interval.value_count as usize]
            .iter()
            .map(|&number| match number {
                NONE => PackedOption::default(),
                number => SlotIndex::from_number(number).into(),
            }),
    );
    foreign.iter().all(|segment| segment.value != NONE)
}

/// Compares two results of the engine.
fn compare_engines(
    ours: &LiveIntervals,
    other: &LiveIntervals,
    bypass: Bypass,
    differences: &mut Vec<String>,
) {
    for index in 0..ours.register_count() {
        let register = Register::new(index);
        let (one, two) = (ours.interval(register), other.interval(register));
        if one.segments != two.segments || one.values != two.values {
            differences.push(format!(
                "default bypass: {}\nbypass {bypass:?}: {}",
                LiveInterval { register, range: one },
                LiveInterval { register, range: two }
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::live::testing::{PLAIN, TestFunction, def, operand, read};
    use oriel_engine::snapshot::abi::OperandFlags;

    /// The data that another implementation would provide.
    #[derive(Clone)]
    struct Foreign {
        intervals: Vec<ForeignInterval>,
        segments: Vec<ForeignSegment>,
        values: Vec<u32>,
        instructions: Vec<u32>,
        starts: Vec<u32>,
    }

    impl Foreign {
        fn of(snapshot: &Snapshot<'_>, ours: &LiveIntervals) -> Self {
            let indexes = ours.indexes();
            let starts = snapshot.blocks().map(|block| indexes.block_start(block).number());
            let instructions = snapshot
                .instructions()
                .map(|instruction| indexes.instruction_index(instruction).number());
            let mut foreign = Self {
                intervals: Vec::new(),
                segments: Vec::new(),
                values: Vec::new(),
                instructions: instructions.collect(),
                starts: starts.chain([indexes.last_index().number()]).collect(),
            };
            for register in snapshot.registers() {
                let range = ours.interval(register);
                foreign.intervals.push(ForeignInterval {
                    first_segment: match ours.has_interval(register) {
                        true => foreign.segments.len() as u32,
                        false => NONE,
                    },
                    segment_count: range.segments.len() as u32,
                    first_value: foreign.values.len() as u32,
                    value_count: range.values.len() as u32,
                });
                foreign
                    .segments
                    .extend(range.segments.iter().map(|segment| ForeignSegment {
                        start: segment.start.number(),
                        end: segment.end.number(),
                        value: segment.value.as_u32(),
                    }));
                let number = |value: &Definition| value.expand().map_or(NONE, SlotIndex::number);
                foreign.values.extend(range.values.iter().map(number));
            }
            foreign
        }

        fn view(&self) -> ForeignIntervals<'_> {
            ForeignIntervals {
                intervals: &self.intervals,
                segments: &self.segments,
                values: &self.values,
                instruction_indexes: &self.instructions,
                block_starts: &self.starts,
            }
        }
    }

    /// Builds a loop with a register of three values, one of one value, an empty one and a missing
    /// one.
    fn sample() -> TestFunction {
        let mut function = TestFunction::new(4);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[def(1)]);
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[def(0), read(0)]);
        function.instruction(PLAIN, &[read(1), operand(2, OperandFlags::UNDEF)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        function.finish(|| 0)
    }

    #[test]
    fn what_is_equal_passes_and_each_kind_of_difference_is_found() {
        let function = sample();
        let snapshot = function.snapshot();
        let ours = LiveRangeCalc::new().analyze(&snapshot);
        let same = Foreign::of(&snapshot, &ours);
        assert_eq!(check(&snapshot, &ours, &same.view()), Ok(()));
        assert!(same.segments.len() > 3 && same.values.len() == 4);

        type Change = fn(&mut Foreign);
        let changes: [(&str, Change); 15] = [
            ("Oriel: %0", |f| f.segments[0].start += 1),
            ("Oriel: %0", |f| f.segments[0].end += 4),
            ("Oriel: %0", |f| f.segments[0].value ^= 1),
            ("Oriel: %0", |f| f.segments[1].value ^= 1),
            ("Oriel: %0", |f| f.intervals[0].segment_count -= 1),
            ("Oriel: %1", |f| f.intervals[1].first_segment -= 1),
            ("Oriel: %0", |f| f.values[0] += 16),
            ("Oriel: %0", |f| f.values[2] = NONE),
            ("Oriel: %0", |f| f.intervals[0].value_count += 1),
            ("%1 has an interval: true, LLVM: false", |f| {
                f.intervals[1].first_segment = NONE;
            }),
            ("%3 has an interval: false, LLVM: true", |f| {
                f.intervals[3].first_segment = 0;
            }),
            ("registers: 4, LLVM: 5", |f| f.intervals.push(f.intervals[3])),
            ("registers: 4, LLVM: 3", |f| f.intervals.truncate(3)),
            ("index of ", |f| f.instructions[2] += 4),
            ("block starts: ", |f| f.starts[1] += 16),
        ];
        for (number, (message, change)) in changes.into_iter().enumerate() {
            let mut other = same.clone();
            change(&mut other);
            let difference = check(&snapshot, &ours, &other.view()).expect_err(message);
            assert!(difference.contains(message), "change {number}: {difference}");
            assert!(difference.contains("LLVM"), "change {number}: {difference}");
        }
    }

    #[test]
    fn damage_of_our_own_is_found_in_both_comparisons() {
        let function = sample();
        let snapshot = function.snapshot();
        let mut ours = LiveRangeCalc::new().analyze(&snapshot);
        let theirs = Foreign::of(&snapshot, &ours);
        damage(&mut ours);
        let difference = check(&snapshot, &ours, &theirs.view()).expect_err("a segment is too long");
        assert!(difference.contains("Oriel: %0") && difference.contains("bypass Never: %0"));
    }
}
