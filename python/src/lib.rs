//! `oriel._oriel`, the native part of the Python package in `python/oriel`.
//!
//! Converts arguments and calls the library of the command line tool; other Python threads run
//! meanwhile.

use oriel::compile::with_llvm_options;
use oriel::entity::EntityRef;
use oriel::live::LiveRangeCalc;
use oriel::report::CodeReport;
use oriel::report::page::PageWriter;
use oriel_tool::ptxas::Ptxas;
use oriel_tool::reported::{ReportInput, Wanted};
use oriel_tool::source::Source;
use oriel_tool::tune::TuneArguments;
use oriel_tool::{compile, report, tune};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

pyo3::create_exception!(
    oriel,
    Error,
    pyo3::exceptions::PyException,
    "A source cannot be read, compiled or judged; the message is the command line tool's."
);

/// LLVM's own options are the process's: compilations that set some hold this for writing, others for
/// reading.
static LLVM_OPTIONS: RwLock<()> = RwLock::new(());

/// Runs `work` while other Python threads run. Its error becomes an `oriel.Error`.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, String> + Send) -> PyResult<T> {
    py.detach(work).map_err(Error::new_err)
}

/// Runs `compile` as [`detached`] does, when no other compilation has options of LLVM's own.
fn compiling<T: Send>(py: Python<'_>, compile: impl FnOnce() -> Result<T, String> + Send) -> PyResult<T> {
    detached(py, || {
        let _held = LLVM_OPTIONS.read().unwrap_or_else(PoisonError::into_inner);
        compile()
    })
}

/// Runs `compile` as [`detached`] does, when nothing else is compiled.
fn compiling_alone<T: Send>(
    py: Python<'_>,
    compile: impl FnOnce() -> Result<T, String> + Send,
) -> PyResult<T> {
    detached(py, || {
        let _held = LLVM_OPTIONS.write().unwrap_or_else(PoisonError::into_inner);
        compile()
    })
}

/// Runs `compile` as [`detached`] does, with options of LLVM's own.
fn compiling_with<T: Send>(
    py: Python<'_>,
    llvm_flags: &str,
    compile: impl FnOnce() -> Result<T, String> + Send,
) -> PyResult<T> {
    match compile::llvm_options(llvm_flags).as_slice() {
        [] => compiling(py, compile),
        options => compiling_alone(py, || with_llvm_options(options, compile)?),
    }
}

/// Returns the source to compile: the file `name`, or `content` in memory under that name.
fn source(name: PathBuf, content: Option<Vec<u8>>) -> Source {
    match content {
        None => Source::File(name),
        Some(content) => Source::Memory {
            name: name.to_string_lossy().into_owned(),
            content,
        },
    }
}

/// Whether ptxas compiles the code, or the ptxas that does.
#[derive(FromPyObject)]
enum PtxasArgument {
    Wanted(bool),
    Program(PathBuf),
}

impl PtxasArgument {
    fn program(self) -> Option<Ptxas> {
        match self {
            Self::Wanted(is_wanted) => is_wanted.then(Ptxas::of_environment),
            Self::Program(path) => Some(Ptxas::named(path)),
        }
    }
}

/// Compiled functions with the data for reports.
#[pyclass(frozen)]
struct Functions {
    inputs: Vec<ReportInput>,
}

#[pymethods]
impl Functions {
    /// Formats the report, one JSON object per line.
    fn lines(&self, py: Python<'_>) -> PyResult<String> {
        let lines = || {
            let functions = self.inputs.iter().flat_map(ReportInput::functions);
            let reports: Vec<CodeReport> = functions
                .map(|function| {
                    let pressure = function.pressure();
                    function.report(&pressure).with_details(&pressure)
                })
                .collect();
            report::json_lines(&reports)
        };
        detached(py, lines)
    }

    /// Formats the report as an HTML page.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        let page = || {
            let mut text = Vec::new();
            let mut page = PageWriter::new(&mut text).map_err(|error| error.to_string())?;
            for function in self.inputs.iter().flat_map(ReportInput::functions) {
                let added = function.add_to_page(&mut page, &function.pressure());
                added.map_err(|error| error.to_string())?;
            }
            String::from_utf8(text).map_err(|error| error.to_string())
        };
        detached(py, page)
    }
}

/// Compiles a source for a report, as `oriel report` does. Returns the functions.
#[pyfunction(name = "report")]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
fn report_on(
    py: Python<'_>,
    name: PathBuf,
    content: Option<Vec<u8>>,
    sm: Vec<String>,
    ptx_version: Option<u32>,
    profile: Option<String>,
    llvm_flags: String,
    ptxas: PtxasArgument,
) -> PyResult<Functions> {
    let ptxas = ptxas.program();
    let collect = || {
        let profile = profile.as_deref().map(report::profile).transpose()?;
        let wanted = Wanted {
            sm,
            ptx: ptx_version,
            profile,
            ptxas,
        };
        let mut inputs = Vec::new();
        wanted.for_each(&[source(name, content)], |input| {
            inputs.push(input);
            Ok(())
        })?;
        Ok(Functions { inputs })
    };
    compiling_with(py, &llvm_flags, collect)
}

/// Compiles a source as `oriel compile` does. Returns the PTX, the lines of `-oriel-report`, and the
/// functions.
#[pyfunction(name = "compile")]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
fn compile_source(
    py: Python<'_>,
    name: PathBuf,
    content: Option<Vec<u8>>,
    sm: Option<String>,
    ptx_version: Option<u32>,
    level: u8,
    flags: String,
    llvm_flags: String,
    fp_fusion: bool,
    ptxas: PtxasArgument,
) -> PyResult<(Vec<u8>, String, Functions)> {
    let ptxas = ptxas.program();
    let compile = || {
        let mut options = compile::options_with(&flags)?;
        options.phase_effects = true;
        let mut compiler = compile::compiler(sm.as_deref(), ptx_version, level).options(options);
        if fp_fusion {
            compiler = compiler.fp_fusion();
        }
        let source = source(name, content);
        let compiled = source.with_module(|module| compiler.compile(module))?;
        let figures = match ptxas {
            Some(ptxas) => ptxas
                .measure(&compiled.ptx)
                .map_err(|problem| format!("{source}: {problem}"))?,
            None => Default::default(),
        };
        let input = ReportInput::of_compiled(compiled.functions, figures);
        Ok((compiled.ptx, compiled.report, Functions { inputs: vec![input] }))
    };
    compiling_with(py, &llvm_flags, compile)
}

/// A register's number and its segments, with both ends in LLVM's notation.
type Interval = (usize, Vec<(String, String)>);

/// The live intervals of a function: its name, the stage, the text of `oriel live`, and the interval
/// of each register.
type FunctionIntervals = (String, &'static str, String, Vec<Interval>);

/// Returns the live intervals of each function at each stage.
#[pyfunction]
fn live(
    py: Python<'_>,
    name: PathBuf,
    content: Option<Vec<u8>>,
    sm: Option<String>,
) -> PyResult<Vec<FunctionIntervals>> {
    let intervals = || {
        let wanted = Wanted {
            sm: sm.into_iter().collect(),
            ..Wanted::default()
        };
        let mut calc = LiveRangeCalc::new();
        let mut found = Vec::new();
        wanted.for_each(&[source(name, content)], |input| {
            for snapshot in &input.snapshots {
                let snapshot = snapshot.view();
                let intervals = calc.analyze(&snapshot);
                let registers = intervals.registers().map(|register| {
                    let segments = intervals.interval(register).segments().iter();
                    let ends = segments.map(|it| (it.start.to_string(), it.end.to_string()));
                    (register.index(), ends.collect())
                });
                found.push((
                    snapshot.name().into_owned(),
                    snapshot.stage().name(),
                    intervals.to_string(),
                    registers.collect(),
                ));
            }
            Ok(())
        })?;
        Ok(found)
    };
    compiling(py, intervals)
}

/// Tunes a source as `oriel tune` does, with its arguments. Returns its JSON and the best PTX.
#[pyfunction(name = "tune")]
fn tune_source(
    py: Python<'_>,
    name: PathBuf,
    content: Option<Vec<u8>>,
    arguments: Vec<String>,
) -> PyResult<(String, Option<Vec<u8>>)> {
    let tune = || {
        let arguments = TuneArguments::parse_for(source(name, content), &arguments)?;
        let tuned = tune::tune(&arguments)?;
        let text = serde_json::to_string(&tuned.outcome).map_err(|error| error.to_string())?;
        Ok((text, tuned.ptx))
    };
    // Some variants set options of LLVM's.
    compiling_alone(py, tune)
}

/// The native part of the package.
#[pymodule]
fn _oriel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("VERSION", oriel::VERSION)?;
    module.add_class::<Functions>()?;
    module.add_function(wrap_pyfunction!(report_on, module)?)?;
    module.add_function(wrap_pyfunction!(compile_source, module)?)?;
    module.add_function(wrap_pyfunction!(live, module)?)?;
    module.add_function(wrap_pyfunction!(tune_source, module)?)
}
