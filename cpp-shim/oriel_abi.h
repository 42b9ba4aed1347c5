//===- oriel_abi.h - The C ABI between LLVM and the Rust library ----------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Flat, pointer-free records that carry one machine function out of LLVM (the
/// snapshot) and the answer back (the plan). `crates/engine/src/snapshot/abi.rs` and
/// `crates/ori/src/plan/abi.rs` declare the same records in Rust; sizes and offsets are
/// asserted on both sides.
///
/// Conventions
///  - Every record consists of fixed-width integers without padding.
///  - A record `X` that owns a range of records `Y` has only the field
///    `first_y`. Its range ends where the next `X` begins; each such array has
///    one sentinel record past its last element.
///  - A field documented as "1-based" is an index plus one; zero means "none".
///  - Nothing in the arrays outlives the call that passes them.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_ABI_H
#define ORIEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Changes whenever a record below changes. Also the version of the snapshot
/// file format.
#define ORIEL_ABI_VERSION 3u

/// Edge probabilities are numerators over this denominator.
#define ORIEL_PROBABILITY_DENOMINATOR 0x80000000u
/// The probability of an edge for which LLVM has none.
#define ORIEL_PROBABILITY_UNKNOWN 0xFFFFFFFFu

/// A piece of the snapshot's (or plan's) string bytes; not zero-terminated.
typedef struct OrielString {
  uint32_t offset;
  uint32_t length;
} OrielString;

//===----------------------------------------------------------------------===//
// Snapshot
//===----------------------------------------------------------------------===//

/// Where in code generation the function was exported.
enum OrielStage {
  ORIEL_STAGE_SSA = 0,  ///< After LLVM's machine SSA passes; PHIs are there.
  ORIEL_STAGE_LATE = 1, ///< After scheduling and stack slot colouring; no PHIs.
};

enum OrielFunctionFlag {
  ORIEL_FUNCTION_KERNEL = 1u << 0,      ///< Entry point, not a device function.
  ORIEL_FUNCTION_SSA = 1u << 1,         ///< One definition per register.
  ORIEL_FUNCTION_NO_PHIS = 1u << 2,     ///< No PHI instruction is left.
  ORIEL_FUNCTION_FREQUENCIES = 1u << 3, ///< Block frequencies are known.
  ORIEL_FUNCTION_DEBUG_INFO = 1u << 4,  ///< Has a DISubprogram.
  ORIEL_FUNCTION_OPT_SIZE = 1u << 5,    ///< `optsize` or `minsize`.
  ORIEL_FUNCTION_CONVERGENT = 1u << 6,  ///< Carries `convergent`.
  ORIEL_FUNCTION_ARCH_SPECIFIC = 1u << 7,   ///< SM name ends in `a`.
  ORIEL_FUNCTION_FAMILY_SPECIFIC = 1u << 8, ///< SM name ends in `f`.
};

/// What is known of the function as a whole.
typedef struct OrielFunction {
  OrielString module;
  OrielString name;
  OrielString triple;
  OrielString cpu;
  uint64_t entry_frequency; ///< Unit of the block frequencies; 0: unknown.
  uint32_t abi_version;     ///< ORIEL_ABI_VERSION.
  uint32_t stage;           ///< OrielStage.
  uint32_t flags;           ///< OrielFunctionFlag.
  uint32_t sm;              ///< Compute capability times ten: 80 for sm_80.
  /// PTX ISA version times ten: 83 for 8.3; 0: none asked for, LLVM's default.
  uint32_t ptx_version;
  uint32_t optimization_level;  ///< 0 to 3.
  uint32_t pointer_bits;        ///< 32 or 64.
  uint32_t max_threads[3];      ///< `.maxntid`; 0: not given.
  uint32_t required_threads[3]; ///< `.reqntid`; 0: not given.
  uint32_t cluster_size[3];     ///< `.reqnctapercluster`; 0: not given.
  uint32_t max_cluster_rank;    ///< `.maxclusterrank`; 0: not given.
  uint32_t min_blocks_per_sm;   ///< `.minnctapersm`; 0: not given.
  uint32_t max_registers;       ///< `.maxnreg`; 0: not given.
  uint32_t fixed_frame_objects; ///< Frame objects with a negative index.
} OrielFunction;

enum OrielBlockFlag {
  ORIEL_BLOCK_ADDRESS_TAKEN = 1u << 0,
  ORIEL_BLOCK_LABEL_USED = 1u << 1, ///< Label must be emitted.
  ORIEL_BLOCK_LANDING_PAD = 1u << 2,
};

/// A basic block, in layout order.
typedef struct OrielBlock {
  uint32_t first_instruction;
  uint32_t first_successor; ///< Into the edges.
  uint32_t number;          ///< LLVM's number: `%bb.N`.
  uint32_t flags;           ///< OrielBlockFlag.
  uint64_t frequency;       ///< Relative to entry_frequency; 0: unknown.
  OrielString name;         ///< Of the IR block; may be empty.
  uint32_t log2_alignment;
  uint32_t first_predecessor; ///< Into the predecessors.
} OrielBlock;

/// A CFG edge to `block`. The same successor may occur more than once.
typedef struct OrielEdge {
  uint32_t block;
  uint32_t probability; ///< Over ORIEL_PROBABILITY_DENOMINATOR, or unknown.
} OrielEdge;

/// What holds for one instruction beyond its opcode's flags.
enum OrielBehavior {
  /// Labels, markers or sections are attached that only LLVM can copy.
  ORIEL_BEHAVIOR_ATTACHMENTS = 1u << 0,
  // Inline assembly: what its operand string declares.
  ORIEL_BEHAVIOR_ASM_SIDE_EFFECTS = 1u << 1,
  ORIEL_BEHAVIOR_ASM_MAY_LOAD = 1u << 2,
  ORIEL_BEHAVIOR_ASM_MAY_STORE = 1u << 3,
  ORIEL_BEHAVIOR_ASM_CONVERGENT = 1u << 4,
};

/// An instruction. Its operands are LLVM's, in LLVM's order.
typedef struct OrielInstruction {
  uint32_t opcode; ///< Into the snapshot's opcode table.
  uint32_t first_operand;
  uint32_t first_memory_operand;
  uint32_t location; ///< Debug location, 1-based.
  uint32_t flags;    ///< llvm::MachineInstr::MIFlag.
  uint32_t behavior; ///< OrielBehavior.
} OrielInstruction;

enum OrielOperandKind {
  ORIEL_OPERAND_REGISTER = 0,    ///< index: virtual register.
  ORIEL_OPERAND_NO_REGISTER = 1, ///< `$noreg`.
  ORIEL_OPERAND_PHYSICAL = 2,    ///< index: physical register table.
  ORIEL_OPERAND_IMMEDIATE = 3,   ///< value.
  ORIEL_OPERAND_CONSTANT = 4,    ///< index: constant table.
  ORIEL_OPERAND_BLOCK = 5,       ///< index: block.
  ORIEL_OPERAND_FRAME_INDEX = 6, ///< index: frame object table.
  ORIEL_OPERAND_SYMBOL = 7,      ///< index: symbol table; value: offset.
  ORIEL_OPERAND_VARIABLE = 8,    ///< index: debug variable table.
  ORIEL_OPERAND_METADATA = 9,    ///< Other metadata; opaque.
  ORIEL_OPERAND_OPAQUE = 10,     ///< Any other kind; value: LLVM's number.
  /// Plan only. Operand `value` of input instruction `index`, as it is.
  ORIEL_OPERAND_ORIGINAL = 11,
};
#define ORIEL_OPERAND_KINDS 12u

/// Register operands carry all of these, other kinds IMPLICIT at most.
enum OrielOperandFlag {
  ORIEL_OPERAND_DEF = 1u << 0,
  ORIEL_OPERAND_IMPLICIT = 1u << 1,
  ORIEL_OPERAND_KILL = 1u << 2,
  ORIEL_OPERAND_DEAD = 1u << 3,
  ORIEL_OPERAND_UNDEF = 1u << 4,
  ORIEL_OPERAND_EARLY_CLOBBER = 1u << 5,
  ORIEL_OPERAND_DEBUG = 1u << 6,
  ORIEL_OPERAND_INTERNAL_READ = 1u << 7,
  ORIEL_OPERAND_RENAMABLE = 1u << 8,
};
#define ORIEL_OPERAND_FLAGS 0x1FFu

/// An operand.
typedef struct OrielOperand {
  uint8_t kind;    ///< OrielOperandKind.
  uint8_t tied_to; ///< Operand number tied to this one, 1-based; saturates.
  uint16_t flags;  ///< OrielOperandFlag.
  uint32_t index;  ///< By kind.
  int64_t value;   ///< By kind.
} OrielOperand;

enum OrielMemoryFlag {
  ORIEL_MEMORY_LOAD = 1u << 0,
  ORIEL_MEMORY_STORE = 1u << 1,
  ORIEL_MEMORY_VOLATILE = 1u << 2,
  ORIEL_MEMORY_NON_TEMPORAL = 1u << 3,
  ORIEL_MEMORY_DEREFERENCEABLE = 1u << 4,
  ORIEL_MEMORY_INVARIANT = 1u << 5,
  ORIEL_MEMORY_ATOMIC = 1u << 6,
  ORIEL_MEMORY_SIZE_KNOWN = 1u << 7,
};

/// One memory access of an instruction.
typedef struct OrielMemoryOperand {
  uint64_t size_bytes; ///< Valid with ORIEL_MEMORY_SIZE_KNOWN.
  int64_t offset;      ///< From the base value, in bytes.
  /// Identity of the IR value (or frame object) at the base, 1-based: equal
  /// numbers within a function mean the same base.
  uint32_t base_value;
  uint32_t base_symbol; ///< Symbol, if the base is a global, 1-based.
  uint32_t address_space;
  uint16_t flags; ///< OrielMemoryFlag.
  uint8_t log2_alignment;
  uint8_t success_ordering; ///< llvm::AtomicOrdering.
  uint8_t failure_ordering; ///< llvm::AtomicOrdering.
  uint8_t sync_scope;       ///< llvm::SyncScope::ID.
  uint16_t reserved;
  uint32_t reserved2;
} OrielMemoryOperand;

enum OrielRegisterFlag {
  ORIEL_REGISTER_UNUSED = 1u << 0,  ///< No operand mentions it.
  ORIEL_REGISTER_CHAINED = 1u << 1, ///< Several definitions: see below.
};

/// A virtual register; its index is LLVM's.
typedef struct OrielRegister {
  uint16_t register_class; ///< Into the register classes.
  uint16_t flags;          ///< OrielRegisterFlag.
} OrielRegister;

/// What an instruction does to a virtual register.
enum OrielAccess {
  ORIEL_ACCESS_READ = 0,
  /// Reads it before its early-clobber results are written: the operand is tied
  /// to one of them.
  ORIEL_ACCESS_READ_EARLY = 1,
  ORIEL_ACCESS_DEFINE = 2,
  ORIEL_ACCESS_DEFINE_EARLY = 3,
  /// Neither reads nor defines it: an undefined use.
  ORIEL_ACCESS_MENTION = 4,
  /// A PHI reads it, at the end of the block that the next record names.
  ORIEL_ACCESS_READ_BY_PHI = 5,
  /// Not a register: `index` is the block that the PHI's operand before it
  /// comes from, be it read or undefined.
  ORIEL_ACCESS_FROM_BLOCK = 6,
};
#define ORIEL_ACCESS_BITS 3u
#define ORIEL_ACCESS_MASK 7u

/// A virtual register that an instruction mentions, which is no debug
/// instruction. All that liveness depends on, in the order of instructions and
/// operands, without what lies between.
typedef struct OrielRegisterOperand {
  uint32_t index; ///< The register, or block.
  uint32_t place; ///< Instruction, shifted by ORIEL_ACCESS_BITS; OrielAccess.
} OrielRegisterOperand;

/// Registers with several definitions have all their register operands listed
/// in the order in which LLVM chains them: the order in which LLVM numbers
/// values.
typedef struct OrielChainedOperand {
  uint32_t virtual_register;
  uint32_t register_operand;
} OrielChainedOperand;

enum OrielRegisterFile {
  ORIEL_FILE_GENERAL = 0,
  ORIEL_FILE_PREDICATE = 1,
  ORIEL_FILE_SPECIAL = 2, ///< Frame and environment pointers.
};

/// A register class of the target.
typedef struct OrielRegisterClass {
  OrielString name;
  uint32_t bits;
  uint32_t file; ///< OrielRegisterFile.
} OrielRegisterClass;

enum OrielOpcodeFlag {
  ORIEL_OPCODE_PHI = 1u << 0,
  ORIEL_OPCODE_COPY = 1u << 1,
  ORIEL_OPCODE_IMPLICIT_DEF = 1u << 2,
  ORIEL_OPCODE_INLINE_ASM = 1u << 3,
  ORIEL_OPCODE_DEBUG = 1u << 4,    ///< DBG_VALUE and its relatives.
  ORIEL_OPCODE_POSITION = 1u << 5, ///< Labels and CFI.
  ORIEL_OPCODE_META = 1u << 6,     ///< Emits no instruction.
  ORIEL_OPCODE_PSEUDO = 1u << 7,
  ORIEL_OPCODE_VARIADIC = 1u << 8,
  ORIEL_OPCODE_MAY_LOAD = 1u << 9,
  ORIEL_OPCODE_MAY_STORE = 1u << 10,
  ORIEL_OPCODE_SIDE_EFFECTS = 1u << 11,
  ORIEL_OPCODE_CONVERGENT = 1u << 12,
  ORIEL_OPCODE_TERMINATOR = 1u << 13,
  ORIEL_OPCODE_BARRIER = 1u << 14, ///< Control never falls through.
  ORIEL_OPCODE_BRANCH = 1u << 15,
  ORIEL_OPCODE_INDIRECT_BRANCH = 1u << 16,
  ORIEL_OPCODE_RETURN = 1u << 17,
  ORIEL_OPCODE_CALL = 1u << 18,
  ORIEL_OPCODE_COMMUTABLE = 1u << 19,
  ORIEL_OPCODE_COMPARE = 1u << 20,
  ORIEL_OPCODE_SELECT = 1u << 21,
  ORIEL_OPCODE_MOVE_IMMEDIATE = 1u << 22,
  ORIEL_OPCODE_MOVE_REGISTER = 1u << 23,
  ORIEL_OPCODE_REMATERIALIZABLE = 1u << 24,
  ORIEL_OPCODE_CHEAP = 1u << 25,
  ORIEL_OPCODE_NOT_DUPLICABLE = 1u << 26,
  ORIEL_OPCODE_MAY_RAISE_FP = 1u << 27,
  ORIEL_OPCODE_PREDICABLE = 1u << 28,
  ORIEL_OPCODE_VARIADIC_DEFS = 1u << 29,
  ORIEL_OPCODE_PRE_ISEL = 1u << 30,
};

/// An opcode that the function uses.
typedef struct OrielOpcode {
  OrielString name;     ///< LLVM's: `ADD32rr`.
  uint32_t flags;       ///< OrielOpcodeFlag.
  uint16_t operands;    ///< Declared operands, without variadic ones.
  uint16_t definitions; ///< Of these, results.
  uint32_t llvm_opcode; ///< LLVM's number; changes from version to version.
  /// Of an opcode that LLVM gives a number for a name: PTX mnemonic and a
  /// letter for each operand, `redux.sync.add.s32 rrr`. Otherwise empty.
  OrielString mnemonic;
} OrielOpcode;

/// OrielConstant::kind.
enum OrielConstantKind {
  ORIEL_CONSTANT_INTEGER = 0, ///< Wider than 64 bits.
  ORIEL_CONSTANT_HALF = 1,
  ORIEL_CONSTANT_BFLOAT = 2,
  ORIEL_CONSTANT_SINGLE = 3,
  ORIEL_CONSTANT_DOUBLE = 4,
  ORIEL_CONSTANT_OTHER = 5, ///< Another format, or over 128 bits; no value.
};

/// A constant that does not fit an immediate operand.
typedef struct OrielConstant {
  uint64_t low;
  uint64_t high;
  uint32_t kind; ///< OrielConstantKind.
  uint32_t bits;
} OrielConstant;

enum OrielSymbolKind {
  ORIEL_SYMBOL_VARIABLE = 0,
  ORIEL_SYMBOL_FUNCTION = 1,
  ORIEL_SYMBOL_EXTERNAL = 2, ///< A bare name, such as a call prototype.
  ORIEL_SYMBOL_OTHER = 3,    ///< Aliases and block addresses.
};

enum OrielSymbolFlag {
  ORIEL_SYMBOL_CONSTANT = 1u << 0,
  ORIEL_SYMBOL_DECLARATION = 1u << 1,
  ORIEL_SYMBOL_INTERNAL = 1u << 2,
};

/// A symbol that an operand or a memory operand refers to.
typedef struct OrielSymbol {
  OrielString name;
  uint64_t size_bytes; ///< 0: unknown.
  uint32_t kind;       ///< OrielSymbolKind.
  uint32_t flags;      ///< OrielSymbolFlag.
  uint32_t address_space;
  uint32_t alignment; ///< 0: unknown.
} OrielSymbol;

enum OrielFrameFlag {
  ORIEL_FRAME_DEAD = 1u << 0,
  ORIEL_FRAME_SPILL = 1u << 1,
  ORIEL_FRAME_VARIABLE_SIZE = 1u << 2,
  ORIEL_FRAME_IMMUTABLE = 1u << 3,
  ORIEL_FRAME_ALIASED = 1u << 4,
};

/// A stack object. Object k has LLVM's frame index k - fixed_frame_objects.
typedef struct OrielFrameObject {
  uint64_t size_bytes;
  int64_t offset;
  uint32_t alignment;
  uint32_t flags; ///< OrielFrameFlag.
} OrielFrameObject;

/// A physical register that an operand mentions.
typedef struct OrielPhysicalRegister {
  OrielString name;
  uint32_t number; ///< LLVM's.
  uint32_t reserved;
} OrielPhysicalRegister;

/// A source position.
typedef struct OrielLocation {
  OrielString file;
  OrielString function; ///< The subprogram that contains it.
  uint32_t line;
  uint32_t column;
  uint32_t inlined_at; ///< Location of the call, 1-based.
  uint32_t discriminator;
} OrielLocation;

/// A source variable that a debug value describes.
typedef struct OrielVariable {
  OrielString name;
  OrielString function; ///< The subprogram that contains it.
  uint32_t line;
  uint32_t argument; ///< Parameter number from 1; 0: not a parameter.
} OrielVariable;

/// One machine function. Arrays marked + have a sentinel past their count.
typedef struct OrielSnapshot {
  OrielFunction function;
  const OrielBlock *blocks; ///< +
  const OrielEdge *edges;
  /// The source block of every edge, grouped by target block, each group in
  /// the order of LLVM's list: the order in which LLVM searches and numbers
  /// values. As many as there are edges.
  const uint32_t *predecessors;
  const OrielInstruction *instructions; ///< +
  const OrielOperand *operands;
  /// Not in files: they follow from the operands.
  const OrielRegisterOperand *register_operands;
  const OrielMemoryOperand *memory_operands;
  const OrielRegister *registers;
  /// Grouped by register, in ascending order.
  const OrielChainedOperand *chained_operands;
  const OrielRegisterClass *register_classes;
  const OrielOpcode *opcodes;
  const OrielConstant *constants;
  const OrielSymbol *symbols;
  const OrielFrameObject *frame_objects;
  const OrielPhysicalRegister *physical_registers;
  const OrielLocation *locations;
  const OrielVariable *variables;
  const char *strings;
  uint32_t block_count;
  uint32_t edge_count;
  uint32_t instruction_count;
  uint32_t operand_count;
  uint32_t register_operand_count;
  uint32_t memory_operand_count;
  uint32_t register_count;
  uint32_t chained_operand_count;
  uint32_t register_class_count;
  uint32_t opcode_count;
  uint32_t constant_count;
  uint32_t symbol_count;
  uint32_t frame_object_count;
  uint32_t physical_register_count;
  uint32_t location_count;
  uint32_t variable_count;
  uint32_t string_bytes;
  uint32_t reserved;
} OrielSnapshot;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

enum OrielPlanAction {
  /// Input instruction `source` as it is; no operands are given.
  ORIEL_ACTION_KEEP = 0,
  /// Input instruction `source` with the operands given here.
  ORIEL_ACTION_REPLACE = 1,
  /// A copy of input instruction `source`, which also stays available, with
  /// the operands given here.
  ORIEL_ACTION_CLONE = 2,
  /// A new instruction by opcode name. With a `source` it takes the place of
  /// that input instruction: its location, memory operands and those flags
  /// that hold for both.
  ORIEL_ACTION_NEW = 3,
};

/// An instruction of the new body.
typedef struct OrielPlanInstruction {
  uint32_t action; ///< OrielPlanAction.
  uint32_t source; ///< Input instruction, 1-based.
  uint32_t opcode; ///< NEW: into the plan's opcode names.
  uint32_t first_operand;
  /// Further input instructions that this one stands for. Their flags are
  /// intersected, memory operands and locations merged with its own.
  uint32_t first_merged;
  uint32_t reserved;
} OrielPlanInstruction;

/// A block of the new body, in layout order.
typedef struct OrielPlanBlock {
  /// Below the snapshot's block count: that block. From there on: new blocks,
  /// each number once and without gaps.
  uint32_t block;
  /// New blocks: the input block whose IR block and alignment it takes.
  uint32_t origin;
  uint32_t first_instruction;
  uint32_t first_successor;
} OrielPlanBlock;

/// What becomes of one function. Arrays marked + have a sentinel past their
/// count. Block and register numbers continue the snapshot's. An input
/// instruction that no KEEP, REPLACE or NEW names is deleted.
typedef struct OrielPlan {
  const OrielPlanBlock *blocks; ///< +
  const OrielEdge *successors;
  const OrielPlanInstruction *instructions; ///< +
  const OrielOperand *operands;
  const uint32_t *merged;          ///< Input instructions.
  const uint32_t *new_registers;   ///< Register class of each, an index.
  /// Names of NEW instructions' opcodes: LLVM's, or as OrielOpcode::mnemonic.
  const OrielString *opcode_names;
  /// Numbers that the snapshot does not have; their indices continue its.
  const OrielConstant *constants;
  /// Rows of the frame object table that nothing uses any more: the function
  /// loses them. Each once, in ascending order; no fixed object.
  const uint32_t *removed_frame_objects;
  const char *strings;
  uint32_t block_count;
  uint32_t successor_count;
  uint32_t instruction_count;
  uint32_t operand_count;
  uint32_t merged_count;
  uint32_t new_register_count;
  uint32_t opcode_name_count;
  uint32_t string_bytes;
  uint32_t abi_version; ///< ORIEL_ABI_VERSION.
  uint32_t constant_count;
  uint32_t removed_frame_object_count;
  uint32_t reserved;
} OrielPlan;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // ORIEL_ABI_H
