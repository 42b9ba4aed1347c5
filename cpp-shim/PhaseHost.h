//===- PhaseHost.h - Timers and remarks of the phases -----------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Passes information on the library's phases to LLVM: their times for
/// `-time-passes`, their remarks for `-pass-remarks` and remark files.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PHASEHOST_H
#define ORIEL_PHASEHOST_H

#include "oriel_ffi.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/Timer.h"
#include <mutex>
#include <optional>
#include <vector>

namespace llvm {
class BasicBlock;
class LLVMContext;
class MachineFunction;
} // namespace llvm

namespace oriel {

class SnapshotExporter;

/// The library's host during one run.
class PhaseHost {
public:
  /// \p KnowsModule: somebody says when the module ends.
  PhaseHost(const llvm::MachineFunction &MF, const OrielStages &Stages,
            bool KnowsModule);
  PhaseHost(const PhaseHost &) = delete;

  const OrielHost &callbacks() const { return Callbacks; }

private:
  const llvm::MachineFunction &MF;
  OrielHost Callbacks = {};
  /// Held while the timer runs, which all threads share, with -time-passes.
  std::unique_lock<std::recursive_mutex> TimerLock;
  std::optional<llvm::NamedRegionTimer> Timer;
};

/// The subject of a remark.
struct RemarkPlace {
  llvm::DiagnosticLocation Location;
  const llvm::BasicBlock *Block;
};

/// The remarks of a run, with their locations in the original \p MF.
class PhaseRemarks {
public:
  PhaseRemarks(const llvm::MachineFunction &MF,
               const SnapshotExporter &Exporter, const OrielRun *Run);

  /// Emits them in LLVM.
  void emit() const;

private:
  const OrielRun *Run;
  llvm::SmallVector<RemarkPlace, 0> Places;
};

/// The subjects of the remarks of the library's analysis of a function, which
/// may be emitted after LLVM has freed the function.
class CodePlaces {
public:
  /// \p Exporter has exported \p MF.
  CodePlaces(const llvm::MachineFunction &MF, const SnapshotExporter &Exporter);

  /// Emits the remarks of \p Run.
  void emitRemarks(const OrielRun *Run) const;

  llvm::LLVMContext &context() const;

private:
  RemarkPlace OfFunction;
  /// By instruction of the snapshot; none if nobody reads remarks.
  std::vector<RemarkPlace> OfInstructions;
};

} // namespace oriel

#endif // ORIEL_PHASEHOST_H
