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
class Function;
class MachineFunction;
} // namespace llvm

namespace oriel {

/// Adds the directives of \p Run to the IR of \p MF, where LLVM's assembly
/// printer reads them. \p MF has to be as LLVM made it. Returns true if that
/// changes the kernel's bounds on registers.
bool addDirectives(llvm::MachineFunction &MF, const OrielRun &Run);

/// True if \p Kernel, or a function that it may call, may run `setmaxnreg`.
/// The registers at entry, times the threads, are the pool of which the warps
/// of such a kernel take theirs, and wait until there are enough.
bool mayExchangeRegisters(const llvm::Function &Kernel);

} // namespace oriel

#endif // ORIEL_DIRECTIVES_H
