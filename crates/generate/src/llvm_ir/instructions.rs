//! Instructions that compute, load and store.

use std::io::{self, Write};

use super::operands::{name, text};
use super::{IN_BYTES, OUT_BYTES, SHARED_BYTES, SPECIALS, Writer};
use crate::index::Value;
use crate::model::{Binary, Comparison, Instruction, Operation, Space, Type, Use};
use crate::opcodes::address_space;

impl<W: Write> Writer<'_, W> {
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> io::Result<()> {
        let function = self.function;
        let Instruction { operation, ty, .. } = *instruction;
        let operands = function.operands_of(instruction);
        let operand = |position: usize| text(operands[position], ty);
        let result = function.results_of(instruction).first().copied();
        let result = || result.expect("only a store has no result");
        let type_name = || name(ty);
        match operation {
            Operation::Parameter => {
                let zero = if ty.is_float() { "-0.0" } else { "0" };
                let add = if ty.is_float() { "fadd" } else { "add" };
                let ty = type_name();
                self.line(format_args!("%v{} = {add} {ty} %p_{ty}, {zero}", result()))
            }
            Operation::Special(special) => {
                let known = SPECIALS.iter().find(|(_, known)| *known == special);
                let (name, _) = known.expect("the table has every special register");
                self.line(format_args!(
                    "%v{} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()",
                    result()
                ))
            }
            Operation::Binary(binary) => self.binary(binary, ty, result(), operands),
            Operation::MultiplyAdd => {
                let bits = ty.bits();
                let ty = type_name();
                self.line(format_args!(
                    "%v{} = call {ty} @llvm.fma.f{bits}({ty} {}, {ty} {}, {ty} {})",
                    result(),
                    operand(0),
                    operand(1),
                    operand(2)
                ))
            }
            Operation::Negate => self.line(format_args!(
                "%v{} = fneg {} {}",
                result(),
                type_name(),
                operand(0)
            )),
            Operation::Compare(comparison) => {
                let condition = condition(comparison, ty);
                self.line(format_args!(
                    "%v{} = {condition} {} {}, {}",
                    result(),
                    type_name(),
                    operand(0),
                    operand(1)
                ))
            }
            Operation::Select => {
                let predicate = text(operands[2], Type::I1);
                let ty = type_name();
                self.line(format_args!(
                    "%v{} = select i1 {predicate}, {ty} {}, {ty} {}",
                    result(),
                    operand(0),
                    operand(1)
                ))
            }
            Operation::Convert { signed } => self.convert(signed, ty, result(), operands[0]),
            Operation::Load(space) => {
                let address = self.address(space, operands[0], ty, false)?;
                let (ty, bytes) = (type_name(), ty.bits() / 8);
                let space = address_space(space);
                self.line(format_args!(
                    "%v{} = load {ty}, ptr addrspace({space}) %t{address}, align {bytes}",
                    result()
                ))
            }
            Operation::Store(space) => {
                let address = self.address(space, operands[1], ty, true)?;
                let value = self.without_nan(operands[0], ty)?;
                let (ty, bytes) = (type_name(), ty.bits() / 8);
                let space = address_space(space);
                self.line(format_args!(
                    "store {ty} {value}, ptr addrspace({space}) %t{address}, align {bytes}"
                ))
            }
            Operation::Call => {
                let scale = text(operands[1], Type::F32);
                self.line(format_args!(
                    "%v{} = call i32 @device(i32 {}, float {scale})",
                    result(),
                    operand(0)
                ))
            }
            Operation::Constant(_)
            | Operation::Undefined
            | Operation::Copy
            | Operation::Pack
            | Operation::Unpack
            | Operation::Effect(_)
            | Operation::Assembly { .. } => unreachable!("{operation:?} is for machine code only"),
        }
    }

    fn binary(&mut self, binary: Binary, ty: Type, result: Value, operands: &[Use]) -> io::Result<()> {
        let left = text(operands[0], ty);
        let type_name = name(ty);
        if ty.is_float() {
            let name = float_name(binary);
            let right = text(operands[1], ty);
            return self.line(format_args!("%v{result} = {name} {type_name} {left}, {right}"));
        }
        let right = if binary.is_shift() {
            match operands[1] {
                Use::Integer(amount) => amount.to_string(),
                amount @ (Use::Value(_) | Use::Undefined(_)) => self.shift_amount(ty, amount)?,
            }
        } else if binary.is_division() {
            // Odd and below 2^14: never zero, and never -1, which overflows with the smallest
            // number.
            let (masked, odd) = (self.temporary(), self.temporary());
            let right = text(operands[1], ty);
            self.line(format_args!("%t{masked} = and {type_name} {right}, 16383"))?;
            self.line(format_args!("%t{odd} = or {type_name} %t{masked}, 1"))?;
            format!("%t{odd}")
        } else {
            text(operands[1], ty).to_string()
        };
        let name = match binary {
            Binary::Add => "add",
            Binary::Subtract => "sub",
            Binary::Multiply => "mul",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::ShiftLeft => "shl",
            Binary::ShiftRight => "lshr",
            Binary::ShiftRightSigned => "ashr",
            Binary::Divide => "sdiv",
            Binary::DivideUnsigned => "udiv",
            Binary::Remainder => "srem",
            Binary::RemainderUnsigned => "urem",
            Binary::Minimum => "smin",
            Binary::Maximum => "smax",
            Binary::MinimumUnsigned => "umin",
            Binary::MaximumUnsigned => "umax",
        };
        let is_call = matches!(
            binary,
            Binary::Minimum | Binary::Maximum | Binary::MinimumUnsigned | Binary::MaximumUnsigned
        );
        if is_call {
            self.line(format_args!(
                "%v{result} = call {type_name} @llvm.{name}.{type_name}({type_name} {left}, {type_name} {right})"
            ))
        } else {
            self.line(format_args!("%v{result} = {name} {type_name} {left}, {right}"))
        }
    }

    /// Returns a 32-bit amount, masked to the range of the type and converted to it.
    fn shift_amount(&mut self, ty: Type, amount: Use) -> io::Result<String> {
        let masked = self.temporary();
        self.line(format_args!(
            "%t{masked} = and i32 {}, {}",
            text(amount, Type::I32),
            ty.bits() - 1
        ))?;
        let conversion = match ty {
            Type::I16 => "trunc",
            Type::I64 => "zext",
            Type::I1 | Type::I32 | Type::F32 | Type::F64 | Type::B128 => return Ok(format!("%t{masked}")),
        };
        let converted = self.temporary();
        self.line(format_args!(
            "%t{converted} = {conversion} i32 %t{masked} to {}",
            name(ty)
        ))?;
        Ok(format!("%t{converted}"))
    }

    fn convert(&mut self, signed: bool, ty: Type, result: Value, operand: Use) -> io::Result<()> {
        let from = match operand {
            Use::Value(value) | Use::Undefined(value) => self.function.types[value],
            Use::Integer(_) => unreachable!("a constant is not converted"),
        };
        let (from_name, to_name) = (name(from), name(ty));
        let mut value = text(operand, from).to_string();
        let conversion = match (from.is_float(), ty.is_float()) {
            (true, true) if from.bits() < ty.bits() => "fpext",
            (true, true) => "fptrunc",
            (false, true) if signed => "sitofp",
            (false, true) => "uitofp",
            (true, false) => {
                // Outside the integer's range the result would be poison.
                let (low, high, inside, kept) = (
                    self.temporary(),
                    self.temporary(),
                    self.temporary(),
                    self.temporary(),
                );
                self.line(format_args!("%t{low} = fcmp ogt {from_name} {value}, 0.0"))?;
                self.line(format_args!("%t{high} = fcmp olt {from_name} {value}, 30000.0"))?;
                self.line(format_args!("%t{inside} = and i1 %t{low}, %t{high}"))?;
                self.line(format_args!(
                    "%t{kept} = select i1 %t{inside}, {from_name} {value}, {from_name} 7.0"
                ))?;
                value = format!("%t{kept}");
                if signed { "fptosi" } else { "fptoui" }
            }
            (false, false) if from.bits() > ty.bits() => "trunc",
            (false, false) if signed => "sext",
            (false, false) => "zext",
        };
        self.line(format_args!(
            "%v{result} = {conversion} {from_name} {value} to {to_name}"
        ))
    }

    /// Replaces a NaN by zero.
    fn without_nan(&mut self, operand: Use, ty: Type) -> io::Result<String> {
        let value = text(operand, ty).to_string();
        if !ty.is_float() {
            return Ok(value);
        }
        let (ordered, kept) = (self.temporary(), self.temporary());
        let ty = name(ty);
        self.line(format_args!("%t{ordered} = fcmp ord {ty} {value}, 0.0"))?;
        self.line(format_args!(
            "%t{kept} = select i1 %t{ordered}, {ty} {value}, {ty} 0.0"
        ))?;
        Ok(format!("%t{kept}"))
    }

    /// Returns a temporary with the address of an element, always inside its buffer.
    fn address(&mut self, space: Space, index: Use, ty: Type, written: bool) -> io::Result<usize> {
        // Elements that are only read come from either buffer.
        let (base, bytes) = match space {
            Space::Shared => ("%own.shared", SHARED_BYTES),
            Space::Global if written || self.random.percent(30) => ("%own.out", OUT_BYTES),
            Space::Global => ("%in", IN_BYTES),
        };
        let count = (bytes * 8 / ty.bits() as usize) as i64;
        let space = address_space(space);
        let element = name(ty);
        let address = match index {
            Use::Integer(constant) => {
                let address = self.temporary();
                let index = constant % count;
                self.line(format_args!(
                    "%t{address} = getelementptr {element}, ptr addrspace({space}) {base}, i64 {index}"
                ))?;
                address
            }
            Use::Value(_) | Use::Undefined(_) => {
                let (masked, wide, address) = (self.temporary(), self.temporary(), self.temporary());
                self.line(format_args!(
                    "%t{masked} = and i32 {}, {}",
                    text(index, Type::I32),
                    count - 1
                ))?;
                self.line(format_args!("%t{wide} = zext i32 %t{masked} to i64"))?;
                self.line(format_args!(
                    "%t{address} = getelementptr {element}, ptr addrspace({space}) {base}, i64 %t{wide}"
                ))?;
                address
            }
        };
        Ok(address)
    }
}

fn float_name(binary: Binary) -> &'static str {
    match binary {
        Binary::Add => "fadd",
        Binary::Subtract => "fsub",
        Binary::Multiply => "fmul",
        Binary::Divide => "fdiv",
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::ShiftRightSigned
        | Binary::Minimum
        | Binary::Maximum
        | Binary::MinimumUnsigned
        | Binary::MaximumUnsigned
        | Binary::DivideUnsigned
        | Binary::Remainder
        | Binary::RemainderUnsigned => unreachable!("{binary:?} is for integers only"),
    }
}

fn condition(comparison: Comparison, ty: Type) -> &'static str {
    match (comparison, ty.is_float()) {
        (Comparison::Equal, false) => "icmp eq",
        (Comparison::NotEqual, false) => "icmp ne",
        (Comparison::Less, false) => "icmp slt",
        (Comparison::LessOrEqual, false) => "icmp ule",
        (Comparison::Greater, false) => "icmp ugt",
        (Comparison::GreaterOrEqual, false) => "icmp sge",
        (Comparison::Equal, true) => "fcmp oeq",
        (Comparison::NotEqual, true) => "fcmp une",
        (Comparison::Less, true) => "fcmp olt",
        (Comparison::LessOrEqual, true) => "fcmp ole",
        (Comparison::Greater, true) => "fcmp ugt",
        (Comparison::GreaterOrEqual, true) => "fcmp oge",
    }
}
