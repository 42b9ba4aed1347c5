//===- OpcodeNames.cpp - LLVM's opcodes by name ---------------------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpcodeNames.h"
#include "OpcodePrinter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;
using namespace oriel;

std::optional<unsigned> OpcodeNames::find(const MachineFunction &MF,
                                          StringRef Name) {
  const TargetInstrInfo &TII = *MF.getSubtarget().getInstrInfo();
  if (Source != &TII) {
    Source = &TII;
    Known.clear();
    AnonymousOpcodes.clear();
  }
  auto [Found, New] = Known.try_emplace(Name);
  if (New)
    Found->second = search(MF, Name);
  return Found->second;
}

std::optional<unsigned> OpcodeNames::search(const MachineFunction &MF,
                                            StringRef Name) {
  // There are thousands of opcodes, and a plan names only a few. TableGen
  // numbers a target's opcodes by name, pseudo instructions before the others;
  // if that changes, the loop still finds all of them.
  const TargetInstrInfo &TII = *Source;
  auto All =
      seq<unsigned>(TargetOpcode::GENERIC_OP_END + 1, TII.getNumOpcodes());
  auto Real = partition_point(
      All, [&](unsigned Opcode) { return TII.get(Opcode).isPseudo(); });
  for (auto Part :
       {make_range(All.begin(), Real), make_range(Real, All.end())}) {
    auto Found = partition_point(
        Part, [&](unsigned Opcode) { return TII.getName(Opcode) < Name; });
    if (Found != Part.end() && TII.getName(*Found) == Name)
      return *Found;
  }
  for (unsigned I = 0, E = TII.getNumOpcodes(); I != E; ++I)
    if (TII.getName(I) == Name)
      return I;
  // Of several opcodes with the same mnemonic, the first is used.
  if (AnonymousOpcodes.empty())
    for (unsigned I = 0, E = TII.getNumOpcodes(); I != E; ++I)
      if (isAnonymous(TII.getName(I)))
        AnonymousOpcodes.try_emplace(anonymousOpcodeName(MF.getTarget(), I), I);
  auto Found = AnonymousOpcodes.find(Name);
  if (Name.empty() || Found == AnonymousOpcodes.end())
    return std::nullopt;
  return Found->second;
}
