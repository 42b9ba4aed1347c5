//===- StrengthReduction.cpp - Where LLVM reduces strength ----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two passes around LLVM's loop strength reduction. The first skips it on a loop
/// through the context's gate for optional passes, as `-opt-bisect-limit` does.
/// The second removes the gate again, and merges induction variables as LLVM's
/// pass would have done.
///
//===----------------------------------------------------------------------===//

#include "StrengthReduction.h"
#include "OrielPasses.h"
#include "Support.h"
#include "oriel_ffi.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopPass.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include <optional>

using namespace llvm;
using namespace oriel;

namespace {

/// Refuses loop strength reduction. All else is up to the gate that was there
/// before.
class StrengthReductionGate : public OptPassGate {
public:
  void install(LLVMContext &C) {
    remove();
    Context = &C;
    Other = &C.getOptPassGate();
    C.setOptPassGate(*this);
    HasRefused = false;
    Installed = this;
  }
  /// Removes the gate from its context, if it is in one. Returns true if it has
  /// refused the pass there.
  bool remove() {
    if (!Context)
      return false;
    Context->setOptPassGate(*Other);
    Context = nullptr;
    Installed = nullptr;
    return HasRefused;
  }

  /// The gate that is in a context; LLVM runs the passes on a loop one after the
  /// other, on one thread. Has no destructor: a host may compile while the thread
  /// ends.
  static thread_local StrengthReductionGate *Installed;

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

thread_local StrengthReductionGate *StrengthReductionGate::Installed = nullptr;

/// LLVM's pass is skipped only on loops with at most so many induction variables. It
/// makes one for each array that the loop walks through: more than a counter and
/// another, but fewer than loops of Triton have, which advance many pointers.
constexpr unsigned FewInductionVariables = 2;

/// Of the 32 registers with which all threads fit on a multiprocessor, a loop that
/// takes fewer than these all the time leaves half. There, LLVM's pass costs no
/// threads and saves instructions.
constexpr unsigned FewRegisters = 16;

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

/// Returns the registers of 32 bits that \p V takes in ptxas. Arguments are
/// operands, also those that were loaded or converted to another address space.
unsigned registersOf(const Value *V) {
  const auto *I = dyn_cast<Instruction>(V);
  if (const auto *Cast = dyn_cast<AddrSpaceCastInst>(V))
    return registersOf(Cast->getPointerOperand());
  const auto *Load = dyn_cast<LoadInst>(V);
  if (!I || isa<AllocaInst>(V) || !V->getType()->isSized() ||
      V->getType()->isIntegerTy(1) ||
      (Load && Load->getPointerAddressSpace() == NVPTXAS::ADDRESS_SPACE_PARAM))
    return 0;
  const DataLayout &DL = I->getDataLayout();
  return divideCeil(DL.getTypeSizeInBits(V->getType()).getFixedValue(), 32);
}

/// True if \p V, an operand of an instruction of block \p User in \p L, is computed
/// before the loop. Most operands are from the same block, for which no loop need be
/// asked.
bool isInvariant(const Value &V, const BasicBlock &User, const Loop &L) {
  const auto *I = dyn_cast<Instruction>(&V);
  return !I || (I->getParent() != &User && !L.contains(I));
}

/// A loop that accesses each place so many times has been unrolled by the front end.
constexpr unsigned ManyAccesses = 8;

/// Returns the address that \p I accesses, without a constant offset, which is part
/// of the access; null if there is none.
const Value *accessedPlace(const Instruction &I) {
  const Value *Place = getLoadStorePointerOperand(&I);
  while (auto *GEP = dyn_cast_or_null<GEPOperator>(Place)) {
    if (!GEP->hasAllConstantIndices())
      break;
    Place = GEP->getPointerOperand();
  }
  return Place;
}

/// True if \p L accesses its places many times each, at constant offsets. Then LLVM's
/// pass makes few pointers for the registers that the loop takes anyway.
bool isUnrolled(const Loop &L) {
  SmallPtrSet<const Value *, 32> Places;
  unsigned Accesses = 0;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      if (const Value *Place = accessedPlace(I)) {
        ++Accesses;
        Places.insert(Place);
      }
  return !Places.empty() && Accesses >= ManyAccesses * Places.size();
}

/// True if \p L would take \p Least registers or more all the time after LLVM's
/// pass: for what it carries from iteration to iteration, for what it uses from
/// before it, and for a pointer to each place that it accesses.
bool takesRegisters(const Loop &L, unsigned Least) {
  unsigned Count = 0;
  for (const PHINode &Phi : L.getHeader()->phis())
    Count += registersOf(&Phi);
  SmallPtrSet<const Value *, 32> Seen;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block) {
      for (const Value *Operand : I.operand_values())
        if (isa<Instruction>(Operand) && isInvariant(*Operand, *Block, L) &&
            Seen.insert(Operand).second)
          Count += registersOf(Operand);
      const Value *Place = accessedPlace(I);
      if (Place && !isInvariant(*Place, *Block, L) && Seen.insert(Place).second)
        Count += 2;
      if (Count >= Least)
        return true;
    }
  return false;
}

/// True if LLVM's pass would cost \p L registers that are scarce there.
bool isCostly(const Loop &L) {
  return countInductionVariables(L) <= FewInductionVariables &&
         takesRegisters(L, FewRegisters) && !isUnrolled(L);
}

/// Returns the setting for the loops of \p F. Functions with stack objects are left
/// to LLVM: without its pass, ptxas finds that it can hold these in registers,
/// since the accesses' indexes are as the front end wrote them, and then takes
/// many. Only objects of the entry block have a constant size.
OrielStrengthReduction strengthReductionIn(const Function &F) {
  if (F.hasOptNone())
    return ORIEL_STRENGTH_REDUCTION_EVERYWHERE;
  OrielStrengthReduction Wanted = oriel_strength_reduction();
  bool KeepsStack = Wanted == ORIEL_STRENGTH_REDUCTION_UNLESS_COSTLY &&
                    any_of(F.getEntryBlock(), IsaPred<AllocaInst>);
  return KeepsStack ? ORIEL_STRENGTH_REDUCTION_EVERYWHERE : Wanted;
}

void remarkLeftOut(const Loop &L) {
  LLVMContext &Context = L.getHeader()->getContext();
  if (!wantsRemarks(Context))
    return;
  OptimizationRemarkAnalysis Remark(RemarkPassName, "LoopStrengthReduction",
                                    L.getStartLoc(), L.getHeader());
  Remark << "LLVM's loop strength reduction is left out";
  Context.diagnose(Remark);
}

/// Like LLVM's pass, the two run on one loop after the other: anything else would
/// change the order in which LLVM works on loops.
class BeforeStrengthReduction : public LoopPass {
public:
  static char ID;
  BeforeStrengthReduction() : LoopPass(ID) {}

  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.setPreservesAll();
  }
  bool runOnLoop(Loop *L, LPPassManager &) override {
    // LLVM's pass does not reduce strength in others.
    if (!L->isInnermost())
      return false;
    BasicBlock *Header = L->getHeader();
    // A function may have thousands of loops.
    if (!InFunction)
      InFunction = strengthReductionIn(*Header->getParent());
    if (InFunction == ORIEL_STRENGTH_REDUCTION_NOWHERE ||
        (InFunction == ORIEL_STRENGTH_REDUCTION_UNLESS_COSTLY && isCostly(*L)))
      Gate.install(Header->getContext());
    return false;
  }
  /// Called behind the last loop of a function.
  bool doFinalization() override {
    InFunction.reset();
    // The other pass may not be in the pipeline.
    Gate.remove();
    return false;
  }

private:
  StrengthReductionGate Gate;
  /// The setting for the function whose loops are being visited.
  std::optional<OrielStrengthReduction> InFunction;
};

class AfterStrengthReduction : public LoopPass {
public:
  static char ID;
  AfterStrengthReduction() : LoopPass(ID) {}

  /// What LLVM's pass requires, and so has been computed.
  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.addRequired<DominatorTreeWrapperPass>();
    Usage.addRequired<ScalarEvolutionWrapperPass>();
    Usage.addRequired<TargetTransformInfoWrapperPass>();
    Usage.setPreservesAll();
  }
  bool runOnLoop(Loop *L, LPPassManager &) override {
    StrengthReductionGate *Gate = StrengthReductionGate::Installed;
    if (!Gate || !Gate->remove())
      return false;
    remarkLeftOut(*L);
    // The host's gate has not been asked about LLVM's pass, but is about this one:
    // -opt-bisect-limit counts one or the other.
    return !skipLoop(L) && mergeInductionVariables(*L);
  }

private:
  /// Merges induction variables that always have the same value, such as the
  /// counters of a loop that LLVM has unrolled. LLVM's pass ends with this.
  bool mergeInductionVariables(Loop &L) {
    if (!L.isLoopSimplifyForm())
      return false;
    Function &F = *L.getHeader()->getParent();
    auto &Evolution = getAnalysis<ScalarEvolutionWrapperPass>().getSE();
    SmallVector<WeakTrackingVH, 4> Dead;
    SCEVExpander Expander(Evolution, "oriel", /*PreserveLCSSA=*/false);
    unsigned Merged = Expander.replaceCongruentIVs(
        &L, &getAnalysis<DominatorTreeWrapperPass>().getDomTree(), Dead,
        &getAnalysis<TargetTransformInfoWrapperPass>().getTTI(F));
    Expander.clear();
    if (!Merged)
      return false;
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(Dead);
    DeleteDeadPHIs(L.getHeader());
    return true;
  }
};

char BeforeStrengthReduction::ID = 0;
char AfterStrengthReduction::ID = 0;

PassRegistration<BeforeStrengthReduction>
    RegisterBefore("oriel-before-loop-reduce",
                   "Oriel (before loop strength reduction)");
PassRegistration<AfterStrengthReduction>
    RegisterAfter("oriel-after-loop-reduce",
                  "Oriel (after loop strength reduction)");

} // namespace

void oriel::limitStrengthReduction(TargetPassConfig &Config) {
  PassRegistry &Registry = *PassRegistry::getPassRegistry();
  // A host need not have registered the passes that it does not name.
  initializeCanonicalizeFreezeInLoopsPass(Registry);
  initializeLoopStrengthReducePass(Registry);
  const PassInfo *Before = Registry.getPassInfo(StringRef("canon-freeze"));
  const PassInfo *Pass = Registry.getPassInfo(StringRef("loop-reduce"));
  if (!Before || !Pass) {
    errs() << "oriel: this LLVM has no pass canon-freeze or no loop-reduce; it "
              "is not kept from reducing strength\n";
    return;
  }
  Config.insertPass(Before->getTypeInfo(), &BeforeStrengthReduction::ID);
  Config.insertPass(Pass->getTypeInfo(), &AfterStrengthReduction::ID);
}
