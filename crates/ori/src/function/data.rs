//! The rows of a function's tables.

use crate::modifiers::{Modifiers, SpecialRegister};
use crate::operand::Operand;
use crate::operation::Operation;
use crate::types::DataType;
use bitflags::bitflags;
use oriel_engine::entity::{
    Block, FrameObject, Instruction as MachineInstruction, Opcode, PackedOption, PhysicalRegister,
    RegisterClass, Symbol, entity_impl,
};
use oriel_engine::snapshot::abi::{Behavior, ConstantKind, MemoryFlags, OpcodeFlags};
use std::borrow::Cow;

/// An instruction of an Ori function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instruction(u32);
entity_impl!(Instruction, "i");

/// The position of an operand in the pool of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperandSlot(u32);
entity_impl!(OperandSlot, "slot");

/// A row of the table of memory accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(u32);
entity_impl!(AccessId, "access");

/// The register files of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// Data registers, one value per thread.
    R,
    /// Data registers, one value per warp.
    Ur,
    /// Predicates, one per thread.
    P,
    /// Predicates, one per warp.
    Up,
    /// Barriers.
    B,
}

impl RegisterFile {
    /// Every file, in order.
    pub const ALL: [Self; 5] = [Self::R, Self::Ur, Self::P, Self::Up, Self::B];

    /// Returns the name in text form.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::R => "R",
            Self::Ur => "UR",
            Self::P => "P",
            Self::Up => "UP",
            Self::B => "B",
        }
    }

    /// True if the file holds predicates.
    #[inline]
    pub const fn is_predicate(self) -> bool {
        matches!(self, Self::P | Self::Up)
    }
}

/// A virtual register. Input registers keep their numbers; new ones follow.
#[derive(Clone, Copy, Debug)]
pub struct RegisterData {
    /// The register's file.
    pub file: RegisterFile,
    /// Width in bits.
    pub bits: u16,
    /// LLVM's class; none if the function does not come from LLVM.
    pub class: PackedOption<RegisterClass>,
    pub(crate) definitions: PackedOption<OperandSlot>,
    pub(crate) uses: PackedOption<OperandSlot>,
}

/// A constant that an operand word cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// An integer in the form of LLVM's immediates.
    Integer(i64),
    /// A number in another format, or a wider integer: the bits, low half first.
    Bits {
        /// The format.
        kind: ConstantKind,
        /// Width in bits.
        bits: u32,
        /// Its low 64 bits.
        low: u64,
        /// Its high 64 bits.
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
    /// A physical register of the target.
    Physical(PhysicalRegister),
    /// A special register of the hardware.
    SpecialRegister(SpecialRegister),
    /// An operand unknown to Ori, as the machine instruction has it.
    Machine {
        /// The instruction.
        instruction: MachineInstruction,
        /// The number of the operand.
        operand: u32,
    },
}

/// A description of the memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryAccess {
    /// Equal numbers mean the same base; none if it is unknown.
    pub base: Option<u32>,
    /// The global variable that is accessed.
    pub symbol: Option<Symbol>,
    /// Bytes from the base.
    pub offset: i64,
    /// Size in bytes, if known.
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
    /// True if the caller determines its position and content.
    pub is_fixed: bool,
    /// True if it was removed.
    pub is_removed: bool,
}

/// LLVM's description of a machine opcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineOpcode {
    /// LLVM's name.
    pub name: Cow<'static, str>,
    /// For an opcode whose name is only a number: PTX's mnemonic and a letter for each operand.
    pub mnemonic: Option<Cow<'static, str>>,
    /// LLVM's flags.
    pub flags: OpcodeFlags,
}

impl MachineOpcode {
    /// LLVM's name of the opcode that ends the thread. Before other code, LLVM does not count it as a
    /// terminator.
    pub const EXIT: &str = "EXIT";

    /// True if its mnemonic in PTX begins with `name`. LLVM gives a mnemonic only to opcodes without a proper
    /// name.
    pub fn has_ptx_name(&self, name: &str) -> bool {
        let mnemonic = self.mnemonic.as_deref();
        mnemonic.is_some_and(|mnemonic| mnemonic.starts_with(name))
    }
}

bitflags! {
    /// Properties of one instruction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct InstructionFlags: u16 {
        /// Changed since it was created from the machine instruction.
        const EDITED = 1 << 0;
        /// The machine instruction carries attachments that only LLVM can copy.
        const ATTACHMENTS = 1 << 1;
        /// Inline assembly with effects besides its results.
        const ASM_SIDE_EFFECTS = 1 << 2;
        /// Inline assembly that may read memory.
        const ASM_READS = 1 << 3;
        /// Inline assembly that may write memory.
        const ASM_WRITES = 1 << 4;
        /// Inline assembly that is convergent.
        const ASM_CONVERGENT = 1 << 5;
        /// A copy of its origin, which remains.
        const CLONE = 1 << 6;
        /// Created by a phase: the origin only provides location, flags and memory operands.
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
    /// Returns LLVM's flags of one instruction beyond those of its opcode.
    pub(crate) fn from_behavior(behavior: Behavior) -> Self {
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
pub(crate) struct InstructionData {
    pub modifiers: Modifiers,
    pub operation: Operation,
    pub data_type: DataType,
    pub source_type: DataType,
    pub first_operand: u32,
    pub operand_count: u32,
    pub result_count: u16,
    pub flags: InstructionFlags,
    /// The first of the machine instructions that it was created from, or that it replaces.
    pub origin: PackedOption<MachineInstruction>,
    /// The number of these machine instructions, which are consecutive.
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
pub(crate) struct SlotData {
    pub operand: Operand,
    pub instruction: Instruction,
    pub previous: PackedOption<OperandSlot>,
    pub next: PackedOption<OperandSlot>,
}

const _: () = assert!(size_of::<SlotData>() == 16);

impl SlotData {
    /// Creates an operand that is in no list yet.
    pub fn unlinked(operand: Operand, instruction: Instruction) -> Self {
        Self {
            operand,
            instruction,
            previous: PackedOption::default(),
            next: PackedOption::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct BlockData {
    pub first: PackedOption<Instruction>,
    pub last: PackedOption<Instruction>,
    /// True if it is in the layout.
    pub is_placed: bool,
    /// For a new block: the input block that provides name and alignment.
    pub origin: Option<Block>,
    /// LLVM's number of the block, for display.
    pub label: u32,
    /// LLVM's frequency; zero if unknown.
    pub frequency: u64,
    /// Something outside the function's branches refers to it.
    pub is_address_taken: bool,
}
