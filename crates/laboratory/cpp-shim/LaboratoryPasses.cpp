//===- LaboratoryPasses.cpp - Passes that check Oriel ---------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file `oriel-live-intervals` prints Oriel's live intervals,
/// `oriel-check-intervals` and `oriel-check-control-flow` compare with LLVM,
/// `oriel-check-updates` compares updates of live intervals and spoils the
/// function. The options for checks insert a pass before Oriel's.
///
//===----------------------------------------------------------------------===//

#include "LaboratoryPasses.h"
#include "ControlFlowOracle.h"
#include "Oracle.h"
#include "OrielPasses.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

/// The plug-in's static constructors read the table of options, so this runs
/// before any of them.
__attribute__((constructor(101))) static void install() {
  oriel_laboratory_install();
}

//===----------------------------------------------------------------------===//
// Passes by name
//===----------------------------------------------------------------------===//

namespace {

/// The work of a pass, on NVPTX functions only.
using Work = void (*)(MachineFunction &MF);

void intervals(MachineFunction &MF) { checkIntervals(MF, stageOf(MF)); }

void controlFlow(MachineFunction &MF) { checkControlFlow(MF, stageOf(MF)); }

void updates(MachineFunction &MF) { checkUpdates(MF, stageOf(MF)); }

void print(MachineFunction &MF) { printIntervals(MF, stageOf(MF), errs()); }

/// Does \p Work and returns true if the function has more registers afterwards:
/// when LLVM computes intervals, it gives parts of a register that are not
/// connected registers of their own.
bool splitsRegisters(MachineFunction &MF, function_ref<void()> Work) {
  unsigned Registers = MF.getRegInfo().getNumVirtRegs();
  Work();
  return MF.getRegInfo().getNumVirtRegs() != Registers;
}

bool runOnNVPTX(MachineFunction &MF, Work Work) {
  return MF.getTarget().getTargetTriple().isNVPTX() && !MF.empty() &&
         splitsRegisters(MF, [&] { Work(MF); });
}

/// A pass for the legacy pass manager. Unless it \p Spoils functions, it
/// changes nothing. A pass that may split registers spoils them.
template <Work Work, bool Spoils = false>
class LegacyPass : public MachineFunctionPass {
public:
  static char ID;
  LegacyPass() : MachineFunctionPass(ID) {}

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

template <Work Work, bool Spoils> char LegacyPass<Work, Spoils>::ID = 0;

/// The same for the new pass manager.
template <Work Work>
class NewPass : public PassInfoMixin<NewPass<Work>> {
public:
  PreservedAnalyses run(MachineFunction &MF, MachineFunctionAnalysisManager &) {
    return runOnNVPTX(MF, Work) ? PreservedAnalyses::none()
                                : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

static PassRegistration<LegacyPass<intervals, /*Spoils=*/true>>
    RegisterIntervals("oriel-check-intervals",
                      "Compare Oriel's live intervals with LLVM's", false,
                      false);
static PassRegistration<LegacyPass<controlFlow>>
    RegisterControlFlow("oriel-check-control-flow",
                        "Compare Ori's control flow with LLVM's", false, true);
static PassRegistration<LegacyPass<updates, /*Spoils=*/true>>
    RegisterUpdates("oriel-check-updates",
                    "Compare Oriel's updates of live intervals with LLVM's",
                    false, false);
static PassRegistration<LegacyPass<print>>
    RegisterPrint("oriel-live-intervals", "Print Oriel's live intervals", false,
                  true);

static bool parsePass(StringRef Name, MachineFunctionPassManager &Passes,
                      ArrayRef<PassBuilder::PipelineElement>) {
  if (Name == "oriel-check-intervals") {
    Passes.addPass(NewPass<intervals>());
    return true;
  }
  if (Name == "oriel-check-control-flow") {
    Passes.addPass(NewPass<controlFlow>());
    return true;
  }
  if (Name == "print<oriel-live-intervals>") {
    Passes.addPass(NewPass<print>());
    return true;
  }
  return false;
}

void oriel::registerLaboratoryWithPassBuilder(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback(parsePass);
}

//===----------------------------------------------------------------------===//
// Checks that options request
//===----------------------------------------------------------------------===//

namespace {

/// Runs the checks that options request, before Oriel's pass of the same stage.
class CheckPass : public MachineFunctionPass {
public:
  static char ID;
  CheckPass(OrielStage Stage, const OrielChecks &Checks)
      : MachineFunctionPass(ID), Stage(Stage), Checks(Checks) {}

  bool runOnMachineFunction(MachineFunction &MF) override {
    if (!isCandidate(MF))
      return false;
    if (Checks.bench_repetitions)
      benchIntervals(MF, Stage, Checks.bench_repetitions);
    bool HasSplit = Checks.intervals &&
                    splitsRegisters(MF, [&] { checkIntervals(MF, Stage); });
    if (Checks.control_flow)
      checkControlFlow(MF, Stage);
    return HasSplit;
  }

  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    if (!Checks.intervals)
      Usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(Usage);
  }

  StringRef getPassName() const override { return "Oriel's checks"; }

private:
  OrielStage Stage;
  OrielChecks Checks;
};

char CheckPass::ID = 0;

} // namespace

static void addChecks(TargetMachine &TM, PassManagerBase &,
                      TargetPassConfig *Config) {
  OrielChecks Checks = oriel_laboratory_checks();
  bool Any =
      Checks.intervals || Checks.control_flow || Checks.bench_repetitions;
  if (Any && takesPartIn(TM))
    insertAtStages(*Config, new CheckPass(ORIEL_STAGE_SSA, Checks),
                   new CheckPass(ORIEL_STAGE_LATE, Checks));
}

/// Before the plug-in's own, so that its passes come first.
__attribute__((init_priority(102))) static RegisterTargetPassConfigCallback
    Callback(addChecks);
