//! Reads of values that nothing has computed.
//!
//! LLVM IR's `freeze` turns an undefined value into one that is the same for all users. Machine
//! functions have no such operation: LLVM lowers `freeze` to a copy of an `IMPLICIT_DEF` and folds the
//! copy, and after that each reader may see another value. A result that one instruction computes from
//! the undefined register is still the same for all of its users. If a second instruction computes it
//! again, the two results may differ.

use crate::{Function, Instruction, Operand, OperandKind, Operation};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::Register;

/// Returns an [undefined register](undefined_registers) that an instruction computes with, writes to
/// memory or passes on. Reads by PHIs and copies do not count, nor do operands that are marked as
/// undefined.
pub fn undefined_value_read(function: &Function) -> Option<Register> {
    let undefined = undefined_registers(function);
    undefined.iter().find(|&register| {
        let mut uses = function.uses(register);
        uses.any(|(user, number)| {
            !hands_on(function.operation(user)) && !function.source(user, number).is_undefined()
        })
    })
}

/// Returns the instructions that compute with an undefined value, write it to memory or pass it on: an
/// operand that is marked as undefined, or an [undefined register](undefined_registers). PHIs and copies
/// do not count.
pub fn undefined_value_readers(function: &Function) -> Vec<Instruction> {
    let undefined = undefined_registers(function);
    let instructions = function.all_instructions();
    let readers = instructions.filter(|&instruction| {
        let mut sources = function.sources(instruction).iter();
        !hands_on(function.operation(instruction))
            && sources.any(|source| is_undefined_source(&undefined, source))
    });
    readers.collect()
}

/// True if a source is marked as undefined, or one of these undefined registers.
pub fn is_undefined_source(undefined: &EntityBitSet<Register>, source: Operand) -> bool {
    let register = source.as_register();
    source.is_undefined() || register.is_some_and(|register| undefined.contains(register))
}

/// Returns the registers without a value: the only definition of each is an `IMPLICIT_DEF`, or a copy or
/// PHI of such registers.
pub fn undefined_registers(function: &Function) -> EntityBitSet<Register> {
    let instructions = function.all_instructions();
    let mut pending: Vec<Register> = instructions
        .filter(|&instruction| function.operation(instruction) == Operation::ImplicitDef)
        .filter_map(|instruction| only_result(function, instruction))
        .collect();
    let mut undefined = EntityBitSet::new();
    undefined.extend(pending.iter().copied());
    while let Some(register) = pending.pop() {
        for (user, number) in function.uses(register) {
            if hands_on(function.operation(user))
                && !function.source(user, number).is_undefined()
                && let Some(result) = only_result(function, user)
                && reads_only(function, user, |source| {
                    source == result || undefined.contains(source)
                })
                && undefined.insert(result)
            {
                pending.push(result);
            }
        }
    }
    undefined
}

/// True if an operation only hands on what its sources hold, or describes it to a debugger.
fn hands_on(operation: Operation) -> bool {
    operation.is_debug() || operation.is_copy() || operation == Operation::Phi
}

/// Returns the register that only this instruction defines, and that is its only result.
fn only_result(function: &Function, instruction: Instruction) -> Option<Register> {
    let mut results = function.results(instruction).iter();
    let result = results.next()?.as_register()?;
    let is_only = results.next().is_none() && function.unique_definition(result) == Some(instruction);
    is_only.then_some(result)
}

/// True if all values that an instruction reads are in such registers.
fn reads_only(function: &Function, instruction: Instruction, is_such: impl Fn(Register) -> bool) -> bool {
    let mut sources = function.sources(instruction).iter();
    sources.all(|source| match source.kind() {
        // A PHI's predecessors.
        OperandKind::Target(_) => true,
        _ => source.as_register().is_some_and(&is_such),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    fn found(body: &str) -> Option<u32> {
        let text = format!("kernel \"k\" sm_80 ssa {{\n{body}}}\n");
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        undefined_value_read(&function).map(Register::as_u32)
    }

    const UNDEFINED: &str = "bix0:\n    %1:R32 = UNDEF.b32\n    %9:R32 = LD.global.b32.b32 [0]\n";

    #[test]
    fn a_value_computed_from_nothing_is_found_through_copies() {
        let body =
            format!("{UNDEFINED}    %2:R32 = IADD.b32 %1, 1\n    ST.global.b32.b32 %2, [0]\n    RET\n");
        assert_eq!(found(&body), Some(1));
        let body = format!("{UNDEFINED}    %2:R32 = COPY.b32 %1\n    ST.global.b32.b32 %2, [0]\n    RET\n");
        assert_eq!(found(&body), Some(2));
    }

    #[test]
    fn a_phi_with_another_value_has_one() {
        let with_phi = |other: &str| {
            format!(
                "{UNDEFINED}    BRA fall bix1\nbix1:\n    %3:R32 = PHI.b32 %1, bix0, {other}, bix1\n    \
                 %4:P = ISETP.lt.s32 %9, 7\n    BRA %4, bix1, fall bix2\nbix2:\n    ST.global.b32.b32 %3, [0]\n    RET\n"
            )
        };
        assert_eq!(found(&with_phi("%9")), None);
        assert_eq!(found(&with_phi("%3")), Some(3));
    }

    #[test]
    fn what_is_not_read_is_not_found() {
        assert_eq!(
            found(&format!("{UNDEFINED}    ST.global.b32.b32 %9, [0]\n    RET\n")),
            None
        );
    }
}
