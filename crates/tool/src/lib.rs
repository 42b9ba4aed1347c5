//! The command line tool, `oriel`, as a library: the package for Python calls its parts.

#[macro_use]
mod say;

mod cfg;
#[cfg(feature = "llvm")]
pub mod compile;
mod diff;
mod differential;
mod exec;
mod features;
mod generate;
mod help;
mod input;
mod live;
pub mod modules;
mod occupancy;
mod ori;
#[cfg(feature = "llvm")]
mod passes;
mod progress;
pub mod ptxas;
pub mod report;
pub mod reported;
mod shell;
mod sm;
mod snapshot;
pub mod source;
mod tables;
#[cfg(feature = "llvm")]
pub mod tune;
mod validate;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Live ranges, a ptxas-style optimiser and register estimates for NVPTX.
#[derive(Parser)]
#[command(version = oriel::VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the control flow of functions, as text or for Graphviz
    Cfg(cfg::CfgArguments),
    /// Compile LLVM IR or bitcode to PTX, with Oriel in the pipeline
    #[cfg(feature = "llvm")]
    Compile(compile::CompileArguments),
    /// Print the script that lets a shell complete commands and options: oriel completions bash
    Completions(shell::CompletionsArguments),
    /// Compare two reports, and fail if a function got worse
    Diff(diff::DiffArguments),
    /// Check that phases do not change the memory that kernels leave
    Differential(differential::DifferentialArguments),
    /// Time live intervals
    Bench(live::BenchArguments),
    /// Run kernels in the interpreter, or on a GPU
    Exec(exec::ExecArguments),
    /// Print the inputs of the register estimate as JSON lines, for calibration
    Features(features::FeaturesArguments),
    /// List the knobs of phases, which -oriel-knob sets
    Knobs(tables::TableArguments),
    /// Print live intervals of snapshots
    Live(live::LiveArguments),
    /// Write a manual page for each command to a folder
    Man(shell::ManArguments),
    /// Print the occupancy of a multiprocessor by a kernel's registers, threads and shared memory
    Occupancy(occupancy::OccupancyArguments),
    /// Print and verify functions in Ori, from text or from snapshots
    Ori(ori::OriArguments),
    /// Run machine passes on machine IR with LLVM's new pass manager, like llc -passes=
    #[cfg(feature = "llvm")]
    Passes(passes::PassesArguments),
    /// List the phases in their order, with the names for -oriel-phases and -oriel-disable-phases
    Phases(tables::TableArguments),
    /// Write random functions for tests and benchmarks
    Generate(generate::GenerateArguments),
    /// Print register pressure, its causes, and occupancy
    Report(report::ReportArguments),
    /// Check and print snapshot files
    Snapshot(snapshot::SnapshotArguments),
    /// Find the best options for a kernel
    #[cfg(feature = "llvm")]
    Tune(tune::TuneArguments),
    /// Prove that two functions do the same
    Validate(validate::ValidateArguments),
}

/// The reason why a command failed.
#[derive(Debug)]
pub struct Failure {
    message: String,
    /// The exit status.
    code: u8,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, code: 1 }
    }
}

/// Runs the command that the process's arguments name, and returns the exit status.
pub fn main() -> ExitCode {
    // `oriel phases | head` ends silently, like other tools.
    sigpipe::reset();
    let matches = tool().get_matches();
    let command = Arguments::from_arg_matches(&matches)
        .unwrap_or_else(|error| error.exit())
        .command;
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("oriel: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Returns the tool's command line, with its commands in groups.
fn tool() -> clap::Command {
    help::with_groups(Arguments::command())
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Cfg(arguments) => cfg::run(&arguments)?,
        #[cfg(feature = "llvm")]
        Command::Compile(arguments) => compile::run(&arguments)?,
        Command::Completions(arguments) => shell::run_completions(&arguments, tool())?,
        Command::Diff(arguments) => diff::run(&arguments)?,
        Command::Differential(arguments) => differential::run(&arguments)?,
        Command::Bench(arguments) => live::run_bench(&arguments)?,
        Command::Exec(arguments) => exec::run(&arguments)?,
        Command::Features(arguments) => features::run(&arguments)?,
        Command::Knobs(arguments) => tables::run_knobs(&arguments)?,
        Command::Phases(arguments) => tables::run_phases(&arguments)?,
        Command::Live(arguments) => live::run(&arguments)?,
        Command::Man(arguments) => shell::run_man(&arguments, tool())?,
        Command::Occupancy(arguments) => occupancy::run(&arguments)?,
        Command::Ori(arguments) => ori::run(&arguments)?,
        #[cfg(feature = "llvm")]
        Command::Passes(arguments) => passes::run(&arguments)?,
        Command::Generate(arguments) => generate::run(&arguments)?,
        Command::Report(arguments) => report::run(&arguments)?,
        Command::Snapshot(arguments) => snapshot::run(&arguments)?,
        #[cfg(feature = "llvm")]
        Command::Tune(arguments) => tune::run(&arguments)?,
        Command::Validate(arguments) => validate::run(&arguments)?,
    }
    Ok(())
}
