//===- FunctionExport.cpp - A host's machine function as a snapshot -------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exports a machine function that a pass of the host's has in its hands, at
/// whatever point of code generation.
///
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "Support.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

int oriel_export_function(void *MachineFunctionPointer, OrielSnapshotSink Sink,
                          OrielSink Refusal) {
  auto &MF = *static_cast<MachineFunction *>(MachineFunctionPointer);
  if (!MF.getTarget().getTargetTriple().isNVPTX()) {
    Refusal.write(Refusal.context, toText("it is not compiled for NVPTX"));
    return 0;
  }
  SnapshotExporter Exporter;
  OrielStage Stage =
      MF.getRegInfo().isSSA() ? ORIEL_STAGE_SSA : ORIEL_STAGE_LATE;
  if (!Exporter.run(MF, Stage, ExportScope::Whole)) {
    Refusal.write(Refusal.context, toText(Exporter.refusal()));
    return 0;
  }
  Sink.take(Sink.context, &Exporter.snapshot());
  return 1;
}
