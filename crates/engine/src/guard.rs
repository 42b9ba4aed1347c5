//! Turns panics at the FFI boundary into messages.

use crate::thread_slot::ThreadSlot;
use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// True while this thread is inside a guarded call.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// The location of the guarded call's panic.
    static PLACE: ThreadSlot<String> = const { ThreadSlot::new() };
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
        let place = PLACE.with(|slot| slot.replace(None)).unwrap_or_default();
        format!("internal error: {}{place}", message(payload.as_ref()))
    })
}

fn install_hook() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if GUARDED.get() {
                let place = info
                    .location()
                    .map(|place| format!(" ({}:{})", place.file(), place.line()));
                PLACE.with(|slot| slot.replace(place));
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
    use std::cell::RefCell;
    use std::sync::mpsc::{self, Sender};

    #[test]
    fn a_panic_becomes_a_message_with_its_place() {
        let result = guarded(|| -> u32 { panic!("number {}", 7) });
        let message = result.unwrap_err();
        assert!(message.starts_with("internal error: number 7 ("), "{message}");
        assert!(message.contains("guard.rs"), "{message}");
        assert_eq!(guarded(|| 5), Ok(5));
    }

    #[test]
    fn a_panic_becomes_a_message_while_its_thread_ends() {
        struct AtEnd(Sender<Result<(), String>>);
        impl Drop for AtEnd {
            fn drop(&mut self) {
                let _ = self.0.send(guarded(|| panic!("at the end")));
            }
        }
        thread_local! {
            static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(|| {
            // The value that a thread uses first is destroyed last.
            AT_END.set(Some(AtEnd(sender)));
            guarded(|| panic!("before"))
        });
        let before: Result<(), String> = thread.join().unwrap();
        assert!(before.unwrap_err().starts_with("internal error: before ("));
        let at_end = receiver.recv().unwrap().unwrap_err();
        assert!(at_end.starts_with("internal error: at the end ("), "{at_end}");
    }
}
