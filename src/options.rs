//! Oriel's options: one table for the host's command line, `ORIEL_FLAGS` and the help texts.

use crate::graph::Traversal;
use crate::phases::backend;
use crate::phases::registry::{PHASES, Phase, Profiles};
use crate::phases::{self, PhaseOptions, Selected};
use crate::plan::script::EditScript;
use crate::report::occupancy::LaunchBounds;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Stage;
use std::cell::Cell;
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Those of the profile.
    #[default]
    Profile,
    /// None: the function goes to Ori and back.
    None,
    /// None, but every instruction that Ori knows is made anew. For tests.
    Rebuild,
    /// None, but operands are exchanged and constants moved. For tests.
    Perturb,
    /// These.
    Listed(Vec<Selected>),
}

/// Which phases run if none are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As ptxas gates them by compute capability and option.
    Ptxas,
    /// All that are safe and make code better.
    #[default]
    Max,
}

impl Profile {
    /// The set of it alone.
    const fn set(self) -> Profiles {
        match self {
            Self::Ptxas => Profiles::PTXAS,
            Self::Max => Profiles::MAX,
        }
    }
}

/// Which functions are printed on the way through the phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printing {
    /// Before these phases.
    pub before: Vec<&'static Phase>,
    /// After these phases.
    pub after: Vec<&'static Phase>,
    /// After every phase.
    pub after_all: bool,
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
    /// A live interval is wrong.
    WrongInterval,
    /// The phases leave worse code than they got.
    WorseCode,
}

/// The options of a process.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is done at all.
    pub mode: Mode,
    /// Which phases run.
    pub phases: Phases,
    /// The profile that phases run by.
    pub profile: Profile,
    /// Which do not, though they would.
    pub disabled_phases: Vec<&'static Phase>,
    /// What is asked of phases beyond which run.
    pub phase_options: PhaseOptions,
    /// Which functions are printed.
    pub printing: Printing,
    /// Where each function's control flow is written for Graphviz.
    pub dot_directory: Option<PathBuf>,
    /// Are live intervals compared with LLVM's?
    pub check_intervals: bool,
    /// Is control flow compared with LLVM's?
    pub check_control_flow: bool,
    /// How often the computation of live intervals is timed against LLVM's; zero: not at all.
    pub bench_repetitions: u32,
    /// Is there a warning of registers that may be read before they are written? None: in
    /// [`Mode::Analyze`].
    pub warn_uninitialized: Option<bool>,
    /// Is there a warning of stores to local memory that nothing reads? None: in [`Mode::Analyze`].
    pub warn_unread_stores: Option<bool>,
    /// Is there a warning of kernels whose launch bounds leave too few registers? None: in [`Mode::Analyze`].
    pub warn_launch_bounds: Option<bool>,
    /// Are Ori's phases checked by its verifier, and the result by LLVM's?
    pub verify: bool,
    /// Where the report goes.
    pub report: Option<ReportTarget>,
    /// Where the report's HTML page is written.
    pub report_html: Option<PathBuf>,
    /// Is it measured what each phase does to size and pressure?
    pub phase_effects: bool,
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
        name: "oriel-check-control-flow",
        value: "",
        help: "Compare dominators, loops and orders with LLVM's at both stages; a difference is a fatal error",
        apply: |options, _| {
            options.check_control_flow = true;
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
        name: "oriel-disable-phases",
        value: "LIST",
        help: "Run all but these phases of those that would run",
        apply: |options, value| {
            options.disabled_phases = phases::named(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-dont-merge-basicblocks",
        value: "",
        help: "Keep MergeBasicBlocks from merging: a debugger can stop where blocks begin",
        apply: |options, _| {
            options.phase_options.dont_merge_basic_blocks = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-dot",
        value: "DIR",
        help: "Write each function's control flow, as the phases leave it, for Graphviz to DIR",
        apply: |options, value| {
            options.dot_directory = Some(directory(value)?);
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
        value: "panic|malformed-plan|failed-verification|mutated-plan:SEED|other-llvm|wrong-interval|worse-code",
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
                        ("wrong-interval", Fault::WrongInterval),
                        ("worse-code", Fault::WorseCode),
                    ],
                )?,
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-knob",
        value: "NAME=VALUE",
        help: "Set a knob by name, ROT13 name or index; repeatable; oriel knobs lists them",
        apply: |options, value| options.phase_options.knobs.set(value),
    },
    OptionSpec {
        name: "oriel-phases",
        value: "LIST|none|rebuild|perturb",
        help: "Run only these phases; none: take each function to Ori and back; rebuild, perturb: changed without effect",
        apply: |options, value| {
            options.phases = match value {
                "none" => Phases::None,
                "rebuild" => Phases::Rebuild,
                "perturb" => Phases::Perturb,
                list => Phases::Listed(phases::select(list)?),
            };
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-print-after",
        value: "LIST",
        help: "Print each function to standard error after these phases",
        apply: |options, value| {
            options.printing.after = phases::named(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-print-after-all",
        value: "",
        help: "Print each function to standard error after every phase that runs",
        apply: |options, _| {
            options.printing.after_all = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-print-before",
        value: "LIST",
        help: "Print each function to standard error before these phases",
        apply: |options, value| {
            options.printing.before = phases::named(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-profile",
        value: "ptxas|max",
        help: "Run phases as ptxas gates them, or all that are safe (default: max)",
        apply: |options, value| {
            options.profile = choose(value, &[("ptxas", Profile::Ptxas), ("max", Profile::Max)])?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-recursive-rpo",
        value: "",
        help: "Number blocks by the walk that takes the first successor first, as a recursive function does",
        apply: |options, _| {
            options.phase_options.traversal = Traversal::Recursive;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-register-budget",
        value: "N",
        help: "Data registers of 32 bits that the splitting phases aim at (default: 70)",
        apply: |options, value| {
            options.phase_options.register_budget = match value.parse() {
                Ok(registers @ 1..=255) => registers,
                _ => {
                    return Err(format!(
                        "'{value}' is not allowed; allowed is a number from 1 to 255"
                    ));
                }
            };
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
        name: "oriel-report-html",
        value: "FILE",
        help: "Write an HTML page of each function's pressure, life ranges, source and phases to FILE",
        apply: |options, value| {
            if value.is_empty() {
                return Err("a file name is missing".to_owned());
            }
            options.report_html = Some(value.into());
            options.phase_effects = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-snapshot",
        value: "DIR",
        help: "Write each exported function to a snapshot file in DIR",
        apply: |options, value| {
            options.snapshot_directory = Some(directory(value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-verify",
        value: "",
        help: "Check each function with Ori's verifier after each phase and, if changed, with LLVM's; put back what fails",
        apply: |options, _| {
            options.verify = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-warn-launch-bounds",
        value: "on|off",
        help: "Warn of kernels whose launch bounds leave too few registers (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_launch_bounds = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-warn-uninitialized",
        value: "on|off",
        help: "Warn of registers that may be read before they are written (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_uninitialized = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-warn-unread-stores",
        value: "on|off",
        help: "Warn of stores to local memory that nothing reads (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_unread_stores = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
];

/// The values of options that are on or off.
const ON_OFF: &[(&str, bool)] = &[("on", true), ("off", false)];

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

/// The directory that `value` names.
fn directory(value: &str) -> Result<PathBuf, String> {
    if !std::path::Path::new(value).is_dir() {
        return Err(format!("'{value}' is no directory"));
    }
    Ok(value.into())
}

impl Options {
    /// Is there a warning if the launch bounds of a function leave too few registers? It has to have some.
    pub fn warns_of_launch_bounds(&self, snapshot: &Snapshot<'_>) -> bool {
        self.warn_launch_bounds.unwrap_or(self.mode == Mode::Analyze)
            && snapshot.is_kernel()
            && LaunchBounds::of(snapshot) != LaunchBounds::default()
    }

    /// The phases that run over functions for a compute capability (times ten) at a stage, in order.
    pub fn phases_at(&self, stage: Stage, sm: u32) -> impl Iterator<Item = &'static Phase> + '_ {
        let is_wanted = move |phase: &&'static Phase| match &self.phases {
            Phases::None | Phases::Rebuild | Phases::Perturb => false,
            Phases::Profile => {
                let is_provided = self.profile == Profile::Max || backend::provides(sm, phase.hooks);
                phase.profiles.contains(self.profile.set()) && phase.stage == stage && is_provided
            }
            Phases::Listed(listed) => listed.contains(&Selected { phase, stage }),
        };
        PHASES
            .iter()
            .filter(is_wanted)
            .filter(|phase| !self.disabled_phases.contains(phase))
    }

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

thread_local! {
    /// What [`with_options`] puts in the place of the process's options.
    static IN_PLACE: Cell<Option<&'static Options>> = const { Cell::new(None) };
}

/// Does `work` with these options in the place of the process's, on this thread. What the shim reads only once, such as whether
/// LLVM's verifier runs, stays as it is. The options are never freed: who calls this does it a few times.
pub fn with_options<R>(options: Options, work: impl FnOnce() -> R) -> R {
    let outer = IN_PLACE.replace(Some(Box::leak(Box::new(options))));
    let result = work();
    IN_PLACE.set(outer);
    result
}

/// The process's options: the environment's, then the command line's on top.
///
/// # Errors
/// The environment's options are wrong.
pub fn process_options() -> Result<&'static Options, &'static str> {
    if let Some(options) = IN_PLACE.get() {
        return Ok(options);
    }
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
    fn phases_run_in_the_order_of_their_table() {
        let mut options = Options::default();
        options
            .set_all("-oriel-phases=placeblocksinsourceorder@ssa,MergeBasicBlocks,AnalyzeControlFlow")
            .unwrap();
        let names = |options: &Options, stage| {
            let phases = options.phases_at(stage, 80);
            phases.map(|phase| phase.name).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&options, Stage::Ssa),
            [
                "AnalyzeControlFlow",
                "MergeBasicBlocks",
                "PlaceBlocksInSourceOrder"
            ]
        );
        assert!(names(&options, Stage::Late).is_empty());
        options.set("oriel-disable-phases", "MERGEBASICBLOCKS").unwrap();
        assert_eq!(
            names(&options, Stage::Ssa),
            ["AnalyzeControlFlow", "PlaceBlocksInSourceOrder"]
        );
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|spec| spec.name));
    }
}
