//! Where the code takes the address of a stack object.

use crate::{Function, Instruction, OperandKind, Special};
use oriel_engine::entity::FrameObject;

/// A source operand that is the address of a stack object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAddress {
    /// The object.
    pub object: FrameObject,
    /// The instruction that reads the address.
    pub instruction: Instruction,
    /// The number of the source in the instruction.
    pub number: usize,
}

/// Returns the source operands that are addresses of stack objects, in the order of the code.
pub fn frame_addresses(function: &Function) -> Vec<FrameAddress> {
    let mut found = Vec::new();
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            for (number, source) in function.sources(instruction).iter().enumerate() {
                if let OperandKind::Special(special) = source.kind()
                    && let Special::Frame(object) = function.special_data(special)
                {
                    found.push(FrameAddress {
                        object,
                        instruction,
                        number,
                    });
                }
            }
        }
    }
    found
}
