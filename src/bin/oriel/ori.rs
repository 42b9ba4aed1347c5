//! `oriel ori`: functions in Ori, from text or from snapshots.

use clap::Args;
use oriel::ori::machine::from_machine;
use oriel::ori::{Function, PrintOptions, parse_functions};
use oriel::snapshot::OwnedSnapshot;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Options of `oriel ori`.
#[derive(Args)]
pub struct OriArguments {
    /// Files in Ori's text form (docs/ori-text.md), `-` for standard input, or snapshots (*.oriel), as
    /// written by -oriel-snapshot=DIR
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Check the functions as well; what the verifier finds goes to standard error
    #[arg(long)]
    verify: bool,

    /// Print nothing but problems
    #[arg(long)]
    quiet: bool,

    /// Print the reference's number of each operation that has one, as a comment
    #[arg(long)]
    reference_numbers: bool,
}

/// Runs the command.
pub fn run(arguments: &OriArguments) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let options = PrintOptions {
        reference_numbers: arguments.reference_numbers,
    };
    let mut findings = 0;
    for path in &arguments.files {
        for function in load(path).map_err(|problem| format!("{}:{problem}", path.display()))? {
            if !arguments.quiet {
                write!(out, "{}", function.display(options)).map_err(|error| error.to_string())?;
            }
            if arguments.verify {
                findings += report_findings(path, &function);
            }
        }
    }
    match findings {
        0 => Ok(()),
        1 => Err("the verifier found a problem".to_owned()),
        many => Err(format!("the verifier found {many} problems")),
    }
}

/// The functions of a file; an error begins with line and column, if there is one.
fn load(path: &Path) -> Result<Vec<Function>, String> {
    if path.extension() == Some(OsStr::new("oriel")) {
        let snapshot = OwnedSnapshot::load(path).map_err(|error| format!(" {error}"))?;
        let function = from_machine(&snapshot.view()).map_err(|error| format!(" {error}"))?;
        return Ok(vec![function]);
    }
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        _ => std::fs::read_to_string(path).map(|read| text = read),
    };
    read.map_err(|error| format!(" {error}"))?;
    parse_functions(&text).map_err(|error| error.to_string())
}

/// Reports what is wrong with a function; how much.
fn report_findings(path: &Path, function: &Function) -> usize {
    let findings = function.verify();
    for finding in &findings {
        let name = &function.info.name;
        eprintln!("{}: {name}: {}", path.display(), finding.display(function));
    }
    findings.len()
}
