// The snapshot's records. `abi.rs` makes Rust types of them, and `cpp-shim/abi_header.rs` the
// declarations in C: each item has its name in C, or what the names of its values begin with, and
// each field its offset, value or bit.

abi! {
    constants Numbers = "ORIEL", u32 {
        /// Changes whenever a record changes; also the version of the snapshot file format.
        3 ABI_VERSION,
        /// Edge probabilities are numerators over this denominator.
        0x8000_0000 PROBABILITY_DENOMINATOR,
        /// The probability of an edge for which LLVM has none.
        0xFFFF_FFFF PROBABILITY_UNKNOWN,
        /// How many kinds of operands there are.
        12 OPERAND_KINDS,
        /// All flags of operands.
        0x1FF OPERAND_FLAGS,
        /// How many bits of [`RegisterOperandRecord::place`] say what the access is.
        3 ACCESS_BITS,
        /// These bits.
        7 ACCESS_MASK,
    }

    /// Where in code generation the function was exported.
    c_enum Stage = "ORIEL_STAGE" {
        /// After LLVM's machine SSA passes, with PHIs.
        0 Ssa,
        /// After scheduling and stack slot colouring, without PHIs.
        1 Late,
    }

    /// What an operand is, and the meaning of its `index` and `value`.
    c_enum OperandKind = "ORIEL_OPERAND" {
        /// `index`: virtual register.
        0 Register,
        /// LLVM's `$noreg`.
        1 NoRegister,
        /// `index`: physical register table.
        2 Physical,
        /// `value`.
        3 Immediate,
        /// `index`: constant table.
        4 Constant,
        /// `index`: block.
        5 Block,
        /// `index`: frame object table.
        6 FrameIndex,
        /// `index`: symbol table; `value`: offset in bytes.
        7 Symbol,
        /// `index`: debug variable table.
        8 Variable,
        /// Other metadata; opaque.
        9 Metadata,
        /// Any other kind; `value` is LLVM's number of it.
        10 Opaque,
        /// In plans only: operand `value` of input instruction `index`, as it is.
        11 Original,
    }

    /// What an instruction does to a virtual register.
    c_enum Access = "ORIEL_ACCESS" {
        /// Reads it.
        0 Read,
        /// Reads it before the instruction's early-clobber results are written: the operand is tied
        /// to one of them.
        1 ReadEarly,
        /// Defines it.
        2 Define,
        /// Defines it before the instruction's inputs are read.
        3 DefineEarly,
        /// Neither reads nor defines it: an undefined use.
        4 Mention,
        /// A PHI reads it, at the end of the block that the next record names.
        5 ReadByPhi,
        /// No register: the block that the PHI's operand before it comes from, be it read or
        /// undefined.
        6 FromBlock,
    }

    /// The register file that a class belongs to.
    c_enum RegisterFile = "ORIEL_FILE" {
        /// Data registers.
        0 General,
        /// One-bit predicates.
        1 Predicate,
        /// Frame and environment pointers.
        2 Special,
    }

    /// The format of a constant.
    c_enum ConstantKind = "ORIEL_CONSTANT" {
        /// An integer wider than 64 bits.
        0 Integer,
        /// IEEE binary16.
        1 Half,
        /// bfloat16.
        2 Bfloat,
        /// IEEE binary32.
        3 Single,
        /// IEEE binary64.
        4 Double,
        /// Another format, or wider than 128 bits: the value is not recorded.
        5 Other,
    }

    /// What a symbol names.
    c_enum SymbolKind = "ORIEL_SYMBOL" {
        /// A global variable.
        0 Variable,
        /// A function.
        1 Function,
        /// A bare name, such as a call prototype.
        2 External,
        /// Aliases and block addresses.
        3 Other,
    }

    /// Properties of a function.
    flags FunctionFlags = "ORIEL_FUNCTION", u32 {
        /// Entry point, not a device function.
        0 KERNEL,
        /// One definition per register.
        1 SSA,
        /// No PHI instruction is left.
        2 NO_PHIS,
        /// Block frequencies are known.
        3 FREQUENCIES,
        /// Has debug information.
        4 DEBUG_INFO,
        /// `optsize` or `minsize`.
        5 OPT_SIZE,
        /// Carries the attribute `convergent`.
        6 CONVERGENT,
        /// The SM name ends in `a`.
        7 ARCH_SPECIFIC,
        /// The SM name ends in `f`.
        8 FAMILY_SPECIFIC,
        /// The module's PTX tells ptxas to compile for a debugger.
        9 FOR_DEBUGGER,
        /// A call by address may reach it, as far as the module shows.
        10 ADDRESS_TAKEN,
    }

    /// Properties of a block.
    flags BlockFlags = "ORIEL_BLOCK", u32 {
        /// Something takes its address.
        0 ADDRESS_TAKEN,
        /// Its label must be emitted.
        1 LABEL_USED,
        /// An exception landing pad.
        2 LANDING_PAD,
        /// Metadata of its branch forbids to unroll the loop that it closes.
        3 NO_UNROLL,
    }

    /// What holds for one instruction beyond its opcode's flags.
    flags Behavior = "ORIEL_BEHAVIOR", u32 {
        /// Labels, markers or sections are attached that only LLVM can copy.
        0 ATTACHMENTS,
        /// Inline assembly with side effects.
        1 ASM_SIDE_EFFECTS,
        /// Inline assembly that may load.
        2 ASM_MAY_LOAD,
        /// Inline assembly that may store.
        3 ASM_MAY_STORE,
        /// Inline assembly that is convergent.
        4 ASM_CONVERGENT,
    }

    /// Flags of an operand; only IMPLICIT may stand on one that is no register.
    flags OperandFlags = "ORIEL_OPERAND", u16 {
        /// The instruction writes it.
        0 DEF,
        /// Not among the operands written in assembly.
        1 IMPLICIT,
        /// Last use on the path, as LLVM saw it.
        2 KILL,
        /// The result is never read.
        3 DEAD,
        /// The value read does not matter.
        4 UNDEF,
        /// Written before the inputs are read.
        5 EARLY_CLOBBER,
        /// A use by a debug value: no use at all for code generation.
        6 DEBUG,
        /// Reads a value defined inside the same bundle.
        7 INTERNAL_READ,
        /// The physical register may be renamed.
        8 RENAMABLE,
    }

    /// Flags of a memory operand.
    flags MemoryFlags = "ORIEL_MEMORY", u16 {
        /// Reads memory.
        0 LOAD,
        /// Writes memory.
        1 STORE,
        /// Must stay exactly as it is.
        2 VOLATILE,
        /// Is not expected to be used again soon.
        3 NON_TEMPORAL,
        /// Cannot trap.
        4 DEREFERENCEABLE,
        /// Reads memory that never changes while the function runs.
        5 INVARIANT,
        /// Atomic, with the orderings given.
        6 ATOMIC,
        /// `size_bytes` is valid.
        7 SIZE_KNOWN,
    }

    /// Flags of a register.
    flags RegisterFlags = "ORIEL_REGISTER", u16 {
        /// No operand mentions it.
        0 UNUSED,
        /// It has several definitions; see [`ChainedOperandRecord`].
        1 CHAINED,
    }

    /// Flags of an opcode, from LLVM's instruction description.
    flags OpcodeFlags = "ORIEL_OPCODE", u32 {
        /// PHI.
        0 PHI,
        /// COPY.
        1 COPY,
        /// IMPLICIT_DEF.
        2 IMPLICIT_DEF,
        /// INLINEASM.
        3 INLINE_ASM,
        /// DBG_VALUE and its relatives.
        4 DEBUG,
        /// Labels and CFI.
        5 POSITION,
        /// Emits no instruction.
        6 META,
        /// Expanded later.
        7 PSEUDO,
        /// Takes further operands.
        8 VARIADIC,
        /// May read memory.
        9 MAY_LOAD,
        /// May write memory.
        10 MAY_STORE,
        /// Has effects that nothing else describes.
        11 SIDE_EFFECTS,
        /// Depends on which threads run together.
        12 CONVERGENT,
        /// Ends a block.
        13 TERMINATOR,
        /// Control never falls through.
        14 BARRIER,
        /// May branch.
        15 BRANCH,
        /// Branches through a value.
        16 INDIRECT_BRANCH,
        /// Returns.
        17 RETURN,
        /// Calls.
        18 CALL,
        /// Two operands may be exchanged.
        19 COMMUTABLE,
        /// Compares.
        20 COMPARE,
        /// Selects between operands.
        21 SELECT,
        /// Moves an immediate.
        22 MOVE_IMMEDIATE,
        /// Moves a register.
        23 MOVE_REGISTER,
        /// May be computed again instead of kept.
        24 REMATERIALIZABLE,
        /// As cheap as a move.
        25 CHEAP,
        /// Must not be duplicated.
        26 NOT_DUPLICABLE,
        /// May raise a floating point exception.
        27 MAY_RAISE_FP,
        /// May carry a predicate.
        28 PREDICABLE,
        /// Variadic operands are results.
        29 VARIADIC_DEFS,
        /// Exists only before instruction selection.
        30 PRE_ISEL,
    }

    /// Flags of a symbol.
    flags SymbolFlags = "ORIEL_SYMBOL", u32 {
        /// Its contents never change.
        0 CONSTANT,
        /// Defined elsewhere.
        1 DECLARATION,
        /// Not visible outside the module.
        2 INTERNAL,
    }

    /// Flags of a stack object.
    flags FrameFlags = "ORIEL_FRAME", u32 {
        /// No longer used.
        0 DEAD,
        /// A register's spill slot.
        1 SPILL,
        /// Its size is known only at run time.
        2 VARIABLE_SIZE,
        /// Never written by the function.
        3 IMMUTABLE,
        /// Reachable through pointers.
        4 ALIASED,
    }

    /// A piece of the string bytes.
    record StringRecord = "OrielString", 8 {
        0 offset: u32,
        4 length: u32,
    }

    /// What is known of the function as a whole; zero means "not given" where a value is optional.
    record FunctionRecord = "OrielFunction", 120 {
        0 module: StringRecord,
        8 name: StringRecord,
        16 triple: StringRecord,
        24 cpu: StringRecord,
        /// Unit of the block frequencies; 0: unknown.
        32 entry_frequency: u64,
        /// ORIEL_ABI_VERSION.
        40 abi_version: u32,
        /// See [`Stage`].
        44 stage: u32,
        /// See [`FunctionFlags`].
        48 flags: u32,
        /// Compute capability times ten: 80 for sm_80.
        52 sm: u32,
        /// PTX ISA version times ten; zero if none was asked for and LLVM takes its default.
        56 ptx_version: u32,
        /// 0 to 3.
        60 optimization_level: u32,
        /// 32 or 64.
        64 pointer_bits: u32,
        /// `.maxntid`; 0: not given.
        68 max_threads: [u32; 3],
        /// `.reqntid`; 0: not given.
        80 required_threads: [u32; 3],
        /// `.reqnctapercluster`; 0: not given.
        92 cluster_size: [u32; 3],
        /// `.maxclusterrank`; 0: not given.
        104 max_cluster_rank: u32,
        /// `.minnctapersm`; 0: not given.
        108 min_blocks_per_sm: u32,
        /// `.maxnreg`; 0: not given.
        112 max_registers: u32,
        /// Frame objects that LLVM numbers below zero.
        116 fixed_frame_objects: u32,
    }

    /// A basic block.
    record BlockRecord = "OrielBlock", 40 {
        0 first_instruction: u32,
        /// Into the edges.
        4 first_successor: u32,
        /// LLVM's number: `%bb.N`.
        8 number: u32,
        /// See [`BlockFlags`].
        12 flags: u32,
        /// Relative to entry_frequency; 0: unknown.
        16 frequency: u64,
        /// Of the IR block; may be empty.
        24 name: StringRecord,
        32 log2_alignment: u32,
        /// Into the predecessors.
        36 first_predecessor: u32,
    }

    /// A CFG edge; the same successor may occur more than once.
    record EdgeRecord = "OrielEdge", 8 {
        0 block: u32,
        /// Numerator over [`PROBABILITY_DENOMINATOR`], or [`PROBABILITY_UNKNOWN`].
        4 probability: u32,
    }

    /// A machine instruction.
    record InstructionRecord = "OrielInstruction", 24 {
        /// Into the snapshot's opcode table.
        0 opcode: u32,
        4 first_operand: u32,
        8 first_memory_operand: u32,
        /// One-based location.
        12 location: u32,
        /// Bits of `llvm::MachineInstr::MIFlag`.
        16 flags: u32,
        /// See [`Behavior`].
        20 behavior: u32,
    }

    /// An operand; what `index` and `value` mean is up to the kind, see [`OperandKind`].
    record OperandRecord = "OrielOperand", 16 {
        /// See [`OperandKind`].
        0 kind: u8,
        /// Operand number that this one is tied to, one-based.
        1 tied_to: u8,
        /// See [`OperandFlags`].
        2 flags: u16,
        /// By kind.
        4 index: u32,
        /// By kind.
        8 value: i64,
    }

    /// One memory access of an instruction.
    record MemoryOperandRecord = "OrielMemoryOperand", 40 {
        /// Valid with [`MemoryFlags::SIZE_KNOWN`].
        0 size_bytes: u64,
        /// From the base value, in bytes.
        8 offset: i64,
        /// One-based identity of the IR value (or frame object) at the base: equal numbers within a
        /// function mean the same address. Zero for a value that may have several in one run.
        16 base_value: u32,
        /// One-based symbol, where the base is a global with memory of its own.
        20 base_symbol: u32,
        24 address_space: u32,
        /// See [`MemoryFlags`].
        28 flags: u16,
        30 log2_alignment: u8,
        /// `llvm::AtomicOrdering`.
        31 success_ordering: u8,
        /// `llvm::AtomicOrdering`.
        32 failure_ordering: u8,
        /// `llvm::SyncScope::ID`.
        33 sync_scope: u8,
        34 reserved: u16,
        36 reserved2: u32,
    }

    /// A virtual register.
    record RegisterRecord = "OrielRegister", 4 {
        /// Into the register classes.
        0 register_class: u16,
        /// See [`RegisterFlags`].
        2 flags: u16,
    }

    /// A virtual register that an instruction mentions, which is no debug instruction: all that
    /// liveness depends on, in the order of instructions and operands.
    record RegisterOperandRecord = "OrielRegisterOperand", 8 {
        /// The register; with [`Access::FromBlock`] a block.
        0 index: u32,
        /// The instruction, shifted left by [`ACCESS_BITS`], and the [`Access`].
        4 place: u32,
    }

    /// An operand of a register with several definitions; all of them are listed in the order in
    /// which LLVM chains them, which is the order in which it numbers values.
    record ChainedOperandRecord = "OrielChainedOperand", 8 {
        0 register: u32,
        /// Position in the list of register operands.
        4 register_operand: u32,
    }

    /// A register class of the target.
    record RegisterClassRecord = "OrielRegisterClass", 16 {
        0 name: StringRecord,
        8 bits: u32,
        /// See [`RegisterFile`].
        12 file: u32,
    }

    /// An opcode that the function uses.
    record OpcodeRecord = "OrielOpcode", 28 {
        /// LLVM's: `ADD32rr`.
        0 name: StringRecord,
        /// See [`OpcodeFlags`].
        8 flags: u32,
        /// Declared operands, without variadic ones.
        12 operands: u16,
        /// Of these, results.
        14 definitions: u16,
        /// LLVM's number; changes from version to version.
        16 llvm_opcode: u32,
        /// Of an opcode that LLVM gives a number for a name: PTX mnemonic and a letter for each
        /// operand (`p` a predicate, `r` another register, `i` an immediate). Otherwise empty.
        20 mnemonic: StringRecord,
    }

    /// A constant that does not fit an immediate operand.
    record ConstantRecord = "OrielConstant", 24 {
        0 low: u64,
        8 high: u64,
        /// See [`ConstantKind`].
        16 kind: u32,
        20 bits: u32,
    }

    /// A symbol that an operand or memory operand refers to.
    record SymbolRecord = "OrielSymbol", 32 {
        0 name: StringRecord,
        /// 0: unknown.
        8 size_bytes: u64,
        /// See [`SymbolKind`].
        16 kind: u32,
        /// See [`SymbolFlags`].
        20 flags: u32,
        24 address_space: u32,
        /// 0: unknown.
        28 alignment: u32,
    }

    /// A stack object.
    record FrameObjectRecord = "OrielFrameObject", 24 {
        0 size_bytes: u64,
        8 offset: i64,
        16 alignment: u32,
        /// See [`FrameFlags`].
        20 flags: u32,
    }

    /// A physical register that an operand mentions.
    record PhysicalRegisterRecord = "OrielPhysicalRegister", 16 {
        0 name: StringRecord,
        /// LLVM's.
        8 number: u32,
        12 reserved: u32,
    }

    /// A source position.
    record LocationRecord = "OrielLocation", 32 {
        0 file: StringRecord,
        /// The subprogram that contains it.
        8 function: StringRecord,
        16 line: u32,
        20 column: u32,
        /// One-based location of the call that this position was inlined at.
        24 inlined_at: u32,
        28 discriminator: u32,
    }

    /// A source variable that a debug value describes.
    record VariableRecord = "OrielVariable", 24 {
        0 name: StringRecord,
        /// The subprogram that contains it.
        8 function: StringRecord,
        16 line: u32,
        /// Parameter number from one; zero if it is not a parameter.
        20 argument: u32,
    }
}
