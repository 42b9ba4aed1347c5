//===- IntervalPasses.h - Passes on live intervals --------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_INTERVALPASSES_H
#define ORIEL_INTERVALPASSES_H

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachinePassManager.h"

namespace oriel {

/// `oriel-check-intervals` for the new pass manager.
class CheckIntervalsNewPass
    : public llvm::PassInfoMixin<CheckIntervalsNewPass> {
public:
  llvm::PreservedAnalyses run(llvm::MachineFunction &MF,
                              llvm::MachineFunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

/// `print<oriel-live-intervals>` for the new pass manager.
class PrintIntervalsNewPass
    : public llvm::PassInfoMixin<PrintIntervalsNewPass> {
public:
  llvm::PreservedAnalyses run(llvm::MachineFunction &MF,
                              llvm::MachineFunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace oriel

#endif // ORIEL_INTERVALPASSES_H
