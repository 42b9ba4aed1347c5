//! The code object: one function's blocks, instructions, operands and registers.
//!
//! Instructions of a block are a doubly linked list, so that phases insert and remove in constant time
//! while they walk. Operands lie in one pool, results first, then sources; each is a link in the list
//! of its register's definitions or uses, which every edit keeps right.
//!
//! What is here reads and asks; `edit.rs` changes.

use super::modifiers::{Modifiers, SpecialRegister};
use super::operand::{ConstantId, Operand, OperandKind, SpecialId};
use super::operation::{Operation, OperationFlags};
use super::types::DataType;
use crate::entity::{
    Block, EntityRef, FrameObject, Instruction as MachineInstruction, Opcode, PackedOption, PhysicalRegister,
    PrimaryMap, Register, RegisterClass, Symbol, entity_impl,
};
use crate::snapshot::abi::{Behavior, ConstantKind, FunctionFlags, MemoryFlags, OpcodeFlags, Stage};
use bitflags::bitflags;
use smallvec::SmallVec;
use std::collections::HashMap;

/// An instruction of an Ori function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instruction(u32);
entity_impl!(Instruction, "i");

/// A place for an operand in the pool of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);
entity_impl!(Slot, "slot");

/// A row of the table of memory accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(u32);
entity_impl!(AccessId, "access");

/// The register files of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// Data registers, one value a thread.
    R,
    /// Data registers, one value a warp.
    Ur,
    /// Predicates, one a thread.
    P,
    /// Predicates, one a warp.
    Up,
    /// Barriers.
    B,
}

impl RegisterFile {
    /// Every file, in order.
    pub const ALL: [Self; 5] = [Self::R, Self::Ur, Self::P, Self::Up, Self::B];

    /// The name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::Ur => "UR",
            Self::P => "P",
            Self::Up => "UP",
            Self::B => "B",
        }
    }

    /// Does it hold predicates?
    pub const fn is_predicate(self) -> bool {
        matches!(self, Self::P | Self::Up)
    }
}

/// A virtual register. Input registers keep their numbers, new ones follow.
#[derive(Clone, Copy, Debug)]
pub struct RegisterData {
    /// The file that it belongs to.
    pub file: RegisterFile,
    /// Width in bits.
    pub bits: u16,
    /// LLVM's class; none where the function does not come from LLVM.
    pub class: PackedOption<RegisterClass>,
    pub(super) definitions: PackedOption<Slot>,
    pub(super) uses: PackedOption<Slot>,
}

/// A constant that an operand word cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// An integer, as LLVM's immediate has it.
    Integer(i64),
    /// A number in another format, or a wider integer: the bits, low half first.
    Bits {
        /// The format.
        kind: ConstantKind,
        /// Width in bits.
        bits: u32,
        /// Its low 64 bits.
        low: u64,
        /// The bits above.
        high: u64,
    },
}

/// An operand that only the machine function can describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// An address: a symbol and an offset in bytes.
    Symbol {
        /// The symbol.
        symbol: Symbol,
        /// Bytes from its start.
        offset: i64,
    },
    /// A stack object.
    Frame(FrameObject),
    /// A register of the target that is not virtual.
    Physical(PhysicalRegister),
    /// A register that the hardware keeps.
    SpecialRegister(SpecialRegister),
    /// An operand without a meaning for Ori, as the machine instruction has it.
    Machine {
        /// The instruction.
        instruction: MachineInstruction,
        /// Which of its operands.
        operand: u32,
    },
}

/// What is known of the memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryAccess {
    /// Equal numbers mean the same base; none: nothing is known.
    pub base: Option<u32>,
    /// The global variable that it lies in.
    pub symbol: Option<Symbol>,
    /// Bytes from the base.
    pub offset: i64,
    /// Bytes, if known.
    pub size: Option<u64>,
    /// Logarithm of the alignment in bytes to base two.
    pub log2_alignment: u8,
    /// Volatile, invariant and so on.
    pub flags: MemoryFlags,
}

/// An object on the thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackObject {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u32,
}

/// A machine opcode: what LLVM says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineOpcode {
    /// LLVM's name.
    pub name: String,
    /// Of one whose name is only a number: PTX's mnemonic and a letter for each operand.
    pub mnemonic: Option<String>,
    /// LLVM's flags.
    pub flags: OpcodeFlags,
}

bitflags! {
    /// Properties of one instruction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct InstructionFlags: u16 {
        /// Changed since it was made from the machine instruction.
        const EDITED = 1 << 0;
        /// The machine instruction carries what only LLVM can copy.
        const ATTACHMENTS = 1 << 1;
        /// Inline assembly that has effects beside its results.
        const ASM_SIDE_EFFECTS = 1 << 2;
        /// Inline assembly that may read memory.
        const ASM_READS = 1 << 3;
        /// Inline assembly that may write memory.
        const ASM_WRITES = 1 << 4;
        /// Inline assembly that is convergent.
        const ASM_CONVERGENT = 1 << 5;
        /// A copy of its origin, which remains.
        const CLONE = 1 << 6;
        /// Made by a phase: the origin gives only location, flags and memory operands.
        const NEW = 1 << 7;
        /// Mark: its value reaches every use.
        const MARK_PROPAGATED = 1 << 8;
        /// Mark: to be cleaned up.
        const MARK_DEFERRED = 1 << 9;
        /// Mark: its value reaches uses under a predicate.
        const MARK_PREDICATED = 1 << 10;
    }
}

impl InstructionFlags {
    /// What LLVM says of one instruction beyond its opcode.
    pub fn from_behavior(behavior: Behavior) -> Self {
        let mut flags = Self::empty();
        flags.set(Self::ATTACHMENTS, behavior.contains(Behavior::ATTACHMENTS));
        flags.set(
            Self::ASM_SIDE_EFFECTS,
            behavior.contains(Behavior::ASM_SIDE_EFFECTS),
        );
        flags.set(Self::ASM_READS, behavior.contains(Behavior::ASM_MAY_LOAD));
        flags.set(Self::ASM_WRITES, behavior.contains(Behavior::ASM_MAY_STORE));
        flags.set(Self::ASM_CONVERGENT, behavior.contains(Behavior::ASM_CONVERGENT));
        flags
    }
}

#[derive(Clone, Debug)]
pub(super) struct InstructionData {
    pub modifiers: Modifiers,
    pub operation: Operation,
    pub data_type: DataType,
    pub source_type: DataType,
    pub first_operand: u32,
    pub operand_count: u32,
    pub result_count: u16,
    pub flags: InstructionFlags,
    /// The first of the machine instructions that it was made from, or whose place it takes.
    pub origin: PackedOption<MachineInstruction>,
    /// How many there are, one after the other.
    pub origin_count: u32,
    pub opcode: PackedOption<Opcode>,
    pub access: PackedOption<AccessId>,
    pub block: PackedOption<Block>,
    pub previous: PackedOption<Instruction>,
    pub next: PackedOption<Instruction>,
}

const _: () = assert!(size_of::<InstructionData>() == 52);

/// An operand, and its links in the list of its register.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotData {
    pub operand: Operand,
    pub instruction: Instruction,
    pub previous: PackedOption<Slot>,
    pub next: PackedOption<Slot>,
}

const _: () = assert!(size_of::<SlotData>() == 16);

#[derive(Clone, Debug, Default)]
pub(super) struct BlockData {
    pub first: PackedOption<Instruction>,
    pub last: PackedOption<Instruction>,
    /// Is it in the layout?
    pub is_placed: bool,
    /// The input block that a new one takes its name and alignment from.
    pub origin: Option<Block>,
    /// LLVM's frequency; zero: not known.
    pub frequency: u64,
    /// Something outside the function's branches refers to it.
    pub is_address_taken: bool,
}

/// What is known of a function as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its name.
    pub name: String,
    /// Where in code generation it was exported.
    pub stage: Stage,
    /// Compute capability times ten.
    pub sm: u32,
    /// Properties.
    pub flags: FunctionFlags,
    /// Frequency of the entry block, which is the unit; zero: not known.
    pub entry_frequency: u64,
}

/// A function in Ori.
#[derive(Clone, Debug)]
pub struct Function {
    /// What is known of it as a whole.
    pub info: FunctionInfo,
    pub(super) blocks: PrimaryMap<Block, BlockData>,
    pub(super) layout: Vec<Block>,
    pub(super) instructions: PrimaryMap<Instruction, InstructionData>,
    pub(super) slots: PrimaryMap<Slot, SlotData>,
    pub(super) registers: PrimaryMap<Register, RegisterData>,
    /// How many blocks the input had.
    pub(super) input_blocks: usize,
    /// How many registers the input had.
    pub(super) input_registers: usize,
    pub(super) constants: PrimaryMap<ConstantId, Constant>,
    pub(super) constant_ids: HashMap<Constant, ConstantId>,
    pub(super) specials: PrimaryMap<SpecialId, Special>,
    pub(super) special_ids: HashMap<Special, SpecialId>,
    pub(super) accesses: PrimaryMap<AccessId, MemoryAccess>,
    pub(super) access_ids: HashMap<MemoryAccess, AccessId>,
    pub(super) opcodes: PrimaryMap<Opcode, MachineOpcode>,
    /// What lies on the stack.
    pub(super) stack_objects: PrimaryMap<FrameObject, StackObject>,
    /// Names of the symbols, for text.
    pub(super) symbols: PrimaryMap<Symbol, String>,
    /// Machine instructions that an instruction stands for beside its origin.
    pub(super) merged: HashMap<Instruction, SmallVec<[MachineInstruction; 2]>>,
}

impl Function {
    /// A function without blocks.
    pub fn new(info: FunctionInfo) -> Self {
        Self {
            info,
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            instructions: PrimaryMap::new(),
            slots: PrimaryMap::new(),
            registers: PrimaryMap::new(),
            input_blocks: 0,
            input_registers: 0,
            constants: PrimaryMap::new(),
            constant_ids: HashMap::new(),
            specials: PrimaryMap::new(),
            special_ids: HashMap::new(),
            accesses: PrimaryMap::new(),
            access_ids: HashMap::new(),
            opcodes: PrimaryMap::new(),
            stack_objects: PrimaryMap::new(),
            symbols: PrimaryMap::new(),
            merged: HashMap::new(),
        }
    }
}

/// Blocks and the instructions in them.
impl Function {
    /// Blocks in layout order; the first is the entry.
    pub fn blocks(&self) -> &[Block] {
        &self.layout
    }

    /// The block where the function begins.
    ///
    /// # Panics
    /// The function has no blocks.
    pub fn entry(&self) -> Block {
        self.layout[0]
    }

    /// Blocks that have ever been, removed ones included: the size of tables over blocks.
    pub fn block_limit(&self) -> usize {
        self.blocks.len()
    }

    /// Is it in the layout?
    pub fn is_placed(&self, block: Block) -> bool {
        self.blocks[block].is_placed
    }

    /// LLVM's frequency of a block; zero if not known.
    pub fn frequency(&self, block: Block) -> u64 {
        self.blocks[block].frequency
    }

    /// Does something beside the function's branches refer to it?
    pub fn is_address_taken(&self, block: Block) -> bool {
        self.blocks[block].is_address_taken
    }

    /// The instructions of a block, in order. It may be edited once the iterator has moved on from it.
    pub fn instructions(&self, block: Block) -> Instructions<'_> {
        let data = &self.blocks[block];
        Instructions {
            function: self,
            next: data.first.expand(),
            next_back: data.last.expand(),
        }
    }

    /// The first instruction of a block.
    pub fn first(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].first.expand()
    }

    /// The last instruction of a block.
    pub fn last(&self, block: Block) -> Option<Instruction> {
        self.blocks[block].last.expand()
    }

    /// The one before it in its block.
    pub fn previous(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].previous.expand()
    }

    /// The one after it in its block.
    pub fn next(&self, instruction: Instruction) -> Option<Instruction> {
        self.instructions[instruction].next.expand()
    }

    /// The block that it is in; none once it was removed.
    pub fn block_of(&self, instruction: Instruction) -> Option<Block> {
        self.instructions[instruction].block.expand()
    }

    /// The instruction that ends a block, which is its last but for debug instructions.
    pub fn terminator(&self, block: Block) -> Option<Instruction> {
        self.instructions(block)
            .rev()
            .find(|&instruction| !self.operation(instruction).is_debug())
            .filter(|&instruction| self.operation(instruction).is_terminator())
    }

    /// The blocks that control can go to from here, with repetitions, as the terminator has them.
    pub fn successors(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        self.terminator(block)
            .into_iter()
            .flat_map(|terminator| self.sources(terminator).iter())
            .filter_map(Operand::as_block)
    }

    /// Bytes that its tables of blocks, instructions, operands and registers take.
    pub fn table_bytes(&self) -> usize {
        self.blocks.len() * size_of::<BlockData>()
            + self.layout.len() * size_of::<Block>()
            + self.instructions.len() * size_of::<InstructionData>()
            + self.slots.len() * size_of::<SlotData>()
            + self.registers.len() * size_of::<RegisterData>()
            + self.constants.len() * size_of::<Constant>()
            + self.specials.len() * size_of::<Special>()
            + self.accesses.len() * size_of::<MemoryAccess>()
    }

    /// Instructions that have ever been, removed ones included: the size of tables over instructions.
    pub fn instruction_limit(&self) -> usize {
        self.instructions.len()
    }
}

/// What an instruction is.
impl Function {
    /// What it does.
    pub fn operation(&self, instruction: Instruction) -> Operation {
        self.instructions[instruction].operation
    }

    /// The type that it computes in.
    pub fn data_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].data_type
    }

    /// The type of its sources, or of what lies in memory, if that is another.
    pub fn source_type(&self, instruction: Instruction) -> DataType {
        self.instructions[instruction].source_type
    }

    /// Its modifiers.
    pub fn modifiers(&self, instruction: Instruction) -> Modifiers {
        self.instructions[instruction].modifiers
    }

    /// Its flags.
    pub fn flags(&self, instruction: Instruction) -> InstructionFlags {
        self.instructions[instruction].flags
    }

    /// The machine instruction that it was made from, or whose place it takes.
    pub fn origin(&self, instruction: Instruction) -> Option<MachineInstruction> {
        self.instructions[instruction].origin.expand()
    }

    /// All machine instructions that it was made from: several for branches.
    pub fn origins(&self, instruction: Instruction) -> impl Iterator<Item = MachineInstruction> + use<> {
        let data = &self.instructions[instruction];
        let first = data.origin.expand().map_or(0, MachineInstruction::index);
        let count = data.origin_count as usize;
        (first..first + count).map(MachineInstruction::new)
    }

    /// LLVM's opcode of the machine instruction that it was made from.
    pub fn machine_opcode(&self, instruction: Instruction) -> Option<&MachineOpcode> {
        let opcode = self.instructions[instruction].opcode.expand()?;
        Some(&self.opcodes[opcode])
    }

    /// Machine instructions that it stands for beside its origin.
    pub fn merged(&self, instruction: Instruction) -> &[MachineInstruction] {
        self.merged.get(&instruction).map_or(&[], |merged| merged)
    }

    /// What is known of the memory that it accesses.
    pub fn access(&self, instruction: Instruction) -> Option<&MemoryAccess> {
        let access = self.instructions[instruction].access.expand()?;
        Some(&self.accesses[access])
    }

    /// What it does beside giving results. Of an opaque one, what LLVM says of it.
    pub fn effects(&self, instruction: Instruction) -> OperationFlags {
        let data = &self.instructions[instruction];
        let table = data.operation.flags();
        if !table.contains(OperationFlags::OPAQUE) {
            let mut effects = table;
            let is_counter = |source: Operand| match source.kind() {
                OperandKind::Special(special) => match self.specials[special] {
                    Special::SpecialRegister(register) => !register.is_constant(),
                    _ => false,
                },
                _ => false,
            };
            // Every read of a counter counts.
            if data.operation == Operation::S2r && self.sources(instruction).iter().any(is_counter) {
                effects |= OperationFlags::SIDE_EFFECTS;
            }
            let is_volatile = |access: &MemoryAccess| access.flags.contains(MemoryFlags::VOLATILE);
            if self.access(instruction).is_some_and(is_volatile)
                || matches!(
                    data.modifiers.ordering,
                    super::modifiers::Ordering::Volatile | super::modifiers::Ordering::RelaxedMmio
                )
            {
                effects |= OperationFlags::SIDE_EFFECTS;
            }
            return effects;
        }
        let refined = OperationFlags::READS
            | OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT;
        let Some(opcode) = data.opcode.expand().map(|opcode| &self.opcodes[opcode]) else {
            return table;
        };
        let mut effects = table & !refined;
        // Labels and markers do nothing, but have to stay where they are.
        let marks = OpcodeFlags::POSITION | OpcodeFlags::META;
        if data.operation != Operation::InlineAsm && opcode.flags.intersects(marks) {
            effects |= OperationFlags::SIDE_EFFECTS;
        }
        let asm = data.operation == Operation::InlineAsm;
        for (effect, of_opcode, of_asm) in [
            (
                OperationFlags::READS,
                OpcodeFlags::MAY_LOAD,
                InstructionFlags::ASM_READS,
            ),
            (
                OperationFlags::WRITES,
                OpcodeFlags::MAY_STORE,
                InstructionFlags::ASM_WRITES,
            ),
            (
                OperationFlags::SIDE_EFFECTS,
                OpcodeFlags::SIDE_EFFECTS,
                InstructionFlags::ASM_SIDE_EFFECTS,
            ),
            (
                OperationFlags::CONVERGENT,
                OpcodeFlags::CONVERGENT,
                InstructionFlags::ASM_CONVERGENT,
            ),
        ] {
            let holds = if asm {
                data.flags.contains(of_asm)
            } else {
                opcode.flags.contains(of_opcode)
            };
            effects.set(effect, holds);
        }
        effects
    }

    /// May it go if nothing uses its results?
    pub fn is_removable_if_unused(&self, instruction: Instruction) -> bool {
        let keeps = OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT
            | OperationFlags::TERMINATOR
            | OperationFlags::CALL_SEQUENCE
            | OperationFlags::DEBUG;
        !self.effects(instruction).intersects(keeps)
            && !self.flags(instruction).contains(InstructionFlags::ATTACHMENTS)
    }
}

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

    /// One of its results.
    ///
    /// # Panics
    /// It has fewer.
    pub fn result(&self, instruction: Instruction, number: usize) -> Operand {
        self.results(instruction).get(number)
    }

    /// One of its sources.
    ///
    /// # Panics
    /// It has fewer.
    pub fn source(&self, instruction: Instruction, number: usize) -> Operand {
        self.sources(instruction).get(number)
    }

    /// An integer that an operand stands for: an immediate, or an integer of the constant table.
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

    /// The bits of a constant operand, the low 64 of them.
    pub fn constant_bits(&self, operand: Operand) -> Option<u64> {
        match operand.kind() {
            OperandKind::Constant(constant) => match self.constants[constant] {
                Constant::Integer(value) => Some(value as u64),
                Constant::Bits { low, .. } => Some(low),
            },
            _ => self.integer(operand).map(|value| value as u64),
        }
    }

    /// A constant of the table.
    pub fn constant_data(&self, constant: ConstantId) -> Constant {
        self.constants[constant]
    }

    /// An operand that the machine function describes.
    pub fn special_data(&self, special: SpecialId) -> Special {
        self.specials[special]
    }

    /// What lies on the thread's stack.
    pub fn stack_objects(&self) -> impl Iterator<Item = (FrameObject, &StackObject)> {
        self.stack_objects.iter()
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        &self.symbols[symbol]
    }
}

/// Registers.
impl Function {
    /// Number of registers, unused ones included: the size of tables over registers.
    pub fn register_limit(&self) -> usize {
        self.registers.len()
    }

    /// All registers.
    pub fn registers(&self) -> impl DoubleEndedIterator<Item = Register> + ExactSizeIterator + use<> {
        (0..self.registers.len()).map(Register::new)
    }

    /// A register.
    pub fn register(&self, register: Register) -> &RegisterData {
        &self.registers[register]
    }

    /// The operand for a register, of whichever file it is.
    pub fn register_operand(&self, register: Register) -> Operand {
        if self.registers[register].file.is_predicate() {
            Operand::predicate(register)
        } else {
            Operand::register(register)
        }
    }

    /// The instructions that define a register, and the number of the result, latest added first.
    pub fn definitions(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].definitions,
        }
    }

    /// The instructions that use a register, and the number of the source, latest added first.
    pub fn uses(&self, register: Register) -> References<'_> {
        References {
            function: self,
            next: self.registers[register].uses,
        }
    }

    /// The only instruction that defines a register.
    pub fn unique_definition(&self, register: Register) -> Option<Instruction> {
        let mut definitions = self.definitions(register);
        match (definitions.next(), definitions.next()) {
            (Some((instruction, _)), None) => Some(instruction),
            _ => None,
        }
    }

    /// Does nothing use it?
    pub fn is_unused(&self, register: Register) -> bool {
        self.registers[register].uses.is_none()
    }
}

/// Operands of an instruction: results or sources.
#[derive(Clone, Copy)]
pub struct Operands<'a>(&'a [SlotData]);

impl<'a> Operands<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of them.
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

/// The instructions of a block.
#[derive(Clone)]
pub struct Instructions<'a> {
    function: &'a Function,
    next: Option<Instruction>,
    next_back: Option<Instruction>,
}

impl Instructions<'_> {
    fn finish_at(&mut self, met: bool) {
        if met {
            (self.next, self.next_back) = (None, None);
        }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let current = self.next?;
        self.next = self.function.next(current);
        self.finish_at(self.next_back == Some(current));
        Some(current)
    }
}

impl DoubleEndedIterator for Instructions<'_> {
    fn next_back(&mut self) -> Option<Instruction> {
        let current = self.next_back?;
        self.next_back = self.function.previous(current);
        self.finish_at(self.next == Some(current));
        Some(current)
    }
}

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
