//===- OpcodePrinter.cpp - What an opcode looks like in PTX ---------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpcodePrinter.h"
#include "Support.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <map>
#include <mutex>

using namespace llvm;
using namespace oriel;

OpcodePrinter::OpcodePrinter(const Target &Target, const Triple &Triple,
                             const MCAsmInfo &AsmInfo,
                             const MCInstrInfo &Opcodes,
                             const MCRegisterInfo &Registers,
                             const MCSubtargetInfo &Subtarget)
    : Opcodes(Opcodes), Registers(Registers), Subtarget(Subtarget),
      Printer(Target.createMCInstPrinter(Triple, 0, AsmInfo, Opcodes,
                                         Registers)) {}

OpcodePrinter::~OpcodePrinter() = default;

std::string OpcodePrinter::print(unsigned Opcode, ArrayRef<int64_t> Numbers) {
  // Bits 28 and up of a virtual register are its class, from one.
  constexpr unsigned AnyClass = 1u << 28;
  MCInst Instruction;
  Instruction.setOpcode(Opcode);
  for (const MCOperandInfo &Info : Opcodes.get(Opcode).operands()) {
    unsigned Number = Instruction.getNumOperands() + 1;
    if (Info.RegClass >= 0) {
      Instruction.addOperand(MCOperand::createReg(AnyClass | Number));
      continue;
    }
    int64_t Value = Numbers.empty() ? 0 : Numbers.front();
    Numbers = Numbers.drop_front(!Numbers.empty());
    Instruction.addOperand(MCOperand::createImm(Value));
  }
  std::string Text;
  raw_string_ostream Stream(Text);
  Printer->printInst(&Instruction, 0, "", Subtarget, Stream);
  return Text;
}

std::string OpcodePrinter::anonymousName(unsigned Opcode) {
  std::string Letters;
  for (const MCOperandInfo &Info : Opcodes.get(Opcode).operands()) {
    if (Info.RegClass >= 0) {
      StringRef Class =
          Registers.getRegClassName(&Registers.getRegClass(Info.RegClass));
      Letters += Class == "B1" ? 'p' : 'r';
    } else if (Info.OperandType == MCOI::OPERAND_IMMEDIATE) {
      Letters += 'i';
    } else {
      return "";
    }
  }
  std::string Text = print(Opcode);
  StringRef Mnemonic = StringRef(Text).trim();
  Mnemonic = Mnemonic.take_until([](char C) { return isSpace(C) || C == ';'; });
  return (Mnemonic + " " + Letters).str();
}

StringRef oriel::anonymousOpcodeName(const TargetMachine &TM, unsigned Opcode) {
  // Opcodes are the same for every subtarget.
  static std::mutex Mutex;
  static std::map<unsigned, std::string> Known;
  std::lock_guard<std::mutex> Lock(Mutex);
  auto [Entry, IsNew] = Known.try_emplace(Opcode);
  if (IsNew) {
    OpcodePrinter Printer(TM.getTarget(), TM.getTargetTriple(),
                          *TM.getMCAsmInfo(), *TM.getMCInstrInfo(),
                          *TM.getMCRegisterInfo(), *TM.getMCSubtargetInfo());
    Entry->second = Printer.anonymousName(Opcode);
  }
  return Entry->second;
}

uint32_t oriel::descriptorFlags(const MCInstrDesc &Desc) {
  uint32_t Flags = 0;
  auto Add = [&Flags](bool Holds, uint32_t Flag) {
    if (Holds)
      Flags |= Flag;
  };
  Add(Desc.isPseudo(), ORIEL_OPCODE_PSEUDO);
  Add(Desc.isVariadic(), ORIEL_OPCODE_VARIADIC);
  Add(Desc.mayLoad(), ORIEL_OPCODE_MAY_LOAD);
  Add(Desc.mayStore(), ORIEL_OPCODE_MAY_STORE);
  Add(Desc.hasUnmodeledSideEffects(), ORIEL_OPCODE_SIDE_EFFECTS);
  Add(Desc.isConvergent(), ORIEL_OPCODE_CONVERGENT);
  Add(Desc.isTerminator(), ORIEL_OPCODE_TERMINATOR);
  Add(Desc.isBarrier(), ORIEL_OPCODE_BARRIER);
  Add(Desc.isBranch(), ORIEL_OPCODE_BRANCH);
  Add(Desc.isIndirectBranch(), ORIEL_OPCODE_INDIRECT_BRANCH);
  Add(Desc.isReturn(), ORIEL_OPCODE_RETURN);
  Add(Desc.isCall(), ORIEL_OPCODE_CALL);
  Add(Desc.isCommutable(), ORIEL_OPCODE_COMMUTABLE);
  Add(Desc.isCompare(), ORIEL_OPCODE_COMPARE);
  Add(Desc.isSelect(), ORIEL_OPCODE_SELECT);
  Add(Desc.isMoveImmediate(), ORIEL_OPCODE_MOVE_IMMEDIATE);
  Add(Desc.isMoveReg(), ORIEL_OPCODE_MOVE_REGISTER);
  Add(Desc.isRematerializable(), ORIEL_OPCODE_REMATERIALIZABLE);
  Add(Desc.isAsCheapAsAMove(), ORIEL_OPCODE_CHEAP);
  Add(Desc.isNotDuplicable(), ORIEL_OPCODE_NOT_DUPLICABLE);
  Add(Desc.mayRaiseFPException(), ORIEL_OPCODE_MAY_RAISE_FP);
  Add(Desc.isPredicable(), ORIEL_OPCODE_PREDICABLE);
  Add(Desc.variadicOpsAreDefs(), ORIEL_OPCODE_VARIADIC_DEFS);
  Add(Desc.isPreISelOpcode(), ORIEL_OPCODE_PRE_ISEL);
  return Flags;
}
