//! `oriel ori`: prints and verifies functions in Ori, from text or from snapshots.

use clap::Args;
use oriel::entity::EntityRef;
use oriel::ori::machine::from_machine;
use oriel::ori::{Divergence, Function, PrintOptions, parse_functions};
use oriel::phases::registry::{Forms, Phase, Registry};
use oriel::phases::{Manager, PhaseOptions, Remark};
use oriel::snapshot::OwnedSnapshot;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Options of `oriel ori`.
#[derive(Args)]
pub struct OriArguments {
    /// Files in Ori's text form (docs/ori-text.md), `-` for standard input, or snapshots (*.oriel),
    /// as written by -oriel-snapshot=DIR
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Run these phases on the functions first, in this order
    #[arg(long, value_name = "LIST", value_parser = |list: &str| Registry::default().named(list))]
    phases: Option<std::vec::Vec<&'static Phase>>,

    /// Set a knob for the phases; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "phases")]
    knob: Vec<String>,

    /// Value of -oriel-register-budget for the phases [default: 70]
    #[arg(long, value_name = "N", requires = "phases", value_parser = clap::value_parser!(u32).range(1..))]
    register_budget: Option<u32>,

    /// Optimisation level for the gates of phases
    #[arg(short = 'O', value_name = "LEVEL", requires = "phases", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=3))]
    optimization_level: u32,

    /// Print the remarks of the phases to standard error
    #[arg(long, requires = "phases")]
    remarks: bool,

    /// Also verify the functions; findings go to standard error
    #[arg(long)]
    verify: bool,

    /// Print only problems
    #[arg(long)]
    quiet: bool,

    /// Print the registers that may differ between the lanes of a warp, and the blocks where lanes
    /// may diverge, as comments
    #[arg(long)]
    divergence: bool,

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
    let mut phase_options = PhaseOptions {
        optimization_level: arguments.optimization_level,
        ..PhaseOptions::default()
    };
    phase_options.register_budget = arguments.register_budget.unwrap_or(phase_options.register_budget);
    for assignment in &arguments.knob {
        phase_options.knobs.set(assignment)?;
    }
    for path in &arguments.files {
        for mut function in load(path).map_err(|problem| format!("{}:{problem}", path.display()))? {
            if let Some(phases) = &arguments.phases {
                let remarks = run_phases(&mut function, phases, &phase_options)?;
                for remark in remarks.iter().filter(|_| arguments.remarks) {
                    eprintln!("{}: {}: {}", remark.phase, remark.name, remark.message);
                }
            }
            if !arguments.quiet {
                write!(out, "{}", function.display(options)).map_err(|error| error.to_string())?;
            }
            if arguments.divergence {
                print_divergence(&mut out, &function).map_err(|error| error.to_string())?;
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

/// Runs phases in the given order; returns their remarks.
fn run_phases(
    function: &mut Function,
    phases: &[&'static Phase],
    options: &PhaseOptions,
) -> Result<Vec<Remark>, String> {
    let stage = function.info.stage;
    let mut manager = Manager::new(options, true);
    for phase in phases {
        if !phase.forms.contains(Forms::at(stage)) {
            let name = &function.info.name;
            return Err(format!(
                "{name}: {} does not take functions of stage {}",
                phase.name,
                stage.name()
            ));
        }
        manager.run(phase, function);
        manager.check_analyses(phase, function)?;
    }
    Ok(manager.finish().1)
}

/// Reads the functions of a file, a snapshot or text; an error starts with line and column, if
/// known.
pub fn load(path: &Path) -> Result<Vec<Function>, String> {
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

/// Prints the result of the divergence analysis as two lines of comment.
fn print_divergence(out: &mut impl Write, function: &Function) -> std::io::Result<()> {
    let divergence = Divergence::of(function);
    let registers = function
        .registers()
        .filter(|&register| !divergence.is_uniform(register));
    let registers: String = registers.map(|register| format!(" {register}")).collect();
    let blocks = function.blocks().iter();
    let branches: String = blocks
        .filter(|&&block| divergence.is_divergent_branch(block))
        .map(|block| format!(" bix{}", block.index()))
        .collect();
    writeln!(out, "// divergent registers:{registers}")?;
    writeln!(out, "// divergent branches:{branches}")
}

/// Reports the verifier's findings on a function; returns their number.
fn report_findings(path: &Path, function: &Function) -> usize {
    let findings = function.verify();
    for finding in &findings {
        let name = &function.info.name;
        eprintln!("{}: {name}: {}", path.display(), finding.display(function));
    }
    findings.len()
}
