//! Oriel's options.
//!
//! | file | subject |
//! |---|---|
//! | `table.rs` | the table of options: for the host's command line, `ORIEL_FLAGS` and the help texts |
//! | `process.rs` | the options of the process, and overrides on one thread |
//! | `tuned.rs` | options of single functions, from a file that `oriel tune` writes |

mod process;
mod table;
mod tuned;

pub use process::{
    SetError, check_environment, options_in_force, process_options, reset_on_command_line,
    set_all_on_command_line, set_base, set_on_command_line, with_options,
};
pub use table::{Apply, ExtensionError, OptionSpec, TABLE, extend_table, specs};
pub use tuned::{FunctionHash, TunedFunction, TunedFunctions};

use crate::phases::backend;
use crate::phases::registry::{Phase, Profiles, Registry};
use crate::phases::{PhaseOptions, Selected};
use crate::plan::Plan;
use crate::report::estimate::Target;
use crate::report::occupancy::LaunchBounds;
use crate::report::page::PageWriter;
use crate::report::{ReportTarget, SharedFile};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Stage;
use std::any::Any;
use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::File;
use std::panic::RefUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

/// The environment variable with options, written as on a command line.
pub const ENVIRONMENT: &str = "ORIEL_FLAGS";

/// The registers of a thread with which a multiprocessor for 2,048 threads holds all of them.
const ENOUGH_REGISTERS: u32 = 32;

/// The registers that ptxas commonly adds to LLVM's peak pressure.
const ADDED_REGISTERS: u32 = 8;

/// Oriel's mode: what it does with functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Report and change nothing.
    Analyze,
    /// Run the phases.
    #[default]
    Optimize,
}

/// The phases to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Those of the profile.
    #[default]
    Profile,
    /// None: the function is converted to Ori and back.
    None,
    /// These.
    Listed(Vec<Selected>),
}

/// The set of phases to run by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As ptxas gates them by compute capability and option.
    Ptxas,
    /// All that are safe and improve code.
    #[default]
    Max,
}

impl Profile {
    /// Returns the set that contains only this profile.
    const fn set(self) -> Profiles {
        match self {
            Self::Ptxas => Profiles::PTXAS,
            Self::Max => Profiles::MAX,
        }
    }
}

/// When functions are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printing {
    /// Before these phases.
    pub before: Vec<&'static Phase>,
    /// After these phases.
    pub after: Vec<&'static Phase>,
    /// After every phase.
    pub after_all: bool,
}

/// The handling of `.minnctapersm`: which kernels with a block size and no number of blocks are marked
/// with 1, or whether the number of blocks is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinBlocks {
    /// None.
    Off,
    /// Those that ptxas would otherwise give too few registers.
    WhereNeeded,
    /// All.
    Always,
    /// None, and kernels with a block size lose their number of blocks.
    Remove,
}

/// The loops in which LLVM reduces the strength of operations (its pass `loop-reduce`).
///
/// LLVM makes a 64-bit pointer for each array that a loop walks through, and computes its start
/// value before the loop. It does not know that parameters and values of the whole warp cost ptxas
/// nothing, and that ptxas does strength reduction itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StrengthReduction {
    /// All, as without Oriel.
    Everywhere,
    /// All but those where it costs registers that are short.
    UnlessCostly,
    /// None.
    Nowhere,
}

impl StrengthReduction {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Everywhere, Self::UnlessCostly, Self::Nowhere];

    /// Returns the value of the option that stands for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everywhere => "on",
            Self::UnlessCostly => "auto",
            Self::Nowhere => "off",
        }
    }
}

/// The loops that ptxas must not unroll. A function's loops are counted from 0 by their headers, in
/// the order of LLVM's blocks at stage `ssa`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RolledLoops {
    /// None: only those that the source marks.
    #[default]
    None,
    /// All.
    All,
    /// Those with these numbers.
    Listed(Vec<u32>),
}

impl RolledLoops {
    /// True if a loop is one of them.
    pub fn contains(&self, number: u32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Listed(numbers) => numbers.contains(&number),
        }
    }
}

/// The handling of a changed function that the validator cannot prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// The validator does not run.
    Off,
    /// Emit a warning.
    Check,
    /// Discard the change, with a remark that explains why.
    Enforce,
}

/// The settings of options that another library adds to the table by [`extend_table`].
pub trait Extension: Any + Debug + RefUnwindSafe + Send + Sync {
    /// True if it makes the plans of functions instead of the phases.
    fn makes_plans(&self) -> bool;

    /// Returns its plan for a function; none keeps the function unchanged.
    ///
    /// # Errors
    /// The function stays unchanged, and the user gets the message.
    fn plan(&self, snapshot: &Snapshot<'_>) -> Result<Option<Plan>, String>;
}

/// The options of a process or of a compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The mode.
    pub mode: Mode,
    /// The available phases. Options with names of phases look them up here: set this first.
    pub registry: Registry,
    /// The phases to run.
    pub phases: Phases,
    /// The profile.
    pub profile: Profile,
    /// Phases to run additionally.
    pub enabled_phases: Vec<Selected>,
    /// Phases not to run.
    pub disabled_phases: Vec<&'static Phase>,
    /// The options of phases.
    pub phase_options: PhaseOptions,
    /// When functions are printed.
    pub printing: Printing,
    /// The folder for each function's control flow in Graphviz format.
    pub dot_directory: Option<PathBuf>,
    /// True to warn of registers that may be read before they are written. None: only in
    /// [`Mode::Analyze`].
    pub warn_uninitialized: Option<bool>,
    /// True to warn of stores to local memory that nothing reads. None: only in [`Mode::Analyze`].
    pub warn_unread_stores: Option<bool>,
    /// True to warn of kernels whose launch bounds leave too few registers. None: only in
    /// [`Mode::Analyze`].
    pub warn_launch_bounds: Option<bool>,
    /// The kernels to mark with `.minnctapersm 1`. None: [`MinBlocks::WhereNeeded`] where the
    /// profile's phases run, else [`MinBlocks::Off`].
    pub min_blocks: Option<MinBlocks>,
    /// The loops in which LLVM reduces the strength of operations. None:
    /// [`StrengthReduction::UnlessCostly`] where the phases of [`Profile::Max`] run, else
    /// [`StrengthReduction::Everywhere`].
    pub strength_reduction: Option<StrengthReduction>,
    /// The register limit for kernels that have none, as `.maxnreg`.
    pub max_registers: Option<u32>,
    /// The loops that ptxas must not unroll.
    pub rolled_loops: RolledLoops,
    /// True to have ptxas spill registers of kernels to shared memory, where it can.
    pub spills_to_shared: bool,
    /// Options of single functions, which come on top of these.
    pub tuned: Option<Arc<TunedFunctions>>,
    /// The least [peak pressure](crate::live::pressure) from which the profile's phases run; none:
    /// see [`Options::least_pressure`].
    pub least_pressure: Option<u32>,
    /// True to check Ori's phases with its verifier, and the result with LLVM's.
    pub verify: bool,
    /// The use of the validator; none: see [`Options::validation`].
    pub validate: Option<Validation>,
    /// The destination of the report.
    pub report: Option<ReportTarget>,
    /// The file of the report's HTML page.
    pub report_html: Option<Arc<SharedFile<PageWriter<File>>>>,
    /// True to measure the effect of each phase on size and pressure.
    pub phase_effects: bool,
    /// The folder for snapshots of exported functions.
    pub snapshot_directory: Option<PathBuf>,
    /// The settings of an extension's options.
    pub extension: Option<Arc<dyn Extension>>,
}

impl Options {
    /// True to warn if the launch bounds of this function leave too few registers; false if it has
    /// none.
    pub fn warns_of_launch_bounds(&self, snapshot: &Snapshot<'_>) -> bool {
        self.warn_launch_bounds.unwrap_or(self.mode == Mode::Analyze)
            && snapshot.is_kernel()
            && LaunchBounds::of(snapshot) != LaunchBounds::default()
    }

    /// Returns the extension if it makes plans instead of the phases. Such a plan may change a
    /// function's behaviour.
    pub fn planner(&self) -> Option<&dyn Extension> {
        let extension = self.extension.as_deref()?;
        (self.mode == Mode::Optimize && extension.makes_plans()).then_some(extension)
    }

    /// Returns what to do with `.minnctapersm`.
    pub fn min_blocks(&self) -> MinBlocks {
        let default = match self.phases {
            Phases::Profile => MinBlocks::WhereNeeded,
            Phases::None | Phases::Listed(_) => MinBlocks::Off,
        };
        match self.mode {
            Mode::Optimize => self.min_blocks.unwrap_or(default),
            Mode::Off | Mode::Analyze => MinBlocks::Off,
        }
    }

    /// Returns the loops in which LLVM reduces the strength of operations. [`Mode::Analyze`] analyses
    /// LLVM's usual code, unless the option is set. A function cannot have its own value: its options
    /// are looked up by its code after LLVM's pass.
    pub fn strength_reduction(&self) -> StrengthReduction {
        let default = match (self.mode, &self.phases, self.profile) {
            (Mode::Optimize, Phases::Profile, Profile::Max) => StrengthReduction::UnlessCostly,
            _ => StrengthReduction::Everywhere,
        };
        match self.mode {
            Mode::Optimize | Mode::Analyze => self.strength_reduction.unwrap_or(default),
            Mode::Off => StrengthReduction::Everywhere,
        }
    }

    /// Returns the least peak pressure, in 32-bit data registers, from which the profile's phases
    /// run on a function.
    ///
    /// By default `max` leaves functions alone that have enough registers: saving some would allow
    /// no more warps, and in small functions a change of the code raises ptxas' number of registers
    /// as often as it lowers it. The threshold is lower if launch bounds or the budget leave a
    /// function few registers.
    pub fn least_pressure(&self, snapshot: &Snapshot<'_>) -> u32 {
        let default = || match self.profile {
            Profile::Ptxas => 0,
            Profile::Max => {
                let limit = Target::of(snapshot).register_limit;
                let available = limit.min(self.phase_options.register_budget);
                ENOUGH_REGISTERS.min(available.saturating_sub(ADDED_REGISTERS))
            }
        };
        self.least_pressure.unwrap_or_else(default)
    }

    /// Returns the use of the validator. The default with [`verify`](Self::verify) is to enforce.
    pub fn validation(&self) -> Validation {
        let default = if self.verify {
            Validation::Enforce
        } else {
            Validation::Off
        };
        self.validate.unwrap_or(default)
    }

    /// Returns the phases to run on functions for a compute capability (times ten) at a stage, in
    /// order.
    pub fn phases_at(&self, stage: Stage, sm: u32) -> impl Iterator<Item = &'static Phase> + '_ {
        self.choose_phases(stage, move |phase| match &self.phases {
            Phases::None => false,
            Phases::Profile => self.is_in_profile(phase, stage, sm),
            Phases::Listed(listed) => listed.contains(&Selected { phase, stage }),
        })
    }

    /// Returns the phases that run, in order, on functions that the profile
    /// [leaves alone](Self::least_pressure): the enabled ones, and those that a host has added.
    pub fn phases_besides_profile(&self, stage: Stage, sm: u32) -> impl Iterator<Item = &'static Phase> + '_ {
        self.choose_phases(stage, move |phase| {
            Registry::is_added(phase) && self.is_in_profile(phase, stage, sm)
        })
    }

    fn is_in_profile(&self, phase: &'static Phase, stage: Stage, sm: u32) -> bool {
        let is_provided = self.profile == Profile::Max || backend::provides(sm, phase.hooks);
        phase.profiles.contains(self.profile.set()) && phase.stage == stage && is_provided
    }

    /// Returns the wanted phases, and the enabled ones, without the disabled ones.
    fn choose_phases<'a>(
        &'a self,
        stage: Stage,
        is_wanted: impl Fn(&'static Phase) -> bool + 'a,
    ) -> impl Iterator<Item = &'static Phase> + 'a {
        let is_enabled = move |phase| self.enabled_phases.contains(&Selected { phase, stage });
        self.registry
            .phases()
            .filter(move |phase| is_wanted(phase) || is_enabled(phase))
            .filter(|phase| !self.disabled_phases.contains(phase))
    }

    /// Sets the option `name` to `value`.
    ///
    /// # Errors
    /// There is no such option, or the value is not allowed; the message lists the allowed ones.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(spec) = specs().find(|spec| spec.name == name) else {
            let names: Vec<String> = specs().map(|spec| format!("-{}", spec.name)).collect();
            return Err(format!(
                "unknown option '-{name}'; allowed are: {}",
                names.join(", ")
            ));
        };
        if spec.value.is_empty() && !value.is_empty() {
            return Err("it does not accept a value".to_owned());
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
                .map_err(|problem| match specs().any(|spec| spec.name == name) {
                    true => format!("-{name}: {problem}"),
                    false => problem,
                })?;
        }
        Ok(())
    }

    /// Adds the options in the environment.
    ///
    /// # Errors
    /// They are invalid; the message names the variable.
    pub fn add_environment(&mut self) -> Result<(), String> {
        let Some(flags) = std::env::var_os(ENVIRONMENT) else {
            return Ok(());
        };
        let flags = flags.into_string().map_err(|flags: OsString| {
            format!("{ENVIRONMENT} is not valid UTF-8: {}", flags.to_string_lossy())
        })?;
        self.set_all(&flags)
            .map_err(|problem| format!("{ENVIRONMENT}: {problem}"))
    }
}

/// Splits a line of options with the shell's quoting.
fn split_flags(flags: &str) -> Result<Vec<String>, String> {
    shlex::split(flags).ok_or_else(|| format!("unbalanced quotes in '{flags}'"))
}

/// Returns name and value of `-name=value`, `--name=value` or `-name`.
fn split_flag(word: &str) -> Result<(&str, &str), String> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(format!(
            "'{word}' is not an option; options look like -oriel-report=FILE"
        ));
    };
    Ok(name.split_once('=').unwrap_or((name, "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Traversal;

    #[test]
    fn flags_are_read_in_order_with_quotes() {
        let mut options = Options::default();
        options
            .set_all("-oriel=analyze --oriel-verify '-oriel-report=a file.json' -oriel=off")
            .unwrap();
        assert_eq!(options.mode, Mode::Off);
        assert!(options.verify);
        let Some(ReportTarget::File(file)) = options.report else {
            panic!("{:?}", options.report)
        };
        assert_eq!(file.path(), "a file.json");
    }

    #[test]
    fn blocks_are_numbered_as_the_option_says() {
        let mut options = Options::default();
        assert_eq!(options.phase_options.traversal, Traversal::ExplicitStack);
        options.set_all("-oriel-recursive-rpo").unwrap();
        assert_eq!(options.phase_options.traversal, Traversal::Recursive);
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
        assert_eq!(problem, "-oriel-verify: it does not accept a value");
    }

    #[test]
    fn llvm_reduces_strength_as_without_oriel_unless_the_phases_of_max_run() {
        for (flags, expected) in [
            ("", StrengthReduction::UnlessCostly),
            ("-oriel-loop-strength-reduction=off", StrengthReduction::Nowhere),
            ("-oriel-profile=ptxas", StrengthReduction::Everywhere),
            ("-oriel-phases=GvnCse", StrengthReduction::Everywhere),
            ("-oriel-phases=none", StrengthReduction::Everywhere),
            ("-oriel=analyze", StrengthReduction::Everywhere),
            (
                "-oriel=analyze -oriel-loop-strength-reduction=auto",
                StrengthReduction::UnlessCostly,
            ),
            (
                "-oriel=off -oriel-loop-strength-reduction=off",
                StrengthReduction::Everywhere,
            ),
        ] {
            let mut options = Options::default();
            options.set_all(flags).unwrap();
            assert_eq!(options.strength_reduction(), expected, "{flags}");
        }
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
        options.set("oriel-enable-phases", "OriPeephole").unwrap();
        assert_eq!(
            names(&options, Stage::Ssa),
            [
                "AnalyzeControlFlow",
                "MergeBasicBlocks",
                "OriPeephole",
                "PlaceBlocksInSourceOrder"
            ]
        );
        options
            .set("oriel-disable-phases", "MERGEBASICBLOCKS,OriPeephole")
            .unwrap();
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
