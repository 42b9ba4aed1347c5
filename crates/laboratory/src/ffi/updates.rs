//! Compares updates of live intervals with LLVM's.

use super::live::{OrielLiveIntervals, has_wrong_interval};
use crate::oracle::intervals::ForeignIntervals;
use crate::oracle::updates::{self, Judge, Update};
use oriel::lent::slice;
use oriel::{OrielSink, OrielSnapshot};
use oriel_engine::guard::guarded;
use std::ffi::c_void;

/// `OrielUpdate`.
#[repr(C)]
struct OrielUpdate {
    kind: u32,
    register: u32,
    other: u32,
    instruction: u32,
    anchor: u32,
    block: u32,
    start: u32,
    end: u32,
    value: u32,
    into: u32,
    flag: u32,
    list_count: u32,
    list: *const u32,
}

/// `OrielNumbers`.
#[repr(C)]
struct OrielNumbers {
    numbers: *const u32,
    count: usize,
}

/// `OrielJudge`.
#[repr(C)]
pub struct OrielJudge {
    context: *mut c_void,
    perform: extern "C" fn(*mut c_void, *const OrielUpdate) -> OrielNumbers,
    state: extern "C" fn(*mut c_void) -> OrielLiveIntervals,
    restart: extern "C" fn(*mut c_void),
}

impl Judge for &OrielJudge {
    fn perform(&mut self, update: &Update) -> Vec<u32> {
        let record = OrielUpdate {
            kind: update.kind,
            register: update.register,
            other: update.other,
            instruction: update.instruction,
            anchor: update.anchor,
            block: update.block,
            start: update.start,
            end: update.end,
            value: update.value,
            into: update.into,
            flag: update.flag,
            list_count: update.list.len() as u32,
            list: update.list.as_ptr(),
        };
        let answer = (self.perform)(self.context, &record);
        // SAFETY: the numbers live until the next call, and are copied before.
        unsafe { slice(answer.numbers, answer.count) }.to_vec()
    }

    fn state(&mut self) -> ForeignIntervals<'_> {
        let state = (self.state)(self.context);
        // SAFETY: the arrays live until the next call, which the result's borrow of `self`
        // prevents.
        unsafe { state.view() }
    }

    fn restart(&mut self) {
        (self.restart)(self.context);
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_check_updates(
    snapshot: &OrielSnapshot,
    mut judge: &OrielJudge,
    difference: OrielSink,
) -> i32 {
    // SAFETY: the exporter fills every array for its count.
    let view = unsafe { snapshot.view() };
    let check = || {
        view.check().map_err(|error| error.to_string())?;
        updates::check(&view, &mut judge, has_wrong_interval())
    };
    match guarded(check) {
        Ok(Ok(())) => 1,
        Ok(Err(message)) | Err(message) => {
            difference.send(&message);
            0
        }
    }
}
