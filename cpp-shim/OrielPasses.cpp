//===- OrielPasses.cpp - Oriel's machine passes ---------------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `oriel-ssa` and `oriel-late` for both pass managers.
///
//===----------------------------------------------------------------------===//

#include "OrielPasses.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"

using namespace llvm;
using namespace oriel;

char OrielDriver::ID = 0;
char OrielSSA::ID = 0;
char OrielLate::ID = 0;

static PassRegistration<OrielDriver> RegisterDriver("oriel-driver",
                                                    "Oriel (driver)");
static PassRegistration<OrielSSA> RegisterSSA("oriel-ssa", "Oriel (SSA)");
static PassRegistration<OrielLate> RegisterLate("oriel-late", "Oriel (late)");

bool OrielPass::runOnMachineFunction(MachineFunction &MF) {
  if (skipFunction(MF.getFunction()))
    return false;
  auto *Frequencies =
      getAnalysisIfAvailable<MachineBlockFrequencyInfoWrapperPass>();
  return getAnalysis<OrielDriver>().Driver.run(
      MF, Stage, Frequencies ? &Frequencies->getMBFI() : nullptr);
}

void OrielPass::getAnalysisUsage(AnalysisUsage &Usage) const {
  Usage.addRequired<OrielDriver>();
  // Frequencies are used if LLVM has them; recomputing them would cost more
  // than they are worth. No other analysis is alive at either point that a
  // later pass would not recompute.
  Usage.addUsedIfAvailable<MachineBlockFrequencyInfoWrapperPass>();
  MachineFunctionPass::getAnalysisUsage(Usage);
}

template <OrielStage Stage>
PreservedAnalyses
OrielNewPass<Stage>::run(MachineFunction &MF,
                         MachineFunctionAnalysisManager &Analyses) {
  const MachineBlockFrequencyInfo *Frequencies =
      Analyses.getCachedResult<MachineBlockFrequencyAnalysis>(MF);
  if (Driver->run(MF, Stage, Frequencies))
    return PreservedAnalyses::none();
  return PreservedAnalyses::all();
}

template class oriel::OrielNewPass<ORIEL_STAGE_SSA>;
template class oriel::OrielNewPass<ORIEL_STAGE_LATE>;
