//===- Export.cpp - From a machine function to a snapshot -----------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of an export, and what it hands out. Blocks, instructions and
/// operands are exported by ExportCode.cpp, the order of operands of registers
/// with several definitions by ExportChains.cpp, everything else by
/// ExportTables.cpp.
///
//===----------------------------------------------------------------------===//

#include "Export.h"

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

  // Ranges have 32 bits; no real function is near.
  if (Strings.size() > UINT32_MAX)
    return refuse("it is too large");
  exportChains(MF);
  exportBaseSymbols();
  publish();
  return true;
}

void SnapshotExporter::publish() {
  Snapshot.blocks = Blocks.data();
  Snapshot.edges = Edges.data();
  Snapshot.predecessors = Predecessors.data();
  Snapshot.instructions = Instructions.data();
  Snapshot.operands = Operands.data();
  Snapshot.register_operands = RegisterOperands.data();
  Snapshot.memory_operands = MemoryOperands.data();
  Snapshot.registers = Registers.data();
  Snapshot.chained_operands = ChainedOperands.data();
  Snapshot.register_classes = RegisterClasses.data();
  Snapshot.opcodes = Opcodes.data();
  Snapshot.constants = Constants.data();
  Snapshot.symbols = Symbols.data();
  Snapshot.frame_objects = FrameObjects.data();
  Snapshot.physical_registers = PhysicalRegisters.data();
  Snapshot.locations = Locations.data();
  Snapshot.variables = Variables.data();
  Snapshot.strings = Strings.data();
  Snapshot.block_count = Blocks.size() - 1;
  Snapshot.edge_count = Edges.size();
  Snapshot.instruction_count = Instructions.size() - 1;
  Snapshot.operand_count = Operands.size();
  Snapshot.register_operand_count = RegisterOperands.size();
  Snapshot.memory_operand_count = MemoryOperands.size();
  Snapshot.register_count = Registers.size();
  Snapshot.chained_operand_count = ChainedOperands.size();
  Snapshot.register_class_count = RegisterClasses.size();
  Snapshot.opcode_count = Opcodes.size();
  Snapshot.constant_count = Constants.size();
  Snapshot.symbol_count = Symbols.size();
  Snapshot.frame_object_count = FrameObjects.size();
  Snapshot.physical_register_count = PhysicalRegisters.size();
  Snapshot.location_count = Locations.size();
  Snapshot.variable_count = Variables.size();
  Snapshot.string_bytes = Strings.size();
}
