//===- ExportTables.h - The tables beside the code --------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORTTABLES_H
#define ORIEL_EXPORTTABLES_H

#include "oriel_abi.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <string>
#include <vector>

namespace llvm {
class DILocation;
struct fltSemantics;
class MachineBlockFrequencyInfo;
class MCSubtargetInfo;
class TargetRegisterClass;
class TargetRegisterInfo;
} // namespace llvm

namespace oriel {

/// Returns the format of floating-point constants of this OrielConstantKind;
/// null for other kinds.
const llvm::fltSemantics *floatFormat(uint32_t Kind);

/// The tables of a snapshot to which its code refers by number, and the record
/// of the function. They keep their memory from function to function.
class SnapshotTables {
public:
  const OrielSnapshot &snapshot() const { return Snapshot; }

  /// Why the last export failed.
  const std::string &refusal() const { return Refusal; }

  /// LLVM's operands for the snapshot's table entries, by table index.
  const std::vector<const llvm::MachineOperand *> &symbolOperands() const {
    return SymbolOperands;
  }
  const std::vector<const llvm::MachineOperand *> &constantOperands() const {
    return ConstantOperands;
  }

protected:
  void clear();
  void publish();
  bool refuse(const llvm::Twine &Reason);

  void exportFunction(const llvm::MachineFunction &MF, OrielStage Stage);
  void
  exportFunctionProperties(const llvm::MachineFunction &MF,
                           const llvm::MachineBlockFrequencyInfo *Frequencies);
  void exportRegisterClasses(const llvm::MachineFunction &MF);
  void exportFrame(const llvm::MachineFunction &MF);

  OrielString addString(llvm::StringRef Text);
  uint32_t opcodeIndex(const llvm::MachineInstr &MI) {
    unsigned Opcode = MI.getOpcode();
    if (LLVM_LIKELY(Opcode < OpcodeIndex.size() && OpcodeIndex[Opcode]))
      return OpcodeIndex[Opcode] - 1;
    return addOpcode(MI);
  }
  uint32_t locationIndex(const llvm::DILocation *Location);
  uint32_t symbolIndex(const llvm::MachineOperand &MO);
  uint32_t globalSymbolIndex(const llvm::GlobalValue &Global);
  uint32_t constantIndex(const llvm::MachineOperand &MO);
  uint32_t variableIndex(const llvm::MachineOperand &MO);
  uint32_t physicalRegisterIndex(llvm::Register Reg,
                                 const llvm::TargetRegisterInfo &TRI);

  OrielSnapshot Snapshot = {};
  std::vector<OrielOpcode> Opcodes;
  std::string Strings;

private:
  void exportSubtarget(const llvm::MCSubtargetInfo &Subtarget);
  uint32_t addOpcode(const llvm::MachineInstr &MI);

  std::string Refusal;
  std::vector<OrielRegisterClass> RegisterClasses;
  std::vector<OrielConstant> Constants;
  std::vector<OrielSymbol> Symbols;
  std::vector<OrielFrameObject> FrameObjects;
  std::vector<OrielPhysicalRegister> PhysicalRegisters;
  std::vector<OrielLocation> Locations;
  std::vector<OrielVariable> Variables;

  std::vector<const llvm::MachineOperand *> SymbolOperands;
  std::vector<const llvm::MachineOperand *> ConstantOperands;

  /// 1-based opcode table index of LLVM's opcode; zero if not yet seen.
  std::vector<uint16_t> OpcodeIndex;
  /// 1-based position of LLVM's opcode in KnownOpcodes; zero if not yet seen.
  std::vector<uint16_t> KnownOpcodeIndex;
  /// Data on opcodes from earlier functions. It is static data of the target,
  /// like register classes.
  struct KnownOpcode {
    llvm::StringRef Name;
    /// For an opcode without a proper name.
    std::string Mnemonic;
    OrielOpcode Record;
  };
  std::vector<KnownOpcode> KnownOpcodes;
  const llvm::TargetRegisterClass *const *KnownClasses = nullptr;
  /// The names of register classes come first in the strings and stay there.
  size_t ClassNameBytes = 0;
  /// The properties that follow from the feature and CPU names of the last
  /// subtarget.
  struct KnownSubtarget {
    std::string Features;
    std::string Cpu;
    uint32_t PtxVersion = 0;
    uint32_t Sm = 0;
    uint32_t Flags = 0;
  };
  KnownSubtarget LastSubtarget;
  llvm::DenseMap<const void *, uint32_t> LocationIndex;
  llvm::DenseMap<const void *, uint32_t> SymbolIndex;
  llvm::StringMap<uint32_t> ExternalSymbolIndex;
  llvm::DenseMap<const void *, uint32_t> ConstantIndex;
  llvm::DenseMap<const void *, uint32_t> VariableIndex;
  llvm::DenseMap<unsigned, uint32_t> PhysicalRegisterIndex;
  const llvm::DILocation *LastLocation = nullptr;
  uint32_t LastLocationIndex = 0;
};

} // namespace oriel

#endif // ORIEL_EXPORTTABLES_H
