//! OptimizeHotColdFlow (phase 109): moves rarely executed blocks to the end of the function.
//!
//! ```text
//! bix0: BRA %p, bix2, fall bix1        bix0: BRA %p, bix2, bix1
//! bix1: TRAP                      ─▶   bix2: RET
//! bix2: RET                            bix1: TRAP
//! ```
//!
//! Executed code is then contiguous, and the instruction cache holds less of the rest.
//! [`cold_blocks`] tells which blocks are cold; both parts keep their order. Only the layout
//! changes, and with it the fall-through targets. LLVM's block placement runs later and may
//! override it unless llc gets `-disable-block-placement`.
//!
//! Follows the reference.

use super::mark_additional_cold_blocks::cold_blocks;
use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::Block;
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let cold = cold_blocks(function);
    let is_cold = |&block: &Block| cold.contains(block);
    let Some(first_cold) = function.blocks().iter().position(is_cold) else {
        return PhaseResult::Unchanged;
    };
    let (moved, hot): (Vec<Block>, Vec<Block>) = function.blocks().iter().partition(|block| is_cold(block));
    if hot.len() == first_cold {
        return PhaseResult::Unchanged;
    }
    context.count("cold-blocks", moved.len() as u64);
    function.reorder_blocks([hot, moved].concat());
    PhaseResult::Changed
}

#[cfg(test)]
mod tests {
    use crate::testing::{block, check_layout_phase, function, numbers, run_phase};

    #[test]
    fn cold_blocks_go_to_the_end_in_order() {
        let mut function = function(&[&[1, 2], &[5], &[3, 4], &[5], &[5], &[]]);
        function.info.entry_frequency = 1000;
        for (number, frequency) in [1000, 1, 999, 2, 997, 1000].into_iter().enumerate() {
            function.set_frequency(block(number), frequency);
        }
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 2, 4, 5, 1, 3]);
    }

    #[test]
    fn nothing_but_the_layout_changes() {
        check_layout_phase(super::run);
    }
}
