//! `oriel tune`: compiles a module with many option sets and finds the best for its kernels.
//!
//! | file | subject |
//! |---|---|
//! | `setting.rs` | the search space: phases, orders, budgets, knobs |
//! | `search.rs` | the search |
//! | `figures.rs`, `goal.rs` | the figures of a function; which variant is better |
//! | `judge.rs`, `cache.rs` | ptxas or the estimate as judge; cached results of ptxas |
//! | `timer.rs` | times on a GPU |
//! | `workshop.rs` | compiles and judges variants on several threads |
//! | `save.rs` | the file with the best options of each function |
//! | `output.rs` | the output |

mod cache;
mod figures;
mod goal;
mod judge;
mod output;
mod save;
mod search;
mod setting;
mod timer;
mod workshop;

use crate::compile::{options_with, write_output};
use crate::progress::Progress;
use crate::ptxas::Ptxas;
use crate::source::Source;
use cache::Cache;
use clap::{Args, Parser};
use figures::{Figures, Judgement};
use goal::{Goal, judged};
use judge::{Judge, PtxasJudge};
pub use output::Outcome;
use search::Search;
use setting::{NO_MIN_BLOCKS, Setting, Variant};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use timer::{Image, Timer};
use workshop::Workshop;

/// Options of `oriel tune`.
#[derive(Args)]
pub struct TuneArguments {
    /// LLVM IR (.ll) or bitcode (.bc)
    file: Source,

    /// Compute capability, such as 80 or 90a [default: LLVM's; with --goal time, the GPU's]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,

    /// PTX ISA version times ten, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

    /// Optimisation level of code generation
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    optimization_level: u8,

    /// Figure to improve; no other figure that counts may get worse
    #[arg(long, value_enum, default_value = "registers")]
    goal: Goal,

    /// With --goal time: the launches to time
    #[arg(long, value_name = "TOML", required_if_eq("goal", "time"))]
    launch: Option<PathBuf>,

    /// Function that counts [default: all that ptxas gives registers to]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,

    /// Find the best options of each function alone, and keep them in this file, which
    /// -oriel-tuned=FILE reads in later compilations. What it has on other functions stays
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Also try register limits for kernels (.maxnreg), down to two thirds of ptxas' count, and launch bounds without a
    /// number of blocks
    #[arg(long)]
    limits: bool,

    /// Also try to keep loops rolled (.pragma "nounroll"), all or one at a time
    #[arg(long)]
    loops: bool,

    /// Also try to spill registers to shared memory (.pragma "enable_smem_spilling"), for PTX that
    /// is compiled as a whole program, without -c or -g of ptxas
    #[arg(long)]
    shared_spills: bool,

    /// Try only options of Oriel, not LLVM's own orders
    #[arg(long)]
    oriel_only: bool,

    /// Limit ptxas to this many registers in all variants
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=255))]
    maxrregcount: Option<u32>,

    /// Percentage by which a function's code may grow
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    tolerance: f64,

    /// Number of rounds: each tries every setting on top of the best of the previous one
    #[arg(long, value_name = "N", default_value_t = 4)]
    rounds: usize,

    /// Stop after this many seconds, with the best that was found
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// Number of random instruction orders among the settings
    #[arg(long, value_name = "N", default_value_t = 12)]
    random_orders: u32,

    /// Number of threads [default: the number of processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,

    /// Judge by the register estimate, even if there is ptxas
    #[arg(long, conflicts_with_all = ["maxrregcount", "limits", "shared_spills"])]
    estimate: bool,

    /// Options that all variants start from, as in ORIEL_FLAGS
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    oriel: String,

    /// Folder of the cache of ptxas' results [default: oriel/tune below XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,

    /// Run ptxas again
    #[arg(long, conflicts_with = "cache")]
    no_cache: bool,

    /// Write the PTX of the best variant; - is standard output, and the table then goes to standard
    /// error
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl TuneArguments {
    /// Parses the arguments after `oriel tune`, for a module that may be in memory.
    ///
    /// # Errors
    /// If an argument is wrong.
    pub fn parse_for(module: Source, arguments: &[String]) -> Result<Self, String> {
        #[derive(Parser)]
        #[command(no_binary_name = true)]
        struct Line {
            #[command(flatten)]
            arguments: TuneArguments,
        }
        let name = module.to_string();
        let words = arguments.iter().map(String::as_str).chain(["--", &name]);
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(Self {
            file: module,
            ..line.arguments
        })
    }
}

/// Runs the command.
pub fn run(arguments: &TuneArguments) -> Result<(), String> {
    let tuned = tune(arguments)?;
    if let (Some(path), Some(ptx)) = (&arguments.output, &tuned.ptx) {
        write_output(path, ptx)?;
    }
    let is_ptx_on_stdout = arguments
        .output
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    tuned.outcome.print(arguments.json, is_ptx_on_stdout)
}

/// The result of tuning a module.
#[derive(Debug)]
pub struct Tuned {
    /// The figures and the options.
    pub outcome: Outcome,
    /// The PTX of the best variant, if the arguments ask for it.
    pub ptx: Option<Vec<u8>>,
}

/// Variants that have been tried, with their results.
type TriedVariants = (Vec<Variant>, Vec<Result<Judgement, String>>);

/// Tunes a module.
///
/// # Errors
/// If it cannot be compiled or judged, or there is nothing in it to tune.
pub fn tune(arguments: &TuneArguments) -> Result<Tuned, String> {
    let base = workshop::quiet(&options_with(&arguments.oriel)?);
    let jobs = arguments
        .jobs
        .or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    if arguments.launch.is_some() && arguments.goal != Goal::Time {
        return Err("--launch is for --goal time".to_owned());
    }
    let sm = match (&arguments.sm, arguments.goal) {
        (None, Goal::Time) => Some(timer::compute_capability()?.sm().to_string()),
        (sm, _) => sm.clone(),
    };
    let mut workshop = Workshop::new(
        &arguments.file,
        sm.as_deref(),
        arguments.ptx,
        arguments.optimization_level,
        base,
        arguments.save.is_some(),
        jobs.unwrap_or(1).max(1),
    )?;
    workshop.judge = judge(arguments, &workshop)?;
    let before = workshop.judge_all(&[Variant::default()], || {}).remove(0)?;
    let deadline = arguments
        .time
        .and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let tuning = Tuning {
        arguments,
        settings: common_settings(arguments, &workshop),
        before,
        progress: Progress::new(0, "variants"),
    };
    tuning.check_function()?;
    match &arguments.save {
        None => tuning.tune_module(workshop, deadline),
        Some(path) => tuning.tune_functions(workshop, deadline, path),
    }
}

/// Returns the settings that do not depend on a function's figures.
fn common_settings(arguments: &TuneArguments, workshop: &Workshop) -> Vec<Setting> {
    let mut settings = setting::settings(&workshop.base, workshop.sm_times_ten(), arguments.random_orders);
    // What LLVM does before Oriel sees a function concerns the whole module.
    if arguments.save.is_none() {
        settings.extend(setting::strength_reductions(&workshop.base));
        if !arguments.oriel_only {
            settings.extend(setting::llvm_orders());
        }
    }
    if arguments.loops {
        settings.extend(setting::rolled_loops());
    }
    if arguments.shared_spills {
        settings.push(Setting::SpillToShared);
    }
    settings
}

/// The data that all searches for a module share.
struct Tuning<'a> {
    arguments: &'a TuneArguments,
    /// The settings of every search.
    settings: Vec<Setting>,
    /// The figures with the options given.
    before: Judgement,
    progress: Progress,
}

impl Tuning<'_> {
    /// Returns the functions that can be tuned, with their figures.
    fn functions(&self) -> impl Iterator<Item = (&str, &Figures)> {
        // Only launched kernels have a time.
        judged(&self.before, self.arguments.function.as_deref())
            .filter(|(_, figures)| self.arguments.goal != Goal::Time || figures.time_ns.is_some())
    }

    /// Checks that there is a function to tune.
    fn check_function(&self) -> Result<(), String> {
        if self.functions().next().is_some() {
            return Ok(());
        }
        let names: Vec<&str> = self.before.keys().map(String::as_str).collect();
        Err(match &self.arguments.function {
            Some(function) => format!(
                "there is no function '{function}' to tune; there are: {}",
                names.join(", ")
            ),
            None => "there is no kernel to tune".to_owned(),
        })
    }

    /// Searches for the best variant of one function, or of all.
    fn search(
        &self,
        workshop: &Workshop,
        function: Option<String>,
        known: &TriedVariants,
    ) -> Result<Search, String> {
        let arguments = self.arguments;
        let mut settings = Vec::new();
        if arguments.limits {
            settings.push(NO_MIN_BLOCKS);
            for (name, figures) in judged(&self.before, function.as_deref()) {
                let limits = workshop.limits(arguments.goal, name, figures);
                settings.extend(limits.into_iter().map(Setting::Limit));
            }
        }
        // Limits help most often, and time may be short: first these, with what makes room for them.
        let mut first = settings.clone();
        if !first.is_empty() {
            first.extend(self.settings.iter().filter(|it| it.may_make_room()).cloned());
        }
        settings.extend_from_slice(&self.settings);
        let mut search = Search::new(arguments.goal, arguments.tolerance, function, self.before.clone());
        search.take(&known.0, &known.1);
        for settings in [&first, &settings] {
            search.run(settings, arguments.rounds, |variants| {
                self.progress.add(variants.len() as u64);
                workshop.judge_all(variants, || self.progress.step())
            });
        }
        if arguments.goal == Goal::Time {
            search.confirm(|variant| workshop.judge_again(variant));
        }
        match workshop.judge.problem() {
            Some(problem) => Err(failed_on_gpu(&search, problem, workshop)),
            None => Ok(search),
        }
    }

    /// Finds the options with which the module as a whole is best.
    fn tune_module(self, mut workshop: Workshop, deadline: Option<Instant>) -> Result<Tuned, String> {
        workshop.end_at(deadline);
        let search = self.search(
            &workshop,
            self.arguments.function.clone(),
            &TriedVariants::default(),
        )?;
        drop(self.progress);
        let wants_ptx = self.arguments.output.is_some();
        Ok(Tuned {
            outcome: Outcome::of_module(self.arguments.goal, &search, &workshop),
            ptx: wants_ptx
                .then(|| workshop.ptx_of(&search.best().variant))
                .transpose()?,
        })
    }

    /// Finds the best options of each function alone, and saves them in the file at `path`.
    fn tune_functions(
        self,
        mut workshop: Workshop,
        deadline: Option<Instant>,
        path: &Path,
    ) -> Result<Tuned, String> {
        let arguments = self.arguments;
        workshop.end_at(deadline);
        let of_module: Vec<Variant> = setting::OF_MODULE
            .iter()
            .map(|setting| Variant::default().with(setting))
            .collect();
        let results = workshop.judge_all(&of_module, || {});
        let known = (of_module, results);
        // Functions that cannot get closer to the goal come last, and only if time is left.
        let (with_room, others): (Vec<_>, Vec<_>) = self
            .functions()
            .partition(|(name, figures)| workshop.has_room(arguments.goal, name, figures));
        let mut searches = Vec::new();
        for part in [with_room, others] {
            for (number, &(name, _)) in part.iter().enumerate() {
                let now = Instant::now();
                // All launches need all kernels.
                if arguments.goal != Goal::Time && deadline.is_none_or(|end| now < end) {
                    workshop.narrow_to(name, &self.before);
                }
                workshop.end_at(
                    deadline
                        .map(|end| now + end.saturating_duration_since(now) / (part.len() - number) as u32),
                );
                searches.push(self.search(&workshop, Some(name.to_owned()), &known)?);
            }
        }
        drop(self.progress);
        workshop.widen();
        save::save(path, &arguments.oriel, &searches, &workshop)?;
        let options = save::options_with_file(path, &workshop.base)?;
        let after = workshop.judge_with(options.clone())?;
        let wants_ptx = arguments.output.is_some();
        Ok(Tuned {
            outcome: Outcome::of_functions(arguments.goal, &searches, &workshop, path, &after),
            ptx: wants_ptx.then(|| workshop.ptx_with(options)).transpose()?,
        })
    }
}

/// Returns the message for a variant that failed on the GPU, which ends the search: the driver does
/// nothing more for this process.
fn failed_on_gpu(search: &Search, problem: &str, workshop: &Workshop) -> String {
    let failed = search
        .trials
        .iter()
        .find(|trial| trial.result.as_ref().is_err_and(|error| error == problem));
    let flags = failed.map_or_else(String::new, |trial| {
        let flags = trial.variant.flags(&workshop.base);
        let given: Vec<&str> = flags.given().map(|(_, flags)| flags).collect();
        format!(", with {}", given.join(" "))
    });
    format!("a variant fails on the GPU, where the options given do not{flags}: {problem}")
}

/// Returns the judge: ptxas, if it is there and the estimate was not requested.
fn judge(arguments: &TuneArguments, workshop: &Workshop) -> Result<Judge, String> {
    let program = Ptxas::of_environment();
    let problem = match judge::version_of(&program) {
        Ok(version) if !arguments.estimate => {
            let sm = workshop.sm();
            let timer = match &arguments.launch {
                Some(launch) => {
                    let ptx = workshop.ptx_with(workshop.base.clone())?;
                    let code = program.assemble(&ptx, &sm, arguments.maxrregcount)?.1;
                    Some(Timer::start(launch, Image { ptx, code })?)
                }
                None => None,
            };
            let cache = match &arguments.cache {
                // The cache has no machine code, which a GPU needs.
                _ if arguments.no_cache || timer.is_some() => None,
                Some(folder) => Some(Cache::in_folder(folder)),
                None => Cache::of_user(),
            };
            return Ok(Judge::Ptxas(PtxasJudge {
                program,
                version,
                sm,
                limit: arguments.maxrregcount,
                cache,
                hits: AtomicUsize::new(0),
                runs: AtomicUsize::new(0),
                timer,
            }));
        }
        Ok(_) => "--estimate leaves it out".to_owned(),
        Err(problem) => problem,
    };
    let wanted = match arguments.goal {
        Goal::Spills => Some("what is spilled"),
        Goal::Sass => Some("how large its code is"),
        Goal::Time => Some("the machine code to time"),
        Goal::Registers | Goal::Occupancy => None,
    };
    let limited = (arguments.limits || arguments.maxrregcount.is_some()).then_some("what becomes of limits");
    let shared = arguments
        .shared_spills
        .then_some("what it spills to shared memory");
    if let Some(wanted) = wanted.or(limited).or(shared) {
        return Err(format!("only ptxas knows {wanted}: {problem}"));
    }
    eprintln!("oriel: judged by the register estimate, without ptxas ({problem})");
    Ok(Judge::Estimate)
}
