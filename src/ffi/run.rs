//! One function at one stage: takes a snapshot and returns a plan.

use super::capture;
use super::host::{OrielHost, OrielRemark};
use super::records::{OrielPlan, OrielSnapshot};
use super::report::{Analysis, wants_analysis, wants_hash};
use super::stages::AtSsa;
use super::text::OrielSink;
use crate::guard::guarded;
use crate::options::{self, FunctionHash, Mode, Options, RolledLoops};
use crate::phases::{Remark, RemarkKind, StageEffects};
use crate::pipeline::{self, Host, PipelineError, StageResult};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Stage;
use crate::validate::validate_snapshots;
use cpu_time::ThreadTime;
use std::sync::Arc;
use std::time::Duration;

/// `OrielDirectives`.
#[repr(C)]
pub struct OrielDirectives {
    sets_min_blocks: u32,
    removes_min_blocks: u32,
    max_registers: u32,
    has_rolled_loops: u32,
    spills_to_shared: u32,
}

const _: () = assert!(size_of::<OrielDirectives>() == 20);

/// `OrielRun`: the library's work on one function at one stage.
pub struct OrielRun {
    pub(super) options: Arc<Options>,
    /// The pipeline's result for the function.
    pub(super) result: StageResult,
    /// The pointers to its plan for the shim.
    plan: Option<OrielPlan>,
    /// Why the snapshot could not be written.
    pub(super) snapshot_problem: Option<String>,
    pub(super) library_time: Duration,
    pub(super) wants_remarks: bool,
    pub(super) wants_analysis: bool,
    pub(super) hash: Option<FunctionHash>,
    pub(super) analysis: Analysis,
    /// At stage `ssa`: the data for the late stage.
    pub(super) for_late_stage: Option<AtSsa>,
    /// At the late stage: the effects of the phases at stage `ssa`.
    pub(super) earlier_effects: Option<StageEffects>,
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_begin(
    snapshot: &OrielSnapshot,
    has_pressure: u32,
    host: &OrielHost,
    problem: OrielSink,
    unsupported: OrielSink,
    warning: OrielSink,
) -> Option<Box<OrielRun>> {
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let view = unsafe { snapshot.view() };
    guarded(|| begin(view, has_pressure != 0, host, problem, unsupported, warning)).unwrap_or_else(
        |message| {
            problem.send(&message);
            None
        },
    )
}

fn begin(
    view: Snapshot<'_>,
    has_pressure: bool,
    host: &OrielHost,
    problem: OrielSink,
    unsupported: OrielSink,
    warning: OrielSink,
) -> Option<Box<OrielRun>> {
    let start = ThreadTime::now();
    let given = options::options_in_force().ok()?;
    capture::note(&view);
    let is_late = view.stage() == Stage::Late;
    let mut at_ssa = match is_late {
        true => host.take_from_ssa(&given),
        false => None,
    };
    let earlier_effects = at_ssa.as_mut().and_then(|earlier| earlier.effects.take());
    let is_left_alone = match is_late || !has_pressure {
        true => at_ssa.as_ref().and_then(|earlier| earlier.is_left_alone),
        false => Some(false),
    };
    let hash = (!is_late && wants_hash(&given)).then(|| host.function_hash());
    let (options, tuned) = match at_ssa {
        Some(earlier) => (earlier.options, None),
        None => own_options(&view, &given, hash),
    };
    // First, so that what goes wrong then can be reported with it.
    let snapshot_problem = guarded(|| save_snapshot(&view, &options)).flatten().err();
    let mut result = StageResult::default();
    match guarded(|| decide(&view, &options, is_left_alone, host, &mut result)) {
        Ok(Ok(())) => {}
        Ok(Err(PipelineError::Unsupported(reason))) => unsupported.send(&reason.to_string()),
        Ok(Err(PipelineError::Failure(message))) | Err(message) => problem.send(&message),
    }
    for text in &result.warnings {
        warning.send(text);
    }
    result.remarks.extend(tuned);
    let for_late_stage = (!is_late).then(|| AtSsa::new(&view, given, options.clone(), result.is_left_alone));
    Some(Box::new(OrielRun {
        plan: result.plan.as_ref().map(OrielPlan::of),
        result,
        snapshot_problem,
        library_time: start.elapsed(),
        wants_remarks: host.wants_remarks(),
        wants_analysis: wants_analysis(&view, &options, host),
        options,
        hash,
        analysis: Analysis::default(),
        for_late_stage,
        earlier_effects,
    }))
}

/// Makes the plan of a function, by an extension or by the phases.
fn decide(
    snapshot: &Snapshot<'_>,
    options: &Options,
    is_left_alone: Option<bool>,
    host: &OrielHost,
    result: &mut StageResult,
) -> Result<(), PipelineError> {
    match options.planner() {
        Some(extension) => result.plan = extension.plan(snapshot)?,
        None => pipeline::run(snapshot, options, is_left_alone, host, result)?,
    }
    Ok(())
}

/// Writes a function to its file, if that is requested.
fn save_snapshot(snapshot: &Snapshot<'_>, options: &Options) -> Result<(), String> {
    let Some(directory) = &options.snapshot_directory else {
        return Ok(());
    };
    let path = directory.join(snapshot.file_name());
    snapshot
        .save(&path)
        .map_err(|error| format!("the snapshot cannot be written: {}: {error}", path.display()))
}

/// Returns the options of a function at stage `ssa`: the given options, overridden by those that
/// the file of tuned options has for it. If there is such a file, a remark reports the result.
fn own_options(
    snapshot: &Snapshot<'_>,
    given: &Arc<Options>,
    hash: Option<FunctionHash>,
) -> (Arc<Options>, Option<Remark>) {
    let tuned = given.tuned.as_ref().filter(|_| given.mode == Mode::Optimize);
    let (Some(tuned), Some(hash)) = (tuned, hash) else {
        return (given.clone(), None);
    };
    let remark = |kind, name, message| Remark {
        kind,
        phase: "tuned",
        name,
        instruction: None,
        message,
    };
    let (sm, path) = (snapshot.function().sm, tuned.path().display());
    let Some(function) = tuned.get(sm, hash) else {
        let is_stale = tuned.knows_name(sm, &snapshot.name());
        let message = || format!("the code is no longer what {path} was made for; run oriel tune again");
        let stale = is_stale.then(|| remark(RemarkKind::Missed, "NotTuned", message()));
        return (given.clone(), stale);
    };
    let mut options = Options::clone(given);
    options
        .set_all(&function.flags)
        .expect("the file's options were checked when it was read");
    let message = format!("compiled with {} from {path}", function.flags);
    let remark = remark(RemarkKind::Passed, "Tuned", message);
    (Arc::new(options), Some(remark))
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_plan(run: &OrielRun) -> Option<&OrielPlan> {
    run.plan.as_ref()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_directives(run: &OrielRun) -> OrielDirectives {
    let directives = &run.result.directives;
    OrielDirectives {
        sets_min_blocks: directives.sets_min_blocks.into(),
        removes_min_blocks: directives.removes_min_blocks.into(),
        max_registers: directives.max_registers.unwrap_or(0),
        has_rolled_loops: (directives.rolled_loops != RolledLoops::None).into(),
        spills_to_shared: directives.spills_to_shared.into(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_keeps_rolled(run: &OrielRun, number: u32) -> u32 {
    run.result.directives.rolled_loops.contains(number).into()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_remark_count(run: &OrielRun) -> usize {
    run.result.remarks.len()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_remark(run: &OrielRun, index: usize) -> OrielRemark {
    OrielRemark::of(&run.result.remarks[index])
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_validate(
    run: &OrielRun,
    before: &OrielSnapshot,
    after: &OrielSnapshot,
    problem: OrielSink,
    warning: OrielSink,
) {
    let validation = run.options.validation();
    if validation == options::Validation::Off || run.options.planner().is_some() {
        return;
    }
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let (before, after) = unsafe { (before.view(), after.view()) };
    let proof = guarded(|| validate_snapshots(before, after));
    let (Ok(Err(doubt)) | Err(doubt)) = proof else {
        return;
    };
    match validation {
        options::Validation::Enforce => problem.send(&doubt),
        _ => warning.send(&format!("the validator cannot prove the result: {doubt}")),
    }
}
