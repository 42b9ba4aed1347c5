//! Collects the results of compilations on this thread: snapshots of the functions from LLVM, and
//! final functions.

use crate::report::page::CompiledFunction;
use crate::snapshot::{OwnedSnapshot, Snapshot};
use crate::thread_slot::ThreadSlot;
use std::thread::LocalKey;

/// The results of compilations besides code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    /// The final functions.
    pub functions: Vec<CompiledFunction>,
    /// The report's lines.
    pub report: String,
}

/// Something that is collected on this thread on request. LLVM compiles on the thread that calls
/// it.
type Collection<T> = LocalKey<ThreadSlot<T>>;

thread_local! {
    static SNAPSHOTS: ThreadSlot<Vec<OwnedSnapshot>> = const { ThreadSlot::new() };
    static COMPILATION: ThreadSlot<Captured> = const { ThreadSlot::new() };
}

fn collect<T: Default, R>(collection: &'static Collection<T>, work: impl FnOnce() -> R) -> (R, T) {
    let replace = |value| collection.with(|slot| slot.replace(value));
    let outer = replace(Some(T::default()));
    let result = work();
    (result, replace(outer).unwrap_or_default())
}

fn is_requested<T>(collection: &'static Collection<T>) -> bool {
    collection.with(|slot| slot.with_value(|captured| captured.is_some()))
}

fn add_to<T>(collection: &'static Collection<T>, add: impl FnOnce(&mut T)) {
    collection.with(|slot| slot.with_value(|captured| captured.map(add)));
}

/// Runs `work` and collects the snapshot of every function that is exported meanwhile on this
/// thread, at each stage.
pub fn capture_snapshots<R>(work: impl FnOnce() -> R) -> (R, Vec<OwnedSnapshot>) {
    collect(&SNAPSHOTS, work)
}

/// Runs `work` and collects the final functions that are compiled meanwhile on this thread.
pub(crate) fn capture_compilation<R>(work: impl FnOnce() -> R) -> (R, Captured) {
    collect(&COMPILATION, work)
}

/// Keeps a copy of a snapshot if requested.
pub(super) fn note(snapshot: &Snapshot<'_>) {
    add_to(&SNAPSHOTS, |captured| {
        captured.push(OwnedSnapshot::copy_of(snapshot))
    });
}

/// True if anything is collected on this thread.
pub(super) fn is_on() -> bool {
    wants_compilation() || is_requested(&SNAPSHOTS)
}

/// True if the results of compilations are requested.
pub(super) fn wants_compilation() -> bool {
    is_requested(&COMPILATION)
}

/// Keeps a function if requested.
pub(super) fn note_function(function: CompiledFunction) {
    add_to(&COMPILATION, |captured| captured.functions.push(function));
}

/// Keeps a line of the report if requested.
pub(super) fn note_line(line: &str) {
    add_to(&COMPILATION, |captured| captured.report.push_str(line));
}
