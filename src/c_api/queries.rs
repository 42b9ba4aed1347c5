//! A host's queries of `OrielIntervals`.
//!
//! A host may pass any number. A number past the end has no value and no index, and is live nowhere.

use super::function::UNKNOWN;
use super::intervals::{OrielIntervals, OrielValue, lend};
use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::guard::guarded;
use crate::live::pressure::{Pressure, PressureFile, PressurePoint};
use crate::live::{LiveRange, SlotIndex};

/// `OrielPressurePoint`: a [`PressurePoint`].
pub type OrielPressurePoint = PressurePoint;

const _: () = assert!(size_of::<OrielPressurePoint>() == 8 && align_of::<OrielPressurePoint>() == 4);

impl OrielIntervals {
    fn range(&self, register: u32) -> Option<LiveRange<'_>> {
        let is_known = (register as usize) < self.units.len();
        is_known.then(|| self.computed.interval(Register::from_u32(register)))
    }

    fn block(&self, block: u32) -> Option<Block> {
        ((block as usize) < self.block_count).then(|| Block::from_u32(block))
    }

    fn pressure(&self) -> &Pressure {
        self.pressure
            .get_or_init(|| Pressure::of(&self.computed, |register| self.units[register.index()]))
    }
}

/// `oriel_intervals_values`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_values(
    intervals: Option<&OrielIntervals>,
    register: u32,
    count: Option<&mut usize>,
) -> *const OrielValue {
    lend(
        intervals.and_then(|intervals| intervals.values_of(register as usize)),
        count,
    )
}

/// `oriel_intervals_block_count`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_block_count(intervals: Option<&OrielIntervals>) -> u32 {
    intervals.map_or(0, |intervals| intervals.block_count as u32)
}

/// `oriel_intervals_instruction_count`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_instruction_count(intervals: Option<&OrielIntervals>) -> u32 {
    intervals.map_or(0, |intervals| intervals.instruction_count as u32)
}

/// `oriel_intervals_instruction_index`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_instruction_index(
    intervals: Option<&OrielIntervals>,
    instruction: u32,
) -> u32 {
    let index = intervals.and_then(|intervals| {
        let indexes = intervals.computed.indexes();
        let is_known = (instruction as usize) < intervals.instruction_count;
        let instruction = is_known.then(|| Instruction::from_u32(instruction))?;
        indexes
            .has_index(instruction)
            .then(|| indexes.instruction_index(instruction))
    });
    index.map_or(UNKNOWN, SlotIndex::number)
}

/// `oriel_intervals_instruction_at`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_instruction_at(intervals: Option<&OrielIntervals>, index: u32) -> u32 {
    let index = SlotIndex::from_number(index);
    let instruction = intervals.and_then(|intervals| intervals.computed.indexes().instruction_at(index));
    instruction.map_or(UNKNOWN, Instruction::as_u32)
}

/// `oriel_intervals_block_start`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_block_start(intervals: Option<&OrielIntervals>, block: u32) -> u32 {
    let start = intervals
        .and_then(|intervals| Some(intervals.computed.indexes().block_start(intervals.block(block)?)));
    start.map_or(UNKNOWN, SlotIndex::number)
}

/// `oriel_intervals_block_end`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_block_end(intervals: Option<&OrielIntervals>, block: u32) -> u32 {
    let end =
        intervals.and_then(|intervals| Some(intervals.computed.indexes().block_end(intervals.block(block)?)));
    end.map_or(UNKNOWN, SlotIndex::number)
}

/// `oriel_intervals_block_at`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_block_at(intervals: Option<&OrielIntervals>, index: u32) -> u32 {
    let index = SlotIndex::from_number(index);
    let block = intervals.and_then(|intervals| intervals.computed.indexes().block_at(index));
    block.map_or(UNKNOWN, Block::as_u32)
}

/// `oriel_intervals_value_at`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_value_at(
    intervals: Option<&OrielIntervals>,
    register: u32,
    index: u32,
) -> u32 {
    let index = SlotIndex::from_number(index);
    let value = intervals.and_then(|intervals| intervals.range(register)?.value_at(index));
    value.map_or(UNKNOWN, |value| value.index() as u32)
}

/// `oriel_intervals_live_at`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_live_at(
    intervals: Option<&OrielIntervals>,
    register: u32,
    index: u32,
) -> i32 {
    i32::from(oriel_intervals_value_at(intervals, register, index) != UNKNOWN)
}

/// `oriel_intervals_live_in`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_live_in(
    intervals: Option<&OrielIntervals>,
    register: u32,
    block: u32,
) -> i32 {
    oriel_intervals_live_at(intervals, register, oriel_intervals_block_start(intervals, block))
}

/// `oriel_intervals_live_out`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_live_out(
    intervals: Option<&OrielIntervals>,
    register: u32,
    block: u32,
) -> i32 {
    let is_live = intervals.and_then(|intervals| {
        let end = intervals.computed.indexes().block_end(intervals.block(block)?);
        intervals.range(register)?.value_before(end)
    });
    is_live.is_some().into()
}

/// `oriel_intervals_interfere`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_interfere(intervals: Option<&OrielIntervals>, one: u32, other: u32) -> i32 {
    let ranges = intervals.and_then(|intervals| Some((intervals.range(one)?, intervals.range(other)?)));
    ranges.is_some_and(|(one, other)| one.overlaps(&other)).into()
}

/// `oriel_intervals_registers_at`.
///
/// # Safety
/// `registers` is valid for `capacity` numbers, or `capacity` is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_intervals_registers_at(
    intervals: Option<&OrielIntervals>,
    index: u32,
    registers: *mut u32,
    capacity: usize,
) -> usize {
    let Some(intervals) = intervals else {
        return 0;
    };
    let index = SlotIndex::from_number(index);
    let registers = if registers.is_null() || capacity == 0 {
        &mut []
    } else {
        // SAFETY: the caller vouches for the numbers.
        unsafe { std::slice::from_raw_parts_mut(registers, capacity) }
    };
    let is_live = |register: &Register| intervals.computed.interval(*register).live_at(index);
    let mut count = 0;
    for register in intervals.computed.registers().filter(is_live) {
        if let Some(place) = registers.get_mut(count) {
            *place = register.as_u32();
        }
        count += 1;
    }
    count
}

/// `oriel_intervals_pressure`. The file is a number here: C can hand in any.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_pressure(
    intervals: Option<&OrielIntervals>,
    file: u32,
    count: Option<&mut usize>,
) -> *const OrielPressurePoint {
    let points = intervals.and_then(|intervals| {
        let file = PressureFile::ALL.get(file as usize)?;
        guarded(|| intervals.pressure().file(*file).points()).ok()
    });
    lend(points, count)
}
