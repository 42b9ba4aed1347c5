//===- PlanReader.cpp - A plan beside the code it changes -----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanReader.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;
using namespace oriel;

bool oriel::isDebugOpcode(unsigned Opcode) {
  return Opcode == TargetOpcode::DBG_VALUE ||
         Opcode == TargetOpcode::DBG_VALUE_LIST ||
         Opcode == TargetOpcode::DBG_INSTR_REF ||
         Opcode == TargetOpcode::DBG_PHI || Opcode == TargetOpcode::DBG_LABEL;
}

bool PlanReader::fail(const Twine &Message) {
  Findings.Problem = Message.str();
  return false;
}

const MCInstrDesc &PlanReader::descriptor(uint32_t Number) const {
  const OrielPlanInstruction &Instruction = Plan.instructions[Number];
  if (Instruction.action == ORIEL_ACTION_NEW)
    return MF.getSubtarget().getInstrInfo()->get(
        Findings.Opcodes[Instruction.opcode]);
  return Input.instructions()[Instruction.source - 1]->getDesc();
}

const OrielOperand &PlanReader::resolved(const OrielOperand &Operand) const {
  if (Operand.kind != ORIEL_OPERAND_ORIGINAL)
    return Operand;
  return operandsOf(Snapshot, Operand.index)[Operand.value];
}

const TargetRegisterClass *PlanReader::registerClass(uint32_t Register) const {
  uint32_t Class;
  if (Register < Snapshot.register_count)
    Class = Snapshot.registers[Register].register_class;
  else
    Class = Plan.new_registers[Register - Snapshot.register_count];
  return MF.getSubtarget().getRegisterInfo()->getRegClass(Class);
}

bool PlanReader::registerExists(uint32_t Register) const {
  return Register < Snapshot.register_count + Plan.new_register_count;
}
