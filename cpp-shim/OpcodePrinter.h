//===- OpcodePrinter.h - What an opcode looks like in PTX -------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_OPCODEPRINTER_H
#define ORIEL_OPCODEPRINTER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class MCAsmInfo;
class MCInstPrinter;
class MCInstrDesc;
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
class Target;
class TargetMachine;
class Triple;
} // namespace llvm

namespace oriel {

/// Prints instructions with made-up operands by LLVM's own printer.
class OpcodePrinter {
public:
  OpcodePrinter(const llvm::Target &Target, const llvm::Triple &Triple,
                const llvm::MCAsmInfo &AsmInfo, const llvm::MCInstrInfo &Opcodes,
                const llvm::MCRegisterInfo &Registers,
                const llvm::MCSubtargetInfo &Subtarget);
  ~OpcodePrinter();

  /// Prints the instruction with registers where the opcode takes registers,
  /// and \p Numbers, or zeros, for all other operands.
  std::string print(unsigned Opcode, llvm::ArrayRef<int64_t> Numbers = {});

  /// Returns the mnemonic and a letter for each operand: `p` for a predicate,
  /// `r` for another register, `i` for an immediate. Empty if \p Opcode takes
  /// an operand that LLVM does not describe and might not be able to print.
  std::string anonymousName(unsigned Opcode);

private:
  const llvm::MCInstrInfo &Opcodes;
  const llvm::MCRegisterInfo &Registers;
  const llvm::MCSubtargetInfo &Subtarget;
  std::unique_ptr<llvm::MCInstPrinter> Printer;
};

/// Returns the snapshot's flags of an opcode, as far as its description
/// determines them, without flags that depend on the instruction.
uint32_t descriptorFlags(const llvm::MCInstrDesc &Desc);

/// True if LLVM's name of the opcode, \p Name, is only a number.
inline bool isAnonymous(llvm::StringRef Name) {
  return Name.starts_with("anonymous_");
}

/// Returns the printed name of anonymous opcode \p Opcode; printed once per
/// process.
llvm::StringRef anonymousOpcodeName(const llvm::TargetMachine &TM,
                                   unsigned Opcode);

} // namespace oriel

#endif // ORIEL_OPCODEPRINTER_H
