//! Snapshots of the functions that are compiled in this process.

use crate::snapshot::{OwnedSnapshot, Snapshot};
use std::cell::RefCell;

thread_local! {
    /// What was captured on this thread, while someone wants it. LLVM compiles on the thread that asks it to.
    static CAPTURED: RefCell<Option<Vec<OwnedSnapshot>>> = const { RefCell::new(None) };
}

/// Does `work`, and collects the snapshot of every function that is exported meanwhile on this thread, at each stage.
pub fn capture_snapshots<R>(work: impl FnOnce() -> R) -> (R, Vec<OwnedSnapshot>) {
    let outer = CAPTURED.replace(Some(Vec::new()));
    let result = work();
    (result, CAPTURED.replace(outer).unwrap_or_default())
}

/// Keeps a copy of a snapshot if someone wants it.
pub(super) fn note(snapshot: &Snapshot<'_>) {
    CAPTURED.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.push(OwnedSnapshot::copy_of(snapshot));
        }
    });
}
