//! A value of each thread that remains accessible until the thread has ended.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// A place for a value, for `thread_local!`. It has no destructor, so it can still be used while
/// the thread ends: a host may compile in an exit handler, or in the destructor of a value of its
/// own. A value that is left in it is never dropped.
#[derive(Debug)]
pub struct ThreadSlot<T>(RefCell<ManuallyDrop<Option<T>>>);

impl<T> ThreadSlot<T> {
    /// Creates an empty place.
    #[expect(
        clippy::new_without_default,
        reason = "`thread_local!` needs a constant to do without a destructor"
    )]
    pub const fn new() -> Self {
        Self(RefCell::new(ManuallyDrop::new(None)))
    }

    /// Puts a value here, or none, and returns the one that was here before.
    pub fn replace(&self, value: Option<T>) -> Option<T> {
        ManuallyDrop::into_inner(self.0.replace(ManuallyDrop::new(value)))
    }

    /// Calls `work` with the value.
    pub fn with_value<R>(&self, work: impl FnOnce(Option<&mut T>) -> R) -> R {
        work(self.0.borrow_mut().as_mut())
    }
}
