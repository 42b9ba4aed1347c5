//===- FunctionDriver.h - Oriel's work on one machine function --*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_FUNCTIONDRIVER_H
#define ORIEL_FUNCTIONDRIVER_H

#include "Export.h"
#include "PhaseHost.h"
#include "PlanChecker.h"
#include "Support.h"
#include <memory>

namespace oriel {

/// Exports a function, calls the library and writes back: the common part of
/// both pass managers.
class FunctionDriver {
public:
  /// A driver that is told when a module ends.
  FunctionDriver() : Stages(createStages()), KnowsModule(true) {}
  /// One that is not. Drivers with the same \p Stages work for one pipeline.
  explicit FunctionDriver(std::shared_ptr<OrielStages> Stages)
      : Stages(std::move(Stages)), KnowsModule(false) {}
  FunctionDriver(const FunctionDriver &) = delete;
  /// Ends what still waits for the end of its module.
  ~FunctionDriver();

  static std::shared_ptr<OrielStages> createStages() {
    return {oriel_stages_create(), oriel_stages_dispose};
  }

  /// Runs Oriel on \p MF. Returns true if the function changed.
  bool run(llvm::MachineFunction &MF, OrielStage Stage,
           const llvm::MachineBlockFrequencyInfo *Frequencies);

  /// Reports on the functions that have waited for others of their module.
  void endModule();

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
  /// bounds on its registers or those of the snapshot, and passes on its remarks
  /// or, if the run waits, holds it. Fills in the time.
  void analyze(llvm::MachineFunction &MF, OrielStage Stage,
               const llvm::MachineBlockFrequencyInfo *Frequencies,
               bool HasNewBounds, const PhaseHost &Host, OrielRun *Run,
               OrielOutcome &Outcome);

  /// A run that waits for the end of its module.
  struct HeldRun {
    OrielRun *Run;
    std::string Function;
    CodePlaces Places;
  };

  std::shared_ptr<OrielStages> Stages;
  SnapshotExporter Exporter;
  /// For the code that a plan has created; the input's snapshot must stay
  /// alive.
  SnapshotExporter ResultExporter;
  OpcodeNames Names;
  std::vector<HeldRun> Held;
  bool KnowsModule;
  bool ReportedOptions = false;
};

/// True if Oriel works on \p MF.
bool isCandidate(const llvm::MachineFunction &MF);

} // namespace oriel

#endif // ORIEL_FUNCTIONDRIVER_H
