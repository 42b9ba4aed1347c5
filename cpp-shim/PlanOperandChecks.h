//===- PlanOperandChecks.h - Operands that an opcode takes ------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANOPERANDCHECKS_H
#define ORIEL_PLANOPERANDCHECKS_H

#include "PlanReader.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace oriel {

/// Checks the operands of single instructions.
class PlanOperandChecks : PlanReader {
public:
  explicit PlanOperandChecks(const PlanReader &Reader) : PlanReader(Reader) {}

  /// True if plan instruction \p Number can have its operands with this
  /// opcode.
  bool checkOperands(uint32_t Number, const llvm::MCInstrDesc &Desc);
  /// True if no early-clobber operand shares its register with one that is
  /// read, unless the two are tied or did so in \p MI.
  bool checkEarlyClobbers(uint32_t Number, const llvm::MachineInstr &MI);

private:
  bool checkOperand(uint32_t Number, uint32_t OperandNumber,
                    const llvm::MCInstrDesc &Desc);
  /// True if the opcode allows \p Operand in a position that is not for
  /// registers.
  bool fitsDeclaration(uint32_t Number, uint32_t OperandNumber,
                       const llvm::MCInstrDesc &Desc,
                       const OrielOperand &Operand);
  /// True if \p Value is a valid modifier of the opcode in this position.
  bool isModifier(uint32_t OperandNumber, const llvm::MCInstrDesc &Desc,
                  int64_t Value) const;
  /// Does the same for values and addresses of memory accesses; nothing if it
  /// is neither.
  std::optional<bool> fitsMemoryAccess(uint32_t OperandNumber,
                                       const llvm::MCInstrDesc &Desc,
                                       const OrielOperand &Operand) const;
  llvm::StringRef nameOf(unsigned Opcode) const;
  /// True if the two opcodes compare and swap alike, each with registers or
  /// immediates.
  bool isSameCompareAndSwap(unsigned A, unsigned B) const;
  /// True if an instruction of the input has the same operand in this position.
  bool occursInInput(uint32_t Number, uint32_t OperandNumber, unsigned Opcode,
                     const OrielOperand &Operand);
  bool checkRegisterOperand(uint32_t Number, uint32_t OperandNumber,
                            const llvm::MCInstrDesc &Desc,
                            const OrielOperand &Operand);
  bool checkOriginalOperand(uint32_t Number, const OrielOperand &Operand);

  /// The input's operands: opcode, position and kind; value or register class.
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> InputOperands;
};

} // namespace oriel

#endif // ORIEL_PLANOPERANDCHECKS_H
