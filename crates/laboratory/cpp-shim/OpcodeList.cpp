//===- OpcodeList.cpp - LLVM's opcodes, to compare Ori's table with -------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpcodePrinter.h"
#include "Support.h"
#include "laboratory_ffi.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace oriel;

namespace {
/// LLVM's descriptions, without a target machine.
struct Descriptions {
  Triple TargetTriple{"nvptx64-nvidia-cuda"};
  const Target *T = nullptr;
  std::unique_ptr<MCInstrInfo> Opcodes;
  std::unique_ptr<MCRegisterInfo> Registers;
  std::unique_ptr<MCAsmInfo> AsmInfo;
  std::unique_ptr<MCSubtargetInfo> Subtarget;

  Descriptions() {
    std::string Error;
    T = TargetRegistry::lookupTarget(TargetTriple, Error);
    if (!T)
      return;
    Opcodes.reset(T->createMCInstrInfo());
    Registers.reset(T->createMCRegInfo(TargetTriple));
    AsmInfo.reset(
        T->createMCAsmInfo(*Registers, TargetTriple, MCTargetOptions()));
    Subtarget.reset(T->createMCSubtargetInfo(TargetTriple, "sm_100a", ""));
  }
};
} // namespace

void oriel_list_opcodes(OrielSink Out) {
  Descriptions All;
  if (!All.T)
    return;
  OpcodePrinter Printer(*All.T, All.TargetTriple, *All.AsmInfo, *All.Opcodes,
                        *All.Registers, *All.Subtarget);
  for (unsigned Opcode = 0, E = All.Opcodes->getNumOpcodes(); Opcode != E;
       ++Opcode) {
    const MCInstrDesc &Desc = All.Opcodes->get(Opcode);
    std::string Line;
    raw_string_ostream Stream(Line);
    Stream << All.Opcodes->getName(Opcode) << '\t';
    if (isAnonymous(All.Opcodes->getName(Opcode)))
      Stream << Printer.anonymousName(Opcode);
    Stream << '\t';
    unsigned Number = 0;
    for (const MCOperandInfo &Info : Desc.operands()) {
      Stream << (Number ? " " : "") << (Number < Desc.getNumDefs() ? "=" : "");
      if (Desc.getOperandConstraint(Number, MCOI::EARLY_CLOBBER) != -1)
        Stream << '&';
      if (Desc.getOperandConstraint(Number, MCOI::TIED_TO) != -1)
        Stream << '+';
      ++Number;
      if (Info.RegClass >= 0)
        Stream << All.Registers->getRegClassName(
            &All.Registers->getRegClass(Info.RegClass));
      else
        Stream << (Info.OperandType == MCOI::OPERAND_IMMEDIATE ? "i" : "?");
    }
    Stream << '\t' << descriptorFlags(Desc) << '\n';
    Out.write(Out.context, toText(Line));
  }
}

int oriel_print_opcode(OrielText Name, const int64_t *Numbers, size_t Count,
                       OrielSink Out) {
  Descriptions All;
  if (!All.T)
    return 0;
  OpcodePrinter Printer(*All.T, All.TargetTriple, *All.AsmInfo, *All.Opcodes,
                        *All.Registers, *All.Subtarget);
  for (unsigned Opcode = 0, E = All.Opcodes->getNumOpcodes(); Opcode != E;
       ++Opcode)
    if (All.Opcodes->getName(Opcode) == toStringRef(Name)) {
      Out.write(Out.context,
                toText(Printer.print(Opcode, ArrayRef(Numbers, Count))));
      return 1;
    }
  return 0;
}
