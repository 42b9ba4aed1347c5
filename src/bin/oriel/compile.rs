//! `oriel compile`: LLVM's code generation in this process, with Oriel in it.

use clap::Args;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetTriple};
use oriel::options;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `oriel compile`.
#[derive(Args)]
pub struct CompileArguments {
    /// LLVM IR (.ll) or bitcode (.bc)
    file: PathBuf,

    /// Where the PTX goes; - is standard output
    #[arg(short, long, default_value = "-")]
    output: PathBuf,

    /// Compute capability, such as 80 or 90a [default: LLVM's]
    #[arg(long, value_name = "SM")]
    sm: Option<String>,

    /// PTX ISA version times ten, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

    /// Optimisation level of code generation
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    optimization_level: u8,

    /// Oriel's options, as in ORIEL_FLAGS: --oriel '-oriel=analyze -oriel-report=-'
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    oriel: String,
}

/// Runs the command.
pub fn run(arguments: &CompileArguments) -> Result<(), String> {
    options::set_all_on_command_line(&arguments.oriel)?;
    let ptx = compile(arguments).map_err(|problem| format!("{}: {problem}", arguments.file.display()))?;
    write_output(&arguments.output, &ptx)
}

/// Compiles `file` at -O2 for what Oriel's options make of it, and throws the PTX away.
pub fn compile_for_effect(file: &Path, sm: Option<String>) -> Result<(), String> {
    compile_file(file, sm, None, 2).map(|_| ())
}

/// Compiles `file` as the command does, with the options that are in force; the PTX.
pub fn compile_file(
    file: &Path,
    sm: Option<String>,
    ptx: Option<u32>,
    optimization_level: u8,
) -> Result<Vec<u8>, String> {
    let arguments = CompileArguments {
        file: file.to_owned(),
        output: PathBuf::from("-"),
        sm,
        ptx,
        optimization_level,
        oriel: String::new(),
    };
    compile(&arguments).map_err(|problem| format!("{}: {problem}", file.display()))
}

fn compile(arguments: &CompileArguments) -> Result<Vec<u8>, String> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_file(&arguments.file).map_err(|error| error.to_string())?;
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|error| error.to_string())?;
    let triple = module.get_triple();
    let triple = if triple.as_str().is_empty() {
        TargetTriple::create("nvptx64-nvidia-cuda")
    } else {
        triple
    };
    if !triple.as_str().to_string_lossy().starts_with("nvptx") {
        return Err(format!(
            "its target is {}, not nvptx64",
            triple.as_str().to_string_lossy()
        ));
    }
    let target = Target::from_triple(&triple).map_err(|error| error.to_string())?;
    let cpu = arguments
        .sm
        .as_ref()
        .map_or_else(String::new, |sm| format!("sm_{sm}"));
    let features = arguments
        .ptx
        .map_or_else(String::new, |version| format!("+ptx{version}"));
    let level = match arguments.optimization_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let machine = target
        .create_target_machine(
            &triple,
            &cpu,
            &features,
            level,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or("LLVM has no such target machine")?;
    // As llc prints it.
    machine.set_asm_verbosity(true);
    module.set_triple(&triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module.verify().map_err(|error| error.to_string())?;
    let ptx = machine
        .write_to_memory_buffer(&module, FileType::Assembly)
        .map_err(|error| error.to_string())?;
    // LLVM puts a zero behind the text, which is not part of it.
    Ok(ptx
        .as_slice()
        .strip_suffix(&[0])
        .unwrap_or(ptx.as_slice())
        .to_vec())
}

/// Writes `text` to a file, or to standard output if `path` is `-`.
pub fn write_output(path: &Path, text: &[u8]) -> Result<(), String> {
    let written = if path == Path::new("-") {
        std::io::stdout().lock().write_all(text)
    } else {
        std::fs::write(path, text)
    };
    written.map_err(|error| format!("{}: {error}", path.display()))
}
