//===- Directives.cpp - What the PTX tells ptxas --------------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Directives.h"
#include "Support.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include <utility>

using namespace llvm;
using namespace oriel;

/// Marks the loop whose latch is \p Latch. For a marked loop, LLVM's assembly
/// printer writes `.pragma "nounroll"` in front of the header.
static void forbidUnrolling(BasicBlock &Latch) {
  Instruction *Branch = Latch.getTerminator();
  LLVMContext &Context = Branch->getContext();
  // The first operand of a loop's description is the description itself.
  SmallVector<Metadata *, 4> Properties = {nullptr};
  if (const MDNode *Known = Branch->getMetadata(LLVMContext::MD_loop))
    append_range(Properties, drop_begin(Known->operands()));
  Metadata *Name = MDString::get(Context, "llvm.loop.unroll.disable");
  Properties.push_back(MDNode::get(Context, Name));
  MDNode *Loop = MDNode::getDistinct(Context, Properties);
  Loop->replaceOperandWith(0, Loop);
  Branch->setMetadata(LLVMContext::MD_loop, Loop);
}

/// Marks the loops of \p MF that \p Run keeps rolled.
static void keepRolled(MachineFunction &MF, const OrielRun &Run) {
  MachineDominatorTree Dominators(MF);
  MachineLoopInfo Loops(Dominators);
  uint32_t Number = 0;
  for (MachineBasicBlock &Header : MF) {
    if (!Loops.isLoopHeader(&Header) || !oriel_run_keeps_rolled(&Run, Number++))
      continue;
    for (MachineBasicBlock *Latch : Header.predecessors())
      if (Loops.getLoopFor(Latch) == Loops.getLoopFor(&Header))
        if (const BasicBlock *BB = Latch->getBasicBlock())
          forbidUnrolling(const_cast<BasicBlock &>(*BB));
  }
}

bool oriel::mayExchangeRegisters(const Function &Kernel) {
  static constexpr StringLiteral Name = "setmaxnreg";
  const Module &M = *Kernel.getParent();
  if (StringRef(M.getModuleInlineAsm()).contains(Name))
    return true;
  SmallSetVector<const Function *, 8> Reached;
  Reached.insert(&Kernel);
  bool CallsByAddress = false;
  for (size_t Next = 0; Next != Reached.size(); ++Next)
    for (const Instruction &I : instructions(*Reached[Next])) {
      const auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      const Value *Callee = Call->getCalledOperand()->stripPointerCasts();
      if (const auto *Assembly = dyn_cast<InlineAsm>(Callee)) {
        StringRef Text = Assembly->getAsmString();
        // Which function it calls is not known.
        if (Text.contains(Name) || Text.contains("call") || hasVariants(Text))
          return true;
      } else if (const auto *Called = dyn_cast<Function>(Callee)) {
        if (Called->isIntrinsic() && Called->getName().contains(Name))
          return true;
        Reached.insert(Called);
      } else if (!std::exchange(CallsByAddress, true)) {
        // Any function whose address is known may be called.
        for (const Function &F : M)
          if (F.hasAddressTaken())
            Reached.insert(&F);
      }
    }
  return false;
}

bool oriel::addDirectives(MachineFunction &MF, const OrielRun &Run) {
  OrielDirectives Directives = oriel_run_directives(&Run);
  Function &F = MF.getFunction();
  if (Directives.sets_min_blocks)
    F.addFnAttr("nvvm.minctasm", "1");
  if (Directives.removes_min_blocks)
    F.removeFnAttr("nvvm.minctasm");
  if (Directives.max_registers)
    F.addFnAttr("nvvm.maxnreg", utostr(Directives.max_registers));
  if (Directives.has_rolled_loops)
    keepRolled(MF, Run);
  return Directives.sets_min_blocks || Directives.removes_min_blocks ||
         Directives.max_registers;
}
