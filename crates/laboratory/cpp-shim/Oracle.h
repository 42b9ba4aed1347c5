//===- Oracle.h - LLVM's live intervals as the judge of Oriel's -*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_ORACLE_H
#define ORIEL_ORACLE_H

#include "laboratory_ffi.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class MachineFunction;
class raw_ostream;
} // namespace llvm

namespace oriel {

/// Compares Oriel's live intervals of \p MF with LLVM's. A difference is a fatal
/// error that prints both. A function that cannot be exported is not compared;
/// a warning says so.
void checkIntervals(llvm::MachineFunction &MF, OrielStage Stage);

/// Applies random updates to the live intervals of \p MF with Oriel and with
/// LLVM and compares the two after each. A difference is a fatal error. The
/// function is changed and unusable afterwards.
void checkUpdates(llvm::MachineFunction &MF, OrielStage Stage);

/// Reports that the live intervals of \p MF could not be \p Done, and why.
void diagnoseRefusal(const llvm::MachineFunction &MF, OrielStage Stage,
                     llvm::StringRef Done, llvm::StringRef Reason);

/// Prints Oriel's live intervals of \p MF as LLVM prints its own.
void printIntervals(llvm::MachineFunction &MF, OrielStage Stage,
                    llvm::raw_ostream &OS);

/// Times LLVM and Oriel in turn \p Repetitions times and prints the medians.
void benchIntervals(llvm::MachineFunction &MF, OrielStage Stage,
                    unsigned Repetitions);

/// Returns the stage for the form of \p MF.
OrielStage stageOf(const llvm::MachineFunction &MF);

} // namespace oriel

#endif // ORIEL_ORACLE_H
