//===- MachinePassDriver.cpp - Machine passes by the new pass manager -----===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Runs a pipeline of machine passes on a file of machine IR and prints
/// the result, as `llc -passes=` does, including Oriel's passes. llc itself
/// does not query plug-ins for passes.
///
//===----------------------------------------------------------------------===//

#include "LaboratoryPasses.h"
#include "OrielPasses.h"
#include "Support.h"
#include "laboratory_ffi.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MIRParser/MIRParser.h"
#include "llvm/CodeGen/MIRPrinter.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

/// Returns a target machine for \p M, or null with the reason in \p Error.
static std::unique_ptr<TargetMachine>
createMachine(const Module &M, StringRef Cpu, std::string &Error) {
  const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Error);
  if (!T)
    return nullptr;
  return std::unique_ptr<TargetMachine>(T->createTargetMachine(
      M.getTargetTriple(), Cpu, "", TargetOptions(), std::nullopt));
}

/// Runs \p Pipeline on the functions that \p Parser reads into \p M, and prints
/// them to \p Out. Returns an error, or an empty text.
static std::string runPipeline(Module &M, MIRParser &Parser, TargetMachine &TM,
                               StringRef Pipeline, raw_ostream &Out) {
  MachineModuleInfo MMI(&TM);
  // Managers refer to earlier ones, and are destroyed in reverse.
  MachineFunctionAnalysisManager MachineFunctions;
  LoopAnalysisManager Loops;
  FunctionAnalysisManager Functions;
  CGSCCAnalysisManager CallGraph;
  ModuleAnalysisManager Modules;
  PassBuilder Builder(&TM);
  registerWithPassBuilder(Builder);
  registerLaboratoryWithPassBuilder(Builder);
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(CallGraph);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.registerMachineFunctionAnalyses(MachineFunctions);
  Builder.crossRegisterProxies(Loops, Functions, CallGraph, Modules,
                               &MachineFunctions);
  Modules.registerPass([&] { return MachineModuleAnalysis(MMI); });

  ModulePassManager Passes;
  if (Error E = Builder.parsePassPipeline(Passes, Pipeline))
    return toString(std::move(E));
  Passes.addPass(PrintMIRPreparePass(Out));
  MachineFunctionPassManager Print;
  Print.addPass(PrintMIRPass(Out));
  FunctionPassManager Adaptor;
  Adaptor.addPass(createFunctionToMachineFunctionPassAdaptor(std::move(Print)));
  Passes.addPass(createModuleToFunctionPassAdaptor(std::move(Adaptor)));
  if (Parser.parseMachineFunctions(M, Modules))
    return "its machine functions cannot be read";
  Passes.run(M, Modules);
  return "";
}

int oriel_run_machine_passes(OrielText Path, OrielText Pipeline, OrielText Cpu,
                             OrielSink Out, OrielSink ErrorSink) {
  auto Fail = [&](StringRef Problem) {
    ErrorSink.write(ErrorSink.context, toText(Problem));
    return 0;
  };
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<MIRParser> Parser =
      createMIRParserFromFile(toStringRef(Path), Diagnostic, Context);
  if (!Parser)
    return Fail(Diagnostic.getMessage());
  std::string Problem;
  std::unique_ptr<TargetMachine> TM;
  auto SetLayout = [&](StringRef Triple,
                       StringRef) -> std::optional<std::string> {
    Module Probe("probe", Context);
    Probe.setTargetTriple(llvm::Triple(
        Triple.empty() ? StringRef("nvptx64-nvidia-cuda") : Triple));
    TM = createMachine(Probe, toStringRef(Cpu), Problem);
    if (!TM)
      return std::nullopt;
    return TM->createDataLayout().getStringRepresentation();
  };
  std::unique_ptr<Module> M = Parser->parseIRModule(SetLayout);
  if (!M || !TM)
    return Fail(Problem.empty() ? "it is not machine IR" : Problem);
  M->setTargetTriple(TM->getTargetTriple());

  std::string Text;
  raw_string_ostream Stream(Text);
  Problem = runPipeline(*M, *Parser, *TM, toStringRef(Pipeline), Stream);
  if (!Problem.empty())
    return Fail(Problem);
  Out.write(Out.context, toText(Text));
  return 1;
}
