//===- IntervalPasses.cpp - Passes on live intervals ----------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `oriel-live-intervals` prints Oriel's live intervals,
/// `oriel-check-intervals` compares them with LLVM's, `oriel-check-updates`
/// compares updates of them. The last is for tests: it spoils the function.
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

void updates(MachineFunction &MF) { checkUpdates(MF, stageOf(MF)); }

void print(MachineFunction &MF) { printIntervals(MF, stageOf(MF), errs()); }

void runOnNVPTX(MachineFunction &MF, Work Work) {
  if (MF.getTarget().getTargetTriple().isNVPTX() && !MF.empty())
    Work(MF);
}

/// A pass for the legacy pass manager. Unless it \p Spoils functions it changes
/// nothing.
template <Work Work, bool Spoils = false>
class IntervalPass : public MachineFunctionPass {
public:
  static char ID;
  IntervalPass() : MachineFunctionPass(ID) {}

  bool runOnMachineFunction(MachineFunction &MF) override {
    runOnNVPTX(MF, Work);
    return Spoils;
  }

  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    if (!Spoils)
      Usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(Usage);
  }
};

template <Work Work, bool Spoils> char IntervalPass<Work, Spoils>::ID = 0;

} // namespace

static RegisterPass<IntervalPass<check>>
    RegisterCheck("oriel-check-intervals",
                  "Compare Oriel's live intervals with LLVM's", false, true);
static RegisterPass<IntervalPass<updates, /*Spoils=*/true>>
    RegisterUpdates("oriel-check-updates",
                    "Compare Oriel's updates of live intervals with LLVM's",
                    false, false);
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
