//! Writes the report as one self-contained HTML page.
//!
//! ```text
//! page.html with page.css and page.js in it
//! <script type="application/json" class="source">    a source file, once
//! <script type="application/json" class="function">  figures and phases of a function
//! <script type="application/json" class="code">      its instructions and live ranges
//! …
//! ```
//!
//! HTML allows leaving out the closing tags of the body. Functions are therefore appended as they
//! are compiled, and the file is a valid page at any time. A browser does not parse the data in
//! such a script element. The page's own script parses all figures when it opens, and the code of a
//! function only when that is shown, so that many functions open as fast as one.
//!
//! | file | subject |
//! |---|---|
//! | `page/code.rs` | instructions, places, blocks |
//! | `page/values.rs` | live ranges |
//! | `page/source.rs` | source files |
//! | `page/curve.rs` | the pressure along the code as LLVM makes it, for comparison |
//! | `page/packing.rs` | each item stored once, growing numbers as differences |
//! | `page/page.html`, `page/page.css` | the page itself |
//! | `page/code.js` | decodes the code; pressure, live ranges and source lines of it |
//! | `page/draw.js`, `page/panes.js`, `page/sections.js` | drawing; the panes that follow the selection; the sections that do not |
//! | `page/page.js` | the selection, and the page's address, which contains it |

mod code;
mod curve;
mod packing;
mod source;
#[cfg(test)]
mod tests;
mod values;

use super::SharedFile;
use super::code_report::CodeReport;
use super::estimate::CallGraph;
use super::pressure::FunctionPressure;
use super::ptxas::PtxasFigures;
use code::Code;
use curve::Curve;
use oriel_engine::live::LiveRangeCalc;
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_phases::StageEffects;
use serde::Serialize;
use source::Source;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};

/// The page up to the first function.
const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = concat!(
    include_str!("page/code.js"),
    include_str!("page/draw.js"),
    include_str!("page/panes.js"),
    include_str!("page/sections.js"),
    include_str!("page/page.js"),
);

/// A function after Oriel.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Its code after the last phase.
    pub code: OwnedSnapshot,
    /// The effects of the phases, by stage; empty if none ran.
    pub effects: Vec<StageEffects>,
}

/// The page's data on the same function as LLVM makes it without Oriel.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    #[serde(flatten)]
    report: CodeReport,
    curve: Curve,
}

impl Comparison {
    /// The function as LLVM makes it, with ptxas' figures and the functions that it may call.
    pub fn new(pressure: &FunctionPressure<'_>, ptxas: Option<PtxasFigures>, graph: &CallGraph) -> Self {
        Self {
            report: CodeReport::with_callees(pressure, ptxas, graph),
            curve: Curve::of(pressure),
        }
    }
}

/// The page's data on a function besides its code.
#[derive(Clone, Debug, Serialize)]
pub struct PageFunction {
    /// Its figures.
    #[serde(flatten)]
    pub report: CodeReport,
    /// The effects of Oriel's phases, by stage; empty if none ran.
    pub effects: Vec<StageEffects>,
    /// The function as LLVM makes it without the phases, if that was compiled, too.
    pub llvm: Option<Comparison>,
}

/// A page that is being written.
#[derive(Debug)]
pub struct PageWriter<W> {
    out: W,
    /// Source files that are already embedded.
    sources: BTreeSet<String>,
}

impl<W: Write> PageWriter<W> {
    /// Begins a page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        let page = TEMPLATE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
        out.write_all(page.as_bytes())?;
        Ok(Self {
            out,
            sources: BTreeSet::new(),
        })
    }

    /// Returns what it was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Adds a function, whose code was analysed by `pressure`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, function: &PageFunction, pressure: &FunctionPressure<'_>) -> io::Result<()> {
        let snapshot = pressure.snapshot();
        let code = Code::new(pressure);
        for file in code.files() {
            if self.sources.insert(file.to_owned()) {
                self.write("source", &Source::find(file, &snapshot.module_name()))?;
            }
        }
        self.write("function", function)?;
        self.write("code", &code)?;
        self.out.flush()
    }

    fn write(&mut self, class: &str, data: &impl Serialize) -> io::Result<()> {
        let text = script_text(data)?;
        writeln!(
            self.out,
            "<script type=\"application/json\" class=\"{class}\">{text}</script>"
        )
    }
}

/// Adds a function to the page of all modules that are compiled with the same options, with the
/// features of the functions that it calls from a graph, if there is one.
///
/// # Errors
/// If the file cannot be written.
pub fn add_to_shared_page(
    page: &SharedFile<PageWriter<File>>,
    function: &CompiledFunction,
    graph: Option<&CallGraph>,
) -> Result<(), String> {
    let pressure = FunctionPressure::compute(function.code.view(), &mut LiveRangeCalc::new());
    let shown = PageFunction {
        report: match graph {
            Some(graph) => CodeReport::with_callees(&pressure, None, graph),
            None => CodeReport::new(&pressure, None),
        },
        effects: function.effects.clone(),
        llvm: None,
    };
    page.write(PageWriter::new, |page| page.add(&shown, &pressure))
        .map_err(|problem| format!("the page {problem}"))
}

/// Escapes JSON for a script element. There `</script` ends the script and `<!--` changes how its
/// end is found. In JSON `<` occurs only in strings, where it can be escaped.
fn script_text(data: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(data)?.replace('<', "\\u003c"))
}
