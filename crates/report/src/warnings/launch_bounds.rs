//! Launch bounds without a minimum number of blocks, and with one.
//!
//! ```text
//! .maxntid 256                       a kernel that needs 330 registers gets 32 and spills 3,504 bytes
//! .maxntid 256 .minnctapersm 1       it gets 255 and spills 936
//! ```
//!
//! `min_blocks.rs` decides which kernels are affected. Without the number of blocks, ptxas also
//! ignores every `setmaxnreg` of a kernel, since it does not know how many registers the kernel
//! starts with; it says so only with `-v` (C7508). `.maxnreg` tells it that, too.
//!
//! A number of blocks has a price: ptxas then uses all registers that the bounds allot to a thread, to
//! hide latency. Without the number it would stop at a step of occupancy.

use super::{Warning, WarningContext, WarningKind};
use crate::estimate::{RegisterEstimate, Target};
use crate::min_blocks::{takes_min_blocks, wants_min_blocks};
use crate::occupancy::{SmLimits, Usage};
use crate::pressure::Place;

/// ptxas does not go below this number where the bounds allow no more.
const NEVER_BELOW: u32 = 64;

/// Finds a kernel that spills, to which ptxas may give far fewer registers than its bounds allow.
pub(super) fn cliff(context: &WarningContext<'_, '_>) -> Option<Warning> {
    let bounds = context.bounds;
    let threads = bounds.max_threads_per_block?;
    let limit = bounds.register_limit_of_ptxas(context.snapshot.function().sm);
    if limit <= NEVER_BELOW || !takes_min_blocks(context.snapshot) {
        return None;
    }
    let plug_in = if context.known.pressure > limit && wants_min_blocks(context.snapshot, context.function) {
        ""
    } else if needs_more_for_callees(context, limit) {
        "=always"
    } else {
        return None;
    };
    let (block, instruction) = context.known.peak?;
    Some(Warning {
        kind: WarningKind::LaunchBoundsCliff,
        place: Some(Place::of(context.snapshot, block, instruction)),
        problem: format!(
            "the launch bounds have no least number of blocks, and the kernel needs more than the {limit} registers \
             that they leave"
        ),
        cost: format!("ptxas may give a thread 32 registers instead of {limit} and spill all others"),
        remedy: format!(
            "ask for one block at least, as Oriel's plug-in does (-oriel-min-blocks{plug_in}): __launch_bounds__({threads}, 1), \
             \"nvvm.minctasm\"=\"1\""
        ),
    })
}

/// True if a kernel needs more registers than `limit` only with those of the functions that it calls, even
/// in the order that needs few. While LLVM compiles the kernel, the plug-in does not know that.
fn needs_more_for_callees(context: &WarningContext<'_, '_>, limit: u32) -> bool {
    let with_callees = context.known.estimate;
    with_callees.is_some_and(|(features, _)| features.calls > 0.0 && features.kept_peak as u32 > limit)
}

/// Finds a kernel for which ptxas uses the registers that its bounds allot, if at least 1.5 times as many warps
/// would fit without the bounds. Kernels with calls are left out, since their registers depend on the callees.
pub(super) fn allotment(context: &WarningContext<'_, '_>) -> Option<Warning> {
    let (features, registers) = context.known.estimate?;
    let target = Target::of(context.snapshot);
    let limits = SmLimits::of(target.sm)?;
    if target.allotted_registers == 0 || !context.snapshot.is_kernel() {
        return None;
    }
    let warps = |registers| {
        let usage = Usage::of_kernel(context.snapshot, registers);
        limits.occupancy(usage).warps_per_sm
    };
    let now = warps(registers);
    let are_enough_more = |warps| warps > now && 2 * warps >= 3 * now;
    if !are_enough_more(warps(1)) || features.calls > 0.0 {
        return None;
    }
    let otherwise = RegisterEstimate::from_features(&features.without_allotment()).registers;
    let then = warps(otherwise);
    if !are_enough_more(then) {
        return None;
    }
    let (block, instruction) = context.known.peak?;
    let (allotment, remedy) = match context.bounds.max_registers {
        Some(_) => (".maxnreg", "leave .maxnreg out, or make it smaller"),
        None => (
            "a number of blocks",
            "leave the number of blocks (\"nvvm.minctasm\") out of the launch bounds, as -oriel-min-blocks=remove does, or ask for more",
        ),
    };
    Some(Warning {
        kind: WarningKind::AllottedRegisters,
        place: Some(Place::of(context.snapshot, block, instruction)),
        problem: format!(
            "the launch bounds have {allotment}, so that ptxas uses up to {} registers to hide latency",
            target.allotted_registers
        ),
        cost: format!("about {registers} registers and {now} warps instead of {otherwise} and {then}"),
        remedy: format!("{remedy}; measure both, since more warps are not always faster"),
    })
}

/// Finds a `setmaxnreg` that ptxas ignores.
pub(super) fn ignored_setmaxnreg(context: &WarningContext<'_, '_>) -> Option<Warning> {
    let bounds = context.bounds;
    let has_blocks = bounds.max_threads_per_block.is_some() && bounds.min_blocks_per_sm.is_some();
    if !context.snapshot.is_kernel() || has_blocks || bounds.max_registers.is_some() {
        return None;
    }
    let mut all = context
        .instructions()
        .filter(|&instruction| context.function.has_ptx_name(instruction, "setmaxnreg"));
    let first = all.next()?;
    let count = 1 + all.count();
    let threads = match bounds.max_threads_per_block {
        Some(threads) => threads.to_string(),
        None => "THREADS".to_owned(),
    };
    Some(Warning {
        kind: WarningKind::SetmaxnregIgnored,
        place: context.place(first),
        problem: format!("ptxas ignores {count} setmaxnreg: it does not know the registers at entry"),
        cost: "all warps keep the same number of registers".to_owned(),
        remedy: format!(
            "give the kernel a least number of blocks: __launch_bounds__({threads}, 1), \"nvvm.minctasm\"=\"1\"; or .maxnreg"
        ),
    })
}
