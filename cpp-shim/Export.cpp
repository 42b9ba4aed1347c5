//===- Export.cpp - From a machine function to a snapshot -----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One pass over the function's blocks, instructions and operands. What is not
/// an instruction or operand is exported by ExportTables.cpp.
///
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "Support.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;
using namespace oriel;

bool SnapshotExporter::refuse(const Twine &Reason) {
  Refusal = Reason.str();
  return false;
}

void SnapshotExporter::clear() {
  Blocks.clear();
  Edges.clear();
  Predecessors.clear();
  Instructions.clear();
  Operands.clear();
  MemoryOperands.clear();
  Registers.clear();
  ChainedOperands.clear();
  for (const OrielOpcode &Opcode : Opcodes)
    OpcodeIndex[Opcode.llvm_opcode] = 0;
  Opcodes.clear();
  Constants.clear();
  Symbols.clear();
  FrameObjects.clear();
  PhysicalRegisters.clear();
  Locations.clear();
  Variables.clear();
  Strings.resize(ClassNameBytes);
  BlockPointers.clear();
  InstructionPointers.clear();
  SymbolOperands.clear();
  ConstantOperands.clear();
  BlockIndex.clear();
  LocationIndex.clear();
  SymbolIndex.clear();
  ConstantIndex.clear();
  VariableIndex.clear();
  BaseValueIndex.clear();
  BaseValues.clear();
  ChainedInstructions.clear();
  PhysicalRegisterIndex.clear();
  LastLocation = nullptr;
  LastLocationIndex = 0;
  AnyChained = false;
  Refusal.clear();
}

/// Which of \p MBB's properties the snapshot records.
static uint32_t blockFlags(const MachineBasicBlock &MBB) {
  uint32_t Flags = 0;
  if (MBB.hasAddressTaken())
    Flags |= ORIEL_BLOCK_ADDRESS_TAKEN;
  if (MBB.hasLabelMustBeEmitted())
    Flags |= ORIEL_BLOCK_LABEL_USED;
  if (MBB.isEHPad())
    Flags |= ORIEL_BLOCK_LANDING_PAD;
  return Flags;
}

bool SnapshotExporter::run(MachineFunction &MF, OrielStage Stage,
                           const MachineBlockFrequencyInfo *Frequencies) {
  clear();
  exportRegisterClasses(MF);
  exportFunction(MF, Stage, Frequencies);
  if (!exportRegisters(MF))
    return false;
  exportFrame(MF);

  exportBlocks(MF, Frequencies);
  for (uint32_t Block = 0, E = BlockPointers.size(); Block != E; ++Block)
    if (!exportCode(Block))
      return false;
  Blocks.back().first_instruction = Instructions.size();
  OrielInstruction InstructionSentinel = {};
  InstructionSentinel.first_operand = Operands.size();
  InstructionSentinel.first_memory_operand = MemoryOperands.size();
  Instructions.push_back(InstructionSentinel);

  // Ranges have 32 bits; no real function is near.
  if (Strings.size() > UINT32_MAX)
    return refuse("it is too large");
  if (AnyChained)
    exportChains(MF);
  exportBaseSymbols();
  publish();
  return true;
}

/// Exports what is not code. LLVM's blocks and IR blocks are spread over memory:
/// what is read of them is read in loops of its own, so that the machine waits
/// for several at once.
void SnapshotExporter::exportBlocks(
    MachineFunction &MF, const MachineBlockFrequencyInfo *Frequencies) {
  BlockIndex.resize(MF.getNumBlockIDs());
  for (MachineBasicBlock &MBB : MF) {
    BlockIndex[MBB.getNumber()] = BlockPointers.size();
    BlockPointers.push_back(&MBB);
  }
  for (const MachineBasicBlock *MBB : BlockPointers) {
    OrielBlock &Block = Blocks.emplace_back();
    Block.first_successor = Edges.size();
    Block.first_predecessor = Predecessors.size();
    Block.number = MBB->getNumber();
    Block.flags = blockFlags(*MBB);
    if (Frequencies)
      Block.frequency = Frequencies->getBlockFreq(MBB).getFrequency();
    if (const BasicBlock *BB = MBB->getBasicBlock(); BB && BB->hasName())
      Block.name = addString(BB->getName());
    Block.log2_alignment = Log2(MBB->getAlignment());

    bool HasProbabilities = MBB->hasSuccessorProbabilities();
    for (auto I = MBB->succ_begin(), E = MBB->succ_end(); I != E; ++I) {
      uint32_t Probability = ORIEL_PROBABILITY_UNKNOWN;
      if (HasProbabilities)
        Probability = MBB->getSuccProbability(I).getNumerator();
      Edges.push_back({BlockIndex[(*I)->getNumber()], Probability});
    }
    for (const MachineBasicBlock *Predecessor : MBB->predecessors())
      Predecessors.push_back(BlockIndex[Predecessor->getNumber()]);
  }
  OrielBlock &Sentinel = Blocks.emplace_back();
  Sentinel.first_successor = Edges.size();
  Sentinel.first_predecessor = Predecessors.size();
}

/// How many instructions ahead of the one that is exported are fetched.
static constexpr unsigned PrefetchDistance = 3;

/// Asks for what exportInstruction() will read of \p MI. Instructions and their
/// operands lie where they were made, in no order that hardware could guess.
static void prefetch(const MachineInstr &MI) {
  const char *FirstOperand =
      reinterpret_cast<const char *>(MI.operands_begin());
  __builtin_prefetch(FirstOperand);
  __builtin_prefetch(FirstOperand + 64);
}

bool SnapshotExporter::exportCode(uint32_t Block) {
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
    InstructionPointers.push_back(&MI);
    if (!exportInstruction(MI))
      return false;
  }
  return true;
}

/// What the operand string of inline assembly \p MI declares.
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

/// Does \p MI carry something besides operands, flags and location?
static bool hasAttachments(const MachineInstr &MI) {
  return MI.getPreInstrSymbol() || MI.getPostInstrSymbol() ||
         MI.getHeapAllocMarker() || MI.getPCSections() || MI.getCFIType() ||
         MI.getMMRAMetadata() || MI.getDeactivationSymbol();
}

/// The usual operand; inlined into the loop over operands.
LLVM_ATTRIBUTE_ALWAYS_INLINE bool
SnapshotExporter::exportRegisterOperand(const MachineInstr &MI,
                                        const MachineOperand &MO,
                                        OrielOperand &Operand) {
  if (LLVM_UNLIKELY(MO.getSubReg()))
    return refuse("it uses sub-registers");
  // Without branches where it cannot be predicted whether a flag is set.
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
    if (MO.isDef()) {
      // Of a second definition on, LLVM's chain decides how values are
      // numbered.
      if (LLVM_UNLIKELY(IsDefined[Index])) {
        Registers[Index].flags |= ORIEL_REGISTER_CHAINED;
        AnyChained = true;
      }
      IsDefined[Index] = true;
    }
  } else if (!Reg) {
    Kind = ORIEL_OPERAND_NO_REGISTER;
  } else {
    Flags |= MO.isRenamable() * ORIEL_OPERAND_RENAMABLE;
    Kind = ORIEL_OPERAND_PHYSICAL;
    Index = physicalRegisterIndex(Reg);
  }
  Operand.kind = Kind;
  Operand.tied_to = Tied;
  Operand.flags = Flags;
  Operand.index = Index;
  Operand.value = 0;
  return true;
}

bool SnapshotExporter::exportOtherOperand(const MachineOperand &MO,
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
    llvm_unreachable("exportInstruction() has done these");
  case MachineOperand::MO_RegisterMask:
  case MachineOperand::MO_RegisterLiveOut:
    return refuse("it uses register masks");
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
  return true;
}

bool SnapshotExporter::exportInstruction(const MachineInstr &MI) {
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

  // Records are filled where they stay: a copy would wait for each of its parts
  // to be written.
  Operands.resize_for_overwrite(FirstOperand + MI.getNumOperands());
  OrielOperand *Operand = Operands.data() + FirstOperand;
  for (const MachineOperand &MO : MI.operands()) {
    bool IsExported = true;
    if (MO.isReg())
      IsExported = exportRegisterOperand(MI, MO, *Operand);
    else if (MO.isImm())
      *Operand = {ORIEL_OPERAND_IMMEDIATE, 0, 0, 0, MO.getImm()};
    else
      IsExported = exportOtherOperand(MO, *Operand);
    if (LLVM_UNLIKELY(!IsExported))
      return false;
    ++Operand;
  }
  for (const MachineMemOperand *MMO : MI.memoperands())
    exportMemoryOperand(*MMO);
  return true;
}

void SnapshotExporter::exportMemoryOperand(const MachineMemOperand &MMO) {
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

/// Finds the globals among the bases of memory operands, again in a loop that
/// waits for several values at once.
void SnapshotExporter::exportBaseSymbols() {
  SmallVector<uint32_t, 64> Symbols;
  bool AnyGlobal = false;
  for (const Value *Base : BaseValues) {
    const auto *Global = dyn_cast_if_present<GlobalValue>(Base);
    Symbols.push_back(Global ? globalSymbolIndex(*Global) + 1 : 0);
    AnyGlobal |= Global != nullptr;
  }
  if (!AnyGlobal)
    return;
  for (OrielMemoryOperand &Memory : MemoryOperands)
    if (Memory.base_value)
      Memory.base_symbol = Symbols[Memory.base_value - 1];
}

void SnapshotExporter::exportChains(const MachineFunction &MF) {
  // Only the operands of chained registers are looked up, so only their
  // instructions need a number.
  for (size_t I = 0, E = InstructionPointers.size(); I != E; ++I) {
    uint32_t First = Instructions[I].first_operand;
    uint32_t Last = Instructions[I + 1].first_operand;
    for (const OrielOperand &Operand :
         ArrayRef(Operands).slice(First, Last - First))
      if (Operand.kind == ORIEL_OPERAND_REGISTER &&
          (Registers[Operand.index].flags & ORIEL_REGISTER_CHAINED)) {
        ChainedInstructions[InstructionPointers[I]] = I;
        break;
      }
  }
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  for (uint32_t R = 0, E = Registers.size(); R != E; ++R) {
    if (!(Registers[R].flags & ORIEL_REGISTER_CHAINED))
      continue;
    for (const MachineOperand &MO :
         MRI.reg_nodbg_operands(Register::index2VirtReg(R)))
      ChainedOperands.push_back(
          {R, ChainedInstructions.lookup(MO.getParent()), MO.getOperandNo()});
  }
}

void SnapshotExporter::publish() {
  lend(Blocks, Snapshot.blocks, Snapshot.block_count, /*Sentinels=*/1);
  lend(Edges, Snapshot.edges, Snapshot.edge_count);
  Snapshot.predecessors = Predecessors.data();
  lend(Instructions, Snapshot.instructions, Snapshot.instruction_count,
       /*Sentinels=*/1);
  lend(Operands, Snapshot.operands, Snapshot.operand_count);
  lend(MemoryOperands, Snapshot.memory_operands, Snapshot.memory_operand_count);
  lend(Registers, Snapshot.registers, Snapshot.register_count);
  lend(ChainedOperands, Snapshot.chained_operands,
       Snapshot.chained_operand_count);
  lend(RegisterClasses, Snapshot.register_classes,
       Snapshot.register_class_count);
  lend(Opcodes, Snapshot.opcodes, Snapshot.opcode_count);
  lend(Constants, Snapshot.constants, Snapshot.constant_count);
  lend(Symbols, Snapshot.symbols, Snapshot.symbol_count);
  lend(FrameObjects, Snapshot.frame_objects, Snapshot.frame_object_count);
  lend(PhysicalRegisters, Snapshot.physical_registers,
       Snapshot.physical_register_count);
  lend(Locations, Snapshot.locations, Snapshot.location_count);
  lend(Variables, Snapshot.variables, Snapshot.variable_count);
  lend(Strings, Snapshot.strings, Snapshot.string_bytes);
}
