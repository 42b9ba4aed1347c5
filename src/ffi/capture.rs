//! Collects the results of compilations on this thread: snapshots of the functions from LLVM, and
//! final functions.

use crate::report::page::CompiledFunction;
use crate::snapshot::{OwnedSnapshot, Snapshot};
use std::cell::RefCell;
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
type Collection<T> = LocalKey<RefCell<Option<T>>>;

thread_local! {
    static SNAPSHOTS: RefCell<Option<Vec<OwnedSnapshot>>> = const { RefCell::new(None) };
    static COMPILATION: RefCell<Option<Captured>> = const { RefCell::new(None) };
}

fn collect<T: Default, R>(collection: &'static Collection<T>, work: impl FnOnce() -> R) -> (R, T) {
    let outer = collection.replace(Some(T::default()));
    let result = work();
    (result, collection.replace(outer).unwrap_or_default())
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
    SNAPSHOTS.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.push(OwnedSnapshot::copy_of(snapshot));
        }
    });
}

/// True if anything is collected on this thread.
pub(super) fn is_on() -> bool {
    wants_compilation() || SNAPSHOTS.with_borrow(Option::is_some)
}

/// True if the results of compilations are requested.
pub(super) fn wants_compilation() -> bool {
    COMPILATION.with_borrow(Option::is_some)
}

/// Keeps a function if requested.
pub(super) fn note_function(function: CompiledFunction) {
    COMPILATION.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.functions.push(function);
        }
    });
}

/// Keeps a line of the report if requested.
pub(super) fn note_line(line: &str) {
    COMPILATION.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.report.push_str(line);
        }
    });
}
