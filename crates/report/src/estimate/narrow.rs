//! Finds values of 64 bits of which only the low half is read.
//!
//! LLVM's addresses of shared and local memory have 64 bits, the machine's have 32. ptxas does not compute the
//! high halves of such addresses, nor of values that are used only to compute such addresses.

use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::Register;
use oriel_ori::{AddressSpace, Function, Instruction, Operation, RegisterFile, Variant};

/// When an instruction reads the high half of an operand of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HighHalf {
    Read,
    Unread,
    /// Read if that of the result is.
    AsOfResult,
}

/// Returns the registers of 64 bits whose high half nothing reads.
pub fn narrow_registers(function: &Function) -> EntityBitSet<Register> {
    let mut found = EntityBitSet::with_room(function.register_limit());
    let wide = || {
        function
            .registers()
            .filter(|&register| is_wide(function, register))
    };
    found.extend(wide().filter(|&register| !function.is_unused(register)));
    let mut pending = Vec::new();
    for register in wide() {
        if function
            .uses(register)
            .any(|(user, number)| high_half(function, user, number) == HighHalf::Read)
        {
            found.remove(register);
            pending.push(register);
        }
    }
    while let Some(register) = pending.pop() {
        for (definition, _) in function.definitions(register) {
            for (number, source) in function.sources(definition).iter().enumerate() {
                if let Some(source) = source.as_register()
                    && high_half(function, definition, number) == HighHalf::AsOfResult
                    && found.remove(source)
                {
                    pending.push(source);
                }
            }
        }
    }
    found
}

fn is_wide(function: &Function, register: Register) -> bool {
    let data = function.register(register);
    data.file == RegisterFile::R && data.bits == 64
}

/// Returns whether an instruction reads the high half of a source.
fn high_half(function: &Function, user: Instruction, number: usize) -> HighHalf {
    use Operation as O;
    let operation = function.operation(user);
    if function.accessed_address(user) == Some(number) {
        return match function.modifiers(user).space {
            AddressSpace::Shared | AddressSpace::Local => HighHalf::Unread,
            _ => HighHalf::Read,
        };
    }
    let is_computed_by_halves = match operation {
        O::Iadd | O::Isub | O::Imul | O::Imad | O::Ineg | O::And | O::Or | O::Xor | O::Not => true,
        O::Mov | O::Copy | O::Phi | O::Cvta => true,
        O::Sel => number < 2,
        O::Shl => number == 0,
        O::ImadWide => number == 2,
        O::Cvt => !function.data_type(user).is_float() && !function.source_type(user).is_float(),
        O::Extract => function.modifiers(user).variant != Variant::High,
        _ => false,
    };
    let mut results = function.result_registers(user).peekable();
    if !is_computed_by_halves || results.peek().is_none() {
        HighHalf::Read
    } else if results.all(|result| is_wide(function, result)) {
        HighHalf::AsOfResult
    } else if matches!(operation, O::Cvt | O::Extract) {
        HighHalf::Unread
    } else {
        HighHalf::Read
    }
}
