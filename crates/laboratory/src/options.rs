//! The options that the laboratory adds to the plug-in's table, and their settings.

use crate::phases;
use crate::plans::script::EditScript;
use crate::plans::{Editor, fault};
use oriel::options::{Extension, Mode, OptionSpec, Options, extend_table, options_in_force, set_base};
use oriel_engine::snapshot::Snapshot;
use oriel_ori::plan::Plan;
use std::any::Any;
use std::sync::Arc;

/// A deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The library panics.
    Panic,
    /// The plan refers to something that does not exist.
    MalformedPlan,
    /// The plan is well formed, but LLVM's verifier refuses the result.
    FailedVerification,
    /// The plan is damaged at random, starting from this seed.
    MutatedPlan(u64),
    /// A live interval is wrong.
    WrongInterval,
}

/// The settings of the laboratory's options.
#[derive(Clone, Debug, Default)]
pub struct Laboratory {
    /// True if live intervals are compared with LLVM's.
    pub check_intervals: bool,
    /// True if control flow is compared with LLVM's.
    pub check_control_flow: bool,
    /// How often the computation of live intervals is timed against LLVM's; zero: never.
    pub bench_repetitions: u32,
    /// Edits to apply instead of phases.
    pub edit_script: Option<Arc<EditScript>>,
    /// The deliberate fault.
    pub fault: Option<InjectedFault>,
}

impl Laboratory {
    /// Returns the laboratory's settings in options.
    fn of(options: &Options) -> Option<&Self> {
        let extension: &dyn Any = options.extension.as_deref()?;
        extension.downcast_ref()
    }

    /// Returns the settings in force on this thread; none with `-oriel=off`.
    pub(crate) fn in_force() -> Option<Self> {
        let options = options_in_force().ok()?;
        let laboratory = Self::of(&options)?;
        (options.mode != Mode::Off).then(|| laboratory.clone())
    }

    /// Changes the laboratory's settings in options.
    fn change(options: &mut Options, change: impl FnOnce(&mut Self)) {
        let mut laboratory = Self::of(options).cloned().unwrap_or_default();
        change(&mut laboratory);
        options.extension = Some(Arc::new(laboratory));
    }

    /// Returns an editor after the script's edits, or none if the script does not mention the
    /// function.
    fn editor<'s>(&self, snapshot: &Snapshot<'s>) -> Result<Option<Editor<'s>>, String> {
        match &self.edit_script {
            None => Ok(Some(Editor::new(*snapshot))),
            Some(script) => script
                .apply(*snapshot)
                .map_err(|error| format!("edit script: {error}")),
        }
    }
}

impl Extension for Laboratory {
    fn makes_plans(&self) -> bool {
        self.edit_script.is_some() || !matches!(self.fault, None | Some(InjectedFault::WrongInterval))
    }

    fn plan(&self, snapshot: &Snapshot<'_>) -> Result<Option<Plan>, String> {
        let plan = match self.fault {
            Some(InjectedFault::Panic) => panic!("panic on request"),
            Some(InjectedFault::MalformedPlan) => Some(fault::malformed(snapshot)),
            Some(InjectedFault::MutatedPlan(seed)) => {
                let identity = format!("{} {}", snapshot.name(), snapshot.stage().name());
                let seed = seed << 32 | u64::from(crc32fast::hash(identity.as_bytes()));
                Some(fault::mutated(snapshot, seed))
            }
            Some(InjectedFault::FailedVerification) => self.editor(snapshot)?.map(fault::unverifiable),
            Some(InjectedFault::WrongInterval) | None => self.editor(snapshot)?.map(|editor| editor.finish()),
        };
        Ok(plan)
    }
}

/// The laboratory's options, in alphabetical order.
static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "oriel-bench",
        value: "N",
        help: "Time LLVM's and Oriel's live intervals N times in turn; one JSON object per function",
        apply: |options, value| match value.parse() {
            Ok(repetitions @ 1..=1_000_000) => {
                Laboratory::change(options, |laboratory| laboratory.bench_repetitions = repetitions);
                Ok(())
            }
            _ => Err(format!(
                "'{value}' is not allowed; allowed is a number from 1 to 1000000"
            )),
        },
    },
    OptionSpec {
        name: "oriel-check-control-flow",
        value: "",
        help: "Compare dominators, loops and orders with LLVM's at both stages; a difference is a fatal error",
        apply: |options, _| {
            Laboratory::change(options, |laboratory| laboratory.check_control_flow = true);
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-check-intervals",
        value: "",
        help: "Compare live intervals with LLVM's at both stages; a difference is a fatal error",
        apply: |options, _| {
            Laboratory::change(options, |laboratory| laboratory.check_intervals = true);
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
            Laboratory::change(options, |laboratory| {
                laboratory.edit_script = Some(Arc::new(script));
            });
            Ok(())
        },
    },
    OptionSpec {
        name: "oriel-inject-fault",
        value: "panic|malformed-plan|failed-verification|mutated-plan:SEED|wrong-interval",
        help: "Inject a fault, to test that the host survives it",
        apply: |options, value| {
            let fault = fault_named(value)?;
            // The verifier must run.
            options.verify |= fault == InjectedFault::FailedVerification;
            Laboratory::change(options, |laboratory| laboratory.fault = Some(fault));
            Ok(())
        },
    },
];

fn fault_named(value: &str) -> Result<InjectedFault, String> {
    let seed = value.strip_prefix("mutated-plan:").map(str::parse);
    match (value, seed) {
        ("panic", _) => Ok(InjectedFault::Panic),
        ("malformed-plan", _) => Ok(InjectedFault::MalformedPlan),
        ("failed-verification", _) => Ok(InjectedFault::FailedVerification),
        ("wrong-interval", _) => Ok(InjectedFault::WrongInterval),
        (_, Some(Ok(seed))) => Ok(InjectedFault::MutatedPlan(seed)),
        _ => Err(format!(
            "'{value}' is not allowed; allowed are: panic, malformed-plan, failed-verification, \
             mutated-plan:SEED, wrong-interval"
        )),
    }
}

/// Adds the options and the phases to the plug-in's.
///
/// # Errors
/// Another library has extended the table already.
pub(crate) fn install() -> Result<(), String> {
    extend_table(OPTIONS).map_err(|error| error.to_string())?;
    let mut options = Options::default();
    phases::register(&mut options.registry).map_err(|error| error.to_string())?;
    Ok(set_base(options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPTIONS.is_sorted_by_key(|spec| spec.name));
    }

    #[test]
    fn options_add_up() {
        let mut options = Options::default();
        // The shim of this test has extended the table.
        options
            .set_all("-oriel-check-intervals -oriel-bench=3 -oriel-inject-fault=mutated-plan:7")
            .unwrap();
        let laboratory = Laboratory::of(&options).unwrap();
        assert!(laboratory.check_intervals && !laboratory.check_control_flow);
        assert_eq!(laboratory.bench_repetitions, 3);
        assert_eq!(laboratory.fault, Some(InjectedFault::MutatedPlan(7)));
        assert!(options.planner().is_some());
        options.set_all("-oriel=analyze").unwrap();
        assert!(options.planner().is_none());
        let problem = options.set_all("-oriel-inject-fault=mutated-plan:x").unwrap_err();
        assert!(problem.contains("mutated-plan:SEED"), "{problem}");
    }
}
