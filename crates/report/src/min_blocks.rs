//! Kernels that need `.minnctapersm` to get the registers that their launch bounds leave them.
//!
//! If a kernel has a block size but no number of blocks, and must spill even with all registers,
//! ptxas may compile it with 32 or 64 registers and many times the spills. With `.minnctapersm 1` it
//! uses all registers. Kernels that need not spill would get more registers and so fewer warps.
//! Therefore the directive is set only where spills are certain: where two orders of the instructions
//! that need few registers, with cheap values recomputed, still need more registers than a thread can
//! have. (Measured with ptxas 13.0: see `docs/register-estimate.md`.)

use super::estimate::{Target, least_need};
use super::occupancy::LaunchBounds;
use oriel_engine::live::pressure::excess_pressure;
use oriel_engine::snapshot::Snapshot;
use oriel_ori::Function;

/// True if a kernel has a block size, but no number of blocks and no register limit.
pub fn takes_min_blocks(snapshot: &Snapshot<'_>) -> bool {
    let bounds = LaunchBounds::of(snapshot);
    snapshot.is_kernel()
        && bounds.max_threads_per_block.is_some()
        && bounds.min_blocks_per_sm.is_none()
        && bounds.max_registers.is_none()
}

/// True if a kernel may get the mark, and has so many live registers in LLVM's order, in late form,
/// that the mark may save spills. This looks at live ranges only; [`wants_min_blocks`] decides by the
/// instructions.
pub fn may_want_min_blocks(snapshot: &Snapshot<'_>) -> bool {
    takes_min_blocks(snapshot) && excess_pressure(snapshot, Target::of(snapshot).register_limit) > 0
}

/// True if `.minnctapersm 1` is likely to save many spills of a kernel that [may want
/// it](may_want_min_blocks). `function` is its code in late form.
pub fn wants_min_blocks(snapshot: &Snapshot<'_>, function: &Function) -> bool {
    let target = Target::of(snapshot);
    least_need(function, &target) > target.register_limit
}
