//===- IntervalPasses.cpp - Passes on live intervals ----------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `oriel-live-intervals` prints Oriel's live intervals,
/// `oriel-check-intervals` compares them with LLVM's.
///
//===----------------------------------------------------------------------===//

#include "IntervalPasses.h"
#include "Oracle.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

namespace {

/// The work of a pass, on NVPTX functions only.
using Work = void (*)(MachineFunction &MF);

void check(MachineFunction &MF) { checkIntervals(MF, stageOf(MF)); }

void print(MachineFunction &MF) { printIntervals(MF, stageOf(MF), errs()); }

void runOnNVPTX(MachineFunction &MF, Work Work) {
  if (MF.getTarget().getTargetTriple().isNVPTX() && !MF.empty())
    Work(MF);
}

/// A pass for the legacy pass manager that changes nothing.
template <Work Work> class IntervalPass : public MachineFunctionPass {
public:
  static char ID;
  IntervalPass() : MachineFunctionPass(ID) {}

  bool runOnMachineFunction(MachineFunction &MF) override {
    runOnNVPTX(MF, Work);
    return false;
  }

  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(Usage);
  }
};

template <Work Work> char IntervalPass<Work>::ID = 0;

} // namespace

static RegisterPass<IntervalPass<check>>
    RegisterCheck("oriel-check-intervals",
                  "Compare Oriel's live intervals with LLVM's", false, true);
static RegisterPass<IntervalPass<print>>
    RegisterPrint("oriel-live-intervals", "Print Oriel's live intervals", false,
                  true);

PreservedAnalyses
CheckIntervalsNewPass::run(MachineFunction &MF,
                           MachineFunctionAnalysisManager &) {
  runOnNVPTX(MF, check);
  return PreservedAnalyses::all();
}

PreservedAnalyses
PrintIntervalsNewPass::run(MachineFunction &MF,
                           MachineFunctionAnalysisManager &) {
  runOnNVPTX(MF, print);
  return PreservedAnalyses::all();
}
