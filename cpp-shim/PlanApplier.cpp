//===- PlanApplier.cpp - Applies a plan to a function ---------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Reads everything that the result needs of input instructions first.
/// Then lays out blocks, places instructions and deletes the remaining ones.
/// If an instruction keeps a register operand, the register's use list stays
/// as it is.
///
//===----------------------------------------------------------------------===//

#include "PlanApplier.h"
#include "PlanReader.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineJumpTableInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"

using namespace llvm;
using namespace oriel;

void PlanApplier::apply() {
  createRegisters();
  createBlocks();
  prepareOperands();
  gatherMergedProperties();
  layOutBlocks();
  placeInstructions();
  deleteUnused();
  connectBlocks();
  repairFlags();
}

void PlanApplier::rebuild() {
  createBlocks();
  layOutBlocks();
  placeInstructions();
  connectBlocks();
}

void PlanApplier::commit() {
  updateJumpTables();
  deleteDroppedBlocks();
  removeFrameObjects();
}

//===----------------------------------------------------------------------===//
// Before any change
//===----------------------------------------------------------------------===//

void PlanApplier::createRegisters() {
  const TargetRegisterInfo &TRI = *MF.getSubtarget().getRegisterInfo();
  for (uint32_t I = 0; I != Plan.new_register_count; ++I)
    NewRegisters.push_back(MF.getRegInfo().createVirtualRegister(
        TRI.getRegClass(Plan.new_registers[I])));
}

void PlanApplier::createBlocks() {
  Blocks = Input.blocks();
  size_t InputBlocks = Blocks.size();
  // New blocks get LLVM's next numbers in the order of their numbers in the
  // plan.
  std::vector<const OrielPlanBlock *> New;
  for (const OrielPlanBlock &Block : ArrayRef(Plan.blocks, Plan.block_count))
    if (Block.block >= InputBlocks)
      New.push_back(&Block);
  llvm::sort(New, [](const OrielPlanBlock *A, const OrielPlanBlock *B) {
    return A->block < B->block;
  });
  for (const OrielPlanBlock *Block : New) {
    MachineBasicBlock *Origin = Blocks[Block->origin];
    MachineBasicBlock *MBB =
        MF.CreateMachineBasicBlock(Origin->getBasicBlock());
    MBB->setAlignment(Origin->getAlignment());
    MF.push_back(MBB);
    Blocks.push_back(MBB);
  }
}

Register PlanApplier::registerFor(uint32_t Number) const {
  uint32_t InputRegisters = Input.snapshot().register_count;
  if (Number < InputRegisters)
    return Register::index2VirtReg(Number);
  return NewRegisters[Number - InputRegisters];
}

/// Returns a copy of \p MO that belongs to no instruction and is not tied.
static MachineOperand detached(const MachineOperand &MO) {
  MachineOperand Copy = MO;
  Copy.clearParent();
  if (!MO.isReg())
    return Copy;
  return MachineOperand::CreateReg(
      MO.getReg(), MO.isDef(), MO.isImplicit(), MO.isUse() && MO.isKill(),
      MO.isDef() && MO.isDead(), MO.isUndef(), MO.isEarlyClobber(),
      /*SubReg=*/0, MO.isUse() && MO.isDebug(), MO.isInternalRead());
}

MachineOperand PlanApplier::makeConstant(uint32_t Index) const {
  uint32_t InputConstants = Input.snapshot().constant_count;
  if (Index < InputConstants)
    return detached(*Input.constantOperands()[Index]);
  const OrielConstant &Constant = Plan.constants[Index - InputConstants];
  // The plan checker refuses constants of other kinds.
  APFloat Value(*floatFormat(Constant.kind),
                APInt(Constant.bits, Constant.low));
  return MachineOperand::CreateFPImm(
      ConstantFP::get(MF.getFunction().getContext(), Value));
}

MachineOperand PlanApplier::makeOperand(const OrielOperand &Operand) {
  switch (Operand.kind) {
  case ORIEL_OPERAND_REGISTER: {
    auto Has = [&](uint32_t Flag) { return (Operand.flags & Flag) != 0; };
    return MachineOperand::CreateReg(
        registerFor(Operand.index), Has(ORIEL_OPERAND_DEF),
        Has(ORIEL_OPERAND_IMPLICIT), Has(ORIEL_OPERAND_KILL),
        Has(ORIEL_OPERAND_DEAD), Has(ORIEL_OPERAND_UNDEF),
        Has(ORIEL_OPERAND_EARLY_CLOBBER), /*SubReg=*/0,
        Has(ORIEL_OPERAND_DEBUG), Has(ORIEL_OPERAND_INTERNAL_READ));
  }
  case ORIEL_OPERAND_NO_REGISTER:
    return MachineOperand::CreateReg(Register(),
                                     Operand.flags & ORIEL_OPERAND_DEF);
  case ORIEL_OPERAND_IMMEDIATE:
    return MachineOperand::CreateImm(Operand.value);
  case ORIEL_OPERAND_CONSTANT:
    return makeConstant(Operand.index);
  case ORIEL_OPERAND_BLOCK:
    return MachineOperand::CreateMBB(Blocks[Operand.index]);
  case ORIEL_OPERAND_FRAME_INDEX:
    return MachineOperand::CreateFI(
        int(Operand.index) -
        int(Input.snapshot().function.fixed_frame_objects));
  case ORIEL_OPERAND_SYMBOL: {
    MachineOperand Result = detached(*Input.symbolOperands()[Operand.index]);
    if (!Result.isSymbol())
      Result.setOffset(Operand.value);
    return Result;
  }
  case ORIEL_OPERAND_ORIGINAL:
    return detached(
        Input.instructions()[Operand.index]->getOperand(Operand.value));
  default:
    llvm_unreachable("the plan checker refuses other kinds");
  }
}

void PlanApplier::prepareOperands() {
  Operands.reserve(Plan.operand_count);
  for (const OrielOperand &Operand :
       ArrayRef(Plan.operands, Plan.operand_count))
    Operands.push_back(makeOperand(Operand));
}

/// The flags that promise something about operands, such as that a sum does not
/// wrap. An instruction that gets other operands must not keep them.
static constexpr uint32_t OperandAssumptions =
    MachineInstr::NoUWrap | MachineInstr::NoSWrap | MachineInstr::IsExact |
    MachineInstr::NonNeg | MachineInstr::Disjoint | MachineInstr::NoUSWrap |
    MachineInstr::SameSign | MachineInstr::InBounds;

PlanApplier::Inherited PlanApplier::inherit(uint32_t Number) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  SmallVector<const MachineInstr *, 4> From;
  if (Instruction.source)
    From.push_back(Input.instructions()[Instruction.source - 1]);
  for (uint32_t Merged : mergedOf(Plan, Number))
    From.push_back(Input.instructions()[Merged]);

  Inherited Result;
  if (From.empty())
    return Result;
  Result.Location = From.front()->getDebugLoc();
  Result.Flags = From.front()->getFlags();
  // An unknown access may touch anything, and so may an access merged with it.
  bool MemoryIsKnown = true;
  for (const MachineInstr *MI : From) {
    Result.Location =
        DebugLoc::getMergedLocation(Result.Location, MI->getDebugLoc());
    Result.Flags &= MI->getFlags();
    MemoryIsKnown &= !MI->mayLoadOrStore() || !MI->memoperands_empty();
    for (MachineMemOperand *MMO : MI->memoperands())
      if (!is_contained(Result.MemoryOperands, MMO))
        Result.MemoryOperands.push_back(MMO);
  }
  if (!MemoryIsKnown)
    Result.MemoryOperands.clear();
  return Result;
}

void PlanApplier::gatherMergedProperties() {
  Stays.assign(Input.instructions().size(), false);
  for (uint32_t I = 0; I != Plan.instruction_count; ++I) {
    const OrielPlanInstruction &Instruction = Plan.instructions[I];
    if (Instruction.action == ORIEL_ACTION_NEW || !mergedOf(Plan, I).empty())
      InheritedBy[I] = inherit(I);
    if (Instruction.action == ORIEL_ACTION_CLONE)
      CloneOf[I] =
          MF.CloneMachineInstr(Input.instructions()[Instruction.source - 1]);
    if (Instruction.action == ORIEL_ACTION_KEEP ||
        Instruction.action == ORIEL_ACTION_REPLACE)
      Stays[Instruction.source - 1] = true;
  }
}

//===----------------------------------------------------------------------===//
// Blocks and instructions
//===----------------------------------------------------------------------===//

void PlanApplier::layOutBlocks() {
  MachineFunction::iterator Cursor = MF.begin();
  for (const OrielPlanBlock &Block : ArrayRef(Plan.blocks, Plan.block_count)) {
    MachineBasicBlock *MBB = Blocks[Block.block];
    if (&*Cursor == MBB)
      ++Cursor;
    else
      MF.splice(Cursor, MBB);
  }
}

ArrayRef<MachineOperand> PlanApplier::newOperands(uint32_t Number) const {
  return ArrayRef(Operands).slice(Plan.instructions[Number].first_operand,
                                  operandsOf(Plan, Number).size());
}

MachineInstr *PlanApplier::buildNew(uint32_t Number) {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  assert(InheritedBy.contains(Number) && "the properties were not gathered");
  const Inherited &From = InheritedBy[Number];
  const MCInstrDesc &Desc =
      MF.getSubtarget().getInstrInfo()->get(Opcodes[Instruction.opcode]);
  MachineInstr *MI =
      MF.CreateMachineInstr(Desc, From.Location, /*NoImplicit=*/true);
  MI->setFlags(From.Flags & ~OperandAssumptions);
  if (Desc.mayLoad() || Desc.mayStore())
    MI->setMemRefs(MF, From.MemoryOperands);
  for (const MachineOperand &MO : newOperands(Number))
    MI->addOperand(MF, MO);
  return MI;
}

/// True if \p MO can become \p New without being removed from its instruction.
static bool isAssignable(const MachineOperand &MO, const MachineOperand &New) {
  if (MO.getType() != New.getType())
    return false;
  if (MO.isReg())
    return MO.isDef() == New.isDef() && MO.isImplicit() == New.isImplicit() &&
           !MO.getReg().isPhysical() && !New.getReg().isPhysical();
  return MO.isIdenticalTo(New) || MO.isImm() || MO.isFPImm() || MO.isMBB();
}

/// Changes \p MO to \p New; isAssignable() must hold.
static void assignInPlace(MachineOperand &MO, const MachineOperand &New) {
  assert(isAssignable(MO, New) && "the operand must be replaced");
  switch (New.getType()) {
  case MachineOperand::MO_Register:
    MO.setReg(New.getReg());
    MO.setIsUndef(New.isUndef());
    if (New.isDef()) {
      MO.setIsDead(New.isDead());
      MO.setIsEarlyClobber(New.isEarlyClobber());
    } else if (!New.isDebug()) {
      MO.setIsKill(New.isKill());
    }
    break;
  case MachineOperand::MO_Immediate:
    MO.setImm(New.getImm());
    break;
  case MachineOperand::MO_FPImmediate:
    MO.setFPImm(New.getFPImm());
    break;
  case MachineOperand::MO_MachineBasicBlock:
    MO.setMBB(New.getMBB());
    break;
  default:
    assert(MO.isIdenticalTo(New) && "not a kind that is assigned in place");
    break;
  }
}

void PlanApplier::noteDefinitions(const MachineInstr &MI) {
  for (const MachineOperand &MO : MI.all_defs())
    if (MO.getReg().isVirtual())
      PerhapsUndefined.push_back(MO.getReg());
}

void PlanApplier::replaceOperands(MachineInstr &MI, uint32_t Number) {
  ArrayRef<MachineOperand> New = newOperands(Number);
  noteDefinitions(MI);
  bool InPlace = New.size() == MI.getNumOperands();
  for (size_t I = 0, E = New.size(); InPlace && I != E; ++I)
    InPlace = isAssignable(MI.getOperand(I), New[I]);
  if (InPlace) {
    for (size_t I = 0, E = New.size(); I != E; ++I)
      assignInPlace(MI.getOperand(I), New[I]);
    return;
  }
  // Ties that the opcode declares are restored with the operands.
  for (unsigned I = MI.getNumOperands(); I-- != 0;) {
    if (MI.getOperand(I).isReg() && MI.getOperand(I).isTied())
      MI.untieRegOperand(I);
    MI.removeOperand(I);
  }
  for (const MachineOperand &MO : New)
    MI.addOperand(MF, MO);
}

MachineInstr *PlanApplier::build(uint32_t Number) {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_NEW)
    return buildNew(Number);
  MachineInstr *MI = Instruction.action == ORIEL_ACTION_CLONE
                         ? CloneOf[Number]
                         : Input.instructions()[Instruction.source - 1];
  if (Instruction.action == ORIEL_ACTION_REPLACE ||
      Instruction.action == ORIEL_ACTION_CLONE)
    MI->setFlags(MI->getFlags() & ~OperandAssumptions);
  if (Instruction.action != ORIEL_ACTION_KEEP)
    replaceOperands(*MI, Number);
  if (!mergedOf(Plan, Number).empty()) {
    assert(InheritedBy.contains(Number) && "the properties were not gathered");
    const Inherited &From = InheritedBy[Number];
    MI->setDebugLoc(From.Location);
    MI->setFlags(From.Flags & MI->getFlags());
    if (MI->mayLoadOrStore())
      MI->setMemRefs(MF, From.MemoryOperands);
  }
  return MI;
}

void PlanApplier::placeInstructions() {
  for (uint32_t B = 0; B != Plan.block_count; ++B) {
    MachineBasicBlock &MBB = *Blocks[Plan.blocks[B].block];
    MachineBasicBlock::iterator Cursor = MBB.begin();
    for (uint32_t I : instructionsOf(Plan, B)) {
      MachineInstr *MI = build(I);
      if (Cursor != MBB.end() && &*Cursor == MI)
        ++Cursor;
      else if (MachineBasicBlock *Home = MI->getParent())
        MBB.splice(Cursor, Home, MI->getIterator());
      else
        MBB.insert(Cursor, MI);
    }
  }
}

//===----------------------------------------------------------------------===//
// Afterwards
//===----------------------------------------------------------------------===//

void PlanApplier::deleteUnused() {
  for (size_t I = 0, E = Stays.size(); I != E; ++I) {
    if (Stays[I])
      continue;
    MachineInstr *MI = Input.instructions()[I];
    noteDefinitions(*MI);
    MI->eraseFromParent();
  }
  MachineRegisterInfo &MRI = MF.getRegInfo();
  for (Register Reg : PerhapsUndefined)
    if (MRI.def_empty(Reg))
      MRI.markUsesInDebugValueAsUndef(Reg);
}

/// True if \p MBB has exactly these edges, in this order.
static bool hasEdges(const MachineBasicBlock &MBB, ArrayRef<OrielEdge> Edges,
                     ArrayRef<MachineBasicBlock *> Blocks) {
  if (MBB.succ_size() != Edges.size())
    return false;
  bool HasProbabilities = MBB.hasSuccessorProbabilities();
  auto Successor = MBB.succ_begin();
  for (const OrielEdge &Edge : Edges) {
    uint32_t Probability = ORIEL_PROBABILITY_UNKNOWN;
    if (HasProbabilities)
      Probability = MBB.getSuccProbability(Successor).getNumerator();
    if (*Successor != Blocks[Edge.block] || Probability != Edge.probability)
      return false;
    ++Successor;
  }
  return true;
}

void PlanApplier::connectBlocks() {
  for (uint32_t B = 0; B != Plan.block_count; ++B) {
    MachineBasicBlock &MBB = *Blocks[Plan.blocks[B].block];
    ArrayRef<OrielEdge> Edges = edgesFrom(Plan, B);
    if (hasEdges(MBB, Edges, Blocks))
      continue;
    while (!MBB.succ_empty())
      MBB.removeSuccessor(MBB.succ_end() - 1);
    bool AllKnown = all_of(Edges, [](const OrielEdge &Edge) {
      return Edge.probability != ORIEL_PROBABILITY_UNKNOWN;
    });
    for (const OrielEdge &Edge : Edges)
      if (AllKnown)
        MBB.addSuccessor(Blocks[Edge.block],
                         BranchProbability::getRaw(Edge.probability));
      else
        MBB.addSuccessorWithoutProb(Blocks[Edge.block]);
  }

  // Blocks that the plan does not name have no instructions left.
  for (MachineBasicBlock *MBB : droppedBlocks())
    while (!MBB->succ_empty())
      MBB->removeSuccessor(MBB->succ_end() - 1);
}

SmallVector<MachineBasicBlock *, 4> PlanApplier::droppedBlocks() const {
  std::vector<bool> Planned(Blocks.size(), false);
  for (const OrielPlanBlock &Block : ArrayRef(Plan.blocks, Plan.block_count))
    Planned[Block.block] = true;
  SmallVector<MachineBasicBlock *, 4> Dropped;
  for (size_t I = 0, E = Blocks.size(); I != E; ++I)
    if (!Planned[I])
      Dropped.push_back(Blocks[I]);
  return Dropped;
}

void PlanApplier::deleteDroppedBlocks() {
  for (MachineBasicBlock *MBB : droppedBlocks()) {
    if (MachineJumpTableInfo *Tables = MF.getJumpTableInfo())
      Tables->RemoveMBBFromJumpTables(MBB);
    MBB->eraseFromParent();
  }
}

void PlanApplier::removeFrameObjects() {
  if (!Plan.removed_frame_object_count)
    return;
  MachineFrameInfo &Frame = MF.getFrameInfo();
  for (uint32_t Object : ArrayRef(Plan.removed_frame_objects,
                                  Plan.removed_frame_object_count))
    Frame.RemoveStackObject(
        int(Object) - int(Input.snapshot().function.fixed_frame_objects));
  // A variable in a removed object has no single location any more.
  erase_if(MF.getVariableDbgInfo(),
           [&](const MachineFunction::VariableDbgInfo &Variable) {
             return Variable.inStackSlot() &&
                    Frame.isDeadObjectIndex(Variable.getStackSlot());
           });
  auto IsGone = [&](const MachineOperand &MO) {
    return MO.isFI() && Frame.isDeadObjectIndex(MO.getIndex());
  };
  for (MachineBasicBlock &MBB : MF)
    for (MachineInstr &MI : MBB)
      if (MI.isDebugValue() && any_of(MI.debug_operands(), IsGone))
        MI.setDebugValueUndef();
}

void PlanApplier::updateJumpTables() {
  // NVPTX lists the targets of an indirect branch in its instructions; LLVM's
  // table must be kept consistent.
  MachineJumpTableInfo *Tables = MF.getJumpTableInfo();
  if (!Tables)
    return;
  const OrielSnapshot &Snapshot = Input.snapshot();
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  unsigned Table = 0;
  for (uint32_t I = 0; I != Plan.instruction_count; ++I) {
    const OrielPlanInstruction &Instruction = Plan.instructions[I];
    if (!Instruction.source)
      continue;
    uint32_t Source = Instruction.source - 1;
    StringRef Name = TII.getName(
        Snapshot.opcodes[Snapshot.instructions[Source].opcode].llvm_opcode);
    if (!Name.starts_with("BRX_"))
      continue;
    const OrielOperand *Old =
        Snapshot.operands + Snapshot.instructions[Source].first_operand;
    if (Name == "BRX_START")
      Table = Old->value;
    if (Instruction.action != ORIEL_ACTION_REPLACE || Name == "BRX_START" ||
        Old->kind != ORIEL_OPERAND_BLOCK)
      continue;
    MachineBasicBlock *OldTarget = Blocks[Old->index];
    MachineBasicBlock *NewTarget = Operands[Instruction.first_operand].getMBB();
    if (OldTarget != NewTarget && Table < Tables->getJumpTables().size())
      Tables->ReplaceMBBInJumpTable(Table, OldTarget, NewTarget);
  }
}

void PlanApplier::repairFlags() {
  // Kill flags may be missing but never wrong; dead flags likewise.
  MachineRegisterInfo &MRI = MF.getRegInfo();
  for (unsigned I = 0, E = MRI.getNumVirtRegs(); I != E; ++I) {
    Register Reg = Register::index2VirtReg(I);
    MRI.clearKillFlags(Reg);
    if (!MRI.use_nodbg_empty(Reg))
      for (MachineOperand &MO : MRI.def_operands(Reg))
        MO.setIsDead(false);
  }
}
