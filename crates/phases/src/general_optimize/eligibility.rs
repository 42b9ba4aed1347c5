//! Predicates and selects that may be folded.
//!
//! The reference's gatekeeper (`sub_8F2E50`) tests the destination word: bits 2–5 its kind, 4–6
//! modifiers, 8 and 10 marks, 10–12 the constraints on an immediate on GPUs above packed number
//! 20479. Here operands and marks are tested instead.

use crate::backend::{LAST_FIXED_IMMEDIATES, packed_sm};
use bitflags::bitflags;
use oriel_ori::{DataType, Function, Instruction, InstructionFlags, Operand, OperandKind, Operation};

bitflags! {
    /// Constraints on the immediates of a select where their forms differ in width and sign.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Constraints: u16 {
        /// The immediate needs more than 32 bits.
        const WIDTH = 1 << 10;
        /// It is narrower than a register and signed.
        const SIGN_EXTENSION = 1 << 11;
        /// It is relative to something: an address.
        const RELATIVE = 1 << 12;
    }
}

/// True if a predicate may be folded into its uses: it has one result, not folded yet, and its
/// sources are constants and unconstrained registers.
pub(super) fn is_foldable_predicate(function: &Function, instruction: Instruction) -> bool {
    let sets_predicate = match function.operation(instruction) {
        Operation::Isetp | Operation::Fsetp => true,
        Operation::And | Operation::Or | Operation::Xor | Operation::Not => {
            function.data_type(instruction) == DataType::B1
        }
        _ => false,
    };
    sets_predicate
        && function.is_removable_if_unused(instruction)
        && function.results(instruction).len() == 1
        && !function
            .flags(instruction)
            .contains(InstructionFlags::MARK_PREDICATED)
        && function
            .sources(instruction)
            .iter()
            .all(|source| is_free(function, source))
}

/// True for a constant, or a register that no other definition or use constrains.
fn is_free(function: &Function, operand: Operand) -> bool {
    match operand.as_register() {
        Some(register) => !operand.is_undefined() && function.unique_definition(register).is_some(),
        None => operand.is_constant(),
    }
}

/// True if a select may become one of its arms.
pub(super) fn is_foldable_select(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Sel
        && function.is_removable_if_unused(instruction)
        && !function
            .flags(instruction)
            .contains(InstructionFlags::MARK_PROPAGATED)
        && arms(function, instruction)
            .iter()
            .all(|arm| !arm.is_modified() && !arm.is_undefined())
        && (packed_sm(function.info.sm) <= LAST_FIXED_IMMEDIATES
            || constraints(function, instruction).is_empty())
}

/// Returns the two arms of a select.
pub(super) fn arms(function: &Function, select: Instruction) -> [Operand; 2] {
    [function.source(select, 0), function.source(select, 1)]
}

/// Returns the constraints on the immediate arms of a select.
fn constraints(function: &Function, select: Instruction) -> Constraints {
    let bits = function.data_type(select).bits();
    let mut found = Constraints::empty();
    for arm in arms(function, select) {
        let value = function.integer(arm);
        found.set(
            Constraints::WIDTH,
            found.contains(Constraints::WIDTH)
                || value.is_some_and(|value| i32::try_from(value).is_err() && u32::try_from(value).is_err()),
        );
        if bits < 32 && value.is_some_and(i64::is_negative) {
            found |= Constraints::SIGN_EXTENSION;
        }
        if matches!(arm.kind(), OperandKind::Special(_)) {
            found |= Constraints::RELATIVE;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::parse_function;

    /// Returns the eligibility of the last instruction before the end.
    fn eligible(sm: u32, line: &str) -> (bool, bool) {
        let text = format!(
            "kernel \"k\" sm_{sm} ssa {{\nbix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:P = ISETP.lt.s32 %1, 7\n\
             \x20   %3:R64 = LD.global.b64 [8]\n    %4:R16 = LD.global.b16 [4]\n    {line}\n    RET\n}}\n"
        );
        let function = parse_function(&text).expect("it is well formed");
        let last = function.instructions(function.entry()).rev().nth(1);
        let last = last.expect("there is one");
        (
            is_foldable_predicate(&function, last),
            is_foldable_select(&function, last),
        )
    }

    #[test]
    fn immediates_are_constrained_from_generation_five_on() {
        for (line, on_old, on_new) in [
            ("%5:R32 = SEL.b32 %1, 1, %2", true, true),
            ("%5:R64 = SEL.b64 %3, 123456789012345, %2", true, false),
            ("%5:R16 = SEL.b16 %4, -1, %2", true, false),
        ] {
            assert_eq!(eligible(50, line), (false, on_old), "{line}");
            assert_eq!(eligible(60, line), (false, on_new), "{line}");
            assert_eq!(eligible(90, line), (false, on_new), "{line}");
        }
    }

    #[test]
    fn predicates_fold_whatever_sets_them() {
        for line in [
            "%5:P = ISETP.lt.s32 %1, 1",
            "%5:P = FSETP.lt.f32 %1, %1",
            "%5:P = NOT.b1 %2",
        ] {
            assert_eq!(eligible(90, line), (true, false), "{line}");
        }
        assert_eq!(eligible(90, "%5:R32 = NOT.b32 %1"), (false, false));
        assert_eq!(eligible(90, "%5:P = ISETP.lt.s32 undef %1, 1"), (false, false));
    }
}
