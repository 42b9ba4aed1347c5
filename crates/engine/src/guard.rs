//! Turns panics at the FFI boundary into messages.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// True while this thread is inside a guarded call.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// The location of the guarded call's panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls `work`. A panic becomes an error with its message and location.
///
/// While `work` runs, this thread's panics are not printed, so that the host gets a single
/// diagnostic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.map_err(|payload| {
        let place = PLACE.take();
        format!("internal error: {}{place}", message(payload.as_ref()))
    })
}

fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if GUARDED.get() {
                PLACE.set(info.location().map_or_else(String::new, |place| {
                    format!(" ({}:{})", place.file(), place.line())
                }));
            } else {
                previous(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_with_its_place() {
        let result = guarded(|| -> u32 { panic!("number {}", 7) });
        let message = result.unwrap_err();
        assert!(message.starts_with("internal error: number 7 ("), "{message}");
        assert!(message.contains("guard.rs"), "{message}");
        assert_eq!(guarded(|| 5), Ok(5));
    }
}
