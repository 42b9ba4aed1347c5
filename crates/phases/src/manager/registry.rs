//! The table of phases, in ptxas' order.
//!
//! Every phase that the reference numbers has a row, and so have the phases that Oriel adds. A row
//! without a `run` is not implemented and only keeps its place in ptxas' order.

use super::backend::Hooks;
use crate::{Analyses, PhaseContext, PhaseResult};
use bitflags::bitflags;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::Function;

bitflags! {
    /// The forms of code that a phase accepts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Forms: u8 {
        /// One definition per register, with PHIs.
        const SSA = 1 << 0;
        /// Without PHIs; registers may have several definitions.
        const LATE = 1 << 1;
    }
}

impl Forms {
    /// Returns the form of functions at a stage.
    pub const fn at(stage: Stage) -> Self {
        match stage {
            Stage::Ssa => Self::SSA,
            Stage::Late => Self::LATE,
        }
    }
}

bitflags! {
    /// Sets of phases that run by default.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Profiles: u8 {
        /// Phases as ptxas gates them.
        const PTXAS = 1 << 0;
        /// All phases that are safe and were measured to improve code.
        const MAX = 1 << 1;
    }
}

/// The implementation of a phase.
pub type Run = fn(&mut Function, &mut PhaseContext<'_>) -> PhaseResult;

/// A phase: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// ptxas' number, where the reference gives one.
    pub number: Option<u16>,
    /// The stage at which it runs by default.
    pub stage: Stage,
    /// Its name. Its file has the same name, unless the file has several instances of a phase.
    pub name: &'static str,
    /// The common name of all instances of a phase that runs several times.
    pub group: Option<&'static str>,
    /// The forms that it accepts.
    pub forms: Forms,
    /// The implementation; none if Oriel has none.
    pub run: Option<Run>,
    /// The profiles that contain it.
    pub profiles: Profiles,
    /// The hooks of the back end that profile `ptxas` requires for it.
    pub hooks: Hooks,
    /// The analyses that are computed before it runs.
    pub needs: Analyses,
    /// The analyses that it preserves when it changes a function.
    pub keeps: Analyses,
    /// True if no instruction that it adds, moves or removes touches a register that [may be in use in
    /// the background](oriel_ori::analysis::asynchronous_registers). Other phases do not run on
    /// functions with such registers.
    pub spares_asynchronous_registers: bool,
}

impl Phase {
    /// True if a name, ignoring case, denotes this phase.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.group.is_some_and(|group| group.eq_ignore_ascii_case(name))
    }
}

/// Creates a row for a phase of ptxas that Oriel does not implement: it only keeps its position in
/// the order.
const fn unimplemented(number: u16, name: &'static str) -> Phase {
    let mut phase = Phase::row(name, default_stage(number), Forms::empty(), None);
    phase.number = Some(number);
    phase
}

/// Rows are equal if their names are.
impl PartialEq for Phase {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Phase {}

/// Returns the stage at which ptxas' phase with this number runs by default.
const fn default_stage(number: u16) -> Stage {
    /// The last phase before PHI elimination.
    const LAST_SSA_PHASE: u16 = 65;
    match number <= LAST_SSA_PHASE {
        true => Stage::Ssa,
        false => Stage::Late,
    }
}

/// Creates a row for a phase with a number.
const fn phase(number: u16, name: &'static str, forms: Forms, run: Run) -> Phase {
    let mut phase = Phase::new(name, default_stage(number), forms, run);
    phase.number = Some(number);
    phase
}

impl Phase {
    /// Creates a phase with a name that runs at a stage by default and accepts functions of these
    /// forms. It is in no profile, needs no analysis and preserves none; [`Registry`] has an
    /// example.
    pub const fn new(name: &'static str, stage: Stage, forms: Forms, run: Run) -> Self {
        Self::row(name, stage, forms, Some(run))
    }

    const fn row(name: &'static str, stage: Stage, forms: Forms, run: Option<Run>) -> Self {
        Self {
            number: None,
            stage,
            name,
            group: None,
            forms,
            run,
            profiles: Profiles::empty(),
            hooks: Hooks::empty(),
            needs: Analyses::empty(),
            keeps: Analyses::empty(),
            spares_asynchronous_registers: false,
        }
    }

    /// Sets a name that other phases may share.
    pub const fn in_group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds it to profiles.
    pub const fn in_profiles(mut self, profiles: Profiles) -> Self {
        self.profiles = profiles;
        self
    }

    /// Restricts it in profile `ptxas` to back ends with these hooks.
    const fn through_backend(mut self, hooks: Hooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Sets the analyses computed before it runs.
    pub const fn needing(mut self, needs: Analyses) -> Self {
        self.needs = needs;
        self
    }

    /// Sets the analyses that it preserves.
    pub const fn keeping(mut self, keeps: Analyses) -> Self {
        self.keeps = keeps;
        self
    }

    /// Lets it run on functions with [asynchronous registers](Self::spares_asynchronous_registers).
    pub const fn sparing_asynchronous_registers(mut self) -> Self {
        self.spares_asynchronous_registers = true;
        self
    }
}

const BOTH: Forms = Forms::SSA.union(Forms::LATE);

/// Creates an instance of OriPerformLiveDead; they differ only in when they run.
const fn ori_perform_live_dead(number: u16, name: &'static str) -> Phase {
    phase(number, name, BOTH, crate::ori_perform_live_dead::run)
        .in_group("OriPerformLiveDead")
        .in_profiles(Profiles::PTXAS)
        .needing(Analyses::CONTROL_FLOW)
}

/// Creates an instance of OriCopyProp, which the reference has in every GeneralOptimize bundle.
const fn ori_copy_prop(stage: Stage, name: &'static str, profiles: Profiles) -> Phase {
    Phase::new(name, stage, BOTH, crate::ori_copy_prop::run)
        .in_group("OriCopyProp")
        .in_profiles(profiles)
        .needing(Analyses::CONTROL_FLOW)
        .keeping(Analyses::CONTROL_FLOW)
}

/// All phases, in order.
pub static PHASES: &[Phase] = &[
    phase(3, "AnalyzeControlFlow", BOTH, crate::analyze_control_flow::run).needing(Analyses::CONTROL_FLOW),
    Phase::new(
        "RemoveUnreachableBlocks",
        Stage::Ssa,
        BOTH,
        crate::remove_unreachable_blocks::run,
    ),
    phase(
        6,
        "SetControlFlowOpLastInBB",
        BOTH,
        crate::set_control_flow_op_last_in_bb::run,
    ),
    Phase::new(
        "MergeBasicBlocks",
        Stage::Ssa,
        BOTH,
        crate::merge_basic_blocks::run,
    ),
    unimplemented(9, "ReportInitialRepresentation"),
    phase(
        10,
        "EarlyOriSimpleLiveDead",
        BOTH,
        crate::early_ori_simple_live_dead::run,
    )
    .in_profiles(Profiles::PTXAS)
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        13,
        "GeneralOptimizeEarly",
        Forms::SSA,
        crate::general_optimize_early::run,
    )
    .in_profiles(Profiles::PTXAS)
    .needing(Analyses::CONTROL_FLOW),
    ori_perform_live_dead(16, "OriPerformLiveDeadFirst"),
    Phase::new(
        "LoopMakeSingleEntry",
        Stage::Ssa,
        BOTH,
        crate::loop_make_single_entry::run,
    )
    .in_group("LoopStructurePass")
    .needing(Analyses::CONTROL_FLOW),
    unimplemented(18, "OriLoopSimplification"),
    phase(19, "OriSplitLiveRanges", BOTH, crate::ori_split_live_ranges::run)
        .needing(Analyses::all())
        .keeping(Analyses::CONTROL_FLOW),
    unimplemented(26, "StrengthReduction"),
    unimplemented(27, "AnalyzeUniformsForSpeculation"),
    phase(29, "GeneralOptimize", Forms::SSA, crate::general_optimize::run)
        .in_profiles(Profiles::PTXAS)
        .needing(Analyses::CONTROL_FLOW),
    ori_perform_live_dead(33, "OriPerformLiveDeadSecond"),
    phase(
        37,
        "GeneralOptimizeMid",
        Forms::SSA,
        crate::general_optimize_mid::run,
    )
    .in_group("ConvertMemoryToRegisterOrUniform")
    .in_profiles(Profiles::all())
    .needing(Analyses::CONTROL_FLOW)
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        46,
        "GeneralOptimizeMid2",
        Forms::SSA,
        crate::general_optimize_mid2::run,
    )
    .in_profiles(Profiles::PTXAS)
    .through_backend(Hooks::GENERAL_OPTIMIZE_MID2)
    .needing(Analyses::CONTROL_FLOW),
    unimplemented(48, "EnforceArgumentRestrictions"),
    phase(49, "GvnCse", Forms::SSA, crate::gvn_cse::run)
        .in_profiles(Profiles::PTXAS)
        .through_backend(Hooks::GVN_CSE)
        .needing(Analyses::CONTROL_FLOW)
        .keeping(Analyses::CONTROL_FLOW),
    phase(
        50,
        "OriReassociateAndCommon",
        Forms::SSA,
        crate::ori_reassociate_and_common::run,
    )
    .in_profiles(Profiles::PTXAS)
    .needing(Analyses::CONTROL_FLOW)
    .keeping(Analyses::CONTROL_FLOW),
    unimplemented(51, "ExtractShaderConstsFinal"),
    Phase::new("OriPeephole", Stage::Ssa, Forms::SSA, crate::ori_peephole::run)
        .needing(Analyses::CONTROL_FLOW),
    Phase::new(
        "OriCommonConstants",
        Stage::Ssa,
        Forms::SSA,
        crate::ori_common_constants::run,
    )
    .needing(Analyses::CONTROL_FLOW)
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        56,
        "SpeculativeHoistCommonInsts",
        Forms::SSA,
        crate::speculative_hoist_common_insts::run,
    )
    .in_profiles(Profiles::PTXAS)
    .needing(Analyses::CONTROL_FLOW)
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        58,
        "GeneralOptimizeLate",
        Forms::SSA,
        crate::general_optimize_late::run,
    )
    .in_profiles(Profiles::PTXAS)
    .keeping(Analyses::CONTROL_FLOW),
    ori_perform_live_dead(61, "OriPerformLiveDeadThird"),
    unimplemented(63, "OriDoPredication"),
    phase(64, "LateOriCommoning", BOTH, crate::late_ori_commoning::run)
        .in_profiles(Profiles::PTXAS)
        .needing(Analyses::CONTROL_FLOW)
        .keeping(Analyses::CONTROL_FLOW),
    ori_copy_prop(Stage::Ssa, "OriCopyPropSsa", Profiles::PTXAS),
    phase(
        65,
        "GeneralOptimizeLate2",
        Forms::SSA,
        crate::general_optimize_late2::run,
    )
    .in_profiles(Profiles::PTXAS)
    .through_backend(Hooks::GENERAL_OPTIMIZE_LATE2)
    .needing(Analyses::CONTROL_FLOW),
    Phase::new("Rematerialize", Stage::Ssa, Forms::SSA, crate::rematerialize::run)
        .in_profiles(Profiles::MAX)
        .needing(Analyses::CONTROL_FLOW.union(Analyses::LIVE_RANGES))
        .keeping(Analyses::CONTROL_FLOW)
        .sparing_asynchronous_registers(),
    phase(
        82,
        "AdvancedPhaseBackPropVReg",
        BOTH,
        crate::advanced_phase_back_prop_v_reg::run,
    )
    .in_profiles(Profiles::PTXAS)
    .through_backend(Hooks::BACK_COPY_PROPAGATION)
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        83,
        "OriBackCopyPropagate",
        BOTH,
        crate::ori_back_copy_propagate::run,
    )
    .in_profiles(Profiles::PTXAS)
    .through_backend(Hooks::BACK_COPY_PROPAGATION)
    .keeping(Analyses::CONTROL_FLOW),
    ori_perform_live_dead(84, "OriPerformLiveDeadFourth"),
    ori_copy_prop(Stage::Late, "OriCopyPropLate", Profiles::PTXAS),
    phase(
        95,
        "SetAfterLegalization",
        BOTH,
        crate::set_after_legalization::run,
    )
    .in_profiles(Profiles::PTXAS)
    .keeping(Analyses::all()),
    Phase::new(
        "ScheduleForPressure",
        Stage::Late,
        BOTH,
        crate::schedule_for_pressure::run,
    )
    .keeping(Analyses::CONTROL_FLOW),
    Phase::new(
        "ReorderInstructions",
        Stage::Late,
        BOTH,
        crate::reorder_instructions::run,
    )
    .keeping(Analyses::CONTROL_FLOW),
    phase(
        108,
        "OptimizeHotColdInLoop",
        BOTH,
        crate::optimize_hot_cold_in_loop::run,
    )
    .needing(Analyses::CONTROL_FLOW),
    phase(
        109,
        "OptimizeHotColdFlow",
        BOTH,
        crate::optimize_hot_cold_flow::run,
    ),
    phase(
        112,
        "PlaceBlocksInSourceOrder",
        BOTH,
        crate::place_blocks_in_source_order::run,
    ),
    phase(
        138,
        "OriSplitHighPressureLiveRanges",
        BOTH,
        crate::ori_split_high_pressure_live_ranges::run,
    )
    .needing(Analyses::all())
    .keeping(Analyses::CONTROL_FLOW),
];

/// The phases in the order in which they run: those of [`PHASES`], and those that a host adds.
///
/// ```
/// use oriel_ori::Function;
/// use oriel_phases::registry::{Forms, Phase, Profiles, Registry};
/// use oriel_phases::{PhaseContext, PhaseResult};
/// use oriel_engine::snapshot::abi::Stage;
///
/// /// Counts the instructions of each function.
/// static COUNT_INSTRUCTIONS: Phase =
///     Phase::new("CountInstructions", Stage::Ssa, Forms::all(), count_instructions).in_profiles(Profiles::all());
///
/// fn count_instructions(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
///     let blocks = function.blocks().iter();
///     let instructions: usize = blocks.map(|&block| function.instructions(block).count()).sum();
///     context.count("instructions", instructions as u64);
///     PhaseResult::Unchanged
/// }
///
/// let mut registry = Registry::default();
/// registry.insert_after("GvnCse", &COUNT_INSTRUCTIONS)?;
/// assert!(registry.insert_after("GvnCse", &COUNT_INSTRUCTIONS).is_err());
/// # Ok::<(), oriel_phases::registry::RegistryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    phases: Vec<&'static Phase>,
}

/// Why a phase cannot be added to a [`Registry`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The phase to insert it beside does not exist.
    #[error("there is no phase '{0}'")]
    NoSuchPhase(String),
    /// Its name is not unique.
    #[error("phase '{0}' exists already")]
    SameName(&'static str),
    /// It does not accept the form of its stage.
    #[error("phase '{0}' does not accept the form of functions at its stage")]
    WrongForm(&'static str),
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            phases: PHASES.iter().collect(),
        }
    }
}

impl Registry {
    /// True if a host has added the phase.
    pub fn is_added(phase: &'static Phase) -> bool {
        !PHASES.as_ptr_range().contains(&std::ptr::from_ref(phase))
    }

    /// Returns the phases, in order.
    pub fn phases(&self) -> impl Iterator<Item = &'static Phase> + '_ {
        self.phases.iter().copied()
    }

    /// Adds a phase directly before another, or before the first of a group.
    ///
    /// # Errors
    /// The other phase does not exist, the name is not unique, or the phase does not accept the
    /// form of its stage.
    pub fn insert_before(&mut self, other: &str, phase: &'static Phase) -> Result<(), RegistryError> {
        let position = self.phases().position(|it| it.is_named(other));
        self.insert(position, other, phase)
    }

    /// Adds a phase directly after another, or after the last of a group.
    ///
    /// # Errors
    /// As [`Registry::insert_before`].
    pub fn insert_after(&mut self, other: &str, phase: &'static Phase) -> Result<(), RegistryError> {
        let position = self.phases.iter().rposition(|it| it.is_named(other));
        self.insert(position.map(|position| position + 1), other, phase)
    }

    fn insert(
        &mut self,
        position: Option<usize>,
        other: &str,
        phase: &'static Phase,
    ) -> Result<(), RegistryError> {
        let position = position.ok_or_else(|| RegistryError::NoSuchPhase(other.to_owned()))?;
        if let Some(same) = self.phases().find(|it| it.is_named(phase.name)) {
            return Err(RegistryError::SameName(same.name));
        }
        if !phase.forms.contains(Forms::at(phase.stage)) {
            return Err(RegistryError::WrongForm(phase.name));
        }
        self.phases.insert(position, phase);
        Ok(())
    }
}

/// Creates a row for a test.
#[cfg(test)]
pub(crate) const fn test_phase(run: Run) -> Phase {
    Phase::new("test", Stage::Ssa, BOTH, run)
}

/// Returns the phases with a name; several for a group.
pub fn named(name: &str) -> impl Iterator<Item = &'static Phase> + '_ {
    PHASES.iter().filter(move |phase| phase.is_named(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers() {
        assert!(PHASES.iter().filter_map(|phase| phase.number).is_sorted());
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

    fn nothing(_: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
        PhaseResult::Unchanged
    }

    static ONE: Phase = Phase::new("One", Stage::Ssa, Forms::SSA, nothing);
    static OTHER: Phase = Phase::new("Other", Stage::Late, Forms::LATE, nothing);
    static MISPLACED: Phase = Phase::new("Misplaced", Stage::Late, Forms::SSA, nothing);
    static TAKEN: Phase = Phase::new("oriperformlivedead", Stage::Ssa, Forms::SSA, nothing);

    #[test]
    fn hosts_put_phases_of_their_own_beside_others() {
        let mut registry = Registry::default();
        registry.insert_after("OriPerformLiveDead", &ONE).unwrap();
        registry.insert_before("oriperformlivedead", &OTHER).unwrap();
        let names: Vec<&str> = registry.phases().map(|phase| phase.name).collect();
        let place = |name| names.iter().position(|&it| it == name).unwrap();
        assert_eq!(place("One"), place("OriPerformLiveDeadFourth") + 1);
        assert_eq!(place("Other") + 1, place("OriPerformLiveDeadFirst"));
        assert_eq!(names.len(), PHASES.len() + 2);
        assert_eq!(registry.select("other,ONE").unwrap().len(), 2);
        for (other, phase, problem) in [
            ("GvnCse", &ONE, "phase 'One' exists already"),
            ("GvnCse", &TAKEN, "phase 'OriPerformLiveDeadFirst' exists already"),
            (
                "GvnCse",
                &MISPLACED,
                "phase 'Misplaced' does not accept the form of functions at its stage",
            ),
            ("Gvn", &ONE, "there is no phase 'Gvn'"),
        ] {
            let error = registry.insert_after(other, phase).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
        assert_eq!(registry.phases().count(), names.len());
    }

    #[test]
    fn phases_accept_the_form_of_their_stage() {
        for phase in PHASES.iter().filter(|phase| phase.run.is_some()) {
            assert!(phase.forms.contains(Forms::at(phase.stage)), "{}", phase.name);
        }
    }
}
