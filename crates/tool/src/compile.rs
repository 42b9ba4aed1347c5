//! `oriel compile`: LLVM's code generation in this process, with Oriel in the pipeline.

use crate::source::Source;
use clap::Args;
use inkwell::OptimizationLevel;
use oriel::compile::Compiler;
use oriel::options::{self, Mode, Options};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `oriel compile`.
#[derive(Args)]
pub struct CompileArguments {
    /// LLVM IR (.ll) or bitcode (.bc)
    file: Source,

    /// Output file for the PTX; - is standard output
    #[arg(short, long, default_value = "-")]
    output: PathBuf,

    /// Compute capability, such as 80 or 90a [default: LLVM's]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,

    /// PTX ISA version times ten, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

    /// Optimisation level of code generation
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    optimization_level: u8,

    /// Oriel's options, as in ORIEL_FLAGS: --oriel '-oriel=analyze -oriel-report=-'
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    oriel: String,
}

/// Runs the command.
pub fn run(arguments: &CompileArguments) -> Result<(), String> {
    options::set_all_on_command_line(&arguments.oriel)?;
    let compiler = compiler(
        arguments.sm.as_deref(),
        arguments.ptx,
        arguments.optimization_level,
    );
    let ptx = arguments.file.with_module(|module| compiler.emit(module))?;
    write_output(&arguments.output, &ptx)
}

/// Returns a compiler for a compute capability, such as 80 or 90a, and a version of PTX times ten, or for
/// LLVM's defaults, at a level from 0 to 3.
pub fn compiler(sm: Option<&str>, ptx: Option<u32>, level: u8) -> Compiler {
    let mut compiler = Compiler::new().optimization_level(match level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    });
    if let Some(sm) = sm {
        compiler = compiler.sm(sm);
    }
    if let Some(version) = ptx {
        compiler = compiler.ptx_version(version);
    }
    compiler
}

/// Returns the process's options with those of `flags`, written as in ORIEL_FLAGS, on top.
///
/// # Errors
/// If an option is wrong.
pub fn options_with(flags: &str) -> Result<Options, String> {
    let mut options = Options::clone(&*options::process_options()?);
    options.set_all(flags)?;
    Ok(options)
}

/// Returns the names and values of LLVM's own options in `flags`, such as `-pre-RA-sched=list-burr`.
pub fn llvm_options(flags: &str) -> Vec<(&str, &str)> {
    let flags = flags.split_whitespace().map(|flag| flag.trim_start_matches('-'));
    flags
        .map(|flag| flag.split_once('=').unwrap_or((flag, "")))
        .collect()
}

/// Returns the process's options in mode `analyze`.
///
/// # Errors
/// If an option is wrong.
pub fn analyzing() -> Result<Options, String> {
    Ok(Options {
        mode: Mode::Analyze,
        ..Options::clone(&*options::process_options()?)
    })
}

/// Writes `text` to a file, or to standard output if `path` is `-`.
pub fn write_output(path: &Path, text: &[u8]) -> Result<(), String> {
    let written = if path == Path::new("-") {
        std::io::stdout().lock().write_all(text)
    } else {
        std::fs::write(path, text)
    };
    written.map_err(|error| format!("{}: {error}", path.display()))
}
