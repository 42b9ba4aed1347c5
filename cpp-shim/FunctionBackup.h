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

/// A copy of a function's body, taken before a plan is applied, in case the
/// result does not pass LLVM's verifier. It relies on the blocks: no original
/// one may be deleted before restore().
class FunctionBackup {
public:
  explicit FunctionBackup(llvm::MachineFunction &MF);
  FunctionBackup(const FunctionBackup &) = delete;
  FunctionBackup &operator=(const FunctionBackup &) = delete;
  ~FunctionBackup();

  /// Restores the function to the state of the backup: block order and numbers,
  /// edges, instructions, and the order of every register's operands.
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
