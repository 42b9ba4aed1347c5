//===- Export.h - From a machine function to a snapshot ---------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORT_H
#define ORIEL_EXPORT_H

#include "ExportChains.h"
#include "ExportCode.h"

namespace oriel {

/// Exports machine functions as snapshots. The arrays belong to the exporter
/// and keep their memory from function to function.
class SnapshotExporter final : public CodeExporter {
public:
  /// Exports \p MF. Returns false if it contains something that a snapshot
  /// cannot represent; refusal() then explains it. \p Frequencies may be null,
  /// and liveness does not use them.
  bool run(llvm::MachineFunction &MF, OrielStage Stage, ExportScope Scope,
           const llvm::MachineBlockFrequencyInfo *Frequencies = nullptr);

  /// Forgets a large function and gives its memory back, which LLVM's other
  /// passes need more.
  void releaseLarge();

private:
  /// The instructions of a large function.
  static constexpr size_t LargeSize = 1 << 16;

  ChainExporter Chains;
  llvm::SmallVector<OrielChainedOperand, 0> ChainedOperands;
};

} // namespace oriel

#endif // ORIEL_EXPORT_H
