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
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class MachineInstr;
class MachineRegisterInfo;
} // namespace llvm

namespace oriel {

/// Exports the order in which LLVM chains the operands of each register with
/// several definitions. It keeps its memory from function to function.
class ChainExporter {
public:
  /// Appends the chains of the registers \p Chained, in ascending order.
  void run(const llvm::MachineRegisterInfo &MRI,
           llvm::ArrayRef<uint32_t> Chained,
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

  void collectPlaces(llvm::ArrayRef<uint32_t> Chained, size_t RegisterCount,
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
  /// The registers with several definitions. A bit for each register stays in
  /// the first cache, where every operand looks it up.
  llvm::BitVector IsChained;
  /// Position among them; only theirs are valid.
  llvm::SmallVector<uint32_t, 0> ChainOf;
  /// Where the operands of each of them end in ChainedPlaces.
  llvm::SmallVector<uint32_t, 0> ChainEnds;
};

} // namespace oriel

#endif // ORIEL_EXPORTCHAINS_H
