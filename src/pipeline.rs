//! The steps for one function at one stage.

mod directives;
mod messages;
pub(crate) mod steps;

pub use directives::Directives;

use crate::file::write_in_one_step;
use crate::live::LiveIntervals;
use crate::options::{MinBlocks, Options, Phases, Printing, Validation};
use crate::ori::analysis::{
    AsynchronousUses, asynchronous_register_user, asynchronous_registers, undefined_value_read,
};
use crate::ori::machine::{ImportError, from_machine, to_machine};
use crate::ori::{ControlFlow, Function, Liveness, PrintOptions};
use crate::phases::never_worse::{self, Cost, weighted_instructions};
use crate::phases::registry::Phase;
use crate::phases::{Manager, PhaseOptions, PhaseResult, Remark, StageEffects, Statistics};
use crate::plan::Plan;
use crate::report::wants_min_blocks;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{FunctionFlags, Stage};
use crate::validate::{Subject, Validator};
use serde::Serialize;
use std::borrow::Cow;
use std::rc::Rc;
use steps::{Measured, Steps, need_live_ranges};

/// The result for a function.
#[derive(Debug, Default)]
pub struct StageResult {
    /// The changes to the function; none if it stays unchanged.
    pub plan: Option<Plan>,
    /// The original function in Ori, if it was imported and not changed, for later uses of the same
    /// snapshot.
    pub unchanged: Option<Function>,
    /// The live intervals of the snapshot, if a warning needed them and the function is unchanged.
    pub intervals: Option<LiveIntervals>,
    /// The phases' counters.
    pub statistics: Statistics,
    /// The phases' remarks.
    pub remarks: Vec<Remark>,
    /// The phases' effects on size and pressure, if [`Options::phase_effects`] is set.
    pub effects: Option<StageEffects>,
    /// Warnings about the original function.
    pub warnings: Vec<String>,
    /// Why a file on the function could not be written. The code does not depend on it.
    pub output_problem: Option<String>,
    /// The directives for ptxas.
    pub directives: Directives,
    /// Whether the profile left the function alone, if that was decided.
    pub is_left_alone: Option<bool>,
    /// True if a phase changed the function and the change was kept.
    pub is_changed: bool,
    /// The validator's result, if it ran: a proof, or its doubt.
    pub validation: Option<Result<(), String>>,
}

/// The result of running phases on a function outside LLVM.
#[derive(Debug, Serialize)]
pub struct PhaseRun {
    /// The function after the phases.
    #[serde(skip)]
    pub function: Function,
    /// True if a phase changed it and the change was kept.
    #[serde(rename = "changed")]
    pub is_changed: bool,
    /// The effects and counters of each phase.
    #[serde(flatten)]
    pub effects: StageEffects,
    /// The remarks of the phases.
    pub remarks: Vec<Remark>,
}

/// The interface to the host while phases run.
pub trait Host {
    /// True if remarks are requested.
    fn wants_remarks(&self) -> bool;
    /// True if the function, or one that it calls, may run `setmaxnreg`: its warps then take their
    /// registers from those that it has at entry, so no directive may change their number.
    fn may_exchange_registers(&self) -> bool;
    /// Called before a phase runs.
    fn phase_begins(&self, phase: &Phase);
    /// Called after the phase has run.
    fn phase_ended(&self);
}

/// Why a function stays unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineError {
    /// Ori cannot represent the function, which is not an error.
    Unsupported(ImportError),
    /// An error to report to the user.
    Failure(String),
}

impl From<String> for PipelineError {
    fn from(message: String) -> Self {
        Self::Failure(message)
    }
}

/// Processes a function. `is_left_alone` says whether the profile leaves it alone, if that is
/// decided already. `result` must be empty.
///
/// # Errors
/// The function's code stays unchanged. `result` has the directives and remarks, which do not
/// depend on Ori.
pub fn run(
    snapshot: &Snapshot<'_>,
    options: &Options,
    is_left_alone: Option<bool>,
    host: &impl Host,
    result: &mut StageResult,
) -> Result<(), PipelineError> {
    let mut steps = Steps::of(snapshot, options, is_left_alone);
    result.is_left_alone = Some(steps.is_left_alone);
    result.directives = Directives::of(snapshot, options, host, &mut result.remarks);
    if steps.is_left_alone && is_left_alone.is_none() && host.wants_remarks() {
        result.remarks.push(messages::left_alone());
    }
    if !steps.need_function() {
        return Ok(());
    }
    let mut function = import(snapshot)?;
    let intervals;
    (result.warnings, intervals) = steps.analyze(&function, snapshot);
    let change = match steps.optimizes {
        true => optimize(&mut function, snapshot, options, &mut steps, host, result)?,
        false => Change::None,
    };
    result.output_problem = write_dot(&function, snapshot, options).err();
    let is_sure = || options.min_blocks() == MinBlocks::Always || wants_min_blocks(snapshot, &function);
    if steps.may_set_min_blocks && is_sure() {
        result.directives.sets_min_blocks = !host.may_exchange_registers();
        result.remarks.push(match result.directives.sets_min_blocks {
            true => messages::min_blocks_set(),
            false => messages::exchanges_registers(".minnctapersm"),
        });
    }
    match change {
        Change::None => {
            result.intervals = intervals;
            result.unchanged = Some(function);
        }
        Change::Kept => result.plan = Some(plan(&function, snapshot)?),
    }
    Ok(())
}

/// Runs the phases that the options request on a snapshot's function. Options for printing and
/// reports have no effect.
///
/// # Errors
/// Ori cannot represent the function, or a phase left one that the verifier or LLVM would refuse.
pub fn run_phases(snapshot: &Snapshot<'_>, options: &Options) -> Result<PhaseRun, PipelineError> {
    /// A host that only collects remarks.
    struct Listener;
    impl Host for Listener {
        fn wants_remarks(&self) -> bool {
            true
        }
        fn may_exchange_registers(&self) -> bool {
            false
        }
        fn phase_begins(&self, _: &Phase) {}
        fn phase_ended(&self) {}
    }
    let options = Options {
        phase_effects: true,
        printing: Printing::default(),
        ..options.clone()
    };
    let mut function = import(snapshot)?;
    let mut result = StageResult::default();
    let mut steps = Steps::of(snapshot, &options, None);
    let change = optimize(
        &mut function,
        snapshot,
        &options,
        &mut steps,
        &Listener,
        &mut result,
    )?;
    if change == Change::Kept {
        // LLVM must be able to accept it.
        plan(&function, snapshot)?;
    }
    let effects = result.effects.ok_or_else(|| "no phase was measured".to_owned())?;
    Ok(PhaseRun {
        function,
        is_changed: result.is_changed,
        effects,
        remarks: result.remarks,
    })
}

/// Converts a function to Ori.
fn import(snapshot: &Snapshot<'_>) -> Result<Function, PipelineError> {
    from_machine(snapshot).map_err(PipelineError::Unsupported)
}

/// Converts a function in Ori to a plan.
fn plan(function: &Function, snapshot: &Snapshot<'_>) -> Result<Plan, PipelineError> {
    to_machine(function, snapshot)
        .map_err(|error| PipelineError::Failure(format!("no machine code: {error}")))
}

/// The result of optimising a function in Ori.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// LLVM keeps its original function, and the function in Ori equals it again.
    None,
    /// LLVM gets the function in Ori.
    Kept,
}

/// Runs the phases on a function and judges the result. If the change is reverted, the function is
/// the original one again.
fn optimize(
    function: &mut Function,
    snapshot: &Snapshot<'_>,
    options: &Options,
    steps: &mut Steps,
    host: &impl Host,
    result: &mut StageResult,
) -> Result<Change, PipelineError> {
    let is_profile = options.phases == Phases::Profile;
    let budget = options.phase_options.register_budget;
    let phase_options = PhaseOptions {
        optimization_level: snapshot.function().optimization_level,
        ..options.phase_options.clone()
    };
    let mut manager = Manager::new(&phase_options, host.wants_remarks());
    let weighted_before = if is_profile {
        weighted_instructions(function, &manager.control_flow(function))
    } else {
        0.0
    };
    let measured = steps.measured.take();
    let (phases, obstacle) = phases_without_obstacle(function, &steps.phases, &mut manager);
    let mut excess_before = None;
    if need_live_ranges(&phases) {
        let measured = measured.unwrap_or_else(|| Measured::of(snapshot));
        let excess = measured.excess(snapshot, budget);
        if manager.know_live_ranges(function, measured.intervals) && options.verify {
            verify_excess(function, &mut manager, budget, excess)?;
        }
        excess_before = Some(excess);
    }
    let is_changed = run_listed(
        function,
        options,
        &phases,
        &mut manager,
        host,
        &mut result.effects,
    )?;
    let weighted_before = weighted_before + manager.allowance();
    let after = (is_profile && is_changed).then(|| {
        let flow = manager.control_flow(function);
        let (is_known, liveness) = (manager.has_current_liveness(), || manager.liveness(function));
        Cost::of(function, &flow, budget, is_known, liveness)
    });
    let remarks;
    (result.statistics, remarks) = manager.finish();
    result.remarks.extend(remarks);
    result.remarks.extend(obstacle);
    result.is_changed = is_changed;
    if let Some(effects) = &mut result.effects {
        effects.add_statistics(&result.statistics);
    }
    if is_profile {
        let Some(after) = after else {
            return Ok(Change::None);
        };
        if let Some(reason) = worsening(weighted_before, excess_before, after, snapshot, options) {
            result.is_changed = false;
            result.remarks.push(messages::taken_back(&reason));
            if let Some(effects) = &mut result.effects {
                effects.taken_back = Some(reason);
            }
            *function = import(snapshot)?;
            return Ok(Change::None);
        }
    }
    validate(function, snapshot, options, result)
}

/// Returns the phases that may change the function, and a remark on why the others may not; none for
/// most functions.
fn phases_without_obstacle<'a>(
    function: &Function,
    phases: &'a [&'static Phase],
    manager: &mut Manager<'_>,
) -> (Cow<'a, [&'static Phase]>, Option<Remark>) {
    if phases.is_empty() {
        return (Cow::Borrowed(phases), None);
    }
    // Machine IR that somebody else made may be in another form than LLVM's own at this stage.
    let info = &function.info;
    if info.stage == Stage::Ssa && !info.flags.contains(FunctionFlags::SSA) {
        return (Cow::Borrowed(&[]), Some(messages::several_definitions()));
    }
    // Phases may read such a register more often than LLVM's function does.
    if let Some(register) = undefined_value_read(function) {
        return (Cow::Borrowed(&[]), Some(messages::undefined_value(register)));
    }
    // Most phases may move instructions to where registers are in use, or copy such a register there.
    if manager.asynchronous_registers(function).is_empty() {
        return (Cow::Borrowed(phases), None);
    }
    let sparing: Vec<_> = phases
        .iter()
        .copied()
        .filter(|phase| phase.spares_asynchronous_registers)
        .collect();
    let left_out = sparing.len() < phases.len();
    let user = asynchronous_register_user(function).filter(|_| left_out);
    let remark = user.map(|user| messages::asynchronous_registers(user, &sparing));
    (Cow::Owned(sparing), remark)
}

/// Validates a function that may have changed, and reverts the change if the options demand a proof
/// and there is none.
fn validate(
    function: &mut Function,
    snapshot: &Snapshot<'_>,
    options: &Options,
    result: &mut StageResult,
) -> Result<Change, PipelineError> {
    let validation = options.validation();
    if validation == Validation::Off || !result.is_changed {
        return Ok(Change::Kept);
    }
    let before = import(snapshot)?;
    let subject = |function| Subject {
        function,
        snapshot: Some(*snapshot),
    };
    let proof = Validator::default().validate(subject(&before), subject(function));
    let proof = proof.map_err(|doubt| doubt.describe(&before, function));
    result.validation = Some(proof.clone());
    let Err(doubt) = proof else {
        return Ok(Change::Kept);
    };
    if validation == Validation::Check {
        result
            .warnings
            .push(format!("the validator cannot prove the change: {doubt}"));
        return Ok(Change::Kept);
    }
    result.is_changed = false;
    result.remarks.push(messages::not_proved(&doubt));
    if let Some(effects) = &mut result.effects {
        effects.taken_back = Some(format!("the validator cannot prove the change: {doubt}"));
    }
    *function = before;
    Ok(Change::None)
}

/// Returns why a function costs more than the original one. The weighted instructions of the original
/// are known, and perhaps its excess pressure.
fn worsening(
    weighted_before: f64,
    excess_before: Option<u32>,
    after: Cost,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Option<String> {
    let before = Cost {
        weighted_instructions: weighted_before,
        // Pressure within the budget cannot be worse. Otherwise, which is rare, the original
        // function is measured, if it was not: measuring all functions beforehand would take time.
        excess_pressure: match (after.excess_pressure, excess_before) {
            (0, _) => 0,
            (_, Some(excess)) => excess,
            (_, None) => Measured::of(snapshot).excess(snapshot, options.phase_options.register_budget),
        },
    };
    after.worse_than(before)
}

/// Runs the phases on a function, and measures their effects if requested. Returns whether one
/// changed it.
fn run_listed(
    function: &mut Function,
    options: &Options,
    phases: &[&'static Phase],
    manager: &mut Manager<'_>,
    host: &impl Host,
    effects: &mut Option<StageEffects>,
) -> Result<bool, PipelineError> {
    let printing = &options.printing;
    let print = |function: &Function, when: &str, phase: &str| {
        let text = function.display(PrintOptions::default());
        eprint!("// {when} {phase}\n{text}");
    };
    if options.phase_effects {
        *effects = Some(StageEffects::new(function.info.stage, function, manager));
    }
    let mut is_changed = false;
    let registers = options.verify.then(|| asynchronous_registers(function));
    let in_background = registers
        .filter(|registers| !registers.is_empty())
        .map(|registers| {
            let uses = AsynchronousUses::of(function, &registers);
            (registers, uses)
        });
    for (number, &phase) in phases.iter().enumerate() {
        if options.verify && number == 0 {
            verify(function, "LLVM made it")?;
        }
        if printing.before.contains(&phase) {
            print(function, "before", phase.name);
        }
        manager.prepare(phase, function);
        host.phase_begins(phase);
        let result = manager.run(phase, function);
        host.phase_ended();
        is_changed |= result == PhaseResult::Changed;
        if let Some(effects) = effects {
            effects.note(phase, result, function, manager);
        }
        if printing.after_all || printing.after.contains(&phase) {
            print(function, "after", phase.name);
        }
        if options.verify {
            verify(function, &format!("{} left it", phase.name))?;
            manager.check_analyses(phase, function)?;
        }
        if let Some((registers, uses)) = &in_background
            && *uses != AsynchronousUses::of(function, registers)
        {
            return Err(PipelineError::Failure(format!(
                "{} touched registers that an instruction uses in the background",
                phase.name
            )));
        }
    }
    Ok(is_changed)
}

/// Checks that LLVM's function and the function in Ori have the same excess pressure by their
/// intervals, since the guard compares one with the other.
fn verify_excess(
    function: &Function,
    manager: &mut Manager<'_>,
    budget: u32,
    excess: u32,
) -> Result<(), PipelineError> {
    let liveness = || Rc::new(Liveness::compute(function, &manager.control_flow(function)));
    let of_ori = never_worse::excess_pressure(function, budget, false, liveness);
    if of_ori != excess {
        let message = format!("the excess pressure is {excess} by LLVM's intervals and {of_ori} by Ori's");
        return Err(message.into());
    }
    Ok(())
}

/// Runs Ori's verifier on a function.
fn verify(function: &Function, state: &str) -> Result<(), PipelineError> {
    match function.verify().first() {
        None => Ok(()),
        Some(finding) => Err(PipelineError::Failure(format!(
            "Ori's verifier refuses the function as {state}: {}",
            finding.display(function)
        ))),
    }
}

fn write_dot(function: &Function, snapshot: &Snapshot<'_>, options: &Options) -> Result<(), String> {
    let Some(directory) = &options.dot_directory else {
        return Ok(());
    };
    let path = directory.join(snapshot.file_name()).with_extension("dot");
    let flow = ControlFlow::analyze(function, options.phase_options.traversal);
    let mut text = String::new();
    flow.print_dot(function, &mut text)
        .expect("writing to a string does not fail");
    write_in_one_step(&path, text.as_bytes())
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Register;
    use crate::ori::{Operand, parse_function};
    use crate::phases::registry::Forms;
    use crate::phases::{PhaseContext, Selected};
    use crate::snapshot::sample;

    struct Silent;

    impl Host for Silent {
        fn wants_remarks(&self) -> bool {
            false
        }
        fn may_exchange_registers(&self) -> bool {
            false
        }
        fn phase_begins(&self, _: &Phase) {}
        fn phase_ended(&self) {}
    }

    /// Lets the sample's loop start at one.
    fn start_at_one(function: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
        let start = function.first(function.entry()).expect("the sample has a move");
        let one = Operand::immediate(1).expect("it fits");
        function.set_source(start, 0, one);
        PhaseResult::Changed
    }

    /// Lets the last sum read matrix A instead of a constant.
    fn read_matrix(function: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
        let sum = function.unique_definition(Register::from_u32(4));
        let matrix = function.register_operand(Register::from_u32(1));
        function.set_source(sum.expect("it is there"), 1, matrix);
        PhaseResult::Changed
    }

    #[test]
    fn verification_finds_a_phase_that_touches_registers_in_use_in_the_background() {
        static WRONG: Phase =
            Phase::new("ReadMatrix", Stage::Ssa, Forms::SSA, read_matrix).sparing_asynchronous_registers();
        // The words before the operands are LLVM's, of one register that is written and one that is read.
        let text = "kernel \"k\" sm_90a ssa {\nbix0:\n    %1:R32 = LD.global.b32 [0]\n    %3:R32 = LD.global.b32 [4]\n    \
                    %2:R32 = ASM &\"wgmma.mma_async\", 1, 10, 9, %1\n    %4:R32 = IADD.b32 %3, 1\n    RET\n}\n";
        let run = |verify| {
            let mut function = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
            let options = Options {
                verify,
                ..Options::default()
            };
            let mut manager = Manager::new(&options.phase_options, false);
            let changed = run_listed(
                &mut function,
                &options,
                &[&WRONG],
                &mut manager,
                &Silent,
                &mut None,
            );
            changed.map_err(|error| format!("{error:?}"))
        };
        assert_eq!(run(false), Ok(true));
        let error = run(true).expect_err("the sum reads matrix A");
        assert!(error.contains("ReadMatrix touched registers"), "{error}");
    }

    #[test]
    fn a_change_that_is_not_proved_leaves_the_original_function() {
        static WRONG: Phase = Phase::new("StartAtOne", Stage::Ssa, Forms::SSA, start_at_one);
        let snapshot = sample::counting_loop();
        let view = snapshot.view();
        let mut options = Options {
            phases: Phases::Listed(vec![Selected {
                phase: &WRONG,
                stage: Stage::Ssa,
            }]),
            validate: Some(Validation::Enforce),
            ..Options::default()
        };
        options
            .registry
            .insert_after("GvnCse", &WRONG)
            .expect("its name is new");
        let original = import(&view).expect("Ori represents it").to_string();
        let mut result = StageResult::default();
        run(&view, &options, None, &Silent, &mut result).expect("the phase runs");
        assert!(matches!(result.validation, Some(Err(_))), "{result:?}");
        assert!(result.plan.is_none() && !result.is_changed);
        let left = result.unchanged.expect("the original is at hand");
        assert_eq!(left.to_string(), original);
        let run = run_phases(&view, &options).expect("the phase runs");
        assert_eq!(run.function.to_string(), original);
    }
}
