//===- PlanChecker.cpp - Checks that a plan can be applied ----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Checks the structure first (ranges, numbers), then single
/// instructions, then relations between them: control flow, PHIs, definitions
/// on every path to a use.
///
//===----------------------------------------------------------------------===//

#include "PlanChecker.h"
#include "PlanFlowChecks.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;
using namespace oriel;

bool PlanChecker::check() {
  if (!checkArrays())
    return false;
  // Anything that LLVM created may stay, even if a plan could not create it.
  Identity = changesNothing();
  if (Identity)
    return true;
  return checkNewRegisters() && checkNewConstants() && checkOpcodeNames() &&
         checkBlocks() && checkInstructions() &&
         PlanFlowChecks(*this).check() && checkRemovedFrameObjects();
}

bool PlanChecker::changesNothing() const {
  if (Plan.new_register_count || Plan.merged_count ||
      Plan.removed_frame_object_count ||
      Plan.block_count != Snapshot.block_count ||
      Plan.instruction_count != Snapshot.instruction_count ||
      Plan.successor_count != Snapshot.edge_count)
    return false;
  for (uint32_t I = 0; I <= Plan.block_count; ++I) {
    const OrielPlanBlock &Block = Plan.blocks[I];
    const OrielBlock &Old = Snapshot.blocks[I];
    if (Block.first_instruction != Old.first_instruction ||
        Block.first_successor != Old.first_successor)
      return false;
    if (I != Plan.block_count && Block.block != I)
      return false;
  }
  for (uint32_t I = 0; I != Plan.successor_count; ++I)
    if (Plan.successors[I].block != Snapshot.edges[I].block ||
        Plan.successors[I].probability != Snapshot.edges[I].probability)
      return false;
  for (uint32_t I = 0; I != Plan.instruction_count; ++I)
    if (Plan.instructions[I].action != ORIEL_ACTION_KEEP ||
        Plan.instructions[I].source != I + 1)
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

bool PlanChecker::checkArrays() {
  if (Plan.abi_version != ORIEL_ABI_VERSION)
    return fail("the plan has ABI version " + Twine(Plan.abi_version) +
                ", not " + Twine(ORIEL_ABI_VERSION));
  if (!Plan.blocks || !Plan.instructions)
    return fail("the plan has no block or instruction array");
  auto Missing = [](const void *Array, uint32_t Count) {
    return !Array && Count;
  };
  if (Missing(Plan.successors, Plan.successor_count) ||
      Missing(Plan.operands, Plan.operand_count) ||
      Missing(Plan.merged, Plan.merged_count) ||
      Missing(Plan.new_registers, Plan.new_register_count) ||
      Missing(Plan.opcode_names, Plan.opcode_name_count) ||
      Missing(Plan.constants, Plan.constant_count) ||
      Missing(Plan.removed_frame_objects, Plan.removed_frame_object_count) ||
      Missing(Plan.strings, Plan.string_bytes))
    return fail("an array of the plan is missing");

  for (uint32_t I = 0; I <= Plan.block_count; ++I) {
    const OrielPlanBlock &Block = Plan.blocks[I];
    const OrielPlanBlock *Previous = I ? &Plan.blocks[I - 1] : nullptr;
    if (Block.first_instruction <
            (Previous ? Previous->first_instruction : 0) ||
        Block.first_instruction > Plan.instruction_count ||
        Block.first_successor < (Previous ? Previous->first_successor : 0) ||
        Block.first_successor > Plan.successor_count)
      return fail("the ranges of block at position " + Twine(I) +
                  " are out of order");
  }
  if (Plan.blocks[0].first_instruction || Plan.blocks[0].first_successor ||
      Plan.blocks[Plan.block_count].first_instruction !=
          Plan.instruction_count ||
      Plan.blocks[Plan.block_count].first_successor != Plan.successor_count)
    return fail("the blocks do not cover the instructions and successors");

  for (uint32_t I = 0; I <= Plan.instruction_count; ++I) {
    const OrielPlanInstruction &Instruction = Plan.instructions[I];
    const OrielPlanInstruction *Previous =
        I ? &Plan.instructions[I - 1] : nullptr;
    if (Instruction.first_operand < (Previous ? Previous->first_operand : 0) ||
        Instruction.first_operand > Plan.operand_count ||
        Instruction.first_merged < (Previous ? Previous->first_merged : 0) ||
        Instruction.first_merged > Plan.merged_count)
      return fail("the ranges of instruction " + Twine(I) +
                  " are out of order");
  }
  const OrielPlanInstruction &Sentinel =
      Plan.instructions[Plan.instruction_count];
  if (Plan.instructions[0].first_operand || Plan.instructions[0].first_merged ||
      Sentinel.first_operand != Plan.operand_count ||
      Sentinel.first_merged != Plan.merged_count)
    return fail("the instructions do not cover the operands");
  return true;
}

bool PlanChecker::checkNewRegisters() {
  // LLVM's virtual register numbers have 31 bits.
  if (Plan.new_register_count > (1u << 30) - Snapshot.register_count)
    return fail("the plan adds too many registers");
  for (uint32_t I = 0; I != Plan.new_register_count; ++I) {
    uint32_t Class = Plan.new_registers[I];
    if (Class >= Snapshot.register_class_count)
      return fail("new register " + Twine(I) + " has unknown class " +
                  Twine(Class));
    if (Snapshot.register_classes[Class].file == ORIEL_FILE_SPECIAL)
      return fail("new register " + Twine(I) + " has a reserved class");
  }
  return true;
}

bool PlanChecker::checkNewConstants() {
  for (uint32_t I = 0; I != Plan.constant_count; ++I) {
    const OrielConstant &Constant = Plan.constants[I];
    const fltSemantics *Format = floatFormat(Constant.kind);
    if (!Format)
      return fail("new constant " + Twine(I) + " has unknown kind " +
                  Twine(Constant.kind));
    uint32_t Bits = APFloat::getSizeInBits(*Format);
    if (Constant.bits != Bits || Constant.high ||
        (Bits != 64 && Constant.low >> Bits))
      return fail("new constant " + Twine(I) +
                  " does not have the width of its kind");
  }
  return Plan.constant_count <= UINT32_MAX - Snapshot.constant_count ||
         fail("the plan adds too many constants");
}

bool PlanChecker::checkOpcodeNames() {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  for (uint32_t I = 0; I != Plan.opcode_name_count; ++I) {
    OrielString Name = Plan.opcode_names[I];
    if (Name.offset > Plan.string_bytes ||
        Name.length > Plan.string_bytes - Name.offset)
      return fail("opcode name " + Twine(I) + " is outside the strings");
    StringRef Text(Plan.strings + Name.offset, Name.length);
    std::optional<unsigned> Opcode = Names.find(MF, Text);
    if (!Opcode)
      return fail("there is no opcode '" + Text + "'");
    const MCInstrDesc &Desc = TII.get(*Opcode);
    if (Desc.isPreISelOpcode() || *Opcode == TargetOpcode::INLINEASM ||
        *Opcode == TargetOpcode::INLINEASM_BR)
      return fail("opcode '" + Text + "' cannot be created");
    Findings.Opcodes.push_back(*Opcode);
  }
  return true;
}

bool PlanChecker::checkBlocks() {
  if (!Plan.block_count)
    return fail("the plan has no blocks");
  uint32_t Kept = 0;
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    Kept += Plan.blocks[I].block < Snapshot.block_count;
  uint32_t Total = Snapshot.block_count + (Plan.block_count - Kept);
  Findings.Position.assign(Total, NotPlanned);
  for (uint32_t I = 0; I != Plan.block_count; ++I) {
    const OrielPlanBlock &Block = Plan.blocks[I];
    if (Block.block >= Total)
      return fail("block number " + Twine(Block.block) + " leaves a gap");
    if (Findings.Position[Block.block] != NotPlanned)
      return fail("block " + Twine(Block.block) + " occurs twice");
    Findings.Position[Block.block] = I;
    if (Block.block >= Snapshot.block_count &&
        Block.origin >= Snapshot.block_count)
      return fail("new block " + Twine(Block.block) + " has no origin");
  }
  if (Plan.blocks[0].block != 0)
    return fail("the entry block is not first");
  for (uint32_t I = 0; I != Snapshot.block_count; ++I)
    if (Findings.Position[I] == NotPlanned &&
        (Snapshot.blocks[I].flags &
         (ORIEL_BLOCK_ADDRESS_TAKEN | ORIEL_BLOCK_LANDING_PAD)))
      return fail("block " + Twine(I) +
                  " is deleted, but something outside "
                  "the function body refers to it");
  for (uint32_t I = 0; I != Plan.successor_count; ++I) {
    const OrielEdge &Edge = Plan.successors[I];
    if (Edge.block >= Total || Findings.Position[Edge.block] == NotPlanned)
      return fail("an edge leads to block " + Twine(Edge.block) +
                  ", which does not exist");
    if (Edge.probability > ORIEL_PROBABILITY_DENOMINATOR &&
        Edge.probability != ORIEL_PROBABILITY_UNKNOWN)
      return fail("an edge to block " + Twine(Edge.block) +
                  " has a probability above one");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool PlanChecker::checkInstructions() {
  Used.assign(Snapshot.instruction_count, false);
  for (uint32_t I = 0; I != Plan.instruction_count; ++I)
    if (!checkInstruction(I))
      return false;
  return true;
}

/// True if \p MI has effects besides its results and memory operands. LLVM also
/// sets this flag for conversions between address spaces, comparisons of packed
/// halves and loads of memory that does not change.
static bool hasEffects(const MachineInstr &MI) {
  if (!MI.hasUnmodeledSideEffects())
    return false;
  constexpr StringLiteral OnlyValues[] = {"cvta_", "SETP_", "LD_GLOBAL_NC_",
                                          "LDU_GLOBAL_"};
  const TargetInstrInfo &TII = *MI.getMF()->getSubtarget().getInstrInfo();
  StringRef Name = TII.getName(MI.getOpcode());
  return none_of(OnlyValues,
                 [&](StringRef Prefix) { return Name.starts_with(Prefix); });
}

bool PlanChecker::checkInstruction(uint32_t Number) {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action > ORIEL_ACTION_NEW)
    return fail("instruction " + Twine(Number) + " has unknown action " +
                Twine(Instruction.action));
  if (Instruction.source > Snapshot.instruction_count)
    return fail("instruction " + Twine(Number) + " has unknown source " +
                Twine(Instruction.source));
  if (!Instruction.source && Instruction.action != ORIEL_ACTION_NEW)
    return fail("instruction " + Twine(Number) + " has no source");
  for (uint32_t Merged : mergedOf(Plan, Number))
    if (Merged >= Snapshot.instruction_count)
      return fail("instruction " + Twine(Number) +
                  " merges an unknown instruction");

  if (Instruction.source && Instruction.action != ORIEL_ACTION_CLONE) {
    if (Used[Instruction.source - 1])
      return fail("input instruction " + Twine(Instruction.source - 1) +
                  " is used twice");
    Used[Instruction.source - 1] = true;
  }

  const MachineInstr *Source =
      Instruction.source ? Input.instructions()[Instruction.source - 1]
                         : nullptr;
  switch (Instruction.action) {
  case ORIEL_ACTION_KEEP:
    if (!operandsOf(Plan, Number).empty())
      return fail("kept instruction " + Twine(Number) + " has operands");
    return true;
  case ORIEL_ACTION_CLONE:
    // A call belongs to a sequence that declares its parameters.
    if (Source->isNotDuplicable() || Source->isConvergent() ||
        Source->isCall() || hasEffects(*Source))
      return fail(
          "instruction " + Twine(Number) + " clones '" +
          MF.getSubtarget().getInstrInfo()->getName(Source->getOpcode()) +
          "', which must not be duplicated");
    return checkReplacement(Number, *Source);
  case ORIEL_ACTION_REPLACE:
    return checkReplacement(Number, *Source);
  case ORIEL_ACTION_NEW:
    if (Instruction.opcode >= Plan.opcode_name_count)
      return fail("instruction " + Twine(Number) + " has no opcode");
    return Operands.checkOperands(Number, descriptor(Number));
  }
  llvm_unreachable("the action was checked");
}

bool PlanChecker::checkReplacement(uint32_t Number, const MachineInstr &MI) {
  return Operands.checkOperands(Number, MI.getDesc()) &&
         checkVariadicOperands(Number, MI) && checkTiedOperands(Number, MI) &&
         Operands.checkEarlyClobbers(Number, MI);
}

bool PlanChecker::checkVariadicOperands(uint32_t Number,
                                        const MachineInstr &MI) {
  // The meaning of a variadic instruction's operands is encoded in the operands
  // themselves (inline assembly, patch points), except for a PHI.
  if (!MI.getDesc().isVariadic() || MI.isPHI())
    return true;
  ArrayRef<OrielOperand> Operands = operandsOf(Plan, Number);
  if (Operands.size() != MI.getNumOperands())
    return fail("instruction " + Twine(Number) +
                " changes the number of operands");
  ArrayRef<OrielOperand> Input =
      operandsOf(Snapshot, Plan.instructions[Number].source - 1);
  constexpr uint32_t FixedFlags =
      ORIEL_OPERAND_DEF | ORIEL_OPERAND_IMPLICIT | ORIEL_OPERAND_EARLY_CLOBBER;
  for (uint32_t I = 0, E = Operands.size(); I != E; ++I) {
    const OrielOperand &New = resolved(Operands[I]);
    const OrielOperand &Old = Input[I];
    if (New.kind != Old.kind || ((New.flags ^ Old.flags) & FixedFlags))
      return fail("instruction " + Twine(Number) +
                  " changes the kind of operand " + Twine(I));
    // The immediates of inline assembly describe its operands.
    if (MI.isInlineAsm() && New.kind != ORIEL_OPERAND_REGISTER &&
        (New.index != Old.index || New.value != Old.value))
      return fail("instruction " + Twine(Number) + " changes operand " +
                  Twine(I) + " of inline assembly");
  }
  return true;
}

bool PlanChecker::checkTiedOperands(uint32_t Number, const MachineInstr &MI) {
  ArrayRef<OrielOperand> Operands = operandsOf(Plan, Number);
  auto Planned = [&](unsigned I) -> const OrielOperand & {
    return resolved(Operands[I]);
  };
  for (unsigned I = 0, E = MI.getNumOperands(); I != E; ++I) {
    const MachineOperand &MO = MI.getOperand(I);
    if (!MO.isReg() || !MO.isTied())
      continue;
    bool Breaks =
        Operands.size() != E || Planned(I).kind != ORIEL_OPERAND_REGISTER;
    // Once LLVM has assigned a pair one register, it must keep it.
    if (!Breaks && MO.isDef()) {
      unsigned Use = MI.findTiedOperandIdx(I);
      Breaks = MI.getOperand(Use).getReg() == MO.getReg() &&
               (Planned(Use).kind != ORIEL_OPERAND_REGISTER ||
                Planned(Use).index != Planned(I).index);
    }
    if (Breaks)
      return fail("instruction " + Twine(Number) + " breaks a tied operand");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The stack
//===----------------------------------------------------------------------===//

bool PlanChecker::checkRemovedFrameObjects() {
  ArrayRef<uint32_t> Removed(Plan.removed_frame_objects,
                             Plan.removed_frame_object_count);
  if (Removed.empty())
    return true;
  std::vector<bool> IsRemoved(Snapshot.frame_object_count, false);
  for (size_t I = 0, E = Removed.size(); I != E; ++I) {
    uint32_t Object = Removed[I];
    if (Object >= Snapshot.frame_object_count ||
        (I != 0 && Object <= Removed[I - 1]))
      return fail("the removed frame objects are out of order at " + Twine(I));
    // Objects that the caller lays out cannot be removed.
    if (Object < Snapshot.function.fixed_frame_objects ||
        (Snapshot.frame_objects[Object].flags &
         (ORIEL_FRAME_DEAD | ORIEL_FRAME_VARIABLE_SIZE)))
      return fail("frame object " + Twine(Object) + " cannot be removed");
    IsRemoved[Object] = true;
  }
  for (uint32_t I = 0; I != Plan.instruction_count; ++I) {
    if (isDebugOpcode(descriptor(I).getOpcode()))
      continue;
    bool Uses = false;
    forEachOperand(I, [&](const OrielOperand &Operand) {
      Uses |=
          Operand.kind == ORIEL_OPERAND_FRAME_INDEX && IsRemoved[Operand.index];
    });
    if (Uses)
      return fail("instruction " + Twine(I) + " uses a removed frame object");
  }
  return true;
}
