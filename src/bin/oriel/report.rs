//! `oriel report`: what Oriel knows of functions.

use clap::Args;
use oriel::report::OpcodeReport;
use oriel::snapshot::OwnedSnapshot;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `oriel report`.
#[derive(Args)]
pub struct ReportArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, or LLVM IR (.ll, .bc), which is compiled
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print which share of the instructions has full meaning, and the others by name
    #[arg(long, required = true)]
    opcodes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Compute capability, such as 80 or 90a [default: LLVM's]
    #[cfg(feature = "llvm")]
    #[arg(long, value_name = "SM")]
    sm: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<(), String> {
    let mut report = OpcodeReport::default();
    let is_module = |path: &&PathBuf| {
        let extension = path.extension().unwrap_or_default();
        extension == "ll" || extension == "bc"
    };
    let add = |report: &mut OpcodeReport, path: &Path| {
        let snapshot = OwnedSnapshot::load(path).map_err(|error| format!("{}: {error}", path.display()))?;
        report.add(&snapshot.view());
        Ok::<(), String>(())
    };
    for path in arguments.files.iter().filter(|path| !is_module(path)) {
        add(&mut report, path)?;
    }
    let modules: Vec<&PathBuf> = arguments.files.iter().filter(is_module).collect();
    if !modules.is_empty() {
        for_each_snapshot(&modules, arguments, |path| add(&mut report, path))?;
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

/// Compiles each module and hands over the snapshots that come of it.
#[cfg(feature = "llvm")]
fn for_each_snapshot(
    modules: &[&PathBuf],
    arguments: &ReportArguments,
    mut visit: impl FnMut(&Path) -> Result<(), String>,
) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("oriel-report-{}", std::process::id()));
    let describe = |error: std::io::Error| format!("{}: {error}", folder.display());
    // The option wants the folder to be there.
    std::fs::create_dir(&folder).map_err(describe)?;
    let flags = format!("-oriel=analyze '-oriel-snapshot={}'", folder.display());
    oriel::options::set_all_on_command_line(&flags)?;
    let mut visit_module = |module: &Path| {
        crate::compile::compile_for_effect(module, arguments.sm.clone())?;
        for entry in std::fs::read_dir(&folder).map_err(describe)? {
            let path = entry.map_err(describe)?.path();
            visit(&path)?;
            // A function of the same name in the next module must not pass for this one.
            std::fs::remove_file(&path).map_err(describe)?;
        }
        Ok(())
    };
    let visited = modules.iter().try_for_each(|module| visit_module(module));
    std::fs::remove_dir_all(&folder).map_err(describe)?;
    visited
}

#[cfg(not(feature = "llvm"))]
fn for_each_snapshot(
    modules: &[&PathBuf],
    _: &ReportArguments,
    _: impl FnMut(&Path) -> Result<(), String>,
) -> Result<(), String> {
    Err(format!(
        "{}: this oriel is built without LLVM",
        modules[0].display()
    ))
}
