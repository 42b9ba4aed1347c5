//! `oriel report`: what Oriel knows of functions.

use crate::modules::{ModuleOptions, is_module};
use clap::Args;
use oriel::report::OpcodeReport;
use oriel::snapshot::OwnedSnapshot;
use std::io::Write;
use std::path::PathBuf;

/// Options of `oriel report`.
#[derive(Args)]
pub struct ReportArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), which is compiled, or machine
    /// IR (.mir)
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print which share of the instructions has full meaning, and the others by name
    #[arg(long, required = true)]
    opcodes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    modules: ModuleOptions,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<(), String> {
    let mut report = OpcodeReport::default();
    for path in &arguments.files {
        if is_module(path) {
            for snapshot in arguments.modules.snapshots_of(path)? {
                report.add(&snapshot.view());
            }
        } else {
            let snapshot =
                OwnedSnapshot::load(path).map_err(|error| format!("{}: {error}", path.display()))?;
            report.add(&snapshot.view());
        }
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n"
    } else {
        report.to_string()
    };
    std::io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| error.to_string())
}
