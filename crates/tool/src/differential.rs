//! `oriel differential`: checks that phases do not change the memory that kernels leave.

mod kernel_source;
mod machine_code;

use crate::input::CodeGeneration;
use crate::progress::Progress;
use clap::Args;
use kernel_source::{KernelSource, Work};
use oriel::phases::PhaseOptions;
use oriel::phases::registry::{Phase, Registry};
use oriel_generate::Shape;
use oriel_interpreter::Limits;
use oriel_laboratory::differential::{
    Case, EditKind, Failure, FailureKind, MutationCounts, MutationTrial, Sequence, TestedModule, WrongProof,
    check, mutation_check, reduce, sequences,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Options of `oriel differential`.
#[derive(Args)]
pub struct DifferentialArguments {
    /// LLVM IR (.ll) or bitcode (.bc), one module a file; or, with --module, functions of one
    /// module: snapshots (.oriel) or Ori as text (.ori)
    #[arg(required_unless_present_any = ["generate", "mutate"])]
    files: Vec<PathBuf>,

    /// The PTX that LLVM printed for the module; with snapshots and Ori as text
    #[arg(long, value_name = "PTX")]
    module: Option<PathBuf>,

    /// Run the launches of this description; without it, every kernel is launched blindly
    #[arg(long, value_name = "TOML")]
    launch: Option<PathBuf>,

    /// Generate this many kernels
    #[arg(long, value_name = "N", conflicts_with_all = ["files", "launch"])]
    generate: Option<usize>,

    /// Shape of the generated control flow, as for oriel generate [default: all in turn]
    #[arg(long, requires = "generate")]
    shape: Option<Shape>,

    /// Seed of generated kernels, inputs, lists of phases and wrong edits
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Number of inputs of each generated kernel, and of blind launches of other kernels
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    inputs: u64,

    /// Only these phases, separated by commas [default: all]
    #[arg(long, value_name = "LIST")]
    phases: Option<String>,

    /// Value of -oriel-register-budget [default: 70; with --generate 70 and 12 in turn]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    register_budget: Option<u32>,

    /// Number of random lists of phases that each kernel goes through at each stage
    #[arg(long, value_name = "N", default_value_t = 2)]
    random: usize,

    /// Skip the checks that need a second process for each module of LLVM IR: phases in LLVM's
    /// pipeline, and the back end on their results
    #[arg(long)]
    without_machine_code: bool,

    /// Instead of running phases, make wrong edits of this kind in each kernel, and count how many
    /// of them the interpreter and the validator detect; all: every kind; list: print the kinds
    #[arg(long, value_name = "KIND")]
    mutate: Option<String>,

    /// Folder for failures, with a folder for each case
    #[arg(long, value_name = "DIR", default_value = "differential")]
    save: PathBuf,

    /// Number of cases that are reduced and saved; others are only counted
    #[arg(long, value_name = "N", default_value_t = 10)]
    cases: usize,

    /// Compute capability, such as 80 or 90a [default: 80; with --generate 80, 90, 90a and 100 in
    /// turn]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,

    /// PTX ISA version times ten for LLVM IR, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

    /// Optimisation level of code generation
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    optimization_level: u8,

    /// Limit on warp steps of a launch [default: 200000000 with --launch, else 2000000]
    #[arg(long)]
    steps: Option<u64>,

    /// Number of threads [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

impl DifferentialArguments {
    fn limits(&self) -> Limits {
        // Blind launches often do not end, which is not a failure.
        let default = if self.launch.is_some() {
            200_000_000
        } else {
            2_000_000
        };
        Limits {
            steps: self.steps.unwrap_or(default),
            uninterpreted: true,
            ..Limits::DEFAULT
        }
    }

    /// Returns the options of phases, with this register budget unless the user gave another.
    fn phase_options(&self, register_budget: u32) -> PhaseOptions {
        PhaseOptions {
            optimization_level: u32::from(self.optimization_level),
            register_budget: self.register_budget.unwrap_or(register_budget),
            ..PhaseOptions::default()
        }
    }

    fn code_generation(&self, sm: &str) -> CodeGeneration {
        CodeGeneration {
            sm: Some(sm.to_owned()),
            ptx: self.ptx,
            level: self.optimization_level,
        }
    }
}

/// The counts over all tested modules.
#[derive(Default)]
struct Summary {
    kernels: usize,
    modules: usize,
    unusable: usize,
    sequences: usize,
    comparisons: usize,
    through_machine_code: usize,
    /// By phase and stage: how often it ran alone, and how often it changed something.
    phases: BTreeMap<String, (usize, usize)>,
    problems: BTreeMap<FailureKind, usize>,
    saved: usize,
    mutations: BTreeMap<&'static str, MutationCounts>,
}

/// Runs the command.
pub fn run(arguments: &DifferentialArguments) -> Result<(), String> {
    let kinds = match arguments.mutate.as_deref() {
        Some("list") => {
            for kind in EditKind::ALL {
                say_line!("{:18} {}", kind.name(), kind.description());
            }
            return Ok(());
        }
        Some("all") => EditKind::ALL.to_vec(),
        Some(name) => vec![EditKind::from_name(name).ok_or_else(|| unknown_kind(name))?],
        None => Vec::new(),
    };
    let wanted = {
        let named = |list: &str| Registry::default().named(list);
        arguments.phases.as_deref().map(named).transpose()?
    };
    let source = KernelSource::new(arguments)?;
    let summary = for_each_work(arguments, &source, |work, found, all| {
        if kinds.is_empty() {
            check_work(arguments, work, wanted.as_deref(), found, all)
        } else {
            mutate_work(arguments, work, &kinds, found, all)
        }
    })?;
    if kinds.is_empty() {
        summary.print_and_judge()
    } else {
        summary.print_and_judge_mutations(&kinds)
    }
}

/// Calls `visit` for all work of a source, on several threads, with new counts for each and with
/// the counts over all of it. Returns the latter. Stops at the first error.
fn for_each_work(
    arguments: &DifferentialArguments,
    source: &KernelSource,
    visit: impl Fn(&Work, &mut Summary, &Mutex<Summary>) -> Result<(), String> + Sync,
) -> Result<Summary, String> {
    let summary = Mutex::new(Summary::default());
    let next = AtomicUsize::new(0);
    let problem = Mutex::new(None);
    let progress = Progress::new(source.len() as u64, "modules");
    let jobs = arguments
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let run_thread = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= source.len() {
                return;
            }
            let done = source.work(number).and_then(|work| {
                let mut found = Summary::default();
                visit(&work, &mut found, &summary)?;
                summary
                    .lock()
                    .expect("no thread panics while it counts")
                    .add(found);
                progress.step();
                Ok(())
            });
            if let Err(text) = done {
                *problem.lock().expect("no thread panics while it writes") = Some(text);
                next.store(source.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(run_thread);
        }
    });
    drop(progress);
    if let Some(text) = problem.into_inner().expect("no thread has panicked") {
        return Err(text);
    }
    Ok(summary.into_inner().expect("no thread has panicked"))
}

fn unknown_kind(name: &str) -> String {
    let names: Vec<&str> = EditKind::ALL.iter().map(|kind| kind.name()).collect();
    format!(
        "'{name}' is not a kind of wrong edit; kinds are: {}",
        names.join(", ")
    )
}

/// Checks lists of phases on all tested modules of a work, and machine code made from their results.
fn check_work(
    arguments: &DifferentialArguments,
    work: &Work,
    wanted: Option<&[&'static Phase]>,
    found: &mut Summary,
    all: &Mutex<Summary>,
) -> Result<(), String> {
    let is_wanted = |phase: &Phase| wanted.is_none_or(|wanted| wanted.contains(&phase));
    found.kernels += work.kernels;
    let mut baselines = Vec::new();
    for tested in &work.modules {
        found.modules += 1;
        let baseline = tested.baseline(arguments.limits())?;
        found.unusable += baseline.faults().count();
        let lists = sequences(tested.stage(), &is_wanted, arguments.random, work.seed);
        let report = check(tested, &baseline, &lists);
        found.sequences += report.sequences;
        found.comparisons += report.comparisons;
        for (number, list) in lists.iter().enumerate() {
            if let [step] = list.0.as_slice() {
                let counts = found
                    .phases
                    .entry(format!("{step}@{}", tested.stage().name()))
                    .or_default();
                counts.0 += 1;
                counts.1 += usize::from(report.changed.contains(&number));
            }
        }
        for (sequence, problem) in &report.failures {
            *found.problems.entry(problem.kind).or_default() += 1;
            report_problem(arguments, work, tested, sequence, problem, all)?;
        }
        baselines.push(baseline);
    }
    if let (false, Some(file)) = (arguments.without_machine_code, &work.file) {
        let machine_code = machine_code::check(arguments, work, file, &baselines, &is_wanted)?;
        found.through_machine_code += machine_code.comparisons;
        for problem in &machine_code.problems {
            *found.problems.entry(FailureKind::MachineCode).or_default() += 1;
            say_line!("FAIL {problem}");
        }
        if !machine_code.problems.is_empty() {
            let copy = save_module(&arguments.save, file)
                .map_err(|error| format!("{}: {error}", arguments.save.display()))?;
            say_line!("  the module is in {}", copy.display());
        }
    }
    Ok(())
}

/// Keeps a copy of a module that fails in machine code, since generated ones are deleted.
fn save_module(folder: &Path, file: &Path) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let copy = folder.join(file.file_name().unwrap_or_default());
    std::fs::copy(file, &copy)?;
    Ok(copy)
}

/// Prints a failure. Reduces and saves it, if it is one of the first.
fn report_problem(
    arguments: &DifferentialArguments,
    work: &Work,
    tested: &TestedModule,
    sequence: &Sequence,
    problem: &Failure,
    all: &Mutex<Summary>,
) -> Result<(), String> {
    let name = format!("{} {}", tested.name, tested.stage().name());
    say_line!("FAIL {name} after {sequence}: {problem}");
    let number = {
        let mut summary = all.lock().expect("no thread panics while it counts");
        summary.saved += 1;
        summary.saved
    };
    if number > arguments.cases {
        return Ok(());
    }
    let (small, fewer, small_problem) = reduce(tested, sequence, problem, arguments.limits());
    let case = Case {
        original: tested,
        original_sequence: sequence,
        tested: &small,
        sequence: &fewer,
        failure: &small_problem,
        ptx: &work.ptx,
        snapshots: &work.snapshots,
    };
    let folder = arguments
        .save
        .join(name.replace(['/', ' '], "-"))
        .join(number.to_string());
    case.save(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    say_line!("  {} after {fewer} alone, in {}", small_problem, folder.display());
    Ok(())
}

/// Makes wrong edits of each kind in all tested modules of a work.
fn mutate_work(
    arguments: &DifferentialArguments,
    work: &Work,
    kinds: &[EditKind],
    found: &mut Summary,
    all: &Mutex<Summary>,
) -> Result<(), String> {
    found.kernels += work.kernels;
    for tested in &work.modules {
        found.modules += 1;
        let trial = MutationTrial {
            tested,
            baseline: &tested.baseline(arguments.limits())?,
            more: &work.more_inputs(tested),
            snapshots: &work.snapshots,
            limits: arguments.limits(),
        };
        for &kind in kinds {
            let (counts, wrong_proof) = mutation_check(trial, kind, work.seed);
            *found.mutations.entry(kind.name()).or_default() += counts;
            if let Some(WrongProof { sequence, failure }) = wrong_proof {
                say_line!("the validator accepts a wrong edit:");
                report_problem(arguments, work, tested, &sequence, &failure, all)?;
            }
        }
    }
    Ok(())
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.modules += other.modules;
        self.unusable += other.unusable;
        self.sequences += other.sequences;
        self.comparisons += other.comparisons;
        self.through_machine_code += other.through_machine_code;
        for (phase, (ran, changed)) in other.phases {
            let counts = self.phases.entry(phase).or_default();
            *counts = (counts.0 + ran, counts.1 + changed);
        }
        for (kind, count) in other.problems {
            *self.problems.entry(kind).or_default() += count;
        }
        for (kind, counts) in other.mutations {
            *self.mutations.entry(kind).or_default() += counts;
        }
    }

    /// Prints the counts. Fails if there were problems.
    fn print_and_judge(&self) -> Result<(), String> {
        for (phase, (ran, changed)) in &self.phases {
            say_line!("{phase}: changed {changed} of {ran}");
        }
        let problems: usize = self.problems.values().sum();
        say_line!(
            "{} kernels, {} tested modules, {} lists of phases, {} comparisons in the interpreter, {} through machine code, \
             {} inputs without a result, {problems} problems",
            self.kernels,
            self.modules,
            self.sequences,
            self.comparisons,
            self.through_machine_code,
            self.unusable,
        );
        if problems == 0 {
            return Ok(());
        }
        let kinds: Vec<String> = self
            .problems
            .iter()
            .map(|(kind, count)| format!("{count} {}", kind.name()))
            .collect();
        Err(format!("{problems} problems: {}", kinds.join(", ")))
    }

    /// Prints the counts of wrong edits. Fails if the validator proved one that a run detects, or if
    /// none of some kind was detected.
    fn print_and_judge_mutations(&self, kinds: &[EditKind]) -> Result<(), String> {
        say_line!(
            "{:19} {:>8} {:>11} {:>9} {:>6} {:>14} {:>10} {:>11} {:>9} {:>7}",
            "wrong edit",
            "injected",
            "interpreter",
            "validator",
            "both",
            "validator only",
            "equivalent",
            "more inputs",
            "no effect",
            "refused"
        );
        let mut total = MutationCounts::default();
        let mut never = Vec::new();
        for kind in kinds {
            let counts = self.mutations.get(kind.name()).copied().unwrap_or_default();
            print_counts(kind.name(), &counts);
            total += counts;
            // Kinds that Ori's verifier always refuses count as detected.
            if counts.caught == 0 && (counts.injected > 0 || counts.refused == 0) {
                never.push(kind.name());
            }
        }
        print_counts("all", &total);
        let detected = total.detected();
        let wrong = total.injected - total.equivalent;
        if wrong > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let share = |part: usize| 100.0 * part as f64 / wrong as f64;
            say_line!(
                "of {wrong} that are not equivalent, the validator rejects {:.2} %, the interpreter detects {:.2} %",
                share(total.doubted + total.doubted_only),
                share(detected)
            );
        }
        let wrong_proofs = detected - total.doubted;
        if wrong_proofs > 0 {
            return Err(format!(
                "the validator accepts {wrong_proofs} wrong edits that a run detects"
            ));
        }
        if !never.is_empty() {
            return Err(format!(
                "wrong edits that were never caught: {}",
                never.join(", ")
            ));
        }
        Ok(())
    }
}

fn print_counts(name: &str, counts: &MutationCounts) {
    say_line!(
        "{name:19} {:>8} {:>11} {:>9} {:>6} {:>14} {:>10} {:>11} {:>9} {:>7}",
        counts.injected,
        counts.detected(),
        counts.doubted + counts.doubted_only,
        counts.doubted,
        counts.doubted_only,
        counts.equivalent,
        counts.caught_with_more,
        counts.without_difference,
        counts.refused
    );
}
