//===- Directives.h - What the PTX tells ptxas ------------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Passes on the directives that the library wants in a function's PTX.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_DIRECTIVES_H
#define ORIEL_DIRECTIVES_H

#include "oriel_ffi.h"

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace oriel {

/// Adds the directives of \p Run to the IR of \p MF, where LLVM's assembly
/// printer reads them. \p MF has to be as LLVM made it.
void addDirectives(llvm::MachineFunction &MF, const OrielRun &Run);

} // namespace oriel

#endif // ORIEL_DIRECTIVES_H
