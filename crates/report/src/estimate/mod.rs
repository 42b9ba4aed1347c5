//! The register estimate: what `ptxas -v` will say.
//!
//! ```text
//! Function ─▶ Cells ─▶ Nodes ─▶ LiveCells, BlockGraph ─▶ Features ─▶ Model ─▶ RegisterEstimate
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `cells.rs` | the machine's registers: halves, what costs nothing, what is uniform |
//! | `lower.rs` | the machine's instructions, as far as a scheduler sees them |
//! | `live_cells.rs` | cells that are live between blocks |
//! | `regions.rs` | blocks that are scheduled together |
//! | `rounds.rs` | loops that are unrolled completely |
//! | `schedule.rs` | orders of a region, and the registers that they take |
//! | `features.rs` | all that together, and counts |
//! | `call_graph.rs` | what callees add to their callers |
//! | `model.rs` | trees from features to registers |
//! | `model_text.rs` | how they are written in `model.txt` |
//!
//! `docs/register-estimate.md` says what the features stand for, how the model was made and how far
//! off it is.

mod call_graph;
mod cells;
mod features;
mod live_cells;
mod lower;
mod model;
#[cfg(test)]
mod model_text;
mod regions;
mod rounds;
mod schedule;
#[cfg(test)]
mod tests;

pub use call_graph::CallGraph;
pub use features::Features;

use oriel_engine::snapshot::Snapshot;
use oriel_ori::Function;

/// Registers that the machine gives a thread at most.
pub const MOST_REGISTERS: u32 = 255;

/// Registers of a multiprocessor.
const REGISTER_FILE: u32 = 65_536;

/// What a function is compiled for, as far as registers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Compute capability times ten.
    pub sm: u32,
    /// Registers that a thread may have at most, by `.maxnreg`, `-maxrregcount` or launch bounds.
    pub register_limit: u32,
}

impl Target {
    /// What the function says itself: its compute capability, `.maxnreg` and launch bounds.
    pub fn of(snapshot: &Snapshot<'_>) -> Self {
        let function = snapshot.function();
        Self {
            sm: function.sm,
            register_limit: register_limit(
                function.max_registers,
                threads(function.required_threads).or(threads(function.max_threads)),
                function.min_blocks_per_sm,
            ),
        }
    }
}

/// Threads of a block, of which some dimensions may not be given; none: nothing is.
fn threads(dimensions: [u32; 3]) -> Option<u32> {
    let given = dimensions.iter().filter(|&&size| size > 0);
    let product = given.fold(1_u32, |product, &size| product.saturating_mul(size));
    dimensions.iter().any(|&size| size > 0).then_some(product)
}

/// Registers that `.maxnreg` (0: not given), threads of a block and blocks of a multiprocessor
/// leave a thread. Registers are handed out to warps in units of 256, so a thread has a multiple of
/// eight.
fn register_limit(max_registers: u32, threads: Option<u32>, blocks: u32) -> u32 {
    let mut limit = MOST_REGISTERS;
    if let Some(threads) = threads {
        let warps = threads.div_ceil(32).saturating_mul(blocks.max(1)).max(1);
        limit = limit.min((REGISTER_FILE / 32 / warps / 8 * 8).max(16));
    }
    if max_registers > 0 {
        limit = limit.min(max_registers);
    }
    limit
}

/// How many registers ptxas is going to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterEstimate {
    /// The estimate.
    pub registers: u32,
    /// Four of five functions have this many or more and [`high`](Self::high) or fewer.
    pub low: u32,
    /// See [`low`](Self::low).
    pub high: u32,
    /// Registers that a thread may have.
    pub limit: u32,
    /// In percent, how likely it is that ptxas has to spill to stay within the limit.
    pub spill_risk_percent: u32,
}

impl RegisterEstimate {
    /// Estimates the registers of a function in late form.
    pub fn of_function(function: &Function, target: &Target) -> Self {
        Self::from_features(&Features::new(function, target))
    }

    /// Estimates from features.
    pub fn from_features(features: &Features) -> Self {
        model::MODEL.estimate(features)
    }
}
