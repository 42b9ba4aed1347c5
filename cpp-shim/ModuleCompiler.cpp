//===- ModuleCompiler.cpp - Modules that hosts compile through Oriel ------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Services that LLVM's C interface does not provide: reading IR as llc
/// does, and compiling without an error ending the host's process.
///
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/CodeGen/SchedulerRegistry.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace oriel;

/// The target of IR without one.
static constexpr StringRef DefaultTriple = "nvptx64-nvidia-cuda";

/// The address spaces whose pointers -nvptx-short-ptr shortens: shared,
/// constant, local, and shared of the cluster.
static constexpr unsigned ShortPointerSpaces[] = {
    NVPTXAS::ADDRESS_SPACE_SHARED, NVPTXAS::ADDRESS_SPACE_CONST,
    NVPTXAS::ADDRESS_SPACE_LOCAL, NVPTXAS::ADDRESS_SPACE_SHARED_CLUSTER};

namespace {

/// Collects errors after the host's handler has seen them: LLVM would print
/// those that the handler leaves to it, and end the process. Everything else
/// goes to the host's handler unchanged.
class ErrorCollector : public DiagnosticHandler {
public:
  ErrorCollector(std::unique_ptr<DiagnosticHandler> Outer, std::string &Errors)
      : Outer(std::move(Outer)), Errors(Errors) {}

  bool handleDiagnostics(const DiagnosticInfo &DI) override {
    bool Handled = Outer->handleDiagnostics(DI);
    if (DI.getSeverity() != DS_Error)
      return Handled;
    raw_string_ostream Stream(Errors);
    if (!Errors.empty())
      Stream << '\n';
    DiagnosticPrinterRawOStream Printer(Stream);
    DI.print(Printer);
    return true;
  }

  bool isAnalysisRemarkEnabled(StringRef Pass) const override {
    return Outer->isAnalysisRemarkEnabled(Pass);
  }
  bool isMissedOptRemarkEnabled(StringRef Pass) const override {
    return Outer->isMissedOptRemarkEnabled(Pass);
  }
  bool isPassedOptRemarkEnabled(StringRef Pass) const override {
    return Outer->isPassedOptRemarkEnabled(Pass);
  }
  bool isAnyRemarkEnabled() const override {
    return Outer->isAnyRemarkEnabled();
  }

  std::unique_ptr<DiagnosticHandler> Outer;

private:
  std::string &Errors;
};

/// Installs an ErrorCollector in a context for its own lifetime.
class ScopedErrorCollector {
public:
  ScopedErrorCollector(LLVMContext &Context, std::string &Errors)
      : Context(Context) {
    Context.setDiagnosticHandler(std::make_unique<ErrorCollector>(
        Context.getDiagnosticHandler(), Errors));
  }
  ~ScopedErrorCollector() {
    std::unique_ptr<DiagnosticHandler> Own = Context.getDiagnosticHandler();
    std::unique_ptr<DiagnosticHandler> Outer =
        std::move(static_cast<ErrorCollector &>(*Own).Outer);
    Outer->HasErrors |= Own->HasErrors;
    Context.setDiagnosticHandler(std::move(Outer));
  }
  ScopedErrorCollector(const ScopedErrorCollector &) = delete;
  ScopedErrorCollector &operator=(const ScopedErrorCollector &) = delete;

private:
  LLVMContext &Context;
};

} // namespace

int oriel_emit_ptx(LLVMModuleRef M, LLVMTargetMachineRef TM, OrielSink Ptx,
                   OrielSink ErrorSink) {
  std::string Errors;
  LLVMMemoryBufferRef Buffer = nullptr;
  char *Message = nullptr;
  bool Failed;
  {
    ScopedErrorCollector Collector(unwrap(M)->getContext(), Errors);
    Failed = LLVMTargetMachineEmitToMemoryBuffer(TM, M, LLVMAssemblyFile,
                                                 &Message, &Buffer);
  }
  if (Message) {
    if (Failed && Errors.empty())
      Errors = Message;
    LLVMDisposeMessage(Message);
  }
  bool Good = !Failed && Errors.empty();
  if (Good)
    Ptx.write(Ptx.context, toText(unwrap(Buffer)->getBuffer()));
  else
    ErrorSink.write(ErrorSink.context, toText(Errors));
  if (Buffer)
    LLVMDisposeMemoryBuffer(Buffer);
  return Good;
}

void oriel_allow_fp_fusion(LLVMTargetMachineRef TM) {
  reinterpret_cast<TargetMachine *>(TM)->Options.AllowFPOpFusion =
      FPOpFusion::Fast;
}

int oriel_has_short_pointers(LLVMModuleRef M) {
  const DataLayout &Layout = unwrap(M)->getDataLayout();
  return all_of(ShortPointerSpaces, [&Layout](unsigned AddressSpace) {
    return Layout.getPointerSizeInBits(AddressSpace) == 32;
  });
}

int oriel_set_short_pointers(int Wanted) {
  // LLVM has no other way to say this to a target machine.
  cl::Option *Found = cl::getRegisteredOptions().lookup("nvptx-short-ptr");
  if (!Found)
    return 0;
  auto &Option = *static_cast<cl::opt<bool> *>(Found);
  bool Previous = Option;
  Option.setValue(Wanted);
  return Previous;
}

int oriel_set_llvm_option(OrielText Name, const OrielText *Value,
                          OrielSink ErrorSink) {
  auto &Options = cl::getRegisteredOptions();
  auto Found = Options.find(toStringRef(Name));
  if (Found == Options.end()) {
    std::string Problem = ("LLVM has no option " + toStringRef(Name)).str();
    ErrorSink.write(ErrorSink.context, toText(Problem));
    return 0;
  }
  cl::Option &Option = *Found->second;
  Option.reset();
  // The first compilation keeps the value of -pre-RA-sched.
  RegisterScheduler::Registry.setDefault(
      RegisterScheduler::FunctionPassCtor(nullptr));
  if (!Value || !Option.addOccurrence(0, Option.ArgStr, toStringRef(*Value)))
    return 1;
  std::string Problem = ("LLVM does not accept " + toStringRef(*Value) +
                         " for its option " + toStringRef(Name))
                            .str();
  ErrorSink.write(ErrorSink.context, toText(Problem));
  return 0;
}

/// IR without a layout or a target gets the default of its target, as in llc.
static std::optional<std::string> layoutFor(StringRef Triple, StringRef Named) {
  if (!Named.empty())
    return std::nullopt;
  return llvm::Triple(Triple.empty() ? DefaultTriple : Triple)
      .computeDataLayout();
}

/// Releases the module; without one, writes the diagnostic and returns null.
static LLVMModuleRef handOver(std::unique_ptr<Module> M,
                              const SMDiagnostic &Diagnostic,
                              OrielSink ErrorSink) {
  if (M)
    return wrap(M.release());
  std::string Text;
  raw_string_ostream Stream(Text);
  Diagnostic.print(nullptr, Stream, /*ShowColors=*/false);
  ErrorSink.write(ErrorSink.context, toText(StringRef(Text).trim()));
  return nullptr;
}

LLVMModuleRef oriel_read_module(OrielText Path, LLVMContextRef Context,
                                OrielSink ErrorSink) {
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M =
      parseIRFile(toStringRef(Path), Diagnostic, *unwrap(Context),
                  ParserCallbacks(layoutFor));
  return handOver(std::move(M), Diagnostic, ErrorSink);
}

LLVMModuleRef oriel_parse_module(OrielText Name, OrielText Content,
                                 LLVMContextRef Context, OrielSink ErrorSink) {
  // The parser needs a null byte after the text.
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(
      toStringRef(Content), toStringRef(Name));
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M =
      parseIR(*Buffer, Diagnostic, *unwrap(Context), ParserCallbacks(layoutFor));
  return handOver(std::move(M), Diagnostic, ErrorSink);
}

void oriel_list_processors(OrielText TripleText, OrielSink Names) {
  llvm::Triple TT(toStringRef(TripleText));
  std::string Problem;
  const Target *T = TargetRegistry::lookupTarget(TT, Problem);
  if (!T)
    return;
  std::unique_ptr<MCSubtargetInfo> STI(T->createMCSubtargetInfo(TT, "", ""));
  std::string Text;
  for (const SubtargetSubTypeKV &Processor : STI->getAllProcessorDescriptions())
    Text.append(Processor.Key).push_back(' ');
  for (const SubtargetFeatureKV &Feature : STI->getAllProcessorFeatures())
    Text.append(Feature.Key).push_back(' ');
  Names.write(Names.context, toText(Text));
}
