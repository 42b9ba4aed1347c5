//! The table of phases, in ptxas' order.
//!
//! Every phase that the reference names has a row. One without a `run` is a place in the order that
//! Oriel has nothing for.

use super::{PhaseContext, PhaseResult};
use crate::ori::Function;
use crate::snapshot::abi::Stage;
use bitflags::bitflags;

bitflags! {
    /// The forms of a function that a phase accepts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Forms: u8 {
        /// One definition a register, with PHIs.
        const SSA = 1 << 0;
        /// Without PHIs; registers may have several definitions.
        const LATE = 1 << 1;
    }
}

impl Forms {
    /// The form that functions have at a stage.
    pub const fn at(stage: Stage) -> Self {
        match stage {
            Stage::Ssa => Self::SSA,
            Stage::Late => Self::LATE,
        }
    }
}

/// What a phase does to a function.
pub type Run = fn(&mut Function, &mut PhaseContext<'_>) -> PhaseResult;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// ptxas' number: its place in the order.
    pub number: u16,
    /// Its name; the file of the phase has the same.
    pub name: &'static str,
    /// The name that addresses all instances of a phase that runs several times.
    pub group: Option<&'static str>,
    /// The forms that it accepts.
    pub forms: Forms,
    /// What it does; none: it is not part of Oriel.
    pub run: Option<Run>,
}

/// The last phase before PHI elimination: later numbers run at the late stage.
const LAST_SSA_PHASE: u16 = 65;

impl Phase {
    /// The stage that it runs at if nothing else is asked for.
    pub const fn home_stage(&self) -> Stage {
        if self.number <= LAST_SSA_PHASE {
            Stage::Ssa
        } else {
            Stage::Late
        }
    }

    /// Does a name, in whatever case, mean this phase?
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.group.is_some_and(|group| group.eq_ignore_ascii_case(name))
    }
}

/// A row for a place that Oriel has nothing for.
const fn place(number: u16, name: &'static str) -> Phase {
    Phase {
        number,
        name,
        group: None,
        forms: Forms::empty(),
        run: None,
    }
}

/// Every phase that the reference names, in order.
pub static PHASES: &[Phase] = &[
    place(3, "AnalyzeControlFlow"),
    place(6, "SetControlFlowOpLastInBB"),
    place(9, "ReportInitialRepresentation"),
    place(10, "EarlyOriSimpleLiveDead"),
    place(13, "GeneralOptimizeEarly"),
    place(16, "OriPerformLiveDeadFirst"),
    place(18, "OriLoopSimplification"),
    place(19, "OriSplitLiveRanges"),
    place(26, "OriStrengthReduction"),
    place(27, "AnalyzeUniformsForSpeculation"),
    place(29, "GeneralOptimize"),
    place(33, "OriPerformLiveDeadSecond"),
    place(37, "GeneralOptimizeMid"),
    place(46, "GeneralOptimizeMid2"),
    place(48, "EnforceArgumentRestrictions"),
    place(49, "GvnCse"),
    place(50, "OriReassociateAndCommon"),
    place(51, "ExtractShaderConstsFinal"),
    place(58, "GeneralOptimizeLate"),
    place(61, "OriPerformLiveDeadThird"),
    place(63, "OriDoPredication"),
    place(64, "LateOriCommoning"),
    place(65, "GeneralOptimizeLate2"),
    place(82, "AdvancedPhaseBackPropVReg"),
    place(83, "OriBackCopyPropagate"),
    place(84, "OriPerformLiveDeadFourth"),
    place(95, "SetAfterLegalization"),
    place(108, "OptimizeHotColdInLoop"),
    place(109, "OptimizeHotColdFlow"),
    place(112, "PlaceBlocksInSourceOrder"),
    place(138, "OriSplitHighPressureLiveRanges"),
];

/// The phases that a name means; more than one for a group.
pub fn named(name: &str) -> impl Iterator<Item = &'static Phase> + '_ {
    PHASES.iter().filter(move |phase| phase.is_named(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers() {
        assert!(PHASES.is_sorted_by_key(|phase| phase.number));
    }

    #[test]
    fn names_are_unique() {
        for phase in PHASES {
            assert_eq!(
                named(phase.name).filter(|other| other.name == phase.name).count(),
                1
            );
        }
    }

    #[test]
    fn phases_accept_the_form_of_their_stage() {
        for phase in PHASES.iter().filter(|phase| phase.run.is_some()) {
            assert!(
                phase.forms.contains(Forms::at(phase.home_stage())),
                "{}",
                phase.name
            );
        }
    }
}
