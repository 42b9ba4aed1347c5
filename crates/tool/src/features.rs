//! `oriel features`: prints the inputs of the register estimate.

use crate::modules::{ModuleOptions, is_module};
use crate::snapshot;
use clap::Args;
use oriel::ori::machine::from_machine;
use oriel::report::estimate::{CallGraph, Features, RegisterEstimate, Target};
use oriel::snapshot::OwnedSnapshot;
use oriel::snapshot::abi::Stage;
use std::io::Write;
use std::path::PathBuf;

/// Options of `oriel features`.
#[derive(Args)]
pub struct FeaturesArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), which is compiled, or
    /// machine IR (.mir)
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Estimate as if the mark for debuggers were taken out of the PTX, as Triton does
    #[arg(long)]
    without_debug: bool,

    #[command(flatten)]
    modules: ModuleOptions,
}

/// Runs the command: prints a line for each kernel. The features of called functions are included
/// if they are in the same file, or in any of the snapshots.
pub fn run(arguments: &FeaturesArguments) -> Result<(), String> {
    let mut snapshots = Vec::new();
    for path in &arguments.files {
        if is_module(path) {
            print_features(&arguments.modules.snapshots_of(path)?, arguments.without_debug)?;
        } else {
            snapshots.push(snapshot::load(path)?);
        }
    }
    print_features(&snapshots, arguments.without_debug)
}

fn print_features(snapshots: &[OwnedSnapshot], without_debug: bool) -> Result<(), String> {
    let mut graph = CallGraph::default();
    let mut kernels = Vec::new();
    for snapshot in snapshots {
        let snapshot = snapshot.view();
        if snapshot.stage() == Stage::Late {
            let function =
                from_machine(&snapshot).map_err(|error| format!("{}: {error}", snapshot.name()))?;
            let target = Target::of(&snapshot);
            let is_debug = target.is_debug && !without_debug;
            let features = Features::new(&function, &Target { is_debug, ..target });
            graph.add_features(&function, features);
            if snapshot.is_kernel() {
                kernels.push((function, features));
            }
        }
    }
    graph.settle();
    let mut out = std::io::stdout().lock();
    for (kernel, own) in kernels {
        let name = &kernel.info.name;
        // Kernels without a name are not in the graph.
        let features = graph
            .features(name)
            .unwrap_or_else(|| graph.features_of(&kernel, own));
        writeln!(out, "{}", line_of(name, &features)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn line_of(kernel: &str, features: &Features) -> serde_json::Value {
    let values = Features::NAMES.iter().zip(features.values());
    let values: serde_json::Map<_, _> = values
        .map(|(&name, value)| (name.to_owned(), value.into()))
        .collect();
    let estimate = RegisterEstimate::from_features(features);
    serde_json::json!({
        "function": kernel,
        "features": values,
        "registers_estimate": estimate.registers,
        "registers_estimate_low": estimate.low,
        "registers_estimate_high": estimate.high,
    })
}
