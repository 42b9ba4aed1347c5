//! `oriel live` and `oriel bench`: prints and times live intervals of snapshots.

use crate::snapshot;
use crate::source::is_ir;
use clap::Args;
use oriel::live::{Bypass, LiveRangeCalc};
use oriel::snapshot::Snapshot;
use oriel_laboratory::bench::{self, Sample};
use std::io::Write;
use std::path::PathBuf;

/// Options of `oriel live`.
#[derive(Args)]
pub struct LiveArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Check the intervals against the function; a finding is an error
    #[arg(long)]
    verify: bool,

    /// Compute the intervals without the global dataflow
    #[arg(long)]
    fast_compile: bool,
}

/// Runs `oriel live`: prints the intervals in LLVM's form.
pub fn run(arguments: &LiveArguments) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let bypass = if arguments.fast_compile {
        Bypass::Always
    } else {
        Bypass::Small
    };
    let mut calc = LiveRangeCalc::with_bypass(bypass);
    for path in &arguments.files {
        let owned = snapshot::load(path)?;
        let snapshot = owned.view();
        let intervals = calc.analyze(&snapshot);
        write!(
            out,
            "Live intervals for machine function: {}:\n********** INTERVALS **********\n{intervals}",
            snapshot.name()
        )
        .map_err(|error| error.to_string())?;
        if arguments.verify
            && let Some(finding) = intervals.verify(&snapshot).first()
        {
            return Err(format!("{}: {finding}", path.display()));
        }
    }
    Ok(())
}

/// Options of `oriel bench`.
#[derive(Args)]
pub struct BenchArguments {
    /// Snapshot files, on which only Oriel is timed, or LLVM IR (.ll, .bc), on which Oriel and LLVM
    /// are timed in turn
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Number of repetitions, of which the medians are printed
    #[arg(short = 'n', long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repetitions: u32,

    /// Compute capability, such as 80 or 90a [default: LLVM's]
    #[cfg(feature = "llvm")]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,
}

/// Runs `oriel bench`: prints one JSON object for each function and stage, then totals.
pub fn run_bench(arguments: &BenchArguments) -> Result<(), String> {
    let (modules, snapshots): (Vec<&PathBuf>, Vec<&PathBuf>) =
        arguments.files.iter().partition(|path| is_ir(path));
    for path in snapshots {
        let owned = snapshot::load(path)?;
        time_alone(&owned.view(), arguments.repetitions).map_err(|error| error.to_string())?;
    }
    if !modules.is_empty() {
        time_with_llvm(&modules, arguments)?;
    }
    Ok(())
}

fn time_alone(snapshot: &Snapshot<'_>, repetitions: u32) -> std::io::Result<()> {
    let mut samples = vec![Sample::default(); repetitions as usize];
    for sample in &mut samples {
        bench::measure(snapshot, sample);
    }
    bench::report(snapshot, &samples)
}

#[cfg(feature = "llvm")]
fn time_with_llvm(modules: &[&PathBuf], arguments: &BenchArguments) -> Result<(), String> {
    use crate::compile::compiler;
    use crate::source::Source;
    let flags = format!("-oriel=analyze -oriel-bench={}", arguments.repetitions);
    oriel::options::set_all_on_command_line(&flags)?;
    let compiler = compiler(arguments.sm.as_deref(), None, 2);
    // The shim prints the totals when the process ends.
    modules.iter().try_for_each(|path| {
        Source::from(path.as_path()).with_module(|module| compiler.emit(module).map(drop))
    })
}

#[cfg(not(feature = "llvm"))]
fn time_with_llvm(modules: &[&PathBuf], _: &BenchArguments) -> Result<(), String> {
    Err(format!(
        "{}: this oriel is built without LLVM",
        modules[0].display()
    ))
}
