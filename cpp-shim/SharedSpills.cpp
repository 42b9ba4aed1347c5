//===- SharedSpills.cpp - Spilling to shared memory -----------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedSpills.h"
#include "Support.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/NVPTXAddrSpace.h"

using namespace llvm;
using namespace oriel;

/// True if \p Variable is dynamic shared memory, which begins where the static
/// memory ends. Some compilers define such an array with no elements.
static bool isDynamicShared(const GlobalVariable &Variable) {
  const DataLayout &Layout = Variable.getParent()->getDataLayout();
  return Variable.getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED &&
         (Variable.isDeclaration() ||
          Layout.getTypeAllocSize(Variable.getValueType()).isZero());
}

/// True if \p F, or an initialiser that it may load from, has the address of
/// \p Variable.
static bool mayUse(const Function &F, const GlobalVariable &Variable) {
  SmallPtrSet<const User *, 8> Seen;
  SmallVector<const User *, 8> Work(Variable.users());
  while (!Work.empty()) {
    const User *U = Work.pop_back_val();
    if (!Seen.insert(U).second)
      continue;
    if (const auto *I = dyn_cast<Instruction>(U)) {
      if (I->getFunction() == &F)
        return true;
    } else if (isa<GlobalValue>(U)) {
      return true;
    } else {
      append_range(Work, U->users());
    }
  }
  return false;
}

/// Returns what in the assembly \p Text spilling could break; empty if there is
/// nothing. \p F has the assembly.
static StringRef obstacleIn(StringRef Text, const Function &F) {
  if (Text.contains("call"))
    return "its inline assembly may call functions";
  if (hasVariants(Text))
    return "its inline assembly has variants";
  if (Text.contains("smem_size"))
    return "its inline assembly reads the size of shared memory";
  for (const GlobalVariable &Variable : F.getParent()->globals())
    if (isDynamicShared(Variable) && Text.contains(Variable.getName()))
      return "its inline assembly names dynamic shared memory";
  return "";
}

/// Returns why registers of \p MF must not be spilled to shared memory; empty
/// if nothing is known.
static StringRef obstacleTo(const MachineFunction &MF) {
  const Function &F = MF.getFunction();
  if (StringRef(F.getParent()->getModuleInlineAsm()).contains(".shared"))
    return "the assembly of its module declares shared memory";
  for (const GlobalVariable &Variable : F.getParent()->globals())
    if (isDynamicShared(Variable) && mayUse(F, Variable))
      return "it uses dynamic shared memory";
  // The driver reserves what the host asks for such an argument.
  for (const Argument &A : F.args())
    if (const auto *Pointer = dyn_cast<PointerType>(A.getType()))
      if (Pointer->getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED)
        return "it has an argument in shared memory";

  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  for (const MachineBasicBlock &MBB : MF)
    for (const MachineInstr &MI : MBB) {
      if (MI.isCall())
        return "it calls functions";
      if (TII.getName(MI.getOpcode()).contains("SMEM_SIZE"))
        return "it reads the size of shared memory";
      if (!MI.isInlineAsm())
        continue;
      StringRef Text =
          MI.getOperand(InlineAsm::MIOp_AsmString).getSymbolName();
      StringRef Obstacle = obstacleIn(Text, F);
      if (!Obstacle.empty())
        return Obstacle;
    }
  return "";
}

bool oriel::spillToShared(MachineFunction &MF) {
  const Function &F = MF.getFunction();
  StringRef Obstacle = obstacleTo(MF);
  if (!Obstacle.empty()) {
    OptimizationRemarkMissed Remark(RemarkPassName, "SpillToShared",
                                    DiagnosticLocation(F.getSubprogram()),
                                    &F.getEntryBlock());
    Remark << "registers are not spilled to shared memory: "
           << ore::NV("Reason", Obstacle);
    F.getContext().diagnose(Remark);
    return false;
  }
  MachineBasicBlock &Entry = MF.front();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  BuildMI(Entry, Entry.begin(), DebugLoc(), TII.get(TargetOpcode::INLINEASM))
      .addExternalSymbol(".pragma \"enable_smem_spilling\";")
      .addImm(InlineAsm::Extra_HasSideEffects);
  return true;
}
