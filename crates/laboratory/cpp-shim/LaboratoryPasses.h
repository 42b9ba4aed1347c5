//===- LaboratoryPasses.h - Passes that check Oriel -------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_LABORATORYPASSES_H
#define ORIEL_LABORATORYPASSES_H

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace oriel {

/// Registers the laboratory's passes with \p Builder.
void registerLaboratoryWithPassBuilder(llvm::PassBuilder &Builder);

} // namespace oriel

#endif // ORIEL_LABORATORYPASSES_H
