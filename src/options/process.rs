//! The options of the process, and their replacement on one thread.

use super::table::KNOB;
use super::{Options, split_flag, split_flags};
use crate::phases::knobs::Knobs;
use crate::thread_slot::ThreadSlot;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The sources of the process's options other than the environment.
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

    /// Adds all of `options` to the command line, or none. Once the process's options are fixed, with the
    /// knobs `fixed`, only their present values are accepted, since a host may parse its command line
    /// again. LLVM passes on one option at a time, so if an option occurs twice, its first value is then
    /// refused.
    fn add(&mut self, options: Vec<NameAndValue>, fixed: Option<&Knobs>) -> Result<(), SetError> {
        match fixed {
            None => self.command_line.extend(options),
            Some(knobs) if !self.has(&options, knobs) => return Err(SetError::TooLate),
            Some(_) => {}
        }
        Ok(())
    }

    /// True if these options would change nothing: the last value of each option equals the last one
    /// on the command line, and the value of each knob, which has several names, is in `knobs`.
    fn has(&self, options: &[NameAndValue], knobs: &Knobs) -> bool {
        let mut set = knobs.clone();
        let holds = |(name, value): &NameAndValue| match name == KNOB {
            true => set.set(value).is_ok(),
            false => last_value(options, name) == last_value(&self.command_line, name),
        };
        options.iter().all(holds) && set == *knobs
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

/// Returns the final value of an option in a list.
fn last_value<'a>(options: &'a [NameAndValue], wanted: &str) -> Option<&'a str> {
    let (_, value) = options.iter().rfind(|(name, _)| name == wanted)?;
    Some(value)
}

/// Returns the knobs of the process's options, if these are fixed.
fn fixed_knobs() -> Option<Knobs> {
    let options = PROCESS.get()?;
    Some(options.as_ref().map_or_else(
        |_| Knobs::default(),
        |options| options.phase_options.knobs.clone(),
    ))
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
    given.add(vec![(name.to_owned(), value.to_owned())], fixed_knobs().as_ref())
}

/// Forgets what was recorded of an option of the host's command line. Once the process's options are
/// fixed, they stay.
pub fn reset_on_command_line(name: &str) {
    let mut given = given();
    if PROCESS.get().is_none() {
        given.command_line.retain(|(known, _)| known != name);
    }
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
    given.add(options.map_err(SetError::Invalid)?, fixed_knobs().as_ref())
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
            (KNOB, "OptBudget=1"),
            (KNOB, "InstructionOrder=2"),
            ("oriel-profile", "ptxas"),
            ("oriel", "analyze"),
        ]);
        given.add(all.clone(), None).unwrap();
        let mut knobs = Knobs::default();
        for (_, value) in all.iter().filter(|(name, _)| name == KNOB) {
            knobs.set(value).unwrap();
        }
        assert_eq!(given.add(all.clone(), Some(&knobs)), Ok(()));
        for option in &all[1..] {
            assert_eq!(given.add(vec![option.clone()], Some(&knobs)), Ok(()));
        }
        for changes in [
            // The last value counts.
            options(&[("oriel", "off")]),
            options(&[("oriel", "analyze"), ("oriel-profile", "max")]),
            options(&[(KNOB, "OptBudget=2")]),
            // The same knob in ROT13.
            options(&[(KNOB, "BcgOhqtrg=2")]),
            options(&[("oriel-verify", "")]),
        ] {
            assert_eq!(given.add(changes, Some(&knobs)), Err(SetError::TooLate));
        }
        assert_eq!(given.command_line, all);
    }
}
