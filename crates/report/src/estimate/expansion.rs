//! The code that ptxas generates for one instruction: how long it takes, the registers that it needs
//! besides operands and results, and whether it is a subroutine.

use super::assembly::{self, Assembly};
use oriel_ori::{
    AddressSpace, DataType, Function, Instruction, Operation, OperationFlags, Rounding, Variant,
};

/// Cycles from an instruction to the use of its result. For memory these are a scheduler's
/// assumptions, not the real latency.
pub fn latency(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let is_wide = function.data_type(instruction) == DataType::F64;
    match function.operation(instruction) {
        O::Ld => match function.modifiers(instruction).space {
            AddressSpace::Shared | AddressSpace::SharedCluster => 24,
            AddressSpace::EntryParam | AddressSpace::Const => 8,
            _ => 80,
        },
        O::Atom => 80,
        O::Shfl | O::Vote | O::Match | O::Redux => 24,
        O::Frcp | O::Fsqrt | O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh | O::S2r => 18,
        O::Fdiv | O::Idiv | O::Irem => 40,
        O::Opaque => function.machine_opcode(instruction).map_or(5, |opcode| {
            let reads_memory = function.effects(instruction).contains(OperationFlags::READS);
            assembly::latency_of_opcode(&opcode.name, reads_memory)
        }),
        O::Cvt if is_wide || function.data_type(instruction).is_float() => 12,
        O::ImulHi | O::Popc | O::Brev | O::Bfind | O::Clz => 10,
        _ if is_wide => 10,
        _ => 5,
    }
}

/// True for an instruction without a meaning in Ori that has no effects but several results from
/// several registers, as only operations of tensor cores do.
pub fn is_matrix_operation(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Opaque
        && function.results(instruction).len() >= 2
        && function.sources(instruction).len() >= 4
        && !function
            .effects(instruction)
            .intersects(OperationFlags::READS | OperationFlags::WRITES)
}

/// True for an exact division or root.
fn is_exact(function: &Function, instruction: Instruction) -> bool {
    let modifiers = function.modifiers(instruction);
    !matches!(modifiers.variant, Variant::Approx | Variant::Full) && modifiers.rounding != Rounding::None
}

/// True if ptxas calls a subroutine for it, at least for rare cases, so that its block ends there.
pub fn calls_subroutine(function: &Function, instruction: Instruction) -> bool {
    match function.operation(instruction) {
        Operation::Idiv | Operation::Irem => function.data_type(instruction).bits() == 64,
        Operation::Fdiv | Operation::Frcp | Operation::Fsqrt => is_exact(function, instruction),
        _ => false,
    }
}

/// True for an instruction that ptxas makes a call if it compiles for a debugger. Until Hopper,
/// exchanges between lanes are among these.
pub fn is_call_for_debugger(function: &Function, instruction: Instruction, sm: u32) -> bool {
    use Operation as O;
    let calls_for_exchange = sm < 90;
    match function.operation(instruction) {
        O::Call | O::Fns => true,
        O::Shfl | O::Vote | O::Match | O::Redux => calls_for_exchange,
        O::InlineAsm if calls_for_exchange => function
            .assembly_text(instruction)
            .is_some_and(|text| Assembly::parse(text).is_exchange),
        _ => calls_subroutine(function, instruction),
    }
}

/// Returns the registers that ptxas' sequence for an instruction needs besides operands and
/// results.
pub fn temporaries(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let data_type = function.data_type(instruction);
    let is_exact = is_exact(function, instruction);
    match function.operation(instruction) {
        O::Idiv | O::Irem if data_type.bits() == 64 && data_type.is_signed() => 14,
        O::Idiv | O::Irem if data_type.bits() == 64 => 11,
        O::Idiv | O::Irem if data_type.is_signed() => 7,
        O::Idiv | O::Irem => 5,
        O::Fdiv if data_type == DataType::F64 => 17,
        O::Fdiv if is_exact => 9,
        O::Frcp if data_type == DataType::F64 => 8,
        O::Fsqrt | O::Frsqrt if data_type == DataType::F64 => 13,
        O::Frcp if is_exact => 9,
        O::Fsqrt if is_exact => 6,
        O::Imul | O::Imad if data_type.bits() == 64 => 2,
        _ => 0,
    }
}
