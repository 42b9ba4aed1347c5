//===- Oracle.cpp - LLVM's live intervals as the judge of Oriel's ---------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's analysis changes what it analyses: it removes kill flags, adds dead
/// flags and gives unconnected parts of a range registers of their own. The
/// flags are put back. The function is analysed twice, and the second result,
/// which finds nothing left to take apart, is compared.
///
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "Export.h"
#include "FunctionDriver.h"
#include "Support.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionAnalysis.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace llvm;
using namespace oriel;

namespace {

/// LLVM's analyses of one function, each computed and timed apart.
class LLVMAnalyses {
public:
  explicit LLVMAnalyses(MachineFunction &MF) : MF(MF) {
    Manager.registerPass([] { return PassInstrumentationAnalysis(); });
    Manager.registerPass([] { return SlotIndexesAnalysis(); });
    Manager.registerPass([] { return MachineDominatorTreeAnalysis(); });
  }

  LiveIntervals run(OrielBenchSample &Sample) {
    Manager.clear();
    Stopwatch SlotIndexesTime;
    Indexes = &Manager.getResult<SlotIndexesAnalysis>(MF);
    Sample.llvm_slot_indexes_ns = SlotIndexesTime.nanoseconds();
    Stopwatch DominatorsTime;
    Manager.getResult<MachineDominatorTreeAnalysis>(MF);
    Sample.llvm_dominators_ns = DominatorsTime.nanoseconds();
    Stopwatch IntervalsTime;
    LiveIntervals Intervals = LiveIntervalsAnalysis().run(MF, Manager);
    Sample.llvm_live_intervals_ns = IntervalsTime.nanoseconds();
    return Intervals;
  }

  SlotIndexes &indexes() { return *Indexes; }

private:
  MachineFunction &MF;
  MachineFunctionAnalysisManager Manager;
  SlotIndexes *Indexes = nullptr;
};

/// Puts kill and dead flags back when it goes out of scope.
class FlagKeeper {
public:
  explicit FlagKeeper(MachineFunction &MF) : MF(MF) {
    forEachOperand([this](MachineOperand &MO) { Flags.push_back(flag(MO)); });
  }

  ~FlagKeeper() {
    auto Flag = Flags.begin();
    forEachOperand([&Flag](MachineOperand &MO) {
      if (MO.isDef())
        MO.setIsDead(*Flag++);
      else
        MO.setIsKill(*Flag++);
    });
  }

private:
  static bool flag(const MachineOperand &MO) {
    return MO.isDef() ? MO.isDead() : MO.isKill();
  }

  template <typename Visitor> void forEachOperand(Visitor Visit) {
    for (MachineBasicBlock &MBB : MF)
      for (MachineInstr &MI : MBB.instrs())
        for (MachineOperand &MO : MI.operands())
          if (MO.isReg() && !MO.isDebug())
            Visit(MO);
  }

  MachineFunction &MF;
  std::vector<bool> Flags;
};

/// LLVM's intervals as flat arrays.
class FlatIntervals {
public:
  FlatIntervals(MachineFunction &MF, const LiveIntervals &Theirs,
                SlotIndexes &Indexes, const SnapshotExporter &Exporter)
      : Indexes(Indexes) {
    const MachineRegisterInfo &MRI = MF.getRegInfo();
    for (unsigned I = 0, E = MRI.getNumVirtRegs(); I != E; ++I) {
      Register Reg = Register::index2VirtReg(I);
      if (Theirs.hasInterval(Reg))
        add(Theirs.getInterval(Reg));
      else
        Intervals.push_back({ORIEL_NONE, 0, 0, 0});
    }
    for (const MachineBasicBlock *MBB : Exporter.blocks())
      BlockStarts.push_back(number(Indexes.getMBBStartIdx(MBB)));
    BlockStarts.push_back(number(Indexes.getLastIndex()));
    for (const MachineInstr *MI : Exporter.instructions())
      Instructions.push_back(MI->isDebugOrPseudoInstr()
                                 ? ORIEL_NONE
                                 : number(Indexes.getInstructionIndex(*MI)));
  }

  OrielLiveIntervals arrays() const {
    OrielLiveIntervals Arrays = {};
    Arrays.intervals = Intervals.data();
    Arrays.segments = Segments.data();
    Arrays.values = Values.data();
    Arrays.instruction_indexes = Instructions.data();
    Arrays.block_starts = BlockStarts.data();
    Arrays.interval_count = Intervals.size();
    Arrays.segment_count = Segments.size();
    Arrays.value_count = Values.size();
    Arrays.instruction_count = Instructions.size();
    Arrays.block_count = BlockStarts.size() - 1;
    return Arrays;
  }

private:
  uint32_t number(SlotIndex Index) {
    return Indexes.getZeroIndex().distance(Index);
  }

  void add(const LiveInterval &Interval) {
    Intervals.push_back({uint32_t(Segments.size()), uint32_t(Interval.size()),
                         uint32_t(Values.size()),
                         uint32_t(Interval.getNumValNums())});
    for (const LiveRange::Segment &S : Interval)
      Segments.push_back({number(S.start), number(S.end),
                          S.valno ? S.valno->id : ORIEL_NONE});
    for (const VNInfo *Value : Interval.vnis())
      Values.push_back(Value->isUnused() ? ORIEL_NONE : number(Value->def));
  }

  SlotIndexes &Indexes;
  std::vector<OrielLiveInterval> Intervals;
  std::vector<OrielLiveSegment> Segments;
  std::vector<uint32_t> Values;
  std::vector<uint32_t> Instructions;
  std::vector<uint32_t> BlockStarts;
};

} // namespace

OrielStage oriel::stageOf(const MachineFunction &MF) {
  return MF.getProperties().hasNoPHIs() ? ORIEL_STAGE_LATE : ORIEL_STAGE_SSA;
}

/// Says that the live intervals of \p MF could not be \p Done.
static void diagnoseRefusal(const MachineFunction &MF, OrielStage Stage,
                            StringRef Done, StringRef Reason) {
  MF.getFunction().getContext().diagnose(DiagnosticInfoGeneric(
      "oriel: live intervals of function '" + MF.getName() + "' at stage " +
          stageName(Stage) + " were not " + Done + ": " + Reason,
      DS_Warning));
}

void oriel::checkIntervals(MachineFunction &MF, OrielStage Stage) {
  FlagKeeper Keeper(MF);
  LLVMAnalyses Analyses(MF);
  OrielBenchSample Unused;
  // The first run may take ranges apart.
  Analyses.run(Unused);
  LiveIntervals Theirs = Analyses.run(Unused);

  SnapshotExporter Exporter;
  if (!Exporter.run(MF, Stage, nullptr)) {
    diagnoseRefusal(MF, Stage, "compared with LLVM's", Exporter.refusal());
    return;
  }
  FlatIntervals Flat(MF, Theirs, Analyses.indexes(), Exporter);
  OrielLiveIntervals Arrays = Flat.arrays();
  std::string Difference;
  if (oriel_check_intervals(&Exporter.snapshot(), &Arrays,
                            sinkInto(Difference)))
    return;
  report_fatal_error(Twine("oriel: live intervals of function '") +
                         MF.getName() + "' at stage " + stageName(Stage) +
                         " differ from LLVM's:\n" + Difference,
                     /*gen_crash_diag=*/false);
}

void oriel::printIntervals(MachineFunction &MF, OrielStage Stage,
                           raw_ostream &OS) {
  OS << "Live intervals for machine function: " << MF.getName() << ":\n"
     << "********** INTERVALS **********\n";
  SnapshotExporter Exporter;
  if (!Exporter.run(MF, Stage, nullptr)) {
    OS << "not supported: " << Exporter.refusal() << '\n';
    return;
  }
  std::string Text;
  oriel_print_intervals(&Exporter.snapshot(), sinkInto(Text));
  OS << Text;
}

void oriel::benchIntervals(MachineFunction &MF, OrielStage Stage,
                           unsigned Repetitions) {
  FlagKeeper Keeper(MF);
  LLVMAnalyses Analyses(MF);
  static SnapshotExporter Exporter;
  std::vector<OrielBenchSample> Samples(Repetitions);
  for (OrielBenchSample &Sample : Samples) {
    Analyses.run(Sample);
    Stopwatch ExportTime;
    if (!Exporter.run(MF, Stage, nullptr)) {
      diagnoseRefusal(MF, Stage, "timed", Exporter.refusal());
      return;
    }
    Sample.export_ns = ExportTime.nanoseconds();
    oriel_bench_measure(&Exporter.snapshot(), &Sample);
  }
  oriel_bench_report(&Exporter.snapshot(), Samples.data(), Samples.size());
}

namespace {
/// Prints the totals when the process ends.
struct TotalsAtExit {
  ~TotalsAtExit() { oriel_bench_totals(); }
};
} // namespace

static TotalsAtExit PrintTotals;
