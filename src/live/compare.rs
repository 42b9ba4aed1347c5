//! Compares the engine's intervals with those of another implementation, LLVM's.

use super::live_interval::{Definition, LiveInterval, LiveIntervals, LiveRange, LiveSegment};
use super::live_range_calc::{Bypass, LiveRangeCalc};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{EntityRef, PackedOption, Register};
use crate::snapshot::Snapshot;
use std::fmt::Write;

/// Stands for "none" in foreign arrays.
const NONE: u32 = u32::MAX;
/// Differences that a message shows.
const SHOWN: usize = 20;

/// Where a register's segments and values are in foreign arrays.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ForeignInterval {
    /// All ones if the register has no interval.
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
    /// Position past the last one.
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

/// Computes the intervals of `snapshot`, with and without the bypass, and compares them with `theirs`:
/// numbering, registers, segments and values.
///
/// # Errors
/// They differ; the message shows both.
pub fn check(snapshot: &Snapshot<'_>, theirs: &ForeignIntervals<'_>) -> Result<(), String> {
    let ours = LiveRangeCalc::new().analyze(snapshot);
    let mut differences = Vec::new();
    compare_numbering(snapshot, &ours, theirs, &mut differences);
    compare_intervals(&ours, theirs, &mut differences);
    for bypass in [Bypass::Never, Bypass::Always] {
        let other = LiveRangeCalc::with_bypass(bypass).analyze(snapshot);
        compare_engines(&ours, &other, bypass, &mut differences);
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

fn compare_intervals(ours: &LiveIntervals, theirs: &ForeignIntervals<'_>, differences: &mut Vec<String>) {
    let (mut segments, mut values) = (Vec::new(), Vec::new());
    for (index, interval) in theirs.intervals.iter().enumerate() {
        let register = Register::new(index);
        let present = interval.first_segment != NONE;
        if ours.has_interval(register) != present {
            differences.push(format!("%{index} has an interval: {}, LLVM: {present}", !present));
            continue;
        }
        if present && !read_range(interval, theirs, &mut segments, &mut values) {
            // A read that no definition reaches: LLVM's segments have no value there.
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
