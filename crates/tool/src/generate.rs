//! `oriel generate`: random functions for tests and benchmarks.

use clap::{Args, ValueEnum};
use oriel_generate::{Form, Options, Shape};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// The output format.
#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// LLVM IR: kernels with defined semantics
    Ir,
    /// Machine IR in SSA form: control flow and registers that no front end makes
    MirSsa,
    /// Machine IR without PHIs
    MirLate,
}

/// Options of `oriel generate`.
#[derive(Args)]
pub struct GenerateArguments {
    /// The output format
    #[arg(long, value_enum, default_value = "ir")]
    language: Language,

    /// Output file; - is standard output
    #[arg(short, long, default_value = "-")]
    output: PathBuf,

    /// Output file for a launch description of the kernels, with random inputs (LLVM IR only)
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,

    /// Seed of the program; function k has the seed SEED + k
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,

    /// Approximate number of machine instructions of each function
    #[arg(long, default_value_t = Options::default().instructions)]
    instructions: usize,

    /// Number of functions
    #[arg(long, default_value_t = Options::default().functions)]
    functions: usize,

    /// Shape of the control flow: straight, structured, self-loops, switches, huge-switch,
    /// irreducible, infinite-loops, unreachable, parallel-edges, empty-blocks, random or mixed
    #[arg(long, default_value_t = Options::default().shape)]
    shape: Shape,

    /// Average number of instructions of a block
    #[arg(long, default_value_t = Options::default().block_size)]
    block_size: usize,

    /// Number of values that are defined at the entry and used at the end
    #[arg(long, default_value_t = Options::default().long_lived)]
    long_lived: usize,

    /// With debug information
    #[arg(short = 'g', long)]
    debug_info: bool,

    /// With calls of device functions
    #[arg(long)]
    calls: bool,

    /// With barriers, warp-wide operations, atomics, vectors, bytes, half precision and local
    /// arrays (LLVM IR only)
    #[arg(long)]
    all_operations: bool,

    /// With inline assembly and intrinsics whose effects LLVM's flags do not describe
    #[arg(long)]
    assembly: bool,

    /// Compute capability for LLVM IR with assembly, such as 80 or 90a
    #[arg(long, value_name = "SM", value_parser = crate::sm::name, default_value = "80")]
    sm: String,
}

/// Runs the command.
pub fn run(arguments: &GenerateArguments) -> Result<(), String> {
    let form = match arguments.language {
        Language::Ir | Language::MirSsa => Form::Ssa,
        Language::MirLate => Form::Late,
    };
    if arguments.all_operations && !matches!(arguments.language, Language::Ir) {
        return Err("--all-operations is for --language ir only".to_owned());
    }
    let (sm, is_architecture_specific) = oriel_generate::parse_processor(&arguments.sm)?;
    let options = Options {
        seed: arguments.seed,
        instructions: arguments.instructions,
        functions: arguments.functions,
        shape: arguments.shape,
        block_size: arguments.block_size,
        long_lived: arguments.long_lived,
        debug_info: arguments.debug_info,
        calls: arguments.calls,
        all_operations: arguments.all_operations,
        assembly: arguments.assembly,
        sm,
        is_architecture_specific,
        form,
        ..Options::default()
    };
    if let Some(launch) = &arguments.launch {
        if !matches!(arguments.language, Language::Ir) {
            return Err("--launch is for --language ir only".to_owned());
        }
        std::fs::write(
            launch,
            oriel_generate::launch_description(&options, arguments.seed),
        )
        .map_err(|error| format!("{}: {error}", launch.display()))?;
    }
    let write = || -> io::Result<()> {
        let out: Box<dyn Write> = match arguments.output.to_str() {
            Some("-") => Box::new(io::stdout().lock()),
            _ => Box::new(File::create(&arguments.output)?),
        };
        match arguments.language {
            Language::Ir => oriel_generate::llvm_ir(&options, out),
            Language::MirSsa | Language::MirLate => oriel_generate::machine_ir(&options, out),
        }
    };
    write().map_err(|error| format!("{}: {error}", arguments.output.display()))
}
