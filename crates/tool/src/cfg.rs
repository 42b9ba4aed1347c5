//! `oriel cfg`: edges, orders and loops of functions.

use crate::modules::{ModuleOptions, is_module};
use clap::Args;
use oriel::graph::Traversal;
use oriel::ori::machine::from_machine;
use oriel::ori::{ControlFlow, Function};
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Options of `oriel cfg`.
#[derive(Args)]
pub struct CfgArguments {
    /// Snapshots (*.oriel), as written by -oriel-snapshot=DIR; LLVM IR (.ll, .bc), shown at both
    /// stages; machine IR (.mir); or functions in Ori's text form; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print for Graphviz
    #[arg(long)]
    dot: bool,

    /// Number blocks by the walk that visits the first successor first
    #[arg(long)]
    recursive: bool,

    #[command(flatten)]
    modules: ModuleOptions,
}

/// Runs the command.
pub fn run(arguments: &CfgArguments) -> Result<(), String> {
    let traversal = match arguments.recursive {
        true => Traversal::Recursive,
        false => Traversal::ExplicitStack,
    };
    for path in &arguments.files {
        let functions = load(path, arguments)?;
        for function in functions.iter().filter(|function| !function.blocks().is_empty()) {
            let mut text = String::new();
            print(function, traversal, arguments.dot, &mut text).map_err(|error| error.to_string())?;
            std::io::stdout()
                .write_all(text.as_bytes())
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn print(function: &Function, traversal: Traversal, dot: bool, out: &mut String) -> fmt::Result {
    let flow = ControlFlow::analyze(function, traversal);
    if dot {
        return flow.print_dot(function, out);
    }
    writeln!(
        out,
        "{} at stage {}",
        function.info.name,
        function.info.stage.name()
    )?;
    flow.print_edges(function, out)?;
    flow.print_order_and_back_edges(function, out)?;
    flow.print_loops(out)
}

/// Reads the functions of a file; an error starts with the file's name.
fn load(path: &Path, arguments: &CfgArguments) -> Result<Vec<Function>, String> {
    if !is_module(path) {
        return crate::ori::load(path).map_err(|problem| format!("{}:{problem}", path.display()));
    }
    let snapshots = arguments.modules.snapshots_of(path)?;
    let functions = snapshots.iter().map(|snapshot| from_machine(&snapshot.view()));
    functions
        .map(|function| function.map_err(|error| format!("{}: {error}", path.display())))
        .collect()
}
