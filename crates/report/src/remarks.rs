//! The report as LLVM remarks.

use super::figures::CodeFigures;
use super::pressure::{FunctionPressure, LiveValue};
use super::warnings::Warning;
use oriel_engine::entity::Instruction;
use oriel_engine::live::pressure::PressureFile;

/// The most values of a peak that get a remark.
const NAMED_VALUES: usize = 5;

/// A piece of a remark's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The name of the value in serialised remarks; none for plain text.
    pub key: Option<&'static str>,
    /// The printed text.
    pub text: String,
}

/// A remark on the code that ptxas gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRemark {
    /// The name of this kind of remark.
    pub name: &'static str,
    /// The instruction that it refers to; none for the function.
    pub instruction: Option<Instruction>,
    /// The message, in order.
    pub pieces: Vec<Piece>,
}

impl CodeRemark {
    fn new(name: &'static str, instruction: Option<Instruction>) -> Self {
        Self {
            name,
            instruction,
            pieces: Vec::new(),
        }
    }

    fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.pieces.push(Piece { key: None, text });
        self
    }

    fn value(mut self, key: &'static str, value: impl ToString) -> Self {
        let text = value.to_string();
        self.pieces.push(Piece { key: Some(key), text });
        self
    }
}

/// Returns all remarks on a function.
pub fn code_remarks(pressure: &FunctionPressure<'_>, figures: &CodeFigures<'_>) -> Vec<CodeRemark> {
    let mut remarks = vec![peak(pressure, figures)];
    remarks.extend(estimate(pressure, figures));
    remarks.extend(occupancy(figures));
    let details = pressure.details();
    let candidates = details.peaks[0].values.iter();
    remarks.extend(
        candidates
            .filter(|value| value.relief.is_some())
            .take(NAMED_VALUES)
            .map(live_at_peak),
    );
    remarks.extend(figures.warnings.iter().map(warning));
    remarks
}

fn peak(pressure: &FunctionPressure<'_>, figures: &CodeFigures<'_>) -> CodeRemark {
    let instruction = pressure
        .peak_place(PressureFile::General)
        .and_then(|(_, instruction)| instruction);
    CodeRemark::new("RegisterPressure", instruction)
        .text("peak register pressure: ")
        .value("PeakPressureR32", figures.peak_pressure_r32)
        .text(" registers of 32 bits here, ")
        .value("PeakPressurePred", figures.peak_pressure_pred)
        .text(" predicates")
}

fn estimate(pressure: &FunctionPressure<'_>, figures: &CodeFigures<'_>) -> Option<CodeRemark> {
    let remark = CodeRemark::new("RegisterEstimate", None)
        .text("estimated registers for sm_")
        .value("Sm", pressure.snapshot().function().sm)
        .text(": ")
        .value("RegistersEstimate", figures.registers_estimate?)
        .text(" (")
        .value("RegistersEstimateLow", figures.registers_estimate_low?)
        .text(" to ")
        .value("RegistersEstimateHigh", figures.registers_estimate_high?)
        .text(")");
    let remark = match figures.registers_estimate_unlike {
        None => remark,
        Some(measure) => remark
            .text(" is only a guess: unlike all that was measured in ")
            .value("RegistersEstimateUnlike", measure),
    };
    Some(match figures.registers_limit {
        None => remark,
        Some(limit) => remark
            .text("; launch bounds allow ")
            .value("RegistersLimit", limit)
            .text(", spills are likely to ")
            .value("SpillRiskPercent", figures.spill_risk_percent?)
            .text(" %"),
    })
}

fn occupancy(figures: &CodeFigures<'_>) -> Option<CodeRemark> {
    let occupancy = figures.occupancy?;
    let remark = CodeRemark::new("Occupancy", None)
        .value("OccupancyWarpsPerSm", occupancy.occupancy_warps_per_sm)
        .text(format!(" of {} warps", occupancy.occupancy_max_warps_per_sm))
        .text(" fit on an SM with blocks of ")
        .value("OccupancyThreadsPerBlock", occupancy.occupancy_threads_per_block)
        .text(" threads, limited by ")
        .value("OccupancyLimiter", occupancy.occupancy_limiter);
    Some(match occupancy.registers_for_more_warps {
        None => remark,
        Some(registers) => remark
            .text("; more with at most ")
            .value("RegistersForMoreWarps", registers)
            .text(" registers"),
    })
}

fn live_at_peak(value: &LiveValue) -> CodeRemark {
    let definition = value.definition.as_ref();
    let instruction = definition.map(|place| Instruction::from_u32(place.instruction));
    let name = match value.variables.is_empty() {
        true => String::new(),
        false => format!(" ({})", value.variables.join(", ")),
    };
    let mut remark = CodeRemark::new("LiveAtPeak", instruction)
        .value("Register", format!("%{}", value.register))
        .text(format!("{name}, "))
        .value("Units", value.units)
        .text(" registers of 32 bits, is live at the peak of register pressure");
    if let Some(relief) = value.relief {
        remark = remark.text(": ").value("Relief", relief);
    }
    match value.last_use.as_ref().and_then(|place| place.source.first()) {
        None => remark,
        Some(frame) => remark.text("; last used at ").value("LastUse", frame),
    }
}

fn warning(warning: &Warning) -> CodeRemark {
    let place = warning.place.as_ref();
    let instruction = place.map(|place| Instruction::from_u32(place.instruction));
    CodeRemark::new(warning.kind.remark(), instruction)
        .value("Problem", &warning.problem)
        .text("; ")
        .value("Cost", &warning.cost)
        .text("; remedy: ")
        .value("Remedy", &warning.remedy)
}
