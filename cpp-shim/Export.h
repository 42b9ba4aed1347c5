//===- Export.h - From a machine function to a snapshot ---------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORT_H
#define ORIEL_EXPORT_H

#include "oriel_abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunction.h"
#include <string>
#include <vector>

namespace llvm {
class DILocation;
class MachineBlockFrequencyInfo;
class MCSubtargetInfo;
class TargetRegisterClass;
class Value;
} // namespace llvm

namespace oriel {

/// How much of a function an export carries.
enum class ExportScope {
  /// The input of live intervals only: blocks and edges, which instructions are
  /// PHIs or debug instructions, registers and the accesses of instructions to
  /// them. The function has only a name, and instructions have no other
  /// operands.
  Liveness,
  /// The complete function.
  Whole,
};

/// Walks a machine function once and fills the snapshot's arrays. The arrays
/// belong to the exporter and keep their memory from function to function.
class SnapshotExporter {
public:
  /// Exports \p MF. Returns false if it contains something that a snapshot
  /// cannot represent; refusal() then explains it. \p Frequencies may be null,
  /// and liveness does not use them.
  bool run(llvm::MachineFunction &MF, OrielStage Stage, ExportScope Scope,
           const llvm::MachineBlockFrequencyInfo *Frequencies = nullptr);

  const OrielSnapshot &snapshot() const { return Snapshot; }

  /// Why the last run() returned false.
  const std::string &refusal() const { return Refusal; }

  /// The exported blocks by snapshot number.
  llvm::ArrayRef<llvm::MachineBasicBlock *> blocks() const {
    return BlockPointers;
  }

  /// The exported instructions by snapshot number.
  llvm::ArrayRef<llvm::MachineInstr *> instructions() const {
    return InstructionPointers;
  }

  /// LLVM's operands for the snapshot's table entries, by table index.
  const std::vector<const llvm::MachineOperand *> &symbolOperands() const {
    return SymbolOperands;
  }
  const std::vector<const llvm::MachineOperand *> &constantOperands() const {
    return ConstantOperands;
  }

private:
  /// An operand of a register with several definitions.
  struct ChainedPlace {
    const llvm::MachineInstr *Instruction;
    uint32_t Operand; ///< Into the register operands.
    bool IsDefinition;
    bool IsListed = false; ///< Found in LLVM's list.
  };

  /// Values of IsDefined.
  enum : uint8_t { NotDefined = 0, DefinedOnce = 1, DefinedAgain = 3 };

  void clear();
  void exportFunction(const llvm::MachineFunction &MF, OrielStage Stage);
  void exportFunctionProperties(
      const llvm::MachineFunction &MF,
      const llvm::MachineBlockFrequencyInfo *Frequencies);
  void exportSubtarget(const llvm::MCSubtargetInfo &Subtarget);
  void exportRegisterClasses(const llvm::MachineFunction &MF);
  void exportLivenessOpcodes();
  uint32_t livenessOpcode(const llvm::MachineInstr &MI);
  bool exportRegisters(const llvm::MachineFunction &MF);
  void exportFrame(const llvm::MachineFunction &MF);
  void exportBlocks(llvm::MachineFunction &MF);
  void
  exportBlockProperties(const llvm::MachineBlockFrequencyInfo *Frequencies);
  template <ExportScope Scope> bool exportCode();
  bool exportRegisterOperands(const llvm::MachineInstr &MI);
  bool exportPhiOperands(const llvm::MachineInstr &MI, uint32_t Place);
  void exportInstruction(const llvm::MachineInstr &MI);
  void exportRegisterOperand(const llvm::MachineInstr &MI,
                             const llvm::MachineOperand &MO,
                             OrielOperand &Operand);
  void exportOtherOperand(const llvm::MachineOperand &MO,
                          OrielOperand &Operand);
  void exportMemoryOperand(const llvm::MachineMemOperand &MMO);
  void exportBaseSymbols();
  void exportChains(const llvm::MachineFunction &MF);
  void collectChainedPlaces();
  void exportChain(uint32_t Register,
                   llvm::MutableArrayRef<ChainedPlace> Places,
                   const llvm::MachineRegisterInfo &MRI);
  void publish();

  /// Records an operand of \p Register, without a branch on whether it is a
  /// definition.
  void noteDefinition(uint32_t Register, bool IsDefinition) {
    uint8_t &State = IsDefined[Register];
    State |= IsDefinition << (State & DefinedOnce);
  }

  bool refuse(const llvm::Twine &Reason);

  OrielString addString(llvm::StringRef Text);
  uint32_t opcodeIndex(const llvm::MachineInstr &MI) {
    unsigned Opcode = MI.getOpcode();
    if (LLVM_LIKELY(Opcode < OpcodeIndex.size() && OpcodeIndex[Opcode]))
      return OpcodeIndex[Opcode] - 1;
    return addOpcode(MI);
  }
  uint32_t addOpcode(const llvm::MachineInstr &MI);
  uint32_t locationIndex(const llvm::DILocation *Location);
  uint32_t symbolIndex(const llvm::MachineOperand &MO);
  uint32_t globalSymbolIndex(const llvm::GlobalValue &Global);
  uint32_t constantIndex(const llvm::MachineOperand &MO);
  uint32_t variableIndex(const llvm::MachineOperand &MO);
  uint32_t physicalRegisterIndex(llvm::Register Reg);

  OrielSnapshot Snapshot = {};
  std::string Refusal;

  // Unlike std::vector, these grow by realloc, which moves large arrays without
  // touching them, and reserve memory without filling it.
  llvm::SmallVector<OrielBlock, 0> Blocks;
  llvm::SmallVector<OrielEdge, 0> Edges;
  llvm::SmallVector<uint32_t, 0> Predecessors;
  llvm::SmallVector<OrielInstruction, 0> Instructions;
  llvm::SmallVector<OrielOperand, 0> Operands;
  llvm::SmallVector<OrielRegisterOperand, 0> RegisterOperands;
  llvm::SmallVector<OrielMemoryOperand, 0> MemoryOperands;
  llvm::SmallVector<OrielRegister, 0> Registers;
  llvm::SmallVector<OrielChainedOperand, 0> ChainedOperands;
  llvm::SmallVector<llvm::MachineBasicBlock *, 0> BlockPointers;
  llvm::SmallVector<llvm::MachineInstr *, 0> InstructionPointers;
  std::vector<OrielRegisterClass> RegisterClasses;
  std::vector<OrielOpcode> Opcodes;
  std::vector<OrielConstant> Constants;
  std::vector<OrielSymbol> Symbols;
  std::vector<OrielFrameObject> FrameObjects;
  std::vector<OrielPhysicalRegister> PhysicalRegisters;
  std::vector<OrielLocation> Locations;
  std::vector<OrielVariable> Variables;
  std::string Strings;

  std::vector<const llvm::MachineOperand *> SymbolOperands;
  std::vector<const llvm::MachineOperand *> ConstantOperands;

  /// Snapshot number of LLVM's block number.
  std::vector<uint32_t> BlockIndex;
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
  llvm::DenseMap<const void *, uint32_t> BaseValueIndex;
  /// The IR values at the bases of memory operands, by number; null if none.
  llvm::SmallVector<const llvm::Value *, 0> BaseValues;
  /// Positions of their operands in the register operands.
  llvm::SmallVector<uint32_t, 0> ChainedPositions;
  /// Operands of the registers with several definitions, by register.
  llvm::SmallVector<ChainedPlace, 0> ChainedPlaces;
  /// Where the operands of each register end in ChainedPlaces.
  std::vector<uint32_t> ChainEnds;
  llvm::DenseMap<unsigned, uint32_t> PhysicalRegisterIndex;
  const llvm::DILocation *LastLocation = nullptr;
  uint32_t LastLocationIndex = 0;
  /// The definitions seen so far of each register.
  std::vector<uint8_t> IsDefined;
};

} // namespace oriel

#endif // ORIEL_EXPORT_H
