//! `OrielIntervals`: all live intervals as arrays. Queries of them are in `queries.rs`.

use super::call::{Message, OrielStatus, c_text, call, given};
use super::function::{OrielMachineFunction, UNKNOWN};
use crate::entity::{EntityRef, Register};
use crate::guard::guarded;
use crate::live::pressure::{Pressure, PressureFile, units_of};
use crate::live::{Function, LiveIntervals, LiveRange, LiveRangeCalc, LiveSegment, ValueNumber};
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// `OrielValue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OrielValue {
    pub(super) definition: u32,
    pub(super) is_phi: u32,
}

const _: () = assert!(size_of::<OrielValue>() == 8);

impl OrielValue {
    /// The values of a range, by number.
    pub(super) fn of(range: &LiveRange<'_>) -> impl Iterator<Item = Self> {
        let values = (0..range.value_count()).map(ValueNumber::new);
        values.map(|value| match range.definition(value) {
            Some(definition) => Self {
                definition: definition.number(),
                is_phi: range.is_phi(value).into(),
            },
            None => Self {
                definition: UNKNOWN,
                is_phi: 0,
            },
        })
    }
}

/// `OrielSegment`: a [`LiveSegment`].
pub type OrielSegment = LiveSegment;

const _: () = assert!(size_of::<OrielSegment>() == 12 && align_of::<OrielSegment>() == 4);

/// `OrielInterval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OrielInterval {
    pub(super) first_segment: u32,
    pub(super) segment_count: u32,
    pub(super) value_count: u32,
}

const _: () = assert!(size_of::<OrielInterval>() == 12);

/// `OrielIntervals`.
#[derive(Debug)]
pub struct OrielIntervals {
    pub(super) computed: LiveIntervals,
    /// By register: its file, and the units that it takes there.
    pub(super) units: Vec<(PressureFile, u32)>,
    pub(super) block_count: usize,
    pub(super) instruction_count: usize,
    intervals: Vec<OrielInterval>,
    segments: Vec<OrielSegment>,
    values: Vec<OrielValue>,
    /// By register: where its values begin; one more for the end of the last.
    first_values: Vec<usize>,
    text: OnceLock<CString>,
    pub(super) pressure: OnceLock<Pressure>,
}

impl OrielIntervals {
    /// Computes the intervals of a function, whose registers have these files and units.
    pub(super) fn compute(function: &impl Function, units: Vec<(PressureFile, u32)>) -> Self {
        let computed = LiveRangeCalc::new().analyze(function);
        let (mut segments, mut values) = (Vec::with_capacity(computed.segment_count()), Vec::new());
        let mut first_values = vec![0];
        let mut intervals = Vec::with_capacity(units.len());
        for register in 0..units.len() {
            let range = computed.interval(Register::new(register));
            intervals.push(OrielInterval {
                first_segment: segments.len() as u32,
                segment_count: range.segments().len() as u32,
                value_count: range.value_count() as u32,
            });
            segments.extend_from_slice(range.segments());
            values.extend(OrielValue::of(&range));
            first_values.push(values.len());
        }
        Self {
            intervals,
            segments,
            values,
            first_values,
            units,
            block_count: function.block_count(),
            instruction_count: function.instruction_count(),
            text: OnceLock::new(),
            pressure: OnceLock::new(),
            computed,
        }
    }

    /// The values of a register.
    pub(super) fn values_of(&self, register: usize) -> Option<&[OrielValue]> {
        let end = *self.first_values.get(register.checked_add(1)?)?;
        Some(&self.values[self.first_values[register]..end])
    }
}

/// `oriel_intervals_compute`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_compute(
    function: Option<&OrielMachineFunction>,
    intervals: Option<&mut *mut OrielIntervals>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        let out = given(intervals, "intervals")?;
        let snapshot = function.snapshot.view();
        let units = snapshot
            .registers()
            .map(|register| units_of(&snapshot, register))
            .collect();
        *out = Box::into_raw(Box::new(OrielIntervals::compute(&snapshot, units)));
        Ok(())
    })
}

/// Lends an array to C.
pub(super) fn lend<T>(array: Option<&[T]>, count: Option<&mut usize>) -> *const T {
    if let Some(count) = count {
        *count = array.map_or(0, <[T]>::len);
    }
    array.map_or(std::ptr::null(), <[T]>::as_ptr)
}

/// `oriel_intervals`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals(
    intervals: Option<&OrielIntervals>,
    count: Option<&mut usize>,
) -> *const OrielInterval {
    lend(intervals.map(|it| it.intervals.as_slice()), count)
}

/// `oriel_intervals_segments`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_segments(
    intervals: Option<&OrielIntervals>,
    count: Option<&mut usize>,
) -> *const OrielSegment {
    lend(intervals.map(|it| it.segments.as_slice()), count)
}

/// `oriel_intervals_text`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_text(intervals: Option<&OrielIntervals>) -> *const c_char {
    intervals.map_or(std::ptr::null(), |intervals| {
        let text = guarded(|| {
            let compute = || c_text(intervals.computed.to_string());
            intervals.text.get_or_init(compute).as_ptr()
        });
        text.unwrap_or(std::ptr::null())
    })
}

/// `oriel_intervals_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_dispose(intervals: Option<Box<OrielIntervals>>) {
    drop(intervals);
}
