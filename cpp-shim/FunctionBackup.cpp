//===- FunctionBackup.cpp - Puts a function back as it was ----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Copies of all instructions and of their connections.
///
//===----------------------------------------------------------------------===//

#include "FunctionBackup.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"

using namespace llvm;
using namespace oriel;

FunctionBackup::FunctionBackup(MachineFunction &MF) : MF(MF) {
  DenseMap<const MachineInstr *, MachineInstr *> CopyOf;
  for (MachineBasicBlock &MBB : MF) {
    Block Saved;
    Saved.MBB = &MBB;
    for (MachineInstr &MI : MBB) {
      MachineInstr *Copy = MF.CloneMachineInstr(&MI);
      CopyOf[&MI] = Copy;
      Saved.Copies.push_back(Copy);
    }
    bool HasProbabilities = MBB.hasSuccessorProbabilities();
    for (auto I = MBB.succ_begin(), E = MBB.succ_end(); I != E; ++I)
      Saved.Successors.push_back({*I, HasProbabilities
                                          ? MBB.getSuccProbability(I)
                                          : BranchProbability::getUnknown()});
    Saved.Predecessors.assign(MBB.pred_begin(), MBB.pred_end());
    Blocks.push_back(std::move(Saved));
  }
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  UseLists.resize(MRI.getNumVirtRegs());
  for (unsigned I = 0, E = UseLists.size(); I != E; ++I)
    for (const MachineOperand &MO :
         MRI.reg_operands(Register::index2VirtReg(I)))
      UseLists[I].push_back({CopyOf.lookup(MO.getParent()), MO.getOperandNo()});
}

FunctionBackup::~FunctionBackup() {
  if (Restored)
    return;
  for (Block &Saved : Blocks)
    for (MachineInstr *Copy : Saved.Copies)
      MF.deleteMachineInstr(Copy);
}

void FunctionBackup::restore() {
  SmallPtrSet<MachineBasicBlock *, 16> Known;
  for (Block &Saved : Blocks)
    Known.insert(Saved.MBB);
  for (MachineBasicBlock &MBB : MF) {
    while (!MBB.empty())
      MBB.instr_back().eraseFromParent();
    while (!MBB.succ_empty())
      MBB.removeSuccessor(MBB.succ_end() - 1);
  }
  for (MachineBasicBlock &MBB : make_early_inc_range(MF))
    if (!Known.contains(&MBB))
      MBB.eraseFromParent();

  for (Block &Saved : Blocks) {
    MF.splice(MF.end(), Saved.MBB);
    for (MachineInstr *Copy : Saved.Copies)
      Saved.MBB->push_back(Copy);
    for (auto [Successor, Probability] : Saved.Successors)
      if (Probability.isUnknown())
        Saved.MBB->addSuccessorWithoutProb(Successor);
      else
        Saved.MBB->addSuccessor(Successor, Probability);
  }
  // Adding edges rebuilt the predecessor lists in another order, which later
  // passes depend on.
  for (Block &Saved : Blocks)
    llvm::copy(Saved.Predecessors, Saved.MBB->pred_begin());
  restoreUseLists();
  Restored = true;
}

void FunctionBackup::restoreUseLists() {
  MachineRegisterInfo &MRI = MF.getRegInfo();
  for (const std::vector<OperandPlace> &List : UseLists) {
    for (const OperandPlace &Place : List)
      MRI.removeRegOperandFromUseList(&Place.Copy->getOperand(Place.Number));
    // Definitions are inserted at the front of a list, uses at its end.
    for (const OperandPlace &Place : reverse(List))
      if (Place.Copy->getOperand(Place.Number).isDef())
        MRI.addRegOperandToUseList(&Place.Copy->getOperand(Place.Number));
    for (const OperandPlace &Place : List)
      if (Place.Copy->getOperand(Place.Number).isUse())
        MRI.addRegOperandToUseList(&Place.Copy->getOperand(Place.Number));
  }
}
