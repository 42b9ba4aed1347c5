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
    return checkControlFlow() && checkPhis() && checkDefinitions() &&
           checkReachingDefinitions();
  }

private:
  bool checkControlFlow();
  bool checkBlockShape(uint32_t Position);
  bool checkBlockExits(uint32_t Position, bool EndsInBarrier,
                       llvm::ArrayRef<uint32_t> Targets);
  /// True if the block at \p Position, which has no successors, ends like an
  /// input block without successors.
  bool endsAsInputDid(uint32_t Position) const;
  bool checkPhis();
  bool checkDefinitions();
  bool checkReachingDefinitions();
};

} // namespace oriel

#endif // ORIEL_PLANFLOWCHECKS_H
