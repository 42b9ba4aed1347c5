//===- OrielPasses.h - Oriel's machine passes -------------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_ORIELPASSES_H
#define ORIEL_ORIELPASSES_H

#include "FunctionDriver.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Pass.h"
#include <optional>

namespace llvm {
class PassBuilder;
class TargetMachine;
class TargetPassConfig;
} // namespace llvm

namespace oriel {

/// True if another copy of the library has been loaded into this process before,
/// from another file. LLVM accepts the name of an option or pass once.
bool isSecondCopy();

/// Registers a legacy pass while the library is loaded, as llvm::RegisterPass
/// does.
template <typename PassType> class PassRegistration {
public:
  template <typename... ArgTypes> explicit PassRegistration(ArgTypes... Args) {
    if (!isSecondCopy())
      Info.emplace(Args...);
  }

private:
  std::optional<llvm::RegisterPass<PassType>> Info;
};

/// Holds the driver that the legacy passes of one pipeline share, and with it
/// the memory of the snapshots and what one stage leaves to the next.
class OrielDriver : public llvm::ImmutablePass {
public:
  static char ID;
  OrielDriver() : ImmutablePass(ID) {}
  llvm::StringRef getPassName() const override { return "Oriel (driver)"; }
  bool doFinalization(llvm::Module &) override {
    Driver.endModule();
    return false;
  }

  FunctionDriver Driver;
};

/// The legacy passes of both stages.
class OrielPass : public llvm::MachineFunctionPass {
public:
  OrielPass(char &ID, OrielStage Stage)
      : MachineFunctionPass(ID), Stage(Stage) {}

  bool runOnMachineFunction(llvm::MachineFunction &MF) override;
  void getAnalysisUsage(llvm::AnalysisUsage &Usage) const override;

private:
  OrielStage Stage;
};

/// `oriel-ssa`: at the end of LLVM's machine SSA passes.
class OrielSSA : public OrielPass {
public:
  static char ID;
  OrielSSA() : OrielPass(ID, ORIEL_STAGE_SSA) {}
  llvm::StringRef getPassName() const override { return "Oriel (SSA)"; }
};

/// `oriel-late`: after scheduling and stack slot colouring.
class OrielLate : public OrielPass {
public:
  static char ID;
  OrielLate() : OrielPass(ID, ORIEL_STAGE_LATE) {}
  llvm::StringRef getPassName() const override { return "Oriel (late)"; }
};

/// The passes for the new pass manager.
template <OrielStage Stage>
class OrielNewPass : public llvm::PassInfoMixin<OrielNewPass<Stage>> {
public:
  explicit OrielNewPass(std::shared_ptr<OrielStages> Stages)
      : Driver(std::make_shared<FunctionDriver>(std::move(Stages))) {}
  llvm::PreservedAnalyses run(llvm::MachineFunction &MF,
                              llvm::MachineFunctionAnalysisManager &Analyses);

private:
  // Passes are moved into their manager.
  std::shared_ptr<FunctionDriver> Driver;
};

/// Returns true if Oriel takes part in code generation with \p TM.
bool takesPartIn(const llvm::TargetMachine &TM);

/// Inserts \p SSA and \p Late behind LLVM's passes at the two stages, and
/// behind passes inserted there before. Reports an error if it does not find
/// these points.
void insertAtStages(llvm::TargetPassConfig &Config, llvm::Pass *SSA,
                    llvm::Pass *Late);

/// Registers Oriel's passes with \p Builder.
void registerWithPassBuilder(llvm::PassBuilder &Builder);

} // namespace oriel

#endif // ORIEL_ORIELPASSES_H
