//===- main.cpp - A small compiler for GPUs with Oriel in it --------------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles LLVM IR for NVPTX to PTX, as llc does with Oriel loaded, and says how
/// many registers each kernel needs. The rest of LLVM is used as in any compiler;
/// what has to do with Oriel is in registerOriel(), compile() and
/// printFigures().
///
//===----------------------------------------------------------------------===//

#include "llvm-c/Target.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <memory>
#include <oriel.h>

using namespace llvm;

static cl::OptionCategory Category("embed-cpp");
static cl::opt<std::string> InputFilename(cl::Positional, cl::Required,
                                          cl::desc("<LLVM IR or bitcode>"),
                                          cl::cat(Category));
static cl::opt<std::string> OutputFilename("o", cl::desc("PTX (-: standard "
                                                         "output)"),
                                           cl::value_desc("file"),
                                           cl::init("-"), cl::cat(Category));
static cl::opt<std::string> ReportFilename("report",
                                           cl::desc("Oriel's report, a JSON "
                                                    "object a line"),
                                           cl::value_desc("file"),
                                           cl::cat(Category));
static cl::opt<std::string> CPU("mcpu", cl::desc("Compute capability"),
                                cl::value_desc("sm_80"), cl::init("sm_80"),
                                cl::cat(Category));
static cl::opt<std::string> Features("mattr", cl::desc("Target features"),
                                     cl::value_desc("+ptx86"),
                                     cl::cat(Category));
static cl::opt<unsigned> OptLevel("O", cl::Prefix, cl::init(2),
                                  cl::desc("Level of optimisation, 0 to 3"),
                                  cl::cat(Category));
static cl::opt<std::string> OrielFlags("flags",
                                       cl::desc("Oriel's options for this "
                                                "module"),
                                       cl::value_desc("options"),
                                       cl::cat(Category));

/// Prints an error of this program; false, for callers to hand on.
static bool fail(const Twine &Message) {
  WithColor::error(errs(), "embed-cpp") << Message << '\n';
  return false;
}

//===----------------------------------------------------------------------===//
// Oriel
//===----------------------------------------------------------------------===//

namespace {
struct OrielDeleter {
  void operator()(OrielOptions *O) const { oriel_options_dispose(O); }
  void operator()(OrielCompilation *C) const { oriel_compilation_dispose(C); }
};
template <typename T> using OrielPtr = std::unique_ptr<T, OrielDeleter>;
} // namespace

/// Did a call succeed? If not, its message is printed; it is disposed of in any
/// case.
static bool check(OrielStatus Status, char *Message) {
  if (Status != ORIEL_OK)
    fail(Message);
  oriel_dispose_message(Message);
  return Status == ORIEL_OK;
}

/// Finds out, before any work is done, whether Oriel can work in this process.
static bool registerOriel() {
  char *Message = nullptr;
  OrielStatus Status = oriel_check_abi(&Message);
  if (!check(Status, Message))
    return false;
  Status = oriel_register(/*flags=*/nullptr, &Message);
  return check(Status, Message);
}

/// What the caller asked of Oriel for this module; null if that failed.
static OrielPtr<OrielOptions> createOptions() {
  char *Message = nullptr;
  OrielOptions *Created = nullptr;
  OrielStatus Status = oriel_options_create(&Created, &Message);
  if (!check(Status, Message))
    return nullptr;
  OrielPtr<OrielOptions> Options(Created);
  Status = oriel_options_add(Options.get(), OrielFlags.c_str(), &Message);
  if (!check(Status, Message))
    return nullptr;
  return Options;
}

/// Generates code for \p M, with Oriel's passes; null if that failed.
static OrielPtr<OrielCompilation> compile(Module &M, TargetMachine &TM) {
  OrielPtr<OrielOptions> Options = createOptions();
  if (!Options)
    return nullptr;
  char *Message = nullptr;
  OrielCompilation *Compilation = nullptr;
  OrielStatus Status =
      oriel_compile(wrap(&M), reinterpret_cast<LLVMTargetMachineRef>(&TM),
                    Options.get(), &Compilation, &Message);
  check(Status, Message);
  return OrielPtr<OrielCompilation>(Compilation);
}

/// Prints a line for each function that went through Oriel.
static bool printFigures(const OrielCompilation &Compilation) {
  size_t Count = oriel_compilation_function_count(&Compilation);
  for (size_t Index = 0; Index != Count; ++Index) {
    const OrielMachineFunction *Function =
        oriel_compilation_function(&Compilation, Index);
    OrielFigures Figures;
    char *Message = nullptr;
    OrielStatus Status = oriel_function_figures(Function, &Figures, &Message);
    if (!check(Status, Message))
      return false;
    errs() << oriel_function_name(Function) << ": "
           << Figures.registers_estimate << " registers expected ("
           << Figures.registers_estimate_low << " to "
           << Figures.registers_estimate_high << "), "
           << Figures.peak_pressure_r32 << " live at the peak";
    if (Figures.occupancy_warps_per_sm != ORIEL_UNKNOWN)
      errs() << ", " << Figures.occupancy_warps_per_sm << " of "
             << Figures.occupancy_max_warps_per_sm << " warps";
    errs() << '\n';
  }
  return true;
}

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

/// LLVM's own handler would end the process at the first error.
static void printDiagnostic(const DiagnosticInfo *Info, void *) {
  const auto *Remark = dyn_cast<DiagnosticInfoOptimizationBase>(Info);
  if (Remark && !Remark->isEnabled())
    return;
  StringRef Severity =
      LLVMContext::getDiagnosticMessagePrefix(Info->getSeverity());
  errs() << Severity << ": ";
  DiagnosticPrinterRawOStream Printer(errs());
  Info->print(Printer);
  errs() << '\n';
}

static std::unique_ptr<Module> readModule(LLVMContext &Context) {
  SMDiagnostic Problem;
  std::unique_ptr<Module> M = parseIRFile(InputFilename, Problem, Context);
  if (!M) {
    Problem.print("embed-cpp", errs());
    return nullptr;
  }
  if (M->getTargetTriple().empty())
    M->setTargetTriple(Triple("nvptx64-nvidia-cuda"));
  if (verifyModule(*M, &errs())) {
    fail(InputFilename + " is not valid");
    return nullptr;
  }
  return M;
}

static std::unique_ptr<TargetMachine> createMachine(Module &M) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string Problem;
  const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Problem);
  std::optional<CodeGenOptLevel> Level = CodeGenOpt::getLevel(OptLevel);
  if (!T || !Level) {
    fail(T ? "-O takes 0 to 3" : Problem);
    return nullptr;
  }
  TargetOptions Options;
  Options.MCOptions.AsmVerbose = true;
  std::unique_ptr<TargetMachine> TM(
      T->createTargetMachine(M.getTargetTriple(), CPU, Features, Options,
                             /*RM=*/std::nullopt, /*CM=*/std::nullopt, *Level));
  M.setDataLayout(TM->createDataLayout());
  return TM;
}

static bool writeFile(StringRef Filename, StringRef Text) {
  std::error_code Problem;
  raw_fd_ostream Out(Filename, Problem, sys::fs::OF_Text);
  if (!Problem) {
    Out << Text;
    Out.close();
    Problem = Out.error();
    Out.clear_error();
  }
  return !Problem || fail(Filename + ": " + Problem.message());
}

int main(int Argc, char **Argv) {
  InitLLVM Init(Argc, Argv);
  cl::HideUnrelatedOptions(Category);
  cl::ParseCommandLineOptions(Argc, Argv, "LLVM IR to PTX, with Oriel\n");
  if (!registerOriel())
    return 1;

  LLVMContext Context;
  Context.setDiagnosticHandlerCallBack(printDiagnostic);
  std::unique_ptr<Module> M = readModule(Context);
  if (!M)
    return 1;
  std::unique_ptr<TargetMachine> TM = createMachine(*M);
  if (!TM)
    return 1;
  // A compiler would run its passes over the IR here.
  OrielPtr<OrielCompilation> Compilation = compile(*M, *TM);
  if (!Compilation || !printFigures(*Compilation) ||
      !writeFile(OutputFilename, oriel_compilation_ptx(Compilation.get())))
    return 1;
  if (ReportFilename.getNumOccurrences() &&
      !writeFile(ReportFilename, oriel_compilation_report(Compilation.get())))
    return 1;
  return 0;
}
