//! Branches with two equivalent sides.
//!
//! Either both sides lead through empty blocks to one block whose PHIs have equal values for both;
//! or they lead to two blocks with equal instructions and equal continuations. In the second case
//! every instruction of one block is matched with one of the other while the results of the one are
//! renamed to those of the other. Behind the blocks the PHIs rename them again, so the values for
//! the two blocks must be equal under the same renaming, and nothing else may use the results of
//! the second block.
//!
//! Blocks with convergent instructions always differ: lanes that wait for each other in two places
//! would wait in one. So do calls and instructions unknown to Ori.

use crate::general_optimize::values::Values;
use crate::shared::copies::is_alike;
use crate::shared::expressions::is_commutative;
use oriel_engine::entity::{Block, Register};
use oriel_ori::{ControlFlow, Function, Instruction, InstructionFlags, Operand, Operation, OperationFlags};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The most empty blocks that a side may lead through.
const TAIL: usize = 8;

/// The most instructions of equal blocks.
const LENGTH: usize = 64;

/// Why it does not matter which side is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EqualTargets {
    /// Both lead to one block with equal values; this target is kept.
    Tail(Block),
    /// Both do the same.
    Blocks {
        /// The block that is kept.
        kept: Block,
        /// The block that is removed.
        gone: Block,
    },
}

/// Returns why the two targets of a block's branch are equivalent, if they are.
pub(super) fn find_equal(
    function: &Function,
    flow: &ControlFlow,
    values: &mut Values,
    block: Block,
    targets: [Block; 2],
) -> Option<EqualTargets> {
    let [first, second] = targets;
    if first == second {
        return Some(EqualTargets::Tail(first));
    }
    let [(from_first, end), (from_second, other_end)] = targets.map(|target| tail(function, block, target));
    if end == other_end {
        let is_equal = phis_agree(function, values, end, [from_first, from_second], &HashMap::new());
        // The side without a block of its own.
        let kept = if second == end { second } else { first };
        return is_equal.then_some(EqualTargets::Tail(kept));
    }
    let is_private = |target: Block| {
        flow.graph.predecessors(target) == [block] && target != block && !function.is_address_taken(target)
    };
    let are_equal =
        is_private(first) && is_private(second) && blocks_are_equal(function, values, first, second);
    are_equal.then_some(EqualTargets::Blocks {
        kept: first,
        gone: second,
    })
}

/// Follows empty blocks from a target. Returns the last block before the one reached, and that one.
fn tail(function: &Function, block: Block, target: Block) -> (Block, Block) {
    let (mut from, mut to) = (block, target);
    for _ in 0..TAIL {
        let Some(next) = passes_on(function, to).filter(|&next| next != to) else {
            break;
        };
        (from, to) = (to, next);
    }
    (from, to)
}

/// Returns the successor of an empty block.
fn passes_on(function: &Function, block: Block) -> Option<Block> {
    let mut code = function
        .instructions(block)
        .filter(|&instruction| !function.operation(instruction).is_debug());
    let (only, None) = (code.next()?, code.next()) else {
        return None;
    };
    let sources = function.sources(only);
    let is_branch = function.operation(only) == Operation::Bra && sources.len() == 1;
    (is_branch && !function.is_address_taken(block)).then(|| sources.get(0).as_block())?
}

/// True if the PHIs of a block have equal values for two predecessors, with the results of the
/// second renamed.
fn phis_agree(
    function: &Function,
    values: &mut Values,
    block: Block,
    [first, second]: [Block; 2],
    renamed: &HashMap<Register, Register>,
) -> bool {
    function.phis(block).all(|phi| {
        let pair = (function.phi_value(phi, first), function.phi_value(phi, second));
        let (Some(one), Some(other)) = pair else {
            return false;
        };
        operands_agree(function, values, one, other, renamed)
    })
}

/// True if two operands are equal, with registers that the second block defines renamed.
fn operands_agree(
    function: &Function,
    values: &mut Values,
    one: Operand,
    other: Operand,
    renamed: &HashMap<Register, Register>,
) -> bool {
    if one == other {
        return true;
    }
    let (Some(a), Some(b)) = (one.as_register(), other.as_register()) else {
        return false;
    };
    let is_comparable = is_alike(function, a, b)
        && one == other.with_register(a)
        && !one.is_undefined()
        && !other.is_undefined();
    is_comparable
        && match renamed.get(&b) {
            Some(&kept) => kept == a,
            None => values.of(function, a) == values.of(function, b),
        }
}

/// True if two blocks do the same and continue alike.
fn blocks_are_equal(function: &Function, values: &mut Values, first: Block, second: Block) -> bool {
    let mut renamed = HashMap::new();
    let code = |block| {
        let all = function.instructions(block);
        all.filter(|&instruction| !function.operation(instruction).is_debug())
    };
    let (mut ones, mut others) = (code(first), code(second));
    for _ in 0..LENGTH {
        let (Some(one), Some(other)) = (ones.next(), others.next()) else {
            return false;
        };
        if !instructions_agree(function, values, one, other, &mut renamed) {
            return false;
        }
        if function.operation(one).is_terminator() {
            let agree = |successor| phis_agree(function, values, successor, [first, second], &renamed);
            return ones.next().is_none()
                && others.next().is_none()
                && function.successors(first).all(agree)
                && is_private(function, second, &renamed);
        }
    }
    false
}

/// True if only the block itself and the PHIs that follow it use its results.
fn is_private(function: &Function, block: Block, renamed: &HashMap<Register, Register>) -> bool {
    renamed.keys().all(|&register| {
        function.uses(register).all(|(user, number)| {
            let is_inside = function.block_of(user) == Some(block);
            let operation = function.operation(user);
            let is_edge =
                operation == Operation::Phi && function.source(user, number + 1).as_block() == Some(block);
            operation.is_debug() || (is_inside && operation != Operation::Phi) || is_edge
        })
    })
}

/// True if two instructions do the same with equal operands. Renames the results of the second from
/// then on.
fn instructions_agree(
    function: &Function,
    values: &mut Values,
    one: Instruction,
    other: Instruction,
    renamed: &mut HashMap<Register, Register>,
) -> bool {
    let never = OperationFlags::CONVERGENT | OperationFlags::CALL_SEQUENCE | OperationFlags::OPAQUE;
    let described = |instruction| {
        (
            function.operation(instruction),
            function.data_type(instruction),
            function.source_type(instruction),
            function.modifiers(instruction),
            function.access(instruction).copied(),
            function.sources(instruction).len(),
            function.results(instruction).len(),
        )
    };
    let is_comparable = described(one) == described(other)
        && function.operation(one) != Operation::Phi
        && ![one, other].into_iter().any(|instruction| {
            function.effects(instruction).intersects(never)
                || function
                    .flags(instruction)
                    .contains(InstructionFlags::ATTACHMENTS)
        });
    if !is_comparable || !sources_agree(function, values, one, other, renamed) {
        return false;
    }
    let results = function.results(one).into_iter().zip(function.results(other));
    for (kept, gone) in results {
        let (Some(kept), Some(gone)) = (kept.as_register(), gone.as_register()) else {
            return false;
        };
        if !is_alike(function, kept, gone) {
            return false;
        }
        renamed.insert(gone, kept);
    }
    true
}

/// True if the sources of two instructions are equal, in either order if they are commutative.
fn sources_agree(
    function: &Function,
    values: &mut Values,
    one: Instruction,
    other: Instruction,
    renamed: &HashMap<Register, Register>,
) -> bool {
    let ones: SmallVec<[Operand; 4]> = function.sources(one).iter().collect();
    let mut others: SmallVec<[Operand; 4]> = function.sources(other).iter().collect();
    let mut agree = |others: &[Operand]| {
        let mut pairs = ones.iter().zip(others);
        pairs.all(|(&one, &other)| match (one.as_block(), other.as_block()) {
            // The kind of branch to a target does not matter.
            (Some(one), Some(other)) => one == other,
            _ => operands_agree(function, values, one, other, renamed),
        })
    };
    if agree(&others) {
        return true;
    }
    is_commutative(function, one) && {
        others.swap(0, 1);
        agree(&others)
    }
}

/// Keeps only one of the sides. Returns whether it was done.
pub(super) fn merge(function: &mut Function, block: Block, equal: EqualTargets) -> bool {
    let (kept, gone) = match equal {
        EqualTargets::Tail(kept) => (kept, None),
        EqualTargets::Blocks { kept, gone } => (kept, Some(gone)),
    };
    if function.make_unconditional(block, kept).is_err() {
        return false;
    }
    if let Some(gone) = gone {
        merge_instructions(function, kept, gone);
    }
    true
}

/// Lets the instructions of a block represent those of an equal one, which is unreachable now. The
/// uses of their results are removed with the block.
fn merge_instructions(function: &mut Function, kept: Block, gone: Block) {
    let code = |block| -> Vec<Instruction> {
        let all = function.instructions(block);
        all.filter(|&instruction| !function.operation(instruction).is_debug())
            .collect()
    };
    for (kept, gone) in code(kept).into_iter().zip(code(gone)).rev() {
        if function.operation(gone).is_terminator() {
            continue;
        }
        function.merge_into(gone, kept);
    }
}
