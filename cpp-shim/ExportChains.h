//===- ExportChains.h - Registers with several definitions ------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_EXPORTCHAINS_H
#define ORIEL_EXPORTCHAINS_H

#include "oriel_abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace llvm {
class MachineInstr;
class MachineRegisterInfo;
} // namespace llvm

namespace oriel {

/// Exports the order in which LLVM chains the operands of each register with
/// several definitions. It keeps its memory from function to function.
class ChainExporter {
public:
  /// Appends the chains of the registers that are marked as chained.
  void run(const llvm::MachineRegisterInfo &MRI,
           llvm::ArrayRef<OrielRegister> Registers,
           llvm::ArrayRef<OrielRegisterOperand> Operands,
           llvm::ArrayRef<llvm::MachineInstr *> Instructions,
           llvm::SmallVectorImpl<OrielChainedOperand> &Chains);

private:
  /// An operand of a register with several definitions.
  struct ChainedPlace {
    const llvm::MachineInstr *Instruction;
    uint32_t Operand; ///< Into the register operands.
    bool IsDefinition;
    bool IsListed = false; ///< Found in LLVM's list.
  };

  void collectPlaces(llvm::ArrayRef<OrielRegister> Registers,
                     llvm::ArrayRef<OrielRegisterOperand> Operands,
                     llvm::ArrayRef<llvm::MachineInstr *> Instructions);
  void exportChain(uint32_t Register,
                   llvm::MutableArrayRef<ChainedPlace> Places,
                   const llvm::MachineRegisterInfo &MRI,
                   llvm::SmallVectorImpl<OrielChainedOperand> &Chains);

  /// Positions of their operands in the register operands.
  llvm::SmallVector<uint32_t, 0> ChainedPositions;
  /// Operands of the registers with several definitions, by register.
  llvm::SmallVector<ChainedPlace, 0> ChainedPlaces;
  /// Where the operands of each register end in ChainedPlaces.
  std::vector<uint32_t> ChainEnds;
};

} // namespace oriel

#endif // ORIEL_EXPORTCHAINS_H
