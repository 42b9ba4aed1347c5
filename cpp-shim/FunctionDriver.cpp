//===- FunctionDriver.cpp - Oriel's work on one machine function ----------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Runs Oriel on one function. Every failure keeps LLVM's original
/// function, with one diagnostic.
///
//===----------------------------------------------------------------------===//

#include "FunctionDriver.h"
#include "Directives.h"
#include "FunctionBackup.h"
#include "PlanApplier.h"
#include "SharedSpills.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace oriel;

bool oriel::isCandidate(const MachineFunction &MF) {
  return MF.getTarget().getTargetTriple().isNVPTX() && !MF.empty() &&
         MF.getTarget().getOptLevel() != CodeGenOptLevel::None &&
         !MF.getFunction().hasOptNone();
}

/// Reports \p Text as Oriel's.
static void diagnose(LLVMContext &Context, const Twine &Text,
                     DiagnosticSeverity Severity) {
  Context.diagnose(DiagnosticInfoGeneric("oriel: " + Text, Severity));
}

std::optional<OrielSettings> FunctionDriver::settings(LLVMContext &Context) {
  OrielSettings Settings;
  std::string Problem;
  if (oriel_settings(&Settings, sinkInto(Problem)))
    return Settings;
  if (!ReportedOptions)
    diagnose(Context, Problem, DS_Error);
  ReportedOptions = true;
  return std::nullopt;
}

/// Reports that \p MF keeps LLVM's original code.
static void diagnoseFailure(const MachineFunction &MF, OrielStage Stage,
                            StringRef Problem) {
  diagnose(MF.getFunction().getContext(),
           "function '" + MF.getName() + "' at stage " + stageName(Stage) +
               " is left as LLVM made it: " + Problem,
           DS_Warning);
}

/// Reports \p Problem, if there is one, with the analysis of \p Function. Only
/// the report depends on it.
static void diagnoseNoReport(LLVMContext &Context, StringRef Function,
                             StringRef Problem) {
  if (!Problem.empty())
    diagnose(Context,
             "no report on function '" + Function + "': " + Problem,
             DS_Warning);
}

/// Returns a sink for warnings about code of \p Context.
static OrielSink warningsIn(LLVMContext &Context) {
  return {&Context, [](void *Context, OrielText Text) {
            diagnose(*static_cast<LLVMContext *>(Context), toStringRef(Text),
                     DS_Warning);
          }};
}

/// Emits a remark that Oriel does not support \p MF.
static void remarkUnsupported(const MachineFunction &MF, OrielStage Stage,
                              StringRef Reason) {
  const Function &F = MF.getFunction();
  OptimizationRemarkMissed Remark(RemarkPassName, "UnsupportedFunction",
                                  DiagnosticLocation(F.getSubprogram()),
                                  &F.getEntryBlock());
  Remark << "function left as LLVM made it at stage "
         << ore::NV("Stage", stageName(Stage)) << ": "
         << ore::NV("Reason", Reason);
  F.getContext().diagnose(Remark);
}

bool FunctionDriver::run(MachineFunction &MF, OrielStage Stage,
                         const MachineBlockFrequencyInfo *Frequencies) {
  std::optional<OrielSettings> Settings =
      settings(MF.getFunction().getContext());
  if (!Settings || Settings->mode == ORIEL_MODE_OFF || !isCandidate(MF))
    return false;

  // Between the stages the memory is kept: touching as much anew costs more
  // than filling it.
  scope_exit Release([this, Stage] {
    if (Stage == ORIEL_STAGE_LATE) {
      Exporter.releaseLarge();
      ResultExporter.releaseLarge();
    }
  });
  PhaseHost Host(MF, *Stages, KnowsModule);
  OrielScope Scope =
      oriel_scope(Stage, MF.getRegInfo().getNumVirtRegs(),
                  MF.getFrameInfo().hasStackObjects(), &Host.callbacks());
  if (Scope == ORIEL_SCOPE_NOTHING)
    return false;
  Stopwatch ExportTime;
  // What cannot be exported is refused below.
  bool HasPressure = Scope == ORIEL_SCOPE_PRESSURE &&
                     Exporter.run(MF, Stage, ExportScope::Pressure);
  if (HasPressure &&
      oriel_leaves_alone(&Exporter.snapshot(), &Host.callbacks()))
    return false;
  ExportScope Needed = Scope == ORIEL_SCOPE_SIZE ? ExportScope::Pressure
                                                 : ExportScope::Whole;
  if (!Exporter.run(MF, Stage, Needed, Frequencies)) {
    remarkUnsupported(MF, Stage, Exporter.refusal());
    return false;
  }
  OrielOutcome Outcome = {};
  Outcome.export_ns = ExportTime.nanoseconds();

  std::string Problem, Unsupported;
  OrielSink Warnings = warningsIn(MF.getFunction().getContext());
  OrielRun *Run = oriel_run_begin(&Exporter.snapshot(), HasPressure,
                                  &Host.callbacks(), sinkInto(Problem),
                                  sinkInto(Unsupported), Warnings);
  if (!Unsupported.empty())
    remarkUnsupported(MF, Stage, Unsupported);
  if (!Run) {
    if (!Problem.empty())
      diagnoseFailure(MF, Stage, Problem);
    return false;
  }
  // Applying the plan may delete the subjects of remarks.
  PhaseRemarks Remarks(MF, Exporter, Run);
  Outcome.result =
      Problem.empty() ? ORIEL_RESULT_UNCHANGED : ORIEL_RESULT_FAILED;
  bool SpillsToShared = oriel_run_directives(Run).spills_to_shared;
  bool HasNewBounds = addDirectives(MF, *Run);
  if (const OrielPlan *Plan = oriel_run_plan(Run)) {
    Stopwatch ApplyTime;
    WriteBack Done = writeBack(MF, Stage, Frequencies, *Plan, *Settings, *Run);
    Outcome.apply_ns = ApplyTime.nanoseconds();
    Outcome.result = Done.Result;
    Problem = std::move(Done.Problem);
  }
  if (Outcome.result != ORIEL_RESULT_FAILED)
    Remarks.emit();
  Outcome.problem = toText(Problem);
  std::string ReportProblem;
  if (oriel_run_wants_analysis(Run))
    analyze(MF, Stage, Frequencies, HasNewBounds, Host, Run, Outcome);
  if (oriel_run_waits(Run))
    oriel_run_hold(Run, &Exporter.snapshot(), &Outcome);
  else
    oriel_run_end(Run, &Exporter.snapshot(), &Outcome, &Host.callbacks(),
                  sinkInto(ReportProblem));
  if (!Problem.empty())
    diagnoseFailure(MF, Stage, Problem);
  if (!ReportProblem.empty())
    diagnose(MF.getFunction().getContext(), ReportProblem, DS_Error);
  bool HasPragma = SpillsToShared && spillToShared(MF);
  return Outcome.result == ORIEL_RESULT_CHANGED || HasPragma;
}

void FunctionDriver::analyze(MachineFunction &MF, OrielStage Stage,
                             const MachineBlockFrequencyInfo *Frequencies,
                             bool HasNewBounds, const PhaseHost &Host,
                             OrielRun *Run, OrielOutcome &Outcome) {
  Stopwatch Time;
  // A failed plan may have left other instructions in their place. The snapshot
  // has the launch bounds, too.
  bool IsInput = (Outcome.result == ORIEL_RESULT_UNCHANGED ||
                  Outcome.result == ORIEL_RESULT_IDENTITY) &&
                 !HasNewBounds;
  SnapshotExporter &Result = IsInput ? Exporter : ResultExporter;
  if (!IsInput && !Result.run(MF, Stage, ExportScope::Whole, Frequencies))
    return;
  std::string Problem;
  oriel_run_analyze(Run, &Result.snapshot(), &Host.callbacks(),
                    sinkInto(Problem), warningsIn(MF.getFunction().getContext()));
  Outcome.analysis_ns = Time.nanoseconds();
  CodePlaces Places(MF, Result);
  if (oriel_run_waits(Run)) {
    Held.push_back({Run, MF.getName().str(), std::move(Places)});
    return;
  }
  diagnoseNoReport(Places.context(), MF.getName(), Problem);
  Places.emitRemarks(Run);
}

void FunctionDriver::endModule() {
  for (const HeldRun &Waited : Held) {
    LLVMContext &Context = Waited.Places.context();
    std::string Problem, ReportProblem;
    oriel_run_resume(Waited.Run, Stages.get(), sinkInto(Problem),
                     warningsIn(Context));
    diagnoseNoReport(Context, Waited.Function, Problem);
    Waited.Places.emitRemarks(Waited.Run);
    oriel_run_end_held(Waited.Run, Stages.get(), sinkInto(ReportProblem));
    if (!ReportProblem.empty())
      diagnose(Context, ReportProblem, DS_Error);
  }
  Held.clear();
  oriel_stages_end_module(Stages.get());
}

FunctionDriver::~FunctionDriver() {
  // The module and its context may be gone.
  for (const HeldRun &Waited : Held) {
    std::string Text;
    oriel_run_resume(Waited.Run, Stages.get(), sinkInto(Text), sinkInto(Text));
    oriel_run_end_held(Waited.Run, Stages.get(), sinkInto(Text));
    if (!Text.empty())
      errs() << "oriel: " << Text << "\n";
  }
}

/// Counts each of the findings of LLVM's verifier in \p MF. Leaves out those
/// about MOV64_PARAM and MOV32_PARAM: LLVM describes their symbol as a register
/// and refuses its own code, and a phase may compute such an address again.
static StringMap<unsigned> verify(const MachineFunction &MF) {
  std::string Text;
  raw_string_ostream Stream(Text);
  MF.verify(static_cast<Pass *>(nullptr), "After Oriel", &Stream,
            /*AbortOnError=*/false);
  StringMap<unsigned> Findings;
  SmallVector<StringRef, 0> Lines;
  StringRef(Text).split(Lines, '\n');
  StringRef Last;
  for (StringRef Line : Lines) {
    if (Line.consume_front("*** ") && Line.consume_back(" ***")) {
      ++Findings[Line];
      Last = Line;
    } else if (Line.starts_with("- instruction:") &&
               (Line.contains(" = MOV64_PARAM ") ||
                Line.contains(" = MOV32_PARAM ")) &&
               !Last.empty()) {
      --Findings[Last];
    }
  }
  return Findings;
}

/// Returns a finding that is more frequent in \p After than in \p Before; empty
/// if there is none. LLVM itself creates functions with verifier findings.
static StringRef newFinding(const StringMap<unsigned> &Before,
                            const StringMap<unsigned> &After) {
  for (const auto &Finding : After)
    if (Finding.second > Before.lookup(Finding.first()))
      return Finding.first();
  return "";
}

FunctionDriver::WriteBack
FunctionDriver::writeBack(MachineFunction &MF, OrielStage Stage,
                          const MachineBlockFrequencyInfo *Frequencies,
                          const OrielPlan &Plan, const OrielSettings &Settings,
                          OrielRun &Run) {
  PlanChecker Checker(MF, Exporter, Plan, Names);
  if (!Checker.check())
    return {ORIEL_RESULT_FAILED, "malformed plan: " + Checker.problem()};

  PlanApplier Applier(MF, Exporter, Plan, Checker.opcodes());
  if (Checker.isIdentity()) {
    Applier.rebuild();
    return {ORIEL_RESULT_IDENTITY, ""};
  }

  std::unique_ptr<FunctionBackup> Backup;
  StringMap<unsigned> FindingsBefore;
  if (Settings.verify) {
    Backup = std::make_unique<FunctionBackup>(MF);
    FindingsBefore = verify(MF);
  }
  Applier.apply();
  if (Settings.verify) {
    StringMap<unsigned> Findings = verify(MF);
    StringRef Finding = newFinding(FindingsBefore, Findings);
    if (!Finding.empty()) {
      Backup->restore();
      return {ORIEL_RESULT_FAILED,
              "LLVM's verifier refuses the result: " + Finding.str()};
    }
    // The code that LLVM has in the end, whatever the plan was.
    std::string Doubt;
    if (ResultExporter.run(MF, Stage, ExportScope::Whole, Frequencies))
      oriel_run_validate(&Run, &Exporter.snapshot(), &ResultExporter.snapshot(),
                         sinkInto(Doubt), warningsIn(MF.getFunction().getContext()));
    if (!Doubt.empty()) {
      Backup->restore();
      return {ORIEL_RESULT_FAILED,
              "the validator cannot prove the result: " + Doubt};
    }
  }
  Applier.commit();
  return {ORIEL_RESULT_CHANGED, ""};
}
