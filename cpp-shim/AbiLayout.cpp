//===- AbiLayout.cpp - Asserts the layout of the ABI's records ------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The numbers in `crates/engine/src/snapshot/abi.rs` and `crates/ori/src/plan/abi.rs`, once more. No
/// record may have padding: files hold these bytes.
///
//===----------------------------------------------------------------------===//

#include "oriel_abi.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <type_traits>

#define ORIEL_SIZE(Record, Size)                                               \
  static_assert(sizeof(Record) == (Size), #Record " has another size");        \
  static_assert(std::has_unique_object_representations_v<Record>,              \
                #Record " has padding")
#define ORIEL_OFFSET(Record, Field, Offset)                                    \
  static_assert(offsetof(Record, Field) == (Offset),                           \
                #Record "::" #Field " is elsewhere")

ORIEL_SIZE(OrielString, 8);

ORIEL_SIZE(OrielFunction, 120);
ORIEL_OFFSET(OrielFunction, cpu, 24);
ORIEL_OFFSET(OrielFunction, entry_frequency, 32);
ORIEL_OFFSET(OrielFunction, abi_version, 40);
ORIEL_OFFSET(OrielFunction, stage, 44);
ORIEL_OFFSET(OrielFunction, flags, 48);
ORIEL_OFFSET(OrielFunction, sm, 52);
ORIEL_OFFSET(OrielFunction, ptx_version, 56);
ORIEL_OFFSET(OrielFunction, optimization_level, 60);
ORIEL_OFFSET(OrielFunction, pointer_bits, 64);
ORIEL_OFFSET(OrielFunction, max_threads, 68);
ORIEL_OFFSET(OrielFunction, required_threads, 80);
ORIEL_OFFSET(OrielFunction, cluster_size, 92);
ORIEL_OFFSET(OrielFunction, max_cluster_rank, 104);
ORIEL_OFFSET(OrielFunction, min_blocks_per_sm, 108);
ORIEL_OFFSET(OrielFunction, max_registers, 112);
ORIEL_OFFSET(OrielFunction, fixed_frame_objects, 116);

ORIEL_SIZE(OrielBlock, 40);
ORIEL_OFFSET(OrielBlock, first_instruction, 0);
ORIEL_OFFSET(OrielBlock, first_successor, 4);
ORIEL_OFFSET(OrielBlock, number, 8);
ORIEL_OFFSET(OrielBlock, flags, 12);
ORIEL_OFFSET(OrielBlock, frequency, 16);
ORIEL_OFFSET(OrielBlock, name, 24);
ORIEL_OFFSET(OrielBlock, log2_alignment, 32);
ORIEL_OFFSET(OrielBlock, first_predecessor, 36);

ORIEL_SIZE(OrielEdge, 8);
ORIEL_OFFSET(OrielEdge, probability, 4);

ORIEL_SIZE(OrielInstruction, 24);
ORIEL_OFFSET(OrielInstruction, first_operand, 4);
ORIEL_OFFSET(OrielInstruction, first_memory_operand, 8);
ORIEL_OFFSET(OrielInstruction, location, 12);
ORIEL_OFFSET(OrielInstruction, flags, 16);
ORIEL_OFFSET(OrielInstruction, behavior, 20);

ORIEL_SIZE(OrielOperand, 16);
ORIEL_OFFSET(OrielOperand, tied_to, 1);
ORIEL_OFFSET(OrielOperand, flags, 2);
ORIEL_OFFSET(OrielOperand, index, 4);
ORIEL_OFFSET(OrielOperand, value, 8);

ORIEL_SIZE(OrielMemoryOperand, 40);
ORIEL_OFFSET(OrielMemoryOperand, offset, 8);
ORIEL_OFFSET(OrielMemoryOperand, base_value, 16);
ORIEL_OFFSET(OrielMemoryOperand, base_symbol, 20);
ORIEL_OFFSET(OrielMemoryOperand, address_space, 24);
ORIEL_OFFSET(OrielMemoryOperand, flags, 28);
ORIEL_OFFSET(OrielMemoryOperand, log2_alignment, 30);
ORIEL_OFFSET(OrielMemoryOperand, success_ordering, 31);
ORIEL_OFFSET(OrielMemoryOperand, failure_ordering, 32);
ORIEL_OFFSET(OrielMemoryOperand, sync_scope, 33);

ORIEL_SIZE(OrielRegister, 4);
ORIEL_OFFSET(OrielRegister, flags, 2);

ORIEL_SIZE(OrielRegisterOperand, 8);
ORIEL_OFFSET(OrielRegisterOperand, place, 4);

ORIEL_SIZE(OrielChainedOperand, 8);
ORIEL_OFFSET(OrielChainedOperand, register_operand, 4);

ORIEL_SIZE(OrielRegisterClass, 16);
ORIEL_OFFSET(OrielRegisterClass, bits, 8);
ORIEL_OFFSET(OrielRegisterClass, file, 12);

ORIEL_SIZE(OrielOpcode, 28);
ORIEL_OFFSET(OrielOpcode, flags, 8);
ORIEL_OFFSET(OrielOpcode, operands, 12);
ORIEL_OFFSET(OrielOpcode, definitions, 14);
ORIEL_OFFSET(OrielOpcode, llvm_opcode, 16);
ORIEL_OFFSET(OrielOpcode, mnemonic, 20);

ORIEL_SIZE(OrielConstant, 24);
ORIEL_OFFSET(OrielConstant, high, 8);
ORIEL_OFFSET(OrielConstant, kind, 16);
ORIEL_OFFSET(OrielConstant, bits, 20);

ORIEL_SIZE(OrielSymbol, 32);
ORIEL_OFFSET(OrielSymbol, size_bytes, 8);
ORIEL_OFFSET(OrielSymbol, kind, 16);
ORIEL_OFFSET(OrielSymbol, flags, 20);
ORIEL_OFFSET(OrielSymbol, address_space, 24);
ORIEL_OFFSET(OrielSymbol, alignment, 28);

ORIEL_SIZE(OrielFrameObject, 24);
ORIEL_OFFSET(OrielFrameObject, offset, 8);
ORIEL_OFFSET(OrielFrameObject, alignment, 16);
ORIEL_OFFSET(OrielFrameObject, flags, 20);

ORIEL_SIZE(OrielPhysicalRegister, 16);
ORIEL_OFFSET(OrielPhysicalRegister, number, 8);

ORIEL_SIZE(OrielLocation, 32);
ORIEL_OFFSET(OrielLocation, function, 8);
ORIEL_OFFSET(OrielLocation, line, 16);
ORIEL_OFFSET(OrielLocation, column, 20);
ORIEL_OFFSET(OrielLocation, inlined_at, 24);
ORIEL_OFFSET(OrielLocation, discriminator, 28);

ORIEL_SIZE(OrielVariable, 24);
ORIEL_OFFSET(OrielVariable, function, 8);
ORIEL_OFFSET(OrielVariable, line, 16);
ORIEL_OFFSET(OrielVariable, argument, 20);

ORIEL_SIZE(OrielSnapshot, 120 + 18 * 8 + 18 * 4);
ORIEL_OFFSET(OrielSnapshot, blocks, 120);
ORIEL_OFFSET(OrielSnapshot, block_count, 264);

ORIEL_SIZE(OrielPlanInstruction, 24);
ORIEL_OFFSET(OrielPlanInstruction, source, 4);
ORIEL_OFFSET(OrielPlanInstruction, opcode, 8);
ORIEL_OFFSET(OrielPlanInstruction, first_operand, 12);
ORIEL_OFFSET(OrielPlanInstruction, first_merged, 16);

ORIEL_SIZE(OrielPlanBlock, 16);
ORIEL_OFFSET(OrielPlanBlock, origin, 4);
ORIEL_OFFSET(OrielPlanBlock, first_instruction, 8);
ORIEL_OFFSET(OrielPlanBlock, first_successor, 12);

ORIEL_SIZE(OrielPlan, 10 * 8 + 12 * 4);
ORIEL_OFFSET(OrielPlan, constants, 56);
ORIEL_OFFSET(OrielPlan, removed_frame_objects, 64);
ORIEL_OFFSET(OrielPlan, block_count, 80);
ORIEL_OFFSET(OrielPlan, removed_frame_object_count, 120);

// Instruction flags are handed over as they are.
static_assert(llvm::MachineInstr::FmNoNans == 1u << 4 &&
                  llvm::MachineInstr::FmReassoc == 1u << 10 &&
                  llvm::MachineInstr::NoUWrap == 1u << 11 &&
                  llvm::MachineInstr::IsExact == 1u << 13 &&
                  llvm::MachineInstr::Disjoint == 1u << 19 &&
                  llvm::MachineInstr::LRSplit == 1u << 23,
              "LLVM renumbered its instruction flags");
