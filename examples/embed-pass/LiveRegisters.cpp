//===- LiveRegisters.cpp - A machine pass that asks Oriel about liveness --===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A machine pass that needs to know where registers are live. It is written
/// against a small interface, `Liveness`, with two implementations: LLVM's
/// LiveIntervals and Oriel's C interface. The pass prints the same with both,
/// which the test of this example compares over all examples of Oriel.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include <oriel.h>

using namespace llvm;

namespace {
enum class Provider { Oriel, LLVM };

cl::opt<Provider> AskedOf(
    "live-registers-by", cl::desc("Who tells the pass what is live"),
    cl::values(clEnumValN(Provider::Oriel, "oriel", "Oriel's C interface"),
               clEnumValN(Provider::LLVM, "llvm", "LLVM's LiveIntervals")),
    cl::init(Provider::Oriel));

/// No value, or none that matters.
constexpr unsigned NoValue = ORIEL_UNKNOWN;

/// What the pass asks about virtual registers.
class Liveness {
public:
  virtual ~Liveness() = default;
  virtual bool isLiveIn(unsigned Reg, const MachineBasicBlock &MBB) = 0;
  virtual bool isLiveOut(unsigned Reg, const MachineBasicBlock &MBB) = 0;
  /// The number of the value that a register has before an instruction.
  virtual unsigned valueBefore(unsigned Reg, const MachineInstr &MI) = 0;
  /// The number of the value that it has where results are defined.
  virtual unsigned valueAt(unsigned Reg, const MachineInstr &MI) = 0;
  virtual unsigned valueCount(unsigned Reg) = 0;
  virtual bool interfere(unsigned A, unsigned B) = 0;
  /// How many registers are live where the results of \p MI are defined.
  virtual unsigned liveCount(const MachineInstr &MI) = 0;
};

/// By LLVM's own analysis.
class LLVMLiveness : public Liveness {
public:
  explicit LLVMLiveness(MachineFunction &MF)
      : MRI(MF.getRegInfo()), Analyses(makeManager()),
        Indexes(Analyses.getResult<SlotIndexesAnalysis>(MF)),
        Intervals(LiveIntervalsAnalysis().run(MF, Analyses)) {}

  bool isLiveIn(unsigned Reg, const MachineBasicBlock &MBB) override {
    const LiveInterval *LI = interval(Reg);
    return LI && Intervals.isLiveInToMBB(*LI, &MBB);
  }
  bool isLiveOut(unsigned Reg, const MachineBasicBlock &MBB) override {
    const LiveInterval *LI = interval(Reg);
    return LI && Intervals.isLiveOutOfMBB(*LI, &MBB);
  }
  unsigned valueBefore(unsigned Reg, const MachineInstr &MI) override {
    return valueAtIndex(Reg, Indexes.getInstructionIndex(MI));
  }
  unsigned valueAt(unsigned Reg, const MachineInstr &MI) override {
    return valueAtIndex(Reg, Indexes.getInstructionIndex(MI).getRegSlot());
  }
  unsigned valueCount(unsigned Reg) override {
    const LiveInterval *LI = interval(Reg);
    return LI ? LI->getNumValNums() : 0;
  }
  bool interfere(unsigned A, unsigned B) override {
    const LiveInterval *First = interval(A), *Second = interval(B);
    return First && Second && !First->empty() && !Second->empty() &&
           First->overlaps(*Second);
  }
  unsigned liveCount(const MachineInstr &MI) override {
    SlotIndex Index = Indexes.getInstructionIndex(MI).getRegSlot();
    unsigned Count = 0;
    for (unsigned Reg = 0, E = MRI.getNumVirtRegs(); Reg != E; ++Reg)
      if (const LiveInterval *LI = interval(Reg))
        Count += LI->liveAt(Index);
    return Count;
  }

private:
  static MachineFunctionAnalysisManager makeManager() {
    MachineFunctionAnalysisManager Manager;
    Manager.registerPass([] { return PassInstrumentationAnalysis(); });
    Manager.registerPass([] { return SlotIndexesAnalysis(); });
    Manager.registerPass([] { return MachineDominatorTreeAnalysis(); });
    return Manager;
  }
  const LiveInterval *interval(unsigned Reg) {
    Register Virtual = Register::index2VirtReg(Reg);
    return Intervals.hasInterval(Virtual) ? &Intervals.getInterval(Virtual)
                                          : nullptr;
  }
  unsigned valueAtIndex(unsigned Reg, SlotIndex Index) {
    const LiveInterval *LI = interval(Reg);
    const VNInfo *Value = LI ? LI->getVNInfoAt(Index) : nullptr;
    return Value ? Value->id : NoValue;
  }

  MachineRegisterInfo &MRI;
  MachineFunctionAnalysisManager Analyses;
  SlotIndexes &Indexes;
  LiveIntervals Intervals;
};

/// By Oriel.
class OrielLiveness : public Liveness {
public:
  explicit OrielLiveness(MachineFunction &MF) {
    check([&](char **Message) {
      return oriel_function_export(&MF, &Function, Message);
    });
    check([&](char **Message) {
      return oriel_intervals_compute(Function, &Intervals, Message);
    });
    unsigned Block = 0, Instruction = 0;
    for (const MachineBasicBlock &MBB : MF) {
      Blocks[&MBB] = Block++;
      for (const MachineInstr &MI : MBB)
        Instructions[&MI] = Instruction++;
    }
  }
  ~OrielLiveness() override {
    oriel_intervals_dispose(Intervals);
    oriel_function_dispose(Function);
  }
  OrielLiveness(const OrielLiveness &) = delete;
  OrielLiveness &operator=(const OrielLiveness &) = delete;

  bool isLiveIn(unsigned Reg, const MachineBasicBlock &MBB) override {
    return oriel_intervals_live_in(Intervals, Reg, Blocks.lookup(&MBB));
  }
  bool isLiveOut(unsigned Reg, const MachineBasicBlock &MBB) override {
    return oriel_intervals_live_out(Intervals, Reg, Blocks.lookup(&MBB));
  }
  unsigned valueBefore(unsigned Reg, const MachineInstr &MI) override {
    return oriel_intervals_value_at(Intervals, Reg, index(MI));
  }
  unsigned valueAt(unsigned Reg, const MachineInstr &MI) override {
    return oriel_intervals_value_at(Intervals, Reg, index(MI) + RegisterSlot);
  }
  unsigned valueCount(unsigned Reg) override {
    size_t Count = 0;
    oriel_intervals_values(Intervals, Reg, &Count);
    return Count;
  }
  bool interfere(unsigned A, unsigned B) override {
    return oriel_intervals_interfere(Intervals, A, B);
  }
  unsigned liveCount(const MachineInstr &MI) override {
    return oriel_intervals_registers_at(Intervals, index(MI) + RegisterSlot,
                                        nullptr, 0);
  }

private:
  /// Where results are defined, from the index of the instruction.
  static constexpr unsigned RegisterSlot = 2;

  unsigned index(const MachineInstr &MI) {
    return oriel_intervals_instruction_index(Intervals,
                                             Instructions.lookup(&MI));
  }

  template <typename Call> static void check(Call Made) {
    char *Message = nullptr;
    if (Made(&Message) != ORIEL_OK)
      reportFatalUsageError(Message);
  }

  OrielMachineFunction *Function = nullptr;
  OrielIntervals *Intervals = nullptr;
  DenseMap<const MachineBasicBlock *, unsigned> Blocks;
  DenseMap<const MachineInstr *, unsigned> Instructions;
};

/// Prints what is live where.
class LiveRegisters : public MachineFunctionPass {
public:
  static char ID;
  LiveRegisters() : MachineFunctionPass(ID) {}

  StringRef getPassName() const override { return "Live registers"; }

  void getAnalysisUsage(AnalysisUsage &Usage) const override {
    Usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(Usage);
  }

  bool runOnMachineFunction(MachineFunction &MF) override {
    std::unique_ptr<Liveness> Live;
    if (AskedOf == Provider::Oriel)
      Live = std::make_unique<OrielLiveness>(MF);
    else
      Live = std::make_unique<LLVMLiveness>(MF);
    print(MF, *Live, errs());
    return false;
  }

private:
  static void print(MachineFunction &MF, Liveness &Live, raw_ostream &OS) {
    unsigned Registers = MF.getRegInfo().getNumVirtRegs();
    OS << MF.getName() << '\n';
    for (const MachineBasicBlock &MBB : MF) {
      OS << printMBBReference(MBB) << ": in";
      for (unsigned Reg = 0; Reg != Registers; ++Reg)
        if (Live.isLiveIn(Reg, MBB))
          OS << " %" << Reg;
      OS << "; out";
      for (unsigned Reg = 0; Reg != Registers; ++Reg)
        if (Live.isLiveOut(Reg, MBB))
          OS << " %" << Reg;
      OS << '\n';
      for (const MachineInstr &MI : MBB)
        if (!MI.isDebugInstr())
          printInstruction(MI, Live, OS);
    }
    for (unsigned Reg = 0; Reg != Registers; ++Reg) {
      OS << '%' << Reg << ": " << Live.valueCount(Reg) << " values, with";
      for (unsigned Other = 0; Other != Reg; ++Other)
        if (Live.interfere(Reg, Other))
          OS << " %" << Other;
      OS << '\n';
    }
  }

  static void printInstruction(const MachineInstr &MI, Liveness &Live,
                               raw_ostream &OS) {
    OS << "  " << Live.liveCount(MI) << " live;";
    for (const MachineOperand &MO : MI.operands()) {
      if (!MO.isReg() || !MO.getReg().isVirtual())
        continue;
      unsigned Reg = MO.getReg().virtRegIndex();
      OS << " %" << Reg << ' ' << int(Live.valueBefore(Reg, MI)) << '/'
         << int(Live.valueAt(Reg, MI));
    }
    OS << '\n';
  }
};
} // namespace

char LiveRegisters::ID = 0;

static RegisterPass<LiveRegisters> Registration("live-registers",
                                                "Print live registers",
                                                /*CFGOnly=*/true,
                                                /*is_analysis=*/true);

/// Puts the pass behind both of Oriel's.
static void addAfterOriel(TargetMachine &TM, PassManagerBase &,
                          TargetPassConfig *Config) {
  if (!TM.getTargetTriple().isNVPTX())
    return;
  for (StringRef Name : {"oriel-ssa", "oriel-late"})
    if (const PassInfo *Pass =
            PassRegistry::getPassRegistry()->getPassInfo(Name))
      Config->insertPass(Pass->getTypeInfo(), &LiveRegisters::ID);
}

static RegisterTargetPassConfigCallback Callback(addAfterOriel);
