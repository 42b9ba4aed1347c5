//! Functions to run: compiled through LLVM, from snapshots, or from text.

use crate::source::is_ir;
use oriel::ori::Function;
use oriel::snapshot::OwnedSnapshot;
use oriel::snapshot::abi::Stage;
use oriel_interpreter::Module;
use std::path::{Path, PathBuf};

/// The functions of a module, at every available stage.
pub struct Input {
    /// The functions of both stages.
    pub functions: Vec<Function>,
    /// Their snapshots, unless they come from text.
    pub snapshots: Vec<OwnedSnapshot>,
    /// Variables and kernels.
    pub module: Module,
    /// The PTX that LLVM printed; empty if there is none.
    pub ptx: String,
}

/// The compilation of LLVM IR.
#[derive(Clone, Debug)]
pub struct CodeGeneration {
    /// Compute capability; none: LLVM's.
    pub sm: Option<String>,
    /// Version of PTX times ten; none: LLVM's for the compute capability.
    pub ptx: Option<u32>,
    /// Optimisation level.
    pub level: u8,
}

impl Input {
    /// Reads one file of LLVM IR, or functions of one module in any number of files, whose PTX is
    /// in `module`.
    ///
    /// # Errors
    /// If a file cannot be read, compiled or represented.
    pub fn load(files: &[PathBuf], module: Option<&Path>, how: &CodeGeneration) -> Result<Self, String> {
        if let [file] = files
            && is_ir(file)
        {
            if module.is_some() {
                return Err("--module goes with single functions; LLVM IR has its own variables".to_owned());
            }
            return compile(file, how);
        }
        if let Some(path) = files.iter().find(|path| is_ir(path)) {
            return Err(format!(
                "{}: one file of LLVM IR is run at a time",
                path.display()
            ));
        }
        if how.ptx.is_some() {
            return Err("--ptx takes LLVM IR".to_owned());
        }
        let (mut functions, mut snapshots) = (Vec::new(), Vec::new());
        for path in files {
            let problem = |text: String| format!("{}:{text}", path.display());
            functions.extend(crate::ori::load(path).map_err(problem)?);
            if path.extension().is_some_and(|it| it == "oriel") {
                snapshots.extend(OwnedSnapshot::load(path));
            }
        }
        let (mut declared, mut ptx) = (Module::default(), String::new());
        if let Some(path) = module {
            let problem = |text: String| format!("{}: {text}", path.display());
            ptx = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
            declared = Module::parse(&ptx).map_err(|error| problem(error.to_string()))?;
        }
        Ok(Self {
            functions,
            snapshots,
            module: declared,
            ptx,
        })
    }

    /// Returns copies of the functions of a stage.
    ///
    /// # Errors
    /// If there are none.
    pub fn at(&self, stage: Stage) -> Result<Vec<Function>, String> {
        let functions = self.functions.iter();
        let found: Vec<Function> = functions.filter(|it| it.info.stage == stage).cloned().collect();
        match found.is_empty() {
            true => Err(format!("there are no functions of stage {}", stage.name())),
            false => Ok(found),
        }
    }
}

#[cfg(feature = "llvm")]
fn compile(file: &Path, how: &CodeGeneration) -> Result<Input, String> {
    use crate::compile::{analyzing, compiler};
    use crate::source::Source;

    let compiler = compiler(how.sm.as_deref(), how.ptx, how.level).options(analyzing()?);
    let source = Source::from(file);
    let (ptx, snapshots) = oriel::capture_snapshots(|| source.with_module(|module| compiler.emit(module)));
    let ptx = String::from_utf8(ptx?).map_err(|error| error.to_string())?;
    let module = Module::parse(&ptx).map_err(|error| error.to_string())?;
    let functions = snapshots.iter().map(|snapshot| {
        let snapshot = snapshot.view();
        oriel::ori::machine::from_machine(&snapshot).map_err(|error| format!("{}: {error}", snapshot.name()))
    });
    Ok(Input {
        functions: functions.collect::<Result<_, _>>()?,
        snapshots,
        module,
        ptx,
    })
}

#[cfg(not(feature = "llvm"))]
fn compile(file: &Path, how: &CodeGeneration) -> Result<Input, String> {
    let sm = how
        .sm
        .as_deref()
        .map_or_else(String::new, |sm| format!(" for sm_{sm}"));
    Err(format!(
        "{}: cannot be compiled at -O{}{sm}: this oriel is built without LLVM",
        file.display(),
        how.level
    ))
}
