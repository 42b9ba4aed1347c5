//! Typed access to a snapshot's arrays.

use super::abi::{
    Behavior, BlockFlags, BlockRecord, ChainedOperandRecord, ConstantRecord, EdgeRecord, FrameObjectRecord,
    FunctionFlags, FunctionRecord, InstructionRecord, LocationRecord, MemoryOperandRecord, OpcodeFlags,
    OpcodeRecord, OperandFlags, OperandKind, OperandRecord, PhysicalRegisterRecord, RegisterClassRecord,
    RegisterFile, RegisterOperandRecord, RegisterRecord, Stage, StringRecord, SymbolRecord, VariableRecord,
};
use crate::entity::{
    Block, Constant, EntityRef, Instruction, Location, Opcode, PhysicalRegister, Register, RegisterClass,
    Symbol, Variable, from_one_based,
};
use std::borrow::Cow;
use std::ops::Range;

/// The arrays of one machine function.
///
/// `blocks` and `instructions` have a sentinel record after their last element, so that the range
/// of an element always ends where that of the next record begins.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotArrays<'a> {
    /// The function as a whole.
    pub function: &'a FunctionRecord,
    /// Blocks in layout order, and a sentinel.
    pub blocks: &'a [BlockRecord],
    /// CFG edges, grouped by source block.
    pub edges: &'a [EdgeRecord],
    /// The source block of every edge, grouped by target block, each group in the order of LLVM's
    /// list of predecessors.
    pub predecessors: &'a [u32],
    /// Instructions in layout order, and a sentinel.
    pub instructions: &'a [InstructionRecord],
    /// Operands, grouped by instruction.
    pub operands: &'a [OperandRecord],
    /// Memory operands, grouped by instruction.
    pub memory_operands: &'a [MemoryOperandRecord],
    /// Virtual registers by LLVM's number.
    pub registers: &'a [RegisterRecord],
    /// The accesses of instructions to virtual registers, in order; none if they are not listed.
    /// The shim lists them; otherwise they are derived from the operands.
    pub register_operands: Option<&'a [RegisterOperandRecord]>,
    /// Register operands of registers with several definitions, in ascending order of register and
    /// then in the order of LLVM's use lists.
    pub chained_operands: &'a [ChainedOperandRecord],
    /// Register classes of the target.
    pub register_classes: &'a [RegisterClassRecord],
    /// Opcodes that the function uses.
    pub opcodes: &'a [OpcodeRecord],
    /// Constants that operands refer to.
    pub constants: &'a [ConstantRecord],
    /// Symbols that operands refer to.
    pub symbols: &'a [SymbolRecord],
    /// Stack objects.
    pub frame_objects: &'a [FrameObjectRecord],
    /// Physical registers that operands refer to.
    pub physical_registers: &'a [PhysicalRegisterRecord],
    /// Source positions.
    pub locations: &'a [LocationRecord],
    /// Source variables.
    pub variables: &'a [VariableRecord],
    /// The bytes of all names.
    pub strings: &'a [u8],
}

/// A machine function as LLVM exported it.
///
/// Accessors do not check indices: the arrays come from the shim, which builds them whole, or have
/// passed [`Snapshot::check`]. A wrong index panics; it never reads out of bounds.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    arrays: SnapshotArrays<'a>,
}

impl<'a> Snapshot<'a> {
    /// Creates a view of `arrays`.
    pub fn new(arrays: SnapshotArrays<'a>) -> Self {
        debug_assert!(
            !arrays.blocks.is_empty() && !arrays.instructions.is_empty(),
            "sentinels are missing"
        );
        Self { arrays }
    }

    /// Returns the records themselves, for code that walks them at full speed.
    pub fn arrays(&self) -> &SnapshotArrays<'a> {
        &self.arrays
    }

    /// Returns the record of the function.
    pub fn function(&self) -> &'a FunctionRecord {
        self.arrays.function
    }

    /// Returns a name. Bytes that are not UTF-8 are replaced.
    pub fn string(&self, string: StringRecord) -> Cow<'a, str> {
        let start = string.offset as usize;
        let bytes = &self.arrays.strings[start..start + string.length as usize];
        // Nearly all names are UTF-8, and this is the faster check.
        str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
    }

    /// Returns the function's name.
    pub fn name(&self) -> Cow<'a, str> {
        self.string(self.function().name)
    }

    /// Returns the name of the module that contains the function.
    pub fn module_name(&self) -> Cow<'a, str> {
        self.string(self.function().module)
    }

    /// Returns the stage of code generation at which the function was exported.
    pub fn stage(&self) -> Stage {
        Stage::from_abi(self.function().stage).expect("the stage of a checked snapshot is valid")
    }

    /// Returns the function's properties.
    pub fn flags(&self) -> FunctionFlags {
        FunctionFlags::from_bits_truncate(self.function().flags)
    }

    /// True if the function is an entry point.
    pub fn is_kernel(&self) -> bool {
        self.flags().contains(FunctionFlags::KERNEL)
    }

    /// Returns the number of blocks.
    pub fn block_count(&self) -> usize {
        self.arrays.blocks.len() - 1
    }

    /// Returns the number of instructions, debug instructions included.
    pub fn instruction_count(&self) -> usize {
        self.arrays.instructions.len() - 1
    }

    /// Returns the number of virtual registers, unused ones included.
    pub fn register_count(&self) -> usize {
        self.arrays.registers.len()
    }

    /// Returns all blocks in layout order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<> {
        (0..self.block_count()).map(Block::new)
    }

    /// Returns all instructions in layout order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = Instruction> + ExactSizeIterator + use<> {
        (0..self.instruction_count()).map(Instruction::new)
    }

    /// Returns all virtual registers.
    pub fn registers(&self) -> impl DoubleEndedIterator<Item = Register> + ExactSizeIterator + use<> {
        (0..self.register_count()).map(Register::new)
    }

    /// Returns the record of a block.
    pub fn block(&self, block: Block) -> &'a BlockRecord {
        &self.arrays.blocks[block.index()]
    }

    /// Returns a block's flags.
    pub fn block_flags(&self, block: Block) -> BlockFlags {
        BlockFlags::from_bits_truncate(self.block(block).flags)
    }

    /// Returns the instructions of a block, as indices.
    pub fn instruction_range(&self, block: Block) -> Range<usize> {
        let index = block.index();
        self.arrays.blocks[index].first_instruction as usize
            ..self.arrays.blocks[index + 1].first_instruction as usize
    }

    /// Returns the instructions of a block.
    pub fn instructions_of(
        &self,
        block: Block,
    ) -> impl DoubleEndedIterator<Item = Instruction> + ExactSizeIterator + use<> {
        self.instruction_range(block).map(Instruction::new)
    }

    /// Returns the edges that leave a block.
    pub fn edges(&self, block: Block) -> &'a [EdgeRecord] {
        let index = block.index();
        &self.arrays.edges[self.arrays.blocks[index].first_successor as usize
            ..self.arrays.blocks[index + 1].first_successor as usize]
    }

    /// Returns the successors of a block, with repetitions.
    pub fn successors(
        &self,
        block: Block,
    ) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<'a> {
        self.edges(block)
            .iter()
            .map(|edge| Block::new(edge.block as usize))
    }

    /// Returns the predecessors of a block, with repetitions, in the order of LLVM's list.
    pub fn predecessors(
        &self,
        block: Block,
    ) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + use<'a> {
        let index = block.index();
        self.arrays.predecessors[self.arrays.blocks[index].first_predecessor as usize
            ..self.arrays.blocks[index + 1].first_predecessor as usize]
            .iter()
            .map(|&block| Block::new(block as usize))
    }

    /// Returns an instruction.
    pub fn instruction(&self, instruction: Instruction) -> InstructionRef<'a> {
        InstructionRef {
            snapshot: *self,
            instruction,
            record: &self.arrays.instructions[instruction.index()],
        }
    }

    /// Returns an opcode.
    pub fn opcode(&self, opcode: Opcode) -> &'a OpcodeRecord {
        &self.arrays.opcodes[opcode.index()]
    }

    /// Returns the class of a register.
    pub fn register_class(&self, register: Register) -> RegisterClass {
        RegisterClass::new(self.arrays.registers[register.index()].register_class as usize)
    }

    /// Returns the record of a register class.
    pub fn class(&self, class: RegisterClass) -> &'a RegisterClassRecord {
        &self.arrays.register_classes[class.index()]
    }

    /// Returns the register file that a register belongs to.
    pub fn register_file(&self, register: Register) -> RegisterFile {
        RegisterFile::from_abi(self.class(self.register_class(register)).file)
            .expect("the register file of a checked snapshot is valid")
    }

    /// Returns the record of a constant.
    pub fn constant(&self, constant: Constant) -> &'a ConstantRecord {
        &self.arrays.constants[constant.index()]
    }

    /// Returns the record of a symbol.
    pub fn symbol(&self, symbol: Symbol) -> &'a SymbolRecord {
        &self.arrays.symbols[symbol.index()]
    }

    /// Returns the record of a source position.
    pub fn location(&self, location: Location) -> &'a LocationRecord {
        &self.arrays.locations[location.index()]
    }

    /// Returns the record of a source variable.
    pub fn variable(&self, variable: Variable) -> &'a VariableRecord {
        &self.arrays.variables[variable.index()]
    }

    /// Returns the record of a physical register.
    pub fn physical_register(&self, register: PhysicalRegister) -> &'a PhysicalRegisterRecord {
        &self.arrays.physical_registers[register.index()]
    }
}

/// An instruction of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRef<'a> {
    snapshot: Snapshot<'a>,
    instruction: Instruction,
    record: &'a InstructionRecord,
}

impl<'a> InstructionRef<'a> {
    /// Returns the snapshot that contains the instruction.
    pub fn snapshot(&self) -> Snapshot<'a> {
        self.snapshot
    }

    /// Returns the instruction's record.
    pub fn record(&self) -> &'a InstructionRecord {
        self.record
    }

    /// Returns the instruction's opcode.
    pub fn opcode(&self) -> Opcode {
        Opcode::new(self.record.opcode as usize)
    }

    /// Returns LLVM's name of the opcode.
    pub fn opcode_name(&self) -> Cow<'a, str> {
        self.snapshot.string(self.snapshot.opcode(self.opcode()).name)
    }

    /// Returns the flags of the opcode.
    pub fn opcode_flags(&self) -> OpcodeFlags {
        OpcodeFlags::from_bits_truncate(self.snapshot.opcode(self.opcode()).flags)
    }

    /// Returns the properties beyond the opcode's flags.
    pub fn behavior(&self) -> Behavior {
        Behavior::from_bits_truncate(self.record.behavior)
    }

    /// True if the instruction only describes variables for a debugger.
    pub fn is_debug(&self) -> bool {
        self.opcode_flags().contains(OpcodeFlags::DEBUG)
    }

    /// Returns the instruction's source position.
    pub fn location(&self) -> Option<Location> {
        from_one_based(self.record.location)
    }

    /// Returns the operand records.
    pub fn operand_records(&self) -> &'a [OperandRecord] {
        let arrays = &self.snapshot.arrays;
        let next = &arrays.instructions[self.instruction.index() + 1];
        &arrays.operands[self.record.first_operand as usize..next.first_operand as usize]
    }

    /// Returns the operands.
    pub fn operands(&self) -> impl DoubleEndedIterator<Item = OperandRef<'a>> + ExactSizeIterator + use<'a> {
        self.operand_records().iter().map(|record| OperandRef { record })
    }

    /// Returns the memory accesses.
    pub fn memory_operands(&self) -> &'a [MemoryOperandRecord] {
        let arrays = &self.snapshot.arrays;
        let next = &arrays.instructions[self.instruction.index() + 1];
        &arrays.memory_operands[self.record.first_memory_operand as usize..next.first_memory_operand as usize]
    }
}

/// An operand of a snapshot's instruction.
#[derive(Clone, Copy, Debug)]
pub struct OperandRef<'a> {
    record: &'a OperandRecord,
}

impl<'a> OperandRef<'a> {
    /// Returns the operand's record.
    pub fn record(&self) -> &'a OperandRecord {
        self.record
    }

    /// Returns the kind of operand.
    pub fn kind(&self) -> OperandKind {
        OperandKind::from_abi(u32::from(self.record.kind))
            .expect("the operand kinds of a checked snapshot are valid")
    }

    /// Returns the operand's flags.
    pub fn flags(&self) -> OperandFlags {
        OperandFlags::from_bits_truncate(self.record.flags)
    }

    /// Returns the virtual register, if it is one.
    pub fn register(&self) -> Option<Register> {
        (self.kind() == OperandKind::Register).then(|| Register::new(self.record.index as usize))
    }

    /// Returns the register that the instruction writes here.
    pub fn definition(&self) -> Option<Register> {
        self.register()
            .filter(|_| self.flags().contains(OperandFlags::DEF))
    }

    /// Returns the register that the instruction reads here; undef and debug operands read nothing.
    pub fn reading_use(&self) -> Option<Register> {
        let not_read = OperandFlags::DEF | OperandFlags::UNDEF | OperandFlags::DEBUG;
        self.register().filter(|_| !self.flags().intersects(not_read))
    }

    /// Returns the operand number, counted from zero, that this one is tied to.
    pub fn tied_to(&self) -> Option<usize> {
        (self.record.tied_to as usize).checked_sub(1)
    }
}
