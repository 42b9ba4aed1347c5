//! What is compiled on this thread, for those who want it: snapshots of the functions as LLVM makes
//! them, and functions as they leave Oriel.

use crate::phases::StageEffects;
use crate::report::page::CompiledFunction;
use crate::snapshot::{OwnedSnapshot, Snapshot};
use std::cell::RefCell;
use std::thread::LocalKey;

/// What compilations leave besides code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    /// The functions as they leave Oriel.
    pub functions: Vec<CompiledFunction>,
    /// The report's lines.
    pub report: String,
}

/// Something that is collected on this thread while someone wants it. LLVM compiles on the thread
/// that asks it to.
type Collection<T> = LocalKey<RefCell<Option<T>>>;

thread_local! {
    static SNAPSHOTS: RefCell<Option<Vec<OwnedSnapshot>>> = const { RefCell::new(None) };
    static COMPILATION: RefCell<Option<Captured>> = const { RefCell::new(None) };
    /// What phases did at stage `ssa` to functions that have not come to stage `late` yet, by name.
    static EARLIER_EFFECTS: RefCell<Vec<(String, StageEffects)>> = const { RefCell::new(Vec::new()) };
}

fn collect<T: Default, R>(collection: &'static Collection<T>, work: impl FnOnce() -> R) -> (R, T) {
    let outer = collection.replace(Some(T::default()));
    let result = work();
    (result, collection.replace(outer).unwrap_or_default())
}

/// Does `work`, and collects the snapshot of every function that is exported meanwhile on this
/// thread, at each stage.
pub fn capture_snapshots<R>(work: impl FnOnce() -> R) -> (R, Vec<OwnedSnapshot>) {
    collect(&SNAPSHOTS, work)
}

/// Does `work`, and collects what is compiled meanwhile on this thread as it leaves Oriel.
pub(crate) fn capture_compilation<R>(work: impl FnOnce() -> R) -> (R, Captured) {
    collect(&COMPILATION, work)
}

/// Keeps a copy of a snapshot if someone wants it.
pub(super) fn note(snapshot: &Snapshot<'_>) {
    SNAPSHOTS.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.push(OwnedSnapshot::copy_of(snapshot));
        }
    });
}

/// Does someone want what leaves Oriel?
pub(super) fn wants_compilation() -> bool {
    COMPILATION.with_borrow(Option::is_some)
}

/// Keeps a function if someone wants it.
pub(super) fn note_function(function: CompiledFunction) {
    COMPILATION.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.functions.push(function);
        }
    });
}

/// Keeps a line of the report if someone wants it.
pub(super) fn note_line(line: &str) {
    COMPILATION.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.report.push_str(line);
        }
    });
}

/// Keeps what phases did to a function until it comes to the next stage.
pub(super) fn keep_effects(function: &str, effects: StageEffects) {
    EARLIER_EFFECTS.with_borrow_mut(|kept| {
        kept.retain(|(name, _)| name != function);
        kept.push((function.to_owned(), effects));
    });
}

/// What phases did to a function at the stage before.
pub(super) fn take_effects(function: &str) -> Option<StageEffects> {
    EARLIER_EFFECTS.with_borrow_mut(|kept| {
        let position = kept.iter().position(|(name, _)| name == function)?;
        Some(kept.swap_remove(position).1)
    })
}
