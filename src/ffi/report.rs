//! The report on a function: the figures of the code that LLVM received, remarks, the report's line
//! and the page.
//!
//! A function needs the registers of those that it calls, which LLVM may compile after it. Its report
//! then waits for the end of the module.

use super::capture;
use super::host::{OrielCodeRemark, OrielHost, OrielRemarkPiece};
use super::records::{OrielSnapshot, PlanResult};
use super::run::OrielRun;
use super::stages::OrielStages;
use super::text::{OrielSink, OrielText};
use crate::entity::Instruction;
use crate::guard::guarded;
use crate::live::{LiveIntervals, LiveRangeCalc};
use crate::options::{Mode, Options};
use crate::pipeline::Host;
use crate::report::estimate::CallGraph;
use crate::report::page::{CompiledFunction, add_to_shared_page};
use crate::report::pressure::FunctionPressure;
use crate::report::{
    self, CodeFigures, CodeRemark, FunctionReport, OriCode, PhaseTimes, PlanOutcome, Validation,
};
use crate::snapshot::abi::{RegisterFlags, RegisterRecord, Stage};
use crate::snapshot::{OwnedSnapshot, Snapshot};
use cpu_time::ThreadTime;

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

/// The same for a report that is written later.
struct Outcome {
    result: PlanOutcome,
    export_ns: u64,
    apply_ns: u64,
    analysis_ns: u64,
    problem: String,
}

impl OrielOutcome {
    fn to_owned(&self) -> Outcome {
        Outcome {
            result: match self.result {
                PlanResult::Unchanged => PlanOutcome::Unchanged,
                PlanResult::Identity => PlanOutcome::Identity,
                PlanResult::Changed => PlanOutcome::Changed,
                PlanResult::Failed => PlanOutcome::Failed,
            },
            export_ns: self.export_ns,
            apply_ns: self.apply_ns,
            analysis_ns: self.analysis_ns,
            // SAFETY: the problem's text lives during the call that passes it.
            problem: unsafe { self.problem.as_str() }.into_owned(),
        }
    }
}

/// The analysis of the code that LLVM received.
#[derive(Default)]
pub(super) struct Analysis {
    figures: Option<CodeFigures<'static>>,
    remarks: Vec<CodeRemark>,
    /// The code, if it is needed for a page.
    code: Option<OwnedSnapshot>,
    /// Of a function that waits: what its figures are made of.
    waiting: Option<Waiting>,
    /// Of a function that has waited or still does: LLVM's code, and Oriel's outcome for it.
    held: Option<(OwnedSnapshot, Outcome)>,
}

/// A function whose figures wait for the functions that it calls.
struct Waiting {
    code: OwnedSnapshot,
    intervals: LiveIntervals,
    ori: OriCode,
}

/// True if the figures are requested and this is the code that goes to ptxas.
pub(super) fn wants_analysis(snapshot: &Snapshot<'_>, options: &Options, host: &impl Host) -> bool {
    snapshot.stage() == Stage::Late
        && (wants_every_function(options, host.wants_remarks()) || options.warns_of_launch_bounds(snapshot))
}

/// True if the figures of every function are requested, and not only those of kernels with launch
/// bounds.
fn wants_every_function(options: &Options, wants_remarks: bool) -> bool {
    wants_remarks || wants_line(options) || wants_code(options)
}

/// True if the report's line is requested.
fn wants_line(options: &Options) -> bool {
    options.report.is_some() || capture::wants_compilation()
}

/// True if the function's hash is needed. With `-oriel=analyze` it is not, since no function gets
/// options of its own; computing it in LLVM would take a tenth of the report's time.
pub(super) fn wants_hash(options: &Options) -> bool {
    let is_used = options.tuned.is_some() || options.report.is_some();
    capture::wants_compilation() || options.mode == Mode::Optimize && is_used
}

/// True if the code that LLVM receives is requested.
fn wants_code(options: &Options) -> bool {
    options.report_html.is_some() || capture::wants_compilation()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_wants_analysis(run: &OrielRun) -> u32 {
    run.wants_analysis.into()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_analyze(
    run: &mut OrielRun,
    snapshot: &OrielSnapshot,
    host: &OrielHost,
    problem: OrielSink,
    warning: OrielSink,
) {
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let view = unsafe { snapshot.view() };
    if let Err(message) = guarded(|| analyze(run, view, host, warning)) {
        problem.send(&message);
    }
    if wants_code(&run.options) {
        run.analysis.code = Some(OwnedSnapshot::copy_of(&view));
    }
}

/// Computes figures and remarks, unless they have to wait.
fn analyze(run: &mut OrielRun, view: Snapshot<'_>, host: &OrielHost, warning: OrielSink) {
    // An unchanged function is analysed from its original snapshot.
    let intervals = run.result.intervals.take();
    let intervals = intervals.unwrap_or_else(|| LiveRangeCalc::shared(|engine| engine.analyze(&view)));
    let pressure = FunctionPressure::new(view, intervals);
    let unchanged = run.result.unchanged.take();
    let ori = unchanged.map_or_else(|| OriCode::of(&view), |function| Some(OriCode::new(function)));
    let knows_callees = host.knows_module() && wants_every_function(&run.options, run.wants_remarks);
    let figures = match ori {
        Some(ori) if knows_callees => {
            let mut graph = host.stages().graph();
            ori.add_to(&mut graph, &pressure);
            let name = view.name();
            if !name.is_empty() && !graph.settle_if_complete(&name, |name| host.has_body(name)) {
                run.analysis.waiting = Some(Waiting {
                    code: OwnedSnapshot::copy_of(&view),
                    intervals: pressure.into_intervals(),
                    ori,
                });
                return;
            }
            CodeFigures::with_callees(&pressure, Some(&ori), &graph)
        }
        ori => CodeFigures::new(&pressure, ori.as_ref()),
    };
    finish_analysis(run, &pressure, figures, warning);
}

/// Makes the remarks and the warning from the figures.
fn finish_analysis(
    run: &mut OrielRun,
    pressure: &FunctionPressure<'_>,
    figures: CodeFigures<'_>,
    warning: OrielSink,
) {
    let snapshot = pressure.snapshot();
    if run.wants_remarks {
        run.analysis.remarks = report::code_remarks(pressure, &figures);
    }
    if run.options.warns_of_launch_bounds(&snapshot)
        && let Some(text) = figures.launch_bounds_warning(&snapshot)
    {
        warning.send(&text);
    }
    run.analysis.figures = Some(figures.into_owned());
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_waits(run: &OrielRun) -> u32 {
    run.analysis.waiting.is_some().into()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_hold(run: &mut OrielRun, snapshot: &OrielSnapshot, outcome: &OrielOutcome) {
    // SAFETY: the exporter's arrays live until this call returns.
    let view = unsafe { snapshot.view() };
    run.analysis.held = Some((OwnedSnapshot::copy_of(&view), outcome.to_owned()));
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_resume(
    run: &mut OrielRun,
    stages: &OrielStages,
    problem: OrielSink,
    warning: OrielSink,
) {
    let start = ThreadTime::now();
    let Some(waiting) = run.analysis.waiting.take() else {
        return;
    };
    let analyzed = guarded(|| {
        let pressure = FunctionPressure::new(waiting.code.view(), waiting.intervals);
        let mut graph = stages.graph();
        graph.settle();
        let figures = CodeFigures::with_callees(&pressure, Some(&waiting.ori), &graph);
        finish_analysis(run, &pressure, figures, warning);
    });
    if let Err(message) = analyzed {
        problem.send(&message);
    }
    if let Some((_, outcome)) = &mut run.analysis.held {
        outcome.analysis_ns += start.elapsed().as_nanos() as u64;
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark_count(run: &OrielRun) -> usize {
    run.analysis.remarks.len()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark(run: &OrielRun, index: usize) -> OrielCodeRemark {
    OrielCodeRemark::of(&run.analysis.remarks[index])
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_code_remark_piece(run: &OrielRun, index: usize, piece: usize) -> OrielRemarkPiece {
    OrielRemarkPiece::of(&run.analysis.remarks[index].pieces[piece])
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_end(
    mut run: Box<OrielRun>,
    snapshot: &OrielSnapshot,
    outcome: &OrielOutcome,
    host: &OrielHost,
    problem: OrielSink,
) {
    // SAFETY: the exporter's arrays live until this call returns.
    let view = unsafe { snapshot.view() };
    let graph = host.knows_module().then(|| host.stages().graph());
    end(
        &mut run,
        &view,
        &outcome.to_owned(),
        host.stages(),
        graph.as_deref(),
        problem,
    );
    if let Some(at_ssa) = run.for_late_stage {
        host.leave_to_late_stage(at_ssa);
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_run_end_held(mut run: Box<OrielRun>, stages: &OrielStages, problem: OrielSink) {
    if let Some((code, outcome)) = run.analysis.held.take() {
        let graph = stages.graph();
        end(&mut run, &code.view(), &outcome, stages, Some(&graph), problem);
    }
}

/// Writes what was requested about a function, whose code was `snapshot` before Oriel.
fn end(
    run: &mut OrielRun,
    snapshot: &Snapshot<'_>,
    outcome: &Outcome,
    stages: &OrielStages,
    graph: Option<&CallGraph>,
    problem: OrielSink,
) {
    let files = [run.snapshot_problem.take(), run.result.output_problem.take()];
    let mut problems: Vec<String> = files.into_iter().flatten().collect();
    if wants_line(&run.options)
        && let Ok(Err(message)) | Err(message) = guarded(|| write_line(run, snapshot, outcome))
    {
        problems.push(message);
    }
    if wants_code(&run.options)
        && let Ok(Err(message)) | Err(message) = guarded(|| finish_function(run, &outcome.problem, graph))
    {
        problems.push(message);
    }
    problems.retain(|problem| stages.is_new(problem));
    if !problems.is_empty() {
        problem.send(&problems.join("; "));
    }
}

/// Writes the report's line to its destinations.
fn write_line(run: &OrielRun, snapshot: &Snapshot<'_>, outcome: &Outcome) -> Result<(), String> {
    let line = report::line(&function_report(run, snapshot, outcome))?;
    if let Some(target) = &run.options.report {
        target.write(&line)?;
    }
    capture::note_line(&line);
    Ok(())
}

/// Passes on a function that has gone through both stages, if requested; `problem` describes an
/// error at this stage.
fn finish_function(run: &mut OrielRun, problem: &str, graph: Option<&CallGraph>) -> Result<(), String> {
    let mut effects = run.result.effects.take();
    if let Some(effects) = effects.as_mut().filter(|_| !problem.is_empty()) {
        effects.taken_back = Some(problem.to_owned());
    }
    if let Some(at_ssa) = &mut run.for_late_stage {
        at_ssa.effects = effects;
        return Ok(());
    }
    let Some(code) = run.analysis.code.take() else {
        return Ok(());
    };
    let earlier = run.earlier_effects.take();
    let function = CompiledFunction {
        code,
        effects: earlier.into_iter().chain(effects).collect(),
    };
    if let Some(page) = &run.options.report_html {
        add_to_shared_page(page, &function, graph)?;
    }
    capture::note_function(function);
    Ok(())
}

fn function_report<'a>(
    run: &'a OrielRun,
    snapshot: &Snapshot<'a>,
    outcome: &'a Outcome,
) -> FunctionReport<'a> {
    let instructions_in = report::count_instructions(snapshot);
    let instructions_out = match &run.result.plan {
        Some(plan) if outcome.result == PlanOutcome::Changed => {
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
        outcome: outcome.result,
        problem: (!outcome.problem.is_empty()).then_some(outcome.problem.as_str()),
        figures: run.analysis.figures.clone(),
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
