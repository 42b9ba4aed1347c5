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

namespace llvm {
class PassBuilder;
class TargetMachine;
class TargetPassConfig;
} // namespace llvm

namespace oriel {

/// The legacy passes of both stages. Passes of one pipeline share a driver, and
/// with it the memory of the snapshots.
class OrielPass : public llvm::MachineFunctionPass {
public:
  OrielPass(char &ID, OrielStage Stage, std::shared_ptr<FunctionDriver> Driver)
      : MachineFunctionPass(ID), Stage(Stage), Driver(std::move(Driver)) {}

  bool runOnMachineFunction(llvm::MachineFunction &MF) override;
  void getAnalysisUsage(llvm::AnalysisUsage &Usage) const override;

private:
  OrielStage Stage;
  std::shared_ptr<FunctionDriver> Driver;
};

/// `oriel-ssa`: at the end of LLVM's machine SSA passes.
class OrielSSA : public OrielPass {
public:
  static char ID;
  explicit OrielSSA(std::shared_ptr<FunctionDriver> Driver =
                        std::make_shared<FunctionDriver>())
      : OrielPass(ID, ORIEL_STAGE_SSA, std::move(Driver)) {}
  llvm::StringRef getPassName() const override { return "Oriel (SSA)"; }
};

/// `oriel-late`: after scheduling and stack slot colouring.
class OrielLate : public OrielPass {
public:
  static char ID;
  explicit OrielLate(std::shared_ptr<FunctionDriver> Driver =
                         std::make_shared<FunctionDriver>())
      : OrielPass(ID, ORIEL_STAGE_LATE, std::move(Driver)) {}
  llvm::StringRef getPassName() const override { return "Oriel (late)"; }
};

/// The passes for the new pass manager.
template <OrielStage Stage>
class OrielNewPass : public llvm::PassInfoMixin<OrielNewPass<Stage>> {
public:
  llvm::PreservedAnalyses run(llvm::MachineFunction &MF,
                              llvm::MachineFunctionAnalysisManager &Analyses);

private:
  // Passes are moved into their manager.
  std::shared_ptr<FunctionDriver> Driver = std::make_shared<FunctionDriver>();
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
