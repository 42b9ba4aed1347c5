//===- PhaseHost.cpp - Timers and remarks of the phases -------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhaseHost.h"
#include "Directives.h"
#include "Export.h"
#include "Support.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineStableHash.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Pass.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace oriel;

/// LLVM has one timer of a name for all threads, and starts and stops it
/// without a lock. A host's phase may compile, and time phases in it.
static std::recursive_mutex TimerMutex;

/// Returns the data of a constant without a name of its own in the source, such
/// as a string: LLVM numbers those of a module. Null for other operands.
static const ConstantDataSequential *namelessData(const MachineOperand &MO) {
  const auto *Global =
      MO.isGlobal() ? dyn_cast<GlobalVariable>(MO.getGlobal()) : nullptr;
  if (!Global || !Global->hasPrivateLinkage() || !Global->hasInitializer())
    return nullptr;
  return dyn_cast<ConstantDataSequential>(Global->getInitializer());
}

/// Returns LLVM's hash of \p MI without what depends on other code: the number
/// of a call, which LLVM counts through all functions that one target machine
/// compiles, and names that LLVM has made up.
static stable_hash hashOf(const MachineInstr &MI) {
  StringRef Name =
      MI.getMF()->getSubtarget().getInstrInfo()->getName(MI.getOpcode());
  if (Name.starts_with("Callseq_"))
    return MI.getOpcode();
  if (Name == "CALL_PROTOTYPE") {
    // `prototype_N : .callprototype …`
    StringRef Text = MI.getOperand(0).getSymbolName();
    return stable_hash_combine(MI.getOpcode(),
                               xxh3_64bits(Text.split(' ').second));
  }
  // Of a call by address, the last operand is the number of the prototype.
  bool EndsInNumber = Name == "CALL" || Name == "CALL_conv";
  if (!EndsInNumber && none_of(MI.operands(), namelessData))
    return stableHashValue(MI);
  SmallVector<stable_hash> Parts = {MI.getOpcode()};
  for (const MachineOperand &MO :
       drop_end(MI.explicit_operands(), EndsInNumber))
    if (const ConstantDataSequential *Data = namelessData(MO))
      Parts.push_back(stable_hash_combine(xxh3_64bits(Data->getRawDataValues()),
                                          MO.getOffset()));
    else if (!MO.isReg() || !MO.isDef())
      Parts.push_back(stableHashValue(MO));
  return stable_hash_combine(Parts);
}

/// Returns the hash of \p MF, which is LLVM's where nothing depends on other
/// code.
static stable_hash hashOf(const MachineFunction &MF) {
  SmallVector<stable_hash> OfBlocks;
  for (const MachineBasicBlock &MBB : MF) {
    SmallVector<stable_hash> Parts;
    for (const MachineInstr &MI : MBB)
      Parts.push_back(hashOf(MI));
    OfBlocks.push_back(stable_hash_combine(Parts));
  }
  return stable_hash_combine(OfBlocks);
}

PhaseHost::PhaseHost(const MachineFunction &MF, const OrielStages &Stages,
                     bool KnowsModule)
    : MF(MF) {
  Callbacks.context = this;
  Callbacks.stages = &Stages;
  Callbacks.machine_function = &MF;
  Callbacks.function = toText(functionName(MF));
  Callbacks.function_number = MF.getFunctionNumber();
  Callbacks.function_hash = [](void *Self) -> uint64_t {
    return hashOf(static_cast<PhaseHost *>(Self)->MF);
  };
  Callbacks.may_exchange_registers = [](void *Self) -> uint32_t {
    return mayExchangeRegisters(
        static_cast<PhaseHost *>(Self)->MF.getFunction());
  };
  if (KnowsModule)
    Callbacks.has_body = [](void *Self, OrielText Name) -> uint32_t {
      const Module &M =
          *static_cast<PhaseHost *>(Self)->MF.getFunction().getParent();
      const Function *F = M.getFunction(toStringRef(Name));
      if (!F)
        F = M.getFunction(("\1" + toStringRef(Name)).str());
      return F && !F->isDeclaration();
    };
  Callbacks.wants_remarks = wantsRemarks(MF.getFunction().getContext());
  if (!TimePassesIsEnabled)
    return;
  Callbacks.phase_begins = [](void *Self, OrielText Phase) {
    StringRef Name = toStringRef(Phase);
    auto &Host = *static_cast<PhaseHost *>(Self);
    Host.TimerLock = std::unique_lock(TimerMutex);
    Host.Timer.emplace(Name, Name, "oriel", "Oriel's phases");
  };
  Callbacks.phase_ended = [](void *Self) {
    auto &Host = *static_cast<PhaseHost *>(Self);
    Host.Timer.reset();
    Host.TimerLock.unlock();
  };
}

/// Returns the location of instruction \p Number of the snapshot; for
/// ORIEL_NONE, that of \p MF.
static RemarkPlace placeOf(const MachineFunction &MF,
                           const SnapshotExporter &Exporter, uint32_t Number) {
  const Function &F = MF.getFunction();
  RemarkPlace Place = {DiagnosticLocation(F.getSubprogram()),
                       &F.getEntryBlock()};
  if (Number == ORIEL_NONE)
    return Place;
  const MachineInstr &MI = *Exporter.instructions()[Number];
  Place.Location = DiagnosticLocation(MI.getDebugLoc());
  if (const BasicBlock *Block = MI.getParent()->getBasicBlock())
    Place.Block = Block;
  return Place;
}

PhaseRemarks::PhaseRemarks(const MachineFunction &MF,
                           const SnapshotExporter &Exporter,
                           const OrielRun *Run)
    : Run(Run) {
  for (size_t Index = 0, Count = oriel_run_remark_count(Run); Index != Count;
       ++Index) {
    uint32_t Number = oriel_run_remark(Run, Index).instruction;
    Places.push_back(placeOf(MF, Exporter, Number));
  }
}

template <typename RemarkType>
static void emitOne(const OrielRemark &Remark,
                    const DiagnosticLocation &Location,
                    const BasicBlock *Block) {
  RemarkType Out(RemarkPassName, toStringRef(Remark.name), Location, Block);
  Out << ore::NV("Phase", toStringRef(Remark.phase)) << ": "
      << toStringRef(Remark.message);
  Block->getContext().diagnose(Out);
}

void PhaseRemarks::emit() const {
  for (auto [Index, Place] : enumerate(Places)) {
    OrielRemark Remark = oriel_run_remark(Run, Index);
    switch (Remark.kind) {
    case ORIEL_REMARK_PASSED:
      emitOne<OptimizationRemark>(Remark, Place.Location, Place.Block);
      break;
    case ORIEL_REMARK_MISSED:
      emitOne<OptimizationRemarkMissed>(Remark, Place.Location, Place.Block);
      break;
    default:
      emitOne<OptimizationRemarkAnalysis>(Remark, Place.Location, Place.Block);
    }
  }
}

CodePlaces::CodePlaces(const MachineFunction &MF,
                       const SnapshotExporter &Exporter)
    : OfFunction(placeOf(MF, Exporter, ORIEL_NONE)) {
  if (!wantsRemarks(context()))
    return;
  size_t Count = Exporter.instructions().size();
  OfInstructions.reserve(Count);
  for (size_t Number = 0; Number != Count; ++Number)
    OfInstructions.push_back(placeOf(MF, Exporter, Number));
}

LLVMContext &CodePlaces::context() const {
  return OfFunction.Block->getContext();
}

void CodePlaces::emitRemarks(const OrielRun *Run) const {
  for (size_t Index = 0, Count = oriel_run_code_remark_count(Run);
       Index != Count; ++Index) {
    OrielCodeRemark Remark = oriel_run_code_remark(Run, Index);
    const RemarkPlace &Place = Remark.instruction == ORIEL_NONE
                                   ? OfFunction
                                   : OfInstructions[Remark.instruction];
    OptimizationRemarkAnalysis Out(RemarkPassName, toStringRef(Remark.name),
                                   Place.Location, Place.Block);
    for (size_t Number = 0; Number != Remark.piece_count; ++Number) {
      OrielRemarkPiece Piece = oriel_run_code_remark_piece(Run, Index, Number);
      if (Piece.key.length == 0)
        Out << toStringRef(Piece.text);
      else
        Out << ore::NV(toStringRef(Piece.key), toStringRef(Piece.text));
    }
    context().diagnose(Out);
  }
}
