//! ReorderInstructions: the instructions of every block by a rule of the user's choice.
//!
//! No order is a gain for all kernels, but for about a quarter of them ptxas answers another order
//! with fewer registers (docs/instruction-order.md). Which one that is cannot be foretold, only
//! tried: `oriel tune` does. The knob `InstructionOrder` names the rule, `InstructionOrderSeed` one
//! of the random orders.
//!
//! What it needs: liveness; either form. What it leaves true: control flow and liveness at the
//! borders of blocks.

use super::instruction_order::{BlockOrder, Policy, Weights};
use super::knobs::Knob;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    let seed = knobs.integer(Knob::InstructionOrderSeed) as u64;
    let Some(policy) = Policy::of(knobs.integer(Knob::InstructionOrder), seed) else {
        return PhaseResult::Unchanged;
    };
    let liveness = context.liveness(function);
    let weights = Weights::of(function);
    let mut moved = 0;
    for block in function.blocks().to_vec() {
        // What is live at the borders of blocks stays as it is.
        moved += BlockOrder::find(policy, function, &liveness, &weights, block).apply(function);
    }
    context.result_of("moved-instructions", moved)
}
