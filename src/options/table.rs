//! The table of options: for the host's command line, `ORIEL_FLAGS` and the help texts.

use super::{
    MinBlocks, Mode, Options, Phases, Profile, RolledLoops, StrengthReduction, TunedFunctions, Validation,
};
use crate::graph::Traversal;
use crate::report::{ReportTarget, SharedFile};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Sets an option to its value.
///
/// # Errors
/// The value is not allowed; the message lists the allowed ones.
pub type Apply = fn(&mut Options, &str) -> Result<(), String>;

/// An option of the table.
pub struct OptionSpec {
    /// Its name, without the dash.
    pub name: &'static str,
    /// The placeholder of its value in help; empty if it takes none.
    pub value: &'static str,
    /// A description.
    pub help: &'static str,
    /// Sets it.
    pub apply: Apply,
}

/// The only option that does not replace its earlier value unless it is of the same knob.
pub(super) const KNOB: &str = "oriel-knob";

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
        name: "oriel-disable-phases",
        value: "LIST",
        help: "Do not run these phases",
        apply: |options, value| {
            options.disabled_phases = options.registry.named(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-dont-merge-basicblocks",
        value: "",
        help: "Do not merge blocks in MergeBasicBlocks, so that a debugger can stop at each",
        apply: |options, _| {
            options.phase_options.dont_merge_basic_blocks = true;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-dot",
        value: "DIR",
        help: "Write each function's control flow after the phases to DIR, for Graphviz",
        apply: |options, value| {
            options.dot_directory = Some(directory(value)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-enable-phases",
        value: "LIST",
        help: "Run these phases in addition",
        apply: |options, value| {
            options.enabled_phases = options.registry.select(value)?;
            Ok(())
        },
    },
    OptionSpec {
        name: KNOB,
        value: "NAME=VALUE",
        help: "Set a knob by name, ROT13 name or index; repeatable; oriel knobs lists them",
        apply: |options, value| options.phase_options.knobs.set(value),
    },
    OptionSpec {
        name: "oriel-least-pressure",
        value: "N",
        help: "Run the profile's phases on functions with at least N 32-bit registers live at once (default: 32 or less with max, 0 with ptxas)",
        apply: |options, value| {
            options.least_pressure = Some(number(value, 0)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-loop-strength-reduction",
        value: "on|off|auto",
        help: "LLVM's loop strength reduction: on for all loops, off for none, auto to skip loops where it would cost scarce registers (default: auto where the phases of profile max run, else on)",
        apply: |options, value| {
            let allowed = StrengthReduction::ALL.map(|it| (it.name(), it));
            options.strength_reduction = Some(choose(value, &allowed)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-maxnreg",
        value: "N",
        help: "Set .maxnreg N on kernels without one (16 to 255; ptxas raises values below 24 to 24)",
        apply: |options, value| {
            options.max_registers = Some(number(value, 16)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-min-blocks",
        value: "on|off|always|remove",
        help: ".minnctapersm 1: on where ptxas would give a kernel too few registers, always where a kernel has a block size and no minimum, remove to delete it, off to leave it (default: on, or off if phases are listed)",
        apply: |options, value| {
            let allowed = [
                ("on", MinBlocks::WhereNeeded),
                ("off", MinBlocks::Off),
                ("always", MinBlocks::Always),
                ("remove", MinBlocks::Remove),
            ];
            options.min_blocks = Some(choose(value, &allowed)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-nounroll",
        value: "LIST|all|none",
        help: "Keep ptxas from unrolling these loops of each function, counted from 0 in block order",
        apply: |options, value| {
            options.rolled_loops = match value {
                "none" => RolledLoops::None,
                "all" => RolledLoops::All,
                list => RolledLoops::Listed(loop_numbers(list)?),
            };
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-phases",
        value: "LIST|none",
        help: "Run only these phases; none: take each function to Ori and back",
        apply: |options, value| {
            options.phases = match value {
                "none" => Phases::None,
                list => Phases::Listed(options.registry.select(list)?),
            };
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-print-after",
        value: "LIST",
        help: "Print each function to standard error after these phases",
        apply: |options, value| {
            options.printing.after = options.registry.named(value)?;
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
            options.printing.before = options.registry.named(value)?;
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
        help: "Number blocks depth first, visiting the first successor first",
        apply: |options, _| {
            options.phase_options.traversal = Traversal::Recursive;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-register-budget",
        value: "N",
        help: "Target of the splitting phases, in 32-bit data registers (default: 70)",
        apply: |options, value| {
            options.phase_options.register_budget = number(value, 1)?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-report",
        value: "FILE|-",
        help: "Write one JSON object per function and stage to FILE, or to standard output",
        apply: |options, value| {
            options.report = Some(match value {
                "" => return Err("a file name or - is missing".to_owned()),
                "-" => ReportTarget::Stdout,
                path => ReportTarget::File(SharedFile::new(path)),
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-report-html",
        value: "FILE",
        help: "Write an HTML page of each function's pressure, live ranges, source and phases to FILE",
        apply: |options, value| {
            if value.is_empty() {
                return Err("a file name is missing".to_owned());
            }
            options.report_html = Some(SharedFile::new(value));
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
        name: "oriel-spill-to-shared",
        value: "on|off",
        help: "Have ptxas spill registers to shared memory, in kernels that have a block size, no dynamic shared memory and no calls",
        apply: |options, value| {
            options.spills_to_shared = choose(value, &[("on", true), ("off", false)])?;
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-tuned",
        value: "FILE",
        help: "Compile each function that FILE knows with its best options; oriel tune --save writes the file",
        apply: |options, value| {
            options.tuned = Some(Arc::new(TunedFunctions::load(value.as_ref(), options)?));
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-validate",
        value: "off|check|enforce",
        help: "Prove that each changed function is equivalent, else warn or put it back (default: enforce with -oriel-verify)",
        apply: |options, value| {
            let allowed = [
                ("off", Validation::Off),
                ("check", Validation::Check),
                ("enforce", Validation::Enforce),
            ];
            options.validate = Some(choose(value, &allowed)?);
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
        help: "Warn about kernels whose launch bounds leave too few registers (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_launch_bounds = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-warn-uninitialized",
        value: "on|off",
        help: "Warn about registers that may be read before they are written (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_uninitialized = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-warn-unread-stores",
        value: "on|off",
        help: "Warn about stores to local memory that nothing reads (default: on with -oriel=analyze)",
        apply: |options, value| {
            options.warn_unread_stores = Some(choose(value, ON_OFF)?);
            Ok(())
        },
    },
];

/// The options of an extension.
static EXTENSION: OnceLock<&[OptionSpec]> = OnceLock::new();

/// The table has been extended already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table of options has been extended already")]
pub struct ExtensionError;

/// Adds options to the table, once. The plug-in reads the table when it is loaded: later options
/// have no switch on the host's command line.
///
/// # Errors
/// It was extended before.
pub fn extend_table(options: &'static [OptionSpec]) -> Result<(), ExtensionError> {
    EXTENSION.set(options).map_err(|_| ExtensionError)
}

/// Returns the options of the table, then those of an extension.
pub fn specs() -> impl Iterator<Item = &'static OptionSpec> {
    TABLE.iter().chain(EXTENSION.get().copied().unwrap_or_default())
}

/// The values of switches.
const ON_OFF: &[(&str, bool)] = &[("on", true), ("off", false)];

/// Returns the value with a name; an error lists the allowed ones.
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

/// Returns a number of registers, of which there are at least `least` and at most 255.
fn number(value: &str, least: u32) -> Result<u32, String> {
    let number = value
        .parse()
        .ok()
        .filter(|number: &u32| (least..=255).contains(number));
    number.ok_or_else(|| format!("'{value}' is not allowed; allowed is a number from {least} to 255"))
}

/// Returns the numbers of loops in a list.
fn loop_numbers(list: &str) -> Result<Vec<u32>, String> {
    let numbers = list.split(',').map(|word| word.trim().parse());
    numbers
        .collect::<Result<_, _>>()
        .map_err(|_| format!("'{list}' is not allowed; allowed are: all, none, numbers of loops such as 0,2"))
}

/// Returns the directory that `value` names.
fn directory(value: &str) -> Result<PathBuf, String> {
    if !std::path::Path::new(value).is_dir() {
        return Err(format!("'{value}' is no directory"));
    }
    Ok(value.into())
}
