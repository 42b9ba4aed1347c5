//! `oriel report`: reports on functions.

use crate::Failure;
use crate::diff::{self, ToleranceArguments};
use crate::modules::{compile_module, compile_with_phases, is_module};
use clap::Args;
use oriel::live::LiveRangeCalc;
use oriel::options::{Options, Profile};
use oriel::phases::StageEffects;
use oriel::report::page::{Comparison, CompiledFunction, PageFunction, PageWriter};
use oriel::report::pressure::FunctionPressure;
use oriel::report::ptxas::PtxasFigures;
use oriel::report::{
    CodeReport, OpcodeReport, write_details, write_live_ranges, write_pressure_dot, write_table,
};
use oriel::snapshot::abi::Stage;
use oriel::snapshot::{OwnedSnapshot, Snapshot};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Options of `oriel report`.
#[derive(Args)]
pub struct ReportArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), which is compiled, or
    /// machine IR (.mir)
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Compute capabilities for which LLVM's files are compiled, such as 80 or 90a [default:
    /// LLVM's]
    #[arg(long, value_name = "SM", value_delimiter = ',')]
    sm: Vec<String>,

    /// Print one JSON object a function: docs/report.schema.json
    #[arg(long)]
    json: bool,

    /// Print the values that are live at the peaks, and the pressure of each block
    #[arg(long)]
    details: bool,

    /// Print live ranges beside the machine code instead
    #[arg(long, alias = "life-ranges", conflicts_with_all = ["json", "details", "opcodes"])]
    live_ranges: bool,

    /// Write each function's control flow for Graphviz, coloured by pressure, to this folder
    #[arg(long, value_name = "DIR")]
    dot: Option<PathBuf>,

    /// Report on the code after the phases of this profile instead of LLVM's
    #[arg(long, value_name = "ptxas|max", value_parser = profile, conflicts_with = "opcodes")]
    profile: Option<Profile>,

    /// Also write one HTML page on all functions: pressure, live ranges, source and, with
    /// --profile, the effects of the phases
    #[arg(long, value_name = "FILE", conflicts_with_all = ["opcodes", "live_ranges"])]
    html: Option<PathBuf>,

    /// Compile LLVM IR with ptxas (LLVM_PTXAS_EXECUTABLE, or in PATH) and add its figures
    #[arg(long)]
    ptxas: bool,

    /// Compare with a saved report, and fail if a function got worse
    #[arg(long, value_name = "FILE", conflicts_with_all = ["opcodes", "live_ranges"])]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    tolerance: ToleranceArguments,

    /// Print the share of instructions with full meaning, and the others by name
    #[arg(long, conflicts_with_all = ["details", "dot", "ptxas"])]
    opcodes: bool,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    if arguments.opcodes {
        return Ok(report_opcodes(arguments)?);
    }
    let mut reports = Vec::new();
    let mut page = arguments.html.as_deref().map(Page::create).transpose()?;
    for_each_input(arguments, |input| {
        for function in input.functions() {
            let pressure = FunctionPressure::compute(function.code.view(), &mut LiveRangeCalc::new());
            if arguments.live_ranges {
                print_live_ranges(&pressure)?;
            }
            if let Some(directory) = &arguments.dot {
                write_dot(&pressure, directory)?;
            }
            let name = pressure.snapshot().name();
            let report = CodeReport::new(&pressure, input.ptxas.get(&*name).copied());
            if let Some(page) = &mut page {
                let llvm_ptxas = input.llvm_ptxas.get(&*name).copied();
                page.add(&report, &function, llvm_ptxas, &pressure)?;
            }
            reports.push(match arguments.details {
                true => report.with_details(&pressure),
                false => report,
            });
        }
        Ok(())
    })?;
    if !arguments.live_ranges {
        print(&reports, arguments)?;
    }
    match &arguments.baseline {
        None => Ok(()),
        Some(path) => {
            let lines = json_lines(&reports)?;
            let after = oriel::report::diff::read(&lines)?;
            arguments.tolerance.judge(&diff::load(path)?, &after)
        }
    }
}

/// The functions of one file, for one compute capability.
struct Input {
    snapshots: Vec<OwnedSnapshot>,
    is_module: bool,
    /// ptxas' figures of the reported code.
    ptxas: ByFunction,
    /// ptxas' figures of LLVM's code, if that differs.
    llvm_ptxas: ByFunction,
    /// The functions after Oriel's phases, if these run.
    optimized: Option<Vec<CompiledFunction>>,
}

/// ptxas' figures by function; empty if it did not run.
type ByFunction = BTreeMap<String, PtxasFigures>;

/// A reported function.
struct Reported<'i> {
    code: &'i OwnedSnapshot,
    effects: &'i [StageEffects],
    /// The function as LLVM makes it, if `code` differs.
    llvm: Option<&'i OwnedSnapshot>,
}

impl Input {
    /// Returns the reported functions.
    fn functions(&self) -> Vec<Reported<'_>> {
        let late = || {
            let snapshots = self.snapshots.iter();
            snapshots.filter(|snapshot| self.is_reported(&snapshot.view()))
        };
        let Some(optimized) = &self.optimized else {
            let plain = |code| Reported {
                code,
                effects: &[],
                llvm: None,
            };
            return late().map(plain).collect();
        };
        let same_name = |code: &OwnedSnapshot| late().find(|llvm| llvm.view().name() == code.view().name());
        let compiled = optimized.iter();
        compiled
            .map(|function| Reported {
                code: &function.code,
                effects: &function.effects,
                llvm: same_name(&function.code),
            })
            .collect()
    }

    /// For a module the report describes the code that ptxas gets, for a snapshot the snapshot's
    /// code.
    fn is_reported(&self, snapshot: &Snapshot<'_>) -> bool {
        !self.is_module || snapshot.stage() == Stage::Late
    }
}

/// Calls `visit` with every file, for every compute capability.
fn for_each_input(
    arguments: &ReportArguments,
    mut visit: impl FnMut(&Input) -> Result<(), String>,
) -> Result<(), String> {
    for path in &arguments.files {
        if arguments.profile.is_some() && !is_ir(path) {
            return Err(format!("{}: --profile takes LLVM IR", path.display()));
        }
        if !is_module(path) {
            let snapshot =
                OwnedSnapshot::load(path).map_err(|error| format!("{}: {error}", path.display()))?;
            visit(&Input {
                snapshots: vec![snapshot],
                is_module: false,
                ptxas: ByFunction::new(),
                llvm_ptxas: ByFunction::new(),
                optimized: None,
            })?;
            continue;
        }
        let targets: Vec<Option<&str>> = match arguments.sm.is_empty() {
            true => vec![None],
            false => arguments.sm.iter().map(|sm| Some(sm.as_str())).collect(),
        };
        for sm in targets {
            visit(&compile(path, sm, arguments)?)?;
        }
    }
    Ok(())
}

/// True for a file name of LLVM IR.
fn is_ir(path: &Path) -> bool {
    is_module(path) && path.extension().is_none_or(|extension| extension != "mir")
}

fn compile(path: &Path, sm: Option<&str>, arguments: &ReportArguments) -> Result<Input, String> {
    let compiled = compile_module(path, sm)?;
    let target = compiled
        .snapshots
        .first()
        .map(|first| first.view().function().sm.to_string());
    let measure = |ptx: &Option<Vec<u8>>| match (ptx, sm.or(target.as_deref())) {
        (Some(ptx), Some(sm)) if arguments.ptxas => {
            crate::ptxas::measure(ptx, sm).map_err(|problem| format!("{}: {problem}", path.display()))
        }
        _ => Ok(ByFunction::new()),
    };
    let mut ptxas = measure(&compiled.ptx)?;
    let (mut optimized, mut llvm_ptxas) = (None, ByFunction::new());
    if let Some(profile) = arguments.profile {
        let (functions, ptx) = compile_with_phases(path, sm, profile)?;
        llvm_ptxas = std::mem::replace(&mut ptxas, measure(&Some(ptx))?);
        optimized = Some(functions);
    }
    Ok(Input {
        snapshots: compiled.snapshots,
        is_module: is_ir(path),
        ptxas,
        llvm_ptxas,
        optimized,
    })
}

/// Returns the profile with a name.
fn profile(name: &str) -> Result<Profile, String> {
    let mut options = Options::default();
    options.set("oriel-profile", name)?;
    Ok(options.profile)
}

/// The page in progress.
struct Page<'p> {
    path: &'p Path,
    writer: PageWriter<BufWriter<File>>,
}

impl<'p> Page<'p> {
    fn create(path: &'p Path) -> Result<Self, String> {
        let writer = File::create(path).and_then(|file| PageWriter::new(BufWriter::new(file)));
        let writer = writer.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, writer })
    }

    fn add(
        &mut self,
        report: &CodeReport,
        function: &Reported<'_>,
        llvm_ptxas: Option<PtxasFigures>,
        pressure: &FunctionPressure<'_>,
    ) -> Result<(), String> {
        let llvm = function.llvm.map(|llvm| {
            let pressure = FunctionPressure::compute(llvm.view(), &mut LiveRangeCalc::new());
            Comparison::new(&pressure, llvm_ptxas)
        });
        let shown = PageFunction {
            report: report.clone(),
            effects: function.effects.to_vec(),
            llvm,
        };
        let added = self.writer.add(&shown, pressure);
        added.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn print(reports: &[CodeReport], arguments: &ReportArguments) -> Result<(), String> {
    let text = if arguments.json {
        json_lines(reports)?
    } else {
        let mut text = String::new();
        let written = write_table(reports, &mut text).and_then(|()| {
            reports.iter().try_for_each(|report| match &report.details {
                None => Ok(()),
                Some(details) => write_details(report, details, &mut text),
            })
        });
        written.map_err(|error| error.to_string())?;
        text
    };
    print_text(&text)
}

fn json_lines(reports: &[CodeReport]) -> Result<String, String> {
    let mut text = String::new();
    for report in reports {
        text += &serde_json::to_string(report).map_err(|error| error.to_string())?;
        text.push('\n');
    }
    Ok(text)
}

fn print_live_ranges(pressure: &FunctionPressure<'_>) -> Result<(), String> {
    let mut text = String::new();
    write_live_ranges(pressure, &mut text).map_err(|error| error.to_string())?;
    print_text(&text)
}

fn write_dot(pressure: &FunctionPressure<'_>, directory: &Path) -> Result<(), String> {
    let mut text = String::new();
    write_pressure_dot(pressure, &mut text).map_err(|error| error.to_string())?;
    let snapshot = pressure.snapshot();
    let name = snapshot.file_name();
    let stem = name.strip_suffix(".oriel").unwrap_or(&name);
    let path = directory.join(format!("{stem}.sm_{}.dot", snapshot.function().sm));
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn report_opcodes(arguments: &ReportArguments) -> Result<(), String> {
    let mut report = OpcodeReport::default();
    for_each_input(arguments, |input| {
        for snapshot in &input.snapshots {
            report.add(&snapshot.view());
        }
        Ok(())
    })?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n"
    } else {
        report.to_string()
    };
    print_text(&text)
}

fn print_text(text: &str) -> Result<(), String> {
    std::io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| error.to_string())
}
