//! MergeBasicBlocks: merges blocks that always follow each other.
//!
//! ```text
//! bix0:                      bix0:
//!   %1 = IADD %0, 1            %1 = IADD %0, 1
//!   BRA fall bix1        ─▶    %2 = IADD %1, 2
//! bix1:                        RET
//!   %2 = IADD %1, 2
//!   RET
//! ```
//!
//! A block is merged with its only successor if that has no other predecessor. Larger blocks
//! benefit the phases that work on one block at a time. PHIs of a block with one predecessor are
//! replaced by their values.
//!
//! The reference describes the option `dont-merge-basicblocks`, which disables this for code to be
//! debugged, and says that merging is part of normal operation; the step has no number. Departure:
//! debug information alone does not disable it, since it never changes the code.

use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    if context.options.dont_merge_basic_blocks {
        return PhaseResult::Unchanged;
    }
    context.result_of("merged-blocks", function.merge_all_blocks())
}

#[cfg(test)]
mod tests {
    use crate::PhaseOptions;
    use crate::testing::{append_phi, block, edges, function, numbers, run_phase, run_phase_with};
    use oriel_ori::Operand;

    #[test]
    fn a_chain_becomes_one_block() {
        let mut function = function(&[&[2], &[], &[3], &[1]]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0]);
        assert!(edges(&function).is_empty());
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn two_edges_to_a_block_keep_it() {
        let mut function = function(&[&[1, 1], &[2, 3], &[3], &[]]);
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn a_loop_does_not_swallow_its_own_head() {
        // The entry, and a cycle of unreachable blocks.
        let mut function = function(&[&[1], &[1], &[3], &[2]]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 2]);
        assert_eq!(edges(&function), [(0, 1), (1, 1), (2, 2)]);
    }

    #[test]
    fn a_phi_with_one_way_in_becomes_its_value() {
        let mut function = function(&[&[1], &[2, 2], &[]]);
        let (_, result) = append_phi(&mut function, 1, &[0]);
        let (second, _) = append_phi(&mut function, 2, &[1]);
        let value = function.source(second, 0).as_register().unwrap();
        assert_ne!(value, result);
        function.set_source(second, 0, Operand::register(result));
        assert!(run_phase(super::run, &mut function));
        assert_eq!(function.phis(block(0)).count(), 0);
        assert!(function.phi_value(second, block(0)).is_some());
        assert!(function.is_unused(result));
    }

    #[test]
    fn the_option_keeps_the_boundaries() {
        let mut function = function(&[&[1], &[]]);
        let options = PhaseOptions {
            dont_merge_basic_blocks: true,
            ..PhaseOptions::default()
        };
        assert!(!run_phase_with(super::run, &mut function, &options));
        assert_eq!(numbers(function.blocks()), [0, 1]);
    }
}
