//===- Export.h - From a machine function to a snapshot ---------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORT_H
#define ORIEL_EXPORT_H

#include "oriel_abi.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <string>
#include <vector>

namespace llvm {
class DILocation;
class MachineBlockFrequencyInfo;
class MCSubtargetInfo;
} // namespace llvm

namespace oriel {

/// Walks a machine function once and fills the snapshot's arrays. The arrays
/// belong to the exporter and keep their memory from function to function.
class SnapshotExporter {
public:
  /// Exports \p MF. Returns false if it contains something that a snapshot
  /// cannot carry; refusal() then says what. \p Frequencies may be null.
  bool run(llvm::MachineFunction &MF, OrielStage Stage,
           const llvm::MachineBlockFrequencyInfo *Frequencies);

  const OrielSnapshot &snapshot() const { return Snapshot; }

  /// Why the last run() returned false.
  const std::string &refusal() const { return Refusal; }

  /// The exported blocks by snapshot number.
  const std::vector<llvm::MachineBasicBlock *> &blocks() const {
    return BlockPointers;
  }

  /// The exported instructions by snapshot number.
  const std::vector<llvm::MachineInstr *> &instructions() const {
    return InstructionPointers;
  }

  /// LLVM's handles of what operands refer to by table index.
  const std::vector<const llvm::MachineOperand *> &symbolOperands() const {
    return SymbolOperands;
  }
  const std::vector<const llvm::MachineOperand *> &constantOperands() const {
    return ConstantOperands;
  }

private:
  void clear();
  void exportFunction(llvm::MachineFunction &MF, OrielStage Stage,
                      const llvm::MachineBlockFrequencyInfo *Frequencies);
  void readSubtarget(const llvm::MCSubtargetInfo &Subtarget);
  void exportRegisterClasses(const llvm::MachineFunction &MF);
  bool exportRegisters(const llvm::MachineFunction &MF);
  void exportFrame(const llvm::MachineFunction &MF);
  bool exportInstruction(const llvm::MachineInstr &MI);
  bool exportOperand(const llvm::MachineInstr &MI,
                     const llvm::MachineOperand &MO, unsigned Number);
  void exportRegisterOperand(const llvm::MachineOperand &MO,
                             OrielOperand &Operand);
  void exportMemoryOperand(const llvm::MachineMemOperand &MMO);
  void exportChains(const llvm::MachineFunction &MF);
  void publish();

  bool refuse(const llvm::Twine &Reason);

  OrielString addString(llvm::StringRef Text);
  uint32_t opcodeIndex(const llvm::MachineInstr &MI);
  uint32_t locationIndex(const llvm::DILocation *Location);
  uint32_t symbolIndex(const llvm::MachineOperand &MO);
  uint32_t globalSymbolIndex(const llvm::GlobalValue &Global);
  uint32_t constantIndex(const llvm::MachineOperand &MO);
  uint32_t variableIndex(const llvm::MachineOperand &MO);
  uint32_t physicalRegisterIndex(llvm::Register Reg);

  OrielSnapshot Snapshot = {};
  std::string Refusal;

  std::vector<OrielBlock> Blocks;
  std::vector<OrielEdge> Edges;
  std::vector<uint32_t> Predecessors;
  std::vector<OrielInstruction> Instructions;
  std::vector<OrielOperand> Operands;
  std::vector<OrielMemoryOperand> MemoryOperands;
  std::vector<OrielRegister> Registers;
  std::vector<OrielChainedOperand> ChainedOperands;
  std::vector<OrielRegisterClass> RegisterClasses;
  std::vector<OrielOpcode> Opcodes;
  std::vector<OrielConstant> Constants;
  std::vector<OrielSymbol> Symbols;
  std::vector<OrielFrameObject> FrameObjects;
  std::vector<OrielPhysicalRegister> PhysicalRegisters;
  std::vector<OrielLocation> Locations;
  std::vector<OrielVariable> Variables;
  std::string Strings;

  std::vector<llvm::MachineBasicBlock *> BlockPointers;
  std::vector<llvm::MachineInstr *> InstructionPointers;
  std::vector<const llvm::MachineOperand *> SymbolOperands;
  std::vector<const llvm::MachineOperand *> ConstantOperands;

  /// Snapshot number of LLVM's block number.
  std::vector<uint32_t> BlockIndex;
  /// 1-based opcode table index of LLVM's opcode; zero if not yet seen.
  std::vector<uint32_t> OpcodeIndex;
  llvm::DenseMap<const void *, uint32_t> LocationIndex;
  llvm::DenseMap<const void *, uint32_t> SymbolIndex;
  llvm::DenseMap<const void *, uint32_t> ConstantIndex;
  llvm::DenseMap<const void *, uint32_t> VariableIndex;
  llvm::DenseMap<const void *, uint32_t> BaseValueIndex;
  llvm::DenseMap<unsigned, uint32_t> PhysicalRegisterIndex;
  const llvm::DILocation *LastLocation = nullptr;
  uint32_t LastLocationIndex = 0;
  /// Which registers a definition has been seen of; a byte each.
  std::vector<uint8_t> IsDefined;
  bool AnyChained = false;
};

} // namespace oriel

#endif // ORIEL_EXPORT_H
