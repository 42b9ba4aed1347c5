//! Reads LLVM's files for commands that work on snapshots.

use crate::source::{Source, is_ir};
use clap::Args;
use oriel::options::Profile;
#[cfg(feature = "llvm")]
use oriel::options::{Mode, Options};
use oriel::report::page::CompiledFunction;
use oriel::snapshot::OwnedSnapshot;
use std::path::Path;

/// True for a file name of LLVM IR, bitcode or machine IR.
pub fn is_module(path: &Path) -> bool {
    is_ir(path) || path.extension().is_some_and(|it| it == "mir")
}

/// Options for modules, shared by all commands that accept modules.
#[derive(Args)]
pub struct ModuleOptions {
    /// Compute capability for which LLVM's files are compiled, such as 80 or 90a [default: LLVM's]
    #[cfg(feature = "llvm")]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name)]
    sm: Option<String>,
}

impl ModuleOptions {
    /// Returns snapshots of the functions of a module: at both stages of its compilation, or as in
    /// the machine IR.
    pub fn snapshots_of(&self, module: &Path) -> Result<Vec<OwnedSnapshot>, String> {
        #[cfg(feature = "llvm")]
        let sm = self.sm.as_deref();
        #[cfg(not(feature = "llvm"))]
        let sm = None;
        compile_module(&module.into(), sm, None).map(|compiled| compiled.snapshots)
    }
}

/// A module that went through code generation.
pub struct CompiledModule {
    /// Its functions: at both stages of the compilation, or as in the machine IR.
    pub snapshots: Vec<OwnedSnapshot>,
    /// The PTX; none for machine IR, which is not printed.
    pub ptx: Option<Vec<u8>>,
}

/// Compiles a module for a compute capability, such as 80 or 90a, and a version of PTX times ten, or for
/// LLVM's defaults.
///
/// # Errors
/// If it cannot be compiled.
#[cfg(feature = "llvm")]
pub fn compile_module(module: &Source, sm: Option<&str>, ptx: Option<u32>) -> Result<CompiledModule, String> {
    use crate::compile::{analyzing, compiler};

    let options = analyzing()?;
    if let Source::File(path) = module
        && !module.is_ir()
    {
        return run_machine_ir(path, options, sm);
    }
    let compiler = compiler(sm, ptx, 2).options(options);
    let compile = || module.with_module(|module| compiler.emit(module));
    let (ptx, snapshots) = oriel::capture_snapshots(compile);
    let ptx = Some(ptx?);
    Ok(CompiledModule { snapshots, ptx })
}

/// Runs Oriel's passes on machine IR in a file.
#[cfg(feature = "llvm")]
fn run_machine_ir(path: &Path, options: Options, sm: Option<&str>) -> Result<CompiledModule, String> {
    use oriel::snapshot::abi::{FunctionFlags, Stage};

    let run = || crate::passes::run_pipeline(path, "oriel-ssa,oriel-late", sm);
    let run = || oriel::options::with_options(options.into(), run);
    let (result, mut snapshots) = oriel::capture_snapshots(run);
    result?;
    // The file does not name the stage of its functions, but their form determines it.
    snapshots.retain(|snapshot| {
        let view = snapshot.view();
        view.flags().contains(FunctionFlags::SSA) == (view.stage() == Stage::Ssa)
    });
    Ok(CompiledModule { snapshots, ptx: None })
}

/// Compiles LLVM IR with the phases of a profile: returns its functions after Oriel, and the PTX.
///
/// # Errors
/// If it cannot be compiled.
#[cfg(feature = "llvm")]
pub fn compile_with_phases(
    module: &Source,
    sm: Option<&str>,
    ptx: Option<u32>,
    profile: Profile,
) -> Result<(Vec<CompiledFunction>, Vec<u8>), String> {
    let options = Options {
        mode: Mode::Optimize,
        profile,
        phase_effects: true,
        ..Options::clone(&*oriel::options::process_options()?)
    };
    let compiler = crate::compile::compiler(sm, ptx, 2).options(options);
    let compilation = module.with_module(|module| compiler.compile(module))?;
    Ok((compilation.functions, compilation.ptx))
}

/// Reports that this build has no LLVM.
#[cfg(not(feature = "llvm"))]
pub fn compile_with_phases(
    module: &Source,
    _: Option<&str>,
    _: Option<u32>,
    _: Profile,
) -> Result<(Vec<CompiledFunction>, Vec<u8>), String> {
    Err(format!("{module}: this oriel is built without LLVM"))
}

/// Reports that this build has no LLVM.
#[cfg(not(feature = "llvm"))]
pub fn compile_module(module: &Source, _: Option<&str>, _: Option<u32>) -> Result<CompiledModule, String> {
    Err(format!("{module}: this oriel is built without LLVM"))
}
