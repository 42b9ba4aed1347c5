//! `oriel cfg`: edges, orders and loops of functions.

use clap::Args;
use oriel::graph::Traversal;
use oriel::ori::{ControlFlow, Function};
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Options of `oriel cfg`.
#[derive(Args)]
pub struct CfgArguments {
    /// Snapshots (*.oriel), as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), of which both stages are
    /// shown, or functions in Ori's text form; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print for Graphviz
    #[arg(long)]
    dot: bool,

    /// Number blocks by the walk that takes the first successor first
    #[arg(long)]
    recursive: bool,

    /// Compute capability that LLVM IR is compiled for, such as 80 or 90a [default: LLVM's]
    #[cfg(feature = "llvm")]
    #[arg(long, value_name = "SM")]
    sm: Option<String>,
}

/// Runs the command.
pub fn run(arguments: &CfgArguments) -> Result<(), String> {
    let traversal = match arguments.recursive {
        true => Traversal::Recursive,
        false => Traversal::ExplicitStack,
    };
    for path in &arguments.files {
        let functions = load(path, arguments).map_err(|problem| format!("{}:{problem}", path.display()))?;
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

fn load(path: &Path, arguments: &CfgArguments) -> Result<Vec<Function>, String> {
    let extension = path.extension().unwrap_or_default();
    if extension == "ll" || extension == "bc" {
        return from_llvm(path, arguments);
    }
    crate::ori::load(path)
}

/// The functions of a module at both stages, which the snapshots of a compilation have.
#[cfg(feature = "llvm")]
fn from_llvm(path: &Path, arguments: &CfgArguments) -> Result<Vec<Function>, String> {
    // The process reads its options once, so there is one folder for all modules.
    let folder = std::env::temp_dir().join(format!("oriel-cfg-{}", std::process::id()));
    let text = |error: std::io::Error| format!(" {}: {error}", folder.display());
    std::fs::create_dir(&folder).map_err(text)?;
    let functions = compile_and_load(path, &folder, arguments);
    std::fs::remove_dir_all(&folder).map_err(text)?;
    functions
}

#[cfg(feature = "llvm")]
fn compile_and_load(path: &Path, folder: &Path, arguments: &CfgArguments) -> Result<Vec<Function>, String> {
    let flags = format!("-oriel=analyze '-oriel-snapshot={}'", folder.display());
    oriel::options::set_all_on_command_line(&flags)?;
    crate::compile::compile_for_effect(path, arguments.sm.clone())
        .map_err(|problem| format!(" {problem}"))?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| format!(" {error}"))? {
        files.push(entry.map_err(|error| format!(" {error}"))?.path());
    }
    files.sort();
    let mut functions = Vec::new();
    for file in files {
        functions.extend(crate::ori::load(&file)?);
    }
    Ok(functions)
}

#[cfg(not(feature = "llvm"))]
fn from_llvm(_: &Path, _: &CfgArguments) -> Result<Vec<Function>, String> {
    Err(" this oriel is built without LLVM".to_owned())
}
