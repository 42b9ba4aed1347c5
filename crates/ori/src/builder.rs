//! A builder for sequences of instructions, for phases and tests.

use super::edit::{InstructionBuilder, Position};
use super::function::{Function, Instruction, RegisterFile};
use super::modifiers::{Comparison, Modifiers};
use super::operand::Operand;
use super::operation::Operation;
use super::types::DataType;
use oriel_engine::entity::{Block, Instruction as MachineInstruction, Register};

/// A type that can be used as a source.
pub trait ToOperand {
    /// Returns the operand.
    fn to_operand(self, function: &mut Function) -> Operand;
}

impl ToOperand for Operand {
    fn to_operand(self, _: &mut Function) -> Operand {
        self
    }
}

impl ToOperand for Register {
    fn to_operand(self, function: &mut Function) -> Operand {
        function.register_operand(self)
    }
}

impl ToOperand for i64 {
    fn to_operand(self, function: &mut Function) -> Operand {
        function.integer_operand(self)
    }
}

impl Function {
    /// Creates a register for values of a type, without an LLVM register class.
    ///
    /// # Panics
    /// There are no registers of this width: the type is empty or has eight bits.
    pub fn create_register_of(&mut self, data_type: DataType) -> Register {
        let bits = data_type.bits();
        assert!(
            matches!(bits, 1 | 16 | 32 | 64 | 128),
            "no register holds {data_type:?}"
        );
        let file = if bits == 1 {
            RegisterFile::P
        } else {
            RegisterFile::R
        };
        self.create_register(file, bits as u16, None)
    }
}

/// Inserts instructions at a position, each behind the previous one.
pub struct Builder<'f> {
    function: &'f mut Function,
    position: Position,
    origin: Option<MachineInstruction>,
}

impl<'f> Builder<'f> {
    /// Creates a builder that inserts at a position.
    pub fn new(function: &'f mut Function, position: Position) -> Self {
        Self {
            function,
            position,
            origin: None,
        }
    }

    /// Creates a builder in front of an instruction that the new ones replace: they get its
    /// location.
    pub fn before(function: &'f mut Function, instruction: Instruction) -> Self {
        let origin = function.origin(instruction);
        Self {
            function,
            position: Position::Before(instruction),
            origin,
        }
    }

    /// Returns the function.
    pub fn function(&mut self) -> &mut Function {
        self.function
    }

    /// Continues at another position.
    pub fn move_to(&mut self, position: Position) {
        self.position = position;
    }

    /// Inserts an instruction.
    pub fn insert(&mut self, new: InstructionBuilder) -> Instruction {
        let instruction = self.function.insert(self.position, new.in_place_of(self.origin));
        if matches!(self.position, Position::After(_) | Position::Start(_)) {
            self.position = Position::After(instruction);
        }
        instruction
    }

    /// Inserts an instruction with one result, a new register of the data type.
    pub fn value(&mut self, new: InstructionBuilder) -> Register {
        let register = self.function.create_register_of(new.data_type);
        let result = self.function.register_operand(register);
        self.insert(new.result(result));
        register
    }

    /// `operation` of two sources.
    pub fn binary(
        &mut self,
        operation: Operation,
        data_type: DataType,
        a: impl ToOperand,
        b: impl ToOperand,
    ) -> Register {
        let (a, b) = (a.to_operand(self.function), b.to_operand(self.function));
        self.value(InstructionBuilder::new(operation, data_type).source(a).source(b))
    }

    /// `a + b`.
    pub fn iadd(&mut self, data_type: DataType, a: impl ToOperand, b: impl ToOperand) -> Register {
        self.binary(Operation::Iadd, data_type, a, b)
    }

    /// `a * b`, the low half.
    pub fn imul(&mut self, data_type: DataType, a: impl ToOperand, b: impl ToOperand) -> Register {
        self.binary(Operation::Imul, data_type, a, b)
    }

    /// `a << b`.
    pub fn shl(&mut self, data_type: DataType, a: impl ToOperand, b: impl ToOperand) -> Register {
        self.binary(Operation::Shl, data_type, a, b)
    }

    /// `a & b`.
    pub fn and(&mut self, data_type: DataType, a: impl ToOperand, b: impl ToOperand) -> Register {
        self.binary(Operation::And, data_type, a, b)
    }

    /// Copies a constant or the value of another register.
    pub fn mov(&mut self, data_type: DataType, source: impl ToOperand) -> Register {
        let source = source.to_operand(self.function);
        self.value(InstructionBuilder::new(Operation::Mov, data_type).source(source))
    }

    /// `a` if `predicate` holds, else `b`.
    pub fn sel(
        &mut self,
        data_type: DataType,
        predicate: Register,
        a: impl ToOperand,
        b: impl ToOperand,
    ) -> Register {
        let (a, b) = (a.to_operand(self.function), b.to_operand(self.function));
        let predicate = predicate.to_operand(self.function);
        let new = InstructionBuilder::new(Operation::Sel, data_type);
        self.value(new.source(a).source(b).source(predicate))
    }

    /// Compares integers of a type.
    pub fn isetp(
        &mut self,
        comparison: Comparison,
        source_type: DataType,
        a: impl ToOperand,
        b: impl ToOperand,
    ) -> Register {
        let (a, b) = (a.to_operand(self.function), b.to_operand(self.function));
        let new = InstructionBuilder::new(Operation::Isetp, DataType::B1)
            .source_type(source_type)
            .modifiers(Modifiers {
                comparison,
                ..Modifiers::default()
            });
        self.value(new.source(a).source(b))
    }

    /// Branches to a block.
    pub fn bra(&mut self, target: Block) -> Instruction {
        self.insert(InstructionBuilder::new(Operation::Bra, DataType::None).source(Operand::target(target)))
    }

    /// Branches to `target` if the predicate holds, otherwise to `other`.
    pub fn bra_if(&mut self, predicate: Register, target: Block, other: Block) -> Instruction {
        let new = InstructionBuilder::new(Operation::Bra, DataType::None)
            .source(predicate.to_operand(self.function))
            .source(Operand::target(target))
            .source(Operand::target(other));
        self.insert(new)
    }

    /// Returns from the function.
    pub fn ret(&mut self) -> Instruction {
        self.insert(InstructionBuilder::new(Operation::Ret, DataType::None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    const EMPTY: &str = "kernel \"k\" sm_80 ssa {\nbix0:\n    NOP  @7\nbix1:\n    RET\n}\n";

    #[test]
    fn instructions_follow_one_another_from_any_place() {
        let mut function = parse_function(EMPTY).expect("it parses");
        let entry = function.entry();
        let nop = function.first(entry).expect("the entry has an instruction");
        let mut builder = Builder::before(&mut function, nop);
        let a = builder.mov(DataType::B32, 6);
        let sum = builder.iadd(DataType::B32, a, 1);
        builder.move_to(Position::After(nop));
        let product = builder.imul(DataType::B32, sum, a);
        let is_less = builder.isetp(Comparison::Lt, DataType::S32, product, a);
        let chosen = builder.sel(DataType::B32, is_less, a, 1 << 40);
        let shifted = builder.shl(DataType::B32, chosen, 3);
        builder.and(DataType::B32, shifted, -1);
        builder.move_to(Position::End(entry));
        builder.bra_if(is_less, Block::from_u32(1), Block::from_u32(1));
        let expected = "\
bix0:
    %0:R32 = MOV.b32 6  @7 new
    %1:R32 = IADD.b32 %0, 1  @7 new
    NOP  @7
    %2:R32 = IMUL.b32 %1, %0  @7 new
    %3:P = ISETP.lt.s32 %2, %0  @7 new
    %4:R32 = SEL.b32 %0, 1099511627776, %3  @7 new
    %5:R32 = SHL.b32 %4, 3  @7 new
    %6:R32 = AND.b32 %5, -1  @7 new
    BRA %3, bix1, bix1  @7 new
bix1:
";
        let text = function.to_string();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_built_verifies() {
        let mut function = parse_function(EMPTY).expect("it parses");
        let entry = function.entry();
        let mut builder = Builder::new(&mut function, Position::Start(entry));
        let a = builder.mov(DataType::B16, 6);
        builder.iadd(DataType::B16, a, a);
        builder.move_to(Position::End(entry));
        builder.bra(Block::from_u32(1));
        assert_eq!(function.verify(), []);
    }
}
