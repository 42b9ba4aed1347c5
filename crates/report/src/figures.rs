//! The figures of the code that ptxas gets: pressure, registers, occupancy.

use super::estimate::{CallGraph, Features, Reason, RegisterEstimate, Target};
use super::occupancy::{LaunchBounds, Limiter, SmLimits, Usage, static_shared_bytes};
use super::pressure::FunctionPressure;
use super::warnings::{self, Warning, WarningFigures};
use oriel_engine::live::pressure::PressureFile;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::machine::from_machine;
use oriel_ori::{ControlFlow, Function, Liveness};
use serde::Serialize;

/// The lowest risk that causes a warning.
const LIKELY_PERCENT: u32 = 50;

/// The figures of a function as ptxas gets it. Fields that are `None` are not in reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeFigures<'a> {
    /// The most 32-bit units live at once.
    pub peak_pressure_r32: u32,
    /// The most predicates live at once.
    pub peak_pressure_pred: u32,
    /// LLVM's number of the block with the peak of 32-bit units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_block: Option<u32>,
    /// Source file of the instruction after which the peak is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_file: Option<std::borrow::Cow<'a, str>>,
    /// Line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_line: Option<u32>,
    /// Static shared memory in bytes that the function's own instructions refer to.
    pub static_shared_bytes: u64,
    /// Estimate of ptxas' registers a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate: Option<u32>,
    /// Lower end of the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate_low: Option<u32>,
    /// Upper end of the interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate_high: Option<u32>,
    /// The causes that raise the estimate most, in descending order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate_reasons: Option<Vec<ReasonFigure>>,
    /// The feature that makes the function unlike all kernels that the model was fitted to; the
    /// estimate is then only a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate_unlike: Option<&'static str>,
    /// The estimate for a driver that removes `debug` from the PTX's `.target`, as Triton does;
    /// only for code that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_estimate_optimized: Option<u32>,
    /// The probability, in percent, that ptxas spills to stay within launch bounds and `.maxnreg`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_risk_percent: Option<u32>,
    /// The most registers a thread that a kernel's launch bounds allow; zero if they cannot be met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_limit: Option<u32>,
    /// Occupancy of a kernel.
    #[serde(flatten)]
    pub occupancy: Option<OccupancyFigures>,
    /// Warnings about code that costs registers, time or memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A reason for an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonFigure {
    /// The cause, in words.
    pub cause: &'static str,
    /// Registers by which it raises the estimate over that of an average kernel.
    pub registers: u32,
}

impl From<Reason> for ReasonFigure {
    fn from(reason: Reason) -> Self {
        Self {
            cause: reason.cause.words(),
            registers: reason.registers,
        }
    }
}

/// Occupancy of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OccupancyFigures {
    /// The block size of the figures, in threads.
    pub occupancy_threads_per_block: u32,
    /// Resident blocks.
    pub occupancy_blocks_per_sm: u32,
    /// Resident warps.
    pub occupancy_warps_per_sm: u32,
    /// Warps that an SM can hold.
    pub occupancy_max_warps_per_sm: u32,
    /// The resource that limits occupancy.
    pub occupancy_limiter: Limiter,
    /// The most registers a thread with which more warps fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_for_more_warps: Option<u32>,
    /// The fewest registers a thread with which fewer warps fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_for_fewer_warps: Option<u32>,
}

/// A function in late form with what its features and its warnings need.
#[derive(Clone, Debug)]
pub struct OriCode {
    function: Function,
    flow: ControlFlow,
}

impl OriCode {
    /// Analyses a function.
    pub fn new(function: Function) -> Self {
        let flow = ControlFlow::of(&function);
        Self { function, flow }
    }

    /// Returns the code of a snapshot; none if Ori cannot represent it.
    pub fn of(snapshot: &Snapshot<'_>) -> Option<Self> {
        from_machine(snapshot).ok().map(Self::new)
    }

    /// Adds its features to a graph, for figures of this function and of those that call it. Nothing
    /// is added before stage `late`.
    pub fn add_to(&self, graph: &mut CallGraph, pressure: &FunctionPressure<'_>) {
        if pressure.snapshot().stage() == Stage::Late {
            graph.add_features(&self.function, self.features(pressure));
        }
    }

    /// Returns its features without those of the functions that it calls.
    fn features(&self, pressure: &FunctionPressure<'_>) -> Features {
        let liveness = Liveness::of_input(&self.function, pressure.intervals().clone())
            .unwrap_or_else(|| Liveness::compute(&self.function, &self.flow));
        let target = Target::of(&pressure.snapshot());
        Features::with_analyses(&self.function, &target, &self.flow, &liveness)
    }
}

impl<'a> CodeFigures<'a> {
    /// Computes the figures of a function for the SM that it is compiled for. At stage `late`,
    /// registers are estimated if Ori can represent the code; without an estimate there is no
    /// occupancy. Of functions that it calls, nothing is known.
    pub fn new(pressure: &FunctionPressure<'a>, code: Option<&OriCode>) -> Self {
        Self::with_callees(pressure, code, &CallGraph::default())
    }

    /// Computes the same with the features of the functions that it calls, and its own if they are
    /// there, from a graph.
    pub fn with_callees(pressure: &FunctionPressure<'a>, code: Option<&OriCode>, graph: &CallGraph) -> Self {
        let snapshot = pressure.snapshot();
        let code_at_late = code.filter(|_| snapshot.stage() == Stage::Late);
        let features = code_at_late.map(|code| {
            let known = graph.features(&snapshot.name());
            known.unwrap_or_else(|| graph.features_of(&code.function, code.features(pressure)))
        });
        let estimate = features.as_ref().map(RegisterEstimate::from_features);
        let optimized = features.filter(|features| features.debug > 0.0).map(|features| {
            RegisterEstimate::from_features(&Features {
                debug: 0.0,
                ..features
            })
        });
        let place = pressure.peak_place(PressureFile::General);
        let known = WarningFigures {
            pressure: pressure.peak(PressureFile::General).units,
            peak: place.and_then(|(block, instruction)| Some((block, instruction?))),
            estimate: features.zip(estimate.map(|estimate| estimate.registers)),
        };
        let location = place
            .and_then(|(_, instruction)| snapshot.instruction(instruction?).location())
            .map(|location| snapshot.location(location));
        Self {
            peak_pressure_r32: pressure.peak(PressureFile::General).units,
            peak_pressure_pred: pressure.peak(PressureFile::Predicate).units,
            peak_block: place.map(|(block, _)| snapshot.block(block).number),
            peak_file: location.map(|location| snapshot.string(location.file)),
            peak_line: location.map(|location| location.line),
            static_shared_bytes: static_shared_bytes(&snapshot),
            registers_estimate: estimate.map(|estimate| estimate.registers),
            registers_estimate_low: estimate.map(|estimate| estimate.low),
            registers_estimate_high: estimate.map(|estimate| estimate.high),
            registers_estimate_reasons: estimate.map(|estimate| {
                estimate
                    .reasons
                    .into_iter()
                    .flatten()
                    .map(ReasonFigure::from)
                    .collect()
            }),
            registers_estimate_unlike: estimate.and_then(|estimate| estimate.unlike),
            registers_estimate_optimized: optimized.map(|optimized| optimized.registers),
            spill_risk_percent: estimate.map(|estimate| estimate.spill_risk_percent),
            registers_limit: registers_limit(&snapshot),
            occupancy: estimate.and_then(|estimate| OccupancyFigures::of(&snapshot, estimate.registers)),
            warnings: code.map_or_else(Vec::new, |code| {
                warnings::find(&snapshot, &code.function, &code.flow, known)
            }),
        }
    }

    /// Returns the warning for a kernel whose launch bounds ptxas can only meet by spilling, or not
    /// at all.
    pub fn launch_bounds_warning(&self, snapshot: &Snapshot<'_>) -> Option<String> {
        let (name, sm) = (snapshot.name(), snapshot.function().sm);
        let limit = self.registers_limit?;
        if limit == 0 {
            return Some(format!(
                "The launch bounds of kernel {name} cannot be met on sm_{sm}"
            ));
        }
        let risk = self.spill_risk_percent?;
        (risk >= LIKELY_PERCENT).then(|| {
            format!("The launch bounds of kernel {name} leave a thread {limit} registers on sm_{sm}: ptxas is likely to spill ({risk} %)")
        })
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> CodeFigures<'static> {
        CodeFigures {
            peak_file: self.peak_file.map(|file| file.into_owned().into()),
            ..self
        }
    }
}

/// Returns the registers that a kernel's launch bounds allow; none without bounds, for device
/// functions and for unknown SMs.
fn registers_limit(snapshot: &Snapshot<'_>) -> Option<u32> {
    let bounds = LaunchBounds::of(snapshot);
    let limits = SmLimits::of(snapshot.function().sm)?;
    let is_bounded = snapshot.is_kernel() && bounds != LaunchBounds::default();
    is_bounded.then(|| bounds.register_limit(limits).unwrap_or(0))
}

impl OccupancyFigures {
    /// Returns the occupancy of a kernel with `registers` registers a thread; none for device
    /// functions and unknown SMs.
    pub fn of(snapshot: &Snapshot<'_>, registers: u32) -> Option<Self> {
        if !snapshot.is_kernel() {
            return None;
        }
        let limits = SmLimits::of(snapshot.function().sm)?;
        let usage = Usage::of_kernel(snapshot, registers);
        let occupancy = limits.occupancy(usage);
        Some(Self {
            occupancy_threads_per_block: usage.threads_per_block,
            occupancy_blocks_per_sm: occupancy.blocks_per_sm,
            occupancy_warps_per_sm: occupancy.warps_per_sm,
            occupancy_max_warps_per_sm: limits.warps,
            occupancy_limiter: occupancy.limiter,
            registers_for_more_warps: limits.step_up(usage).map(|step| step.registers_per_thread),
            registers_for_fewer_warps: limits.step_down(usage).map(|step| step.registers_per_thread),
        })
    }
}
