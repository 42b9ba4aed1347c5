//! ScheduleForPressure: reorders instructions to keep fewer values live.
//!
//! ```text
//! %4 = FMUL %1, %1                 %4 = FMUL %1, %1
//! %5 = FMUL %2, %2                 %5 = FMUL %2, %2
//! %6 = FMUL %3, %3           ─▶    %7 = FADD %4, %5
//! %7 = FADD %4, %5                 %6 = FMUL %3, %3
//! %8 = FADD %7, %6                 %8 = FADD %7, %6
//! ```
//!
//! ptxas schedules again, so most orders have little effect: of the orders tried on 755 kernels,
//! each raised ptxas' registers about as often as it lowered them (docs/instruction-order.md). An
//! order matters if many registers at a function's peak hold values that are not loaded. So this
//! phase changes only the blocks with the highest points, and only if that lowers the function's
//! peak by a fifth or more, both with loads in place and with loads moved up:
//!
//! 1. the weight of each register: 32-bit units, but zero for values that ptxas has as operands;
//! 2. the peak of each block (`instruction_order/peak.rs`);
//! 3. a new order (`instruction_order/list.rs`) of each block that is too full, along the
//!    dependencies;
//! 4. if one of these is still too full, or would be once ptxas has moved loads up
//!    (`instruction_order/loads_first.rs`), nothing changes.
//!
//! Requires: liveness; either form. Preserves: control flow.
//!
//! ptxas has three scheduling phases on its machine code (97 to 101), whose first mode reduces
//! registers by the same kind of list scheduling; the reference has no phase that orders
//! instructions for another scheduler.

#[cfg(test)]
mod tests;

use super::instruction_order::{BlockOrder, ChoiceRule, PeakFinder, Weights};
use super::never_worse::most_live;
use super::{PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::entity::Block;
use oriel_ori::Function;

/// Functions with a lower peak are not changed: so few registers rarely decide how many warps fit,
/// and ptxas' result depends on more than the order. A smaller register budget replaces this value.
const LEAST_PEAK: u32 = 40;

/// A peak must fall by one part in so many. ptxas gains or loses one or two registers by aligning
/// pairs with any order.
const GAIN_DIVISOR: u32 = 5;

/// Returns the highest acceptable peak afterwards.
fn most_after(peak: u32) -> u32 {
    peak - peak.div_ceil(GAIN_DIVISOR)
}

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let least = LEAST_PEAK.min(context.options.register_budget);
    let weights = Weights::of(function);
    if most_live(function, |register| weights.get(register) > 0) < least {
        return PhaseResult::Unchanged;
    }
    let liveness = context.liveness(function);
    let mut finder = PeakFinder::new(function, &liveness, &weights);
    let peaks: Vec<(Block, u32)> = function
        .blocks()
        .iter()
        .map(|&block| (block, finder.peak_of_block(block)))
        .collect();
    let peak = peaks.iter().map(|&(_, peak)| peak).max().unwrap_or(0);
    if peak < least {
        return PhaseResult::Unchanged;
    }
    let most = most_after(peak);
    let (too_full, rest): (Vec<_>, Vec<_>) = peaks.into_iter().partition(|&(_, peak)| peak > most);
    // If too much is live across a boundary, no order helps, and none needs to be searched.
    let at_boundaries = too_full
        .iter()
        .map(|&(block, _)| finder.least_at_boundaries(block));
    let mut highest = at_boundaries.max().unwrap_or(0);
    let mut orders = Vec::with_capacity(too_full.len());
    for (block, _) in too_full {
        if highest > most {
            break;
        }
        let order = BlockOrder::find(ChoiceRule::Pressure, function, &liveness, &weights, block);
        highest = highest.max(finder.peak_of_block_order(&order));
        orders.push(order);
    }
    if highest > most {
        context.remark(RemarkKind::Missed, "Order", function, None, || {
            format!("{peak} units are live at the fullest point; another order leaves {highest}")
        });
        return PhaseResult::Unchanged;
    }
    let mut is_undone = |order: &BlockOrder| {
        let [before, after] = finder.peaks_with_loads_first(order);
        after > most_after(before)
    };
    if orders.iter().any(&mut is_undone) {
        context.remark(RemarkKind::Missed, "Order", function, None, || {
            format!(
                "another order has {highest} units live instead of {peak}, but not once loads are moved up"
            )
        });
        return PhaseResult::Unchanged;
    }
    let highest = rest.iter().map(|&(_, peak)| peak).fold(highest, u32::max);
    let first = orders.iter().find_map(BlockOrder::first_moved);
    context.remark(RemarkKind::Passed, "Order", function, first, || {
        let blocks = orders.len();
        format!(
            "{blocks} blocks in another order: {highest} units are live at the fullest point, {peak} before"
        )
    });
    let moved: usize = orders.iter().map(|order| order.apply(function)).sum();
    context.count("reordered-blocks", orders.len() as u64);
    context.count("units", u64::from(peak - highest));
    context.result_of("moved-instructions", moved)
}
