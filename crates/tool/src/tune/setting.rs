//! The search space: single settings, and variants that combine several.

use oriel::options::{Options, RolledLoops, StrengthReduction};
use oriel::phases::registry::Registry;
use oriel::snapshot::abi::Stage;
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt::Write;

/// The register budgets to try.
const BUDGETS: [u32; 5] = [24, 32, 48, 96, 255];

/// The orders of `ReorderInstructions` except the random one, by the number of its knob.
const ORDERS: std::ops::RangeInclusive<u32> = 1..=7;

/// The number of the random order.
const RANDOM_ORDER: u32 = 8;

/// The settings that are tried on a whole module before its kernels are tuned one by one: LLVM alone,
/// so that no kernel gets worse than that, and what helps most kernels.
pub const OF_MODULE: [Setting; 2] = [Setting::Off, Setting::Profile("ptxas")];

/// LLVM's own instruction orders to try, as its options; by default NVPTX keeps source order.
const LLVM_ORDERS: [(&str, &str); 3] = [
    ("pre-RA-sched", "list-burr"),
    ("pre-RA-sched", "list-hybrid"),
    ("enable-misched", "true"),
];

/// The loops of a function to keep rolled, one at a time. In a function with fewer, the code stays
/// the same and is not judged again.
const LOOPS: std::ops::Range<u32> = 0..8;

/// Phases that are there to need fewer registers and that the profile does not run.
const ROOM_MAKERS: [&str; 3] = [
    "ScheduleForPressure",
    "OriSplitLiveRanges",
    "OriSplitHighPressureLiveRanges",
];

/// The lowest register limit that ptxas accepts.
const LEAST_LIMIT: u32 = 16;

/// Knobs that trade registers against instructions, with the values to try.
const KNOBS: &[(&str, &[&str])] = &[
    ("EnableGvnCseMode", &["1", "2", "3"]),
    ("CopyPropForceGlobal", &["1"]),
    ("CopyPropAddr", &["0"]),
    ("CopyPropNoWriteNonRR", &["1"]),
    ("ForceLateCommoning", &["1"]),
    ("ReassociateCSEWindow", &["16", "64"]),
    ("ReassociateLargeImmInUIADD64", &["1"]),
    ("LimitFoldFp", &["1"]),
    ("ConvertMemToRegCostRatio", &["0.5", "2"]),
    ("ConvertMemoryToRegIndexedSizeLimit", &["64", "256"]),
];

/// One change of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// LLVM alone.
    Off,
    /// A profile other than `max`.
    Profile(&'static str),
    /// A phase does not run.
    Disable(&'static str),
    /// A phase that the profile lacks also runs.
    Enable(&'static str),
    /// `ReorderInstructions` runs, with an order by number and seed.
    Order { number: u32, seed: u32 },
    /// A different register budget.
    Budget(u32),
    /// The profile runs from a different peak pressure on.
    LeastPressure(u32),
    /// LLVM reduces the strength of operations in other loops.
    StrengthReduction(StrengthReduction),
    /// A different choice of the kernels that are marked with `.minnctapersm 1`.
    MinBlocks(&'static str),
    /// A different value of a knob.
    Knob(&'static str, &'static str),
    /// A different value of one of LLVM's options.
    Llvm(&'static str, &'static str),
    /// A register limit for kernels.
    Limit(u32),
    /// ptxas does not unroll a loop by its number, or any.
    Rolled(Option<u32>),
    /// ptxas spills registers to shared memory.
    SpillToShared,
}

impl Setting {
    /// True if it has an effect even without Oriel's phases.
    pub fn holds_without_oriel(&self) -> bool {
        matches!(self, Self::Llvm(..)) || self.is_directive()
    }

    /// True if code may need fewer registers by it: what ptxas would spill with a limit may fit.
    pub fn may_make_room(&self) -> bool {
        match self {
            Self::Off | Self::Profile(_) | Self::LeastPressure(_) | Self::StrengthReduction(_) => true,
            Self::Order { number, .. } => *number != RANDOM_ORDER,
            Self::Enable(phase) => ROOM_MAKERS.contains(phase),
            _ => false,
        }
    }

    /// True if it only tells ptxas what to do.
    fn is_directive(&self) -> bool {
        matches!(self, Self::Limit(_) | Self::Rolled(_) | Self::SpillToShared)
    }

    /// True if a variant cannot have both settings.
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Disable(one) | Self::Enable(one), Self::Disable(other) | Self::Enable(other)) => {
                one == other
            }
            (Self::Knob(one, _), Self::Knob(other, _)) => one == other,
            (Self::Rolled(Some(one)), Self::Rolled(Some(other))) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// Returns every setting to try on top of the options `base`, with this many random orders; `sm` is
/// the compute capability times ten. Those that help most often come first. Phases that the options
/// disable stay disabled, and those that this process has added are left out: the compiler that gets
/// the options need not have them.
pub fn settings(base: &Options, sm: u32, random_orders: u32) -> Vec<Setting> {
    // Time may be short, and of 41 kernels that were looked at and for which a setting helped, 36 had
    // the most of the profile or of an order.
    let mut settings = OF_MODULE.to_vec();
    settings.extend(ORDERS.map(|number| Setting::Order { number, seed: 0 }));
    settings.extend((0..random_orders).map(|seed| Setting::Order {
        number: RANDOM_ORDER,
        seed,
    }));
    let runs = |phase| {
        let mut stages = [Stage::Ssa, Stage::Late].into_iter();
        stages.any(|stage| base.phases_at(stage, sm).any(|it| it == phase))
    };
    let phases = base.registry.phases();
    for phase in phases.filter(|phase| phase.run.is_some() && !Registry::is_added(phase)) {
        if runs(phase) {
            settings.push(Setting::Disable(phase.name));
        } else if phase.name != "ReorderInstructions" && !base.disabled_phases.contains(&phase) {
            settings.push(Setting::Enable(phase.name));
        }
    }
    settings.extend(BUDGETS.map(Setting::Budget));
    settings.push(Setting::LeastPressure(0));
    settings.extend(["off", "always"].map(Setting::MinBlocks));
    for (name, values) in KNOBS {
        settings.extend(values.iter().map(|value| Setting::Knob(name, value)));
    }
    settings
}

/// True if options tell ptxas what to do.
fn has_directive(options: &Options) -> bool {
    options.max_registers.is_some()
        || options.rolled_loops != RolledLoops::None
        || options.spills_to_shared
        || options.min_blocks.is_some()
}

/// Returns the other choices of loops in which LLVM reduces the strength of operations.
pub fn strength_reductions(base: &Options) -> impl Iterator<Item = Setting> {
    let present = base.strength_reduction();
    let all = StrengthReduction::ALL.into_iter();
    all.filter(move |&loops| loops != present)
        .map(Setting::StrengthReduction)
}

/// Takes the number of blocks out of launch bounds: ptxas then uses fewer registers than they leave, as
/// with a limit, and does not spill for it.
pub const NO_MIN_BLOCKS: Setting = Setting::MinBlocks("remove");

/// Returns the loops to keep rolled: all, and one at a time.
pub fn rolled_loops() -> impl Iterator<Item = Setting> {
    let each = LOOPS.map(|number| Setting::Rolled(Some(number)));
    std::iter::once(Setting::Rolled(None)).chain(each)
}

/// Returns LLVM's own orders.
pub fn llvm_orders() -> impl Iterator<Item = Setting> {
    LLVM_ORDERS
        .map(|(name, value)| Setting::Llvm(name, value))
        .into_iter()
}

/// Returns the register limits to try for a function with this many registers: down to two thirds.
/// Multiples of large powers of two come first, so that a search that ends early has seen all of the
/// range.
pub fn limits(registers: u32) -> impl Iterator<Item = u32> {
    let mut limits: Vec<u32> = (LEAST_LIMIT.max(registers * 2 / 3)..registers).rev().collect();
    limits.sort_by_key(|limit| Reverse(limit.trailing_zeros()));
    limits.into_iter()
}

/// A combination of settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    settings: Vec<Setting>,
}

impl Variant {
    /// True if Oriel is off.
    pub fn is_off(&self) -> bool {
        self.settings.contains(&Setting::Off)
    }

    /// Returns the option of LLVM that it changes, with the value, if any.
    pub fn llvm_option(&self) -> Option<(&'static str, &'static str)> {
        self.settings.iter().find_map(|setting| match setting {
            Setting::Llvm(name, value) => Some((*name, *value)),
            _ => None,
        })
    }

    /// Returns the number of settings.
    pub fn len(&self) -> usize {
        self.settings.len()
    }

    /// True if a setting is part of it.
    pub fn has(&self, setting: &Setting) -> bool {
        self.settings.contains(setting)
    }

    /// Returns the variant with a setting added, which replaces those that it excludes.
    pub fn with(&self, setting: &Setting) -> Self {
        let kept = self.settings.iter().filter(|it| !setting.excludes(it));
        Self {
            settings: kept.chain([setting]).cloned().collect(),
        }
    }

    /// Returns the variants without each of its settings in turn.
    pub fn parts(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.settings.len()).map(|left_out| {
            let mut settings = self.settings.clone();
            settings.remove(left_out);
            Self { settings }
        })
    }

    /// Returns the options for Oriel and LLVM.
    pub fn flags(&self, base: &Options) -> Flags {
        let llvm = self.llvm_option();
        Flags {
            oriel: self.oriel_flags(base),
            llvm: llvm.map_or_else(String::new, |(name, value)| format!("-{name}={value}")),
        }
    }

    /// Returns Oriel's options as in `ORIEL_FLAGS`, to be added after those that made `base`.
    pub fn oriel_flags(&self, base: &Options) -> String {
        let mut flags = String::new();
        let mut disabled: Vec<&str> = base.disabled_phases.iter().map(|phase| phase.name).collect();
        let mut enabled: Vec<String> = Vec::new();
        for selected in &base.enabled_phases {
            enabled.push(format!("{}@{}", selected.phase.name, selected.stage.name()));
        }
        let (known_disabled, known_enabled) = (disabled.len(), enabled.len());
        let mut rolled: Vec<String> = Vec::new();
        let has_directive = has_directive(base) || self.settings.iter().any(Setting::is_directive);
        for setting in &self.settings {
            let word = match setting {
                // Directives need Oriel, if not its phases.
                Setting::Off if has_directive => "-oriel-phases=none".to_owned(),
                Setting::Off => "-oriel=off".to_owned(),
                Setting::Profile(name) => format!("-oriel-profile={name}"),
                Setting::Budget(registers) => format!("-oriel-register-budget={registers}"),
                Setting::LeastPressure(registers) => format!("-oriel-least-pressure={registers}"),
                Setting::StrengthReduction(loops) => {
                    format!("-oriel-loop-strength-reduction={}", loops.name())
                }
                Setting::MinBlocks(kernels) => format!("-oriel-min-blocks={kernels}"),
                Setting::Knob(name, value) => format!("-oriel-knob={name}={value}"),
                Setting::Limit(registers) => format!("-oriel-maxnreg={registers}"),
                Setting::Rolled(None) => "-oriel-nounroll=all".to_owned(),
                Setting::SpillToShared => "-oriel-spill-to-shared=on".to_owned(),
                Setting::Rolled(Some(number)) => {
                    rolled.push(number.to_string());
                    continue;
                }
                Setting::Llvm(..) => continue,
                Setting::Disable(name) => {
                    disabled.push(name);
                    continue;
                }
                Setting::Enable(name) => {
                    enabled.push((*name).to_owned());
                    continue;
                }
                Setting::Order { number, seed } => {
                    enabled.push("ReorderInstructions".to_owned());
                    let mut knobs = format!("-oriel-knob=InstructionOrder={number}");
                    if *number == RANDOM_ORDER {
                        _ = write!(knobs, " -oriel-knob=InstructionOrderSeed={seed}");
                    }
                    knobs
                }
            };
            _ = write!(flags, " {word}");
        }
        if !rolled.is_empty() {
            _ = write!(flags, " -oriel-nounroll={}", rolled.join(","));
        }
        if disabled.len() > known_disabled {
            _ = write!(flags, " -oriel-disable-phases={}", disabled.join(","));
        }
        if enabled.len() > known_enabled {
            _ = write!(flags, " -oriel-enable-phases={}", enabled.join(","));
        }
        flags.trim_start().to_owned()
    }
}

/// The options of a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// For Oriel, after the given options; empty for these alone.
    #[serde(rename = "flags")]
    pub oriel: String,
    /// For LLVM: on llc's command line, or after clang's `-mllvm`.
    #[serde(rename = "llvm_flags", skip_serializing_if = "String::is_empty")]
    pub llvm: String,
}

impl Flags {
    /// Returns the flags that are not empty, with their names for output.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("flags", &*self.oriel), ("llvm", &*self.llvm)];
        all.into_iter().filter(|(_, flags)| !flags.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(flags: &str) -> Options {
        let mut options = Options::default();
        options.set_all(flags).unwrap();
        options
    }

    #[test]
    fn every_setting_changes_options_that_can_be_read_back() {
        let mut base = options("-oriel-disable-phases=GvnCse -oriel-enable-phases=OriPeephole");
        oriel_laboratory::phases::register(&mut base.registry).unwrap();
        let mut settings = settings(&base, 90, 3);
        settings.extend(rolled_loops());
        settings.extend(strength_reductions(&base));
        settings.extend([Setting::SpillToShared, NO_MIN_BLOCKS]);
        // The user has disabled it.
        assert!(!settings.contains(&Setting::Enable("GvnCse")));
        assert!(settings.contains(&Setting::Disable("OriPeephole")));
        assert!(settings.contains(&Setting::Disable("Rematerialize")));
        assert!(settings.contains(&Setting::Enable("GeneralOptimizeMid2")));
        // The compiler that gets the options doesn't have it.
        assert!(!settings.contains(&Setting::Enable("PerturbSsa")));
        for (number, setting) in settings.iter().enumerate() {
            assert!(!settings[..number].contains(setting), "{setting:?} twice");
            let flags = Variant::default().with(setting).oriel_flags(&base);
            let mut changed = base.clone();
            changed
                .set_all(&flags)
                .unwrap_or_else(|problem| panic!("{flags}: {problem}"));
            let phases = |options: &Options| {
                let late = options.phases_at(Stage::Late, 90);
                let phases = options.phases_at(Stage::Ssa, 90).chain(late);
                phases.map(|phase| phase.name).collect::<Vec<_>>()
            };
            let is_other = phases(&changed) != phases(&base)
                || changed.mode != base.mode
                || changed.phase_options.knobs != base.phase_options.knobs
                || changed.phase_options.register_budget != base.phase_options.register_budget
                || changed.least_pressure != base.least_pressure
                || changed.min_blocks() != base.min_blocks()
                || changed.strength_reduction() != base.strength_reduction()
                || changed.rolled_loops != base.rolled_loops
                || changed.spills_to_shared != base.spills_to_shared;
            assert!(is_other, "{flags} changes nothing");
        }
    }

    #[test]
    fn settings_take_the_place_of_those_that_they_exclude() {
        let order = |number| Setting::Order { number, seed: 0 };
        let variant = Variant::default()
            .with(&Setting::Disable("GvnCse"))
            .with(&order(2))
            .with(&Setting::Knob("ForceLateCommoning", "1"))
            .with(&Setting::Disable("GeneralOptimize"))
            .with(&order(3));
        assert_eq!(
            variant.oriel_flags(&options("-oriel-disable-phases=OriPeephole")),
            "-oriel-knob=ForceLateCommoning=1 -oriel-knob=InstructionOrder=3 \
             -oriel-disable-phases=OriPeephole,GvnCse,GeneralOptimize -oriel-enable-phases=ReorderInstructions"
        );
        let limited = variant.with(&Setting::Limit(32)).with(&Setting::Limit(24));
        let all = limited
            .with(&Setting::Llvm("a", "1"))
            .with(&Setting::Llvm("b", "2"));
        let (oriel, phases) = variant
            .oriel_flags(&Options::default())
            .split_once(" -oriel-disable")
            .map(|(before, after)| (before.to_owned(), after.to_owned()))
            .unwrap();
        let expected = Flags {
            oriel: format!("{oriel} -oriel-maxnreg=24 -oriel-disable{phases}"),
            llvm: "-b=2".to_owned(),
        };
        assert_eq!(all.flags(&Options::default()), expected);
        assert_eq!(expected.given().count(), 2);
        let flags = |settings: &[Setting]| {
            let variant = settings
                .iter()
                .fold(Variant::default(), |it, setting| it.with(setting));
            variant.oriel_flags(&Options::default())
        };
        let rolled = |number| Setting::Rolled(number);
        assert_eq!(flags(&[rolled(Some(0)), rolled(Some(3))]), "-oriel-nounroll=0,3");
        assert_eq!(flags(&[rolled(Some(0)), rolled(None)]), "-oriel-nounroll=all");
        assert_eq!(flags(&[rolled(None), rolled(Some(1))]), "-oriel-nounroll=1");
        assert_eq!(
            flags(&[Setting::Off, Setting::Limit(32)]),
            "-oriel-phases=none -oriel-maxnreg=32"
        );
        assert_eq!(flags(&[Setting::Off]), "-oriel=off");
        let limited = Options {
            max_registers: Some(32),
            ..Options::default()
        };
        let off = Variant::default().with(&Setting::Off);
        assert_eq!(off.oriel_flags(&limited), "-oriel-phases=none");
        assert_eq!(
            limits(30).collect::<Vec<_>>(),
            [24, 28, 20, 26, 22, 29, 27, 25, 23, 21]
        );
        assert_eq!(limits(16).count(), 0);
        assert_eq!(variant.parts().count(), 4);
        assert!(variant.parts().all(|part| part != variant));
        assert_eq!(Variant::default().flags(&Options::default()).given().count(), 0);
    }
}
