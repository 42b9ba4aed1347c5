//===- PlanOperandChecks.cpp - Can an opcode take a plan's operands? ------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Checks single operands. LLVM describes and verifies registers; all
/// other operands of an opcode must be known here or occur in the input.
///
//===----------------------------------------------------------------------===//

#include "PlanOperandChecks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;
using namespace oriel;

bool PlanOperandChecks::checkOperands(uint32_t Number,
                                      const MCInstrDesc &Desc) {
  ArrayRef<OrielOperand> Operands = operandsOf(Plan, Number);
  uint32_t Explicit = 0;
  bool SawImplicit = false;
  for (uint32_t I = 0, E = Operands.size(); I != E; ++I) {
    const OrielOperand &Raw = Operands[I];
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
    const OrielOperand &To = resolved(Operands[0]);
    const OrielOperand &From = resolved(Operands[1]);
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

bool PlanOperandChecks::checkEarlyClobbers(uint32_t Number,
                                           const MachineInstr &MI) {
  ArrayRef<OrielOperand> Operands = operandsOf(Plan, Number);
  ArrayRef<OrielOperand> Old =
      operandsOf(Snapshot, Plan.instructions[Number].source - 1);
  for (uint32_t I = 0, Count = Operands.size(); I != Count; ++I) {
    const OrielOperand &Def = resolved(Operands[I]);
    constexpr uint32_t Early = ORIEL_OPERAND_DEF | ORIEL_OPERAND_EARLY_CLOBBER;
    if (Def.kind != ORIEL_OPERAND_REGISTER || (Def.flags & Early) != Early)
      continue;
    for (uint32_t J = 0; J != Count; ++J) {
      const OrielOperand &Use = resolved(Operands[J]);
      if (Use.kind != ORIEL_OPERAND_REGISTER || Use.index != Def.index ||
          (Use.flags & (ORIEL_OPERAND_DEF | ORIEL_OPERAND_UNDEF)))
        continue;
      // The number of operands may differ from the input's; LLVM has no
      // early-clobber opcode with a variable number.
      bool IsInput = Count == MI.getNumOperands();
      bool IsTied = IsInput && MI.getOperand(J).isReg() &&
                    MI.getOperand(J).isTied() && MI.findTiedOperandIdx(J) == I;
      bool WasShared = IsInput && Old[I].index == Old[J].index;
      if (!IsTied && !WasShared)
        return fail("operand " + Twine(J) + " of instruction " + Twine(Number) +
                    " is read from the register that operand " + Twine(I) +
                    " is written to early");
    }
  }
  return true;
}

bool PlanOperandChecks::checkOriginalOperand(uint32_t Number,
                                             const OrielOperand &Operand) {
  if (Operand.index < Snapshot.instruction_count && Operand.value >= 0 &&
      uint64_t(Operand.value) < operandsOf(Snapshot, Operand.index).size())
    return true;
  return fail("instruction " + Twine(Number) +
              " refers to an unknown input operand");
}

bool PlanOperandChecks::checkOperand(uint32_t Number, uint32_t OperandNumber,
                                     const MCInstrDesc &Desc) {
  const OrielOperand &Raw = operandsOf(Plan, Number)[OperandNumber];
  const OrielOperand &Operand = resolved(Raw);
  auto Fail = [&](const Twine &What) {
    return fail("operand " + Twine(OperandNumber) + " of instruction " +
                Twine(Number) + " " + What);
  };
  // An operand that LLVM put there may stay, even if its own description of the
  // opcode disagrees: it describes the symbol of MOV64_PARAM as a register.
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
    return Fail("is not a register, but has register flags");
  if (IsDeclared && !WantsRegister &&
      !fitsDeclaration(Number, OperandNumber, Desc, Operand))
    return Fail("is of a kind that its opcode is not known to take");

  switch (Operand.kind) {
  case ORIEL_OPERAND_REGISTER:
    return checkRegisterOperand(Number, OperandNumber, Desc, Operand);
  case ORIEL_OPERAND_NO_REGISTER:
  case ORIEL_OPERAND_IMMEDIATE:
    return true;
  case ORIEL_OPERAND_CONSTANT:
    return Operand.index <
               uint64_t(Snapshot.constant_count) + Plan.constant_count ||
           Fail("names an unknown constant");
  case ORIEL_OPERAND_BLOCK:
    return (Operand.index < Findings.Position.size() &&
            Findings.Position[Operand.index] != NotPlanned) ||
           Fail("names block " + Twine(Operand.index) +
                ", which does not exist");
  case ORIEL_OPERAND_FRAME_INDEX:
    return Operand.index < Snapshot.frame_object_count ||
           Fail("names an unknown stack object");
  case ORIEL_OPERAND_SYMBOL:
    return (Operand.index < Snapshot.symbol_count &&
            Input.symbolOperands()[Operand.index]) ||
           Fail("names an unknown symbol");
  default:
    // Only LLVM can create the rest, from an existing operand.
    return Raw.kind == ORIEL_OPERAND_ORIGINAL ||
           Fail("is of a kind that only the input can provide");
  }
}

bool PlanOperandChecks::fitsDeclaration(uint32_t Number, uint32_t OperandNumber,
                                        const MCInstrDesc &Desc,
                                        const OrielOperand &Operand) {
  // Most operands of an opcode that are not registers select a variant: a
  // comparison, a rounding mode, an address space. LLVM does not describe or
  // verify their values, and crashes on wrong ones when it prints PTX.
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
  // LLVM models the carry as a side effect.
  auto IsCarry = [&] {
    StringRef Name = nameOf(Desc.getOpcode());
    return Name.starts_with("ADDCC") || Name.starts_with("SUBCC");
  };
  bool IsPlain = !Desc.mayLoad() && !Desc.mayStore() && !Desc.isCall() &&
                 !Desc.isTerminator() &&
                 (!Desc.hasUnmodeledSideEffects() || IsCarry());
  bool IsNumber =
      Desc.operands()[OperandNumber].OperandType == MCOI::OPERAND_IMMEDIATE;
  // LLVM puts other kinds there, too, as the register that FDIV32ri divides by.
  // These have to occur in the input, as at the end.
  if (IsPlain && IsNumber &&
      (IsImmediate || Operand.kind == ORIEL_OPERAND_CONSTANT))
    return true;

  // Operations between threads take numbers that PTX prints unchanged.
  if (IsNumber && IsImmediate && Desc.isConvergent() && !Desc.isCall())
    return true;
  if (std::optional<bool> Fits = fitsMemoryAccess(OperandNumber, Desc, Operand))
    return *Fits;
  if (IsImmediate && isModifier(OperandNumber, Desc, Operand.value))
    return true;
  // Zero, no modifier at all, is a valid value of every modifier.
  return (IsImmediate && Operand.value == 0) ||
         occursInInput(Number, OperandNumber, Desc.getOpcode(), Operand);
}

bool PlanOperandChecks::isModifier(uint32_t OperandNumber,
                                   const MCInstrDesc &Desc,
                                   int64_t Value) const {
  StringRef Name = nameOf(Desc.getOpcode());
  unsigned FromEnd = Desc.getNumOperands() - OperandNumber;
  auto IsUpTo = [&](int64_t Last) { return Value >= 0 && Value <= Last; };
  // Comparisons: equal, unequal, less, at most, greater, at least; the same for
  // unordered floats and, except the first two, unsigned integers; whether
  // floats are numbers, or are not.
  if (Name.starts_with("SETP_i"))
    return OperandNumber == 3 && (IsUpTo(5) || (Value >= 8 && Value <= 11));
  if (Name.starts_with("SETP_") && OperandNumber == Desc.getNumDefs() + 2)
    return IsUpTo(13);
  // Byte permutations: the selector, then the mode.
  if (Name.starts_with("PRMT_B32"))
    return FromEnd == 2 || (FromEnd == 1 && IsUpTo(6));
  if (FromEnd != 1)
    return false;
  // Conversions: rounding; then subnormals, saturation, negative numbers,
  // finite numbers.
  if (Name.starts_with("CVT_"))
    return Value >= 0 && (Value & 0xF) <= 10 && Value <= 0xFF;
  // Floating point: whether subnormals are flushed.
  constexpr StringLiteral TakesFtz[] = {
      "SETP_",      "FADD",         "FSUB",       "FMUL",       "FMA",
      "FDIV32",     "FRCP32",       "FSQRTf32",   "FABS",       "FNEG",
      "NEG_F16",    "NEG_BF16",     "MIN_",       "MAX_",       "FMIN",
      "FMAX",       "EX2_APPROX",   "LG2_APPROX", "SIN_APPROX", "COS_APPROX",
      "RCP_APPROX", "RSQRT_APPROX", "DIV_APPROX"};
  return IsUpTo(1) && any_of(TakesFtz, [&](StringRef Prefix) {
           return Name.starts_with(Prefix);
         });
}

std::optional<bool>
PlanOperandChecks::fitsMemoryAccess(uint32_t OperandNumber,
                                    const MCInstrDesc &Desc,
                                    const OrielOperand &Operand) const {
  bool IsImmediate = Operand.kind == ORIEL_OPERAND_IMMEDIATE;
  auto HasBits = [&](uint64_t Wanted) {
    return Operand.kind == ORIEL_OPERAND_REGISTER &&
           registerExists(Operand.index) &&
           MF.getSubtarget().getRegisterInfo()->getRegSizeInBits(
               *registerClass(Operand.index)) == Wanted;
  };
  bool IsBase = Operand.kind == ORIEL_OPERAND_SYMBOL ||
                Operand.kind == ORIEL_OPERAND_FRAME_INDEX ||
                HasBits(Snapshot.function.pointer_bits) || HasBits(32);
  // Addresses: result, base, offset. Atomic operations: the same, values.
  StringRef Name = nameOf(Desc.getOpcode());
  bool IsAtomic =
      Name.starts_with("INT_PTX_ATOM") || Name.starts_with("INT_PTX_SATOM_");
  if (IsAtomic || Name.starts_with("LEA_ADDRi")) {
    if (OperandNumber == 1)
      return IsBase;
    if (OperandNumber == 2)
      return IsImmediate;
    if (Desc.operands()[OperandNumber].OperandType == MCOI::OPERAND_IMMEDIATE)
      return IsImmediate || Operand.kind == ORIEL_OPERAND_CONSTANT;
    return std::nullopt;
  }
  // Loads: results, ordering, scope, address space, type, width, bytes used,
  // address, offset; for constant memory the same from the type on, for uniform
  // addresses without type and bytes. Stores: values, ordering, scope, address
  // space, width, address, offset.
  bool IsStore = Name.starts_with("ST_") || Name.starts_with("STV_");
  bool IsLoad = Name.starts_with("LD_") || Name.starts_with("LDV_");
  bool IsUniform = Name.starts_with("LDU_GLOBAL_");
  unsigned Bits;
  StringRef Digits = Name.substr(Name.rfind('i') + 1).take_while(isDigit);
  if ((!IsStore && !IsLoad && !IsUniform) || Digits.getAsInteger(10, Bits))
    return std::nullopt;
  auto IsOneOf = [&](ArrayRef<int64_t> Values) -> std::optional<bool> {
    if (IsImmediate && is_contained(Values, Operand.value))
      return true;
    return std::nullopt;
  };
  unsigned FromEnd = Desc.getNumOperands() - OperandNumber;
  // Orderings, scopes and the bytes used must be the input's.
  constexpr int64_t NotAtomic = 0, Volatile = 8;
  switch (FromEnd) {
  case 1:
    return IsImmediate;
  case 2:
    return IsBase;
  default:
    break;
  }
  // A register may be wider than the memory access.
  if (FromEnd == (IsLoad ? 4u : 3u))
    return IsImmediate && Operand.value <= int64_t(Bits) &&
           is_contained<int64_t>({8, 16, 32, 64}, Operand.value);
  if (IsUniform)
    return std::nullopt;
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

StringRef PlanOperandChecks::nameOf(unsigned Opcode) const {
  return MF.getSubtarget().getInstrInfo()->getName(Opcode);
}

bool PlanOperandChecks::isSameCompareAndSwap(unsigned A, unsigned B) const {
  // The last part of the name says which values are immediates.
  StringRef Operation = nameOf(A).rsplit('_').first;
  return Operation.starts_with("INT_PTX_ATOM_CAS_") &&
         Operation == nameOf(B).rsplit('_').first;
}

bool PlanOperandChecks::occursInInput(uint32_t Number, uint32_t OperandNumber,
                                      unsigned Opcode,
                                      const OrielOperand &Operand) {
  // A register represents every register of its class.
  auto Key = [this](unsigned Opcode, uint32_t Number, const OrielOperand &O) {
    uint64_t Place = uint64_t(Opcode) << 32 | uint64_t(Number) << 8 | O.kind;
    if (O.kind == ORIEL_OPERAND_REGISTER)
      return std::make_pair(Place, uint64_t(registerClass(O.index)->getID()));
    return std::make_pair(Place, uint64_t(O.value) ^ uint64_t(O.index) << 40);
  };
  if (Operand.kind == ORIEL_OPERAND_REGISTER && !registerExists(Operand.index))
    return false;
  auto OpcodeOf = [this](uint32_t I) {
    return Snapshot.opcodes[Snapshot.instructions[I].opcode].llvm_opcode;
  };
  // Mostly it is the operand of the instruction that this one is made of.
  if (uint32_t Source = Plan.instructions[Number].source;
      Source && (OpcodeOf(Source - 1) == Opcode ||
                 isSameCompareAndSwap(OpcodeOf(Source - 1), Opcode))) {
    ArrayRef<OrielOperand> Operands = operandsOf(Snapshot, Source - 1);
    if (OperandNumber < Operands.size() &&
        Key(Opcode, OperandNumber, Operands[OperandNumber]) ==
            Key(Opcode, OperandNumber, Operand))
      return true;
  }
  if (InputOperands.empty()) {
    InputOperands.reserve(
        Snapshot.instructions[Snapshot.instruction_count].first_operand);
    for (uint32_t I = 0; I != Snapshot.instruction_count; ++I)
      for (auto [J, Known] : enumerate(operandsOf(Snapshot, I)))
        InputOperands.insert(Key(OpcodeOf(I), J, Known));
  }
  return InputOperands.contains(Key(Opcode, OperandNumber, Operand));
}

bool PlanOperandChecks::checkRegisterOperand(uint32_t Number,
                                             uint32_t OperandNumber,
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
  if (isDebugOpcode(Desc.getOpcode()) !=
      bool(Operand.flags & ORIEL_OPERAND_DEBUG))
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
