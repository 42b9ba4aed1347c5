//===- PlanChecker.h - Is a plan fit to be applied? -------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANCHECKER_H
#define ORIEL_PLANCHECKER_H

#include "Export.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <string>
#include <vector>

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

/// True if the register operands of \p Opcode are for debuggers only.
bool isDebugOpcode(unsigned Opcode);

/// Returns the width of a floating-point constant of this OrielConstantKind;
/// zero for other kinds.
uint32_t floatBits(uint32_t Kind);

/// Checks a complete plan before any change. Nothing in the plan is trusted:
/// every index is checked before it is used.
class PlanChecker {
public:
  PlanChecker(const llvm::MachineFunction &MF, const SnapshotExporter &Input,
              const OrielPlan &Plan, OpcodeNames &Names)
      : MF(MF), Input(Input), Snapshot(Input.snapshot()), Plan(Plan),
        Names(Names) {}

  /// Returns true if the plan can be applied; otherwise problem() explains why
  /// it cannot.
  bool check();

  const std::string &problem() const { return Problem; }

  /// LLVM's opcode for each of the plan's opcode names.
  const std::vector<unsigned> &opcodes() const { return Opcodes; }

  /// True if the checked plan changes nothing.
  bool isIdentity() const { return Identity; }

private:
  bool fail(const llvm::Twine &Message);

  bool checkArrays();
  bool changesNothing() const;
  bool checkNewRegisters();
  bool checkNewConstants();
  bool checkOpcodeNames();
  bool checkBlocks();
  bool checkInstructions();
  bool checkInstruction(uint32_t Number);
  bool checkOperands(uint32_t Number, const llvm::MCInstrDesc &Desc);
  bool checkOperand(uint32_t Number, uint32_t OperandNumber,
                    const llvm::MCInstrDesc &Desc);
  /// True if the opcode allows \p Operand in a position that is not for
  /// registers.
  bool fitsDeclaration(uint32_t OperandNumber, const llvm::MCInstrDesc &Desc,
                       const OrielOperand &Operand);
  /// True if \p Value is a valid modifier of the opcode in this position.
  bool isModifier(uint32_t OperandNumber, const llvm::MCInstrDesc &Desc,
                  int64_t Value) const;
  /// Does the same for values and addresses of memory accesses; nothing if it
  /// is neither.
  std::optional<bool> fitsMemoryAccess(uint32_t OperandNumber,
                                       const llvm::MCInstrDesc &Desc,
                                       const OrielOperand &Operand) const;
  /// True if an instruction of the input has the same operand in this position.
  bool occursInInput(uint32_t OperandNumber, unsigned Opcode,
                     const OrielOperand &Operand);
  bool registerExists(uint32_t Register) const;
  bool checkRegisterOperand(uint32_t Number, uint32_t OperandNumber,
                            const llvm::MCInstrDesc &Desc,
                            const OrielOperand &Operand);
  bool checkOriginalOperand(uint32_t Number, const OrielOperand &Operand);
  bool checkReplacement(uint32_t Number, const llvm::MachineInstr &MI);
  /// True if \p MI has a fixed list of operands, or is a PHI, or keeps the
  /// number and the kinds of its operands.
  bool checkVariadicOperands(uint32_t Number, const llvm::MachineInstr &MI);
  /// True if operands tied in \p MI stay tied.
  bool checkTiedOperands(uint32_t Number, const llvm::MachineInstr &MI);
  /// True if no early-clobber operand shares its register with one that is
  /// read, unless the two are tied or did so in \p MI.
  bool checkEarlyClobbers(uint32_t Number, const llvm::MachineInstr &MI);
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
  bool checkRemovedFrameObjects();

  /// The opcode of plan instruction \p Number.
  const llvm::MCInstrDesc &descriptor(uint32_t Number) const;
  /// Calls \p Visit with each operand of plan instruction \p Number, with
  /// ORIGINAL ones resolved.
  template <typename Callback>
  void forEachOperand(uint32_t Number, Callback Visit) const;
  /// Returns the operand to which an ORIGINAL one refers; others are returned
  /// as is.
  const OrielOperand &resolved(const OrielOperand &Operand) const;
  llvm::ArrayRef<OrielEdge> successors(uint32_t Position) const;
  const llvm::TargetRegisterClass *registerClass(uint32_t Register) const;

  /// The position of a block that the plan drops.
  static constexpr uint32_t NotPlanned = UINT32_MAX;

  const llvm::MachineFunction &MF;
  const SnapshotExporter &Input;
  const OrielSnapshot &Snapshot;
  const OrielPlan &Plan;
  OpcodeNames &Names;
  std::string Problem;
  bool Identity = false;
  std::vector<unsigned> Opcodes;
  /// Position in the plan's layout of each block, or NotPlanned.
  std::vector<uint32_t> Position;
  /// The input's operands: opcode, position and kind; value or register class.
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> InputOperands;
  /// The input instructions that the plan has used.
  std::vector<bool> Used;
};

template <typename Callback>
void PlanChecker::forEachOperand(uint32_t Number, Callback Visit) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_KEEP) {
    uint32_t Source = Instruction.source - 1;
    for (uint32_t I = Snapshot.instructions[Source].first_operand,
                  E = Snapshot.instructions[Source + 1].first_operand;
         I != E; ++I)
      Visit(Snapshot.operands[I]);
    return;
  }
  for (uint32_t I = Instruction.first_operand,
                E = Plan.instructions[Number + 1].first_operand;
       I != E; ++I)
    Visit(resolved(Plan.operands[I]));
}

} // namespace oriel

#endif // ORIEL_PLANCHECKER_H
