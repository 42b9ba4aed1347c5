//===- ExportCode.h - Blocks, instructions and operands ---------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORTCODE_H
#define ORIEL_EXPORTCODE_H

#include "ExportTables.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"

namespace llvm {
class Value;
} // namespace llvm

namespace oriel {

/// How much of a function an export carries.
enum class ExportScope {
  /// The input of live intervals only: blocks and edges, which instructions are
  /// PHIs or debug instructions, registers and the accesses of instructions to
  /// them. The function has only a name, and instructions have no other
  /// operands.
  Liveness,
  /// The same, and the properties of the function that limit its registers.
  Pressure,
  /// The complete function.
  Whole,
};

/// Walks the code of a machine function once and fills the snapshot's arrays.
class CodeExporter : public SnapshotTables {
public:
  /// The exported blocks by snapshot number.
  llvm::ArrayRef<llvm::MachineBasicBlock *> blocks() const {
    return BlockPointers;
  }

  /// The exported instructions by snapshot number.
  llvm::ArrayRef<llvm::MachineInstr *> instructions() const {
    return InstructionPointers;
  }

protected:
  void clear();
  void publish();
  bool exportRegisters(const llvm::MachineFunction &MF);
  void exportBlocks(llvm::MachineFunction &MF);
  void
  exportBlockProperties(const llvm::MachineBlockFrequencyInfo *Frequencies);
  void exportLivenessOpcodes();
  template <ExportScope Scope> bool exportCode();
  /// Marks and lists the registers with several definitions.
  void markChainedRegisters();
  void exportBases();

  llvm::SmallVector<OrielRegisterOperand, 0> RegisterOperands;
  llvm::SmallVector<OrielRegister, 0> Registers;
  /// Those with several definitions, in ascending order.
  llvm::SmallVector<uint32_t, 0> ChainedRegisters;
  llvm::SmallVector<llvm::MachineInstr *, 0> InstructionPointers;

private:
  template <ExportScope Scope> void reserveCode();

  /// Values of IsDefined.
  enum : uint8_t { NotDefined = 0, DefinedOnce = 1, DefinedAgain = 3 };

  uint32_t livenessOpcode(const llvm::MachineInstr &MI);
  bool exportRegisterOperands(const llvm::MachineInstr &MI);
  bool exportPhiOperands(const llvm::MachineInstr &MI, uint32_t Place);
  void exportInstruction(const llvm::MachineInstr &MI);
  void exportRegisterOperand(const llvm::MachineInstr &MI,
                             const llvm::MachineOperand &MO,
                             OrielOperand &Operand);
  void exportOtherOperand(const llvm::MachineOperand &MO,
                          OrielOperand &Operand);
  void exportMemoryOperand(const llvm::MachineMemOperand &MMO);

  /// Records an operand of \p Register, without a branch on whether it is a
  /// definition.
  void noteDefinition(uint32_t Register, bool IsDefinition) {
    uint8_t &State = IsDefined[Register];
    State |= IsDefinition << (State & DefinedOnce);
  }

  // Unlike std::vector, these grow by realloc, which moves large arrays without
  // touching them, and reserve memory without filling it.
  llvm::SmallVector<OrielBlock, 0> Blocks;
  llvm::SmallVector<OrielEdge, 0> Edges;
  llvm::SmallVector<uint32_t, 0> Predecessors;
  llvm::SmallVector<OrielInstruction, 0> Instructions;
  llvm::SmallVector<OrielOperand, 0> Operands;
  llvm::SmallVector<OrielMemoryOperand, 0> MemoryOperands;
  llvm::SmallVector<llvm::MachineBasicBlock *, 0> BlockPointers;

  /// Snapshot number of LLVM's block number.
  std::vector<uint32_t> BlockIndex;
  llvm::DenseMap<const void *, uint32_t> BaseValueIndex;
  /// The IR values at the bases of memory operands, by number; null if none.
  llvm::SmallVector<const llvm::Value *, 0> BaseValues;
  /// The definitions seen so far of each register.
  std::vector<uint8_t> IsDefined;
};

} // namespace oriel

#endif // ORIEL_EXPORTCODE_H
