//===- ExportCode.cpp - Exports blocks, instructions and operands ---------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Exports the blocks in one pass, then the instructions in another.
/// LLVM's objects are scattered over memory, so each is read only once, and
/// every record is filled in place.
///
//===----------------------------------------------------------------------===//

#include "ExportCode.h"
#include "Support.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"

using namespace llvm;
using namespace oriel;

void CodeExporter::clear() {
  SnapshotTables::clear();
  Blocks.clear();
  Edges.clear();
  Predecessors.clear();
  Instructions.clear();
  Operands.clear();
  RegisterOperands.clear();
  MemoryOperands.clear();
  Registers.clear();
  BlockPointers.clear();
  InstructionPointers.clear();
  BlockIndex.clear();
  BaseValueIndex.clear();
  BaseValues.clear();
}

void CodeExporter::publish() {
  SnapshotTables::publish();
  lend(Blocks, Snapshot.blocks, Snapshot.block_count, /*Sentinels=*/1);
  lend(Edges, Snapshot.edges, Snapshot.edge_count);
  Snapshot.predecessors = Predecessors.data();
  lend(Instructions, Snapshot.instructions, Snapshot.instruction_count,
       /*Sentinels=*/1);
  lend(Operands, Snapshot.operands, Snapshot.operand_count);
  lend(RegisterOperands, Snapshot.register_operands,
       Snapshot.register_operand_count);
  lend(MemoryOperands, Snapshot.memory_operands, Snapshot.memory_operand_count);
  lend(Registers, Snapshot.registers, Snapshot.register_count);
}

bool CodeExporter::exportRegisters(const MachineFunction &MF) {
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  Registers.resize(MRI.getNumVirtRegs());
  IsDefined.assign(MRI.getNumVirtRegs(), false);
  for (uint32_t I = 0, E = Registers.size(); I != E; ++I) {
    Register Reg = Register::index2VirtReg(I);
    const TargetRegisterClass *Class = MRI.getRegClassOrNull(Reg);
    if (!Class)
      return refuse("it has virtual registers without a class");
    uint16_t Flags = MRI.reg_empty(Reg) ? ORIEL_REGISTER_UNUSED : 0;
    Registers[I] = {uint16_t(Class->getID()), Flags};
  }
  return true;
}

/// True if loop metadata on the branch of \p BB makes the assembly printer tell
/// ptxas not to unroll.
static bool forbidsUnrolling(const BasicBlock &BB) {
  const Instruction *Branch = BB.getTerminator();
  MDNode *Loop = Branch ? Branch->getMetadata(LLVMContext::MD_loop) : nullptr;
  if (!Loop)
    return false;
  if (GetUnrollMetadata(Loop, "llvm.loop.unroll.disable"))
    return true;
  const MDNode *Count = GetUnrollMetadata(Loop, "llvm.loop.unroll.count");
  return Count && mdconst::extract<ConstantInt>(Count->getOperand(1))->isOne();
}

/// Returns the properties of \p MBB that the snapshot records.
static uint32_t blockFlags(const MachineBasicBlock &MBB) {
  uint32_t Flags = 0;
  if (MBB.hasAddressTaken())
    Flags |= ORIEL_BLOCK_ADDRESS_TAKEN;
  if (MBB.hasLabelMustBeEmitted())
    Flags |= ORIEL_BLOCK_LABEL_USED;
  if (MBB.isEHPad())
    Flags |= ORIEL_BLOCK_LANDING_PAD;
  if (const BasicBlock *BB = MBB.getBasicBlock(); BB && forbidsUnrolling(*BB))
    Flags |= ORIEL_BLOCK_NO_UNROLL;
  return Flags;
}

void CodeExporter::exportBlocks(MachineFunction &MF) {
  BlockIndex.resize(MF.getNumBlockIDs());
  for (MachineBasicBlock &MBB : MF) {
    BlockIndex[MBB.getNumber()] = BlockPointers.size();
    BlockPointers.push_back(&MBB);
  }
  Blocks.resize(BlockPointers.size() + 1);
  OrielBlock *Block = Blocks.data();
  for (const MachineBasicBlock *MBB : BlockPointers) {
    Block->first_successor = Edges.size();
    Block->first_predecessor = Predecessors.size();
    Block->number = MBB->getNumber();
    for (const MachineBasicBlock *Successor : MBB->successors())
      Edges.push_back(
          {BlockIndex[Successor->getNumber()], ORIEL_PROBABILITY_UNKNOWN});
    for (const MachineBasicBlock *Predecessor : MBB->predecessors())
      Predecessors.push_back(BlockIndex[Predecessor->getNumber()]);
    ++Block;
  }
  Block->first_successor = Edges.size();
  Block->first_predecessor = Predecessors.size();
}

void CodeExporter::exportBlockProperties(
    const MachineBlockFrequencyInfo *Frequencies) {
  OrielBlock *Block = Blocks.data();
  OrielEdge *Edge = Edges.data();
  for (const MachineBasicBlock *MBB : BlockPointers) {
    Block->flags = blockFlags(*MBB);
    if (Frequencies)
      Block->frequency = Frequencies->getBlockFreq(MBB).getFrequency();
    if (const BasicBlock *BB = MBB->getBasicBlock(); BB && BB->hasName())
      Block->name = addString(BB->getName());
    Block->log2_alignment = Log2(MBB->getAlignment());
    ++Block;
    if (MBB->hasSuccessorProbabilities())
      for (auto I = MBB->succ_begin(), E = MBB->succ_end(); I != E; ++I)
        Edge[I - MBB->succ_begin()].probability =
            MBB->getSuccProbability(I).getNumerator();
    Edge += MBB->succ_size();
  }
}

/// How many instructions ahead of the exported one are prefetched.
static constexpr unsigned PrefetchDistance = 3;

/// Prefetches the memory of \p MI that exportInstruction() will read.
/// Instructions and their operands are scattered in a way that hardware cannot
/// predict.
static void prefetch(const MachineInstr &MI) {
  const char *FirstOperand =
      reinterpret_cast<const char *>(MI.operands_begin());
  __builtin_prefetch(FirstOperand);
  __builtin_prefetch(FirstOperand + 64);
}

/// The opcodes of a snapshot for liveness only: one for each kind of
/// instruction. The last one exists only if there is a debug instruction.
enum LivenessOpcode : uint32_t { PlainOpcode, PhiOpcode, DebugOpcode };

void CodeExporter::exportLivenessOpcodes() {
  Opcodes.resize(DebugOpcode);
  Opcodes[PhiOpcode].flags = ORIEL_OPCODE_PHI;
}

uint32_t CodeExporter::livenessOpcode(const MachineInstr &MI) {
  if (LLVM_UNLIKELY(MI.isPHI()))
    return PhiOpcode;
  if (LLVM_LIKELY(!MI.isDebugOrPseudoInstr()))
    return PlainOpcode;
  Opcodes.resize(DebugOpcode + 1);
  Opcodes[DebugOpcode].flags = ORIEL_OPCODE_DEBUG;
  return DebugOpcode;
}

/// Reserves memory for the code, so that the arrays of a large function are not
/// moved while they grow. LLVM counts neither instructions nor operands; the
/// factors suffice for nearly all functions of public code, and the unused part of
/// a large array is never touched.
template <ExportScope Scope> void CodeExporter::reserveCode() {
  size_t Values = Registers.size();
  size_t Count = Values + Values / 2;
  InstructionPointers.reserve(Count);
  Instructions.reserve(Count);
  RegisterOperands.reserve(4 * Values);
  if (Scope == ExportScope::Whole)
    Operands.reserve(6 * Values);
}

template <ExportScope Scope> bool CodeExporter::exportCode() {
  reserveCode<Scope>();
  for (uint32_t Block = 0, E = BlockPointers.size(); Block != E; ++Block) {
    MachineBasicBlock &MBB = *BlockPointers[Block];
    Blocks[Block].first_instruction = Instructions.size();
    auto Ahead = MBB.instr_begin(), End = MBB.instr_end();
    for (unsigned I = 0; I != PrefetchDistance && Ahead != End; ++I)
      ++Ahead;
    for (MachineInstr &MI : MBB.instrs()) {
      if (Ahead != End)
        prefetch(*Ahead++);
      if (MI.isBundled())
        return refuse("it contains instruction bundles");
      if (!exportRegisterOperands(MI))
        return false;
      InstructionPointers.push_back(&MI);
      if (Scope == ExportScope::Liveness)
        // Made in place, since copying a record just written stalls on store
        // forwarding.
        Instructions.emplace_back().opcode = livenessOpcode(MI);
      else
        exportInstruction(MI);
    }
  }
  Blocks.back().first_instruction = Instructions.size();
  OrielInstruction Sentinel = {};
  Sentinel.first_operand = Operands.size();
  Sentinel.first_memory_operand = MemoryOperands.size();
  Instructions.push_back(Sentinel);
  return true;
}

template bool CodeExporter::exportCode<ExportScope::Liveness>();
template bool CodeExporter::exportCode<ExportScope::Whole>();

/// Returns the access of \p MI to the register of \p MO; reads by PHIs are not
/// distinguished.
static OrielAccess accessOf(const MachineInstr &MI, const MachineOperand &MO) {
  if (MO.isDef())
    return MO.isEarlyClobber() ? ORIEL_ACCESS_DEFINE_EARLY
                               : ORIEL_ACCESS_DEFINE;
  if (MO.isUndef() || MO.isInternalRead())
    return ORIEL_ACCESS_MENTION;
  if (MO.isTied() &&
      MI.getOperand(MI.findTiedOperandIdx(MO.getOperandNo())).isEarlyClobber())
    return ORIEL_ACCESS_READ_EARLY;
  return ORIEL_ACCESS_READ;
}

LLVM_ATTRIBUTE_ALWAYS_INLINE bool
CodeExporter::exportRegisterOperands(const MachineInstr &MI) {
  uint32_t Place = Instructions.size() << ORIEL_ACCESS_BITS;
  if (LLVM_UNLIKELY(MI.isPHI() || MI.isDebugOrPseudoInstr()))
    return !MI.isPHI() || exportPhiOperands(MI, Place);
  // Room is made for all operands; the unused part is cut off at the end.
  size_t First = RegisterOperands.size();
  RegisterOperands.resize_for_overwrite(First + MI.getNumOperands());
  OrielRegisterOperand *Next = RegisterOperands.data() + First;
  for (const MachineOperand &MO : MI.operands()) {
    if (!MO.isReg()) {
      if (LLVM_UNLIKELY(MO.isRegMask() || MO.isRegLiveOut()))
        return refuse("it uses register masks");
      continue;
    }
    if (LLVM_UNLIKELY(MO.getSubReg()))
      return refuse("it uses sub-registers");
    if (LLVM_UNLIKELY(!MO.getReg().isVirtual() || MO.isDebug()))
      continue;
    uint32_t Register = MO.getReg().virtRegIndex();
    OrielAccess Access = ORIEL_ACCESS_READ;
    if (LLVM_UNLIKELY(MO.isTied() || MO.isUndef() || MO.isEarlyClobber() ||
                      MO.isInternalRead()))
      Access = accessOf(MI, MO);
    else
      Access = OrielAccess(MO.isDef() * ORIEL_ACCESS_DEFINE);
    noteDefinition(Register, MO.isDef());
    *Next++ = {Register, Place | Access};
  }
  RegisterOperands.truncate(Next - RegisterOperands.data());
  return true;
}

bool CodeExporter::exportPhiOperands(const MachineInstr &MI, uint32_t Place) {
  for (const MachineOperand &MO : MI.operands()) {
    if (!MO.isReg())
      continue;
    if (MO.getSubReg())
      return refuse("it uses sub-registers");
    if (!MO.getReg().isVirtual())
      continue;
    uint32_t Register = MO.getReg().virtRegIndex();
    noteDefinition(Register, MO.isDef());
    OrielAccess Access = accessOf(MI, MO);
    if (Access == ORIEL_ACCESS_READ)
      Access = ORIEL_ACCESS_READ_BY_PHI;
    RegisterOperands.push_back({Register, Place | Access});
    if (MO.isDef())
      continue;
    const MachineBasicBlock *From =
        MI.getOperand(MO.getOperandNo() + 1).getMBB();
    RegisterOperands.push_back(
        {BlockIndex[From->getNumber()], Place | ORIEL_ACCESS_FROM_BLOCK});
  }
  return true;
}

/// Returns the effects that the operand string of inline assembly \p MI
/// declares.
static uint32_t inlineAsmBehavior(const MachineInstr &MI) {
  uint64_t Info = MI.getOperand(InlineAsm::MIOp_ExtraInfo).getImm();
  uint32_t Behavior = 0;
  if (Info & InlineAsm::Extra_HasSideEffects)
    Behavior |= ORIEL_BEHAVIOR_ASM_SIDE_EFFECTS;
  if (Info & InlineAsm::Extra_MayLoad)
    Behavior |= ORIEL_BEHAVIOR_ASM_MAY_LOAD;
  if (Info & InlineAsm::Extra_MayStore)
    Behavior |= ORIEL_BEHAVIOR_ASM_MAY_STORE;
  if (Info & InlineAsm::Extra_IsConvergent)
    Behavior |= ORIEL_BEHAVIOR_ASM_CONVERGENT;
  return Behavior;
}

/// True if \p MI carries something besides operands, flags and location.
static bool hasAttachments(const MachineInstr &MI) {
  return MI.getPreInstrSymbol() || MI.getPostInstrSymbol() ||
         MI.getHeapAllocMarker() || MI.getPCSections() || MI.getCFIType() ||
         MI.getMMRAMetadata() || MI.getDeactivationSymbol();
}

/// Exports a register operand. Most operands are registers, so this is inlined
/// into the loop over them.
LLVM_ATTRIBUTE_ALWAYS_INLINE void CodeExporter::exportRegisterOperand(
    const MachineInstr &MI, const MachineOperand &MO, OrielOperand &Operand) {
  // No branches for these flags, which vary from operand to operand.
  uint16_t Flags = MO.isDef() * ORIEL_OPERAND_DEF |
                   MO.isImplicit() * ORIEL_OPERAND_IMPLICIT |
                   MO.isKill() * ORIEL_OPERAND_KILL |
                   MO.isDead() * ORIEL_OPERAND_DEAD;
  if (LLVM_UNLIKELY(MO.isUndef() || MO.isEarlyClobber() || MO.isDebug() ||
                    MO.isInternalRead())) {
    Flags |= MO.isUndef() ? ORIEL_OPERAND_UNDEF : 0;
    Flags |= MO.isEarlyClobber() ? ORIEL_OPERAND_EARLY_CLOBBER : 0;
    if (MO.isUse()) {
      Flags |= MO.isDebug() ? ORIEL_OPERAND_DEBUG : 0;
      Flags |= MO.isInternalRead() ? ORIEL_OPERAND_INTERNAL_READ : 0;
    }
  }

  uint8_t Tied = 0;
  if (LLVM_UNLIKELY(MO.isTied()))
    Tied = std::min(MI.findTiedOperandIdx(MO.getOperandNo()) + 1,
                    unsigned(UINT8_MAX));
  OrielOperandKind Kind = ORIEL_OPERAND_REGISTER;
  uint32_t Index = 0;
  Register Reg = MO.getReg();
  if (LLVM_LIKELY(Reg.isVirtual())) {
    Index = Reg.virtRegIndex();
  } else if (!Reg) {
    Kind = ORIEL_OPERAND_NO_REGISTER;
  } else {
    Flags |= MO.isRenamable() * ORIEL_OPERAND_RENAMABLE;
    Kind = ORIEL_OPERAND_PHYSICAL;
    Index = physicalRegisterIndex(
        Reg, *MI.getMF()->getSubtarget().getRegisterInfo());
  }
  Operand.kind = Kind;
  Operand.tied_to = Tied;
  Operand.flags = Flags;
  Operand.index = Index;
  Operand.value = 0;
}

void CodeExporter::exportOtherOperand(const MachineOperand &MO,
                                      OrielOperand &Operand) {
  Operand = {};
  switch (MO.getType()) {
  case MachineOperand::MO_CImmediate:
  case MachineOperand::MO_FPImmediate:
    Operand.kind = ORIEL_OPERAND_CONSTANT;
    Operand.index = constantIndex(MO);
    break;
  case MachineOperand::MO_MachineBasicBlock:
    Operand.kind = ORIEL_OPERAND_BLOCK;
    Operand.index = BlockIndex[MO.getMBB()->getNumber()];
    break;
  case MachineOperand::MO_FrameIndex:
    Operand.kind = ORIEL_OPERAND_FRAME_INDEX;
    Operand.index = MO.getIndex() + Snapshot.function.fixed_frame_objects;
    break;
  case MachineOperand::MO_ExternalSymbol:
  case MachineOperand::MO_GlobalAddress:
  case MachineOperand::MO_BlockAddress:
    Operand.kind = ORIEL_OPERAND_SYMBOL;
    Operand.index = symbolIndex(MO);
    Operand.value = MO.getOffset();
    break;
  case MachineOperand::MO_Metadata:
    if (uint32_t Variable = variableIndex(MO)) {
      Operand.kind = ORIEL_OPERAND_VARIABLE;
      Operand.index = Variable - 1;
    } else {
      Operand.kind = ORIEL_OPERAND_METADATA;
    }
    break;
  case MachineOperand::MO_Register:
  case MachineOperand::MO_Immediate:
  case MachineOperand::MO_RegisterMask:
  case MachineOperand::MO_RegisterLiveOut:
    llvm_unreachable("exported elsewhere, or refused");
  case MachineOperand::MO_ConstantPoolIndex:
  case MachineOperand::MO_TargetIndex:
  case MachineOperand::MO_JumpTableIndex:
  case MachineOperand::MO_MCSymbol:
  case MachineOperand::MO_CFIIndex:
  case MachineOperand::MO_IntrinsicID:
  case MachineOperand::MO_Predicate:
  case MachineOperand::MO_ShuffleMask:
  case MachineOperand::MO_DbgInstrRef:
  case MachineOperand::MO_LaneMask:
    Operand.kind = ORIEL_OPERAND_OPAQUE;
    Operand.value = MO.getType();
    break;
  }
}

// Instruction flags are passed on unchanged.
static_assert(MachineInstr::FmNoNans == 1u << 4 &&
                  MachineInstr::FmReassoc == 1u << 10 &&
                  MachineInstr::NoUWrap == 1u << 11 &&
                  MachineInstr::IsExact == 1u << 13 &&
                  MachineInstr::Disjoint == 1u << 19 &&
                  MachineInstr::LRSplit == 1u << 23,
              "LLVM renumbered its instruction flags");

void CodeExporter::exportInstruction(const MachineInstr &MI) {
  size_t FirstOperand = Operands.size();
  Instructions.resize_for_overwrite(Instructions.size() + 1);
  OrielInstruction &Instruction = Instructions.back();
  Instruction.opcode = opcodeIndex(MI);
  Instruction.first_operand = FirstOperand;
  Instruction.first_memory_operand = MemoryOperands.size();
  Instruction.location = 0;
  if (MI.getDebugLoc())
    Instruction.location = locationIndex(MI.getDebugLoc().get());
  Instruction.flags = MI.getFlags();
  Instruction.behavior = 0;
  if (LLVM_UNLIKELY(MI.isInlineAsm()))
    Instruction.behavior |= inlineAsmBehavior(MI);
  if (LLVM_UNLIKELY(hasAttachments(MI)))
    Instruction.behavior |= ORIEL_BEHAVIOR_ATTACHMENTS;

  // Records are made in place, as in exportCode().
  Operands.resize_for_overwrite(FirstOperand + MI.getNumOperands());
  OrielOperand *Operand = Operands.data() + FirstOperand;
  for (const MachineOperand &MO : MI.operands()) {
    if (MO.isReg())
      exportRegisterOperand(MI, MO, *Operand);
    else if (MO.isImm())
      *Operand = {ORIEL_OPERAND_IMMEDIATE, 0, 0, 0, MO.getImm()};
    else
      exportOtherOperand(MO, *Operand);
    ++Operand;
  }
  for (const MachineMemOperand *MMO : MI.memoperands())
    exportMemoryOperand(*MMO);
}

void CodeExporter::exportMemoryOperand(const MachineMemOperand &MMO) {
  OrielMemoryOperand &Memory = MemoryOperands.emplace_back();
  uint16_t Flags = 0;
  Flags |= MMO.isLoad() ? ORIEL_MEMORY_LOAD : 0;
  Flags |= MMO.isStore() ? ORIEL_MEMORY_STORE : 0;
  Flags |= MMO.isVolatile() ? ORIEL_MEMORY_VOLATILE : 0;
  Flags |= MMO.isNonTemporal() ? ORIEL_MEMORY_NON_TEMPORAL : 0;
  Flags |= MMO.isDereferenceable() ? ORIEL_MEMORY_DEREFERENCEABLE : 0;
  Flags |= MMO.isInvariant() ? ORIEL_MEMORY_INVARIANT : 0;
  Flags |= MMO.isAtomic() ? ORIEL_MEMORY_ATOMIC : 0;
  if (MMO.getSize().hasValue() && !MMO.getSize().isScalable()) {
    Flags |= ORIEL_MEMORY_SIZE_KNOWN;
    Memory.size_bytes = MMO.getSize().getValue().getFixedValue();
  }
  Memory.flags = Flags;
  Memory.offset = MMO.getOffset();
  Memory.address_space = MMO.getAddrSpace();
  Memory.log2_alignment = Log2(MMO.getBaseAlign());
  Memory.success_ordering = uint8_t(MMO.getSuccessOrdering());
  Memory.failure_ordering = uint8_t(MMO.getFailureOrdering());
  Memory.sync_scope = MMO.getSyncScopeID();
  if (const void *Base = MMO.getPointerInfo().V.getOpaqueValue()) {
    auto [Entry, IsNew] =
        BaseValueIndex.try_emplace(Base, BaseValues.size() + 1);
    if (IsNew)
      BaseValues.push_back(MMO.getValue());
    Memory.base_value = Entry->second;
  }
}

void CodeExporter::markChainedRegisters() {
  ChainedRegisters.clear();
  for (size_t I = 0, E = Registers.size(); I != E; ++I)
    if (LLVM_UNLIKELY(IsDefined[I] == DefinedAgain)) {
      Registers[I].flags |= ORIEL_REGISTER_CHAINED;
      ChainedRegisters.push_back(I);
    }
}

/// True if the memory of a global is its own: not another global's by an
/// alias, and not that which CUDA gives all arrays without a size.
static bool hasOwnMemory(const GlobalValue &Global) {
  const auto *Variable = dyn_cast<GlobalVariable>(&Global);
  return Variable && !(Variable->isDeclaration() &&
                       Variable->getAddressSpace() ==
                           NVPTXAS::ADDRESS_SPACE_SHARED);
}

/// True if a base may be another address for each access. LLVM copies blocks
/// behind others of the round before, and what a loop computes has another
/// value there.
static bool mayChange(const Value *Base) {
  const auto *Computed = dyn_cast_if_present<Instruction>(Base);
  return Computed && !Computed->getParent()->isEntryBlock();
}

/// Finds the globals among the bases of memory operands, and forgets bases that
/// may change, in a loop that can wait for several values at once.
void CodeExporter::exportBases() {
  struct Found {
    uint32_t Symbol;
    bool MayChange;
  };
  SmallVector<Found, 64> Bases;
  bool Any = false;
  for (const Value *Base : BaseValues) {
    const auto *Global = dyn_cast_if_present<GlobalValue>(Base);
    bool IsKnown = Global && hasOwnMemory(*Global);
    Bases.push_back(
        {IsKnown ? globalSymbolIndex(*Global) + 1 : 0, mayChange(Base)});
    Any |= IsKnown || Bases.back().MayChange;
  }
  if (!Any)
    return;
  for (OrielMemoryOperand &Memory : MemoryOperands)
    if (Memory.base_value) {
      const Found &Base = Bases[Memory.base_value - 1];
      Memory.base_symbol = Base.Symbol;
      if (Base.MayChange)
        Memory.base_value = 0;
    }
}
