//===- PlanChecker.cpp - Is a plan fit to be applied? ---------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Structure first (ranges, numbers), then instructions one by one, then what
/// holds between them: control flow, PHIs, definitions on every path to a use.
///
//===----------------------------------------------------------------------===//

#include "PlanChecker.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;
using namespace oriel;

/// The position of a block that the plan drops.
static constexpr uint32_t NotPlanned = UINT32_MAX;

std::optional<unsigned> OpcodeNames::find(const TargetInstrInfo &TII,
                                          StringRef Name) {
  if (Source != &TII) {
    Source = &TII;
    Opcodes.clear();
    for (unsigned I = 0, E = TII.getNumOpcodes(); I != E; ++I)
      Opcodes[TII.getName(I)] = I;
  }
  auto Found = Opcodes.find(Name);
  if (Found == Opcodes.end())
    return std::nullopt;
  return Found->second;
}

/// Is \p Opcode one whose register operands are for debuggers only?
static bool isDebugOpcode(unsigned Opcode) {
  return Opcode == TargetOpcode::DBG_VALUE ||
         Opcode == TargetOpcode::DBG_VALUE_LIST ||
         Opcode == TargetOpcode::DBG_INSTR_REF ||
         Opcode == TargetOpcode::DBG_PHI || Opcode == TargetOpcode::DBG_LABEL;
}

bool PlanChecker::fail(const Twine &Message) {
  Problem = Message.str();
  return false;
}

bool PlanChecker::check() {
  if (!checkArrays())
    return false;
  // Whatever LLVM made may stay, even where a plan could not make it.
  if (isIdentity())
    return true;
  return checkNewRegisters() && checkOpcodeNames() && checkBlocks() &&
         checkInstructions() && checkControlFlow() && checkPhis() &&
         checkDefinitions() && checkReachingDefinitions();
}

//===----------------------------------------------------------------------===//
// Access to checked parts
//===----------------------------------------------------------------------===//

const MCInstrDesc &PlanChecker::descriptor(uint32_t Number) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_NEW)
    return MF.getSubtarget().getInstrInfo()->get(Opcodes[Instruction.opcode]);
  return Input.instructions()[Instruction.source - 1]->getDesc();
}

const OrielOperand &PlanChecker::resolved(const OrielOperand &Operand) const {
  if (Operand.kind != ORIEL_OPERAND_ORIGINAL)
    return Operand;
  uint32_t First = Snapshot.instructions[Operand.index].first_operand;
  return Snapshot.operands[First + Operand.value];
}

template <typename Callback>
void PlanChecker::forEachOperand(uint32_t Number, Callback Visit) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_KEEP) {
    uint32_t Source = Instruction.source - 1;
    for (uint32_t I = Snapshot.instructions[Source].first_operand,
                  E = Snapshot.instructions[Source + 1].first_operand;
         I != E; ++I)
      Visit(Snapshot.operands[I]);
    return;
  }
  for (uint32_t I = Instruction.first_operand,
                E = Plan.instructions[Number + 1].first_operand;
       I != E; ++I)
    Visit(resolved(Plan.operands[I]));
}

ArrayRef<OrielEdge> PlanChecker::successors(uint32_t Position) const {
  uint32_t First = Plan.blocks[Position].first_successor;
  return ArrayRef(Plan.successors + First,
                  Plan.blocks[Position + 1].first_successor - First);
}

const TargetRegisterClass *PlanChecker::registerClass(uint32_t Register) const {
  uint32_t Class;
  if (Register < Snapshot.register_count)
    Class = Snapshot.registers[Register].register_class;
  else
    Class = Plan.new_registers[Register - Snapshot.register_count];
  return MF.getSubtarget().getRegisterInfo()->getRegClass(Class);
}

bool PlanChecker::isIdentity() const {
  if (Plan.new_register_count || Plan.block_count != Snapshot.block_count ||
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
      Missing(Plan.strings, Plan.string_bytes))
    return fail("an array of the plan is missing");

  for (uint32_t I = 0; I <= Plan.block_count; ++I) {
    const OrielPlanBlock &Block = Plan.blocks[I];
    const OrielPlanBlock *Previous = I ? &Plan.blocks[I - 1] : nullptr;
    if (Block.first_instruction < (Previous ? Previous->first_instruction : 0) ||
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

bool PlanChecker::checkOpcodeNames() {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  for (uint32_t I = 0; I != Plan.opcode_name_count; ++I) {
    OrielString Name = Plan.opcode_names[I];
    if (Name.offset > Plan.string_bytes ||
        Name.length > Plan.string_bytes - Name.offset)
      return fail("opcode name " + Twine(I) + " is outside the strings");
    StringRef Text(Plan.strings + Name.offset, Name.length);
    std::optional<unsigned> Opcode = Names.find(TII, Text);
    if (!Opcode)
      return fail("there is no opcode '" + Text + "'");
    const MCInstrDesc &Desc = TII.get(*Opcode);
    if (Desc.isPreISelOpcode() || *Opcode == TargetOpcode::INLINEASM ||
        *Opcode == TargetOpcode::INLINEASM_BR)
      return fail("opcode '" + Text + "' cannot be made anew");
    Opcodes.push_back(*Opcode);
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
  Position.assign(Total, NotPlanned);
  for (uint32_t I = 0; I != Plan.block_count; ++I) {
    const OrielPlanBlock &Block = Plan.blocks[I];
    if (Block.block >= Total)
      return fail("block number " + Twine(Block.block) + " leaves a gap");
    if (Position[Block.block] != NotPlanned)
      return fail("block " + Twine(Block.block) + " occurs twice");
    Position[Block.block] = I;
    if (Block.block >= Snapshot.block_count &&
        Block.origin >= Snapshot.block_count)
      return fail("new block " + Twine(Block.block) + " has no origin");
  }
  if (Plan.blocks[0].block != 0)
    return fail("the entry block is not first");
  for (uint32_t I = 0; I != Snapshot.block_count; ++I)
    if (Position[I] == NotPlanned &&
        (Snapshot.blocks[I].flags &
         (ORIEL_BLOCK_ADDRESS_TAKEN | ORIEL_BLOCK_LANDING_PAD)))
      return fail("block " + Twine(I) + " is deleted, but something outside "
                                        "the function body refers to it");
  for (uint32_t I = 0; I != Plan.successor_count; ++I) {
    const OrielEdge &Edge = Plan.successors[I];
    if (Edge.block >= Total || Position[Edge.block] == NotPlanned)
      return fail("an edge leads to block " + Twine(Edge.block) +
                  ", which is not there");
    if (Edge.probability > ORIEL_PROBABILITY_DENOMINATOR &&
        Edge.probability != ORIEL_PROBABILITY_UNKNOWN)
      return fail("an edge to block " + Twine(Edge.block) +
                  " has a probability above one");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Instructions and operands
//===----------------------------------------------------------------------===//

bool PlanChecker::checkInstructions() {
  Used.assign(Snapshot.instruction_count, false);
  for (uint32_t I = 0; I != Plan.instruction_count; ++I)
    if (!checkInstruction(I))
      return false;
  return true;
}

bool PlanChecker::checkInstruction(uint32_t Number) {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  uint32_t OperandCount =
      Plan.instructions[Number + 1].first_operand - Instruction.first_operand;
  if (Instruction.action > ORIEL_ACTION_NEW)
    return fail("instruction " + Twine(Number) + " has unknown action " +
                Twine(Instruction.action));
  if (Instruction.source > Snapshot.instruction_count)
    return fail("instruction " + Twine(Number) + " has unknown source " +
                Twine(Instruction.source));
  if (!Instruction.source && Instruction.action != ORIEL_ACTION_NEW)
    return fail("instruction " + Twine(Number) + " has no source");
  for (uint32_t I = Instruction.first_merged,
                E = Plan.instructions[Number + 1].first_merged;
       I != E; ++I)
    if (Plan.merged[I] >= Snapshot.instruction_count)
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
    if (OperandCount)
      return fail("kept instruction " + Twine(Number) + " has operands");
    return true;
  case ORIEL_ACTION_CLONE:
    // A call is one of a sequence that declares its parameters.
    if (Source->isNotDuplicable() || Source->isConvergent() || Source->isCall())
      return fail("instruction " + Twine(Number) + " clones '" +
                  MF.getSubtarget().getInstrInfo()->getName(
                      Source->getOpcode()) +
                  "', which must not be duplicated");
    return checkReplacement(Number, *Source);
  case ORIEL_ACTION_REPLACE:
    return checkReplacement(Number, *Source);
  case ORIEL_ACTION_NEW:
    if (Instruction.opcode >= Plan.opcode_name_count)
      return fail("instruction " + Twine(Number) + " has no opcode");
    return checkOperands(Number, descriptor(Number));
  }
  llvm_unreachable("the action was checked");
}

bool PlanChecker::checkReplacement(uint32_t Number, const MachineInstr &MI) {
  if (!checkOperands(Number, MI.getDesc()))
    return false;
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  uint32_t Count =
      Plan.instructions[Number + 1].first_operand - Instruction.first_operand;
  // What a variadic instruction's operands mean is written in the operands
  // themselves (inline assembly, patch points), except in a PHI.
  if (MI.getDesc().isVariadic() && !MI.isPHI()) {
    if (Count != MI.getNumOperands())
      return fail("instruction " + Twine(Number) +
                  " changes the number of operands");
    for (uint32_t I = 0; I != Count; ++I) {
      const OrielOperand &New =
          resolved(Plan.operands[Instruction.first_operand + I]);
      uint32_t First =
          Snapshot.instructions[Instruction.source - 1].first_operand;
      const OrielOperand &Old = Snapshot.operands[First + I];
      if (New.kind != Old.kind ||
          ((New.flags ^ Old.flags) & (ORIEL_OPERAND_DEF |
                                      ORIEL_OPERAND_IMPLICIT |
                                      ORIEL_OPERAND_EARLY_CLOBBER)))
        return fail("instruction " + Twine(Number) +
                    " changes the kind of operand " + Twine(I));
      // The immediates of inline assembly describe its operands.
      if (MI.isInlineAsm() && New.kind != ORIEL_OPERAND_REGISTER &&
          (New.index != Old.index || New.value != Old.value))
        return fail("instruction " + Twine(Number) + " changes operand " +
                    Twine(I) + " of inline assembly");
    }
  }
  auto Planned = [&](unsigned I) -> const OrielOperand & {
    return resolved(Plan.operands[Instruction.first_operand + I]);
  };
  for (unsigned I = 0, E = MI.getNumOperands(); I != E; ++I) {
    const MachineOperand &MO = MI.getOperand(I);
    if (!MO.isReg() || !MO.isTied())
      continue;
    bool Breaks = Count != E || Planned(I).kind != ORIEL_OPERAND_REGISTER;
    // Once LLVM has made a pair one register, it has to stay one.
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

bool PlanChecker::checkOperands(uint32_t Number, const MCInstrDesc &Desc) {
  uint32_t First = Plan.instructions[Number].first_operand;
  uint32_t Count = Plan.instructions[Number + 1].first_operand - First;
  uint32_t Explicit = 0;
  bool SawImplicit = false;
  for (uint32_t I = 0; I != Count; ++I) {
    const OrielOperand &Raw = Plan.operands[First + I];
    if (Raw.kind >= ORIEL_OPERAND_KINDS)
      return fail("operand " + Twine(I) + " of instruction " + Twine(Number) +
                  " has unknown kind " + Twine(unsigned(Raw.kind)));
    if (Raw.kind == ORIEL_OPERAND_ORIGINAL &&
        !checkOriginalOperand(Number, Raw))
      return false;
    bool IsImplicit = resolved(Raw).flags & ORIEL_OPERAND_IMPLICIT;
    if (!IsImplicit && SawImplicit)
      return fail("instruction " + Twine(Number) +
                  " has an explicit operand after an implicit one");
    SawImplicit |= IsImplicit;
    Explicit += !IsImplicit;
    if (!checkOperand(Number, I, Desc))
      return false;
  }
  bool CountFits = Desc.isVariadic() ? Explicit >= Desc.getNumOperands()
                                     : Explicit == Desc.getNumOperands();
  if (CountFits && Desc.getOpcode() == TargetOpcode::COPY) {
    const OrielOperand &To = resolved(Plan.operands[First]);
    const OrielOperand &From = resolved(Plan.operands[First + 1]);
    if (To.kind == ORIEL_OPERAND_REGISTER &&
        From.kind == ORIEL_OPERAND_REGISTER &&
        registerClass(To.index) != registerClass(From.index))
      return fail("instruction " + Twine(Number) +
                  " copies between register classes");
  }
  if (!CountFits)
    return fail("instruction " + Twine(Number) + " has " + Twine(Explicit) +
                " operands, but its opcode takes " +
                Twine(Desc.getNumOperands()));
  return true;
}

bool PlanChecker::checkOriginalOperand(uint32_t Number,
                                       const OrielOperand &Operand) {
  if (Operand.index < Snapshot.instruction_count && Operand.value >= 0) {
    uint32_t First = Snapshot.instructions[Operand.index].first_operand;
    uint32_t Last = Snapshot.instructions[Operand.index + 1].first_operand;
    if (uint64_t(Operand.value) < Last - First)
      return true;
  }
  return fail("instruction " + Twine(Number) +
              " refers to an unknown input operand");
}

bool PlanChecker::checkOperand(uint32_t Number, uint32_t OperandNumber,
                               const MCInstrDesc &Desc) {
  const OrielOperand &Raw =
      Plan.operands[Plan.instructions[Number].first_operand + OperandNumber];
  const OrielOperand &Operand = resolved(Raw);
  auto Fail = [&](const Twine &What) {
    return fail("operand " + Twine(OperandNumber) + " of instruction " +
                Twine(Number) + " " + What);
  };
  // What LLVM put there may stay, even where its own description of the opcode
  // disagrees: it describes the symbol of MOV64_PARAM as a register.
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Raw.kind == ORIEL_OPERAND_ORIGINAL &&
      Operand.kind != ORIEL_OPERAND_REGISTER &&
      Operand.kind != ORIEL_OPERAND_BLOCK &&
      Instruction.action != ORIEL_ACTION_NEW &&
      Raw.index == Instruction.source - 1 && Raw.value == OperandNumber)
    return true;
  bool IsDeclared = OperandNumber < Desc.getNumOperands();
  bool WantsRegister =
      IsDeclared && Desc.operands()[OperandNumber].RegClass >= 0 &&
      !Desc.operands()[OperandNumber].isLookupRegClassByHwMode();
  if (Operand.kind == ORIEL_OPERAND_NO_REGISTER &&
      !isDebugOpcode(Desc.getOpcode()))
    return Fail("is missing");
  if (WantsRegister && Operand.kind != ORIEL_OPERAND_REGISTER &&
      Operand.kind != ORIEL_OPERAND_PHYSICAL)
    return Fail("must be a register");
  if (Operand.kind != ORIEL_OPERAND_REGISTER &&
      Operand.kind != ORIEL_OPERAND_PHYSICAL &&
      (Operand.flags & ~ORIEL_OPERAND_IMPLICIT) && Raw.kind == Operand.kind &&
      Operand.kind != ORIEL_OPERAND_NO_REGISTER)
    return Fail("is no register, but has register flags");
  if (IsDeclared && !WantsRegister &&
      !fitsDeclaration(OperandNumber, Desc, Operand))
    return Fail("is nothing that its opcode is known to take there");

  switch (Operand.kind) {
  case ORIEL_OPERAND_REGISTER:
    return checkRegisterOperand(Number, OperandNumber, Desc, Operand);
  case ORIEL_OPERAND_NO_REGISTER:
  case ORIEL_OPERAND_IMMEDIATE:
    return true;
  case ORIEL_OPERAND_CONSTANT:
    return Operand.index < Snapshot.constant_count ||
           Fail("names an unknown constant");
  case ORIEL_OPERAND_BLOCK:
    return (Operand.index < Position.size() &&
            Position[Operand.index] != NotPlanned) ||
           Fail("names block " + Twine(Operand.index) + ", which is not there");
  case ORIEL_OPERAND_FRAME_INDEX:
    return Operand.index < Snapshot.frame_object_count ||
           Fail("names an unknown stack object");
  case ORIEL_OPERAND_SYMBOL:
    return (Operand.index < Snapshot.symbol_count &&
            Input.symbolOperands()[Operand.index]) ||
           Fail("names an unknown symbol");
  default:
    // The rest only LLVM can make: from an operand it has.
    return Raw.kind == ORIEL_OPERAND_ORIGINAL ||
           Fail("is of a kind that only the input can provide");
  }
}

bool PlanChecker::fitsDeclaration(uint32_t OperandNumber,
                                  const MCInstrDesc &Desc,
                                  const OrielOperand &Operand) {
  // Most of an opcode's operands that are no registers select a variant: a
  // comparison, a rounding mode, an address space. LLVM does not describe their
  // values, does not verify them, and crashes on wrong ones when it prints PTX.
  switch (Desc.getOpcode()) {
  case TargetOpcode::COPY:
  case TargetOpcode::IMPLICIT_DEF:
    return Operand.kind == ORIEL_OPERAND_REGISTER;
  case TargetOpcode::PHI:
  case TargetOpcode::INLINEASM:
  case TargetOpcode::INLINEASM_BR:
    return true; // Checked as a whole.
  default:
    if (isDebugOpcode(Desc.getOpcode()))
      return true;
  }
  bool IsImmediate = Operand.kind == ORIEL_OPERAND_IMMEDIATE;
  if (Desc.isBranch() && Operand.kind == ORIEL_OPERAND_BLOCK)
    return true;
  bool IsPlain = !Desc.mayLoad() && !Desc.mayStore() &&
                 !Desc.hasUnmodeledSideEffects() && !Desc.isCall() &&
                 !Desc.isTerminator();
  if (IsPlain && Desc.operands()[OperandNumber].OperandType ==
                     MCOI::OPERAND_IMMEDIATE)
    return IsImmediate || Operand.kind == ORIEL_OPERAND_CONSTANT;

  if (std::optional<bool> Fits =
          fitsMemoryAccess(OperandNumber, Desc, Operand))
    return *Fits;
  // Comparisons: equal, unequal, less, at most, greater, at least.
  if (MF.getSubtarget().getInstrInfo()->getName(Desc.getOpcode()).starts_with(
          "SETP_") &&
      OperandNumber == 3 && IsImmediate && Operand.value >= 0 &&
      Operand.value <= 5)
    return true;
  // No modifier at all is a value that every modifier has.
  return (IsImmediate && Operand.value == 0) ||
         occursInInput(OperandNumber, Desc.getOpcode(), Operand);
}

std::optional<bool>
PlanChecker::fitsMemoryAccess(uint32_t OperandNumber, const MCInstrDesc &Desc,
                              const OrielOperand &Operand) const {
  // Loads: results, ordering, scope, address space, type, width, bytes used,
  // address, offset. Stores: values, ordering, scope, address space, width,
  // address, offset.
  StringRef Name = MF.getSubtarget().getInstrInfo()->getName(Desc.getOpcode());
  bool IsStore = Name.starts_with("ST_") || Name.starts_with("STV_");
  bool IsLoad = Name.starts_with("LD_") || Name.starts_with("LDV_");
  unsigned Bits;
  StringRef Digits = Name.substr(Name.find("_i") + 2).take_while(isDigit);
  if ((!IsStore && !IsLoad) || Digits.getAsInteger(10, Bits))
    return std::nullopt;
  auto HasBits = [&](uint64_t Wanted) {
    return Operand.kind == ORIEL_OPERAND_REGISTER &&
           registerExists(Operand.index) &&
           MF.getSubtarget().getRegisterInfo()->getRegSizeInBits(
               *registerClass(Operand.index)) == Wanted;
  };
  auto IsOneOf = [&](ArrayRef<int64_t> Values) -> std::optional<bool> {
    if (Operand.kind == ORIEL_OPERAND_IMMEDIATE &&
        is_contained(Values, Operand.value))
      return true;
    return std::nullopt;
  };
  bool IsImmediate = Operand.kind == ORIEL_OPERAND_IMMEDIATE;
  unsigned FromEnd = Desc.getNumOperands() - OperandNumber;
  // Orderings, scopes and the bytes used have to be the input's.
  constexpr int64_t NotAtomic = 0, Volatile = 8;
  switch (FromEnd) {
  case 1:
    return IsImmediate;
  case 2:
    return Operand.kind == ORIEL_OPERAND_SYMBOL ||
           Operand.kind == ORIEL_OPERAND_FRAME_INDEX ||
           HasBits(Snapshot.function.pointer_bits) || HasBits(32);
  default:
    break;
  }
  if (FromEnd == (IsLoad ? 4u : 3u))
    return IsImmediate && (Operand.value == int64_t(Bits) ||
                           (Operand.value == 8 && Bits == 16));
  if (FromEnd == (IsLoad ? 6u : 4u)) // Generic, global, shared, const, local.
    return IsOneOf({0, 1, 3, 4, 5});
  if (IsLoad && FromEnd == 5) // Unsigned, signed, float, untyped.
    return IsOneOf({0, 1, 2, 3});
  if (FromEnd == (IsLoad ? 8u : 6u))
    return IsOneOf({NotAtomic, Volatile});
  if (IsStore && FromEnd > 6)
    // There are no registers of eight bits.
    return IsImmediate || Operand.kind == ORIEL_OPERAND_CONSTANT ||
           HasBits(std::max(Bits, 16u));
  return std::nullopt;
}

bool PlanChecker::occursInInput(uint32_t OperandNumber, unsigned Opcode,
                                const OrielOperand &Operand) {
  // A register stands for every register of its class.
  auto Key = [this](unsigned Opcode, uint32_t Number, const OrielOperand &O) {
    uint64_t Place = uint64_t(Opcode) << 32 | uint64_t(Number) << 8 | O.kind;
    if (O.kind == ORIEL_OPERAND_REGISTER)
      return std::make_pair(Place, uint64_t(registerClass(O.index)->getID()));
    return std::make_pair(Place, uint64_t(O.value) ^ uint64_t(O.index) << 40);
  };
  if (Operand.kind == ORIEL_OPERAND_REGISTER && !registerExists(Operand.index))
    return false;
  if (InputOperands.empty())
    for (uint32_t I = 0; I != Snapshot.instruction_count; ++I) {
      const OrielInstruction &Instruction = Snapshot.instructions[I];
      unsigned InputOpcode = Snapshot.opcodes[Instruction.opcode].llvm_opcode;
      uint32_t First = Instruction.first_operand;
      uint32_t Last = Snapshot.instructions[I + 1].first_operand;
      for (uint32_t J = First; J != Last; ++J)
        InputOperands.insert(Key(InputOpcode, J - First, Snapshot.operands[J]));
    }
  return InputOperands.contains(Key(Opcode, OperandNumber, Operand));
}

bool PlanChecker::registerExists(uint32_t Register) const {
  return Register < Snapshot.register_count + Plan.new_register_count;
}

bool PlanChecker::checkRegisterOperand(uint32_t Number, uint32_t OperandNumber,
                                       const MCInstrDesc &Desc,
                                       const OrielOperand &Operand) {
  auto Fail = [&](const Twine &What) {
    return fail("operand " + Twine(OperandNumber) + " of instruction " +
                Twine(Number) + " " + What);
  };
  if (!registerExists(Operand.index))
    return Fail("names unknown register " + Twine(Operand.index));
  if (Operand.flags & ~ORIEL_OPERAND_FLAGS)
    return Fail("has unknown flags");
  bool IsDef = Operand.flags & ORIEL_OPERAND_DEF;
  bool IsImplicit = Operand.flags & ORIEL_OPERAND_IMPLICIT;
  if (IsDef ? (Operand.flags & (ORIEL_OPERAND_KILL | ORIEL_OPERAND_DEBUG |
                                ORIEL_OPERAND_INTERNAL_READ))
            : (Operand.flags &
               (ORIEL_OPERAND_DEAD | ORIEL_OPERAND_EARLY_CLOBBER)))
    return Fail("has flags that contradict each other");
  if (isDebugOpcode(Desc.getOpcode()) != bool(Operand.flags & ORIEL_OPERAND_DEBUG))
    return Fail("has a wrong debug flag");
  if (IsImplicit || OperandNumber >= Desc.getNumOperands())
    return true;
  if (IsDef != (OperandNumber < Desc.getNumDefs()))
    return Fail(IsDef ? "must not be a definition" : "must be a definition");
  const MCOperandInfo &Info = Desc.operands()[OperandNumber];
  if (Info.RegClass < 0 || Info.isLookupRegClassByHwMode())
    return true;
  const TargetRegisterInfo &TRI = *MF.getSubtarget().getRegisterInfo();
  const TargetRegisterClass *Wanted = TRI.getRegClass(Info.RegClass);
  const TargetRegisterClass *Given = registerClass(Operand.index);
  if (!Wanted->hasSubClassEq(Given))
    return Fail(Twine("has register class ") + TRI.getRegClassName(Given) +
                ", but " + TRI.getRegClassName(Wanted) + " is wanted");
  return true;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool PlanChecker::checkControlFlow() {
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    if (!checkBlockShape(I))
      return false;
  return true;
}

bool PlanChecker::checkBlockShape(uint32_t At) {
  uint32_t Name = Plan.blocks[At].block;
  bool SawBody = false, SawTerminator = false, EndsInBarrier = false;
  SmallVector<uint32_t, 4> Targets;
  for (uint32_t I = Plan.blocks[At].first_instruction,
                E = Plan.blocks[At + 1].first_instruction;
       I != E; ++I) {
    const MCInstrDesc &Desc = descriptor(I);
    bool IsPhi = Desc.getOpcode() == TargetOpcode::PHI;
    bool IsDebug = isDebugOpcode(Desc.getOpcode());
    if (IsPhi && SawBody)
      return fail("block " + Twine(Name) + " has a PHI after other code");
    SawBody |= !IsPhi;
    if (SawTerminator && !Desc.isTerminator() && !IsDebug)
      return fail("block " + Twine(Name) + " has code after its terminator");
    if (!Desc.isTerminator())
      continue;
    SawTerminator = true;
    EndsInBarrier |= Desc.isBarrier();
    forEachOperand(I, [&](const OrielOperand &Operand) {
      if (Operand.kind == ORIEL_OPERAND_BLOCK)
        Targets.push_back(Operand.index);
    });
  }
  return checkBlockExits(At, EndsInBarrier, Targets);
}

bool PlanChecker::checkBlockExits(uint32_t At, bool EndsInBarrier,
                                  ArrayRef<uint32_t> Targets) {
  uint32_t Name = Plan.blocks[At].block;
  ArrayRef<OrielEdge> Edges = successors(At);
  SmallSet<uint32_t, 4> Seen;
  for (const OrielEdge &Edge : Edges)
    if (!Seen.insert(Edge.block).second)
      return fail("block " + Twine(Name) + " has two edges to block " +
                  Twine(Edge.block));
  for (uint32_t Target : Targets)
    if (none_of(Edges, [=](const OrielEdge &E) { return E.block == Target; }))
      return fail("block " + Twine(Name) + " branches to block " +
                  Twine(Target) + " without an edge");
  uint32_t Next =
      At + 1 == Plan.block_count ? NotPlanned : Plan.blocks[At + 1].block;
  bool FallsThrough = false;
  for (const OrielEdge &Edge : Edges) {
    if (is_contained(Targets, Edge.block))
      continue;
    if (EndsInBarrier || Edge.block != Next)
      return fail("block " + Twine(Name) + " has an edge to block " +
                  Twine(Edge.block) + ", but does not reach it");
    FallsThrough = true;
  }
  bool Leaves = EndsInBarrier || FallsThrough ||
                (Next != NotPlanned && is_contained(Targets, Next)) ||
                (Edges.empty() && endsAsInputDid(At));
  if (!Leaves)
    return fail("block " + Twine(Name) + " falls through without an edge");
  return true;
}

bool PlanChecker::endsAsInputDid(uint32_t At) const {
  // Control never gets past a trap or a call that does not return, but only
  // LLVM knows which those are: they may end a block where they did so before.
  auto LastOf = [&](uint32_t First, uint32_t Last, auto OpcodeOf) {
    while (First != Last && isDebugOpcode(OpcodeOf(Last - 1)))
      --Last;
    return First == Last ? NotPlanned : Last - 1;
  };
  uint32_t Last = LastOf(Plan.blocks[At].first_instruction,
                         Plan.blocks[At + 1].first_instruction,
                         [&](uint32_t I) { return descriptor(I).getOpcode(); });
  uint32_t Source = NotPlanned;
  uint32_t Block = Plan.blocks[At].block;
  if (Last != NotPlanned) {
    if (Plan.instructions[Last].action == ORIEL_ACTION_NEW)
      return false;
    Source = Plan.instructions[Last].source - 1;
    Block = llvm::upper_bound(ArrayRef(Snapshot.blocks, Snapshot.block_count),
                              Source,
                              [](uint32_t I, const OrielBlock &B) {
                                return I < B.first_instruction;
                              }) -
            Snapshot.blocks - 1;
  }
  if (Block >= Snapshot.block_count)
    return false;
  const OrielBlock *Old = Snapshot.blocks + Block;
  return Old[0].first_successor == Old[1].first_successor &&
         Source == LastOf(Old[0].first_instruction, Old[1].first_instruction,
                          [&](uint32_t I) {
                            return Input.instructions()[I]->getOpcode();
                          });
}

bool PlanChecker::checkPhis() {
  // Predecessors of each block by position, each once.
  std::vector<SmallSet<uint32_t, 4>> Predecessors(Plan.block_count);
  for (uint32_t I = 0; I != Plan.block_count; ++I)
    for (const OrielEdge &Edge : successors(I))
      Predecessors[Position[Edge.block]].insert(Plan.blocks[I].block);

  for (uint32_t I = 0; I != Plan.block_count; ++I)
    for (uint32_t J = Plan.blocks[I].first_instruction,
                  E = Plan.blocks[I + 1].first_instruction;
         J != E && descriptor(J).getOpcode() == TargetOpcode::PHI; ++J) {
      SmallSet<uint32_t, 4> Incoming;
      uint32_t Count = 0;
      bool WellFormed = true;
      uint32_t Class = UINT32_MAX;
      forEachOperand(J, [&](const OrielOperand &Operand) {
        bool IsBlock = Count && Count % 2 == 0;
        WellFormed &= Operand.kind == (IsBlock ? ORIEL_OPERAND_BLOCK
                                               : ORIEL_OPERAND_REGISTER);
        if (IsBlock) {
          Incoming.insert(Operand.index);
        } else if (Operand.kind == ORIEL_OPERAND_REGISTER) {
          uint32_t ID = registerClass(Operand.index)->getID();
          WellFormed &= Class == UINT32_MAX || Class == ID;
          WellFormed &= bool(Operand.flags & ORIEL_OPERAND_DEF) == (Count == 0);
          Class = ID;
        }
        ++Count;
      });
      if (!WellFormed || Count % 2 == 0)
        return fail("the PHI at instruction " + Twine(J) + " is malformed");
      bool Same = Incoming.size() == Predecessors[I].size() &&
                  all_of(Incoming, [&](uint32_t Block) {
                    return Predecessors[I].contains(Block);
                  });
      if (!Same)
        return fail("the PHI at instruction " + Twine(J) +
                    " does not match the predecessors of block " +
                    Twine(Plan.blocks[I].block));
    }
  return true;
}

bool PlanChecker::checkDefinitions() {
  uint32_t Count = Snapshot.register_count + Plan.new_register_count;
  std::vector<uint8_t> Definitions(Count, 0);
  for (uint32_t I = 0; I != Plan.instruction_count; ++I)
    forEachOperand(I, [&](const OrielOperand &Operand) {
      if (Operand.kind == ORIEL_OPERAND_REGISTER &&
          (Operand.flags & ORIEL_OPERAND_DEF) && Definitions[Operand.index] < 2)
        ++Definitions[Operand.index];
    });
  if (Snapshot.function.flags & ORIEL_FUNCTION_SSA)
    for (uint32_t I = 0; I != Count; ++I)
      if (Definitions[I] > 1)
        return fail("register " + Twine(I) + " is defined twice in SSA form");

  uint32_t Undefined = UINT32_MAX;
  for (uint32_t I = 0; I != Plan.instruction_count; ++I)
    forEachOperand(I, [&](const OrielOperand &Operand) {
      if (Operand.kind == ORIEL_OPERAND_REGISTER &&
          !(Operand.flags & (ORIEL_OPERAND_DEF | ORIEL_OPERAND_UNDEF |
                             ORIEL_OPERAND_DEBUG)) &&
          !Definitions[Operand.index])
        Undefined = Operand.index;
    });
  if (Undefined != UINT32_MAX)
    return fail("register " + Twine(Undefined) +
                " is used, but nothing defines it");
  return true;
}

bool PlanChecker::checkReachingDefinitions() {
  // LLVM's verifier misses a use before the definition in the entry block, and
  // some of its passes crash on one; so uses are followed backwards here until
  // a definition is met. The entry block must never be reached.
  uint32_t RegisterCount = Snapshot.register_count + Plan.new_register_count;
  std::vector<SmallVector<uint32_t, 2>> Predecessors(Plan.block_count);
  for (uint32_t B = 0; B != Plan.block_count; ++B)
    for (const OrielEdge &Edge : successors(B))
      Predecessors[Position[Edge.block]].push_back(B);

  // Block positions by register: where it is defined, where it is live in, and
  // out of which blocks a PHI takes it.
  using Place = std::pair<uint32_t, uint32_t>;
  DenseSet<Place> Defined;
  std::vector<Place> LiveIn, LiveOut;
  std::vector<uint32_t> DefinedIn(RegisterCount, NotPlanned);
  for (uint32_t B = 0; B != Plan.block_count; ++B)
    for (uint32_t I = Plan.blocks[B].first_instruction,
                  E = Plan.blocks[B + 1].first_instruction;
         I != E; ++I) {
      bool IsPhi = descriptor(I).getOpcode() == TargetOpcode::PHI;
      uint32_t Value = NotPlanned;
      forEachOperand(I, [&](const OrielOperand &Operand) {
        bool IsRead = Operand.kind == ORIEL_OPERAND_REGISTER &&
                      !(Operand.flags &
                        (ORIEL_OPERAND_DEF | ORIEL_OPERAND_UNDEF |
                         ORIEL_OPERAND_DEBUG));
        if (IsPhi) {
          if (Operand.kind == ORIEL_OPERAND_BLOCK && Value != NotPlanned)
            LiveOut.push_back({Value, Position[Operand.index]});
          Value = IsRead ? Operand.index : NotPlanned;
        } else if (IsRead && DefinedIn[Operand.index] != B) {
          LiveIn.push_back({Operand.index, B});
        }
      });
      forEachOperand(I, [&](const OrielOperand &Operand) {
        if (Operand.kind == ORIEL_OPERAND_REGISTER &&
            (Operand.flags & ORIEL_OPERAND_DEF)) {
          DefinedIn[Operand.index] = B;
          Defined.insert({Operand.index, B});
        }
      });
    }
  for (const Place &Out : LiveOut)
    if (!Defined.contains(Out))
      LiveIn.push_back(Out);
  llvm::sort(LiveIn);

  std::vector<uint32_t> VisitedFor(Plan.block_count, NotPlanned);
  std::vector<uint32_t> Pending;
  for (auto [Register, At] : LiveIn) {
    Pending.push_back(At);
    while (!Pending.empty()) {
      uint32_t B = Pending.back();
      Pending.pop_back();
      if (VisitedFor[B] == Register)
        continue;
      VisitedFor[B] = Register;
      if (B == 0)
        return fail("register " + Twine(Register) +
                    " is used where it may not be defined yet");
      for (uint32_t Predecessor : Predecessors[B])
        if (!Defined.contains({Register, Predecessor}))
          Pending.push_back(Predecessor);
    }
  }
  return true;
}
