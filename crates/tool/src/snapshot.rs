//! `oriel snapshot`: checks and prints snapshot files.

use clap::Args;
use oriel::snapshot::{OwnedSnapshot, damaged, try_to_use};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `oriel snapshot`.
#[derive(Args)]
pub struct SnapshotArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Only check; print only problems
    #[arg(long)]
    check: bool,

    /// Also load this many damaged copies of each file, each of which must be refused or be usable
    #[arg(long, value_name = "COPIES", default_value_t = 0)]
    damage: u64,

    /// Seed of the damage
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Reads a snapshot; an error starts with the file's name.
pub fn load(path: &Path) -> Result<OwnedSnapshot, String> {
    OwnedSnapshot::load(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs the command.
pub fn run(arguments: &SnapshotArguments) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let mut print = |text: String| out.write_all(text.as_bytes()).map_err(|error| error.to_string());
    for path in &arguments.files {
        let snapshot = load(path)?;
        if !arguments.check {
            print(snapshot.view().to_string())?;
        }
        if arguments.damage != 0 {
            let bytes = snapshot.view().to_bytes();
            let seeds = arguments.seed..arguments.seed + arguments.damage;
            let accepted = seeds
                .clone()
                .filter(|&seed| try_to_use(&damaged(&bytes, seed)).is_ok())
                .count();
            print(format!(
                "{}: {} damaged copies: {accepted} still valid, {} refused\n",
                path.display(),
                arguments.damage,
                arguments.damage - accepted as u64
            ))?;
        }
    }
    Ok(())
}
