//! Reads of undefined values, each of which may give another value.
//!
//! The proof gives an undefined register one value in the whole function, except where a store or a branch reads
//! it. If an instruction that reads the register is executed more often than before, its results may differ, and
//! the proof does not notice. These reads are therefore counted.

use oriel_ori::analysis::undefined_value_readers;
use oriel_ori::{ControlFlow, Function, Instruction};

/// Returns an instruction of the function after that computes with an undefined value and may be
/// executed where none did so before: at some loop depth, or deeper, more of them are left than there
/// were.
pub(super) fn added_read(before: &Function, after: &Function) -> Option<Instruction> {
    let after = reads(after);
    if after.is_empty() {
        return None;
    }
    let before = reads(before);
    let is_added = |depth: usize| {
        let deep = |reads: &[Read]| reads.iter().filter(|read| read.depth >= depth).count();
        deep(&after) > deep(&before)
    };
    let added = after.iter().find(|read| is_added(read.depth));
    added.map(|read| read.instruction)
}

struct Read {
    instruction: Instruction,
    /// How many loops it is in.
    depth: usize,
}

/// Returns the instructions that compute with an undefined value.
fn reads(function: &Function) -> Vec<Read> {
    let instructions = undefined_value_readers(function);
    if instructions.is_empty() {
        return Vec::new();
    }
    let flow = ControlFlow::of(function);
    let reads = instructions.into_iter().map(|instruction| {
        let block = function.block_of(instruction).expect("it is in a block");
        Read {
            instruction,
            depth: flow.loops.depth_of(block),
        }
    });
    reads.collect()
}
