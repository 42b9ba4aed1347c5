//! Finds blocks from which a function does not return. Most of them report an error. Their
//! instructions run at most once and keep nothing alive, so they do not affect the registers of
//! other blocks.
//!
//! ptxas knows that nothing runs after `exit`, although LLVM may not: Julia's compiler ends such a
//! block with `exit` in inline assembly and a branch to a block that continues.
//!
//! If a lane returns, the other lanes of its warp do not wait for it and stay converged.

use super::assembly::Assembly;
use oriel_engine::entity::{Block, EntitySet};
use oriel_engine::graph::Traversal;
use oriel_ori::{ControlFlow, Divergence, Function, Liveness, Operation};

/// Returns the function's control flow without the edges that `exit` in inline assembly cuts; none
/// if there are none.
pub fn flow_without_exits(function: &Function) -> Option<ControlFlow> {
    let mut exiting = EntitySet::new();
    let instructions = function.all_instructions();
    for assembly in instructions.filter(|&it| function.operation(it) == Operation::InlineAsm) {
        let text = function.assembly_text(assembly);
        if text.is_some_and(|text| text.contains("exit") && Assembly::parse(text).exits)
            && let Some(block) = function.block_of(assembly)
            && function.successors(block).next().is_some()
        {
            exiting.insert(block);
        }
    }
    let is_left_out = |block, _| exiting.contains(block);
    (!exiting.is_empty()).then(|| ControlFlow::analyze_without(function, Traversal::default(), is_left_out))
}

/// Returns the function's control flow as ptxas sees it.
pub fn flow_of_machine(function: &Function) -> ControlFlow {
    flow_without_exits(function).unwrap_or_else(|| ControlFlow::of(function))
}

/// Analyses which values and blocks differ between the lanes that have not returned.
pub fn divergence_of_remaining_lanes(
    function: &Function,
    flow: &ControlFlow,
    liveness: &Liveness,
) -> Divergence {
    let only_returns = |block: Block| {
        let mut instructions = function
            .instructions(block)
            .map(|instruction| function.operation(instruction));
        instructions.find(|operation| !operation.is_debug()) == Some(Operation::Ret)
    };
    let is_conditional = |block: Block| flow.graph.successors(block).len() > 1;
    let mut returns = EntitySet::with_capacity(function.block_limit());
    returns.extend(function.blocks().iter().copied().filter(|&block| {
        only_returns(block)
            && flow
                .graph
                .predecessors(block)
                .iter()
                .any(|&source| is_conditional(source))
    }));
    if returns.is_empty() {
        return Divergence::compute(function, flow, liveness);
    }
    let of_remaining = ControlFlow::analyze_without(function, Traversal::default(), |source, target| {
        returns.contains(target) && is_conditional(source) || !flow.graph.successors(source).contains(&target)
    });
    Divergence::compute(function, &of_remaining, liveness)
}

/// Returns the blocks from which a path leads to a return. A function that never returns may run for
/// ever, so all of its blocks matter.
pub fn returning_blocks(function: &Function, flow: &ControlFlow) -> EntitySet<Block> {
    let mut returning = EntitySet::with_capacity(function.block_limit());
    let returns = |block: &Block| {
        let mut instructions = function.instructions(*block);
        instructions.any(|instruction| function.operation(instruction) == Operation::Ret)
    };
    let mut pending: Vec<Block> = function.blocks().iter().copied().filter(returns).collect();
    while let Some(block) = pending.pop() {
        if returning.insert(block) {
            pending.extend_from_slice(flow.graph.predecessors(block));
        }
    }
    if !returning.contains(function.entry()) {
        returning.extend(function.blocks().iter().copied());
    }
    returning
}
