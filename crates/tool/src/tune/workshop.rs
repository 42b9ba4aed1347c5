//! Compiles variants of one module and has them judged, on several threads.

use super::cache::Key;
use super::figures::{Figures, Judgement};
use super::goal::Goal;
use super::judge::{Judge, Usages, warps_of};
use super::setting::{self, Variant};
use super::timer::{RUNS, RUNS_TO_CONFIRM};
use crate::compile::compiler;
use crate::source::Source;
use oriel::compile::{Compilation, Compiler, with_llvm_options};
use oriel::options::{FunctionHash, Mode, Options, Printing};
use oriel::report::occupancy::Usage;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A result that one thread computes and others wait for.
type Answer = Arc<OnceLock<Result<Judgement, String>>>;

/// The error of a variant that was not tried.
pub const NO_TIME: &str = "no time was left";

/// A module with everything needed to judge its variants.
pub struct Workshop {
    file: Source,
    compiler: Compiler,
    /// The options that variants start from.
    pub base: Options,
    /// The judge.
    pub judge: Judge,
    usages: Usages,
    /// Compute capability times ten, and in the form of options.
    sm: (u32, String),
    jobs: usize,
    /// Results by PTX: many variants give the same PTX.
    answers: Mutex<HashMap<Key, Answer>>,
    /// The module with one of its kernels only, while this is what counts.
    narrowed: Option<Source>,
    /// When to stop.
    deadline: Option<Instant>,
    /// True if variants are options of single functions: LLVM's strength reduction, which runs before
    /// Oriel sees the function, is then as without them.
    is_for_functions: bool,
    /// The hash of each function, by name.
    pub hashes: BTreeMap<String, FunctionHash>,
}

/// The fields of a line of the report that the workshop reads.
#[derive(Deserialize)]
struct ReportLine {
    function: String,
    hash: Option<FunctionHash>,
}

/// Returns the hash of each function of a report.
fn hashes_of(report: &str) -> Result<BTreeMap<String, FunctionHash>, String> {
    let mut hashes = BTreeMap::new();
    for line in report.lines() {
        let line: ReportLine = serde_json::from_str(line).map_err(|error| error.to_string())?;
        hashes.extend(line.hash.map(|hash| (line.function, hash)));
    }
    Ok(hashes)
}

/// Runs a function with the variant's option of LLVM's, if it has one.
fn with_option_of<T>(variant: &Variant, run: impl FnOnce() -> T) -> Result<T, String> {
    with_llvm_options(variant.llvm_option().as_slice(), run)
}

/// Returns options without those that write or print: each variant would.
pub fn quiet(options: &Options) -> Options {
    Options {
        report: None,
        report_html: None,
        snapshot_directory: None,
        dot_directory: None,
        printing: Printing::default(),
        extension: None,
        warn_uninitialized: Some(false),
        warn_unread_stores: Some(false),
        warn_launch_bounds: Some(false),
        phase_effects: false,
        ..options.clone()
    }
}

impl Workshop {
    /// Prepares the module in a file. It is compiled once, unchanged, to find the resources of its
    /// kernels besides registers.
    ///
    /// # Errors
    /// If the module cannot be compiled, or Oriel handles nothing in it.
    pub fn new(
        file: &Source,
        sm: Option<&str>,
        ptx_version: Option<u32>,
        level: u8,
        mut base: Options,
        is_for_functions: bool,
        jobs: usize,
    ) -> Result<Self, String> {
        let compiler = compiler(sm, ptx_version, level);
        if is_for_functions {
            // Later compilations have no option but the file of functions.
            let default = Options::default().strength_reduction();
            base.strength_reduction.get_or_insert(default);
        }
        let analyzing = Options {
            mode: Mode::Analyze,
            ..base.clone()
        };
        let seen = file.with_module(|module| compiler.clone().options(analyzing).compile(module))?;
        let views = || seen.functions.iter().map(|function| function.code.view());
        let Some(target) = views().next().map(|view| view.function().sm) else {
            return Err(format!("{file}: there is no kernel to tune"));
        };
        let kernels = views().filter(|view| view.is_kernel()).map(|view| {
            let usage = Usage::of_kernel(&view, 0);
            (view.name().into_owned(), (view.function().sm, usage))
        });
        Ok(Self {
            file: file.clone(),
            compiler,
            base,
            judge: Judge::Estimate,
            usages: kernels.collect(),
            sm: (target, sm.map_or_else(|| target.to_string(), str::to_owned)),
            jobs,
            answers: Mutex::default(),
            narrowed: None,
            deadline: None,
            is_for_functions,
            hashes: hashes_of(&seen.report)?,
        })
    }

    /// Ends the search at some time.
    pub fn end_at(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Leaves all kernels but one out of what is compiled and judged from now on, if that one gets the
    /// same figures then. If it gets others, or cannot be compiled or judged without the rest, the
    /// whole module stays. `before` has the figures of all, with the given options.
    pub fn narrow_to(&mut self, kernel: &str, before: &Judgement) {
        self.narrowed = self.without_others(kernel, before);
        if self.narrowed.is_none() {
            return;
        }
        let alone = self.judge_with(self.base.clone());
        if !alone.is_ok_and(|alone| alone.get(kernel) == before.get(kernel)) {
            self.narrowed = None;
        }
    }

    /// Returns the module without the other kernels; none if there are none, or they cannot be removed.
    fn without_others(&self, kernel: &str, before: &Judgement) -> Option<Source> {
        let others: Vec<String> = before.keys().filter(|&name| name != kernel).cloned().collect();
        if others.is_empty() {
            return None;
        }
        let content = self.file.with_module(|module| {
            self.compiler.remove(module, &others)?;
            Ok(module.write_bitcode_to_memory().as_slice().to_vec())
        });
        let name = self.file.to_string();
        content.ok().map(|content| Source::Memory { name, content })
    }

    /// Compiles and judges the whole module again.
    pub fn widen(&mut self) {
        self.narrowed = None;
    }

    /// True if a function can still get closer to a goal.
    pub fn has_room(&self, goal: Goal, function: &str, figures: &Figures) -> bool {
        match goal {
            Goal::Registers | Goal::Sass | Goal::Time => true,
            Goal::Spills => figures.spill_bytes != Some(0),
            Goal::Occupancy => {
                let without_limit = Figures {
                    registers: 1,
                    ..Figures::default()
                };
                warps_of(&self.usages, function, &without_limit) > figures.warps
            }
        }
    }

    /// Returns the register limits that may bring a function closer to a goal. For occupancy these are
    /// the largest with which more warps fit.
    pub fn limits(&self, goal: Goal, function: &str, figures: &Figures) -> Vec<u32> {
        let warps = |registers| {
            warps_of(
                &self.usages,
                function,
                &Figures {
                    registers,
                    ..*figures
                },
            )
        };
        let may_help = |&limit: &u32| goal != Goal::Occupancy || warps(limit) > warps(limit + 1);
        setting::limits(figures.registers).filter(may_help).collect()
    }

    /// Returns the source to compile.
    fn source(&self) -> &Source {
        self.narrowed.as_ref().unwrap_or(&self.file)
    }

    /// Returns the compute capability in the form of options, such as 80 or 90a.
    pub fn sm(&self) -> String {
        self.sm.1.clone()
    }

    /// Returns the compute capability in the form of phases.
    pub fn sm_times_ten(&self) -> u32 {
        self.sm.0
    }

    /// Returns the number of different tasks that the judge got so far.
    pub fn different(&self) -> usize {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Judges each variant; `done` is called after each.
    pub fn judge_all(&self, variants: &[Variant], done: impl Fn() + Sync) -> Vec<Result<Judgement, String>> {
        let results: Vec<OnceLock<Result<Judgement, String>>> =
            variants.iter().map(|_| OnceLock::new()).collect();
        let settle = |place: usize, result| {
            results[place].set(result).expect("each has one thread");
            done();
        };
        // An option of LLVM's applies to all threads.
        let option_of = |place: &usize| variants[*place].llvm_option();
        let mut places: Vec<usize> = (0..variants.len()).collect();
        places.sort_by_key(option_of);
        for places in places.chunk_by(|one, other| option_of(one) == option_of(other)) {
            let next = AtomicUsize::new(0);
            let work = || {
                while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    settle(place, self.judge_variant(&variants[place]));
                }
            };
            let work_all = || {
                std::thread::scope(|scope| {
                    for _ in 0..self.jobs.min(places.len()) {
                        scope.spawn(work);
                    }
                });
            };
            if let Err(problem) = with_option_of(&variants[places[0]], work_all) {
                for &place in places {
                    settle(place, Err(problem.clone()));
                }
            }
        }
        let finished = results.into_iter().map(OnceLock::into_inner);
        finished.map(|result| result.expect("all are done")).collect()
    }

    fn judge_variant(&self, variant: &Variant) -> Result<Judgement, String> {
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(NO_TIME.to_owned());
        }
        self.judge_with(self.options_of(variant)?)
    }

    /// Judges the module, compiled with these options.
    ///
    /// # Errors
    /// If it cannot be compiled or judged.
    pub fn judge_with(&self, options: Options) -> Result<Judgement, String> {
        let compilation = self.compile(options)?;
        let key = Key::new(&compilation.ptx, &[]);
        let answer = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.entry(key).or_default().clone()
        };
        answer
            .get_or_init(|| self.judge.judge(&compilation, &self.usages, RUNS))
            .clone()
    }

    /// Judges a variant again, with more runs if it is timed.
    ///
    /// # Errors
    /// If it cannot be compiled or judged.
    pub fn judge_again(&self, variant: &Variant) -> Result<Judgement, String> {
        let options = self.options_of(variant)?;
        let compilation = with_option_of(variant, || self.compile(options))??;
        self.judge.judge(&compilation, &self.usages, RUNS_TO_CONFIRM)
    }

    fn compile(&self, mut options: Options) -> Result<Compilation, String> {
        if self.judge.wants_functions() {
            if options.mode == Mode::Off {
                // The same code, but with the data of the functions.
                options.strength_reduction = Some(options.strength_reduction());
                options.mode = Mode::Analyze;
            }
            let compiler = self.compiler.clone().options(options);
            return self.source().with_module(|module| compiler.compile(module));
        }
        let compiler = self.compiler.clone().options(options);
        self.source().with_module(|module| {
            Ok(Compilation {
                ptx: compiler.emit(module)?,
                functions: Vec::new(),
                report: String::new(),
            })
        })
    }

    /// The PTX of a variant.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn ptx_of(&self, variant: &Variant) -> Result<Vec<u8>, String> {
        let options = self.options_of(variant)?;
        with_option_of(variant, || self.ptx_with(options))?
    }

    /// Returns the PTX of the module, compiled with these options.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn ptx_with(&self, options: Options) -> Result<Vec<u8>, String> {
        let compiler = self.compiler.clone().options(options);
        self.source().with_module(|module| compiler.emit(module))
    }

    fn options_of(&self, variant: &Variant) -> Result<Options, String> {
        let mut options = self.base.clone();
        options.set_all(&variant.oriel_flags(&self.base))?;
        if self.is_for_functions && options.mode == Mode::Off {
            options.mode = Mode::Analyze;
        }
        Ok(options)
    }
}
