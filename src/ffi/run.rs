//! One function at one stage: takes a snapshot, returns a plan, and reports at the end.

use super::capture;
use super::host::{OrielCodeRemark, OrielHost, OrielRemark, OrielRemarkPiece};
use super::records::{OrielPlan, OrielSnapshot, PlanResult};
use super::stages::AtSsa;
use super::text::{OrielSink, OrielText};
use crate::entity::Instruction;
use crate::guard::guarded;
use crate::live::LiveRangeCalc;
use crate::options::{self, FunctionHash, Mode, Options, RolledLoops};
use crate::ori::machine::from_machine;
use crate::phases::{Remark, RemarkKind, StageEffects};
use crate::pipeline::{self, Host, PipelineError, StageResult};
use crate::report::page::{CompiledFunction, add_to_shared_page};
use crate::report::pressure::FunctionPressure;
use crate::report::{self, CodeFigures, CodeRemark, FunctionReport, PhaseTimes, PlanOutcome, Validation};
use crate::snapshot::abi::{RegisterFlags, RegisterRecord, Stage};
use crate::snapshot::{OwnedSnapshot, Snapshot};
use crate::validate::validate_snapshots;
use cpu_time::ThreadTime;
use std::sync::Arc;
use std::time::Duration;

/// `OrielOutcome`.
#[repr(C)]
pub struct OrielOutcome {
    result: PlanResult,
    export_ns: u64,
    apply_ns: u64,
    analysis_ns: u64,
    problem: OrielText,
}

const _: () = assert!(size_of::<OrielOutcome>() == 48);

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
    options: Arc<Options>,
    /// The pipeline's result for the function.
    result: StageResult,
    /// The pointers to its plan for the shim.
    plan: Option<OrielPlan>,
    /// Why the snapshot could not be written.
    snapshot_problem: Option<String>,
    library_time: Duration,
    wants_remarks: bool,
    wants_analysis: bool,
    hash: Option<FunctionHash>,
    /// The figures of the code that LLVM received.
    figures: Option<CodeFigures<'static>>,
    code_remarks: Vec<CodeRemark>,
    /// The code that LLVM received, if it is needed for a page.
    code: Option<OwnedSnapshot>,
    /// At stage `ssa`: the data for the late stage.
    for_late_stage: Option<AtSsa>,
    /// At the late stage: the effects of the phases at stage `ssa`.
    earlier_effects: Option<StageEffects>,
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
        figures: None,
        code_remarks: Vec::new(),
        code: None,
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

/// True if the figures are requested and this is the code that goes to ptxas.
fn wants_analysis(snapshot: &Snapshot<'_>, options: &Options, host: &impl Host) -> bool {
    snapshot.stage() == Stage::Late
        && (wants_line(options)
            || host.wants_remarks()
            || options.warns_of_launch_bounds(snapshot)
            || wants_code(options))
}

/// True if the report's line is requested.
fn wants_line(options: &Options) -> bool {
    options.report.is_some() || capture::wants_compilation()
}

/// True if the function's hash is needed. With `-oriel=analyze` it is not, since no function gets
/// options of its own; computing it in LLVM would take a tenth of the report's time.
fn wants_hash(options: &Options) -> bool {
    let is_used = options.tuned.is_some() || options.report.is_some();
    capture::wants_compilation() || options.mode == Mode::Optimize && is_used
}

/// True if the code that LLVM receives is requested.
fn wants_code(options: &Options) -> bool {
    options.report_html.is_some() || capture::wants_compilation()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_wants_analysis(run: &OrielRun) -> u32 {
    u32::from(run.wants_analysis)
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_analyze(
    run: &mut OrielRun,
    snapshot: &OrielSnapshot,
    problem: OrielSink,
    warning: OrielSink,
) {
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let view = unsafe { snapshot.view() };
    let analyzed = guarded(|| {
        // An unchanged function is analysed from its original snapshot.
        let intervals = run.result.intervals.take();
        let intervals = intervals.unwrap_or_else(|| LiveRangeCalc::shared(|engine| engine.analyze(&view)));
        let pressure = FunctionPressure::new(view, intervals);
        let function = run
            .result
            .unchanged
            .take()
            .map_or_else(|| from_machine(&view), Ok);
        let figures = CodeFigures::new(&pressure, function.ok().as_ref());
        let remarks = match run.wants_remarks {
            true => report::code_remarks(&pressure, &figures),
            false => Vec::new(),
        };
        let warns = run.options.warns_of_launch_bounds(&view);
        let text = warns.then(|| figures.launch_bounds_warning(&view)).flatten();
        (figures.into_owned(), remarks, text)
    });
    if wants_code(&run.options) {
        run.code = Some(OwnedSnapshot::copy_of(&view));
    }
    match analyzed {
        Ok((figures, remarks, text)) => {
            (run.figures, run.code_remarks) = (Some(figures), remarks);
            if let Some(text) = text {
                warning.send(&text);
            }
        }
        Err(message) => problem.send(&message),
    }
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

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark_count(run: &OrielRun) -> usize {
    run.code_remarks.len()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark(run: &OrielRun, index: usize) -> OrielCodeRemark {
    OrielCodeRemark::of(&run.code_remarks[index])
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark_piece(run: &OrielRun, index: usize, piece: usize) -> OrielRemarkPiece {
    OrielRemarkPiece::of(&run.code_remarks[index].pieces[piece])
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_end(
    mut run: Box<OrielRun>,
    snapshot: &OrielSnapshot,
    outcome: &OrielOutcome,
    host: &OrielHost,
    problem: OrielSink,
) {
    // SAFETY: the exporter's arrays and the problem's text live until this call returns.
    let (view, text) = unsafe { (snapshot.view(), outcome.problem.as_str()) };
    let files = [run.snapshot_problem.take(), run.result.output_problem.take()];
    let mut problems: Vec<String> = files.into_iter().flatten().collect();
    if wants_line(&run.options)
        && let Ok(Err(message)) | Err(message) = guarded(|| write_line(&run, &view, outcome, &text))
    {
        problems.push(message);
    }
    if wants_code(&run.options)
        && let Ok(Err(message)) | Err(message) = guarded(|| finish_function(&mut run, &text))
    {
        problems.push(message);
    }
    if let Some(at_ssa) = run.for_late_stage {
        host.leave_to_late_stage(at_ssa);
    }
    problems.retain(|problem| host.is_new(problem));
    if !problems.is_empty() {
        problem.send(&problems.join("; "));
    }
}

/// Writes the report's line to its destinations.
fn write_line(
    run: &OrielRun,
    snapshot: &Snapshot<'_>,
    outcome: &OrielOutcome,
    problem: &str,
) -> Result<(), String> {
    let line = report::line(&function_report(run, snapshot, outcome, problem))?;
    if let Some(target) = &run.options.report {
        target.write(&line)?;
    }
    capture::note_line(&line);
    Ok(())
}

/// Passes on a function that has gone through both stages, if requested; `problem` describes an
/// error at this stage.
fn finish_function(run: &mut OrielRun, problem: &str) -> Result<(), String> {
    let mut effects = run.result.effects.take();
    if let Some(effects) = effects.as_mut().filter(|_| !problem.is_empty()) {
        effects.taken_back = Some(problem.to_owned());
    }
    if let Some(at_ssa) = &mut run.for_late_stage {
        at_ssa.effects = effects;
        return Ok(());
    }
    let Some(code) = run.code.take() else {
        return Ok(());
    };
    let earlier = run.earlier_effects.take();
    let function = CompiledFunction {
        code,
        effects: earlier.into_iter().chain(effects).collect(),
    };
    if let Some(page) = &run.options.report_html {
        add_to_shared_page(page, &function)?;
    }
    capture::note_function(function);
    Ok(())
}

fn function_report<'a>(
    run: &'a OrielRun,
    snapshot: &Snapshot<'a>,
    outcome: &OrielOutcome,
    problem: &'a str,
) -> FunctionReport<'a> {
    let instructions_in = report::count_instructions(snapshot);
    let result = match outcome.result {
        PlanResult::Unchanged => PlanOutcome::Unchanged,
        PlanResult::Identity => PlanOutcome::Identity,
        PlanResult::Changed => PlanOutcome::Changed,
        PlanResult::Failed => PlanOutcome::Failed,
    };
    let instructions_out = match &run.result.plan {
        Some(plan) if result == PlanOutcome::Changed => {
            let instructions = plan.input_instructions();
            let is_debug = |source: &Option<Instruction>| {
                source.is_some_and(|source| snapshot.instruction(source).is_debug())
            };
            instructions.filter(|source| !is_debug(source)).count()
        }
        _ => instructions_in,
    };
    let is_used = |register: &&RegisterRecord| {
        !RegisterFlags::from_bits_truncate(register.flags).contains(RegisterFlags::UNUSED)
    };
    let library_ns = run.library_time.as_nanos() as u64;
    FunctionReport {
        module: snapshot.module_name(),
        function: snapshot.name(),
        is_kernel: snapshot.is_kernel(),
        sm: snapshot.function().sm,
        ptx_version: snapshot.function().ptx_version,
        stage: snapshot.stage().name(),
        hash: run.hash.map(|hash| hash.to_string()),
        blocks: snapshot.block_count(),
        instructions_in,
        instructions_out,
        registers: snapshot.arrays().registers.iter().filter(is_used).count(),
        outcome: result,
        problem: (!problem.is_empty()).then_some(problem),
        figures: run.figures.clone(),
        validation: run.result.validation.as_ref().map(Validation::of),
        phases: &run.result.statistics,
        phase_ns: PhaseTimes(&run.result.statistics),
        export_ns: outcome.export_ns,
        library_ns,
        apply_ns: outcome.apply_ns,
        analysis_ns: outcome.analysis_ns,
        oriel_ns: outcome.export_ns + library_ns + outcome.apply_ns + outcome.analysis_ns,
    }
}
