//===- Export.cpp - From a machine function to a snapshot -----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file The steps and results of an export. ExportCode.cpp exports blocks,
/// instructions and operands, ExportChains.cpp the order of operands of
/// registers with several definitions, ExportTables.cpp everything else.
///
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "Support.h"

using namespace llvm;
using namespace oriel;

bool SnapshotExporter::run(MachineFunction &MF, OrielStage Stage,
                           ExportScope Scope,
                           const MachineBlockFrequencyInfo *Frequencies) {
  bool IsWhole = Scope == ExportScope::Whole;
  clear();
  ChainedOperands.clear();
  exportRegisterClasses(MF);
  exportFunction(MF, Stage);
  if (Scope != ExportScope::Liveness)
    exportFunctionProperties(MF, Frequencies);
  if (IsWhole)
    exportFrame(MF);
  if (!exportRegisters(MF))
    return false;
  exportBlocks(MF);
  if (IsWhole)
    exportBlockProperties(Frequencies);
  else
    exportLivenessOpcodes();
  if (!(IsWhole ? exportCode<ExportScope::Whole>()
                : exportCode<ExportScope::Liveness>()))
    return false;

  // Ranges have 32 bits; no real function comes near that limit.
  if (Strings.size() > UINT32_MAX)
    return refuse("it is too large");
  markChainedRegisters();
  if (!ChainedRegisters.empty())
    Chains.run(MF.getRegInfo(), ChainedRegisters, RegisterOperands,
               InstructionPointers, ChainedOperands);
  exportBases();
  publish();
  lend(ChainedOperands, Snapshot.chained_operands,
       Snapshot.chained_operand_count);
  return true;
}

void SnapshotExporter::releaseLarge() {
  if (instructions().size() < LargeSize)
    return;
  // The assignment of an empty SmallVector keeps the memory.
  this->~SnapshotExporter();
  new (this) SnapshotExporter();
}
