//! The options of the process, and what takes their place on one thread.

use super::{Options, split_flag, split_flags};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the environment's options and the command line's are added to.
static BASE: OnceLock<Options> = OnceLock::new();

/// What the host's command line set, in order.
static COMMAND_LINE: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// The process's options; fixed when somebody first asks for them, which is at the latest when a
/// function is compiled.
static PROCESS: OnceLock<Result<Arc<Options>, String>> = OnceLock::new();

/// Why the process's options stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is no such option, or its value is not allowed; the message lists what is.
    #[error("{0}")]
    Invalid(String),
    /// Something was compiled with them.
    #[error("the options of the process are fixed, for it has compiled with them already: set them before")]
    TooLate,
}

impl From<SetError> for String {
    fn from(error: SetError) -> Self {
        error.to_string()
    }
}

/// Does `set`, unless the process's options are fixed.
fn before_first_use<R>(set: impl FnOnce() -> Result<R, SetError>) -> Result<R, SetError> {
    match PROCESS.get() {
        None => set(),
        Some(_) => Err(SetError::TooLate),
    }
}

/// Makes `options` those that the environment's and the command line's are added to. For hosts that
/// have phases of their own to [register](crate::phases::registry::Registry), or other defaults.
///
/// # Errors
/// [`SetError::TooLate`], also if it was done before.
pub fn set_base(options: Options) -> Result<(), SetError> {
    before_first_use(|| BASE.set(options).map_err(|_| SetError::TooLate))
}

fn base() -> Options {
    BASE.get().cloned().unwrap_or_default()
}

/// Takes note of an option on the host's command line.
///
/// # Errors
/// The option is wrong, or comes too late.
pub fn set_on_command_line(name: &str, value: &str) -> Result<(), SetError> {
    base().set(name, value).map_err(SetError::Invalid)?;
    before_first_use(|| {
        let mut command_line = COMMAND_LINE.lock().unwrap_or_else(PoisonError::into_inner);
        command_line.push((name.to_owned(), value.to_owned()));
        Ok(())
    })
}

/// Takes note of options written as in [`super::ENVIRONMENT`], as if they stood on the host's
/// command line.
///
/// # Errors
/// One is wrong, and none is set; or they come too late.
pub fn set_all_on_command_line(flags: &str) -> Result<(), SetError> {
    base().set_all(flags).map_err(SetError::Invalid)?;
    for word in split_flags(flags).map_err(SetError::Invalid)? {
        let (name, value) = split_flag(&word).map_err(SetError::Invalid)?;
        set_on_command_line(name, value)?;
    }
    Ok(())
}

/// Checks the options in the environment, without making them the process's.
///
/// # Errors
/// They are wrong.
pub fn check_environment() -> Result<(), String> {
    base().add_environment()
}

thread_local! {
    /// What [`with_options`] puts in the place of the process's options.
    static IN_PLACE: RefCell<Option<Arc<Options>>> = const { RefCell::new(None) };
}

/// Does `work` with these options in the place of the process's, on this thread.
pub fn with_options<R>(options: Arc<Options>, work: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also when `work` panics.
    struct Restore(Option<Arc<Options>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_PLACE.set(self.0.take());
        }
    }
    let _restore = Restore(IN_PLACE.replace(Some(options)));
    work()
}

/// Returns the options that are in force on this thread: the process's (the environment's on top of
/// [the base](set_base), then the command line's), or those of [`with_options`].
///
/// # Errors
/// The environment's options are wrong.
pub fn process_options() -> Result<Arc<Options>, String> {
    if let Some(options) = IN_PLACE.with_borrow(Option::clone) {
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

    /// The process's options are everybody's: tests of other subjects run at the same time, and
    /// some have read them.
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
        // They have been read.
        assert_eq!(set_all_on_command_line("-oriel=off"), Err(SetError::TooLate));
        assert_eq!(set_base(Options::default()), Err(SetError::TooLate));
        assert!(matches!(
            set_all_on_command_line("-oriel=fast"),
            Err(SetError::Invalid(_))
        ));
    }
}
