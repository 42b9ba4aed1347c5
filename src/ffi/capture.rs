//! What is compiled in this process, for those who want it: snapshots of the functions as LLVM makes them, and functions as they
//! leave Oriel.

use crate::phases::StageEffects;
use crate::report::page::CompiledFunction;
use crate::snapshot::{OwnedSnapshot, Snapshot};
use std::cell::RefCell;
use std::thread::LocalKey;

/// Things that are collected on this thread while someone wants them. LLVM compiles on the thread that asks it to.
type Collection<T> = LocalKey<RefCell<Option<Vec<T>>>>;

thread_local! {
    static SNAPSHOTS: RefCell<Option<Vec<OwnedSnapshot>>> = const { RefCell::new(None) };
    static FUNCTIONS: RefCell<Option<Vec<CompiledFunction>>> = const { RefCell::new(None) };
    /// What phases did at stage `ssa` to functions that have not come to stage `late` yet, by name.
    static EARLIER_EFFECTS: RefCell<Vec<(String, StageEffects)>> = const { RefCell::new(Vec::new()) };
}

fn collect<T, R>(collection: &'static Collection<T>, work: impl FnOnce() -> R) -> (R, Vec<T>) {
    let outer = collection.replace(Some(Vec::new()));
    let result = work();
    (result, collection.replace(outer).unwrap_or_default())
}

/// Does `work`, and collects the snapshot of every function that is exported meanwhile on this thread, at each stage.
pub fn capture_snapshots<R>(work: impl FnOnce() -> R) -> (R, Vec<OwnedSnapshot>) {
    collect(&SNAPSHOTS, work)
}

/// Does `work`, and collects every function that is compiled meanwhile on this thread as it leaves Oriel.
pub fn capture_functions<R>(work: impl FnOnce() -> R) -> (R, Vec<CompiledFunction>) {
    collect(&FUNCTIONS, work)
}

/// Keeps a copy of a snapshot if someone wants it.
pub(super) fn note(snapshot: &Snapshot<'_>) {
    SNAPSHOTS.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.push(OwnedSnapshot::copy_of(snapshot));
        }
    });
}

/// Does someone want functions as they leave Oriel?
pub(super) fn wants_functions() -> bool {
    FUNCTIONS.with_borrow(Option::is_some)
}

/// Keeps a function if someone wants it.
pub(super) fn note_function(function: CompiledFunction) {
    FUNCTIONS.with_borrow_mut(|captured| captured.as_mut().map(|captured| captured.push(function)));
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
