//===- StrengthReduction.h - Where LLVM reduces strength --------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_STRENGTHREDUCTION_H
#define ORIEL_STRENGTHREDUCTION_H

namespace llvm {
class TargetPassConfig;
} // namespace llvm

namespace oriel {

/// Makes LLVM's loop strength reduction leave out loops as the options in force
/// say, where it is part of the pipeline.
void limitStrengthReduction(llvm::TargetPassConfig &Config);

} // namespace oriel

#endif // ORIEL_STRENGTHREDUCTION_H
