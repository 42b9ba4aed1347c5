//! Copies between registers, and registers that are interchangeable.

use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, Operation};

/// Returns result and source of a copy of a register; their kinds may differ.
pub(crate) fn registers_of_copy(function: &Function, copy: Instruction) -> Option<(Register, Register)> {
    if !matches!(function.operation(copy), Operation::Mov | Operation::Copy) {
        return None;
    }
    let source = function.source(copy, 0);
    let is_plain = !source.is_modified() && !source.is_undefined();
    let source = source.as_register().filter(|_| is_plain)?;
    Some((function.result(copy, 0).as_register()?, source))
}

/// True if two registers are of one kind, so that one can replace the other everywhere.
pub(crate) fn is_alike(function: &Function, one: Register, other: Register) -> bool {
    let (one, other) = (function.register(one), function.register(other));
    (one.file, one.bits) == (other.file, other.bits) && one.class.expand() == other.class.expand()
}
