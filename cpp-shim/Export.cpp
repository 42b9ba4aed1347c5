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
  RegisterOperands.clear();
  MemoryOperands.clear();
  Registers.clear();
  ChainedOperands.clear();
  for (const OrielOpcode &Opcode : Opcodes)
    if (Opcode.llvm_opcode < OpcodeIndex.size())
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
  ExternalSymbolIndex.clear();
  ConstantIndex.clear();
  VariableIndex.clear();
  BaseValueIndex.clear();
  BaseValues.clear();
  PhysicalRegisterIndex.clear();
  LastLocation = nullptr;
  LastLocationIndex = 0;
  Refusal.clear();
}

bool SnapshotExporter::run(MachineFunction &MF, OrielStage Stage,
                           ExportScope Scope,
                           const MachineBlockFrequencyInfo *Frequencies) {
  bool IsWhole = Scope == ExportScope::Whole;
  clear();
  exportRegisterClasses(MF);
  exportFunction(MF, Stage);
  if (IsWhole) {
    exportFunctionProperties(MF, Frequencies);
    exportFrame(MF);
  }
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
  exportChains(MF);
  exportBaseSymbols();
  publish();
  return true;
}

void SnapshotExporter::publish() {
  lend(Blocks, Snapshot.blocks, Snapshot.block_count, /*Sentinels=*/1);
  lend(Edges, Snapshot.edges, Snapshot.edge_count);
  Snapshot.predecessors = Predecessors.data();
  lend(Instructions, Snapshot.instructions, Snapshot.instruction_count,
       /*Sentinels=*/1);
  lend(Operands, Snapshot.operands, Snapshot.operand_count);
  lend(RegisterOperands, Snapshot.register_operands,
       Snapshot.register_operand_count);
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
