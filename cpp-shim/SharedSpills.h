//===- SharedSpills.h - Spilling to shared memory ---------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Has ptxas spill registers of a kernel to shared memory.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_SHAREDSPILLS_H
#define ORIEL_SHAREDSPILLS_H

namespace llvm {
class MachineFunction;
} // namespace llvm

namespace oriel {

/// Puts `.pragma "enable_smem_spilling"` at the start of the kernel \p MF,
/// unless its code has something that ptxas refuses then, or that would find
/// less shared memory than before. A remark tells which. Returns true if \p MF
/// has changed. To be called when nothing else looks at \p MF any more.
bool spillToShared(llvm::MachineFunction &MF);

} // namespace oriel

#endif // ORIEL_SHAREDSPILLS_H
