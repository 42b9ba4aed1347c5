//! The options of the process, and their replacement on one thread.

use super::{Options, split_flag, split_flags};
use crate::thread_slot::ThreadSlot;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The options to which the environment's and the command line's are added.
static BASE: OnceLock<Options> = OnceLock::new();

/// The options of the host's command line, in order.
static COMMAND_LINE: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// The process's options; fixed at their first use, at the latest when a function is compiled.
static PROCESS: OnceLock<Result<Arc<Options>, String>> = OnceLock::new();

/// Why the process's options cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is no such option, or its value is not allowed; the message lists the allowed ones.
    #[error("{0}")]
    Invalid(String),
    /// They have been used already.
    #[error("options of the process must be set before its first compilation")]
    TooLate,
}

impl From<SetError> for String {
    fn from(error: SetError) -> Self {
        error.to_string()
    }
}

/// Calls `set` unless the process's options are fixed.
fn before_first_use<R>(set: impl FnOnce() -> Result<R, SetError>) -> Result<R, SetError> {
    match PROCESS.get() {
        None => set(),
        Some(_) => Err(SetError::TooLate),
    }
}

/// Sets the options to which the environment's and the command line's are added. For hosts with
/// phases of their own to [register](crate::phases::registry::Registry), or other defaults.
///
/// # Errors
/// [`SetError::TooLate`], also if this was called before.
pub fn set_base(options: Options) -> Result<(), SetError> {
    before_first_use(|| BASE.set(options).map_err(|_| SetError::TooLate))
}

fn base() -> Options {
    BASE.get().cloned().unwrap_or_default()
}

/// Records an option of the host's command line.
///
/// # Errors
/// The option is invalid, or it is too late.
pub fn set_on_command_line(name: &str, value: &str) -> Result<(), SetError> {
    base().set(name, value).map_err(SetError::Invalid)?;
    before_first_use(|| {
        let mut command_line = COMMAND_LINE.lock().unwrap_or_else(PoisonError::into_inner);
        command_line.push((name.to_owned(), value.to_owned()));
        Ok(())
    })
}

/// Records options written as in [`super::ENVIRONMENT`] as if they were on the host's command line.
///
/// # Errors
/// One is invalid, and none is set; or it is too late.
pub fn set_all_on_command_line(flags: &str) -> Result<(), SetError> {
    base().set_all(flags).map_err(SetError::Invalid)?;
    for word in split_flags(flags).map_err(SetError::Invalid)? {
        let (name, value) = split_flag(&word).map_err(SetError::Invalid)?;
        set_on_command_line(name, value)?;
    }
    Ok(())
}

/// Checks the options in the environment without setting them.
///
/// # Errors
/// They are invalid.
pub fn check_environment() -> Result<(), String> {
    base().add_environment()
}

thread_local! {
    /// The options that [`with_options`] sets on this thread.
    static IN_PLACE: ThreadSlot<Arc<Options>> = const { ThreadSlot::new() };
}

/// Runs `work` with these options instead of the process's on this thread.
pub fn with_options<R>(options: Arc<Options>, work: impl FnOnce() -> R) -> R {
    /// Restores the previous options, even when `work` panics.
    struct Restore(Option<Arc<Options>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_PLACE.with(|slot| slot.replace(self.0.take()));
        }
    }
    let _restore = Restore(IN_PLACE.with(|slot| slot.replace(Some(options))));
    work()
}

/// Returns the options in force on this thread: those of [`with_options`], or the process's (the
/// environment's on top of [the base](set_base), then the command line's).
///
/// # Errors
/// The environment's options are invalid.
pub fn process_options() -> Result<Arc<Options>, String> {
    let in_place = IN_PLACE.with(|slot| slot.with_value(|options| options.cloned()));
    if let Some(options) = in_place {
        return Ok(options);
    }
    let read = || {
        let mut options = base();
        options.add_environment()?;
        let command_line = COMMAND_LINE.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in command_line.iter() {
            options.set(name, value)?;
        }
        Ok(Arc::new(options))
    };
    PROCESS.get_or_init(read).clone()
}

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::*;

    /// The process's options are global: other tests run at the same time, and some have used them.
    #[test]
    fn options_in_place_hold_for_the_work_on_its_thread_alone() {
        let mode = || process_options().unwrap().mode;
        let off = Arc::new(Options {
            mode: Mode::Off,
            ..Options::default()
        });
        let analyze = Arc::new(Options {
            mode: Mode::Analyze,
            ..Options::default()
        });
        with_options(off.clone(), || {
            assert_eq!(mode(), Mode::Off);
            with_options(analyze, || assert_eq!(mode(), Mode::Analyze));
            assert_eq!(mode(), Mode::Off);
            let elsewhere = std::thread::scope(|scope| scope.spawn(mode).join().unwrap());
            assert_eq!(elsewhere, Mode::Optimize);
        });
        assert_eq!(mode(), Mode::Optimize);
        let panicked = std::panic::catch_unwind(|| with_options(off, || panic!("on request")));
        assert!(panicked.is_err());
        assert_eq!(mode(), Mode::Optimize);
        // They have been used.
        assert_eq!(set_all_on_command_line("-oriel=off"), Err(SetError::TooLate));
        assert_eq!(set_base(Options::default()), Err(SetError::TooLate));
        assert!(matches!(
            set_all_on_command_line("-oriel=fast"),
            Err(SetError::Invalid(_))
        ));
    }
}
