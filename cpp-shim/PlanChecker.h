//===- PlanChecker.h - Is a plan fit to be applied? -------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANCHECKER_H
#define ORIEL_PLANCHECKER_H

#include "OpcodeNames.h"
#include "PlanOperandChecks.h"
#include "PlanReader.h"
#include <string>
#include <vector>

namespace oriel {

/// Checks a complete plan before any change. Nothing in the plan is trusted:
/// every index is checked before it is used.
class PlanChecker : PlanFindings, PlanReader {
public:
  PlanChecker(const llvm::MachineFunction &MF, const SnapshotExporter &Input,
              const OrielPlan &Plan, OpcodeNames &Names)
      : PlanReader(MF, Input, Plan, *this), Names(Names), Operands(*this) {}

  /// Returns true if the plan can be applied; otherwise problem() explains why
  /// it cannot.
  bool check();

  const std::string &problem() const { return Findings.Problem; }

  /// LLVM's opcode for each of the plan's opcode names.
  const std::vector<unsigned> &opcodes() const { return Findings.Opcodes; }

  /// True if the checked plan changes nothing.
  bool isIdentity() const { return Identity; }

private:
  bool checkArrays();
  bool changesNothing() const;
  bool checkNewRegisters();
  bool checkNewConstants();
  bool checkOpcodeNames();
  bool checkBlocks();
  bool checkInstructions();
  bool checkInstruction(uint32_t Number);
  bool checkReplacement(uint32_t Number, const llvm::MachineInstr &MI);
  /// True if \p MI has a fixed list of operands, or is a PHI, or keeps the
  /// number and the kinds of its operands.
  bool checkVariadicOperands(uint32_t Number, const llvm::MachineInstr &MI);
  /// True if operands tied in \p MI stay tied.
  bool checkTiedOperands(uint32_t Number, const llvm::MachineInstr &MI);
  bool checkRemovedFrameObjects();

  OpcodeNames &Names;
  PlanOperandChecks Operands;
  bool Identity = false;
  /// The input instructions that the plan has used.
  std::vector<bool> Used;
};

} // namespace oriel

#endif // ORIEL_PLANCHECKER_H
