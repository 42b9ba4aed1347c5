//===- OracleUpdates.cpp - LLVM's updates as the judge of Oriel's ---------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Applies the library's updates to LLVM's live intervals and answers its
/// queries. The library chooses the updates and compares. For tests: the
/// function is unusable afterwards.
///
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "LLVMIntervals.h"
#include "Oracle.h"
#include "Support.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/ErrorHandling.h"
#include <optional>
#include <unordered_map>

using namespace llvm;
using namespace oriel;

namespace llvm {

/// No installed header declares the class; its functions are exported. The
/// storage is for the members behind the first.
class CoalescerPair {
  const TargetRegisterInfo &TRI;
  alignas(8) char Storage[56] = {};

public:
  explicit CoalescerPair(const TargetRegisterInfo &TRI) : TRI(TRI) {}
  bool setRegisters(const MachineInstr *);
  bool isCoalescable(const MachineInstr *) const;
};

} // namespace llvm

namespace {

class UpdateJudge {
public:
  UpdateJudge(MachineFunction &MF, const SnapshotExporter &Exporter)
      : MF(MF), Analyses(MF), Blocks(Exporter.blocks()),
        Instructions(Exporter.instructions()) {
    restart();
  }

  OrielJudge callbacks() {
    return {this,
            [](void *Judge, const OrielUpdate *Update) {
              return static_cast<UpdateJudge *>(Judge)->perform(*Update);
            },
            [](void *Judge) { return static_cast<UpdateJudge *>(Judge)->state(); },
            [](void *Judge) { static_cast<UpdateJudge *>(Judge)->restart(); }};
  }

private:
  void restart() {
    OrielBenchSample Unused;
    // It refers to data that the next analysis invalidates.
    LIS.reset();
    LIS.emplace(Analyses.run(Unused));
    countEntries();
  }

  /// Assigns every entry of LLVM's list its position.
  void countEntries() {
    Entries.clear();
    Places.clear();
    SlotIndex Last = indexes().getLastIndex();
    for (SlotIndex Index = indexes().getZeroIndex();;
         Index = Index.getNextIndex()) {
      Places[offset(Index)] = Entries.size();
      Entries.push_back(Index.getBaseIndex());
      if (SlotIndex::isSameInstr(Index, Last))
        return;
    }
  }

  OrielLiveIntervals state() {
    countEntries();
    Flat.emplace(MF, *LIS, indexes(), Blocks, Instructions,
                 [this](SlotIndex Index) { return position(Index); });
    return Flat->arrays();
  }

  OrielNumbers perform(const OrielUpdate &Update) {
    countEntries();
    Answer.clear();
    if (Update.kind <= ORIEL_UPDATE_PACK)
      changeFunction(Update);
    else if (Update.kind <= ORIEL_UPDATE_JOIN)
      changeRange(Update, interval(Update.virtual_register));
    else
      ask(Update);
    return {Answer.data(), Answer.size()};
  }

  void changeFunction(const OrielUpdate &Update) {
    switch (Update.kind) {
    case ORIEL_UPDATE_INSERT:
      indexes().insertMachineInstrInMaps(
          create(Update.instruction, Update.anchor, Update.block), Update.flag);
      break;
    case ORIEL_UPDATE_REMOVE:
      indexes().removeMachineInstrFromMaps(*Instructions[Update.instruction]);
      Instructions[Update.instruction]->eraseFromParent();
      Instructions[Update.instruction] = nullptr;
      break;
    case ORIEL_UPDATE_REPAIR:
      repair(Update);
      break;
    case ORIEL_UPDATE_MOVE: {
      MachineInstr *MI = Instructions[Update.instruction];
      MachineBasicBlock *MBB = MI->getParent();
      MBB->splice(behind(Update.anchor, Update.block), MBB, MI->getIterator());
      LIS->handleMove(*MI);
      break;
    }
    case ORIEL_UPDATE_UNDEF:
      Instructions[Update.instruction]->getOperand(Update.value).setIsUndef();
      break;
    case ORIEL_UPDATE_SHRINK: {
      SmallVector<MachineInstr *, 8> Dead;
      bool MaySeparate =
          LIS->shrinkToUses(&interval(Update.virtual_register), &Dead);
      Answer.push_back(MaySeparate);
      for (MachineInstr *MI : Dead)
        Answer.push_back(find(Instructions, MI) - Instructions.begin());
      break;
    }
    case ORIEL_UPDATE_PRUNE: {
      SmallVector<SlotIndex, 8> Ends;
      LiveRange &Range = interval(Update.virtual_register);
      LIS->pruneValue(Range, index(Update.start), &Ends);
      for (SlotIndex End : Ends)
        Answer.push_back(position(End));
      break;
    }
    case ORIEL_UPDATE_EXTEND:
      LIS->extendToIndices(interval(Update.virtual_register), indices(Update));
      break;
    case ORIEL_UPDATE_SPLIT: {
      SmallVector<LiveInterval *, 8> Parts;
      LIS->splitSeparateComponents(interval(Update.virtual_register), Parts);
      for (LiveInterval *Part : Parts)
        Answer.push_back(Part->reg().virtRegIndex());
      break;
    }
    case ORIEL_UPDATE_PACK:
      indexes().packIndexes();
      break;
    }
  }

  void repair(const OrielUpdate &Update) {
    ArrayRef<uint32_t> List(Update.list, Update.list_count);
    for (uint32_t Gone : List.take_front(Update.value))
      Instructions[Gone]->removeFromParent();
    ArrayRef<uint32_t> Pairs = List.drop_front(Update.value);
    for (; !Pairs.empty(); Pairs = Pairs.drop_front(2))
      create(Pairs[0], Pairs[1], Update.block);
    MachineBasicBlock *MBB = Blocks[Update.block];
    indexes().repairIndexesInRange(MBB, MBB->begin(), MBB->end());
    for (uint32_t Gone : List.take_front(Update.value)) {
      MF.deleteMachineInstr(Instructions[Gone]);
      Instructions[Gone] = nullptr;
    }
  }

  void changeRange(const OrielUpdate &Update, LiveRange &Range) {
    VNInfo::Allocator &Allocator = LIS->getVNInfoAllocator();
    switch (Update.kind) {
    case ORIEL_UPDATE_CREATE_DEAD_DEF:
      answer(Range.createDeadDef(index(Update.start), Allocator));
      break;
    case ORIEL_UPDATE_EXTEND_IN_BLOCK:
      answer(Range.extendInBlock(index(Update.start), index(Update.end)));
      break;
    case ORIEL_UPDATE_ADD_SEGMENT:
      Range.addSegment({index(Update.start), index(Update.end),
                        Range.getValNumInfo(Update.value)});
      break;
    case ORIEL_UPDATE_REMOVE_SEGMENT:
      Range.removeSegment(index(Update.start), index(Update.end), Update.flag);
      break;
    case ORIEL_UPDATE_REMOVE_VALUE:
      Range.removeValNo(Range.getValNumInfo(Update.value));
      break;
    case ORIEL_UPDATE_MERGE_VALUES:
      answer(Range.MergeValueNumberInto(Range.getValNumInfo(Update.value),
                                        Range.getValNumInfo(Update.into)));
      break;
    case ORIEL_UPDATE_RENUMBER_VALUES:
      Range.RenumberValues();
      break;
    case ORIEL_UPDATE_NEW_VALUE:
      answer(Range.getNextValue(index(Update.start), Allocator));
      break;
    case ORIEL_UPDATE_MERGE_SEGMENTS:
      Range.MergeSegmentsInAsValue(interval(Update.other),
                                   Range.getValNumInfo(Update.value));
      break;
    case ORIEL_UPDATE_MERGE_VALUE: {
      LiveRange &Other = interval(Update.other);
      Range.MergeValueInAsValue(Other, Other.getValNumInfo(Update.into),
                                Range.getValNumInfo(Update.value));
      break;
    }
    case ORIEL_UPDATE_JOIN:
      join(Update, Range, interval(Update.other));
      break;
    }
  }

  void join(const OrielUpdate &Update, LiveRange &Range, LiveRange &Other) {
    SmallVector<int, 16> Numbers(Update.list, Update.list + Update.list_count);
    const int *Ours = Numbers.data();
    const int *Theirs = Ours + Range.getNumValNums();
    SmallVector<VNInfo *, 16> Values(Update.value, nullptr);
    // If two values are merged, the first one stays.
    auto Add = [&Values](ArrayRef<VNInfo *> Old, const int *New) {
      for (VNInfo *Value : Old)
        if (!Values[New[Value->id]])
          Values[New[Value->id]] = Value;
    };
    Add(Range.valnos, Ours);
    Add(Other.valnos, Theirs);
    Range.join(Other, Ours, Theirs, Values);
    Other.clear();
  }

  void ask(const OrielUpdate &Update) {
    switch (Update.kind) {
    case ORIEL_UPDATE_ASK_POSITION:
      for (SlotIndex Index : indices(Update))
        askPosition(interval(Update.virtual_register), Index);
      break;
    case ORIEL_UPDATE_ASK_PAIR:
      askPair(Update, interval(Update.virtual_register),
              interval(Update.other));
      break;
    case ORIEL_UPDATE_ASK_BLOCKS:
      askBlocks(interval(Update.virtual_register));
      break;
    case ORIEL_UPDATE_ASK_COPY: {
      const MachineInstr *MI = Instructions[Update.instruction];
      CoalescerPair Pair(*MF.getSubtarget().getRegisterInfo());
      if (!Pair.setRegisters(MI))
        break;
      auto Overlap = [&](unsigned Operand, unsigned Other) {
        Answer.push_back(LIS->getInterval(MI->getOperand(Operand).getReg())
                             .overlaps(LIS->getInterval(
                                           MI->getOperand(Other).getReg()),
                                       Pair, indexes()));
      };
      Overlap(0, 1);
      Overlap(1, 0);
      break;
    }
    }
  }

  void askPosition(const LiveRange &Range, SlotIndex Index) {
    Answer.push_back(Range.liveAt(Index));
    answer(Range.getVNInfoAt(Index));
    answer(Range.getVNInfoBefore(Index));
    Answer.push_back(Range.find(Index) - Range.begin());
    Answer.push_back(Range.advanceTo(Range.begin(), Index) - Range.begin());
    Answer.push_back(Range.expiredAt(Index));
    LiveQueryResult Query = Range.Query(Index);
    answer(Query.valueIn());
    answer(Query.valueOut());
    answer(Query.valueOutOrDead());
    answer(Query.valueDefined());
    Answer.push_back(Query.isKill());
    Answer.push_back(Query.isDeadDef());
    SlotIndex End = Query.endPoint();
    Answer.push_back(End.isValid() ? position(End) : ORIEL_NONE);
  }

  void askPair(const OrielUpdate &Update, const LiveRange &Range,
               const LiveRange &Other) {
    Answer.push_back(Range.overlaps(Other));
    Answer.push_back(Range.covers(Other));
    Answer.push_back(Range.isLiveAtIndexes(indices(Update)));
    Answer.push_back(Range.overlaps(index(Update.start), index(Update.end)));
  }

  void askBlocks(const LiveInterval &Interval) {
    for (const MachineBasicBlock *MBB : Blocks) {
      Answer.push_back(LIS->isLiveInToMBB(Interval, MBB));
      Answer.push_back(LIS->isLiveOutOfMBB(Interval, MBB));
    }
    const MachineBasicBlock *MBB = LIS->intervalIsInOneMBB(Interval);
    Answer.push_back(MBB ? find(Blocks, MBB) - Blocks.begin() : ORIEL_NONE);
    for (const VNInfo *Value : Interval.vnis())
      if (!Value->isUnused())
        Answer.push_back(LIS->hasPHIKill(Interval, Value));
  }

  void answer(const VNInfo *Value) {
    Answer.push_back(Value ? Value->id : ORIEL_NONE);
  }

  /// Creates instruction \p Number, without operands.
  MachineInstr &create(uint32_t Number, uint32_t Anchor, uint32_t Block) {
    const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
    MachineInstr *MI = BuildMI(*Blocks[Block], behind(Anchor, Block),
                               DebugLoc(), TII.get(TargetOpcode::KILL));
    if (Number >= Instructions.size())
      Instructions.resize(Number + 1);
    Instructions[Number] = MI;
    return *MI;
  }

  /// Returns the position directly behind instruction \p Anchor, or the start
  /// of \p Block.
  MachineBasicBlock::iterator behind(uint32_t Anchor, uint32_t Block) {
    return Anchor == ORIEL_NONE
               ? Blocks[Block]->begin()
               : std::next(Instructions[Anchor]->getIterator());
  }

  LiveInterval &interval(uint32_t Number) {
    return LIS->getInterval(Register::index2VirtReg(Number));
  }

  SlotIndexes &indexes() { return Analyses.indexes(); }

  int offset(SlotIndex Index) {
    return indexes().getZeroIndex().distance(Index.getBaseIndex());
  }

  uint32_t position(SlotIndex Index) {
    uint32_t Slot = Index.getBaseIndex().distance(Index);
    return Places.at(offset(Index)) * 4 + Slot;
  }

  SlotIndex index(uint32_t Position) {
    SlotIndex Entry = Entries[Position / 4];
    switch (Position % 4) {
    case 0:
      return Entry;
    case 3:
      return Entry.getDeadSlot();
    default:
      return Entry.getRegSlot(/*EC=*/Position % 4 == 1);
    }
  }

  SmallVector<SlotIndex, 8> indices(const OrielUpdate &Update) {
    SmallVector<SlotIndex, 8> Indices;
    for (uint32_t Position : ArrayRef(Update.list, Update.list_count))
      Indices.push_back(index(Position));
    return Indices;
  }

  MachineFunction &MF;
  LLVMAnalyses Analyses;
  std::optional<LiveIntervals> LIS;
  std::vector<MachineBasicBlock *> Blocks;
  /// By the library's number; null if the instruction was removed.
  std::vector<MachineInstr *> Instructions;
  std::vector<SlotIndex> Entries;
  std::unordered_map<int, uint32_t> Places;
  std::optional<FlatIntervals> Flat;
  std::vector<uint32_t> Answer;
};

} // namespace

void oriel::checkUpdates(MachineFunction &MF, OrielStage Stage) {
  // The first analysis may split ranges.
  {
    LLVMAnalyses Analyses(MF);
    OrielBenchSample Unused;
    Analyses.run(Unused);
  }
  SnapshotExporter Exporter;
  if (!Exporter.run(MF, Stage, ExportScope::Whole)) {
    diagnoseRefusal(MF, Stage, "updated and compared with LLVM's",
                    Exporter.refusal());
    return;
  }
  UpdateJudge Judge(MF, Exporter);
  OrielJudge Callbacks = Judge.callbacks();
  std::string Difference;
  if (!oriel_check_updates(&Exporter.snapshot(), &Callbacks,
                           sinkInto(Difference)))
    report_fatal_error(Twine("oriel: updates of live intervals of function '") +
                           MF.getName() + "' at stage " + stageName(Stage) +
                           " differ from LLVM's:\n" + Difference,
                       /*gen_crash_diag=*/false);
}
