//===- oriel_ffi.h - The calls between the shim and the Rust library ------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Declares what `src/ffi/` exports to the shim. Internal: shim and library are
/// built together. No call unwinds.
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

enum OrielMode {
  ORIEL_MODE_OFF = 0,
  ORIEL_MODE_ANALYZE = 1,
  ORIEL_MODE_OPTIMIZE = 2,
};

/// What the shim has to know of the options.
typedef struct OrielSettings {
  uint32_t mode; ///< OrielMode.
  uint32_t verify;
  uint32_t fail_verification; ///< Behave as if verification had failed.
  uint32_t check_intervals;   ///< Compare live intervals with LLVM's.
  uint32_t check_control_flow; ///< Compare control flow with LLVM's.
  uint32_t bench_repetitions; ///< Time live intervals so often; 0: do not.
} OrielSettings;

/// The options that are in force on this thread: the process's, which are the
/// environment's first, then the command line's, or those of one compilation.
/// Returns zero and writes to \p error if the environment's are wrong.
int oriel_settings(OrielSettings *settings, OrielSink error);

/// Do the environment's options ask to behave as if the host ran another LLVM
/// version? For tests.
int oriel_pretend_other_llvm(void);

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

/// The library's work on one function at one stage.
typedef struct OrielRun OrielRun;

/// What the host wants to know of the phases while they run.
typedef struct OrielHost {
  void *context;
  void (*phase_begins)(void *context, OrielText phase); ///< May be null.
  void (*phase_ended)(void *context);                   ///< May be null.
  uint32_t wants_remarks;
  uint32_t reserved;
} OrielHost;

/// Does the work. What goes wrong is written to \p problem, what the library
/// cannot represent to \p unsupported, and there is no plan then. What the user
/// has to know of the function goes to \p warning, a call for each. Null only if
/// not even that could be done.
OrielRun *oriel_run_begin(const OrielSnapshot *snapshot, const OrielHost *host,
                          OrielSink problem, OrielSink unsupported,
                          OrielSink warning);

enum OrielRemarkKind {
  ORIEL_REMARK_PASSED = 0,
  ORIEL_REMARK_MISSED = 1,
  ORIEL_REMARK_ANALYSIS = 2,
};

/// What a phase tells those who ask for remarks.
typedef struct OrielRemark {
  uint32_t kind;        ///< OrielRemarkKind.
  uint32_t instruction; ///< By snapshot number; ORIEL_NONE: the function.
  OrielText phase;
  OrielText name;
  OrielText message;
} OrielRemark;

/// The remarks of the run's phases; their texts live as long as the run.
size_t oriel_run_remark_count(const OrielRun *run);
OrielRemark oriel_run_remark(const OrielRun *run, size_t index);

/// What to make of the function; null if it stays as it is. Lives as long as
/// the run.
const OrielPlan *oriel_run_plan(const OrielRun *run);

enum OrielResult {
  ORIEL_RESULT_UNCHANGED = 0, ///< There was no plan.
  ORIEL_RESULT_IDENTITY = 1,  ///< Rebuilt exactly as it was.
  ORIEL_RESULT_CHANGED = 2,   ///< The plan was applied.
  ORIEL_RESULT_FAILED = 3,    ///< Left as LLVM made it; see the problem.
};

/// What the shim did with the plan.
typedef struct OrielOutcome {
  uint32_t result; ///< OrielResult.
  uint32_t reserved;
  uint64_t export_ns;
  uint64_t apply_ns;
  uint64_t analysis_ns;
  OrielText problem;
} OrielOutcome;

/// Does somebody want to know how the code that LLVM got back does?
uint32_t oriel_run_wants_analysis(const OrielRun *run);

/// Analyses \p snapshot, which is of the code that LLVM got back.
void oriel_run_analyze(OrielRun *run, const OrielSnapshot *snapshot,
                       OrielSink problem, OrielSink warning);

/// Proves that what LLVM has now does what it had, if options ask for a proof;
/// \p problem gets what cannot be proved, if the function is to be put back.
void oriel_run_validate(const OrielRun *run, const OrielSnapshot *before,
                        const OrielSnapshot *after, OrielSink problem,
                        OrielSink warning);

/// What the analysis tells those who ask for remarks.
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
                   const OrielOutcome *outcome, OrielSink problem);

//===----------------------------------------------------------------------===//
// Live intervals
//===----------------------------------------------------------------------===//

/// A piece of a live range; positions are LLVM's index numbers.
typedef struct OrielLiveSegment {
  uint32_t start;
  uint32_t end;
  uint32_t value; ///< ORIEL_NONE: the segment has no value.
} OrielLiveSegment;

#define ORIEL_NONE 0xFFFFFFFFu

/// Where the segments and values of a register are.
typedef struct OrielLiveInterval {
  uint32_t first_segment; ///< ORIEL_NONE: the register has no interval.
  uint32_t segment_count;
  uint32_t first_value;
  uint32_t value_count;
} OrielLiveInterval;

/// LLVM's live intervals and slot indexes of a function.
typedef struct OrielLiveIntervals {
  const OrielLiveInterval *intervals; ///< By register.
  const OrielLiveSegment *segments;
  const uint32_t *values;              ///< Definitions; ORIEL_NONE: unused.
  const uint32_t *instruction_indexes; ///< ORIEL_NONE: it has none.
  const uint32_t *block_starts;        ///< And the end of the last block.
  uint32_t interval_count;
  uint32_t segment_count;
  uint32_t value_count;
  uint32_t instruction_count;
  uint32_t block_count;
  uint32_t reserved;
} OrielLiveIntervals;

/// Compares the library's live intervals of \p snapshot with \p theirs.
/// Returns zero and writes both to \p difference if they differ.
int oriel_check_intervals(const OrielSnapshot *snapshot,
                          const OrielLiveIntervals *theirs,
                          OrielSink difference);

/// Writes the library's live intervals of \p snapshot in LLVM's notation.
void oriel_print_intervals(const OrielSnapshot *snapshot, OrielSink text);

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// What LLVM's analyses say of a block; blocks by number in the layout.
typedef struct OrielBlockFlow {
  uint32_t dominator;      ///< Immediate; ORIEL_NONE: it has none.
  uint32_t post_dominator; ///< Immediate; ORIEL_NONE: it has none.
  uint32_t loop_header;    ///< Of the innermost loop; ORIEL_NONE: it is in none.
  uint32_t parent_header;  ///< Of the loop around that; ORIEL_NONE: none.
  uint32_t loop_depth;
} OrielBlockFlow;

/// LLVM's analyses of a function's control flow.
typedef struct OrielControlFlow {
  const OrielBlockFlow *blocks;
  const uint32_t *order; ///< Reverse post-order of the blocks that are reached.
  uint32_t block_count;
  uint32_t order_count;
} OrielControlFlow;

/// Compares the control flow of \p snapshot in Ori with \p theirs. Returns
/// zero and writes both to \p difference if they differ.
int oriel_check_control_flow(const OrielSnapshot *snapshot,
                             const OrielControlFlow *theirs,
                             OrielSink difference);

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//
/// A change of live intervals or a question about them, to be done by LLVM.
/// Positions are the number of the entry in LLVM's list of indexes times four,
/// plus the slot.
enum OrielUpdateKind {
  // Changes to the function and its intervals.
  ORIEL_UPDATE_INSERT = 0, ///< `instruction` behind `anchor`; `flag`: late.
  ORIEL_UPDATE_REMOVE = 1, ///< `instruction`, a new one.
  /// The first `value` numbers of the list are new instructions that go; then
  /// come pairs of one that comes and its anchor. The block is repaired.
  ORIEL_UPDATE_REPAIR = 2,
  ORIEL_UPDATE_MOVE = 3,   ///< `instruction` behind `anchor`.
  ORIEL_UPDATE_UNDEF = 4,  ///< Operand `value` of `instruction`.
  ORIEL_UPDATE_SHRINK = 5, ///< Answer: separable?, dead instructions.
  ORIEL_UPDATE_PRUNE = 6,  ///< At `start`. Answer: the ends.
  ORIEL_UPDATE_EXTEND = 7, ///< To all positions of the list.
  ORIEL_UPDATE_SPLIT = 8,  ///< Answer: the new registers.
  ORIEL_UPDATE_PACK = 9,
  // Changes to the range of `virtual_register`.
  ORIEL_UPDATE_CREATE_DEAD_DEF = 10, ///< At `start`. Answer: value.
  ORIEL_UPDATE_EXTEND_IN_BLOCK = 11, ///< From `start` to `end`. Answer: value.
  ORIEL_UPDATE_ADD_SEGMENT = 12,     ///< `start`, `end`, `value`.
  ORIEL_UPDATE_REMOVE_SEGMENT = 13,  ///< `start`, `end`; `flag`: dead value.
  ORIEL_UPDATE_REMOVE_VALUE = 14,    ///< `value`.
  ORIEL_UPDATE_MERGE_VALUES = 15,    ///< `value` into `into`. Answer: value.
  ORIEL_UPDATE_RENUMBER_VALUES = 16,
  ORIEL_UPDATE_NEW_VALUE = 17,      ///< At `start`. Answer: value.
  ORIEL_UPDATE_MERGE_SEGMENTS = 18, ///< All of `other` as `value`.
  ORIEL_UPDATE_MERGE_VALUE = 19,    ///< `into` of `other` as `value`.
  /// With `other`, which is emptied. The list: the new number of each value,
  /// then of each of `other`'s, of `value` new ones.
  ORIEL_UPDATE_JOIN = 20,
  // Questions; the answers are in the order of the functions' names.
  ORIEL_UPDATE_ASK_POSITION = 21, ///< Of each position of the list.
  ORIEL_UPDATE_ASK_PAIR = 22,     ///< With `other`, `start`, `end` and the list.
  ORIEL_UPDATE_ASK_BLOCKS = 23,
  ORIEL_UPDATE_ASK_COPY = 24, ///< Overlap of the registers of `instruction`.
};

typedef struct OrielUpdate {
  uint32_t kind; ///< OrielUpdateKind.
  uint32_t virtual_register;
  uint32_t other;       ///< Register.
  uint32_t instruction; ///< Snapshot number, or from the count up.
  uint32_t anchor;      ///< Instruction; ORIEL_NONE: the start of `block`.
  uint32_t block;
  uint32_t start;
  uint32_t end;
  uint32_t value;
  uint32_t into;
  uint32_t flag;
  uint32_t list_count;
  const uint32_t *list;
} OrielUpdate;

/// Numbers that live until the next call.
typedef struct OrielNumbers {
  const uint32_t *numbers;
  size_t count;
} OrielNumbers;

/// LLVM's side of a comparison of updates.
typedef struct OrielJudge {
  void *context;
  /// Does what \p update says and returns the answer.
  OrielNumbers (*perform)(void *context, const OrielUpdate *update);
  /// The state of all intervals; lives until the next call.
  OrielLiveIntervals (*state)(void *context);
  /// Starts anew with the intervals of the function as it is.
  void (*restart)(void *context);
} OrielJudge;

/// Does the same random updates to the library's intervals and to LLVM's and
/// compares the two after each. Returns zero and writes what differs to
/// \p difference.
int oriel_check_updates(const OrielSnapshot *snapshot, const OrielJudge *judge,
                        OrielSink difference);

/// One repetition of a measurement; times in nanoseconds.
typedef struct OrielBenchSample {
  uint64_t llvm_slot_indexes_ns;
  uint64_t llvm_dominators_ns;
  uint64_t llvm_live_intervals_ns;
  uint64_t export_ns;       ///< What live intervals follow from.
  uint64_t whole_export_ns; ///< All of the function.
  uint64_t numbering_ns;
  uint64_t engine_ns;
} OrielBenchSample;

/// Computes live intervals once and fills in the library's times.
void oriel_bench_measure(const OrielSnapshot *snapshot,
                         OrielBenchSample *sample);

/// Prints the medians of \p count samples as one line.
void oriel_bench_report(const OrielSnapshot *snapshot,
                        const OrielBenchSample *samples, size_t count);

/// Prints sums over all functions reported so far, if there are any.
void oriel_bench_totals(void);

//===----------------------------------------------------------------------===//
// What the shim provides
//===----------------------------------------------------------------------===//

/// Can Oriel work in this process? If not, returns zero and writes to
/// \p reason which LLVM the process runs.
int oriel_is_compatible(OrielSink reason);

/// Reads LLVM IR or bitcode from a file, as llc does. Returns null and writes to
/// \p error what is wrong with it. The module is the caller's.
LLVMModuleRef oriel_read_module(OrielText path, LLVMContextRef context,
                                OrielSink error);

/// Compiles a module and hands the PTX over. Returns zero and writes to
/// \p error what LLVM said if that failed; the context's handler gets all other
/// diagnostics.
int oriel_emit_ptx(LLVMModuleRef module, LLVMTargetMachineRef machine,
                   OrielSink ptx, OrielSink error);

/// Sets one of LLVM's command-line options for the compilations that come, or,
/// without a value, makes it what it is in a new process. No thread may compile
/// meanwhile. Returns zero and writes to \p error what is wrong.
int oriel_set_llvm_option(OrielText name, const OrielText *value,
                          OrielSink error);

/// Fills in an llvm::PassPluginLibraryInfo at \p out and returns \p out.
void *oriel_fill_pass_plugin_info(void *out);

/// Runs a pipeline of machine passes, written as for `llc -passes=`, on the
/// machine IR in a file, and writes the result to \p out. Returns zero and
/// writes to \p error what went wrong.
int oriel_run_machine_passes(OrielText path, OrielText pipeline, OrielText cpu,
                             OrielSink out, OrielSink error);

/// Writes a line for each of LLVM's opcodes: its name; of anonymous ones the
/// signature; what operands it takes; the snapshot's flags that its description
/// tells. Separated by tabs.
void oriel_list_opcodes(OrielSink out);

/// Writes what LLVM prints for the opcode called \p name with made-up registers,
/// and \p numbers in all other places. Returns zero if there is no such opcode.
/// LLVM crashes on numbers that mean nothing to it.
int oriel_print_opcode(OrielText name, const int64_t *numbers, size_t count,
                       OrielSink out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // ORIEL_FFI_H
