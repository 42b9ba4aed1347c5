//! Operands and the registers that they name.

use super::data::SlotData;
use super::{Constant, Function, Instruction, OperandSlot, RegisterData, Special, StackObject};
use crate::Operation;
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

    /// Returns the results of an instruction.
    pub fn results(&self, instruction: Instruction) -> Operands<'_> {
        let (first, middle, _) = self.operand_slots(instruction);
        Operands(&self.slots.as_values_slice()[first..middle])
    }

    /// Returns the registers that an instruction defines.
    #[inline]
    pub fn result_registers(&self, instruction: Instruction) -> impl Iterator<Item = Register> + '_ {
        self.results(instruction).iter().filter_map(Operand::as_register)
    }

    /// Returns the sources of an instruction.
    pub fn sources(&self, instruction: Instruction) -> Operands<'_> {
        let (_, middle, end) = self.operand_slots(instruction);
        Operands(&self.slots.as_values_slice()[middle..end])
    }

    /// Returns a result.
    ///
    /// # Panics
    /// The instruction has fewer results.
    #[inline]
    pub fn result(&self, instruction: Instruction, number: usize) -> Operand {
        self.results(instruction).get(number)
    }

    /// Returns a source.
    ///
    /// # Panics
    /// The instruction has fewer sources.
    #[inline]
    pub fn source(&self, instruction: Instruction, number: usize) -> Operand {
        self.sources(instruction).get(number)
    }

    /// Returns the integer of an operand: an immediate, or an integer of the constant table.
    #[inline]
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

    /// Returns the low 64 bits of a constant operand.
    #[inline]
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
    #[inline]
    pub fn constant_data(&self, constant: ConstantId) -> Constant {
        self.constants[constant]
    }

    /// Returns the data of an operand that the machine function describes.
    #[inline]
    pub fn special_data(&self, special: SpecialId) -> Special {
        self.specials[special]
    }

    /// Returns the objects on the thread's stack.
    #[inline]
    pub fn stack_objects(&self) -> impl Iterator<Item = (FrameObject, &StackObject)> {
        self.stack_objects.iter()
    }

    /// Returns an object on the thread's stack.
    ///
    /// # Panics
    /// There is no object with this number.
    #[inline]
    pub fn stack_object(&self, object: FrameObject) -> &StackObject {
        &self.stack_objects[object]
    }

    /// Returns the name of a symbol.
    #[inline]
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        &self.symbols[symbol]
    }

    /// Returns the names of the function's symbols, the text of inline assembly among them.
    pub(crate) fn symbol_names(&self) -> impl Iterator<Item = &str> {
        self.symbols.values().map(String::as_str)
    }
}

/// Registers.
impl Function {
    /// Returns all registers.
    #[inline]
    pub fn registers(&self) -> impl DoubleEndedIterator<Item = Register> + ExactSizeIterator + use<> {
        (0..self.registers.len()).map(Register::new)
    }

    /// Returns the data of a register.
    #[inline]
    pub fn register(&self, register: Register) -> &RegisterData {
        &self.registers[register]
    }

    /// Returns the operand for a register of any file.
    #[inline]
    pub fn register_operand(&self, register: Register) -> Operand {
        if self.registers[register].file.is_predicate() {
            Operand::predicate(register)
        } else {
            Operand::register(register)
        }
    }

    /// Returns the instructions that define a register, each with the number of the result, the
    /// latest first.
    #[inline]
    pub fn definitions(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].definitions,
        }
    }

    /// Returns the instructions that use a register, each with the number of the source, the latest
    /// first.
    #[inline]
    pub fn uses(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].uses,
        }
    }

    /// True if an instruction reads a value that is another at each read: an operand marked as
    /// undefined, or a register that nothing but an `IMPLICIT_DEF` defines. Executing such an
    /// instruction twice may give two results.
    pub fn reads_undefined(&self, instruction: Instruction) -> bool {
        let mut sources = self.sources(instruction).iter();
        sources.any(|source| {
            let definition = source
                .as_register()
                .and_then(|register| self.unique_definition(register));
            source.is_undefined() || definition.is_some_and(|it| self.operation(it) == Operation::ImplicitDef)
        })
    }

    /// Returns the only instruction that defines a register.
    #[inline]
    pub fn unique_definition(&self, register: Register) -> Option<Instruction> {
        let slot = &self.slots[self.registers[register].definitions.expand()?];
        slot.next.is_none().then_some(slot.instruction)
    }

    /// True if nothing uses the register.
    #[inline]
    pub fn is_unused(&self, register: Register) -> bool {
        self.registers[register].uses.is_none()
    }
}

/// Operands of an instruction: results or sources.
#[derive(Clone, Copy)]
pub struct Operands<'a>(&'a [SlotData]);

impl<'a> Operands<'a> {
    /// Returns the number of operands.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no operands.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an operand.
    ///
    /// # Panics
    /// There are fewer operands.
    #[inline]
    pub fn get(&self, number: usize) -> Operand {
        self.0[number].operand
    }

    /// Iterates over the operands.
    #[inline]
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

/// Iterates over the operands of an instruction.
#[derive(Clone)]
pub struct OperandIter<'a>(std::slice::Iter<'a, SlotData>);

impl Iterator for OperandIter<'_> {
    type Item = Operand;

    #[inline]
    fn next(&mut self) -> Option<Operand> {
        self.0.next().map(|slot| slot.operand)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for OperandIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Operand> {
        self.0.next_back().map(|slot| slot.operand)
    }
}

impl ExactSizeIterator for OperandIter<'_> {}

/// Iterates over the definitions or uses of a register.
#[derive(Clone)]
pub struct References<'a> {
    function: &'a Function,
    next: PackedOption<OperandSlot>,
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
