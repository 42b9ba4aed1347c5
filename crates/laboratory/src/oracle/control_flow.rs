//! Compares a function's control flow in Ori with that of another implementation, LLVM's.

use super::liveness::liveness_differences;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::{ControlFlowGraph, PostDominatorTree, ReversePostorder, Traversal};
use oriel_engine::snapshot::Snapshot;
use oriel_ori::machine::from_machine;
use oriel_ori::{ControlFlow, Function};

/// Represents "none" in foreign arrays.
const NONE: u32 = u32::MAX;
/// The most differences that a message shows.
const SHOWN: usize = 20;

/// Another implementation's data on a block; all ones mean none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ForeignBlockFlow {
    /// Immediate dominator.
    pub dominator: u32,
    /// Immediate post-dominator.
    pub post_dominator: u32,
    /// Header of the innermost loop.
    pub loop_header: u32,
    /// Header of the loop around that.
    pub parent_header: u32,
    /// How many loops the block is in.
    pub loop_depth: u32,
}

/// Another implementation's data on a function's control flow.
#[derive(Clone, Copy, Debug)]
pub struct ForeignControlFlow<'a> {
    /// By block in layout order.
    pub blocks: &'a [ForeignBlockFlow],
    /// Reverse post-order of a search that visits the first successor first.
    pub order: &'a [u32],
}

/// Converts `snapshot` to Ori and compares its control flow with `theirs`: edges with those of the
/// snapshot, then dominators, post-dominators and loops of every block, and the order. Also
/// compares liveness with the live-range engine's.
///
/// Ori lists successors as terminators do, LLVM in an order of its own, on which the reverse
/// post-order depends. So the snapshot's edges determine the order.
///
/// A function that Ori cannot represent is not compared.
///
/// # Errors
/// They differ; the message shows both.
pub fn check_control_flow(snapshot: &Snapshot<'_>, theirs: &ForeignControlFlow<'_>) -> Result<(), String> {
    let Ok(function) = from_machine(snapshot) else {
        return Ok(());
    };
    let mut differences = Vec::new();
    compare_edges(snapshot, &function, &mut differences);
    let flow = ControlFlow::of(&function);
    let post_dominators = flow.post_dominators();
    for (block, &expected) in snapshot.blocks().zip(theirs.blocks) {
        let found = flow_of(&flow, &post_dominators, block);
        if found != expected {
            differences.push(format!("{block:?}: {found:?}, LLVM: {expected:?}"));
        }
    }
    differences.extend(liveness_differences(snapshot, &function, &flow));
    let order: Vec<u32> = llvm_order(snapshot);
    if order != theirs.order {
        differences.push(format!("reverse post-order: {order:?}, LLVM: {:?}", theirs.order));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let hidden = differences.len().saturating_sub(SHOWN);
    differences.truncate(SHOWN);
    if hidden != 0 {
        differences.push(format!("and {hidden} more"));
    }
    Err(differences.join("\n"))
}

fn compare_edges(snapshot: &Snapshot<'_>, function: &Function, differences: &mut Vec<String>) {
    let sorted = |mut blocks: Vec<Block>| {
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    };
    for block in snapshot.blocks() {
        let ours = sorted(function.successors(block).collect());
        let theirs = sorted(snapshot.successors(block).collect());
        if ours != theirs {
            differences.push(format!("successors of {block:?}: {ours:?}, LLVM: {theirs:?}"));
        }
    }
}

fn flow_of(flow: &ControlFlow, post_dominators: &PostDominatorTree<Block>, block: Block) -> ForeignBlockFlow {
    let number = |block: Option<Block>| block.map_or(NONE, |block| block.index() as u32);
    let loops = &flow.loops;
    let innermost = loops.innermost(block);
    let parent = innermost.and_then(|inner| loops.parent(inner));
    ForeignBlockFlow {
        dominator: number(flow.dominators.immediate(block)),
        post_dominator: number(post_dominators.immediate(block)),
        loop_header: number(innermost.map(|inner| loops.header(inner))),
        parent_header: number(parent.map(|parent| loops.header(parent))),
        loop_depth: loops.depth_of(block) as u32,
    }
}

fn llvm_order(snapshot: &Snapshot<'_>) -> Vec<u32> {
    let edges: Vec<(Block, Block)> = snapshot
        .blocks()
        .flat_map(|block| snapshot.successors(block).map(move |target| (block, target)))
        .collect();
    let graph = ControlFlowGraph::new(snapshot.block_count(), Block::new(0), edges.iter().copied());
    let order = ReversePostorder::new(&graph, Traversal::Recursive);
    order
        .as_slice()
        .iter()
        .map(|block| block.index() as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::snapshot::sample::counting_loop;

    #[test]
    fn what_differs_is_named() {
        let owned = counting_loop();
        let snapshot = owned.view();
        let function = from_machine(&snapshot).unwrap();
        let flow = ControlFlow::of(&function);
        let post_dominators = flow.post_dominators();
        let mut blocks: Vec<ForeignBlockFlow> = snapshot
            .blocks()
            .map(|block| flow_of(&flow, &post_dominators, block))
            .collect();
        let mut order = llvm_order(&snapshot);
        let check = |blocks: &[ForeignBlockFlow], order: &[u32]| {
            check_control_flow(&snapshot, &ForeignControlFlow { blocks, order })
        };
        assert_eq!(check(&blocks, &order), Ok(()));
        blocks[1].loop_depth += 1;
        let message = check(&blocks, &order).unwrap_err();
        assert!(message.contains("loop_depth: 2"), "{message}");
        blocks[1].loop_depth -= 1;
        order.swap(0, 1);
        let message = check(&blocks, &order).unwrap_err();
        assert!(message.starts_with("reverse post-order: [0, 1"), "{message}");
    }
}
