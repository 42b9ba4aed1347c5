//===- Oracle.cpp - LLVM's live intervals as the judge of Oriel's ---------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file LLVM's analysis modifies its function: it removes kill flags, adds
/// dead flags and gives unconnected parts of a range registers of their own.
/// The flags are restored. The function is analysed twice, and the second
/// result, for which nothing is left to split, is compared.
///
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "Export.h"
#include "LLVMIntervals.h"
#include "Support.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace oriel;

namespace {

/// Restores kill and dead flags when it goes out of scope.
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

} // namespace

OrielStage oriel::stageOf(const MachineFunction &MF) {
  return MF.getProperties().hasNoPHIs() ? ORIEL_STAGE_LATE : ORIEL_STAGE_SSA;
}

void oriel::diagnoseRefusal(const MachineFunction &MF, OrielStage Stage,
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
  // The first run may split ranges.
  Analyses.run(Unused);
  LiveIntervals Theirs = Analyses.run(Unused);

  SnapshotExporter Exporter;
  if (!Exporter.run(MF, Stage, ExportScope::Liveness)) {
    diagnoseRefusal(MF, Stage, "compared with LLVM's", Exporter.refusal());
    return;
  }
  SlotIndexes &Indexes = Analyses.indexes();
  FlatIntervals Flat(MF, Theirs, Indexes, Exporter.blocks(),
                     Exporter.instructions(), [&](SlotIndex Index) {
                       return Indexes.getZeroIndex().distance(Index);
                     });
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
  if (!Exporter.run(MF, Stage, ExportScope::Liveness)) {
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
  // They keep their memory from function to function, as in a compiler.
  thread_local SnapshotExporter Exporter, WholeExporter;
  std::vector<OrielBenchSample> Samples(Repetitions);
  for (OrielBenchSample &Sample : Samples) {
    Analyses.run(Sample);
    Stopwatch WholeExportTime;
    WholeExporter.run(MF, Stage, ExportScope::Whole);
    Sample.whole_export_ns = WholeExportTime.nanoseconds();
    Analyses.run(Sample);
    Stopwatch ExportTime;
    if (!Exporter.run(MF, Stage, ExportScope::Liveness)) {
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
