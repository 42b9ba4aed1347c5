//! The queries of rules.

use oriel_arithmetic::{TypedOperation, low_bits};
use oriel_engine::entity::Register;
use oriel_ori::{DataType, Function, Instruction, InstructionFlags, ModifierFlags, Operand, Operation};

/// Sign-extends a number of this many bits.
pub(super) const fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// The most definitions followed for the known bits of a value.
const KNOWN_BITS_DEPTH: u32 = 4;

/// The first compute capability, times ten, with the instruction `shf`.
const FIRST_WITH_FUNNEL_SHIFTS: u32 = 32;

/// A function in the view of rules.
#[derive(Clone, Copy)]
pub(super) struct Matcher<'a> {
    pub function: &'a Function,
}

impl<'a> Matcher<'a> {
    /// Returns a source.
    pub fn source(&self, instruction: Instruction, number: usize) -> Operand {
        self.function.source(instruction, number)
    }

    /// True if the GPU has funnel shifts.
    pub fn has_funnel_shifts(&self) -> bool {
        self.function.info.sm >= FIRST_WITH_FUNNEL_SHIFTS
    }

    /// Returns the first two sources.
    pub fn two(&self, instruction: Instruction) -> [Operand; 2] {
        [0, 1].map(|number| self.source(instruction, number))
    }

    /// Returns the sources, if there are two.
    pub fn two_if_binary(&self, instruction: Instruction) -> Option<[Operand; 2]> {
        (self.function.sources(instruction).len() == 2).then(|| self.two(instruction))
    }

    /// Returns the first two sources in both orders.
    pub fn either_order(&self, instruction: Instruction) -> [[Operand; 2]; 2] {
        let [a, b] = self.two(instruction);
        [[a, b], [b, a]]
    }

    /// Returns the data type of an instruction.
    pub fn data_type(&self, instruction: Instruction) -> DataType {
        self.function.data_type(instruction)
    }

    /// Returns the width of an instruction's data type.
    pub fn bits(&self, instruction: Instruction) -> u32 {
        self.function.data_type(instruction).bits()
    }

    /// Returns an instruction's operation with its types and modifiers.
    pub fn typed_operation(&self, instruction: Instruction) -> TypedOperation {
        TypedOperation {
            operation: self.function.operation(instruction),
            data_type: self.function.data_type(instruction),
            source_type: self.function.source_type(instruction),
            modifiers: self.function.modifiers(instruction),
        }
    }

    /// Returns the register of an unmodified register operand.
    pub fn register(&self, operand: Operand) -> Option<Register> {
        operand
            .as_register()
            .filter(|_| !operand.is_modified() && !operand.is_undefined())
    }

    /// Returns the width of the register of an operand.
    pub fn register_bits(&self, operand: Operand) -> Option<u32> {
        let register = self.register(operand)?;
        Some(u32::from(self.function.register(register).bits))
    }

    /// True if both are the same register.
    pub fn is_same_register(&self, a: Operand, b: Operand) -> bool {
        a == b && self.register(a).is_some()
    }

    /// Returns the instruction that defines an operand.
    pub fn definition(&self, operand: Operand) -> Option<Instruction> {
        let definition = self.function.unique_definition(self.register(operand)?)?;
        self.is_known(definition).then_some(definition)
    }

    /// True if the instruction has no hidden properties: one result, no attachments, plain sources.
    fn is_known(&self, definition: Instruction) -> bool {
        let function = self.function;
        function.results(definition).len() == 1
            && !function.flags(definition).contains(InstructionFlags::ATTACHMENTS)
            && self.has_plain_sources(definition)
    }

    /// Returns the instruction that defines an operand, if it is this operation on one lane and
    /// without flags.
    pub fn defined_by(&self, operand: Operand, operation: Operation) -> Option<Instruction> {
        let definition = self.function.unique_definition(self.register(operand)?)?;
        // The most selective test comes first.
        let is_it = self.function.operation(definition) == operation
            && self.is_plain(definition)
            && self.is_known(definition);
        is_it.then_some(definition)
    }

    /// True if all sources are defined and unmodified.
    pub fn has_plain_sources(&self, instruction: Instruction) -> bool {
        let mut sources = self.function.sources(instruction).iter();
        !sources.any(|source| source.is_modified() || source.is_undefined())
    }

    /// True if it computes on one lane, without flags that change the result.
    pub fn is_plain(&self, instruction: Instruction) -> bool {
        let flags = self.function.modifiers(instruction).flags;
        ModifierFlags::CONTRACT.contains(flags) && self.function.data_type(instruction).lanes() <= 1
    }

    /// Returns the bits of a constant, or of a register that holds one, truncated to this many
    /// bits.
    pub fn constant(&self, operand: Operand, bits: u32) -> Option<u64> {
        if operand.is_modified() || operand.is_undefined() {
            return None;
        }
        let constant = match operand.as_register() {
            None => operand,
            Some(register) => {
                let definition = self.function.unique_definition(register)?;
                if self.function.operation(definition) != Operation::Mov {
                    return None;
                }
                self.function.source(definition, 0)
            }
        };
        if constant.is_modified() {
            return None;
        }
        Some(self.function.constant_bits(constant)? & low_bits(bits))
    }

    /// True if an operand is this constant.
    pub fn is_constant(&self, operand: Operand, value: u64, bits: u32) -> bool {
        self.constant(operand, bits) == Some(value & low_bits(bits))
    }

    /// True if an operand is the only use of its register.
    pub fn is_only_use(&self, operand: Operand) -> bool {
        let Some(register) = self.register(operand) else {
            return false;
        };
        let mut uses = self.function.uses(register);
        uses.next().is_some() && uses.next().is_none()
    }

    /// Returns the known zeros among the low `bits` bits.
    pub fn known_zeros(&self, operand: Operand, bits: u32) -> u64 {
        self.known_zeros_to(operand, bits, KNOWN_BITS_DEPTH)
    }

    fn known_zeros_to(&self, operand: Operand, bits: u32, depth: u32) -> u64 {
        if let Some(value) = self.constant(operand, bits) {
            return !value & low_bits(bits);
        }
        let Some(definition) = self.definition(operand).filter(|_| depth > 0) else {
            return 0;
        };
        let function = self.function;
        let source = |number| function.source(definition, number);
        let zeros_of = |number| self.known_zeros_to(source(number), bits, depth - 1);
        let from = function.source_type(definition);
        if function.operation(definition) == Operation::Ld {
            let is_extended = from != DataType::None && !from.is_signed() && !from.is_float();
            return if is_extended {
                low_bits(bits) & !low_bits(from.bits())
            } else {
                0
            };
        }
        if !self.is_plain(definition) || self.bits(definition) != bits {
            return 0;
        }
        let amount = |number| {
            self.constant(source(number), 32)
                .filter(|&amount| amount < u64::from(bits))
        };
        match function.operation(definition) {
            Operation::And => zeros_of(0) | zeros_of(1),
            Operation::Or | Operation::Xor => zeros_of(0) & zeros_of(1),
            Operation::Sel => zeros_of(0) & zeros_of(1),
            Operation::Shl => match amount(1) {
                Some(amount) => (zeros_of(0) << amount | low_bits(amount as u32)) & low_bits(bits),
                None => 0,
            },
            Operation::Shr if !function.data_type(definition).is_signed() => match amount(1) {
                Some(amount) => zeros_of(0) >> amount | low_bits(bits) & !(low_bits(bits) >> amount),
                None => 0,
            },
            Operation::Bfe if !function.data_type(definition).is_signed() => match amount(2) {
                Some(length) => low_bits(bits) & !low_bits(length as u32),
                None => 0,
            },
            Operation::Cvt
                if is_integer(function.data_type(definition))
                    && is_integer(from)
                    && !from.is_signed()
                    && from.bits() < bits =>
            {
                low_bits(bits) & !low_bits(from.bits())
            }
            _ => 0,
        }
    }
}

/// True for a type of integers or bits with one lane.
pub(super) fn is_integer(data_type: DataType) -> bool {
    data_type != DataType::None && !data_type.is_float() && data_type.lanes() == 1
}
