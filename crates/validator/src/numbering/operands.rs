//! The values of operands.

use super::{Cell, NumberingPass, named};
use crate::values::{Named, Operator, Value};
use oriel_arithmetic::TypedOperation;
use oriel_engine::entity::EntityRef;
use oriel_ori::{Constant, DataType, Instruction, Modifiers, Operand, OperandKind, Operation, Role, Special};

impl NumberingPass<'_, '_> {
    /// Returns the value of a variable with the facts of an edge.
    pub(super) fn refined(&mut self, cell: Cell) -> Cell {
        let Some(value) = cell.value.expand() else {
            return cell;
        };
        let value = self.path_conditions.refine(self.values, value).into();
        Cell { value, ..cell }
    }

    /// Returns the value of an operand of a PHI, with the join that produced it.
    pub(super) fn cell_of(&mut self, side: usize, operand: Operand, phi: Instruction) -> Cell {
        match operand.as_register() {
            Some(register) if !operand.is_undefined() => {
                self.cells[(self.bases[side] + register.as_u32()) as usize]
            }
            _ => {
                let width = self.sides[side].function.data_type(phi).bits();
                let value = self.operand(side, operand, width, false);
                Cell {
                    value: value.into(),
                    member: None.into(),
                }
            }
        }
    }

    /// Returns the value of a source in the width that the instruction reads.
    pub(super) fn source(&mut self, side: usize, instruction: Instruction, number: usize) -> Value {
        let function = self.sides[side].function;
        let operand = function.source(instruction, number);
        if let (OperandKind::Register(register) | OperandKind::Predicate(register), false) =
            (operand.kind(), operand.is_modified() || operand.is_undefined())
        {
            let value = self.get(self.bases[side] + register.as_u32());
            let value = self.path_conditions.refine(self.values, value);
            let Some(data_type) = function.operand_type(instruction, Role::Source, number) else {
                return value;
            };
            let bits = data_type.bits();
            return match bits < self.values.width(value) {
                true => self.values.extract(value, 0, bits),
                false => value,
            };
        }
        let data_type = function.operand_type(instruction, Role::Source, number);
        let width = data_type.map_or(64, DataType::bits);
        self.operand(side, operand, width, data_type.is_some_and(DataType::is_float))
    }

    /// Returns the value of an operand, of which `width` bits are read.
    pub(super) fn operand(&mut self, side: usize, operand: Operand, width: u32, is_float: bool) -> Value {
        let function = self.sides[side].function;
        let plain = match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                let variable = self.bases[side] + register.as_u32();
                match operand.is_undefined() {
                    true => self.undefined(variable),
                    false => {
                        let value = self.get(variable);
                        self.path_conditions.refine(self.values, value)
                    }
                }
            }
            OperandKind::Immediate(value) => self.integer(width, i64::from(value)),
            OperandKind::Constant(constant) => match function.constant_data(constant) {
                Constant::Integer(value) => self.integer(width, value),
                Constant::Bits { low, high, .. } if width > 64 => self.values.wide_constant(width, low, high),
                Constant::Bits { low, .. } => self.values.constant(width, low),
            },
            OperandKind::Special(special) => self.special(side, function.special_data(special)),
            OperandKind::Target(block) | OperandKind::FallThrough(block) => {
                self.values
                    .intern(named(Named::Block, u64::from(function.label(block))), 0, &[])
            }
            OperandKind::None => self.values.intern(named(Named::NoOperand, 0), 0, &[]),
        };
        let have = self.values.width(plain);
        let mut value = match width < have && have > 0 {
            true => self.values.extract(plain, 0, width),
            false => plain,
        };
        let bits = self.values.width(value);
        if operand.is_absolute() {
            value = self
                .values
                .compute(plain_operation(Operation::Fabs, bits, is_float), &[value], bits);
        }
        if operand.is_negated() {
            value = match is_float {
                true => self
                    .values
                    .compute(plain_operation(Operation::Fneg, bits, true), &[value], bits),
                false => self.values.scale(bits, value, u64::MAX),
            };
        }
        if operand.is_complemented() {
            value = self.values.complement(bits, value);
        }
        value
    }

    fn integer(&mut self, width: u32, value: i64) -> Value {
        match width > 64 {
            true => self
                .values
                .wide_constant(width, value as u64, (value >> 63) as u64),
            false => self.values.constant(width, value as u64),
        }
    }

    /// Returns the number of a name, the same for both functions.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.insert(name.into(), number);
        number
    }

    fn special(&mut self, side: usize, special: Special) -> Value {
        let function = self.sides[side].function;
        match special {
            Special::Symbol { symbol, offset } => {
                let name = self.name(function.symbol_name(symbol));
                let address = self.values.intern(Operator::Symbol { name }, 64, &[]);
                let offset = self.values.constant(64, offset as u64);
                self.values.add(64, address, offset)
            }
            Special::Frame(object) => {
                let object = object.as_u32();
                self.values.intern(Operator::Frame { object }, 64, &[])
            }
            Special::Physical(register) => {
                self.values
                    .intern(named(Named::PhysicalRegister, register.index() as u64), 64, &[])
            }
            Special::SpecialRegister(register) => {
                self.values
                    .intern(named(Named::SpecialRegister, register as u64), 32, &[])
            }
            Special::Machine { .. } => {
                let (kind, number) = self.sides[side].machine_operand(special);
                self.values.intern(named(kind, number), 0, &[])
            }
        }
    }
}

fn plain_operation(operation: Operation, bits: u32, is_float: bool) -> TypedOperation {
    let data_type = match (bits, is_float) {
        (16, true) => DataType::F16,
        (32, true) => DataType::F32,
        (64, true) => DataType::F64,
        _ => DataType::of_bits(bits).unwrap_or_default(),
    };
    TypedOperation {
        operation,
        data_type,
        source_type: DataType::None,
        modifiers: Modifiers::default(),
    }
}
