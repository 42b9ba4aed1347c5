//===- PlanFlowChecks.h - What holds between a plan's parts -----*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANFLOWCHECKS_H
#define ORIEL_PLANFLOWCHECKS_H

#include "PlanReader.h"
#include <utility>
#include <vector>

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
  /// A register, and a block by its position.
  using Place = std::pair<uint32_t, uint32_t>;

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
  /// Checks that no register is live into the entry block. \p LiveIn has places
  /// where one is live in, \p Defined all where one is defined; both get sorted.
  bool checkReached(std::vector<Place> &LiveIn, std::vector<Place> &Defined);
  /// Sorts places by the batch of their register, 64 registers each. Returns where
  /// the places of each batch begin.
  static std::vector<uint32_t> sortByBatch(std::vector<Place> &Places,
                                           uint32_t BatchCount);

  /// The positions of the predecessors of all blocks, and for each block by
  /// position where its own begin.
  std::vector<uint32_t> PredecessorList, FirstPredecessor;
};

} // namespace oriel

#endif // ORIEL_PLANFLOWCHECKS_H
