//! ReorderInstructions: reorders the instructions of every block by a rule of the user's choice.
//!
//! No order benefits all kernels, but for about a quarter of them another order makes ptxas use
//! fewer registers (docs/instruction-order.md). The best order cannot be predicted, so `oriel tune`
//! tries several. The knob `InstructionOrder` selects the rule, `InstructionOrderSeed` one of the
//! random orders.
//!
//! Requires: liveness; either form. Preserves: control flow.

use super::instruction_order::{BlockOrder, ChoiceRule, Weights};
use super::knobs::Knob;
use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    let seed = knobs.integer(Knob::InstructionOrderSeed) as u64;
    let Some(rule) = ChoiceRule::of(knobs.integer(Knob::InstructionOrder), seed) else {
        return PhaseResult::Unchanged;
    };
    let liveness = context.liveness(function);
    let weights = Weights::of(function);
    let mut moved = 0;
    for block in function.blocks().to_vec() {
        // Liveness at block boundaries does not change.
        moved += BlockOrder::find(rule, function, &liveness, &weights, block).apply(function);
    }
    context.result_of("moved-instructions", moved)
}
