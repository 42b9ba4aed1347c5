//! Live intervals: compared with LLVM's, printed and timed.

use crate::bench::{self, Sample};
use crate::options::{InjectedFault, Laboratory};
use crate::oracle::intervals::{self, ForeignInterval, ForeignIntervals, ForeignSegment};
use oriel::lent::slice;
use oriel::{OrielSink, OrielSnapshot};
use oriel_engine::guard::guarded;
use oriel_engine::live::LiveRangeCalc;

/// `OrielLiveIntervals`.
#[repr(C)]
pub struct OrielLiveIntervals {
    intervals: *const ForeignInterval,
    segments: *const ForeignSegment,
    values: *const u32,
    instruction_indexes: *const u32,
    block_starts: *const u32,
    interval_count: u32,
    segment_count: u32,
    value_count: u32,
    instruction_count: u32,
    block_count: u32,
    reserved: u32,
}

impl OrielLiveIntervals {
    /// Returns a view of the arrays.
    ///
    /// # Safety
    /// Every array is valid for its count, `block_starts` for one more, while the view lives.
    pub(super) unsafe fn view<'a>(&self) -> ForeignIntervals<'a> {
        // SAFETY: the caller vouches for all arrays.
        unsafe {
            ForeignIntervals {
                intervals: slice(self.intervals, self.interval_count as usize),
                segments: slice(self.segments, self.segment_count as usize),
                values: slice(self.values, self.value_count as usize),
                instruction_indexes: slice(self.instruction_indexes, self.instruction_count as usize),
                block_starts: slice(self.block_starts, self.block_count as usize + 1),
            }
        }
    }
}

/// True if the options request a wrong interval.
pub(super) fn has_wrong_interval() -> bool {
    Laboratory::in_force().is_some_and(|laboratory| laboratory.fault == Some(InjectedFault::WrongInterval))
}

#[unsafe(no_mangle)]
extern "C" fn oriel_check_intervals(
    snapshot: &OrielSnapshot,
    theirs: &OrielLiveIntervals,
    difference: OrielSink,
) -> i32 {
    // SAFETY: the exporter fills every array for its count, and so does the oracle.
    let (view, theirs) = unsafe { (snapshot.view(), theirs.view()) };
    let check = || {
        let mut ours = LiveRangeCalc::new().analyze(&view);
        if has_wrong_interval() {
            intervals::damage(&mut ours);
        }
        intervals::check(&view, &ours, &theirs)
    };
    match guarded(check) {
        Ok(Ok(())) => 1,
        Ok(Err(message)) | Err(message) => {
            difference.send(&message);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_print_intervals(snapshot: &OrielSnapshot, text: OrielSink) {
    // SAFETY: the exporter fills every array for its count.
    let view = unsafe { snapshot.view() };
    match guarded(|| LiveRangeCalc::new().analyze(&view).to_string()) {
        Ok(printed) => text.send(&printed),
        Err(message) => text.send(&format!("{message}\n")),
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_bench_measure(snapshot: &OrielSnapshot, sample: &mut Sample) {
    // SAFETY: the exporter fills every array for its count.
    let view = unsafe { snapshot.view() };
    // A panic leaves the times at zero, which cannot be mistaken for a measurement.
    let _ = guarded(|| bench::measure(&view, sample));
}

#[unsafe(no_mangle)]
extern "C" fn oriel_bench_report(snapshot: &OrielSnapshot, samples: *const Sample, count: usize) {
    // SAFETY: the exporter fills every array for its count, and there are as many samples as
    // stated.
    let (view, samples) = unsafe { (snapshot.view(), slice(samples, count)) };
    // Whoever reads the lines sees that they end.
    let _ = guarded(|| bench::report(&view, samples));
}

#[unsafe(no_mangle)]
extern "C" fn oriel_bench_totals() {
    let _ = guarded(bench::report_totals);
}
