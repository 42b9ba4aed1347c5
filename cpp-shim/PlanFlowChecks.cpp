//===- PlanFlowChecks.cpp - What holds between a plan's instructions ------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Control flow, PHIs, and definitions on every path to a use.
///
//===----------------------------------------------------------------------===//

#include "PlanFlowChecks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"
#include <numeric>
#include <utility>

using namespace llvm;
using namespace oriel;

bool PlanFlowChecks::checkControlFlow() {
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    if (!checkBlockShape(I))
      return false;
  return true;
}

bool PlanFlowChecks::checkBlockShape(uint32_t At) {
  uint32_t Name = Plan.blocks[At].block;
  bool SawBody = false, SawTerminator = false, EndsInBarrier = false;
  SmallVector<uint32_t, 4> Targets;
  for (uint32_t I : instructionsOf(Plan, At)) {
    const MCInstrDesc &Desc = descriptor(I);
    bool IsPhi = Desc.getOpcode() == TargetOpcode::PHI;
    bool IsDebug = isDebugOpcode(Desc.getOpcode());
    if (IsPhi && SawBody)
      return fail("block " + Twine(Name) + " has a PHI after other code");
    SawBody |= !IsPhi;
    if (SawTerminator && !Desc.isTerminator() && !IsDebug)
      return fail("block " + Twine(Name) + " has code after its terminator");
    if (!Desc.isTerminator())
      continue;
    SawTerminator = true;
    EndsInBarrier |= Desc.isBarrier();
    forEachOperand(I, [&](const OrielOperand &Operand) {
      if (Operand.kind == ORIEL_OPERAND_BLOCK)
        Targets.push_back(Operand.index);
    });
  }
  return checkBlockExits(At, EndsInBarrier, Targets);
}

bool PlanFlowChecks::checkBlockExits(uint32_t At, bool EndsInBarrier,
                                     ArrayRef<uint32_t> Targets) {
  uint32_t Name = Plan.blocks[At].block;
  ArrayRef<OrielEdge> Edges = edgesFrom(Plan, At);
  SmallSet<uint32_t, 4> Seen;
  for (const OrielEdge &Edge : Edges)
    if (!Seen.insert(Edge.block).second)
      return fail("block " + Twine(Name) + " has two edges to block " +
                  Twine(Edge.block));
  for (uint32_t Target : Targets)
    if (none_of(Edges, [=](const OrielEdge &E) { return E.block == Target; }))
      return fail("block " + Twine(Name) + " branches to block " +
                  Twine(Target) + " without an edge");
  uint32_t Next =
      At + 1 == Plan.block_count ? NotPlanned : Plan.blocks[At + 1].block;
  bool FallsThrough = false;
  for (const OrielEdge &Edge : Edges) {
    if (is_contained(Targets, Edge.block))
      continue;
    if (EndsInBarrier || Edge.block != Next)
      return fail("block " + Twine(Name) + " has an edge to block " +
                  Twine(Edge.block) + ", but does not reach it");
    FallsThrough = true;
  }
  bool Leaves = EndsInBarrier || FallsThrough ||
                (Next != NotPlanned && is_contained(Targets, Next)) ||
                (Edges.empty() && endsAsInputDid(At));
  if (!Leaves)
    return fail("block " + Twine(Name) + " falls through without an edge");
  return true;
}

bool PlanFlowChecks::endsAsInputDid(uint32_t At) const {
  auto SourceOf = [&](uint32_t I) {
    const OrielPlanInstruction &Planned = Plan.instructions[I];
    return Planned.action == ORIEL_ACTION_NEW ? NotPlanned : Planned.source - 1;
  };
  uint32_t Source = NotPlanned, Block = Plan.blocks[At].block;
  for (uint32_t I : reverse(instructionsOf(Plan, At)))
    if (Source == NotPlanned)
      Source = SourceOf(I);
  if (Source != NotPlanned)
    Block = llvm::upper_bound(ArrayRef(Snapshot.blocks, Snapshot.block_count),
                              Source,
                              [](uint32_t I, const OrielBlock &B) {
                                return I < B.first_instruction;
                              }) -
            Snapshot.blocks - 1;
  if (Block >= Snapshot.block_count)
    return false;
  const OrielBlock *Old = Snapshot.blocks + Block;
  if (Old[0].first_successor != Old[1].first_successor)
    return false;
  // Control may stop at a trap or at a call that does not return, and only LLVM
  // knows whether it does: the last instruction of that kind has to stay. Where
  // there is none, the end is not reached unless the program is undefined. Some
  // loads have unmodeled side effects, too, but what gives a result goes on.
  for (uint32_t I = Old[1].first_instruction; I != Old[0].first_instruction;
       --I) {
    const MachineInstr &MI = *Input.instructions()[I - 1];
    if (MI.isTerminator() || MI.isCall() || MI.isInlineAsm() ||
        (MI.hasUnmodeledSideEffects() && MI.getNumExplicitDefs() == 0))
      return any_of(instructionsOf(Plan, At),
                    [&](uint32_t J) { return SourceOf(J) == I - 1; });
  }
  return true;
}

void PlanFlowChecks::findPredecessors() {
  FirstPredecessor.assign(Plan.block_count + 1, 0);
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    for (const OrielEdge &Edge : edgesFrom(Plan, I))
      ++FirstPredecessor[Findings.Position[Edge.block] + 1];
  std::partial_sum(FirstPredecessor.begin(), FirstPredecessor.end(),
                   FirstPredecessor.begin());
  PredecessorList.resize(FirstPredecessor.back());
  std::vector<uint32_t> Next(FirstPredecessor);
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    for (const OrielEdge &Edge : edgesFrom(Plan, I))
      PredecessorList[Next[Findings.Position[Edge.block]]++] = I;
}

bool PlanFlowChecks::checkPhis() {
  // By position: the last block that has this one as a predecessor, and the last
  // PHI that has a value from it.
  std::vector<uint32_t> PrecededBlock(Plan.block_count, NotPlanned);
  std::vector<uint32_t> TakenBy(Plan.block_count, NotPlanned);
  for (uint32_t I = 0; I != Plan.block_count; ++I) {
    for (uint32_t J : instructionsOf(Plan, I)) {
      if (descriptor(J).getOpcode() != TargetOpcode::PHI)
        break;
      ArrayRef<uint32_t> Predecessors = predecessorsOf(I);
      if (J == Plan.blocks[I].first_instruction)
        for (uint32_t Predecessor : Predecessors)
          PrecededBlock[Predecessor] = I;
      uint32_t Count = 0, Blocks = 0;
      bool WellFormed = true, IsPredecessor = true;
      uint32_t Class = UINT32_MAX;
      forEachOperand(J, [&](const OrielOperand &Operand) {
        bool IsBlock = Count && Count % 2 == 0;
        WellFormed &= Operand.kind ==
                      (IsBlock ? ORIEL_OPERAND_BLOCK : ORIEL_OPERAND_REGISTER);
        if (IsBlock && WellFormed) {
          uint32_t At = Findings.Position[Operand.index];
          if (At == NotPlanned || PrecededBlock[At] != I) {
            IsPredecessor = false;
          } else if (TakenBy[At] != J) {
            TakenBy[At] = J;
            ++Blocks;
          }
        } else if (Operand.kind == ORIEL_OPERAND_REGISTER) {
          uint32_t ID = registerClass(Operand.index)->getID();
          WellFormed &= Class == UINT32_MAX || Class == ID;
          WellFormed &= bool(Operand.flags & ORIEL_OPERAND_DEF) == (Count == 0);
          Class = ID;
        }
        ++Count;
      });
      if (!WellFormed || Count % 2 == 0)
        return fail("the PHI at instruction " + Twine(J) + " is malformed");
      if (!IsPredecessor || Blocks != Predecessors.size())
        return fail("the PHI at instruction " + Twine(J) +
                    " does not match the predecessors of block " +
                    Twine(Plan.blocks[I].block));
    }
  }
  return true;
}

bool PlanFlowChecks::checkDefinitions() {
  // LLVM's verifier misses a use before the definition in the entry block, and
  // some of its passes crash on one. So uses are followed backward here until a
  // definition is met. The entry block must never be reached.
  uint32_t RegisterCount = Snapshot.register_count + Plan.new_register_count;
  bool IsSsa = Snapshot.function.flags & ORIEL_FUNCTION_SSA;

  // Where a register is defined, and where it is live in. In SSA form none is
  // defined in a second block.
  std::vector<uint32_t> FirstDefinedIn(RegisterCount, NotPlanned);
  DenseSet<Place> DefinedAgain;
  auto IsDefined = [&](uint32_t Register, uint32_t At) {
    return FirstDefinedIn[Register] == At ||
           DefinedAgain.contains({Register, At});
  };
  // Every path to another block leads through the entry block, the first.
  auto NeedsSearch = [&](uint32_t Register, uint32_t At) {
    return At == 0 || FirstDefinedIn[Register] != 0;
  };
  // The places where a PHI takes a register are at the end of a block.
  std::vector<Place> LiveIn, LiveOut;
  // The last block that reads or defines a register: only what comes first
  // there tells whether it is live in.
  std::vector<uint32_t> SeenIn(RegisterCount, NotPlanned);
  uint32_t DefinedTwice = UINT32_MAX;
  SmallVector<uint32_t, 8> Results;
  for (uint32_t B = 0; B != Plan.block_count; ++B)
    for (uint32_t I : instructionsOf(Plan, B)) {
      bool IsPhi = descriptor(I).getOpcode() == TargetOpcode::PHI;
      uint32_t Value = NotPlanned;
      // Results come first among the operands, but are written last.
      Results.clear();
      forEachOperand(I, [&](const OrielOperand &Operand) {
        bool IsRegister = Operand.kind == ORIEL_OPERAND_REGISTER;
        if (IsRegister && (Operand.flags & ORIEL_OPERAND_DEF))
          Results.push_back(Operand.index);
        bool IsRead =
            IsRegister &&
            !(Operand.flags &
              (ORIEL_OPERAND_DEF | ORIEL_OPERAND_UNDEF | ORIEL_OPERAND_DEBUG));
        if (IsPhi) {
          if (Operand.kind == ORIEL_OPERAND_BLOCK && Value != NotPlanned)
            LiveOut.push_back({Value, Findings.Position[Operand.index]});
          Value = IsRead ? Operand.index : NotPlanned;
        } else if (IsRead && SeenIn[Operand.index] != B) {
          SeenIn[Operand.index] = B;
          if (NeedsSearch(Operand.index, B))
            LiveIn.push_back({Operand.index, B});
        }
      });
      for (uint32_t Register : Results) {
        SeenIn[Register] = B;
        uint32_t &First = FirstDefinedIn[Register];
        if (First == NotPlanned)
          First = B;
        else if (IsSsa)
          DefinedTwice = Register;
        else if (First != B)
          DefinedAgain.insert({Register, B});
      }
    }
  if (DefinedTwice != UINT32_MAX)
    return fail("register " + Twine(DefinedTwice) +
                " is defined twice in SSA form");
  for (auto [Register, At] : LiveOut)
    if (!IsDefined(Register, At) && NeedsSearch(Register, At))
      LiveIn.push_back({Register, At});
  for (auto [Register, At] : LiveIn)
    if (FirstDefinedIn[Register] == NotPlanned)
      return fail("register " + Twine(Register) +
                  " is used, but nothing defines it");
  std::vector<Place> Defined(DefinedAgain.begin(), DefinedAgain.end());
  for (uint32_t Register = 0; Register != RegisterCount; ++Register)
    if (FirstDefinedIn[Register] != NotPlanned)
      Defined.push_back({Register, FirstDefinedIn[Register]});
  return checkReached(LiveIn, Defined);
}

std::vector<uint32_t> PlanFlowChecks::sortByBatch(std::vector<Place> &Places,
                                                  uint32_t BatchCount) {
  std::vector<uint32_t> First(BatchCount + 1, 0);
  for (auto [Register, At] : Places)
    ++First[Register / 64 + 1];
  std::partial_sum(First.begin(), First.end(), First.begin());
  std::vector<uint32_t> Next(First);
  std::vector<Place> Sorted(Places.size());
  for (Place P : Places)
    Sorted[Next[P.first / 64]++] = P;
  Places = std::move(Sorted);
  return First;
}

bool PlanFlowChecks::checkReached(std::vector<Place> &LiveIn,
                                  std::vector<Place> &Defined) {
  // Registers are searched 64 at a time, with a bit of a word for each: those
  // that are defined near each other mostly live in the same blocks.
  struct BlockWords {
    /// Defined, live in, and live in but not yet followed to the predecessors.
    uint64_t Defined = 0, LiveIn = 0, Pending = 0;
  };
  std::vector<BlockWords> Words(Plan.block_count);
  std::vector<uint32_t> Touched, Work;
  uint32_t BatchCount =
      (Snapshot.register_count + Plan.new_register_count + 63) / 64;
  std::vector<uint32_t> FirstLiveIn = sortByBatch(LiveIn, BatchCount);
  std::vector<uint32_t> FirstDefined = sortByBatch(Defined, BatchCount);
  auto Reach = [&](uint32_t B, uint64_t Registers) {
    BlockWords &Block = Words[B];
    Registers &= ~Block.LiveIn;
    if (!Registers)
      return;
    if (!Block.Pending)
      Work.push_back(B);
    Block.LiveIn |= Registers;
    Block.Pending |= Registers;
    Touched.push_back(B);
  };
  for (uint32_t Batch = 0; Batch != BatchCount; ++Batch) {
    if (FirstLiveIn[Batch] == FirstLiveIn[Batch + 1])
      continue;
    for (uint32_t I = FirstDefined[Batch]; I != FirstDefined[Batch + 1]; ++I) {
      auto [Register, At] = Defined[I];
      Words[At].Defined |= uint64_t(1) << Register % 64;
      Touched.push_back(At);
    }
    for (uint32_t I = FirstLiveIn[Batch]; I != FirstLiveIn[Batch + 1]; ++I)
      Reach(LiveIn[I].second, uint64_t(1) << LiveIn[I].first % 64);
    while (!Work.empty()) {
      uint32_t B = Work.back();
      Work.pop_back();
      uint64_t Registers = std::exchange(Words[B].Pending, 0);
      if (B == 0)
        return fail("register " + Twine(Batch * 64 + countr_zero(Registers)) +
                    " is used where it may not be defined yet");
      for (uint32_t Predecessor : predecessorsOf(B))
        Reach(Predecessor, Registers & ~Words[Predecessor].Defined);
    }
    for (uint32_t B : Touched)
      Words[B] = {};
    Touched.clear();
  }
  return true;
}
