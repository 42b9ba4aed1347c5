//===- Registration.cpp - How Oriel gets into code generation -------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Inserts Oriel's passes into NVPTX's code generation, registers them
/// with the new pass manager, and stays inactive in an LLVM that it was not
/// built for.
///
//===----------------------------------------------------------------------===//

#include "OrielPasses.h"
#include "StrengthReduction.h"
#include "llvm-c/Core.h"
#include "llvm/CodeGen/MachinePassManager.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"
#include <dlfcn.h>

using namespace llvm;
using namespace oriel;

//===----------------------------------------------------------------------===//
// Version
//===----------------------------------------------------------------------===//

/// Returns the file of the host's LLVM if it is not the one that Oriel is
/// linked to; empty otherwise. A host with another LLVM has loaded its own, and
/// its symbols come first.
static std::string otherLLVM() {
  void *First = dlsym(RTLD_DEFAULT, "LLVMContextCreate");
  if (!First || First == reinterpret_cast<void *>(&LLVMContextCreate))
    return "";
  Dl_info Info;
  return dladdr(First, &Info) && Info.dli_fname ? Info.dli_fname : "(unknown)";
}

/// Returns why Oriel cannot work in this process; empty if it can.
static std::string incompatibility() {
  if (isSecondCopy())
    return "loaded already from another file";
  const std::string Built = "built for LLVM " LLVM_VERSION_STRING ", but ";
  std::string Other = otherLLVM();
  if (!Other.empty())
    return Built + "the host runs another LLVM, " + Other;
  unsigned Major = 0, Minor = 0, Patch = 0;
  LLVMGetVersion(&Major, &Minor, &Patch);
  std::string Running =
      (Twine(Major) + "." + Twine(Minor) + "." + Twine(Patch)).str();
  std::string Wanted =
      (Twine(LLVM_VERSION_MAJOR) + "." + Twine(LLVM_VERSION_MINOR) + "." +
       Twine(LLVM_VERSION_PATCH))
          .str();
  return Running == Wanted ? "" : Built + "the host runs LLVM " + Running;
}

/// Returns the same, determined and reported once. Not destroyed, since a host
/// may compile while the process ends.
static const std::string &knownIncompatibility() {
  static const std::string &Known = *new std::string([] {
    std::string Reason = incompatibility();
    if (!Reason.empty())
      errs() << "oriel: " << Reason << "; the plug-in stays inactive\n";
    return Reason;
  }());
  return Known;
}

static bool isCompatible() { return knownIncompatibility().empty(); }

int oriel_is_compatible(OrielSink Reason) {
  if (!isCompatible())
    Reason.write(Reason.context, toText(knownIncompatibility()));
  return isCompatible();
}

//===----------------------------------------------------------------------===//
// Legacy pass manager
//===----------------------------------------------------------------------===//

/// Returns the ID of the pass that the command line calls \p Name, or null.
static AnalysisID findPass(StringRef Name) {
  const PassInfo *Info = PassRegistry::getPassRegistry()->getPassInfo(Name);
  return Info ? Info->getTypeInfo() : nullptr;
}

bool oriel::takesPartIn(const TargetMachine &TM) {
  return TM.getTargetTriple().isNVPTX() &&
         TM.getOptLevel() != CodeGenOptLevel::None && isCompatible();
}

void oriel::insertAtStages(TargetPassConfig &Config, Pass *SSA, Pass *Late) {
  AnalysisID EndOfSSA = findPass("nvptx-proxyreg-erasure");
  if (!EndOfSSA) {
    errs() << "oriel: this LLVM has no pass nvptx-proxyreg-erasure; the "
              "plug-in stays inactive\n";
    return;
  }
  Config.insertPass(EndOfSSA, SSA);
  Config.insertPass(&StackSlotColoringID, Late);
}

static void addPasses(TargetMachine &TM, PassManagerBase &,
                      TargetPassConfig *Config) {
  if (!takesPartIn(TM))
    return;
  limitStrengthReduction(*Config);
  insertAtStages(*Config, new OrielSSA, new OrielLate);
}

static RegisterTargetPassConfigCallback Callback(addPasses);

//===----------------------------------------------------------------------===//
// New pass manager
//===----------------------------------------------------------------------===//

void oriel::registerWithPassBuilder(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback(
      [Stages = FunctionDriver::createStages()](
          StringRef Name, MachineFunctionPassManager &Passes,
          ArrayRef<PassBuilder::PipelineElement>) {
        if (Name == "oriel-ssa")
          Passes.addPass(OrielNewPass<ORIEL_STAGE_SSA>(Stages));
        else if (Name == "oriel-late")
          Passes.addPass(OrielNewPass<ORIEL_STAGE_LATE>(Stages));
        else
          return false;
        return true;
      });
}

/// The callback for a host with another LLVM.
static void registerNothing(PassBuilder &) {}

void *oriel_fill_pass_plugin_info(void *Out) {
  auto *Info = static_cast<PassPluginLibraryInfo *>(Out);
  Info->APIVersion = LLVM_PLUGIN_API_VERSION;
  Info->PluginName = "oriel";
  Info->PluginVersion = ORIEL_VERSION;
  if (!isCompatible()) {
    // Older hosts' records end here.
    Info->RegisterPassBuilderCallbacks = registerNothing;
    return Out;
  }
  Info->RegisterPassBuilderCallbacks = registerWithPassBuilder;
  Info->PreCodeGenCallback = nullptr;
  return Out;
}

/// A host that loads Oriel without requesting the record above must be told,
/// too, that it is the wrong one.
[[maybe_unused]] static bool CheckedAtLoad = isCompatible();
