//===- ExportChains.cpp - Registers with several definitions ---------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Exports, for each register with several definitions, the order in
/// which LLVM chains its operands, which determines the numbering of values.
/// The operands of such a register are collected from the exported ones, and
/// each operand of LLVM's list is found among them by its instruction.
///
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include <numeric>

using namespace llvm;
using namespace oriel;

/// Up to this many operands are searched one by one.
static constexpr size_t SearchedOperands = 16;

/// True if \p Operand is a definition.
static bool isDefinition(const OrielRegisterOperand &Operand) {
  uint32_t Access = Operand.place & ORIEL_ACCESS_MASK;
  return Access == ORIEL_ACCESS_DEFINE || Access == ORIEL_ACCESS_DEFINE_EARLY;
}

/// True unless it is the block of a PHI's operand.
static bool isRegister(const OrielRegisterOperand &Operand) {
  return (Operand.place & ORIEL_ACCESS_MASK) != ORIEL_ACCESS_FROM_BLOCK;
}

void SnapshotExporter::collectChainedPlaces() {
  // First their positions, without unpredictable branches, and their number for
  // each register.
  ChainEnds.assign(Registers.size() + 1, 0);
  ChainedPositions.resize_for_overwrite(RegisterOperands.size() + 1);
  size_t Count = 0;
  for (uint32_t I = 0, E = RegisterOperands.size(); I != E; ++I) {
    const OrielRegisterOperand &Operand = RegisterOperands[I];
    ChainedPositions[Count] = I;
    Count += isRegister(Operand) && IsDefined[Operand.index] == DefinedAgain;
  }
  ArrayRef<uint32_t> Positions = ArrayRef(ChainedPositions).take_front(Count);
  for (uint32_t I : Positions)
    ++ChainEnds[RegisterOperands[I].index + 1];
  std::partial_sum(ChainEnds.begin(), ChainEnds.end(), ChainEnds.begin());
  ChainedPlaces.resize_for_overwrite(Count);
  for (uint32_t I : Positions) {
    const OrielRegisterOperand &Operand = RegisterOperands[I];
    ChainedPlaces[ChainEnds[Operand.index]++] = {
        InstructionPointers[Operand.place >> ORIEL_ACCESS_BITS], I,
        isDefinition(Operand)};
  }
}

void SnapshotExporter::exportChain(uint32_t Register,
                                   MutableArrayRef<ChainedPlace> Places,
                                   const MachineRegisterInfo &MRI) {
  bool IsSorted = Places.size() > SearchedOperands;
  auto Before = [](const ChainedPlace &A, const ChainedPlace &B) {
    return std::tie(A.Instruction, A.Operand) <
           std::tie(B.Instruction, B.Operand);
  };
  if (IsSorted)
    sort(Places, Before);
  for (const MachineOperand &MO :
       MRI.reg_nodbg_operands(Register::index2VirtReg(Register))) {
    const MachineInstr *MI = MO.getParent();
    auto Place = Places.begin();
    if (IsSorted)
      Place = lower_bound(Places, ChainedPlace{MI, 0, false}, Before);
    // Operands of one instruction with the same access are interchangeable.
    while (Place != Places.end() &&
           (Place->Instruction != MI || Place->IsDefinition != MO.isDef() ||
            Place->IsListed))
      ++Place;
    // Debug instructions have operands that are not marked as theirs.
    if (Place == Places.end())
      continue;
    Place->IsListed = true;
    ChainedOperands.push_back({Register, Place->Operand});
  }
}

void SnapshotExporter::exportChains(const MachineFunction &MF) {
  bool AnyChained = false;
  for (size_t I = 0, E = Registers.size(); I != E; ++I)
    if (LLVM_UNLIKELY(IsDefined[I] == DefinedAgain)) {
      Registers[I].flags |= ORIEL_REGISTER_CHAINED;
      AnyChained = true;
    }
  if (!AnyChained)
    return;
  collectChainedPlaces();
  MutableArrayRef<ChainedPlace> Places = ChainedPlaces;
  for (uint32_t R = 0, First = 0, E = Registers.size(); R != E; ++R) {
    if (Registers[R].flags & ORIEL_REGISTER_CHAINED)
      exportChain(R, Places.slice(First, ChainEnds[R] - First),
                  MF.getRegInfo());
    First = ChainEnds[R];
  }
}
