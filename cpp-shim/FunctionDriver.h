//===- FunctionDriver.h - Oriel's work on one machine function --*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_FUNCTIONDRIVER_H
#define ORIEL_FUNCTIONDRIVER_H

#include "Export.h"
#include "PlanChecker.h"
#include "Support.h"
#include <memory>

namespace oriel {

/// Exports a function, calls the library and writes back: the common part of
/// both pass managers.
class FunctionDriver {
public:
  /// Drivers with the same \p Stages work for one pipeline.
  explicit FunctionDriver(std::shared_ptr<OrielStages> Stages = createStages())
      : Stages(std::move(Stages)) {}

  static std::shared_ptr<OrielStages> createStages() {
    return {oriel_stages_create(), oriel_stages_dispose};
  }

  /// Runs Oriel on \p MF. Returns true if the function changed.
  bool run(llvm::MachineFunction &MF, OrielStage Stage,
           const llvm::MachineBlockFrequencyInfo *Frequencies);

private:
  /// The result of a plan, and the reason if it was not applied.
  struct WriteBack {
    OrielPlanResult Result;
    std::string Problem;
  };
  /// Returns the options in force on this thread. Invalid ones are reported as
  /// an error, once per driver, and there are none then.
  std::optional<OrielSettings> settings(llvm::LLVMContext &Context);
  WriteBack writeBack(llvm::MachineFunction &MF, OrielStage Stage,
                      const llvm::MachineBlockFrequencyInfo *Frequencies,
                      const OrielPlan &Plan, const OrielSettings &Settings,
                      OrielRun &Run);
  /// Lets the library analyse the code that \p Run has left in \p MF, with new
  /// bounds on its registers or those of the snapshot, and passes on its remarks.
  /// Fills in the time.
  void analyze(llvm::MachineFunction &MF, OrielStage Stage,
               const llvm::MachineBlockFrequencyInfo *Frequencies,
               bool HasNewBounds, OrielRun *Run, OrielOutcome &Outcome);

  std::shared_ptr<OrielStages> Stages;
  SnapshotExporter Exporter;
  /// For the code that a plan has created; the input's snapshot must stay
  /// alive.
  SnapshotExporter ResultExporter;
  OpcodeNames Names;
  bool ReportedOptions = false;
};

/// True if Oriel works on \p MF.
bool isCandidate(const llvm::MachineFunction &MF);

} // namespace oriel

#endif // ORIEL_FUNCTIONDRIVER_H
