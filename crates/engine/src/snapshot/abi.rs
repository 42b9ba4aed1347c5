//! The snapshot's records, as `cpp-shim/oriel_abi.h` declares them.
//!
//! Every record is plain data without padding, so a file's bytes can be viewed as records. The
//! assertions below and those in `cpp-shim/AbiLayout.cpp` pin the same numbers.

use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

/// Changes whenever a record changes; also the version of the snapshot file format.
pub const ABI_VERSION: u32 = 3;
/// Edge probabilities are numerators over this denominator.
pub const PROBABILITY_DENOMINATOR: u32 = 0x8000_0000;
/// The probability of an edge for which LLVM has none.
pub const PROBABILITY_UNKNOWN: u32 = 0xFFFF_FFFF;

/// Declares records of the binary interface with their size and the offset of every field, asserted
/// at compile time.
#[macro_export]
macro_rules! records {
    ($(
        $(#[$doc:meta])*
        $name:ident: $size:literal {
            $( $(#[$field_doc:meta])* $offset:literal $field:ident: $ty:ty, )*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
            #[repr(C)]
            pub struct $name {
                $( $(#[$field_doc])* #[doc = ""] #[doc = concat!("At byte ", stringify!($offset), ".")] pub $field: $ty, )*
            }
            const _: () = {
                assert!(size_of::<$name>() == $size);
                $( assert!(core::mem::offset_of!($name, $field) == $offset); )*
            };
        )*
    };
}
pub use records;

records! {
    /// A piece of the string bytes.
    StringRecord: 8 {
        0 offset: u32,
        4 length: u32,
    }

    /// What is known of the function as a whole; zero means "not given" where a value is optional.
    FunctionRecord: 120 {
        0 module: StringRecord,
        8 name: StringRecord,
        16 triple: StringRecord,
        24 cpu: StringRecord,
        /// Unit of the block frequencies.
        32 entry_frequency: u64,
        40 abi_version: u32,
        /// See [`Stage`].
        44 stage: u32,
        /// See [`FunctionFlags`].
        48 flags: u32,
        /// Compute capability times ten.
        52 sm: u32,
        /// PTX ISA version times ten; zero if none was asked for and LLVM takes its default.
        56 ptx_version: u32,
        60 optimization_level: u32,
        64 pointer_bits: u32,
        68 max_threads: [u32; 3],
        80 required_threads: [u32; 3],
        92 cluster_size: [u32; 3],
        104 max_cluster_rank: u32,
        108 min_blocks_per_sm: u32,
        112 max_registers: u32,
        /// Frame objects that LLVM numbers below zero.
        116 fixed_frame_objects: u32,
    }

    /// A basic block.
    BlockRecord: 40 {
        0 first_instruction: u32,
        4 first_successor: u32,
        /// LLVM's number: `%bb.N`.
        8 number: u32,
        /// See [`BlockFlags`].
        12 flags: u32,
        16 frequency: u64,
        24 name: StringRecord,
        32 log2_alignment: u32,
        36 first_predecessor: u32,
    }

    /// A CFG edge; the same successor may occur more than once.
    EdgeRecord: 8 {
        0 block: u32,
        /// Numerator over [`PROBABILITY_DENOMINATOR`], or [`PROBABILITY_UNKNOWN`].
        4 probability: u32,
    }

    /// A machine instruction.
    InstructionRecord: 24 {
        0 opcode: u32,
        4 first_operand: u32,
        8 first_memory_operand: u32,
        /// One-based location.
        12 location: u32,
        /// LLVM's `MIFlag` bits.
        16 flags: u32,
        /// See [`Behavior`].
        20 behavior: u32,
    }

    /// An operand; what `index` and `value` mean is up to the kind, see [`OperandKind`].
    OperandRecord: 16 {
        0 kind: u8,
        /// Operand number that this one is tied to, one-based.
        1 tied_to: u8,
        /// See [`OperandFlags`].
        2 flags: u16,
        4 index: u32,
        8 value: i64,
    }

    /// One memory access of an instruction.
    MemoryOperandRecord: 40 {
        0 size_bytes: u64,
        8 offset: i64,
        /// One-based identity of the base: equal numbers mean the same base value.
        16 base_value: u32,
        /// One-based symbol, where the base is a global.
        20 base_symbol: u32,
        24 address_space: u32,
        /// See [`MemoryFlags`].
        28 flags: u16,
        30 log2_alignment: u8,
        31 success_ordering: u8,
        32 failure_ordering: u8,
        33 sync_scope: u8,
        34 reserved: u16,
        36 reserved2: u32,
    }

    /// A virtual register.
    RegisterRecord: 4 {
        0 register_class: u16,
        /// See [`RegisterFlags`].
        2 flags: u16,
    }

    /// A virtual register that an instruction mentions, which is no debug instruction.
    RegisterOperandRecord: 8 {
        /// The register; with [`Access::FromBlock`] a block.
        0 index: u32,
        /// The instruction, shifted left by three bits, and the [`Access`].
        4 place: u32,
    }

    /// An operand of a register with several definitions; all of them are listed in the order in
    /// which LLVM chains them, which is the order in which it numbers values.
    ChainedOperandRecord: 8 {
        0 register: u32,
        /// Position in the list of register operands.
        4 register_operand: u32,
    }

    /// A register class of the target.
    RegisterClassRecord: 16 {
        0 name: StringRecord,
        8 bits: u32,
        /// See [`RegisterFile`].
        12 file: u32,
    }

    /// An opcode that the function uses.
    OpcodeRecord: 28 {
        0 name: StringRecord,
        /// See [`OpcodeFlags`].
        8 flags: u32,
        /// Declared operands, without variadic ones.
        12 operands: u16,
        /// Of these, results.
        14 definitions: u16,
        16 llvm_opcode: u32,
        /// Of an opcode that LLVM gives a number for a name: PTX mnemonic and a letter for each
        /// operand (`p` a predicate, `r` another register, `i` an immediate). Otherwise empty.
        20 mnemonic: StringRecord,
    }

    /// A constant that does not fit an immediate operand.
    ConstantRecord: 24 {
        0 low: u64,
        8 high: u64,
        /// See [`ConstantKind`].
        16 kind: u32,
        20 bits: u32,
    }

    /// A symbol that an operand or memory operand refers to.
    SymbolRecord: 32 {
        0 name: StringRecord,
        8 size_bytes: u64,
        /// See [`SymbolKind`].
        16 kind: u32,
        /// See [`SymbolFlags`].
        20 flags: u32,
        24 address_space: u32,
        28 alignment: u32,
    }

    /// A stack object.
    FrameObjectRecord: 24 {
        0 size_bytes: u64,
        8 offset: i64,
        16 alignment: u32,
        /// See [`FrameFlags`].
        20 flags: u32,
    }

    /// A physical register that an operand mentions.
    PhysicalRegisterRecord: 16 {
        0 name: StringRecord,
        8 number: u32,
        12 reserved: u32,
    }

    /// A source position.
    LocationRecord: 32 {
        0 file: StringRecord,
        8 function: StringRecord,
        16 line: u32,
        20 column: u32,
        /// One-based location of the call that this position was inlined at.
        24 inlined_at: u32,
        28 discriminator: u32,
    }

    /// A source variable that a debug value describes.
    VariableRecord: 24 {
        0 name: StringRecord,
        8 function: StringRecord,
        16 line: u32,
        /// Parameter number from one; zero if it is not a parameter.
        20 argument: u32,
    }
}

/// Declares a C enum: the Rust enum, and the checked conversion from its number.
/// Declares an enumeration of the binary interface.
#[macro_export]
macro_rules! c_enum {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $value:literal, )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant = $value, )*
        }
        impl $name {
            /// Every value, in the ABI's order.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// The value with this number in the ABI, if there is one.
            pub const fn from_abi(number: u32) -> Option<Self> {
                match number {
                    $( $value => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }
    };
}
pub use c_enum;

c_enum! {
    /// Where in code generation the function was exported.
    Stage {
        /// After LLVM's machine SSA passes, with PHIs.
        Ssa = 0,
        /// After scheduling and stack slot colouring, without PHIs.
        Late = 1,
    }
}

impl Stage {
    /// The name used in reports, file names and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssa => "ssa",
            Self::Late => "late",
        }
    }
}

c_enum! {
    /// What an operand is, and the meaning of its `index` and `value`.
    OperandKind {
        /// `index`: virtual register.
        Register = 0,
        /// LLVM's `$noreg`.
        NoRegister = 1,
        /// `index`: physical register table.
        Physical = 2,
        /// `value`.
        Immediate = 3,
        /// `index`: constant table.
        Constant = 4,
        /// `index`: block.
        Block = 5,
        /// `index`: frame object table.
        FrameIndex = 6,
        /// `index`: symbol table; `value`: offset in bytes.
        Symbol = 7,
        /// `index`: debug variable table.
        Variable = 8,
        /// Other metadata; opaque.
        Metadata = 9,
        /// Any other kind; `value` is LLVM's number of it.
        Opaque = 10,
        /// In plans only: operand `value` of input instruction `index`, as it is.
        Original = 11,
    }
}

c_enum! {
    /// What an instruction does to a virtual register.
    Access {
        /// Reads it.
        Read = 0,
        /// Reads it before the instruction's early-clobber results are written: the operand is tied
        /// to one of them.
        ReadEarly = 1,
        /// Defines it.
        Define = 2,
        /// Defines it before the instruction's inputs are read.
        DefineEarly = 3,
        /// Neither reads nor defines it: an undefined use.
        Mention = 4,
        /// A PHI reads it, at the end of the block that the next record names.
        ReadByPhi = 5,
        /// No register: the block that the PHI's operand before it comes from, be it read or
        /// undefined.
        FromBlock = 6,
    }
}

c_enum! {
    /// The register file that a class belongs to.
    RegisterFile {
        /// Data registers.
        General = 0,
        /// One-bit predicates.
        Predicate = 1,
        /// Frame and environment pointers.
        Special = 2,
    }
}

c_enum! {
    /// The format of a constant.
    ConstantKind {
        /// An integer wider than 64 bits.
        Integer = 0,
        /// IEEE binary16.
        Half = 1,
        /// bfloat16.
        Bfloat = 2,
        /// IEEE binary32.
        Single = 3,
        /// IEEE binary64.
        Double = 4,
        /// Another format, or wider than 128 bits: the value is not recorded.
        Other = 5,
    }
}

c_enum! {
    /// What a symbol names.
    SymbolKind {
        /// A global variable.
        Variable = 0,
        /// A function.
        Function = 1,
        /// A bare name, such as a call prototype.
        External = 2,
        /// Aliases and block addresses.
        Other = 3,
    }
}

bitflags! {
    /// Properties of a function.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FunctionFlags: u32 {
        /// Entry point, not a device function.
        const KERNEL = 1 << 0;
        /// One definition per register.
        const SSA = 1 << 1;
        /// No PHI instruction is left.
        const NO_PHIS = 1 << 2;
        /// Block frequencies are known.
        const FREQUENCIES = 1 << 3;
        /// Has debug information.
        const DEBUG_INFO = 1 << 4;
        /// `optsize` or `minsize`.
        const OPT_SIZE = 1 << 5;
        /// Carries the attribute `convergent`.
        const CONVERGENT = 1 << 6;
        /// The SM name ends in `a`.
        const ARCH_SPECIFIC = 1 << 7;
        /// The SM name ends in `f`.
        const FAMILY_SPECIFIC = 1 << 8;
    }

    /// Properties of a block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BlockFlags: u32 {
        /// Something takes its address.
        const ADDRESS_TAKEN = 1 << 0;
        /// Its label must be emitted.
        const LABEL_USED = 1 << 1;
        /// An exception landing pad.
        const LANDING_PAD = 1 << 2;
    }

    /// What holds for one instruction beyond its opcode's flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Behavior: u32 {
        /// Labels, markers or sections are attached that only LLVM can copy.
        const ATTACHMENTS = 1 << 0;
        /// Inline assembly with side effects.
        const ASM_SIDE_EFFECTS = 1 << 1;
        /// Inline assembly that may load.
        const ASM_MAY_LOAD = 1 << 2;
        /// Inline assembly that may store.
        const ASM_MAY_STORE = 1 << 3;
        /// Inline assembly that is convergent.
        const ASM_CONVERGENT = 1 << 4;
    }

    /// Flags of an operand; only IMPLICIT may stand on one that is no register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OperandFlags: u16 {
        /// The instruction writes it.
        const DEF = 1 << 0;
        /// Not among the operands written in assembly.
        const IMPLICIT = 1 << 1;
        /// Last use on the path, as LLVM saw it.
        const KILL = 1 << 2;
        /// The result is never read.
        const DEAD = 1 << 3;
        /// The value read does not matter.
        const UNDEF = 1 << 4;
        /// Written before the inputs are read.
        const EARLY_CLOBBER = 1 << 5;
        /// A use by a debug value: no use at all for code generation.
        const DEBUG = 1 << 6;
        /// Reads a value defined inside the same bundle.
        const INTERNAL_READ = 1 << 7;
        /// The physical register may be renamed.
        const RENAMABLE = 1 << 8;
    }

    /// Flags of a memory operand.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct MemoryFlags: u16 {
        /// Reads memory.
        const LOAD = 1 << 0;
        /// Writes memory.
        const STORE = 1 << 1;
        /// Must stay exactly as it is.
        const VOLATILE = 1 << 2;
        /// Is not expected to be used again soon.
        const NON_TEMPORAL = 1 << 3;
        /// Cannot trap.
        const DEREFERENCEABLE = 1 << 4;
        /// Reads memory that never changes while the function runs.
        const INVARIANT = 1 << 5;
        /// Atomic, with the orderings given.
        const ATOMIC = 1 << 6;
        /// `size_bytes` is valid.
        const SIZE_KNOWN = 1 << 7;
    }

    /// Flags of a register.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RegisterFlags: u16 {
        /// No operand mentions it.
        const UNUSED = 1 << 0;
        /// It has several definitions; see [`ChainedOperandRecord`].
        const CHAINED = 1 << 1;
    }

    /// Flags of an opcode, from LLVM's instruction description.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OpcodeFlags: u32 {
        /// PHI.
        const PHI = 1 << 0;
        /// COPY.
        const COPY = 1 << 1;
        /// IMPLICIT_DEF.
        const IMPLICIT_DEF = 1 << 2;
        /// INLINEASM.
        const INLINE_ASM = 1 << 3;
        /// DBG_VALUE and its relatives.
        const DEBUG = 1 << 4;
        /// Labels and CFI.
        const POSITION = 1 << 5;
        /// Emits no instruction.
        const META = 1 << 6;
        /// Expanded later.
        const PSEUDO = 1 << 7;
        /// Takes further operands.
        const VARIADIC = 1 << 8;
        /// May read memory.
        const MAY_LOAD = 1 << 9;
        /// May write memory.
        const MAY_STORE = 1 << 10;
        /// Has effects that nothing else describes.
        const SIDE_EFFECTS = 1 << 11;
        /// Depends on which threads run together.
        const CONVERGENT = 1 << 12;
        /// Ends a block.
        const TERMINATOR = 1 << 13;
        /// Control never falls through.
        const BARRIER = 1 << 14;
        /// May branch.
        const BRANCH = 1 << 15;
        /// Branches through a value.
        const INDIRECT_BRANCH = 1 << 16;
        /// Returns.
        const RETURN = 1 << 17;
        /// Calls.
        const CALL = 1 << 18;
        /// Two operands may be exchanged.
        const COMMUTABLE = 1 << 19;
        /// Compares.
        const COMPARE = 1 << 20;
        /// Selects between operands.
        const SELECT = 1 << 21;
        /// Moves an immediate.
        const MOVE_IMMEDIATE = 1 << 22;
        /// Moves a register.
        const MOVE_REGISTER = 1 << 23;
        /// May be computed again instead of kept.
        const REMATERIALIZABLE = 1 << 24;
        /// As cheap as a move.
        const CHEAP = 1 << 25;
        /// Must not be duplicated.
        const NOT_DUPLICABLE = 1 << 26;
        /// May raise a floating point exception.
        const MAY_RAISE_FP = 1 << 27;
        /// May carry a predicate.
        const PREDICABLE = 1 << 28;
        /// Variadic operands are results.
        const VARIADIC_DEFS = 1 << 29;
        /// Exists only before instruction selection.
        const PRE_ISEL = 1 << 30;
    }

    /// Flags of a symbol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SymbolFlags: u32 {
        /// Its contents never change.
        const CONSTANT = 1 << 0;
        /// Defined elsewhere.
        const DECLARATION = 1 << 1;
        /// Not visible outside the module.
        const INTERNAL = 1 << 2;
    }

    /// Flags of a stack object.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FrameFlags: u32 {
        /// No longer used.
        const DEAD = 1 << 0;
        /// A register's spill slot.
        const SPILL = 1 << 1;
        /// Its size is known only at run time.
        const VARIABLE_SIZE = 1 << 2;
        /// Never written by the function.
        const IMMUTABLE = 1 << 3;
        /// Reachable through pointers.
        const ALIASED = 1 << 4;
    }
}
