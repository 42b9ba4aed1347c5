//===- LLVMIntervals.h - LLVM's live intervals, to compare with -*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_LLVMINTERVALS_H
#define ORIEL_LLVMINTERVALS_H

#include "laboratory_ffi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include <vector>

namespace oriel {

/// LLVM's analyses of one function, each computed and timed separately.
class LLVMAnalyses {
public:
  explicit LLVMAnalyses(llvm::MachineFunction &MF);

  /// Recomputes everything, which invalidates references to earlier results,
  /// and fills in LLVM's times of \p Sample.
  llvm::LiveIntervals run(OrielBenchSample &Sample);

  llvm::SlotIndexes &indexes() { return *Indexes; }

private:
  llvm::MachineFunction &MF;
  llvm::MachineFunctionAnalysisManager Manager;
  llvm::SlotIndexes *Indexes = nullptr;
};

/// LLVM's intervals as flat arrays.
class FlatIntervals {
public:
  /// Converts an index to its number in the arrays.
  using Numbering = llvm::function_ref<uint32_t(llvm::SlotIndex)>;

  /// Instructions without an index, and null, have ORIEL_NONE.
  FlatIntervals(llvm::MachineFunction &MF, const llvm::LiveIntervals &Theirs,
                llvm::SlotIndexes &Indexes,
                llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks,
                llvm::ArrayRef<llvm::MachineInstr *> Instructions,
                Numbering Number);

  OrielLiveIntervals arrays() const;

private:
  void add(const llvm::LiveInterval &Interval, Numbering Number);

  std::vector<OrielLiveInterval> Intervals;
  std::vector<OrielLiveSegment> Segments;
  std::vector<uint32_t> Values;
  std::vector<uint32_t> InstructionNumbers;
  std::vector<uint32_t> BlockStarts;
};

} // namespace oriel

#endif // ORIEL_LLVMINTERVALS_H
