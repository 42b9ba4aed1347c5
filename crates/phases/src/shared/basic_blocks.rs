//! Blocks and edges, for several phases: their current state, and what can be redirected.

use crate::{Analyses, PhaseContext};
use oriel_engine::entity::Block;
use oriel_ori::{ControlFlow, Function, Operation};
use std::rc::Rc;

/// How much is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RebuildMode {
    /// Edges and orders, for walks against the order. The reference's mode 0.
    Reset,
    /// Also removes unreachable blocks first. The reference's mode 1.
    Full,
}

/// Rebuilds the control flow of the function in a mode. Returns it, and the number of removed
/// blocks.
///
/// The reference also refreshes lists and counts of instructions here; in Ori no edit leaves them
/// stale.
pub(crate) fn rebuild_basic_blocks(
    function: &mut Function,
    mode: RebuildMode,
    context: &mut PhaseContext<'_>,
) -> (Rc<ControlFlow>, usize) {
    let removed = match mode {
        RebuildMode::Reset => 0,
        RebuildMode::Full => function.remove_unreachable_blocks(),
    };
    if removed != 0 {
        context.keep_only(Analyses::empty());
    }
    (context.control_flow(function), removed)
}

/// True if all edges from these predecessors to a block can be redirected.
pub(crate) fn can_redirect(function: &Function, target: Block, predecessors: &[Block]) -> bool {
    let is_known = |&block: &Block| {
        let terminator = function.terminator(block);
        terminator.is_some_and(|end| function.operation(end) != Operation::OpaqueTerminator)
    };
    target != function.entry() && !function.is_address_taken(target) && predecessors.iter().all(is_known)
}
