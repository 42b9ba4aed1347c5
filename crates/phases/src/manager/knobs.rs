//! Knobs: parameters of phases for compiler engineers.
//!
//! One table has every knob with its name, its index in ptxas where the reference gives one, its
//! kind, its default and the phases that read it. `-oriel-knob=NAME=VALUE` takes the name, the name
//! in ROT13 (as ptxas hides its names) or the index; `oriel knobs` lists the table.

use serde::Serialize;
use std::fmt;

/// The kind of values that a knob takes, by ptxas' type names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// `OKT_NONE`: on or off.
    Switch,
    /// `OKT_INT`: an integer.
    Integer,
    /// `OKT_BDGT`: a limit on the number of times something is done to a function; without a value,
    /// there is no limit.
    Budget,
    /// `OKT_DBL`: a floating-point number.
    Double,
}

impl KnobKind {
    /// Returns the type name of ptxas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "OKT_NONE",
            Self::Integer => "OKT_INT",
            Self::Budget => "OKT_BDGT",
            Self::Double => "OKT_DBL",
        }
    }

    /// Describes its values.
    const fn values(self) -> &'static str {
        match self {
            Self::Switch => "0 or 1, or nothing for 1",
            Self::Integer => "a whole number",
            Self::Budget => "a whole number from 0 up",
            Self::Double => "a number",
        }
    }
}

/// The value of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum KnobValue {
    /// The value of a switch.
    Switch(bool),
    /// The value of an integer.
    Integer(i64),
    /// The value of a budget; none means no limit.
    Budget(Option<u64>),
    /// The value of a floating-point knob.
    Double(f64),
}

impl KnobValue {
    /// Returns the kind of the value.
    pub const fn kind(self) -> KnobKind {
        match self {
            Self::Switch(_) => KnobKind::Switch,
            Self::Integer(_) => KnobKind::Integer,
            Self::Budget(_) => KnobKind::Budget,
            Self::Double(_) => KnobKind::Double,
        }
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(is_on) => write!(formatter, "{}", u8::from(*is_on)),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Budget(Some(limit)) => write!(formatter, "{limit}"),
            Self::Budget(None) => write!(formatter, "unlimited"),
            Self::Double(value) => write!(formatter, "{value}"),
        }
    }
}

/// A row of the table of knobs.
#[derive(Clone, Copy, Debug)]
pub struct KnobSpec {
    /// The knob.
    pub knob: Knob,
    /// Its name.
    pub name: &'static str,
    /// ptxas' number, where the reference gives one.
    pub index: Option<u16>,
    /// Its default.
    pub default: KnobValue,
    /// The phases that read it, by name or group.
    pub readers: &'static [&'static str],
    /// A description.
    pub help: &'static str,
}

/// Declares the knobs: name, index, default, readers, help.
macro_rules! knobs {
    ($( $variant:ident $index:expr, $default:expr, [$($reader:literal)*], $help:literal; )*) => {
        /// A knob.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Knob {
            $( #[doc = $help] $variant, )*
        }

        /// Every knob.
        pub static KNOBS: &[KnobSpec] = &[$(
            KnobSpec {
                knob: Knob::$variant,
                name: stringify!($variant),
                index: $index,
                default: $default,
                readers: &[$($reader),*],
                help: $help,
            },
        )*];
    };
}

knobs! {
    OriSplitLiveRanges Some(456), KnobValue::Switch(true), ["OriSplitLiveRanges"],
        "Enables OriSplitLiveRanges where it runs";
    EnableGvnCse None, KnobValue::Switch(true), ["GvnCse"],
        "Enables GvnCse where it runs";
    EnableGvnCseMode Some(402), KnobValue::Integer(5), ["GvnCse"],
        "The scope of GvnCse: 0 nothing, 1 the block, 2 also dominators for expressions that end in loads, 3 and 4 for all, \
         5 and 6 for special functions as well";
    EnableGvnCsePerInstr Some(257), KnobValue::Budget(None), ["GvnCse"],
        "How many expressions of a function GvnCse numbers; it ignores the rest of the last one's block";
    AllowReassociateCSE None, KnobValue::Switch(true), ["OriReassociateAndCommon"],
        "Enables OriReassociateAndCommon where it runs";
    GeneralOptimize Some(487), KnobValue::Switch(true),
        ["GeneralOptimizeEarly" "GeneralOptimize" "GeneralOptimizeMid"],
        "Enables the GeneralOptimize bundles where they run";
    OptBudget Some(499), KnobValue::Budget(None),
        ["GeneralOptimizeEarly" "GeneralOptimize" "GeneralOptimizeLate" "GeneralOptimizeLate2"],
        "How many phases of a function see an optimisation level above 1; the others see 1";
    DisableMergeEquivalentConditionalFlow Some(214), KnobValue::Switch(false), ["GeneralOptimizeEarly"],
        "Disables GeneralOptimizeEarly";
    MergeEquivalentConditionalFlowBudget Some(464), KnobValue::Budget(None), ["GeneralOptimizeEarly"],
        "How many matches per function GeneralOptimizeEarly applies";
    DisableRedundantBarrierRemoval Some(231), KnobValue::Switch(false), ["GeneralOptimize"],
        "Disables GeneralOptimize, to inspect the code before it";
    MembarFlowControl Some(461), KnobValue::Integer(1), ["GeneralOptimize"],
        "The second gate of GeneralOptimize, which 0 closes";
    LimitFoldFp None, KnobValue::Switch(false),
        ["GeneralOptimize" "GeneralOptimizeMid2" "GeneralOptimizeLate2" "OriPeephole"],
        "limit-fold-fp: leaves floats unchanged: their identities and constants, and decisions by their comparisons";
    GeneralOptimizeLateGate Some(31), KnobValue::Integer(0), ["GeneralOptimizeLate"],
        "The gate of GeneralOptimizeLate: 1 in the low bits and a nonzero value in the high bits let it follow moves with \
         several uses, on dual-issue GPUs only";
    GeneralOptimizeLateFixedWindow Some(605), KnobValue::Switch(false), ["GeneralOptimizeLate"],
        "Limits the window of GeneralOptimizeLate to the moves at the beginning of a block";
    ReassociateCSEBudget None, KnobValue::Budget(None), ["OriReassociateAndCommon"],
        "How many instructions of a function OriReassociateAndCommon visits";
    ReassociateCSEWindow None, KnobValue::Integer(512), ["OriReassociateAndCommon"],
        "How many instructions back OriReassociateAndCommon searches for a common value";
    ReassociateCSESkip None, KnobValue::Integer(0), ["OriReassociateAndCommon"],
        "How many instructions at the beginning of a function OriReassociateAndCommon skips";
    ReassociateLargeImmInUIADD64 None, KnobValue::Switch(false), ["OriReassociateAndCommon"],
        "Lets OriReassociateAndCommon create 64-bit constants that need more than 32 bits";
    DistributeAndReassociateMulBudget None, KnobValue::Budget(None), ["OriReassociateAndCommon"],
        "How many sums of products per function become one product";
    SpeculativeHoistCommonInsts None, KnobValue::Switch(true), ["SpeculativeHoistCommonInsts"],
        "Enables SpeculativeHoistCommonInsts where it runs";
    ForceLateCommoning Some(487), KnobValue::Switch(false), ["LateOriCommoning"],
        "Lets LateOriCommoning extend live ranges beyond the register budget";
    DisableMoveCommoning None, KnobValue::Switch(false), ["LateOriCommoning"],
        "Makes LateOriCommoning treat a copy as a different value than its source";
    MovWeightForConvertMemToReg Some(474), KnobValue::Double(0.25), ["GeneralOptimizeMid"],
        "The cost of a move or PHI that promotion to registers leaves; a load or store costs 1. Also what a round of it \
         must save for another one to follow";
    ConvertMemToRegCostRatio Some(136), KnobValue::Double(0.93), ["GeneralOptimizeMid"],
        "The most that a stack object may cost in registers, as a fraction of its cost in memory";
    ConvertMemoryToRegIndexedSizeLimit Some(135), KnobValue::Integer(0), ["GeneralOptimizeMid"],
        "The size in bytes up to which a stack object with indexed accesses is promoted, whatever the cost: \
         each of these accesses compares with all elements";
    OriPerformLiveDeadBudget None, KnobValue::Budget(None), ["EarlyOriSimpleLiveDead" "OriPerformLiveDead"],
        "How many instructions each run may remove from a function; to bisect wrong removals";
    BackCopyPropBudget Some(808), KnobValue::Budget(None), ["AdvancedPhaseBackPropVReg"],
        "How many copies are propagated backward in a function";
    CopyPropBudget None, KnobValue::Budget(None), ["OriCopyProp"],
        "How many copies each run propagates in a function";
    CopyPropGlobalBudget None, KnobValue::Budget(None), ["OriCopyProp"],
        "How many copies with uses in other blocks each run propagates";
    CopyPropForceGlobal None, KnobValue::Switch(false), ["OriCopyProp"],
        "Extends live ranges whatever the pressure";
    CopyPropAddr None, KnobValue::Switch(true), ["OriCopyProp"],
        "Propagates into addresses; at the late stage only after phase 83";
    CopyPropConstantBank None, KnobValue::Switch(true), ["OriCopyProp"],
        "Propagates copies of kernel parameters and constant memory";
    CopyPropUseReachingDefs None, KnobValue::Switch(true), ["OriCopyProp"],
        "Propagates copies between registers with several definitions";
    CopyPropPreAllocReg None, KnobValue::Switch(true), ["OriCopyProp"],
        "Treats reads of hardware registers as copies";
    CopyPropNoWriteNonRR None, KnobValue::Switch(false), ["OriCopyProp"],
        "Does not replace register operands by constants";
    CopyPropNonRegMultiDef None, KnobValue::Switch(true), ["OriCopyProp"],
        "Propagates constants through registers with several definitions";
    CopyPropNoMmaCb None, KnobValue::Switch(false), ["OriCopyProp"],
        "Keeps constants and values of constant banks out of matrix operations";
    LateCopyPropComplPred None, KnobValue::Switch(true), ["OriCopyPropLate"],
        "Makes branches and selects on the complement of a predicate use the predicate, at the late stage";
    InstructionOrder None, KnobValue::Integer(1), ["ReorderInstructions"],
        "The order: 1 few live registers, 2 each instruction at its first use, 3 those that free registers last, 4 those that add the fewest last, 5 \
         the longest dependency chains first, 6 loads early, 7 loads late, 8 random; any other number: unchanged";
    InstructionOrderSeed None, KnobValue::Integer(0), ["ReorderInstructions"],
        "The seed of the random order";
}

impl KnobSpec {
    /// Returns the name in ROT13.
    pub fn rot13(&self) -> String {
        rot13(self.name)
    }
}

fn rot13(name: &str) -> String {
    let turn = |letter: char| match letter {
        'a'..='m' | 'A'..='M' => (letter as u8 + 13) as char,
        'n'..='z' | 'N'..='Z' => (letter as u8 - 13) as char,
        other => other,
    };
    name.chars().map(turn).collect()
}

/// The values of all knobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobs {
    values: Vec<KnobValue>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            values: KNOBS.iter().map(|spec| spec.default).collect(),
        }
    }
}

impl Knobs {
    /// Sets a knob as in `OriPerformLiveDeadBudget=3`, by name, ROT13 name or index; a switch needs
    /// no value.
    ///
    /// # Errors
    /// There is no such knob, or the value does not match its kind.
    pub fn set(&mut self, assignment: &str) -> Result<(), String> {
        let (name, value) = match assignment.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (assignment, None),
        };
        for spec in find(name)? {
            let value = parse(spec.default.kind(), value).ok_or_else(|| {
                let given = value.map_or("no value".to_owned(), |value| format!("'{value}'"));
                format!(
                    "{} takes {}, not {given}",
                    spec.name,
                    spec.default.kind().values()
                )
            })?;
            self.values[spec.knob as usize] = value;
        }
        Ok(())
    }

    /// Returns the value of a knob.
    pub fn value(&self, knob: Knob) -> KnobValue {
        self.values[knob as usize]
    }

    /// True if a switch is on.
    ///
    /// # Panics
    /// The knob is not a switch.
    pub fn is_on(&self, knob: Knob) -> bool {
        match self.value(knob) {
            KnobValue::Switch(is_on) => is_on,
            other => panic!("{knob:?} is {}", other.kind().name()),
        }
    }

    /// Returns the value of an integer knob.
    ///
    /// # Panics
    /// The knob is not an integer.
    pub fn integer(&self, knob: Knob) -> i64 {
        match self.value(knob) {
            KnobValue::Integer(value) => value,
            other => panic!("{knob:?} is {}", other.kind().name()),
        }
    }

    /// Returns a fresh budget.
    ///
    /// # Panics
    /// The knob is not a budget.
    pub fn budget(&self, knob: Knob) -> Budget {
        match self.value(knob) {
            KnobValue::Budget(limit) => Budget { left: limit },
            other => panic!("{knob:?} is {}", other.kind().name()),
        }
    }

    /// Returns the value of a floating-point knob.
    ///
    /// # Panics
    /// The knob is not a floating-point one.
    pub fn double(&self, knob: Knob) -> f64 {
        match self.value(knob) {
            KnobValue::Double(value) => value,
            other => panic!("{knob:?} is {}", other.kind().name()),
        }
    }
}

/// Returns the knobs with a name or number: several can share a number, if phases interpret one
/// knob of ptxas differently.
fn find(name: &str) -> Result<Vec<&'static KnobSpec>, String> {
    let plain = name.replace('-', "");
    let is_named = |spec: &&KnobSpec| {
        spec.name.eq_ignore_ascii_case(&plain)
            || spec.rot13().eq_ignore_ascii_case(&plain)
            || spec.index.is_some_and(|index| name.parse() == Ok(index))
    };
    let found: Vec<_> = KNOBS.iter().filter(is_named).collect();
    if found.is_empty() {
        let names: Vec<&str> = KNOBS.iter().map(|spec| spec.name).collect();
        return Err(format!("'{name}' is no knob; knobs are: {}", names.join(", ")));
    }
    Ok(found)
}

fn parse(kind: KnobKind, value: Option<&str>) -> Option<KnobValue> {
    Some(match (kind, value) {
        (KnobKind::Switch, None | Some("1" | "true")) => KnobValue::Switch(true),
        (KnobKind::Switch, Some("0" | "false")) => KnobValue::Switch(false),
        (KnobKind::Integer, Some(value)) => KnobValue::Integer(value.parse().ok()?),
        (KnobKind::Budget, Some("unlimited")) => KnobValue::Budget(None),
        (KnobKind::Budget, Some(value)) => KnobValue::Budget(Some(value.parse().ok()?)),
        (KnobKind::Double, Some(value)) => {
            KnobValue::Double(value.parse().ok().filter(|value: &f64| value.is_finite())?)
        }
        (KnobKind::Switch | KnobKind::Integer | KnobKind::Budget | KnobKind::Double, _) => return None,
    })
}

/// The number of times that something may still be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    left: Option<u64>,
}

impl Budget {
    /// Spends one unit if any is left. Returns whether one was.
    pub fn spend(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn names_are_unique_and_readers_exist() {
        for (number, spec) in KNOBS.iter().enumerate() {
            assert_eq!(spec.knob as usize, number);
            for name in [spec.name, &spec.rot13()] {
                let [found] = find(name).unwrap()[..] else {
                    panic!("{name} means several knobs");
                };
                assert!(std::ptr::eq(found, spec));
            }
            if let Some(index) = spec.index {
                let sharing = find(&index.to_string()).unwrap();
                assert!(
                    sharing
                        .iter()
                        .all(|other| other.default.kind() == spec.default.kind())
                );
                assert!(sharing.iter().any(|&found| std::ptr::eq(found, spec)));
            }
            assert!(!spec.readers.is_empty());
            for reader in spec.readers {
                assert!(
                    registry::named(reader).any(|phase| phase.run.is_some()),
                    "{reader}"
                );
            }
        }
    }

    #[test]
    fn a_knob_is_set_by_each_of_its_names() {
        for name in [
            "OriPerformLiveDeadBudget",
            "oriperformlivedeadbudget",
            "BevCresbezYvirQrnqOhqtrg",
        ] {
            let mut knobs = Knobs::default();
            knobs.set(&format!("{name}=1")).unwrap();
            let mut budget = knobs.budget(Knob::OriPerformLiveDeadBudget);
            assert!(budget.spend());
            assert!(!budget.spend());
        }
        assert!(Knobs::default().budget(Knob::OriPerformLiveDeadBudget).spend());
    }

    #[test]
    fn a_number_sets_all_knobs_that_have_it() {
        let mut knobs = Knobs::default();
        knobs.set("487=0").unwrap();
        assert!(!knobs.is_on(Knob::GeneralOptimize) && !knobs.is_on(Knob::ForceLateCommoning));
        knobs.set("487").unwrap();
        assert!(knobs.is_on(Knob::GeneralOptimize) && knobs.is_on(Knob::ForceLateCommoning));
        knobs.set("limit-fold-fp").unwrap();
        assert!(knobs.is_on(Knob::LimitFoldFp));
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let error = |assignment: &str| Knobs::default().set(assignment).unwrap_err();
        assert!(error("Speed=1").starts_with("'Speed' is no knob; knobs are: Ori"));
        assert_eq!(
            error("OriPerformLiveDeadBudget=-1"),
            "OriPerformLiveDeadBudget takes a whole number from 0 up, not '-1'"
        );
        assert_eq!(
            error("OriPerformLiveDeadBudget"),
            "OriPerformLiveDeadBudget takes a whole number from 0 up, not no value"
        );
    }

    #[test]
    fn every_kind_has_its_values() {
        let parsed = |kind, value| parse(kind, value).map(|value| value.to_string());
        assert_eq!(parsed(KnobKind::Switch, None).as_deref(), Some("1"));
        assert_eq!(parsed(KnobKind::Switch, Some("2")), None);
        assert_eq!(parsed(KnobKind::Integer, Some("-3")).as_deref(), Some("-3"));
        assert_eq!(
            parsed(KnobKind::Budget, Some("unlimited")).as_deref(),
            Some("unlimited")
        );
        assert_eq!(parsed(KnobKind::Double, Some("0.25")).as_deref(), Some("0.25"));
        assert_eq!(parsed(KnobKind::Double, Some("NaN")), None);
        assert_eq!(parsed(KnobKind::Double, None), None);
    }
}
