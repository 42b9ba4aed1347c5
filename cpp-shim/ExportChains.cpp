//===- ExportChains.cpp - Chains of several definitions -------------------===//
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

#include "ExportChains.h"
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

void ChainExporter::collectPlaces(ArrayRef<uint32_t> Chained,
                                  size_t RegisterCount,
                                  ArrayRef<OrielRegisterOperand> Operands,
                                  ArrayRef<MachineInstr *> Instructions) {
  IsChained.clear();
  IsChained.resize(RegisterCount);
  ChainOf.resize_for_overwrite(RegisterCount);
  for (uint32_t I = 0, E = Chained.size(); I != E; ++I) {
    IsChained.set(Chained[I]);
    ChainOf[Chained[I]] = I;
  }
  // First their positions, without unpredictable branches, and their number for
  // each register.
  ChainEnds.assign(Chained.size() + 1, 0);
  ChainedPositions.resize_for_overwrite(Operands.size() + 1);
  size_t Count = 0;
  for (uint32_t I = 0, E = Operands.size(); I != E; ++I) {
    const OrielRegisterOperand &Operand = Operands[I];
    ChainedPositions[Count] = I;
    Count += isRegister(Operand) && IsChained.test(Operand.index);
  }
  ArrayRef<uint32_t> Positions = ArrayRef(ChainedPositions).take_front(Count);
  for (uint32_t I : Positions)
    ++ChainEnds[ChainOf[Operands[I].index] + 1];
  std::partial_sum(ChainEnds.begin(), ChainEnds.end(), ChainEnds.begin());
  ChainedPlaces.resize_for_overwrite(Count);
  for (uint32_t I : Positions) {
    const OrielRegisterOperand &Operand = Operands[I];
    ChainedPlaces[ChainEnds[ChainOf[Operand.index]]++] = {
        Instructions[Operand.place >> ORIEL_ACCESS_BITS], I,
        isDefinition(Operand)};
  }
}

void ChainExporter::exportChain(uint32_t Register,
                                MutableArrayRef<ChainedPlace> Places,
                                const MachineRegisterInfo &MRI,
                                SmallVectorImpl<OrielChainedOperand> &Chains) {
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
    Chains.push_back({Register, Place->Operand});
  }
}

void ChainExporter::run(const MachineRegisterInfo &MRI,
                        ArrayRef<uint32_t> Chained,
                        ArrayRef<OrielRegisterOperand> Operands,
                        ArrayRef<MachineInstr *> Instructions,
                        SmallVectorImpl<OrielChainedOperand> &Chains) {
  collectPlaces(Chained, MRI.getNumVirtRegs(), Operands, Instructions);
  MutableArrayRef<ChainedPlace> Places = ChainedPlaces;
  for (uint32_t I = 0, First = 0, E = Chained.size(); I != E; ++I) {
    exportChain(Chained[I], Places.slice(First, ChainEnds[I] - First), MRI,
                Chains);
    First = ChainEnds[I];
  }
}
