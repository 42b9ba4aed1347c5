//! Names of NVPTX machine instructions, as LLVM 22 has them.

use super::model::{Binary, Comparison, Operation, Space, Special, Type};

/// The register class that holds a type.
pub(super) fn class(ty: Type) -> &'static str {
    match ty {
        Type::I1 => "b1",
        Type::I16 => "b16",
        Type::I32 | Type::F32 => "b32",
        Type::I64 | Type::F64 => "b64",
        Type::B128 => "b128",
    }
}

/// The first part of the flag word of an inline assembly operand of a type: the class number plus
/// one, and one register.
pub(super) fn assembly_flag(ty: Type, kind: u32) -> u32 {
    let class_and_one = match ty {
        Type::I1 => 1,
        Type::I16 => 2,
        Type::I32 | Type::F32 => 4,
        Type::I64 | Type::F64 => 6,
        Type::B128 => 7,
    };
    class_and_one << 16 | 1 << 3 | kind
}

/// Opcodes of machine code with effects and without operands, constants included.
pub(super) const EFFECTS: [&str; 9] = [
    "GRIDDEPCONTROL_WAIT",
    "GRIDDEPCONTROL_LAUNCH_DEPENDENTS",
    "CP_ASYNC_WAIT_ALL",
    "CP_ASYNC_WAIT_GROUP 0",
    "CP_ASYNC_COMMIT_GROUP",
    "INT_MEMBAR_CTA",
    "INT_MEMBAR_GL",
    "INT_MEMBAR_SYS",
    "BARRIER_CTA_SYNC_ALIGNED_ALL_i 0",
];

/// An opcode and the constants after its operands.
pub(super) struct Opcode {
    pub(super) name: String,
    pub(super) suffix: &'static str,
}

fn opcode(name: impl Into<String>, suffix: &'static str) -> Opcode {
    Opcode {
        name: name.into(),
        suffix,
    }
}

/// The suffix of a 32-bit float instruction says whether denormals are flushed.
fn flush(ty: Type) -> &'static str {
    if ty == Type::F32 { ", 0" } else { "" }
}

pub(super) fn binary(binary: Binary, ty: Type, constant: bool) -> Opcode {
    let bits = ty.bits();
    let form = if constant { "ri" } else { "rr" };
    let integer = |name: &str| opcode(format!("{name}{bits}{form}"), "");
    let shift = |name: &str| opcode(format!("{name}{bits}_{form}"), "");
    let logic = |name: &str| match ty {
        Type::I1 => opcode(format!("{name}_pred{form}"), ""),
        Type::I16 | Type::I32 | Type::F32 | Type::I64 | Type::F64 | Type::B128 => {
            opcode(format!("{name}_b{bits}{form}"), "")
        }
    };
    let float = |name: &str| opcode(format!("{name}{bits}{form}"), flush(ty));
    match (binary, ty.is_float()) {
        (Binary::Add, true) => float("FADD_rnf"),
        (Binary::Subtract, true) => float("FSUB_rnf"),
        (Binary::Multiply, true) => float("FMUL_rnf"),
        (Binary::Divide, true) if ty == Type::F32 => opcode(format!("FDIV32{form}_prec"), ", 0"),
        (Binary::Divide, true) => float("FDIV"),
        (Binary::Add, false) => integer("ADD"),
        (Binary::Subtract, false) => integer("SUB"),
        (Binary::Multiply, false) => integer("MULT"),
        (Binary::And, _) => logic("AND"),
        (Binary::Or, _) => logic("OR"),
        (Binary::Xor, _) => logic("XOR"),
        (Binary::ShiftLeft, _) => shift("SHL"),
        (Binary::ShiftRight, _) => shift("SRL"),
        (Binary::ShiftRightSigned, _) => shift("SRA"),
        (Binary::Minimum, _) => integer("SMIN"),
        (Binary::Maximum, _) => integer("SMAX"),
        (Binary::MinimumUnsigned, _) => integer("UMIN"),
        (Binary::MaximumUnsigned, _) => integer("UMAX"),
        (Binary::Divide, false) => integer("SDIV"),
        (Binary::DivideUnsigned, _) => integer("UDIV"),
        (Binary::Remainder, _) => integer("SREM"),
        (Binary::RemainderUnsigned, _) => integer("UREM"),
    }
}

pub(super) fn compare(comparison: Comparison, ty: Type, constant: bool) -> Opcode {
    let form = if constant { "ri" } else { "rr" };
    let float = ty == Type::F32;
    let kind = if ty.is_float() { 'f' } else { 'i' };
    let mode = match (comparison, float) {
        (Comparison::Equal, false) => ", 0",
        (Comparison::NotEqual, false) => ", 1",
        (Comparison::Less, false) => ", 2",
        (Comparison::LessOrEqual, false) => ", 3",
        (Comparison::Greater, false) => ", 4",
        (Comparison::GreaterOrEqual, false) => ", 5",
        (Comparison::Equal, true) => ", 0, 0",
        (Comparison::NotEqual, true) => ", 1, 0",
        (Comparison::Less, true) => ", 2, 0",
        (Comparison::LessOrEqual, true) => ", 3, 0",
        (Comparison::Greater, true) => ", 4, 0",
        (Comparison::GreaterOrEqual, true) => ", 5, 0",
    };
    opcode(format!("SETP_{kind}{}{form}", ty.bits()), mode)
}

pub(super) fn convert(from: Type, to: Type, signed: bool) -> Opcode {
    let integer = if signed { 's' } else { 'u' };
    let name = |ty: Type, integer: char| {
        let kind = if ty.is_float() { 'f' } else { integer };
        format!("{kind}{}", ty.bits())
    };
    let opcode_name = format!("CVT_{}_{}", name(to, integer), name(from, integer));
    // Rounding: none, toward zero, or to nearest even.
    let rounding = match (from.is_float(), to.is_float()) {
        (false, false) => ", 0",
        (true, false) => ", 2",
        (false, true) => ", 5",
        (true, true) if from.bits() < to.bits() => ", 0",
        (true, true) => ", 5",
    };
    opcode(opcode_name, rounding)
}

/// Instructions whose operands are all registers or constants of their own.
pub(super) fn plain(operation: Operation, ty: Type) -> Option<Opcode> {
    let bits = ty.bits();
    Some(match operation {
        Operation::Constant(_) => opcode(format!("MOV_B{bits}_i"), ""),
        Operation::Special(Special::ThreadIndex) => opcode("INT_PTX_SREG_TID_x", ""),
        Operation::Special(Special::BlockIndex) => opcode("INT_PTX_SREG_CTAID_x", ""),
        Operation::Special(Special::BlockSize) => opcode("INT_PTX_SREG_NTID_x", ""),
        Operation::MultiplyAdd => opcode(format!("FMA_F{bits}rrr"), flush(ty)),
        Operation::Negate => opcode(format!("FNEGf{bits}"), flush(ty)),
        Operation::Select => opcode(format!("SELP_b{bits}rr"), ""),
        Operation::Undefined => opcode("IMPLICIT_DEF", ""),
        Operation::Copy => opcode("COPY", ""),
        Operation::Effect(effect) => opcode(EFFECTS[effect], ""),
        Operation::Pack => opcode("V2I64toI128", ""),
        Operation::Unpack => opcode("I128toV2I64", ""),
        Operation::Parameter
        | Operation::Binary(_)
        | Operation::Compare(_)
        | Operation::Convert { .. }
        | Operation::Load(_)
        | Operation::Store(_)
        | Operation::Call
        | Operation::Assembly { .. } => return None,
    })
}

pub(super) fn address_space(space: Space) -> u32 {
    match space {
        Space::Global => 1,
        Space::Shared => 3,
    }
}
