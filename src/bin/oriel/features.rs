//! `oriel features`: what the register estimate is computed from.

use crate::modules::{ModuleOptions, is_module};
use clap::Args;
use oriel::ori::machine::from_machine;
use oriel::report::estimate::{Features, RegisterEstimate, Target};
use oriel::snapshot::abi::Stage;
use oriel::snapshot::{OwnedSnapshot, Snapshot};
use std::io::Write;
use std::path::PathBuf;

/// Options of `oriel features`.
#[derive(Args)]
pub struct FeaturesArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), which is compiled, or machine
    /// IR (.mir)
    #[arg(required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    modules: ModuleOptions,
}

/// Runs the command: a line for each kernel.
pub fn run(arguments: &FeaturesArguments) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    for path in &arguments.files {
        let snapshots = if is_module(path) {
            arguments.modules.snapshots_of(path)?
        } else {
            vec![OwnedSnapshot::load(path).map_err(|error| format!("{}: {error}", path.display()))?]
        };
        for snapshot in &snapshots {
            let snapshot = snapshot.view();
            if snapshot.is_kernel() && snapshot.stage() == Stage::Late {
                writeln!(out, "{}", line_of(&snapshot)?).map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(())
}

fn line_of(snapshot: &Snapshot<'_>) -> Result<serde_json::Value, String> {
    let target = Target::of(snapshot);
    let function = from_machine(snapshot).map_err(|error| format!("{}: {error}", snapshot.name()))?;
    let features = Features::new(&function, &target);
    let values = Features::NAMES.iter().zip(features.values());
    let values: serde_json::Map<_, _> = values
        .map(|(&name, value)| (name.to_owned(), value.into()))
        .collect();
    let estimate = RegisterEstimate::from_features(&features);
    Ok(serde_json::json!({
        "function": snapshot.name(),
        "features": values,
        "registers_estimate": estimate.registers,
        "registers_estimate_low": estimate.low,
        "registers_estimate_high": estimate.high,
    }))
}
