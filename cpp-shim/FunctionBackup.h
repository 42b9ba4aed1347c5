//===- FunctionBackup.h - Puts a function back as it was --------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_FUNCTIONBACKUP_H
#define ORIEL_FUNCTIONBACKUP_H

#include "llvm/CodeGen/MachineFunction.h"
#include <vector>

namespace oriel {

/// A copy of a function's body, taken before a plan is applied, for the case
/// that the result does not pass LLVM's verifier. It relies on the blocks: none
/// that was there may be deleted before restore().
class FunctionBackup {
public:
  explicit FunctionBackup(llvm::MachineFunction &MF);
  FunctionBackup(const FunctionBackup &) = delete;
  FunctionBackup &operator=(const FunctionBackup &) = delete;
  ~FunctionBackup();

  /// Makes the function what it was when the backup was taken: block order and
  /// numbers, edges, instructions, and the order of every register's operands.
  void restore();

private:
  struct Block {
    llvm::MachineBasicBlock *MBB;
    std::vector<llvm::MachineInstr *> Copies;
    std::vector<std::pair<llvm::MachineBasicBlock *, llvm::BranchProbability>>
        Successors;
    std::vector<llvm::MachineBasicBlock *> Predecessors;
  };
  struct OperandPlace {
    llvm::MachineInstr *Copy;
    unsigned Number;
  };

  void restoreUseLists();

  llvm::MachineFunction &MF;
  std::vector<Block> Blocks;
  /// Each virtual register's operands in the order of LLVM's list.
  std::vector<std::vector<OperandPlace>> UseLists;
  bool Restored = false;
};

} // namespace oriel

#endif // ORIEL_FUNCTIONBACKUP_H
