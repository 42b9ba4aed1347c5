//===- OpcodeNames.h - LLVM's opcodes by name -------------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_OPCODENAMES_H
#define ORIEL_OPCODENAMES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <optional>

namespace oriel {

/// LLVM's opcodes by name.
class OpcodeNames {
public:
  /// Returns the opcode called \p Name, or the anonymous one printed as \p
  /// Name, or nothing.
  std::optional<unsigned> find(const llvm::MachineFunction &MF,
                               llvm::StringRef Name);

private:
  std::optional<unsigned> search(const llvm::MachineFunction &MF,
                                 llvm::StringRef Name);

  const llvm::TargetInstrInfo *Source = nullptr;
  /// Earlier queries.
  llvm::StringMap<std::optional<unsigned>> Known;
  llvm::StringMap<unsigned> AnonymousOpcodes;
};

} // namespace oriel

#endif // ORIEL_OPCODENAMES_H
