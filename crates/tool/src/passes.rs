//! `oriel passes`: runs machine passes with LLVM's new pass manager.

use crate::compile::write_output;
use clap::Args;
use inkwell::targets::{InitializationConfig, Target};
use oriel::options;
use std::path::{Path, PathBuf};

/// Options of `oriel passes`.
#[derive(Args)]
pub struct PassesArguments {
    /// Machine IR (.mir)
    file: PathBuf,

    /// The pipeline, such as oriel-ssa or 'print<oriel-live-intervals>'
    #[arg(long, value_name = "PIPELINE")]
    passes: String,

    /// Output file for the machine IR; - is standard output
    #[arg(short, long, default_value = "-")]
    output: PathBuf,

    /// Compute capability, such as 80 or 90a [default: LLVM's]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,

    /// Oriel's options, as in ORIEL_FLAGS
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    oriel: String,
}

/// Runs the command.
pub fn run(arguments: &PassesArguments) -> Result<(), String> {
    options::set_all_on_command_line(&arguments.oriel)?;
    let machine_ir = run_pipeline(&arguments.file, &arguments.passes, arguments.sm.as_deref())?;
    write_output(&arguments.output, machine_ir.as_bytes())
}

/// Runs a pipeline on machine IR, with the current options; returns the result.
pub fn run_pipeline(file: &Path, passes: &str, sm: Option<&str>) -> Result<String, String> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let cpu = sm.map_or_else(String::new, |sm| format!("sm_{sm}"));
    oriel_laboratory::run_machine_passes(file, passes, &cpu)
        .map_err(|problem| format!("{}: {problem}", file.display()))
}
