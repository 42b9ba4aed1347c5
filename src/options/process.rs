//! The options of the process, and their replacement on one thread.

use super::table::KNOB;
use super::{Options, split_flag, split_flags};
use crate::thread_slot::ThreadSlot;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What the process's options are made of, besides the environment.
static GIVEN: Mutex<Given> = Mutex::new(Given::new());

/// The process's options; fixed at their first use, at the latest when a function is compiled.
/// Initialised only while `GIVEN` is locked, so that nothing is given meanwhile.
static PROCESS: OnceLock<Result<Arc<Options>, String>> = OnceLock::new();

/// Name and value of an option.
type NameAndValue = (String, String);

/// The options that the host has given.
#[derive(Debug)]
struct Given {
    /// The options to which the environment's and the command line's are added.
    base: Option<Options>,
    /// The options of the command line, in order.
    command_line: Vec<NameAndValue>,
}

impl Given {
    const fn new() -> Self {
        Self {
            base: None,
            command_line: Vec::new(),
        }
    }

    fn base(&self) -> Options {
        self.base.clone().unwrap_or_default()
    }

    /// Adds options to the command line, or none. Once they are fixed, all may still be set to the
    /// values that they have: a host may parse its command line again.
    fn add(&mut self, options: Vec<NameAndValue>, are_fixed: bool) -> Result<(), SetError> {
        if !are_fixed {
            self.command_line.extend(options);
            return Ok(());
        }
        match options.iter().all(|option| self.has(option)) {
            true => Ok(()),
            false => Err(SetError::TooLate),
        }
    }

    /// True if this is the last value that the command line has given the option, or the knob.
    fn has(&self, option: &NameAndValue) -> bool {
        let last = self
            .command_line
            .iter()
            .rfind(|given| subject(given) == subject(option));
        last == Some(option)
    }

    /// Returns the process's options.
    fn options(&self) -> Result<Arc<Options>, String> {
        let mut options = self.base();
        options.add_environment()?;
        for (name, value) in &self.command_line {
            options.set(name, value)?;
        }
        Ok(Arc::new(options))
    }
}

/// Returns the name of what an option sets, and that of the knob if it sets one.
fn subject((name, value): &NameAndValue) -> (&str, Option<&str>) {
    let knob = (name == KNOB).then(|| value.split('=').next().unwrap_or(value));
    (name, knob)
}

fn given() -> MutexGuard<'static, Given> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Sets the options to which the environment's and the command line's are added. For hosts with
/// phases of their own to [register](crate::phases::registry::Registry), or other defaults.
///
/// # Errors
/// [`SetError::TooLate`], also if this was called before.
pub fn set_base(options: Options) -> Result<(), SetError> {
    let mut given = given();
    if PROCESS.get().is_some() || given.base.is_some() {
        return Err(SetError::TooLate);
    }
    given.base = Some(options);
    Ok(())
}

/// Records an option of the host's command line.
///
/// # Errors
/// The option is invalid; or it has another value, and it is too late.
pub fn set_on_command_line(name: &str, value: &str) -> Result<(), SetError> {
    let mut given = given();
    given.base().set(name, value).map_err(SetError::Invalid)?;
    given.add(vec![(name.to_owned(), value.to_owned())], PROCESS.get().is_some())
}

/// Records options written as in [`super::ENVIRONMENT`] as if they were on the host's command line.
///
/// # Errors
/// One is invalid, or has another value and it is too late; none is set then.
pub fn set_all_on_command_line(flags: &str) -> Result<(), SetError> {
    let mut given = given();
    given.base().set_all(flags).map_err(SetError::Invalid)?;
    let words = split_flags(flags).map_err(SetError::Invalid)?;
    let named = |word: &String| split_flag(word).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options: Result<_, _> = words.iter().map(named).collect();
    given.add(options.map_err(SetError::Invalid)?, PROCESS.get().is_some())
}

/// Checks the options in the environment without setting them.
///
/// # Errors
/// They are invalid.
pub fn check_environment() -> Result<(), String> {
    let mut options = given().base();
    options.add_environment()
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

/// Returns the options in force on this thread: those of [`with_options`], or the process's.
///
/// # Errors
/// The environment's options are invalid.
pub fn options_in_force() -> Result<Arc<Options>, String> {
    let in_place = IN_PLACE.with(|slot| slot.with_value(|options| options.cloned()));
    in_place.map_or_else(process_options, Ok)
}

/// Returns the process's options: the environment's on top of [the base](set_base), then the command
/// line's.
///
/// # Errors
/// The environment's options are invalid.
pub fn process_options() -> Result<Arc<Options>, String> {
    if let Some(options) = PROCESS.get() {
        return options.clone();
    }
    let given = given();
    PROCESS.get_or_init(|| given.options()).clone()
}

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::*;

    /// The process's options are global: other tests run at the same time, and some have used them.
    #[test]
    fn options_in_place_hold_for_the_work_on_its_thread_alone() {
        let mode = || options_in_force().unwrap().mode;
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
            assert_eq!(process_options().unwrap().mode, Mode::Optimize);
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

    #[test]
    fn fixed_options_can_be_set_to_the_values_that_they_have() {
        let options = |texts: &[(&str, &str)]| -> Vec<NameAndValue> {
            let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            texts.iter().map(owned).collect()
        };
        let mut given = Given::new();
        let all = options(&[
            ("oriel", "off"),
            ("oriel-knob", "A=1"),
            ("oriel-knob", "B=2"),
            ("oriel-profile", "ptxas"),
        ]);
        given.add(all.clone(), false).unwrap();
        assert_eq!(given.add(all.clone(), true), Ok(()));
        for option in &all {
            assert_eq!(given.add(vec![option.clone()], true), Ok(()));
        }
        for changes in [
            options(&[("oriel", "off"), ("oriel-profile", "max")]),
            options(&[("oriel-knob", "A=2")]),
            options(&[("oriel-verify", "")]),
        ] {
            assert_eq!(given.add(changes, true), Err(SetError::TooLate));
        }
        assert_eq!(given.command_line, all);
        // The last value counts.
        given.add(options(&[("oriel", "analyze")]), false).unwrap();
        assert_eq!(
            given.add(options(&[("oriel", "off")]), true),
            Err(SetError::TooLate)
        );
    }
}
