//! Oriel's options: one table for the host's command line, `ORIEL_FLAGS` and the help texts.

use crate::plan::script::EditScript;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// The environment variable with options, written as on a command line.
pub const ENVIRONMENT: &str = "ORIEL_FLAGS";

/// What Oriel does with a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Reports and changes nothing.
    Analyze,
    /// Runs the phases.
    #[default]
    Optimize,
}

/// Which phases run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Those that the profile asks for.
    #[default]
    Profile,
    /// None: the function goes to Ori and back.
    None,
    /// None, but every instruction that Ori knows is made anew. For tests.
    Rebuild,
    /// None, but operands are exchanged and constants moved. For tests.
    Perturb,
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// Standard output.
    Stdout,
    /// A file, made anew by each process.
    File(PathBuf),
}

/// What goes wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The library panics.
    Panic,
    /// The plan refers to what is not there.
    MalformedPlan,
    /// The plan is well formed, but LLVM's verifier refuses the result.
    FailedVerification,
    /// The plan is damaged at random, from this seed on.
    MutatedPlan(u64),
    /// The host's LLVM seems to be another version.
    OtherLlvm,
}

/// The options of a process.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is done at all.
    pub mode: Mode,
    /// Which phases run.
    pub phases: Phases,
    /// Are live intervals compared with LLVM's?
    pub check_intervals: bool,
    /// How often the computation of live intervals is timed against LLVM's; zero: not at all.
    pub bench_repetitions: u32,
    /// Does LLVM's verifier check the result?
    pub verify: bool,
    /// Where the report goes.
    pub report: Option<ReportTarget>,
    /// Where each exported function is written.
    pub snapshot_directory: Option<PathBuf>,
    /// Edits to apply instead of phases.
    pub edit_script: Option<Arc<EditScript>>,
    /// What goes wrong on purpose.
    pub fault: Option<Fault>,
}

/// An option of the table.
pub struct OptionSpec {
    /// Its name, without the dash.
    pub name: &'static str,
    /// What stands for its value in help; empty if it takes none.
    pub value: &'static str,
    /// What it does.
    pub help: &'static str,
    apply: fn(&mut Options, &str) -> Result<(), String>,
}

/// Every option, in alphabetical order.
pub const TABLE: &[OptionSpec] = &[
    OptionSpec {
        name: "oriel",
        value: "off|analyze|optimize",
        help: "What Oriel does with each NVPTX function (default: optimize)",
        apply: |options, value| {
            options.mode = choose(
                value,
                &[
                    ("off", Mode::Off),
                    ("analyze", Mode::Analyze),
                    ("optimize", Mode::Optimize),
                ],
            )?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-bench",
        value: "N",
        help: "Time LLVM's and Oriel's live intervals N times in turn; one JSON object a function",
        apply: |options, value| {
            options.bench_repetitions = match value.parse() {
                Ok(repetitions @ 1..=1_000_000) => repetitions,
                _ => {
                    return Err(format!(
                        "'{value}' is not allowed; allowed is a number from 1 to 1000000"
                    ));
                }
            };
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-check-intervals",
        value: "",
        help: "Compare live intervals with LLVM's at both stages; a difference is a fatal error",
        apply: |options, _| {
            options.check_intervals = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-edit",
        value: "FILE",
        help: "Apply the edit script in FILE instead of phases",
        apply: |options, value| {
            let text = std::fs::read_to_string(value).map_err(|error| format!("{value}: {error}"))?;
            let script = EditScript::parse(&text).map_err(|error| format!("{value}: {error}"))?;
            options.edit_script = Some(Arc::new(script));
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-inject-fault",
        value: "panic|malformed-plan|failed-verification|mutated-plan:SEED|other-llvm",
        help: "Make something go wrong, to test that the host survives it",
        apply: |options, value| {
            let seed = value
                .strip_prefix("mutated-plan:")
                .and_then(|seed| seed.parse().ok());
            options.fault = Some(match seed {
                Some(seed) => Fault::MutatedPlan(seed),
                None => choose(
                    value,
                    &[
                        ("panic", Fault::Panic),
                        ("malformed-plan", Fault::MalformedPlan),
                        ("failed-verification", Fault::FailedVerification),
                        ("mutated-plan:SEED", Fault::MutatedPlan(0)),
                        ("other-llvm", Fault::OtherLlvm),
                    ],
                )?,
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-phases",
        value: "none|rebuild|perturb",
        help: "Run no phase, but take each function to Ori and back; rebuild, perturb: changed without effect, for tests",
        apply: |options, value| {
            options.phases = choose(
                value,
                &[
                    ("none", Phases::None),
                    ("rebuild", Phases::Rebuild),
                    ("perturb", Phases::Perturb),
                ],
            )?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-report",
        value: "FILE|-",
        help: "Write one JSON object a function and stage to FILE, or to standard output",
        apply: |options, value| {
            options.report = Some(match value {
                "" => return Err("a file name or - is missing".to_owned()),
                "-" => ReportTarget::Stdout,
                path => ReportTarget::File(path.into()),
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-snapshot",
        value: "DIR",
        help: "Write each exported function to a snapshot file in DIR",
        apply: |options, value| {
            if !std::path::Path::new(value).is_dir() {
                return Err(format!("'{value}' is no directory"));
            }
            options.snapshot_directory = Some(value.into());
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-verify",
        value: "",
        help: "Check each changed function with LLVM's machine verifier; put back what fails",
        apply: |options, _| {
            options.verify = true;
            Ok(())
        },
    },
];

/// The value that `word` names; an error lists those that are allowed.
fn choose<T: Copy>(word: &str, allowed: &[(&str, T)]) -> Result<T, String> {
    if let Some((_, value)) = allowed.iter().find(|(name, _)| *name == word) {
        return Ok(*value);
    }
    let names: Vec<&str> = allowed.iter().map(|(name, _)| *name).collect();
    Err(format!(
        "'{word}' is not allowed; allowed are: {}",
        names.join(", ")
    ))
}

impl Options {
    /// Sets the option `name` to `value`.
    ///
    /// # Errors
    /// There is no such option, or the value is not allowed; the message lists what is.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(spec) = TABLE.iter().find(|spec| spec.name == name) else {
            let names: Vec<String> = TABLE.iter().map(|spec| format!("-{}", spec.name)).collect();
            return Err(format!(
                "unknown option '-{name}'; allowed are: {}",
                names.join(", ")
            ));
        };
        if spec.value.is_empty() && !value.is_empty() {
            return Err("it takes no value".to_owned());
        }
        (spec.apply)(self, value)
    }

    /// Sets the options written in `flags`, as in [`ENVIRONMENT`].
    ///
    /// # Errors
    /// As [`Options::set`], with the option named.
    pub fn set_all(&mut self, flags: &str) -> Result<(), String> {
        for word in split_flags(flags)? {
            let (name, value) = split_flag(&word)?;
            self.set(name, value)
                .map_err(|problem| match TABLE.iter().any(|spec| spec.name == name) {
                    true => format!("-{name}: {problem}"),
                    false => problem,
                })?;
        }
        Ok(())
    }

    /// The options in the environment.
    ///
    /// # Errors
    /// They are wrong; the message names the variable.
    pub fn from_environment() -> Result<Self, String> {
        let mut options = Self::default();
        if let Some(flags) = std::env::var_os(ENVIRONMENT) {
            let flags = flags.into_string().map_err(|flags: OsString| {
                format!("{ENVIRONMENT} is not valid UTF-8: {}", flags.to_string_lossy())
            })?;
            options
                .set_all(&flags)
                .map_err(|problem| format!("{ENVIRONMENT}: {problem}"))?;
        }
        Ok(options)
    }
}

/// The options in a line of text, with the shell's quoting.
fn split_flags(flags: &str) -> Result<Vec<String>, String> {
    shlex::split(flags).ok_or_else(|| format!("unbalanced quotes in '{flags}'"))
}

/// Name and value of `-name=value`, `--name=value` or `-name`.
fn split_flag(word: &str) -> Result<(&str, &str), String> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(format!(
            "'{word}' is no option; options look like -oriel-report=FILE"
        ));
    };
    Ok(name.split_once('=').unwrap_or((name, "")))
}

/// What the host's command line set, in order.
static COMMAND_LINE: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// The process's options; fixed when the first function is compiled.
static PROCESS: OnceLock<Result<Options, String>> = OnceLock::new();

/// Takes note of an option on the host's command line.
///
/// # Errors
/// As [`Options::set`].
pub fn set_on_command_line(name: &str, value: &str) -> Result<(), String> {
    Options::default().set(name, value)?;
    let mut command_line = COMMAND_LINE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    command_line.push((name.to_owned(), value.to_owned()));
    Ok(())
}

/// Takes note of options written as in [`ENVIRONMENT`], as if they stood on the host's command line.
///
/// # Errors
/// As [`Options::set_all`].
pub fn set_all_on_command_line(flags: &str) -> Result<(), String> {
    Options::default().set_all(flags)?;
    for word in split_flags(flags)? {
        let (name, value) = split_flag(&word)?;
        set_on_command_line(name, value)?;
    }
    Ok(())
}

/// The process's options: the environment's, then the command line's on top.
///
/// # Errors
/// The environment's options are wrong.
pub fn process_options() -> Result<&'static Options, &'static str> {
    let read = || {
        let mut options = Options::from_environment()?;
        let command_line = COMMAND_LINE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for (name, value) in command_line.iter() {
            options.set(name, value)?;
        }
        Ok(options)
    };
    PROCESS.get_or_init(read).as_ref().map_err(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_order_with_quotes() {
        let mut options = Options::default();
        options
            .set_all("-oriel=analyze --oriel-verify '-oriel-report=a file.json' -oriel=off")
            .unwrap();
        assert_eq!(options.mode, Mode::Off);
        assert!(options.verify);
        assert_eq!(options.report, Some(ReportTarget::File("a file.json".into())));
    }

    #[test]
    fn unknown_names_and_values_list_what_is_allowed() {
        let problem = Options::default().set_all("-oriel-nonsense").unwrap_err();
        assert!(
            problem.contains("-oriel-report") && problem.contains("oriel-nonsense"),
            "{problem}"
        );
        let problem = Options::default().set_all("-oriel=fast").unwrap_err();
        assert_eq!(
            problem,
            "-oriel: 'fast' is not allowed; allowed are: off, analyze, optimize"
        );
        let problem = Options::default().set_all("-oriel-verify=1").unwrap_err();
        assert_eq!(problem, "-oriel-verify: it takes no value");
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|spec| spec.name));
    }
}
