//! SetControlFlowOpLastInBB (phase 6): makes every block end in its only control-flow operation.
//!
//! ```text
//! bix0:                      bix0:
//!   BRA %p, bix2               BRA %p, bix2, fall bix3
//!   %1 = IADD %2, 1      ─▶  bix3:
//! bix1:                        %1 = IADD %2, 1
//!   ...                        BRA fall bix1
//! ```
//!
//! Expansion may leave a branch in the middle of a block, a branch without a block for the case
//! that it is not taken, or a block that runs into the next. Afterwards only the last operation of
//! a block determines its successors.
//!
//! Follows the reference, which splits a block behind its first control-flow operation. The
//! fall-through path, which the reference leaves to the order of blocks, is an operand in Ori.

use super::{PhaseContext, PhaseResult};
use oriel_engine::entity::Block;
use oriel_ori::{DataType, Function, Instruction, InstructionBuilder, Operand, Operation, Position};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut splits = 0;
    for mut block in function.blocks().to_vec() {
        while let Some(rest) = first_after_terminator(function, block) {
            block = function.split_block(rest).expect("no PHI follows a branch");
            splits += 1;
        }
    }
    let mut endings = 0;
    for index in 0..function.blocks().len() {
        let next = function.blocks().get(index + 1).copied();
        endings += u64::from(complete_ending(function, function.blocks()[index], next));
    }
    context.count("splits", splits);
    context.count("completed-endings", endings);
    PhaseResult::of(splits + endings != 0)
}

/// Returns the first instruction behind a control-flow operation, ignoring debug instructions.
fn first_after_terminator(function: &Function, block: Block) -> Option<Instruction> {
    function
        .instructions(block)
        .skip_while(|&instruction| !function.operation(instruction).is_terminator())
        .skip(1)
        .find(|&instruction| !function.operation(instruction).is_debug())
}

/// Adds the fall-through block to a terminator that lacks it. Returns whether there was anything to
/// do.
fn complete_ending(function: &mut Function, block: Block, next: Option<Block>) -> bool {
    let Some(terminator) = function.terminator(block) else {
        let ending = match next {
            Some(next) => {
                InstructionBuilder::new(Operation::Bra, DataType::None).source(Operand::fall_through(next))
            }
            None => InstructionBuilder::new(Operation::End, DataType::None),
        };
        function.insert(Position::End(block), ending);
        return true;
    };
    let sources: Vec<Operand> = function.sources(terminator).iter().collect();
    match (function.operation(terminator), sources.as_slice(), next) {
        (Operation::Bra, &[predicate, taken], Some(next)) => {
            function.set_sources(terminator, &[predicate, taken, Operand::fall_through(next)]);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{append_phi, block, edges, empty_function, numbers, run_phase};
    use oriel_ori::{DataType, InstructionBuilder, Operand, Operation, Position, RegisterFile};

    #[test]
    fn a_branch_in_the_middle_ends_its_block() {
        let mut function = empty_function(2);
        let [first, second] = [0, 1].map(|index| function.blocks()[index]);
        let predicate = function.create_register(RegisterFile::P, 1, None);
        let value = function.create_register(RegisterFile::R, 32, None);
        let branch = InstructionBuilder::new(Operation::Bra, DataType::None)
            .source(Operand::predicate(predicate))
            .source(Operand::target(second));
        function.insert(Position::End(first), branch);
        let copy = InstructionBuilder::new(Operation::Mov, DataType::B32)
            .result(Operand::register(value))
            .source(Operand::immediate(1).unwrap());
        let copy = function.insert(Position::End(first), copy);
        function.insert(
            Position::End(second),
            InstructionBuilder::new(Operation::Ret, DataType::None),
        );

        assert!(run_phase(super::run, &mut function));
        let new = function.blocks()[1];
        assert_eq!(function.block_of(copy), Some(new));
        assert_eq!(numbers(function.blocks()), [0, 2, 1]);
        assert_eq!(edges(&function), [(0, 1), (0, 2), (2, 1)]);
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn the_last_block_may_just_end() {
        let mut function = empty_function(1);
        let block = function.entry();
        assert!(run_phase(super::run, &mut function));
        let terminator = function.terminator(block).unwrap();
        assert_eq!(function.operation(terminator), Operation::End);
    }

    #[test]
    fn phis_take_their_value_from_both_parts() {
        let mut function = empty_function(2);
        let predicate = function.create_register(RegisterFile::P, 1, None);
        let branch = InstructionBuilder::new(Operation::Bra, DataType::None)
            .source(Operand::predicate(predicate))
            .source(Operand::target(block(1)));
        function.insert(Position::End(block(0)), branch);
        function.append_branch(block(0), block(1));
        let (phi, _) = append_phi(&mut function, 1, &[0]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 2, 1]);
        let value = function.phi_value(phi, block(0));
        assert!(value.is_some());
        assert_eq!(function.phi_value(phi, block(2)), value);
    }
}
