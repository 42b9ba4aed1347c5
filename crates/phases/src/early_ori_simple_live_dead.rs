//! EarlyOriSimpleLiveDead (phase 10): removes instructions that can be seen to be dead within one
//! block.
//!
//! ```text
//! %1 = IMUL %0, 3
//! %2 = IADD %1, 1        ─▶   ST %0, ...
//! ST %0, ...
//! ```
//!
//! A register that no other block uses is dead if nothing after its definition in the block uses
//! it. A register that other blocks or PHIs use counts as live at the end of the block. One
//! backward walk per block also removes instructions used only by dead ones; there is no dataflow.
//! [`OriPerformLiveDead`] handles values that loops carry around.
//!
//! [`OriPerformLiveDead`]: super::ori_perform_live_dead

use super::knobs::Knob;
use super::shared::dead_code::{BoundaryRegisters, LocalLiveSet, remove_dead, walk_backward, within_budget};
use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::EntitySet;
use oriel_ori::{Function, Instruction};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let boundary = BoundaryRegisters::find(function);
    let budget = context.options.knobs.budget(Knob::OriPerformLiveDeadBudget);
    let dead = within_budget(budget, |kept| find_dead(function, &boundary, kept));
    remove_dead(function, context, &dead);
    PhaseResult::of(!dead.is_empty())
}

fn find_dead(
    function: &Function,
    boundary: &BoundaryRegisters,
    kept: &EntitySet<Instruction>,
) -> Vec<Instruction> {
    let mut dead = Vec::new();
    let mut live = LocalLiveSet::new(function, boundary);
    for &block in function.blocks() {
        walk_backward(function, block, &mut live, kept, |instruction| {
            dead.push(instruction);
        });
    }
    dead
}
