//! Warnings: code that often costs registers, time or memory unnoticed, each with its place, its
//! cost and a remedy.
//!
//! | file | what is found |
//! |---|---|
//! | `launch_bounds.rs` | launch bounds without `.minnctapersm` in a kernel that will spill, or that sets its registers itself; bounds that let ptxas use registers at the cost of warps |
//! | `wide_index.rs`, `ranges.rs` | arithmetic of 64 bits on values that always fit 32 |
//! | `local_array.rs` | a local array that stays in memory since an index is not constant, or that takes all registers once ptxas has unrolled the loops around it |
//! | `counters.rs` | counters of loops with constant trip counts |
//!
//! `docs/report.md` has the exact condition of each, how often public kernels have it, and how often
//! it is a false alarm.

mod counters;
mod launch_bounds;
mod local_array;
mod ranges;
mod wide_index;

use crate::estimate::Features;
use crate::occupancy::LaunchBounds;
use crate::pressure::Place;
use oriel_engine::entity::{Block, Instruction as MachineInstruction};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::{ControlFlow, Function, Instruction};
use serde::Serialize;
use std::fmt;

/// The kind of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The kernel must spill and has no `.minnctapersm`, so that ptxas may leave it 32 registers.
    LaunchBoundsCliff,
    /// ptxas ignores `setmaxnreg`.
    SetmaxnregIgnored,
    /// Bounds allot registers, and ptxas uses them at the cost of warps.
    AllottedRegisters,
    /// Arithmetic of 64 bits on values of 32.
    WideIndex,
    /// A local array with an index that is not constant.
    IndexedLocalArray,
    /// A loop that takes all registers once ptxas has unrolled it.
    UnrolledLoop,
}

impl WarningKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::LaunchBoundsCliff,
        Self::SetmaxnregIgnored,
        Self::AllottedRegisters,
        Self::WideIndex,
        Self::IndexedLocalArray,
        Self::UnrolledLoop,
    ];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LaunchBoundsCliff => "launch_bounds_cliff",
            Self::SetmaxnregIgnored => "setmaxnreg_ignored",
            Self::AllottedRegisters => "allotted_registers",
            Self::WideIndex => "wide_index",
            Self::IndexedLocalArray => "indexed_local_array",
            Self::UnrolledLoop => "unrolled_loop",
        }
    }

    /// Returns the name of the remark.
    pub const fn remark(self) -> &'static str {
        match self {
            Self::LaunchBoundsCliff => "LaunchBoundsCliff",
            Self::SetmaxnregIgnored => "SetmaxnregIgnored",
            Self::AllottedRegisters => "AllottedRegisters",
            Self::WideIndex => "WideIndex",
            Self::IndexedLocalArray => "IndexedLocalArray",
            Self::UnrolledLoop => "UnrolledLoop",
        }
    }

    /// Returns one line on all warnings of this kind.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::LaunchBoundsCliff => {
                "A kernel that must spill has launch bounds without a least number of blocks"
            }
            Self::SetmaxnregIgnored => "ptxas ignores setmaxnreg",
            Self::AllottedRegisters => "Launch bounds let ptxas use registers at the cost of warps",
            Self::WideIndex => "Arithmetic of 64 bits on values that fit 32 bits",
            Self::IndexedLocalArray => "An index that is not constant keeps a local array in memory",
            Self::UnrolledLoop => "Unrolled by ptxas, a loop takes all registers",
        }
    }
}

/// A warning on a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Its kind.
    pub kind: WarningKind,
    /// The instruction that it is about, with its source position.
    pub place: Option<Place>,
    /// What was found.
    pub problem: String,
    /// The cost.
    pub cost: String,
    /// The remedy.
    pub remedy: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.problem, &self.cost, &self.remedy)
    }
}

/// Writes a warning as one line, without its place.
pub(crate) fn write_line(f: &mut fmt::Formatter<'_>, problem: &str, cost: &str, remedy: &str) -> fmt::Result {
    write!(f, "{problem}; {cost}; remedy: {remedy}")
}

/// The figures that warnings depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarningFigures {
    /// The most 32-bit units live at once.
    pub pressure: u32,
    /// The instruction after which the peak of pressure is first reached.
    pub peak: Option<(Block, MachineInstruction)>,
    /// The features of the function and those that it calls, with the estimate of ptxas' registers;
    /// if there is one.
    pub estimate: Option<(Features, u32)>,
}

/// A function with all that the rules read.
struct WarningContext<'s, 'a> {
    snapshot: &'s Snapshot<'a>,
    function: &'s Function,
    flow: &'s ControlFlow,
    bounds: LaunchBounds,
    known: WarningFigures,
}

impl WarningContext<'_, '_> {
    /// Returns the place of an instruction.
    fn place(&self, instruction: Instruction) -> Option<Place> {
        let block = self.function.block_of(instruction)?;
        let origin = self.function.origin(instruction)?;
        Some(Place::of(self.snapshot, block, origin))
    }

    /// Returns the number of loops around an instruction.
    fn depth(&self, instruction: Instruction) -> usize {
        let block = self.function.block_of(instruction);
        block.map_or(0, |block| self.flow.loops.depth_of(block))
    }

    /// Returns all instructions in the order of the code.
    fn instructions(&self) -> impl Iterator<Item = Instruction> + '_ {
        self.function.all_instructions()
    }
}

/// Returns the warnings on a function, in the order of their kinds; none before stage `late`, whose
/// code is what ptxas gets.
pub fn find(
    snapshot: &Snapshot<'_>,
    function: &Function,
    flow: &ControlFlow,
    known: WarningFigures,
) -> Vec<Warning> {
    if snapshot.stage() != Stage::Late || function.blocks().is_empty() {
        return Vec::new();
    }
    let context = WarningContext {
        snapshot,
        function,
        flow,
        bounds: LaunchBounds::of(snapshot),
        known,
    };
    let mut found = Vec::new();
    found.extend(launch_bounds::cliff(&context));
    found.extend(launch_bounds::ignored_setmaxnreg(&context));
    found.extend(launch_bounds::allotment(&context));
    found.extend(wide_index::find(&context));
    found.extend(local_array::find(&context));
    found
}
