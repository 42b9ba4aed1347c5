//===- PlanFlowChecks.h - What holds between a plan's parts -----*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANFLOWCHECKS_H
#define ORIEL_PLANFLOWCHECKS_H

#include "PlanReader.h"

namespace oriel {

/// Checks what holds between instructions: control flow, PHIs, and definitions
/// on every path to a use.
class PlanFlowChecks : PlanReader {
public:
  explicit PlanFlowChecks(const PlanReader &Reader) : PlanReader(Reader) {}

  bool check() {
    if (!checkControlFlow())
      return false;
    findPredecessors();
    return checkPhis() && checkDefinitions();
  }

private:
  bool checkControlFlow();
  bool checkBlockShape(uint32_t Position);
  bool checkBlockExits(uint32_t Position, bool EndsInBarrier,
                       llvm::ArrayRef<uint32_t> Targets);
  /// True if the block at \p Position, which has no successors, ends like an
  /// input block without successors.
  bool endsAsInputDid(uint32_t Position) const;
  void findPredecessors();
  llvm::ArrayRef<uint32_t> predecessorsOf(uint32_t Position) const {
    return llvm::ArrayRef(PredecessorList)
        .slice(FirstPredecessor[Position],
               FirstPredecessor[Position + 1] - FirstPredecessor[Position]);
  }
  bool checkPhis();
  /// Checks that each use is reached by a definition on every path, and that SSA
  /// form has one of a register.
  bool checkDefinitions();

  /// The positions of the predecessors of all blocks, and for each block by
  /// position where its own begin.
  std::vector<uint32_t> PredecessorList, FirstPredecessor;
};

} // namespace oriel

#endif // ORIEL_PLANFLOWCHECKS_H
