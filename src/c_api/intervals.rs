//! `OrielIntervals`: live intervals.

use super::call::{Message, OrielStatus, c_text, call, given};
use super::function::OrielMachineFunction;
use crate::live::{LiveIntervals, LiveRangeCalc, LiveSegment};
use crate::snapshot::Snapshot;
use std::ffi::{CString, c_char};

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
    intervals: Vec<OrielInterval>,
    segments: Vec<OrielSegment>,
    text: CString,
}

impl OrielIntervals {
    fn new(snapshot: &Snapshot<'_>, computed: &LiveIntervals) -> Self {
        let mut segments = Vec::with_capacity(computed.segment_count());
        let intervals = snapshot.registers().map(|register| {
            let range = computed.interval(register);
            let first_segment = segments.len() as u32;
            segments.extend_from_slice(range.segments());
            OrielInterval {
                first_segment,
                segment_count: range.segments().len() as u32,
                value_count: range.values().count() as u32,
            }
        });
        Self {
            intervals: intervals.collect(),
            text: c_text(computed.to_string()),
            segments,
        }
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
        let computed = LiveRangeCalc::new().analyze(&snapshot);
        *out = Box::into_raw(Box::new(OrielIntervals::new(&snapshot, &computed)));
        Ok(())
    })
}

/// Lends an array to C.
fn lend<T>(array: Option<&[T]>, count: Option<&mut usize>) -> *const T {
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
    intervals.map_or(std::ptr::null(), |intervals| intervals.text.as_ptr())
}

/// `oriel_intervals_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_intervals_dispose(intervals: Option<Box<OrielIntervals>>) {
    drop(intervals);
}
