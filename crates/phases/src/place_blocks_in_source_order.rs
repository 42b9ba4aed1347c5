//! PlaceBlocksInSourceOrder (phase 112): orders blocks as in the source, fall-through paths first.
//!
//! ```text
//! bix0(L0): BRA %p, bix1, fall bix2        bix0(L0): BRA %p, bix1, fall bix2
//! bix3(L3): RET                       ─▶   bix2(L2): BRA fall bix3
//! bix1(L1): BRA bix3                       bix3(L3): RET
//! bix2(L2): BRA fall bix3                  bix1(L1): BRA bix3
//! ```
//!
//! The fall-through successor of a block comes directly behind it, so that no branch is needed; all
//! other blocks come in the order of labels, LLVM's block numbers. A new block has the label of the
//! one that it came from and stays behind it. Only the layout changes, and with it the fall-through
//! targets.
//!
//! LLVM renumbers blocks now and then, and its own block placement after the late stage may
//! override the order unless llc gets `-disable-block-placement`.
//!
//! Follows the reference. It also undoes phases 108 and 109 except where fall-through paths keep
//! their layout: use one or the other.

use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::{Block, EntitySet};
use oriel_ori::{Function, OperandKind};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut by_label = function.blocks().to_vec();
    // The entry stays first, and blocks with the same label keep their order.
    by_label[1..].sort_by_key(|&block| function.label(block));
    let mut is_fallen_into = EntitySet::with_capacity(function.block_limit());
    is_fallen_into.extend(by_label.iter().filter_map(|&block| fall_through(function, block)));
    let is_start = |&block: &Block| block == function.entry() || !is_fallen_into.contains(block);
    let starts = by_label.iter().copied().filter(is_start);
    // When all paths from a start are placed, only cycles remain.
    let starts = starts.chain(by_label.iter().copied());

    let mut placed = EntitySet::with_capacity(function.block_limit());
    let mut layout = Vec::with_capacity(by_label.len());
    for start in starts {
        let mut next = Some(start);
        while let Some(block) = next.filter(|&block| placed.insert(block)) {
            layout.push(block);
            next = fall_through(function, block);
        }
    }
    let old = function.blocks().iter();
    let moved = old.zip(&layout).filter(|(old, new)| old != new).count();
    if moved == 0 {
        return PhaseResult::Unchanged;
    }
    context.count("moved-blocks", moved as u64);
    function.reorder_blocks(layout);
    PhaseResult::Changed
}

/// Returns the fall-through successor.
fn fall_through(function: &Function, block: Block) -> Option<Block> {
    let terminator = function.terminator(block)?;
    function
        .target_operands(terminator)
        .find(|operand| matches!(operand.kind(), OperandKind::FallThrough(_)))
        .and_then(|operand| operand.as_block())
}

#[cfg(test)]
mod tests {
    use crate::testing::{block, check_layout_phase, function, numbers, run_phase};
    use oriel_ori::{Function, Operand};

    fn place(function: &mut Function, order: &[usize]) {
        function.set_layout(order.iter().copied().map(block).collect());
    }

    #[test]
    fn the_order_of_labels_comes_back() {
        // The only fall-through is from 2 to 3.
        let mut function = function(&[&[1, 2], &[3], &[3], &[]]);
        place(&mut function, &[0, 3, 2, 1]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 2, 3]);
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn fall_through_comes_before_labels() {
        // 0 and 1 branch to other blocks, 2 falls through to 3, and 4 to 1.
        let mut function = function(&[&[4], &[3], &[3], &[], &[0, 5], &[]]);
        let branch = function.terminator(block(4)).unwrap();
        function.set_source(branch, 2, Operand::fall_through(block(1)));
        place(&mut function, &[0, 5, 4, 3, 2, 1]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn a_ring_begins_at_its_lowest_label() {
        let mut function = function(&[&[3], &[2], &[3], &[1]]);
        let branch = function.terminator(block(3)).unwrap();
        function.set_source(branch, 0, Operand::fall_through(block(1)));
        place(&mut function, &[0, 3, 2, 1]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 2, 3]);
    }

    #[test]
    fn nothing_but_the_layout_changes() {
        check_layout_phase(super::run);
    }
}
