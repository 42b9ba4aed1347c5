//===- ControlFlowOracle.h - LLVM's control flow as judge -------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_CONTROLFLOWORACLE_H
#define ORIEL_CONTROLFLOWORACLE_H

#include "laboratory_ffi.h"

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace oriel {

/// Compares the control flow of \p MF in Ori with LLVM's. A difference is a
/// fatal error that prints both.
void checkControlFlow(llvm::MachineFunction &MF, OrielStage Stage);

} // namespace oriel

#endif // ORIEL_CONTROLFLOWORACLE_H
