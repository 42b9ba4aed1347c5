//! `oriel diff`: compares two reports of the same functions.

use crate::Failure;
use clap::Args;
use oriel::report::diff::{self, Change, ChangeKind, Row, Tolerance};
use oriel::report::sarif;
use std::path::{Path, PathBuf};

/// Options of `oriel diff`.
#[derive(Args)]
pub struct DiffArguments {
    /// Lines of `oriel report --json` or of -oriel-report
    before: PathBuf,

    /// The same for the later code
    after: PathBuf,

    #[command(flatten)]
    tolerance: ToleranceArguments,
}

/// The tolerance of the comparison, and where its result goes.
#[derive(Args)]
pub struct ToleranceArguments {
    /// Additional registers that a function may need
    #[arg(long, value_name = "N", default_value_t = 0)]
    tolerate_registers: u64,

    /// Additional instructions that a function may have, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    tolerate_instructions: f64,

    /// Additional spill risk, in percentage points
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    tolerate_spill_risk: u64,

    /// Warps by which fewer may fit on a multiprocessor
    #[arg(long, value_name = "N", default_value_t = 0)]
    tolerate_warps: u64,

    /// Also fail if a function has a warning that it did not have before
    #[arg(long)]
    no_new_warnings: bool,

    /// Write figures that got worse beyond the tolerance, and new warnings, as SARIF 2.1.0 with
    /// their source lines
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// With --sarif: folder to which source files are named relative [default: the working
    /// directory]
    #[arg(long, value_name = "DIR", requires = "sarif")]
    source_root: Option<PathBuf>,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("a number from zero on is expected".to_owned()),
    }
}

impl ToleranceArguments {
    /// True if any of them was given.
    pub fn is_given(&self) -> bool {
        self.tolerance() != Tolerance::default() || self.no_new_warnings || self.sarif.is_some()
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance {
            registers: self.tolerate_registers,
            instructions_percent: self.tolerate_instructions,
            spill_risk_percent: self.tolerate_spill_risk,
            warps: self.tolerate_warps,
        }
    }

    /// Prints the changes since `before`, and writes them as SARIF if requested; an error if
    /// something got worse beyond the tolerance.
    pub fn judge(&self, before: &[Row], after: &[Row]) -> Result<(), Failure> {
        let changes = diff::compare(before, after, self.tolerance());
        for change in &changes {
            say_line!("{change}");
        }
        let new = diff::new_warnings(before, after);
        for (row, warning) in &new {
            say_line!("new warning: {} (sm_{}): {warning}", row.function(), row.sm());
        }
        if let Some(path) = &self.sarif {
            let root = self.source_root.clone().map_or_else(std::env::current_dir, Ok);
            let root = root.map_err(|error| format!("the working directory: {error}"))?;
            let log = sarif::log(oriel::VERSION, &root, &changes, after, &new);
            let text = format!("{log:#}\n");
            std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let is_worse = |change: &&Change| change.kind == ChangeKind::Worse;
        match changes.iter().filter(is_worse).count() {
            0 if self.no_new_warnings && !new.is_empty() => {
                Err(format!("{} warnings are new", new.len()).into())
            }
            0 => Ok(()),
            count => Err(format!("{count} figures are worse than before").into()),
        }
    }
}

/// Reads a report.
pub fn load(path: &Path) -> Result<Vec<Row>, String> {
    let problem = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    diff::read(&text).map_err(problem)
}

/// Runs the command.
pub fn run(arguments: &DiffArguments) -> Result<(), Failure> {
    let (before, after) = (load(&arguments.before)?, load(&arguments.after)?);
    arguments.tolerance.judge(&before, &after)
}
