//! `oriel exec`: runs kernels in the interpreter, or on a GPU.

mod cuda;

use crate::Failure;
use crate::input::{CodeGeneration, Input};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use oriel::ori::{Divergence, Function};
use oriel::phases::registry::Registry;
use oriel::phases::{self, PhaseOptions, Selected};
use oriel::snapshot::abi::Stage;
use oriel_interpreter::launch::LaunchDescription;
use oriel_interpreter::{
    BlindResult, BufferResult, DescribedResult, LaunchStatistics, Limits, Program, run_blind, run_described,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Options of `oriel exec`.
#[derive(Args)]
pub struct ExecArguments {
    /// LLVM IR (.ll) or bitcode (.bc); or functions of one module, with --module: snapshots
    /// (.oriel) or Ori as text (.ori); or, with --device cuda, the PTX without Oriel and the PTX
    /// with it (.ptx)
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Where the kernels run; cuda: the PTX that LLVM prints without and with Oriel, one after the
    /// other, which must agree
    #[arg(long, value_enum, default_value_t = DeviceChoice::Interpreter)]
    device: DeviceChoice,

    /// With --device cuda: Oriel's options, as in ORIEL_FLAGS
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    oriel: String,

    /// The PTX that LLVM printed for the module, from which the variables are read; with snapshots
    /// and Ori as text
    #[arg(long, value_name = "PTX")]
    module: Option<PathBuf>,

    /// Run the launches of this description
    #[arg(
        long,
        value_name = "TOML",
        required_unless_present = "blind",
        conflicts_with = "blind"
    )]
    launch: Option<PathBuf>,

    /// Run each kernel once on arguments and memory derived from this seed
    #[arg(long, value_name = "SEED")]
    blind: Option<u64>,

    /// With --blind: only this kernel
    #[arg(long, value_name = "NAME", requires = "blind")]
    kernel: Option<String>,

    /// Which form of the functions runs; both: one after the other, which must agree [default:
    /// both]
    #[arg(long, value_enum)]
    stage: Option<StageChoice>,

    /// Compute capability, such as 80 or 90a [default: LLVM's; with --device cuda, the device's]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,

    /// PTX ISA version times ten for LLVM IR, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

    /// Optimisation level of code generation; the functions are not exported at 0
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    optimization_level: u8,

    /// Limit on warp steps of a launch [default: 200000000]
    #[arg(long)]
    steps: Option<u64>,

    /// Give inline assembly and opcodes that Oriel does not know an uninterpreted meaning, as oriel
    /// differential does: results and changes of memory that depend on what they read and on their
    /// order
    #[arg(long)]
    uninterpreted: bool,

    /// Also compile the module for the host and run the launches there; the buffers must compare as
    /// the description says. Only a module compiled without -ffp-contract=fast has a unique result
    #[cfg(feature = "llvm")]
    #[arg(long, requires = "launch")]
    host: bool,

    /// Also run each form after these phases, which must agree; names as for -oriel-phases
    #[arg(long, value_name = "LIST")]
    after: Option<String>,

    /// Check the divergence analysis: wherever a register that it calls uniform is defined or used,
    /// all active lanes of the warp must hold the same value
    #[arg(long)]
    check_uniformity: bool,

    /// With --after: the value of -oriel-register-budget
    #[arg(long, value_name = "N", requires = "after")]
    register_budget: Option<u32>,

    /// Also run each form as it is just before this phase, after all phases that precede it; the
    /// runs must agree
    #[arg(long, value_name = "PHASE")]
    before: Option<String>,

    /// Run this many times, each time from the beginning, and report the shortest time [default:
    /// 1]; with --device cuda, also time each kernel in this many runs of each side, by turns, and
    /// report the median and the quartiles
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,

    /// Write each buffer to a file in this folder, STAGE.NAME.bin; with --device cuda,
    /// before.NAME.bin and after.NAME.bin
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,

    /// Print one JSON object for each stage and launch description or kernel; with --device cuda,
    /// for each side and each buffer
    #[arg(long)]
    json: bool,
}

/// Where the kernels run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceChoice {
    Interpreter,
    Cuda,
}

/// The stages that run.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum StageChoice {
    Ssa,
    Late,
    #[default]
    Both,
}

impl StageChoice {
    fn stages(self) -> &'static [Stage] {
        match self {
            Self::Ssa => &[Stage::Ssa],
            Self::Late => &[Stage::Late],
            Self::Both => &[Stage::Ssa, Stage::Late],
        }
    }
}

/// The report on a run, as `--json` prints it.
#[derive(Serialize)]
struct RunLine<'a> {
    /// The stage, and the phases that ran.
    stage: &'a str,
    /// A kernel's name; none for the launches of a description.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    /// Hash of the memory afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    thread_instructions: u64,
    steps: u64,
    threads: u64,
    compile_ms: f64,
    run_ms: f64,
    /// Each kind of instruction that the interpreter does not model, with its count.
    unsupported: Vec<(String, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// A form of the module's functions, ready to run.
struct Candidate {
    /// `ssa`, `late`, and `ssa after LIST` and so on.
    name: String,
    program: Program,
    compile_ms: f64,
}

impl ExecArguments {
    fn limits(&self) -> Limits {
        Limits {
            steps: self.steps.unwrap_or(Limits::DEFAULT.steps),
            uninterpreted: self.uninterpreted,
            ..Limits::DEFAULT
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ExecArguments) -> Result<(), Failure> {
    match arguments.device {
        DeviceChoice::Cuda => cuda::run(arguments),
        DeviceChoice::Interpreter => Ok(run_interpreter(arguments)?),
    }
}

fn run_interpreter(arguments: &ExecArguments) -> Result<(), String> {
    if !arguments.oriel.is_empty() {
        return Err(
            "--oriel requires --device cuda; the interpreter runs functions as Oriel receives them"
                .to_owned(),
        );
    }
    let code_generation = CodeGeneration {
        sm: arguments.sm.clone(),
        ptx: arguments.ptx,
        level: arguments.optimization_level,
    };
    let input = Input::load(&arguments.files, arguments.module.as_deref(), &code_generation)?;
    let description = match &arguments.launch {
        Some(path) => Some(LaunchDescription::load(path).map_err(|error| error.to_string())?),
        None => None,
    };
    let mut lists = Vec::new();
    if let Some(phase) = &arguments.before {
        lists.push((format!("before {phase}"), Registry::default().preceding(phase)?));
    }
    if let Some(list) = &arguments.after {
        lists.push((format!("after {list}"), Registry::default().select(list)?));
    }
    let mut programs = Vec::new();
    for &stage in arguments.stage.unwrap_or_default().stages() {
        programs.push(compile_stage(
            arguments,
            &input,
            stage,
            stage.name().to_owned(),
            &[],
        )?);
        for (name, list) in &lists {
            let selected: Vec<Selected> = list.iter().filter(|it| it.stage == stage).copied().collect();
            if !selected.is_empty() {
                let name = format!("{} {name}", stage.name());
                programs.push(compile_stage(arguments, &input, stage, name, &selected)?);
            }
        }
    }
    match description {
        Some(description) => run_description(arguments, &programs, &description),
        None => run_blindly(arguments, &programs),
    }
}

/// Compiles the functions of a stage for the interpreter, after the `selected` phases.
///
/// # Errors
/// The verifier refuses a function after one of the phases, or the interpreter cannot compile it.
fn compile_stage(
    arguments: &ExecArguments,
    input: &Input,
    stage: Stage,
    name: String,
    selected: &[Selected],
) -> Result<Candidate, String> {
    let start = Instant::now();
    let mut functions = input.at(stage)?;
    let mut options = PhaseOptions::default();
    options.register_budget = arguments.register_budget.unwrap_or(options.register_budget);
    for Selected { phase, .. } in selected {
        for function in &mut functions {
            phases::run(phase, function, &options, &mut phases::Statistics::default());
            if let Some(finding) = function.verify().first() {
                let finding = finding.display(function);
                return Err(format!(
                    "the verifier refuses the function after {}: {finding}",
                    phase.name
                ));
            }
        }
    }
    let references: Vec<&Function> = functions.iter().collect();
    let program = if arguments.check_uniformity {
        let divergence: Vec<Divergence> = functions.iter().map(Divergence::of).collect();
        Program::compile_checked(&references, &input.module, &divergence)?
    } else {
        Program::compile(&references, &input.module)?
    };
    Ok(Candidate {
        name,
        program,
        compile_ms: milliseconds(start.elapsed()),
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs `work` several times, once by default; returns its last result, and the shortest time in
/// milliseconds.
fn timed<R>(repetitions: Option<u32>, progress: &Progress, work: impl Fn() -> R) -> (R, f64) {
    let once = || {
        let start = Instant::now();
        let result = work();
        let time = milliseconds(start.elapsed());
        progress.step();
        (result, time)
    };
    let (mut result, mut shortest) = once();
    for _ in 1..repetitions.unwrap_or(1) {
        let (next, time) = once();
        result = next;
        shortest = shortest.min(time);
    }
    (result, shortest)
}

/// Returns a progress bar for `count` forms or kernels, each run `--repeat` times.
fn progress_of_runs(arguments: &ExecArguments, count: usize) -> Progress {
    Progress::new(count as u64 * u64::from(arguments.repeat.unwrap_or(1)), "runs")
}

/// Returns each distinct text with its count.
fn count_distinct(texts: &[String]) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for text in texts {
        *counts.entry(text.clone()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn print_json(report: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(report).map_err(|error| error.to_string())?;
    say_line!("{line}");
    Ok(())
}

/// Prints the result of a run, as a line of text or of JSON.
fn print(arguments: &ExecArguments, report: &RunLine<'_>) -> Result<(), String> {
    if arguments.json {
        return print_json(report);
    }
    let kernel = report
        .kernel
        .map_or_else(String::new, |kernel| format!(" {kernel}"));
    match (&report.fault, &report.hash) {
        (Some(fault), _) => say_line!("{}{kernel}: {fault}", report.stage),
        (None, hash) => say_line!(
            "{}{kernel}: hash {}, {} thread-instructions in {:.1} ms, {:.1} million a second",
            report.stage,
            hash.as_deref().unwrap_or_default(),
            report.thread_instructions,
            report.run_ms,
            report.thread_instructions as f64 / report.run_ms / 1e3
        ),
    }
    for (text, count) in &report.unsupported {
        say_line!("  not modelled, {count} times: {text}");
    }
    Ok(())
}

fn make_report<'a>(
    candidate: &'a Candidate,
    kernel: Option<&'a str>,
    run_ms: f64,
    outcome: Result<(u64, LaunchStatistics), String>,
) -> RunLine<'a> {
    let (hash, statistics, fault) = match outcome {
        Ok((hash, statistics)) => (Some(format!("{hash:016x}")), statistics, None),
        Err(fault) => (None, LaunchStatistics::default(), Some(fault)),
    };
    RunLine {
        stage: &candidate.name,
        kernel,
        hash,
        thread_instructions: statistics.thread_instructions,
        steps: statistics.steps,
        threads: statistics.threads,
        compile_ms: candidate.compile_ms,
        run_ms,
        unsupported: count_distinct(candidate.program.unsupported()),
        fault,
    }
}

/// Runs the launches of a description in each form. Fails if one fails or the buffers differ.
fn run_description(
    arguments: &ExecArguments,
    programs: &[Candidate],
    description: &LaunchDescription,
) -> Result<(), String> {
    let limits = arguments.limits();
    let mut results: Vec<(&str, DescribedResult)> = Vec::new();
    let mut failed = false;
    let progress = progress_of_runs(arguments, programs.len());
    for candidate in programs {
        let (outcome, run_ms) = timed(arguments.repeat, &progress, || {
            run_described(&candidate.program, description, limits)
        });
        let summary = outcome
            .as_ref()
            .map(|result| (result.hash(), result.statistics))
            .map_err(ToString::to_string);
        failed |= summary.is_err();
        progress.suspend(|| print(arguments, &make_report(candidate, None, run_ms, summary)))?;
        if let Ok(result) = outcome {
            dump(
                arguments,
                &candidate.name,
                result.buffers.iter().chain(&result.variables),
            )?;
            results.push((&candidate.name, result));
        }
    }
    if failed {
        return Err("a launch failed".to_owned());
    }
    #[cfg(feature = "llvm")]
    if arguments.host {
        compare_with_host(arguments, description, &results)?;
    }
    compare_forms(&results)
}

/// Compares the buffers and variables that each form left with those of the first.
fn compare_forms(results: &[(&str, DescribedResult)]) -> Result<(), String> {
    let Some(((first_name, first), others)) = results.split_first() else {
        return Ok(());
    };
    for (name, other) in others {
        let differing = first
            .buffers
            .iter()
            .chain(&first.variables)
            .zip(other.buffers.iter().chain(&other.variables))
            .find(|(first, other)| first != other);
        if let Some((buffer, other)) = differing {
            let at = buffer.bytes.iter().zip(&other.bytes).position(|(a, b)| a != b);
            return Err(format!(
                "{} differs between {first_name} and {name}, first at byte {}",
                buffer.name,
                at.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// Also runs the launches on the host, and compares the interpreter's results for each stage with
/// the host's.
#[cfg(feature = "llvm")]
fn compare_with_host(
    arguments: &ExecArguments,
    description: &LaunchDescription,
    results: &[(&str, DescribedResult)],
) -> Result<(), String> {
    use oriel_laboratory::host::{HostMemory, HostModule};

    let [file] = arguments.files.as_slice() else {
        return Err("--host is for one file of LLVM IR".to_owned());
    };
    let ir = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let context = inkwell::context::Context::create();
    let mut module = HostModule::compile(&context, &ir).map_err(|error| error.to_string())?;
    let mut memory = HostMemory::new(description);
    let start = Instant::now();
    let Some((_, interpreted)) = results.first() else {
        return Ok(());
    };
    let outcome = module.run_interpreted(description, interpreted, &mut memory);
    outcome.map_err(|error| error.to_string())?;
    if !arguments.json {
        say_line!("host: {:.1} ms", milliseconds(start.elapsed()));
    }
    let expected = memory.into_contents();
    for (name, result) in results {
        for ((buffer, expected), actual) in description.buffers().iter().zip(&expected).zip(&result.buffers) {
            if let Err(difference) = buffer.compare(expected, &actual.bytes) {
                return Err(format!(
                    "{name} differs from the host: buffer `{}`, {difference}",
                    buffer.name
                ));
            }
        }
    }
    Ok(())
}

/// Writes buffers to files of a folder, which is created, if requested.
fn dump<'a>(
    arguments: &ExecArguments,
    prefix: &str,
    buffers: impl Iterator<Item = &'a BufferResult>,
) -> Result<(), String> {
    let Some(folder) = &arguments.dump else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names = BTreeSet::new();
    for buffer in buffers {
        let problem = if buffer.name.contains('/') {
            "no file can have this name"
        } else if !names.insert(&buffer.name) {
            // A variable of the module may have the name of a buffer.
            "two have this name"
        } else {
            ""
        };
        if !problem.is_empty() {
            return Err(format!(
                "--dump: '{}': {problem}; give the buffer another one",
                buffer.name
            ));
        }
        let path = folder.join(format!("{prefix}.{}.bin", buffer.name));
        std::fs::write(&path, &buffer.bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Runs each kernel on arguments and memory derived from a seed, in each form. Fails if the results
/// of a kernel differ; that all forms fail is not a difference.
fn run_blindly(arguments: &ExecArguments, programs: &[Candidate]) -> Result<(), String> {
    let limits = arguments.limits();
    let seed = arguments.blind.unwrap_or_default();
    let mut kernels: Vec<String> = programs[0].program.kernel_names().map(str::to_owned).collect();
    if let Some(kernel) = &arguments.kernel {
        if !kernels.contains(kernel) {
            return Err(format!(
                "there is no kernel '{kernel}'; there are: {}",
                kernels.join(", ")
            ));
        }
        kernels = vec![kernel.clone()];
    }
    let mut differing = Vec::new();
    let progress = progress_of_runs(arguments, programs.len() * kernels.len());
    for kernel in &kernels {
        let mut results: Vec<Result<BlindResult, String>> = Vec::new();
        for candidate in programs {
            let run =
                || run_blind(&candidate.program, kernel, seed, limits).map_err(|fault| fault.to_string());
            let (outcome, run_ms) = timed(arguments.repeat, &progress, run);
            let summary = outcome
                .as_ref()
                .map(|result| (result.hash(), result.statistics))
                .map_err(Clone::clone);
            let report = make_report(candidate, Some(kernel), run_ms, summary);
            progress.suspend(|| print(arguments, &report))?;
            results.push(outcome);
        }
        let Some((first, others)) = results.split_first() else {
            continue;
        };
        let is_same = |other: &Result<BlindResult, String>| match (first, other) {
            (Ok(first), Ok(other)) => first.writes == other.writes && first.variables == other.variables,
            (first, other) => first.is_err() == other.is_err(),
        };
        if !others.iter().all(is_same) {
            differing.push(kernel.as_str());
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!("the results differ in {}", differing.join(", ")))
}
