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

namespace oriel {

/// Export, ask the library, write back: the part that both pass managers share.
class FunctionDriver {
public:
  /// Runs Oriel on \p MF. Returns true if the function changed.
  bool run(llvm::MachineFunction &MF, OrielStage Stage,
           const llvm::MachineBlockFrequencyInfo *Frequencies);

private:
  /// What became of a plan, and why if it came to nothing.
  struct WriteBack {
    OrielResult Result;
    std::string Problem;
  };
  /// The options that are in force on this thread. Wrong ones are reported as an
  /// error, once a driver, and there are none then.
  std::optional<OrielSettings> settings(llvm::LLVMContext &Context);
  WriteBack writeBack(llvm::MachineFunction &MF, OrielStage Stage,
                      const llvm::MachineBlockFrequencyInfo *Frequencies,
                      const OrielPlan &Plan, const OrielSettings &Settings,
                      OrielRun &Run);
  /// Has the library analyse the code that \p Run has left in \p MF, and hands
  /// on its remarks. Fills in the time.
  void analyze(llvm::MachineFunction &MF, OrielStage Stage,
               const llvm::MachineBlockFrequencyInfo *Frequencies,
               OrielRun *Run, OrielOutcome &Outcome);

  SnapshotExporter Exporter;
  /// Of the code that a plan has made; the input's snapshot has to live on.
  SnapshotExporter ResultExporter;
  OpcodeNames Names;
  bool ReportedOptions = false;
};

/// Is \p MF a function that Oriel works on at all?
bool isCandidate(const llvm::MachineFunction &MF);

} // namespace oriel

#endif // ORIEL_FUNCTIONDRIVER_H
