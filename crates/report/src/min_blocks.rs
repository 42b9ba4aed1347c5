//! Kernels that need `.minnctapersm` to get the registers that their launch bounds leave them.
//!
//! If a kernel has a block size but no number of blocks, and ptxas cannot do without spills even
//! with all registers, ptxas may compile it with 32 or 64 registers and many times the spills.
//! With `.minnctapersm 1` it uses all registers. Kernels that need not spill get more registers by
//! it, and so fewer warps. Therefore it is set only where spills are certain: where an order of the
//! instructions that needs few registers, with cheap values computed again, still needs twice as
//! many as a thread can have. (Measured with ptxas 13.0: see `docs/register-estimate.md`.)

use super::estimate::{Features, Target};
use super::occupancy::LaunchBounds;
use oriel_engine::live::pressure::excess_pressure;
use oriel_engine::snapshot::Snapshot;
use oriel_ori::Function;

/// How many times the registers of a thread a kernel must need.
const CERTAIN: u32 = 2;

/// True if a kernel has a block size, and neither a number of blocks nor of registers.
pub fn takes_min_blocks(snapshot: &Snapshot<'_>) -> bool {
    let bounds = LaunchBounds::of(snapshot);
    snapshot.is_kernel()
        && bounds.max_threads_per_block.is_some()
        && bounds.min_blocks_per_sm.is_none()
        && bounds.max_registers.is_none()
}

/// True if `.minnctapersm 1` is likely to save a kernel many spills. `function` is its code in late
/// form.
pub fn wants_min_blocks(snapshot: &Snapshot<'_>, function: &Function) -> bool {
    takes_min_blocks(snapshot)
        && needs_min_blocks(snapshot, function, |certain| {
            excess_pressure(snapshot, certain) > 0
        })
}

/// The same for a kernel that can take it. `exceeds` tells whether more than so many registers are live
/// at once.
pub(crate) fn needs_min_blocks(
    snapshot: &Snapshot<'_>,
    function: &Function,
    exceeds: impl FnOnce(u32) -> bool,
) -> bool {
    let target = Target::of(snapshot);
    let certain = CERTAIN * target.register_limit;
    // LLVM's order needs most registers.
    exceeds(certain) && Features::new(function, &target).kept_peak > certain as f32
}
