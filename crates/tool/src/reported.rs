//! Collects the functions of a report.

use crate::modules::{compile_module, compile_with_phases, is_module};
use crate::ptxas::Ptxas;
use crate::source::Source;
use oriel::live::LiveRangeCalc;
use oriel::options::Profile;
use oriel::phases::StageEffects;
use oriel::report::CodeReport;
use oriel::report::estimate::CallGraph;
use oriel::report::page::{Comparison, CompiledFunction, PageFunction, PageWriter};
use oriel::report::pressure::FunctionPressure;
use oriel::report::ptxas::PtxasFigures;
use oriel::snapshot::abi::Stage;
use oriel::snapshot::{OwnedSnapshot, Snapshot};

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

/// The selection of code for a report.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Compute capabilities, such as 80 or 90a; empty for LLVM's default.
    pub sm: Vec<String>,
    /// The version of PTX times ten; none for LLVM's of the compute capability.
    pub ptx: Option<u32>,
    /// The profile of the phases to run, if any.
    pub profile: Option<Profile>,
    /// Compile with this ptxas and add its figures.
    pub ptxas: Option<Ptxas>,
}

impl Wanted {
    /// Calls `visit` with every source, for every compute capability.
    ///
    /// # Errors
    /// If a source cannot be read or compiled, or `visit` fails.
    pub fn for_each(
        &self,
        sources: &[Source],
        mut visit: impl FnMut(ReportInput) -> Result<(), String>,
    ) -> Result<(), String> {
        for source in sources {
            if self.profile.is_some() && !source.is_ir() {
                return Err(format!("{source}: --profile takes LLVM IR"));
            }
            if self.ptx.is_some() && !source.is_ir() {
                return Err(format!("{source}: --ptx takes LLVM IR"));
            }
            if let Source::File(path) = source
                && !is_module(path)
            {
                visit(ReportInput::load(path)?)?;
                continue;
            }
            let targets: Vec<Option<&str>> = match self.sm.is_empty() {
                true => vec![None],
                false => self.sm.iter().map(|sm| Some(sm.as_str())).collect(),
            };
            for sm in targets {
                visit(self.compile(source, sm)?)?;
            }
        }
        Ok(())
    }

    fn compile(&self, source: &Source, sm: Option<&str>) -> Result<ReportInput, String> {
        let compiled = compile_module(source, sm, self.ptx)?;
        let measure = |ptx: Option<&[u8]>| match (ptx, &self.ptxas) {
            (Some(ptx), Some(ptxas)) => ptxas
                .measure(ptx)
                .map_err(|problem| format!("{source}: {problem}")),
            _ => Ok(ByFunction::new()),
        };
        let mut ptxas = measure(compiled.ptx.as_deref())?;
        let (mut optimized, mut llvm_ptxas) = (None, ByFunction::new());
        if let Some(profile) = self.profile {
            let (functions, ptx) = compile_with_phases(source, sm, self.ptx, profile)?;
            llvm_ptxas = std::mem::replace(&mut ptxas, measure(Some(&ptx))?);
            optimized = Some(functions);
        }
        Ok(ReportInput {
            snapshots: compiled.snapshots,
            is_module: source.is_ir(),
            ptxas,
            llvm_ptxas,
            optimized,
            ..ReportInput::default()
        })
    }
}

/// The functions of one source, for one compute capability.
#[derive(Debug, Default)]
pub struct ReportInput {
    /// The functions as LLVM makes them.
    pub snapshots: Vec<OwnedSnapshot>,
    is_module: bool,
    /// ptxas' figures of the reported code.
    ptxas: ByFunction,
    /// ptxas' figures of LLVM's code, if that differs.
    llvm_ptxas: ByFunction,
    /// The functions after Oriel's phases, if these run.
    optimized: Option<Vec<CompiledFunction>>,
    /// For the estimates, which include callees; made when the first is asked for.
    graph: OnceLock<CallGraph>,
    /// The same of LLVM's code, for comparisons.
    llvm_graph: OnceLock<CallGraph>,
}

/// ptxas' figures by function; empty if it did not run.
type ByFunction = BTreeMap<String, PtxasFigures>;

impl ReportInput {
    /// Reads a snapshot.
    fn load(path: &Path) -> Result<Self, String> {
        let snapshot = crate::snapshot::load(path)?;
        Ok(Self {
            snapshots: vec![snapshot],
            ..Self::default()
        })
    }

    /// Wraps compiled functions and ptxas' figures of them, which are empty if it did not run.
    pub fn of_compiled(functions: Vec<CompiledFunction>, ptxas: ByFunction) -> Self {
        Self {
            is_module: true,
            ptxas,
            optimized: Some(functions),
            ..Self::default()
        }
    }

    /// Returns the reported functions.
    pub fn functions(&self) -> Vec<ReportedFunction<'_>> {
        let Some(optimized) = &self.optimized else {
            return self.late().map(|code| self.function(code, &[], None)).collect();
        };
        let same_name = |code: &OwnedSnapshot| {
            let mut late = self.late();
            late.find(|llvm| llvm.view().name() == code.view().name())
        };
        let compiled = optimized.iter();
        compiled
            .map(|it| self.function(&it.code, &it.effects, same_name(&it.code)))
            .collect()
    }

    /// Returns the functions as LLVM makes them that the report may be on.
    fn late(&self) -> impl Iterator<Item = &OwnedSnapshot> {
        let snapshots = self.snapshots.iter();
        snapshots.filter(|snapshot| self.is_reported(&snapshot.view()))
    }

    /// Returns the reported functions with those that they call.
    fn graph(&self) -> &CallGraph {
        self.graph.get_or_init(|| match &self.optimized {
            None => CallGraph::of_snapshots(self.late()),
            Some(optimized) => CallGraph::of_snapshots(optimized.iter().map(|it| &it.code)),
        })
    }

    /// Does the same for the functions as LLVM makes them.
    fn llvm_graph(&self) -> &CallGraph {
        self.llvm_graph
            .get_or_init(|| CallGraph::of_snapshots(self.late()))
    }

    fn function<'i>(
        &'i self,
        code: &'i OwnedSnapshot,
        effects: &'i [StageEffects],
        llvm: Option<&'i OwnedSnapshot>,
    ) -> ReportedFunction<'i> {
        let name = code.view().name().into_owned();
        ReportedFunction {
            code,
            effects,
            llvm,
            ptxas: self.ptxas.get(&name).copied(),
            llvm_ptxas: self.llvm_ptxas.get(&name).copied(),
            input: self,
        }
    }

    /// For a module the report describes the code that ptxas gets, for a snapshot the snapshot's
    /// code.
    fn is_reported(&self, snapshot: &Snapshot<'_>) -> bool {
        !self.is_module || snapshot.stage() == Stage::Late
    }
}

/// A reported function.
#[derive(Debug)]
pub struct ReportedFunction<'i> {
    code: &'i OwnedSnapshot,
    effects: &'i [StageEffects],
    /// The function as LLVM makes it, if `code` differs.
    llvm: Option<&'i OwnedSnapshot>,
    ptxas: Option<PtxasFigures>,
    llvm_ptxas: Option<PtxasFigures>,
    input: &'i ReportInput,
}

impl<'i> ReportedFunction<'i> {
    /// Computes the pressure along its code.
    pub fn pressure(&self) -> FunctionPressure<'i> {
        FunctionPressure::compute(self.code.view(), &mut LiveRangeCalc::new())
    }

    /// Returns its figures.
    pub fn report(&self, pressure: &FunctionPressure<'_>) -> CodeReport {
        CodeReport::with_callees(pressure, self.ptxas, self.input.graph())
    }

    /// Adds it to a page.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn add_to_page<W: Write>(
        &self,
        page: &mut PageWriter<W>,
        pressure: &FunctionPressure<'_>,
    ) -> io::Result<()> {
        let llvm = self.llvm.map(|llvm| {
            let pressure = FunctionPressure::compute(llvm.view(), &mut LiveRangeCalc::new());
            Comparison::new(&pressure, self.llvm_ptxas, self.input.llvm_graph())
        });
        let shown = PageFunction {
            report: self.report(pressure),
            effects: self.effects.to_vec(),
            llvm,
        };
        page.add(&shown, pressure)
    }
}
