//! Operands, and the registers that they name.

use super::data::SlotData;
use super::{Constant, Function, Instruction, RegisterData, Slot, Special, StackObject};
use crate::operand::{ConstantId, Operand, OperandKind, SpecialId};
use oriel_engine::entity::{EntityRef, FrameObject, PackedOption, Register, Symbol};

/// Operands.
impl Function {
    fn operand_slots(&self, instruction: Instruction) -> (usize, usize, usize) {
        let data = &self.instructions[instruction];
        let first = data.first_operand as usize;
        (
            first,
            first + usize::from(data.result_count),
            first + data.operand_count as usize,
        )
    }

    /// Its results.
    pub fn results(&self, instruction: Instruction) -> Operands<'_> {
        let (first, middle, _) = self.operand_slots(instruction);
        Operands(&self.slots.as_values_slice()[first..middle])
    }

    /// Its sources.
    pub fn sources(&self, instruction: Instruction) -> Operands<'_> {
        let (_, middle, end) = self.operand_slots(instruction);
        Operands(&self.slots.as_values_slice()[middle..end])
    }

    /// Returns the place of one of its sources in the pool.
    ///
    /// # Panics
    /// It has fewer.
    pub(crate) fn source_slot(&self, instruction: Instruction, number: usize) -> Slot {
        let (_, middle, end) = self.operand_slots(instruction);
        assert!(number < end - middle, "{instruction} has no source {number}");
        Slot::new(middle + number)
    }

    /// Returns one of its results.
    ///
    /// # Panics
    /// It has fewer.
    pub fn result(&self, instruction: Instruction, number: usize) -> Operand {
        self.results(instruction).get(number)
    }

    /// Returns one of its sources.
    ///
    /// # Panics
    /// It has fewer.
    pub fn source(&self, instruction: Instruction, number: usize) -> Operand {
        self.sources(instruction).get(number)
    }

    /// Returns an integer that an operand stands for: an immediate, or an integer of the constant
    /// table.
    pub fn integer(&self, operand: Operand) -> Option<i64> {
        match operand.kind() {
            OperandKind::Immediate(value) => Some(i64::from(value)),
            OperandKind::Constant(constant) => match self.constants[constant] {
                Constant::Integer(value) => Some(value),
                Constant::Bits { .. } => None,
            },
            _ => None,
        }
    }

    /// Returns the bits of a constant operand, the low 64 of them.
    pub fn constant_bits(&self, operand: Operand) -> Option<u64> {
        match operand.kind() {
            OperandKind::Constant(constant) => match self.constants[constant] {
                Constant::Integer(value) => Some(value as u64),
                Constant::Bits { low, .. } => Some(low),
            },
            _ => self.integer(operand).map(|value| value as u64),
        }
    }

    /// Returns a constant of the table.
    pub fn constant_data(&self, constant: ConstantId) -> Constant {
        self.constants[constant]
    }

    /// Returns an operand that the machine function describes.
    pub fn special_data(&self, special: SpecialId) -> Special {
        self.specials[special]
    }

    /// What lies on the thread's stack.
    pub fn stack_objects(&self) -> impl Iterator<Item = (FrameObject, &StackObject)> {
        self.stack_objects.iter()
    }

    /// Returns one of the objects on the thread's stack.
    ///
    /// # Panics
    /// There is none of this number.
    pub fn stack_object(&self, object: FrameObject) -> &StackObject {
        &self.stack_objects[object]
    }

    /// Returns the name of a symbol.
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        &self.symbols[symbol]
    }
}

/// Registers.
impl Function {
    /// Returns all registers.
    pub fn registers(&self) -> impl DoubleEndedIterator<Item = Register> + ExactSizeIterator + use<> {
        (0..self.registers.len()).map(Register::new)
    }

    /// Returns a register.
    pub fn register(&self, register: Register) -> &RegisterData {
        &self.registers[register]
    }

    /// Returns the operand for a register, of whichever file it is.
    pub fn register_operand(&self, register: Register) -> Operand {
        if self.registers[register].file.is_predicate() {
            Operand::predicate(register)
        } else {
            Operand::register(register)
        }
    }

    /// Returns the instructions that define a register, and the number of the result, latest added
    /// first.
    pub fn definitions(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].definitions,
        }
    }

    /// Returns the instructions that use a register, and the number of the source, latest added
    /// first.
    pub fn uses(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].uses,
        }
    }

    /// Returns the only instruction that defines a register.
    pub fn unique_definition(&self, register: Register) -> Option<Instruction> {
        let mut definitions = self.definitions(register);
        match (definitions.next(), definitions.next()) {
            (Some((instruction, _)), None) => Some(instruction),
            _ => None,
        }
    }

    /// True if nothing uses it.
    pub fn is_unused(&self, register: Register) -> bool {
        self.registers[register].uses.is_none()
    }
}

/// Operands of an instruction: results or sources.
#[derive(Clone, Copy)]
pub struct Operands<'a>(&'a [SlotData]);

impl<'a> Operands<'a> {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns one of them.
    ///
    /// # Panics
    /// There are fewer.
    pub fn get(&self, number: usize) -> Operand {
        self.0[number].operand
    }

    /// Goes through them.
    pub fn iter(&self) -> OperandIter<'a> {
        OperandIter(self.0.iter())
    }
}

impl<'a> IntoIterator for Operands<'a> {
    type Item = Operand;
    type IntoIter = OperandIter<'a>;

    fn into_iter(self) -> OperandIter<'a> {
        OperandIter(self.0.iter())
    }
}

/// Goes through the operands of an instruction.
#[derive(Clone)]
pub struct OperandIter<'a>(std::slice::Iter<'a, SlotData>);

impl Iterator for OperandIter<'_> {
    type Item = Operand;

    fn next(&mut self) -> Option<Operand> {
        self.0.next().map(|slot| slot.operand)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for OperandIter<'_> {
    fn next_back(&mut self) -> Option<Operand> {
        self.0.next_back().map(|slot| slot.operand)
    }
}

impl ExactSizeIterator for OperandIter<'_> {}

/// Where a register is defined or used.
#[derive(Clone)]
pub struct References<'a> {
    function: &'a Function,
    next: PackedOption<Slot>,
}

impl Iterator for References<'_> {
    type Item = (Instruction, usize);

    fn next(&mut self) -> Option<(Instruction, usize)> {
        let slot = self.next.expand()?;
        let data = &self.function.slots[slot];
        self.next = data.next;
        let instruction = &self.function.instructions[data.instruction];
        let number = slot.index() - instruction.first_operand as usize;
        let results = usize::from(instruction.result_count);
        Some((data.instruction, number.checked_sub(results).unwrap_or(number)))
    }
}
