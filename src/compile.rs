//! Compilation for Rust hosts: takes a module and returns PTX with reports on its functions.
//!
//! ```
//! use oriel::inkwell::context::Context;
//! use oriel::compile::Compiler;
//!
//! let context = Context::create();
//! let module = context.create_module("empty");
//! let compilation = Compiler::new().sm("90").compile(&module)?;
//! assert!(compilation.ptx_text().contains(".target sm_90"));
//! assert!(compilation.functions.is_empty());
//! # Ok::<(), oriel::compile::CompileError>(())
//! ```
//!
//! `examples/embed-rust` is a complete host. As always with LLVM, only one thread at a time may use
//! a module and its context; modules of different contexts can be compiled concurrently.

use crate::ffi::{
    Captured, allow_fp_fusion, capture_compilation, check_compatible, emit_ptx, list_processors,
    parse_module, read_module, set_llvm_option, with_pointers_of,
};
use crate::live::LiveRangeCalc;
use crate::options::{self, Options};
use crate::report::CodeReport;
use crate::report::estimate::CallGraph;
use crate::report::page::CompiledFunction;
use crate::report::pressure::FunctionPressure;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// The target triple of modules without one.
const DEFAULT_TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The version of LLVM that Oriel was built for, such as `22.1.8`.
pub const LLVM_VERSION: &str = env!("ORIEL_LLVM_VERSION");

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The options in the environment are invalid.
    #[error("{0}")]
    Options(String),
    /// The process runs an LLVM that Oriel was not built for, or has another copy of Oriel.
    #[error("Oriel is {0}")]
    WrongLlvm(String),
    /// The module is for another target.
    #[error("its target is {0}, not nvptx64")]
    WrongTarget(String),
    /// LLVM does not know the compute capability or PTX version.
    #[error("LLVM {LLVM_VERSION} knows no {wanted}; it knows {}", known.join(", "))]
    UnknownTarget {
        /// Its name in LLVM's form, such as `sm_999`.
        wanted: String,
        /// All names of the kind that LLVM knows.
        known: Vec<String>,
    },
    /// The file cannot be read, or is not LLVM IR. The message starts with the file's name.
    #[error("{0}")]
    Unreadable(String),
    /// LLVM refuses the module.
    #[error("{0}")]
    Llvm(String),
}

impl From<CompileError> for String {
    fn from(error: CompileError) -> Self {
        error.to_string()
    }
}

/// The result for a module.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The PTX. Names in it may contain any bytes.
    pub ptx: Vec<u8>,
    /// The functions that Oriel processed, in their final form: none at level 0, and none marked
    /// `optnone`.
    pub functions: Vec<CompiledFunction>,
    /// The report's lines, one JSON object per function and stage: `docs/report.schema.json`.
    pub report: String,
}

impl Compilation {
    /// Returns the PTX as text; invalid UTF-8 is replaced.
    pub fn ptx_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.ptx)
    }

    /// Returns reports on each function: pressure, registers with those of the functions that it calls,
    /// occupancy.
    pub fn reports(&self) -> Vec<CodeReport> {
        let mut engine = LiveRangeCalc::new();
        let graph = CallGraph::of_snapshots(self.functions.iter().map(|function| &function.code));
        let report = |function: &CompiledFunction| {
            let pressure = FunctionPressure::compute(function.code.view(), &mut engine);
            CodeReport::with_callees(&pressure, None, &graph)
        };
        self.functions.iter().map(report).collect()
    }
}

/// Compiles modules with LLVM and Oriel.
#[derive(Clone, Debug)]
pub struct Compiler {
    options: Option<Arc<Options>>,
    sm: Option<String>,
    ptx_version: Option<u32>,
    level: OptimizationLevel,
    fp_fusion: bool,
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler {
    /// Creates a compiler with the process's options, LLVM's default compute capability and PTX
    /// version, and level 2.
    pub fn new() -> Self {
        Self {
            options: None,
            sm: None,
            ptx_version: None,
            level: OptimizationLevel::Default,
            fp_fusion: false,
        }
    }

    /// Sets options that replace the process's.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = Some(Arc::new(options));
        self
    }

    /// Sets the compute capability, such as `80` or `90a`.
    #[must_use]
    pub fn sm(mut self, sm: &str) -> Self {
        self.sm = Some(sm.to_owned());
        self
    }

    /// Sets the PTX ISA version times ten: 86 for 8.6.
    #[must_use]
    pub fn ptx_version(mut self, version: u32) -> Self {
        self.ptx_version = Some(version);
        self
    }

    /// Sets the optimisation level of code generation. Oriel does nothing at the lowest.
    #[must_use]
    pub fn optimization_level(mut self, level: OptimizationLevel) -> Self {
        self.level = level;
        self
    }

    /// Contracts multiplications and additions everywhere, like `llc -fp-contract=fast`; otherwise
    /// LLVM does so only where the module allows it.
    #[must_use]
    pub fn fp_fusion(mut self) -> Self {
        self.fp_fusion = true;
        self
    }

    /// Reads LLVM IR or bitcode from a file, as llc does.
    ///
    /// # Errors
    /// [`CompileError::Unreadable`].
    pub fn read<'c>(context: &'c Context, path: &Path) -> Result<Module<'c>, CompileError> {
        read_module(context, path).map_err(CompileError::Unreadable)
    }

    /// Reads LLVM IR or bitcode in memory; messages call it `name`.
    ///
    /// # Errors
    /// [`CompileError::Unreadable`].
    pub fn parse<'c>(context: &'c Context, name: &str, content: &[u8]) -> Result<Module<'c>, CompileError> {
        parse_module(context, name, content).map_err(CompileError::Unreadable)
    }

    /// Compiles a module. Sets its target triple and data layout, and code generation modifies it
    /// as in any compilation. Pointers to shared, constant and local memory have 32 bits if the
    /// module's layout says so. While such a module is prepared, no other thread may create a target
    /// machine by other means.
    ///
    /// # Errors
    /// Any of [`CompileError`].
    pub fn compile(&self, module: &Module<'_>) -> Result<Compilation, CompileError> {
        let machine = self.prepare(module)?;
        self.compile_with(module, &machine)
    }

    /// Compiles a module to PTX only, without the cost of reports.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn emit(&self, module: &Module<'_>) -> Result<Vec<u8>, CompileError> {
        let machine = self.prepare(module)?;
        let options = options_in_force(self.options.clone())?;
        options::with_options(options, || emit_ptx(module, &machine)).map_err(CompileError::Llvm)
    }

    /// Removes functions that no other calls from a module, with all that only they need.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn remove(&self, module: &Module<'_>, functions: &[String]) -> Result<(), CompileError> {
        let machine = self.prepare(module)?;
        for name in functions {
            if let Some(function) = module.get_function(name) {
                function.set_linkage(Linkage::Internal);
            }
        }
        module
            .run_passes("globaldce", &machine, PassBuilderOptions::create())
            .map_err(|error| CompileError::Llvm(error.to_string()))
    }

    /// Prepares a module for the compiler's target. Returns the machine.
    fn prepare(&self, module: &Module<'_>) -> Result<TargetMachine, CompileError> {
        let named = module.get_triple();
        let triple = match named.as_str().to_bytes() {
            [] => TargetTriple::create(DEFAULT_TRIPLE),
            _ => named,
        };
        let machine = self.machine(&triple, module)?;
        module.set_triple(&triple);
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        module
            .verify()
            .map_err(|error| CompileError::Llvm(error.to_string()))?;
        Ok(machine)
    }

    /// Compiles a module with the host's target machine; this compiler's target and level are
    /// ignored.
    ///
    /// # Errors
    /// As [`Compiler::compile`]; the module is not verified.
    pub fn compile_with(
        &self,
        module: &Module<'_>,
        machine: &TargetMachine,
    ) -> Result<Compilation, CompileError> {
        check_target(&machine.get_triple())?;
        compile_capturing(self.options.clone(), || emit_ptx(module, machine))
    }

    fn machine(&self, triple: &TargetTriple, module: &Module<'_>) -> Result<TargetMachine, CompileError> {
        check_target(triple)?;
        Target::initialize_nvptx(&InitializationConfig::default());
        let target = Target::from_triple(triple).map_err(|error| CompileError::Llvm(error.to_string()))?;
        let cpu = self.sm.as_ref().map_or_else(String::new, |sm| format!("sm_{sm}"));
        let version = self
            .ptx_version
            .map_or_else(String::new, |version| format!("ptx{version}"));
        check_known(triple, &[("sm_", &cpu), ("ptx", &version)])?;
        let features = match version.as_str() {
            "" => String::new(),
            version => format!("+{version}"),
        };
        let machine = with_pointers_of(module, || {
            target.create_target_machine(
                triple,
                &cpu,
                &features,
                self.level,
                RelocMode::Default,
                CodeModel::Default,
            )
        });
        let machine = machine.ok_or_else(|| CompileError::Llvm("LLVM has no target machine".to_owned()))?;
        // As llc prints it.
        machine.set_asm_verbosity(true);
        if self.fp_fusion {
            allow_fp_fusion(&machine);
        }
        Ok(machine)
    }
}

/// Runs `run` with options of LLVM's own command line set, such as `pre-RA-sched` to `list-burr`, for
/// all compilations of the process. Afterwards the options have their initial values again. Setting
/// one waits until no compilation of this library runs.
///
/// # Errors
/// LLVM has no such option, or does not accept this value; nothing has run then.
pub fn with_llvm_options<T>(options: &[(&str, &str)], run: impl FnOnce() -> T) -> Result<T, String> {
    struct Reset<'a>(&'a str);
    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            // An unknown option has no value to reset.
            _ = set_llvm_option(self.0, None);
        }
    }
    let mut set = Vec::with_capacity(options.len());
    for (name, value) in options {
        set.push(Reset(name));
        set_llvm_option(name, Some(value))?;
    }
    Ok(run())
}

/// Checks that the target is one of the NVPTX back end.
pub(crate) fn check_target(triple: &TargetTriple) -> Result<(), CompileError> {
    let name = triple.as_str().to_string_lossy();
    match name.starts_with("nvptx") {
        true => Ok(()),
        false => Err(CompileError::WrongTarget(name.into_owned())),
    }
}

/// Checks that LLVM knows processors and features, each given with the prefix of its kind. LLVM itself
/// would ignore unknown ones and print a notice.
///
/// # Errors
/// [`CompileError::UnknownTarget`], which lists the known ones.
fn check_known(triple: &TargetTriple, wanted: &[(&str, &String)]) -> Result<(), CompileError> {
    let known = list_processors(&triple.as_str().to_string_lossy());
    let is_known = |name: &str| name.is_empty() || known.iter().any(|known| known == name);
    let Some((kind, wanted)) = wanted.iter().find(|(_, name)| !is_known(name)) else {
        return Ok(());
    };
    let number = |name: &str| {
        name.trim_matches(|it: char| !it.is_ascii_digit())
            .parse()
            .unwrap_or(0_u32)
    };
    let mut known: Vec<String> = known.into_iter().filter(|name| name.starts_with(kind)).collect();
    known.sort_by_key(|name| (number(name), name.len(), name.clone()));
    known.dedup();
    Err(CompileError::UnknownTarget {
        wanted: wanted.to_string(),
        known,
    })
}

/// Returns these options, or those in force, if Oriel can work with them in this process.
fn options_in_force(options: Option<Arc<Options>>) -> Result<Arc<Options>, CompileError> {
    check_compatible().map_err(CompileError::WrongLlvm)?;
    let options = options.map_or_else(options::options_in_force, Ok);
    options.map_err(CompileError::Options)
}

/// Compiles by `emit` with these options, or those in force, and collects Oriel's results meanwhile.
pub(crate) fn compile_capturing(
    options: Option<Arc<Options>>,
    emit: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<Compilation, CompileError> {
    let options = options_in_force(options)?;
    let (ptx, captured) = options::with_options(options, || capture_compilation(emit));
    let Captured { functions, report } = captured;
    Ok(Compilation {
        ptx: ptx.map_err(CompileError::Llvm)?,
        functions,
        report,
    })
}
