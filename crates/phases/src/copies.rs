//! Copies between registers, and which registers can stand for each other.

use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, Operation};

/// Result and source of a copy of a register, which need not be of one kind.
pub(super) fn registers_of_copy(function: &Function, copy: Instruction) -> Option<(Register, Register)> {
    if !matches!(function.operation(copy), Operation::Mov | Operation::Copy) {
        return None;
    }
    let source = function.source(copy, 0);
    let is_plain = !source.is_modified() && !source.is_undefined();
    let source = source.as_register().filter(|_| is_plain)?;
    Some((function.result(copy, 0).as_register()?, source))
}

/// Are two registers of one kind, so that one can stand for the other everywhere?
pub(super) fn is_alike(function: &Function, one: Register, other: Register) -> bool {
    let (one, other) = (function.register(one), function.register(other));
    (one.file, one.bits) == (other.file, other.bits) && one.class.expand() == other.class.expand()
}
