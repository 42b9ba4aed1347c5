//===- PlanReader.h - A plan beside the code it changes ---------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_PLANREADER_H
#define ORIEL_PLANREADER_H

#include "Export.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/Twine.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <string>
#include <vector>

namespace oriel {

/// True if the register operands of \p Opcode are for debuggers only.
bool isDebugOpcode(unsigned Opcode);

/// Returns the part of \p Array that record \p Number of \p Records owns: it
/// ends where the next record's begins.
template <typename Element, typename Record>
llvm::ArrayRef<Element> ownedBy(const Record *Records, uint32_t Number,
                                uint32_t Record::*First, const Element *Array) {
  return {Array + Records[Number].*First, Array + Records[Number + 1].*First};
}

/// Returns the operands of instruction \p Number of a plan.
inline llvm::ArrayRef<OrielOperand> operandsOf(const OrielPlan &Plan,
                                               uint32_t Number) {
  return ownedBy(Plan.instructions, Number,
                 &OrielPlanInstruction::first_operand, Plan.operands);
}

/// Returns the input instructions that instruction \p Number of a plan stands
/// for, too.
inline llvm::ArrayRef<uint32_t> mergedOf(const OrielPlan &Plan,
                                         uint32_t Number) {
  return ownedBy(Plan.instructions, Number, &OrielPlanInstruction::first_merged,
                 Plan.merged);
}

/// Returns the edges that leave the block at \p Position of a plan.
inline llvm::ArrayRef<OrielEdge> edgesFrom(const OrielPlan &Plan,
                                           uint32_t Position) {
  return ownedBy(Plan.blocks, Position, &OrielPlanBlock::first_successor,
                 Plan.successors);
}

/// Returns the operands of input instruction \p Number.
inline llvm::ArrayRef<OrielOperand> operandsOf(const OrielSnapshot &Snapshot,
                                               uint32_t Number) {
  return ownedBy(Snapshot.instructions, Number,
                 &OrielInstruction::first_operand, Snapshot.operands);
}

/// Returns the instructions of the block at \p Position of a plan.
inline llvm::iota_range<uint32_t> instructionsOf(const OrielPlan &Plan,
                                                 uint32_t Position) {
  return llvm::seq(Plan.blocks[Position].first_instruction,
                   Plan.blocks[Position + 1].first_instruction);
}

/// What a check has found out about a plan, for the checks after it.
struct PlanFindings {
  /// Why the plan cannot be applied.
  std::string Problem;
  /// LLVM's opcode for each of the plan's opcode names.
  std::vector<unsigned> Opcodes;
  /// Position in the plan's layout of each block, or NotPlanned.
  std::vector<uint32_t> Position;
};

/// Reads a plan beside the snapshot that it changes. The checks derive from it
/// and share its findings.
class PlanReader {
protected:
  PlanReader(const llvm::MachineFunction &MF, const SnapshotExporter &Input,
             const OrielPlan &Plan, PlanFindings &Findings)
      : MF(MF), Input(Input), Snapshot(Input.snapshot()), Plan(Plan),
        Findings(Findings) {}

  /// Records why the plan cannot be applied; returns false.
  bool fail(const llvm::Twine &Message);

  /// The opcode of plan instruction \p Number.
  const llvm::MCInstrDesc &descriptor(uint32_t Number) const;
  /// Calls \p Visit with each operand of plan instruction \p Number, with
  /// ORIGINAL ones resolved.
  template <typename Callback>
  void forEachOperand(uint32_t Number, Callback Visit) const;
  /// Returns the operand to which an ORIGINAL one refers; others are returned
  /// as is.
  const OrielOperand &resolved(const OrielOperand &Operand) const;
  const llvm::TargetRegisterClass *registerClass(uint32_t Register) const;
  bool registerExists(uint32_t Register) const;

  /// The position of a block that the plan drops.
  static constexpr uint32_t NotPlanned = UINT32_MAX;

  const llvm::MachineFunction &MF;
  const SnapshotExporter &Input;
  const OrielSnapshot &Snapshot;
  const OrielPlan &Plan;
  PlanFindings &Findings;
};

template <typename Callback>
void PlanReader::forEachOperand(uint32_t Number, Callback Visit) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_KEEP) {
    for (const OrielOperand &Operand :
         operandsOf(Snapshot, Instruction.source - 1))
      Visit(Operand);
    return;
  }
  for (const OrielOperand &Operand : operandsOf(Plan, Number))
    Visit(resolved(Operand));
}

} // namespace oriel

#endif // ORIEL_PLANREADER_H
