//! `oriel report`'s record of one function: the fields of the report's lines that do not depend on
//! a compilation and, on request, ptxas' figures and the causes of the pressure.

use super::count_instructions;
use super::estimate::CallGraph;
use super::figures::{CodeFigures, OccupancyFigures, OriCode};
use super::pressure::{FunctionPressure, PressureDetails};
use super::ptxas::PtxasFigures;
use serde::Serialize;

/// The report on one function.
#[derive(Clone, Debug, Serialize)]
pub struct CodeReport {
    /// The module's name.
    pub module: String,
    /// The function's name.
    pub function: String,
    /// True for an entry point.
    pub is_kernel: bool,
    /// Compute capability times ten.
    pub sm: u32,
    /// `ssa` or `late`.
    pub stage: &'static str,
    /// Basic blocks.
    pub blocks: usize,
    /// Machine instructions, debug instructions not counted.
    pub instructions_out: usize,
    /// Pressure, registers, occupancy.
    #[serde(flatten)]
    pub figures: CodeFigures<'static>,
    /// ptxas' figures.
    #[serde(flatten)]
    pub ptxas: Option<PtxasFigures>,
    /// The causes of the pressure.
    #[serde(flatten)]
    pub details: Option<PressureDetails>,
}

impl CodeReport {
    /// Makes the report on a function. If ptxas' figures are given, occupancy is computed from its
    /// registers.
    pub fn new(pressure: &FunctionPressure<'_>, ptxas: Option<PtxasFigures>) -> Self {
        let code = OriCode::of(&pressure.snapshot());
        Self::with_figures(pressure, ptxas, CodeFigures::new(pressure, code.as_ref()))
    }

    /// Makes the same report with the features of the function and of those that it calls from a
    /// graph.
    pub fn with_callees(
        pressure: &FunctionPressure<'_>,
        ptxas: Option<PtxasFigures>,
        graph: &CallGraph,
    ) -> Self {
        let code = OriCode::of(&pressure.snapshot());
        let figures = CodeFigures::with_callees(pressure, code.as_ref(), graph);
        Self::with_figures(pressure, ptxas, figures)
    }

    fn with_figures(
        pressure: &FunctionPressure<'_>,
        ptxas: Option<PtxasFigures>,
        figures: CodeFigures<'_>,
    ) -> Self {
        let snapshot = pressure.snapshot();
        let mut figures = figures.into_owned();
        if let Some(registers) = ptxas.and_then(|ptxas| ptxas.ptxas_registers) {
            figures.occupancy = OccupancyFigures::of(&snapshot, registers);
        }
        Self {
            module: snapshot.module_name().into_owned(),
            function: snapshot.name().into_owned(),
            is_kernel: snapshot.is_kernel(),
            sm: snapshot.function().sm,
            stage: snapshot.stage().name(),
            blocks: snapshot.block_count(),
            instructions_out: count_instructions(&snapshot),
            figures,
            ptxas,
            details: None,
        }
    }

    /// Makes the same report with the causes of the pressure.
    pub fn with_details(self, pressure: &FunctionPressure<'_>) -> Self {
        Self {
            details: Some(pressure.details()),
            ..self
        }
    }
}
