//! `oriel report`: reports on functions.

use crate::Failure;
use crate::diff::{self, ToleranceArguments};
use crate::progress::Progress;
use crate::ptxas::Ptxas;
use crate::reported::{ReportedFunction, Wanted};
use crate::source::Source;
use clap::Args;
use oriel::file::write_in_one_step;
use oriel::options::{Options, Profile};
use oriel::report::page::PageWriter;
use oriel::report::pressure::FunctionPressure;
use oriel::report::{
    CodeReport, OpcodeReport, write_details, write_live_ranges, write_pressure_dot, write_table,
    write_warnings,
};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `oriel report`.
#[derive(Args)]
pub struct ReportArguments {
    /// Snapshot files, as written by -oriel-snapshot=DIR, LLVM IR (.ll, .bc), which is compiled, or
    /// machine IR (.mir)
    #[arg(required = true)]
    files: Vec<Source>,

    /// Compute capabilities for which LLVM's files are compiled, such as 80 or 90a [default:
    /// LLVM's]
    #[arg(long, value_name = "SM", value_parser = crate::sm::name, value_delimiter = ',')]
    sm: Vec<String>,

    /// PTX ISA version times ten for LLVM IR, such as 86 [default: LLVM's for the compute capability]
    #[arg(long, value_name = "VERSION")]
    ptx: Option<u32>,

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

impl ReportArguments {
    fn wanted(&self) -> Wanted {
        Wanted {
            sm: self.sm.clone(),
            ptx: self.ptx,
            profile: self.profile,
            ptxas: self.ptxas.then(Ptxas::of_environment),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    if arguments.baseline.is_none() && arguments.tolerance.is_given() {
        return Err(Failure::from(
            "tolerances, --no-new-warnings and --sarif are for a comparison: add --baseline FILE".to_owned(),
        ));
    }
    if arguments.opcodes {
        return Ok(report_opcodes(arguments)?);
    }
    let mut reports = Vec::new();
    let mut page = arguments.html.as_deref().map(Page::create).transpose()?;
    let modules = arguments.files.len() * arguments.sm.len().max(1);
    let progress = Progress::new(modules as u64, "modules");
    arguments.wanted().for_each(&arguments.files, |input| {
        for function in input.functions() {
            let pressure = function.pressure();
            if arguments.live_ranges {
                progress.suspend(|| print_live_ranges(&pressure))?;
            }
            if let Some(directory) = &arguments.dot {
                write_dot(&pressure, directory)?;
            }
            if let Some(page) = &mut page {
                page.add(&function, &pressure)?;
            }
            let report = function.report(&pressure);
            reports.push(match arguments.details {
                true => report.with_details(&pressure),
                false => report,
            });
        }
        progress.step();
        Ok(())
    })?;
    drop(progress);
    page.map_or(Ok(()), Page::save)?;
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

/// Returns the profile with a name.
///
/// # Errors
/// If there is none.
pub fn profile(name: &str) -> Result<Profile, String> {
    let mut options = Options::default();
    options.set("oriel-profile", name)?;
    Ok(options.profile)
}

/// The page in progress. A page that is there stays until the new one is complete.
struct Page<'p> {
    path: &'p Path,
    writer: PageWriter<Vec<u8>>,
}

impl<'p> Page<'p> {
    fn create(path: &'p Path) -> Result<Self, String> {
        let writer = PageWriter::new(Vec::new()).map_err(|error| error.to_string())?;
        Ok(Self { path, writer })
    }

    fn add(
        &mut self,
        function: &ReportedFunction<'_>,
        pressure: &FunctionPressure<'_>,
    ) -> Result<(), String> {
        let added = function.add_to_page(&mut self.writer, pressure);
        added.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn save(self) -> Result<(), String> {
        let saved = write_in_one_step(self.path, &self.writer.into_inner());
        saved.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn print(reports: &[CodeReport], arguments: &ReportArguments) -> Result<(), String> {
    let text = if arguments.json {
        json_lines(reports)?
    } else {
        let mut text = String::new();
        let written = write_table(reports, &mut text)
            .and_then(|()| {
                reports.iter().try_for_each(|report| match &report.details {
                    None => Ok(()),
                    Some(details) => write_details(report, details, &mut text),
                })
            })
            .and_then(|()| write_warnings(reports, &mut text));
        written.map_err(|error| error.to_string())?;
        text
    };
    print_text(&text)
}

/// Formats reports as JSON, one line each.
///
/// # Errors
/// If JSON cannot represent a number.
pub fn json_lines(reports: &[CodeReport]) -> Result<String, String> {
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
    arguments.wanted().for_each(&arguments.files, |input| {
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
