//===- PlanApplier.h - Applies a plan to a function -------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANAPPLIER_H
#define ORIEL_PLANAPPLIER_H

#include "Export.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineOperand.h"
#include <vector>

namespace oriel {

/// Applies a plan that a PlanChecker has accepted. Kept instructions are moved,
/// never copied: with an identity plan nothing changes, not even the order of
/// use lists.
class PlanApplier {
public:
  PlanApplier(llvm::MachineFunction &MF, const SnapshotExporter &Input,
              const OrielPlan &Plan, const std::vector<unsigned> &Opcodes)
      : MF(MF), Input(Input), Plan(Plan), Opcodes(Opcodes) {}

  /// Rebuilds the function's body. Blocks that the plan drops stay behind,
  /// empty and unconnected, so that a FunctionBackup can still restore them.
  void apply();

  /// Applies a plan that changes nothing; the function stays as it is.
  void rebuild();

  /// Finalises the result: deletes dropped blocks, updates jump tables and
  /// removes unused stack objects.
  void commit();

private:
  void createRegisters();
  void createBlocks();
  void prepareOperands();
  void gatherMergedProperties();
  void layOutBlocks();
  void placeInstructions();
  void deleteUnused();
  void connectBlocks();
  void updateJumpTables();
  void deleteDroppedBlocks();
  void removeFrameObjects();
  void repairFlags();

  llvm::SmallVector<llvm::MachineBasicBlock *, 4> droppedBlocks() const;
  llvm::MachineInstr *build(uint32_t Number);
  llvm::MachineInstr *buildNew(uint32_t Number);
  /// Remembers the registers that \p MI defines before it loses its definitions.
  void noteDefinitions(const llvm::MachineInstr &MI);
  void replaceOperands(llvm::MachineInstr &MI, uint32_t Number);
  /// The prepared operands of plan instruction \p Number.
  llvm::ArrayRef<llvm::MachineOperand> newOperands(uint32_t Number) const;
  llvm::MachineOperand makeConstant(uint32_t Index) const;
  llvm::MachineOperand makeOperand(const OrielOperand &Operand);
  llvm::Register registerFor(uint32_t Number) const;

  /// The properties that an instruction inherits from those that it represents,
  /// read before any of them changes.
  struct Inherited {
    llvm::DebugLoc Location;
    uint32_t Flags = 0;
    llvm::SmallVector<llvm::MachineMemOperand *, 2> MemoryOperands;
  };
  Inherited inherit(uint32_t Number) const;

  llvm::MachineFunction &MF;
  const SnapshotExporter &Input;
  const OrielPlan &Plan;
  const std::vector<unsigned> &Opcodes;

  /// Blocks by plan number: the input's and the new ones.
  std::vector<llvm::MachineBasicBlock *> Blocks;
  /// New registers, in the order of the plan.
  std::vector<llvm::Register> NewRegisters;
  /// LLVM's operand for each of the plan's operands.
  std::vector<llvm::MachineOperand> Operands;
  /// By plan number, for instructions that are new or represent several.
  llvm::DenseMap<uint32_t, Inherited> InheritedBy;
  /// The original instructions of clones, by plan number.
  llvm::DenseMap<uint32_t, llvm::MachineInstr *> CloneOf;
  /// The input instructions that stay.
  std::vector<bool> Stays;
  /// Virtual registers that lost a definition: debug values of those without
  /// another one become undefined.
  llvm::SmallVector<llvm::Register, 16> PerhapsUndefined;
};

} // namespace oriel

#endif // ORIEL_PLANAPPLIER_H
