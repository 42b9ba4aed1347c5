//! OptimizeHotColdInLoop (phase 108): moves rarely executed blocks out of loops.
//!
//! ```text
//! bix1: BRA %p, bix3, fall bix2        bix1: BRA %p, bix3, bix2
//! bix2: ... BRA bix3              ─▶   bix3: BRA %q, bix1, fall bix4
//! bix3: BRA %q, bix1, fall bix4        bix2: ... BRA bix3
//! bix4: RET                            bix4: RET
//! ```
//!
//! A loop's body extends from its first to its last block in the layout. Cold blocks of the
//! function ([`cold_blocks`]) and blocks of the loop that run less than once per [`HOT_RATIO`]
//! executions of its header move from there to directly behind its last block. Outer loops come
//! first; blocks moved out of one are not considered for inner loops. Only the layout changes, and
//! with it the fall-through targets. LLVM's block placement runs later and may override it unless
//! llc gets `-disable-block-placement`.
//!
//! The reference says that cold blocks are moved out of loop bodies. Addition: a block of a loop
//! may be cold relative to the loop's header only, since most of a kernel's time passes in loops
//! and a frequency relative to the entry says little there.
//!
//! [`HOT_RATIO`]: super::mark_additional_cold_blocks::HOT_RATIO

use super::mark_additional_cold_blocks::{cold_blocks, is_colder};
use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::{Block, SecondaryMap};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let flow = context.control_flow(function);
    let loops = &flow.loops;
    if loops.is_empty() {
        return PhaseResult::Unchanged;
    }
    let mut cold = cold_blocks(function);
    let mut layout = function.blocks().to_vec();
    let mut position: SecondaryMap<Block, usize> = SecondaryMap::new();
    for (index, &block) in layout.iter().enumerate() {
        position[block] = index;
    }
    let mut moved = 0;
    for natural_loop in loops.loops() {
        let per_iteration = function.frequency(loops.header(natural_loop));
        let blocks = loops.nodes(natural_loop).iter();
        let rare = blocks.filter(|&&block| is_colder(function.frequency(block), per_iteration));
        cold.extend(rare.copied());
        let stays = loops
            .nodes(natural_loop)
            .iter()
            .filter(|&&block| !cold.contains(block));
        let places = stays.map(|&block| position[block]);
        let (Some(first), Some(last)) = (places.clone().min(), places.max()) else {
            continue;
        };
        let body = &mut layout[first..=last];
        let (leave, stay): (Vec<Block>, Vec<Block>) = body.iter().partition(|&&block| cold.contains(block));
        moved += leave.len();
        body.copy_from_slice(&[stay, leave].concat());
        for (index, &block) in body.iter().enumerate() {
            position[block] = first + index;
        }
    }
    context.count("moved-blocks", moved as u64);
    if layout == function.blocks() {
        return PhaseResult::Unchanged;
    }
    function.reorder_blocks(layout);
    PhaseResult::Changed
}

#[cfg(test)]
mod tests {
    use crate::testing::{block, check_layout_phase, count_of, function, numbers, run_phase};

    #[test]
    fn a_block_that_rarely_runs_leaves_its_loop() {
        let mut function = function(&[&[1], &[3, 2], &[3], &[1, 4], &[]]);
        function.info.entry_frequency = 1;
        for (number, frequency) in [1, 1000, 9, 1000, 1].into_iter().enumerate() {
            function.set_frequency(block(number), frequency);
        }
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 3, 2, 4]);
        assert_eq!(count_of(super::run, &mut function, "moved-blocks"), 0);
    }

    #[test]
    fn what_is_rare_in_the_outer_loop_leaves_both() {
        // Outer loop 1..6, inner loop 2..5; 3 is rare relative to the inner header, 4 relative to
        // both.
        let mut function = function(&[&[1], &[2], &[3, 5], &[4, 5], &[5], &[2, 6], &[1, 7], &[]]);
        function.info.entry_frequency = 1;
        for (number, frequency) in [1, 1000, 900_000, 2000, 5, 900_000, 1000, 1]
            .into_iter()
            .enumerate()
        {
            function.set_frequency(block(number), frequency);
        }
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 2, 5, 3, 6, 4, 7]);
    }

    #[test]
    fn blocks_behind_the_loop_stay() {
        let mut function = function(&[&[1], &[1, 2], &[]]);
        function.info.entry_frequency = 1000;
        for (number, frequency) in [1000, 1000, 1].into_iter().enumerate() {
            function.set_frequency(block(number), frequency);
        }
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn nothing_but_the_layout_changes() {
        check_layout_phase(super::run);
    }
}
