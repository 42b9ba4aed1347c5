//===- oriel_ffi.h - The calls between the shim and the Rust library ------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Declares the functions that `src/ffi/` exports to the shim. Internal:
/// shim and library are built together. No call unwinds.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_FFI_H
#define ORIEL_FFI_H

#include "oriel_abi.h"

#include "llvm-c/TargetMachine.h"
#include "llvm-c/Types.h"

#ifdef __cplusplus
extern "C" {
#endif

/// UTF-8, not zero-terminated.
typedef struct OrielText {
  const char *data;
  size_t length;
} OrielText;

/// Receives a text during a call.
typedef struct OrielSink {
  void *context;
  void (*write)(void *context, OrielText text);
} OrielSink;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

typedef struct OrielOptionInfo {
  OrielText name;
  OrielText value; ///< What stands for the value in help; empty for a switch.
  OrielText help;
} OrielOptionInfo;

size_t oriel_option_count(void);
OrielOptionInfo oriel_option_info(size_t index);

/// Sets an option as given on the host's command line. Returns zero and writes
/// to \p error if the value is not allowed.
int oriel_option_set(OrielText name, OrielText value, OrielSink error);

/// Forgets what oriel_option_set has been given for an option, unless it has
/// been used.
void oriel_option_reset(OrielText name);

/// The settings that the shim needs.
typedef struct OrielSettings {
  OrielMode mode;
  uint32_t verify;
} OrielSettings;

/// Gets the options in force on this thread: those of one compilation, or the
/// process's, which are the environment's and then the command line's. Returns
/// zero and writes to \p error if the environment's are invalid.
int oriel_settings(OrielSettings *settings, OrielSink error);

/// Returns that of the options in force on this thread.
OrielStrengthReduction oriel_strength_reduction(void);

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

/// The library's work on one function at one stage.
typedef struct OrielRun OrielRun;

/// What the library keeps of the functions of one pipeline from one stage to the
/// next.
typedef struct OrielStages OrielStages;

OrielStages *oriel_stages_create(void);
void oriel_stages_dispose(OrielStages *stages);

/// Forgets the functions of the module.
void oriel_stages_end_module(OrielStages *stages);

/// The host's interface while phases run.
typedef struct OrielHost {
  void *context;
  void (*phase_begins)(void *context, OrielText phase); ///< May be null.
  void (*phase_ended)(void *context);                   ///< May be null.
  uint64_t (*function_hash)(void *context); ///< LLVM's stable hash.
  /// Returns one if the function, or one that it calls, may run `setmaxnreg`.
  uint32_t (*may_exchange_registers)(void *context);
  /// Returns one if the module has the body of the function of that name. Null if
  /// nobody calls oriel_stages_end_module.
  uint32_t (*has_body)(void *context, OrielText function);
  const OrielStages *stages;
  /// The llvm::MachineFunction, which is the same at both stages, its name, and
  /// its number in the module.
  const void *machine_function;
  OrielText function;
  uint32_t function_number;
  uint32_t wants_remarks;
} OrielHost;

/// Returns how much the library has to see of a function with so many registers,
/// and stack objects or none, at an OrielStage. Call it once before each run: it
/// drops what is kept of another function at this address, and of this one if
/// nothing is to be done.
OrielScope oriel_scope(uint32_t stage, uint32_t registers,
                       uint32_t has_stack_objects, const OrielHost *host);

/// Returns one if nothing is to be done with a function at the stage of \p
/// snapshot, which has what decides that; zero if the whole function is needed.
uint32_t oriel_leaves_alone(const OrielSnapshot *snapshot,
                            const OrielHost *host);

/// Processes a function. \p has_pressure is one if oriel_leaves_alone has
/// returned zero for it at this stage. Writes errors to \p problem and an
/// unsupported feature to \p unsupported; there is no plan then. Sends each
/// warning about the function to \p warning. Returns null if the options in force
/// are invalid, or if the library failed: \p problem has the reason then.
OrielRun *oriel_run_begin(const OrielSnapshot *snapshot, uint32_t has_pressure,
                          const OrielHost *host, OrielSink problem,
                          OrielSink unsupported, OrielSink warning);

/// A remark of a phase.
typedef struct OrielRemark {
  OrielRemarkKind kind;
  uint32_t instruction; ///< By snapshot number; ORIEL_NONE: the function.
  OrielText phase;
  OrielText name;
  OrielText message;
} OrielRemark;

/// The remarks of the run's phases; their texts live as long as the run.
size_t oriel_run_remark_count(const OrielRun *run);
OrielRemark oriel_run_remark(const OrielRun *run, size_t index);

/// Returns the plan for the function, or null if it stays unchanged. Lives as
/// long as the run.
const OrielPlan *oriel_run_plan(const OrielRun *run);

/// What the function's PTX tells ptxas besides its instructions.
typedef struct OrielDirectives {
  uint32_t sets_min_blocks;    ///< True: `.minnctapersm 1`.
  uint32_t removes_min_blocks; ///< True: no `.minnctapersm`.
  uint32_t max_registers;      ///< `.maxnreg`; zero: none.
  uint32_t has_rolled_loops;   ///< True: see oriel_run_keeps_rolled.
  uint32_t spills_to_shared;   ///< True: `.pragma "enable_smem_spilling"`.
} OrielDirectives;

OrielDirectives oriel_run_directives(const OrielRun *run);

/// True if ptxas must not unroll a loop of the original function. Loops are
/// counted by their headers, in the order of blocks.
uint32_t oriel_run_keeps_rolled(const OrielRun *run, uint32_t number);

/// The result of applying the plan.
typedef struct OrielOutcome {
  OrielPlanResult result;
  uint64_t export_ns;
  uint64_t apply_ns;
  uint64_t analysis_ns;
  OrielText problem;
} OrielOutcome;

/// True if an analysis of the code that LLVM received is requested.
uint32_t oriel_run_wants_analysis(const OrielRun *run);

/// Analyses \p snapshot, which represents the code that LLVM received. It may
/// have to wait for functions that this one calls: see oriel_run_waits.
void oriel_run_analyze(OrielRun *run, const OrielSnapshot *snapshot,
                       const OrielHost *host, OrielSink problem,
                       OrielSink warning);

/// True if the analysis waits for the end of the module. The run does not end
/// then, but is held: at the end of the module it is resumed, and ends.
uint32_t oriel_run_waits(const OrielRun *run);
void oriel_run_hold(OrielRun *run, const OrielSnapshot *snapshot,
                    const OrielOutcome *outcome);
void oriel_run_resume(OrielRun *run, const OrielStages *stages,
                      OrielSink problem, OrielSink warning);

/// Proves that LLVM's new code behaves like the old, if options request a
/// proof; \p problem gets the doubt if the function must be restored.
void oriel_run_validate(const OrielRun *run, const OrielSnapshot *before,
                        const OrielSnapshot *after, OrielSink problem,
                        OrielSink warning);

/// A remark of the analysis.
typedef struct OrielCodeRemark {
  uint32_t instruction; ///< By snapshot number; ORIEL_NONE: the function.
  uint32_t piece_count;
  OrielText name;
} OrielCodeRemark;

/// A piece of its message.
typedef struct OrielRemarkPiece {
  OrielText key; ///< Of a value; empty: only text.
  OrielText text;
} OrielRemarkPiece;

/// The remarks of the analysis; their texts live as long as the run.
size_t oriel_run_code_remark_count(const OrielRun *run);
OrielCodeRemark oriel_run_code_remark(const OrielRun *run, size_t index);
OrielRemarkPiece oriel_run_code_remark_piece(const OrielRun *run, size_t index,
                                             size_t piece);

/// Ends the run, writes its report and frees it.
void oriel_run_end(OrielRun *run, const OrielSnapshot *snapshot,
                   const OrielOutcome *outcome, const OrielHost *host,
                   OrielSink problem);

/// The same for a run that was held.
void oriel_run_end_held(OrielRun *run, const OrielStages *stages,
                        OrielSink problem);

//===----------------------------------------------------------------------===//
// What the shim provides
//===----------------------------------------------------------------------===//

/// Returns whether Oriel can work in this process. If not, writes to \p reason
/// why, to go on from "Oriel is".
int oriel_is_compatible(OrielSink reason);

/// Reads LLVM IR or bitcode from a file, as llc does. Returns null and writes
/// to \p error if that fails. The caller owns the module.
LLVMModuleRef oriel_read_module(OrielText path, LLVMContextRef context,
                                OrielSink error);

/// Reads LLVM IR or bitcode in memory; messages call it \p name.
LLVMModuleRef oriel_parse_module(OrielText name, OrielText content,
                                 LLVMContextRef context, OrielSink error);

/// Writes the names of all processors and features of a target to \p names,
/// separated by blanks. The target has to be initialised.
void oriel_list_processors(OrielText triple, OrielSink names);

/// Lets a target machine contract multiplications and additions everywhere, like
/// `llc -fp-contract=fast`.
void oriel_allow_fp_fusion(LLVMTargetMachineRef machine);

/// True if the module's layout gives pointers to shared, constant and local
/// memory 32 bits, as LLVM's option -nvptx-short-ptr does.
int oriel_has_short_pointers(LLVMModuleRef module);

/// Sets whether target machines that are created from now on have such
/// pointers; returns what was set before.
int oriel_set_short_pointers(int wanted);

/// Compiles a module and passes the PTX on. Returns zero and writes LLVM's
/// message to \p error if that fails; the context's handler gets all other
/// diagnostics.
int oriel_emit_ptx(LLVMModuleRef module, LLVMTargetMachineRef machine,
                   OrielSink ptx, OrielSink error);

/// Receives a snapshot during a call.
typedef struct OrielSnapshotSink {
  void *context;
  void (*take)(void *context, const OrielSnapshot *snapshot);
} OrielSnapshotSink;

/// Exports an llvm::MachineFunction, or returns zero and writes to \p refusal
/// what a snapshot cannot carry.
int oriel_export_function(void *machine_function, OrielSnapshotSink sink,
                          OrielSink refusal);

/// Sets one of LLVM's command-line options for later compilations or, without a
/// value, resets it to its initial value. No thread may compile meanwhile.
/// Returns zero and writes to \p error if that fails.
int oriel_set_llvm_option(OrielText name, const OrielText *value,
                          OrielSink error);

/// Fills in an llvm::PassPluginLibraryInfo at \p out and returns \p out.
void *oriel_fill_pass_plugin_info(void *out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // ORIEL_FFI_H
