//===- StrengthReduction.cpp - Where LLVM reduces strength ----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two passes around LLVM's loop strength reduction. The first leaves it out on a
/// loop by what `-opt-bisect-limit` uses, the context's gate for passes that
/// need not run; the second removes the gate again.
///
//===----------------------------------------------------------------------===//

#include "StrengthReduction.h"
#include "OrielPasses.h"
#include "Support.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopPass.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

namespace {

/// Refuses loop strength reduction. All else is up to the gate that was there
/// before.
class StrengthReductionGate : public OptPassGate {
public:
  void open(LLVMContext &C) {
    close();
    Context = &C;
    Other = &C.getOptPassGate();
    C.setOptPassGate(*this);
    HasRefused = false;
  }
  /// Removes the gate from its context, if it is in one. Returns true if it has
  /// refused the pass there.
  bool close() {
    if (!Context)
      return false;
    Context->setOptPassGate(*Other);
    Context = nullptr;
    return HasRefused;
  }

  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef Pass, StringRef On) const override {
    if (Pass == "Loop Strength Reduction") {
      HasRefused = true;
      return false;
    }
    return !Other->isEnabled() || Other->shouldRunPass(Pass, On);
  }

private:
  LLVMContext *Context = nullptr;
  OptPassGate *Other = nullptr;
  mutable bool HasRefused = false;
};

/// The most induction variables of a loop with which LLVM's pass is left out. It
/// has to keep track of each array that the loop walks through. With a counter
/// and one more, it does so by further ones; of many, as Triton's loops have,
/// it makes fewer.
constexpr unsigned FewInductionVariables = 2;

/// Returns how many values each iteration of \p L increases by the same amount.
unsigned countInductionVariables(const Loop &L) {
  const BasicBlock *Latch = L.getLoopLatch();
  // LLVM reduces strength only in loops with one.
  if (!Latch)
    return 0;
  return count_if(L.getHeader()->phis(), [&](const PHINode &Phi) {
    auto *Next = dyn_cast<Instruction>(Phi.getIncomingValueForBlock(Latch));
    if (!Next || !(Next->getOpcode() == Instruction::Add ||
                   Next->getOpcode() == Instruction::Sub ||
                   isa<GetElementPtrInst>(Next)))
      return false;
    return is_contained(Next->operand_values(), &Phi) &&
           all_of(Next->operand_values(), [&](const Value *Operand) {
             return Operand == &Phi || L.isLoopInvariant(Operand);
           });
  });
}

/// True if LLVM's pass may save registers in \p L. Functions with stack objects
/// are left to it, too: ptxas finds that it can hold these in registers if the
/// accesses' indexes are as the front end wrote them, and then takes many.
bool mayHelp(const Loop &L) {
  return countInductionVariables(L) > FewInductionVariables ||
         any_of(instructions(*L.getHeader()->getParent()), IsaPred<AllocaInst>);
}

/// Returns the compute capability, times ten, of a processor such as sm_90a.
uint32_t smOf(StringRef Processor) {
  uint32_t Sm = 0;
  Processor.consume_front("sm_");
  Processor.consumeInteger(10, Sm);
  return Sm;
}

void remarkLeftOut(const Loop &L) {
  OptimizationRemarkAnalysis Remark("oriel", "LoopStrengthReduction",
                                    L.getStartLoc(), L.getHeader());
  Remark << "LLVM's loop strength reduction is left out";
  L.getHeader()->getContext().diagnose(Remark);
}

/// Like the pass that follows, it runs on one loop after the other.
class BeforeStrengthReduction : public LoopPass {
public:
  static char ID;
  BeforeStrengthReduction(std::shared_ptr<StrengthReductionGate> Gate,
                          const TargetMachine &TM)
      : LoopPass(ID), Gate(std::move(Gate)), TM(TM) {}

  StringRef getPassName() const override {
    return "Oriel (before strength reduction)";
  }
  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.setPreservesAll();
  }
  bool runOnLoop(Loop *L, LPPassManager &) override {
    if (isLeftOut(*L))
      Gate->open(L->getHeader()->getContext());
    return false;
  }
  bool doFinalization() override {
    Gate->close();
    return false;
  }

private:
  bool isLeftOut(const Loop &L) {
    const Function &F = *L.getHeader()->getParent();
    uint32_t Sm = smOf(TM.getSubtargetImpl(F)->getCPU());
    switch (oriel_strength_reduction(Sm, toText(F.getName()))) {
    case ORIEL_STRENGTH_REDUCTION_EVERYWHERE:
      return false;
    case ORIEL_STRENGTH_REDUCTION_NOWHERE:
      return true;
    default:
      return !mayHelp(L);
    }
  }

  std::shared_ptr<StrengthReductionGate> Gate;
  const TargetMachine &TM;
};

class AfterStrengthReduction : public LoopPass {
public:
  static char ID;
  explicit AfterStrengthReduction(std::shared_ptr<StrengthReductionGate> Gate)
      : LoopPass(ID), Gate(std::move(Gate)) {}

  StringRef getPassName() const override {
    return "Oriel (after strength reduction)";
  }
  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.setPreservesAll();
  }
  bool runOnLoop(Loop *L, LPPassManager &) override {
    if (Gate->close())
      remarkLeftOut(*L);
    return false;
  }

private:
  std::shared_ptr<StrengthReductionGate> Gate;
};

char BeforeStrengthReduction::ID = 0;
char AfterStrengthReduction::ID = 0;

} // namespace

void oriel::limitStrengthReduction(TargetPassConfig &Config) {
  AnalysisID Before = findPass("canon-freeze"), Pass = findPass("loop-reduce");
  if (!Before || !Pass)
    return;
  auto Gate = std::make_shared<StrengthReductionGate>();
  auto &TM = Config.getTM<TargetMachine>();
  Config.insertPass(Before, new BeforeStrengthReduction(Gate, TM));
  Config.insertPass(Pass, new AfterStrengthReduction(Gate));
}
