//! MarkAdditionalColdBlocks: finds rarely executed blocks.
//!
//! ```text
//! bix0: BRA %p, bix2, fall bix1
//! bix1: ... RET
//! bix2: ... BRA fall bix3          cold: all that follows is
//! bix3: TRAP                       cold: the kernel ends here
//! ```
//!
//! A block is cold if
//!
//! - the thread ends in it without returning: in a trap, an exit, or a call that does not return;
//! - LLVM's block frequencies are known and it runs less than once per [`HOT_RATIO`] executions of
//!   the entry;
//! - all its successors are cold, or all its predecessors.
//!
//! The entry is never cold. If all successors of a block that is not cold would be cold, none of
//! them is: a function that always ends in a trap has no rarely executed part.
//!
//! The reference names the pass and the kinds of blocks, error handlers and asserts, but gives no
//! formulas. It is not a phase of its own: phases 108 and 109 use it.

use oriel_engine::entity::{Block, EntitySet};
use oriel_ori::{Function, Operation};
use smallvec::SmallVec;

/// A block is cold beside another one if it runs at least so many times less often.
pub const HOT_RATIO: u64 = 100;

/// Returns the rarely executed blocks.
pub fn cold_blocks(function: &Function) -> EntitySet<Block> {
    let is_cold = |&block: &Block| {
        let is_rare = is_colder(function.frequency(block), function.info.entry_frequency);
        block != function.entry() && (is_rare || ends_the_thread(function, block))
    };
    let mut cold = EntitySet::with_capacity(function.block_limit());
    cold.extend(function.blocks().iter().copied().filter(is_cold));
    spread(function, &mut cold);
    keep_a_way_on(function, &mut cold);
    cold
}

/// True if a block with a frequency is cold beside one with another. False if one is unknown.
pub(super) fn is_colder(frequency: u64, beside: u64) -> bool {
    frequency != 0 && frequency.saturating_mul(HOT_RATIO) < beside
}

/// True if nothing follows the block, though it does not return.
fn ends_the_thread(function: &Function, block: Block) -> bool {
    let Some(end) = function.terminator(block) else {
        return false;
    };
    let has_trap = || {
        function
            .instructions(block)
            .any(|instruction| function.operation(instruction) == Operation::Trap)
    };
    match function.operation(end) {
        Operation::Exit | Operation::End => true,
        Operation::Ret => has_trap(),
        _ => false,
    }
}

/// Marks blocks surrounded by cold ones.
fn spread(function: &Function, cold: &mut EntitySet<Block>) {
    let predecessors = function.predecessors();
    let is_surrounded = |block: Block, cold: &EntitySet<Block>| {
        let successors: SmallVec<[Block; 2]> = function.successors(block).collect();
        let around = [successors.as_slice(), predecessors[block].as_slice()];
        let are_cold =
            |blocks: &[Block]| !blocks.is_empty() && blocks.iter().all(|&block| cold.contains(block));
        around.into_iter().any(are_cold)
    };
    let blocks = &function.blocks()[1..];
    let mut changed = true;
    while changed {
        changed = false;
        // One forward and one backward pass cover most paths.
        for &block in blocks.iter().chain(blocks.iter().rev()) {
            changed |= is_surrounded(block, cold) && cold.insert(block);
        }
    }
}

/// Removes the marks where a block that is not cold would lead only to cold ones.
fn keep_a_way_on(function: &Function, cold: &mut EntitySet<Block>) {
    let mut seen = EntitySet::with_capacity(function.block_limit());
    let mut pending = vec![function.entry()];
    seen.insert(function.entry());
    while let Some(block) = pending.pop() {
        let successors: SmallVec<[Block; 2]> = function.successors(block).collect();
        let is_way_out = successors.iter().all(|&successor| cold.contains(successor));
        for &successor in &successors {
            if is_way_out {
                cold.remove(successor);
            }
            if !cold.contains(successor) && seen.insert(successor) {
                pending.push(successor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{block, function, on_random_functions};
    use oriel_engine::entity::EntityRef;
    use oriel_ori::{DataType, InstructionBuilder, Position};

    fn cold(function: &Function) -> Vec<usize> {
        let cold = cold_blocks(function);
        let blocks = function.blocks().iter().filter(|&&block| cold.contains(block));
        blocks.map(|block| block.index()).collect()
    }

    fn end_by(function: &mut Function, number: usize, operation: Operation) {
        let new = InstructionBuilder::new(operation, DataType::None);
        if operation == Operation::Trap {
            function.insert(Position::Start(block(number)), new);
            return;
        }
        let end = function.terminator(block(number)).unwrap();
        function.remove(end);
        function.insert(Position::End(block(number)), new);
    }

    #[test]
    fn ways_to_a_trap_are_cold() {
        let mut function = function(&[&[2, 1], &[], &[4, 3], &[4], &[]]);
        assert!(cold(&function).is_empty());
        end_by(&mut function, 4, Operation::Trap);
        assert_eq!(cold(&function), [2, 3, 4]);
    }

    #[test]
    fn so_is_what_follows_a_cold_block_only() {
        let mut function = function(&[&[2, 1], &[], &[3], &[]]);
        for number in 0..4 {
            function.set_frequency(block(number), if number == 2 { 9 } else { 1000 });
        }
        function.info.entry_frequency = 1000;
        assert_eq!(cold(&function), [2, 3]);
        function.info.entry_frequency = 900;
        assert!(cold(&function).is_empty());
    }

    #[test]
    fn a_function_that_always_traps_is_not_cold() {
        let mut function = function(&[&[2, 1], &[3], &[3], &[5, 4], &[], &[]]);
        end_by(&mut function, 4, Operation::Exit);
        end_by(&mut function, 5, Operation::End);
        assert!(cold(&function).is_empty());
    }

    #[test]
    fn there_is_always_a_way_that_is_not_cold() {
        on_random_functions(|mut function, random| {
            for index in 0..function.blocks().len() {
                let block = function.blocks()[index];
                function.set_frequency(block, random.pick(&[0, 1, 1000]));
            }
            function.info.entry_frequency = 1000;
            let cold = cold_blocks(&function);
            assert!(!cold.contains(function.entry()));
            let mut pending = vec![function.entry()];
            let mut seen = EntitySet::new();
            while let Some(block) = pending.pop() {
                let mut successors = function.successors(block).peekable();
                let leads_on = successors.peek().is_some();
                let hot: Vec<_> = successors.filter(|&block| !cold.contains(block)).collect();
                assert_eq!(leads_on, !hot.is_empty());
                pending.extend(hot.into_iter().filter(|&block| seen.insert(block)));
            }
        });
    }
}
