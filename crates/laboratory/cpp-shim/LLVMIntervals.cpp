//===- LLVMIntervals.cpp - LLVM's live intervals, to compare with ---------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLVMIntervals.h"
#include "Support.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/IR/PassInstrumentation.h"

using namespace llvm;
using namespace oriel;

LLVMAnalyses::LLVMAnalyses(MachineFunction &MF) : MF(MF) {
  Manager.registerPass([] { return PassInstrumentationAnalysis(); });
  Manager.registerPass([] { return SlotIndexesAnalysis(); });
  Manager.registerPass([] { return MachineDominatorTreeAnalysis(); });
}

LiveIntervals LLVMAnalyses::run(OrielBenchSample &Sample) {
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

FlatIntervals::FlatIntervals(MachineFunction &MF, const LiveIntervals &Theirs,
                             SlotIndexes &Indexes,
                             ArrayRef<MachineBasicBlock *> Blocks,
                             ArrayRef<MachineInstr *> Instructions,
                             Numbering Number) {
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  for (unsigned I = 0, E = MRI.getNumVirtRegs(); I != E; ++I) {
    Register Reg = Register::index2VirtReg(I);
    if (Theirs.hasInterval(Reg))
      add(Theirs.getInterval(Reg), Number);
    else
      Intervals.push_back({ORIEL_NONE, 0, 0, 0});
  }
  for (const MachineBasicBlock *MBB : Blocks)
    BlockStarts.push_back(Number(Indexes.getMBBStartIdx(MBB)));
  BlockStarts.push_back(Number(Indexes.getLastIndex()));
  for (const MachineInstr *MI : Instructions)
    InstructionNumbers.push_back(
        MI && Indexes.hasIndex(*MI) ? Number(Indexes.getInstructionIndex(*MI))
                                    : ORIEL_NONE);
}

OrielLiveIntervals FlatIntervals::arrays() const {
  OrielLiveIntervals Arrays = {};
  lend(Intervals, Arrays.intervals, Arrays.interval_count);
  lend(Segments, Arrays.segments, Arrays.segment_count);
  lend(Values, Arrays.values, Arrays.value_count);
  lend(InstructionNumbers, Arrays.instruction_indexes,
       Arrays.instruction_count);
  lend(BlockStarts, Arrays.block_starts, Arrays.block_count,
       /*Sentinels=*/1);
  return Arrays;
}

void FlatIntervals::add(const LiveInterval &Interval, Numbering Number) {
  Intervals.push_back({uint32_t(Segments.size()), uint32_t(Interval.size()),
                       uint32_t(Values.size()),
                       uint32_t(Interval.getNumValNums())});
  for (const LiveRange::Segment &S : Interval)
    Segments.push_back({Number(S.start), Number(S.end),
                        S.valno ? S.valno->id : ORIEL_NONE});
  for (const VNInfo *Value : Interval.vnis())
    Values.push_back(Value->isUnused() ? ORIEL_NONE : Number(Value->def));
}
