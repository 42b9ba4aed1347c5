//===- laboratory_ffi.h - The calls between the laboratory's two sides ----===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Declares the functions that `crates/laboratory/src/ffi/` exports to
/// the laboratory's shim, and those that the shim provides. Internal, like
/// `oriel_ffi.h`. No call unwinds.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_LABORATORY_FFI_H
#define ORIEL_LABORATORY_FFI_H

#include "oriel_ffi.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Adds the laboratory's options and phases to the plug-in's.
void oriel_laboratory_install(void);

/// The checks that the options of this thread request for each function before
/// Oriel's passes run.
typedef struct OrielChecks {
  uint32_t intervals;         ///< Compare live intervals with LLVM's.
  uint32_t control_flow;      ///< Compare control flow with LLVM's.
  uint32_t bench_repetitions; ///< Time live intervals so often; 0: do not.
} OrielChecks;

/// Requests nothing if the options are invalid, which the plug-in reports.
OrielChecks oriel_laboratory_checks(void);

//===----------------------------------------------------------------------===//
// Live intervals
//===----------------------------------------------------------------------===//

/// A piece of a live range; positions are LLVM's index numbers.
typedef struct OrielLiveSegment {
  uint32_t start;
  uint32_t end;
  uint32_t value; ///< ORIEL_NONE: the segment has no value.
} OrielLiveSegment;

/// The range of a register's segments and values.
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

/// LLVM's analyses of a block; blocks by number in the layout.
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
// Updates of live intervals
//===----------------------------------------------------------------------===//

/// An update or a query of live intervals for LLVM. Positions are the number of
/// the entry in LLVM's list of indexes times four, plus the slot.
enum OrielUpdateKind {
  // Changes to the function and its intervals.
  ORIEL_UPDATE_INSERT = 0, ///< `instruction` behind `anchor`; `flag`: late.
  ORIEL_UPDATE_REMOVE = 1, ///< `instruction`, a new one.
  /// The first `value` numbers of the list are new instructions to remove; then
  /// come pairs of an instruction to insert and its anchor. The block is
  /// repaired.
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
  // Queries; the answers are in the order of the functions' names.
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
  /// Performs \p update and returns the answer.
  OrielNumbers (*perform)(void *context, const OrielUpdate *update);
  /// Returns the state of all intervals, valid until the next call.
  OrielLiveIntervals (*state)(void *context);
  /// Restarts with the intervals of the current function.
  void (*restart)(void *context);
} OrielJudge;

/// Applies the same random updates to the library's intervals and to LLVM's and
/// compares the two after each. Returns zero and writes to \p difference if
/// they differ.
int oriel_check_updates(const OrielSnapshot *snapshot, const OrielJudge *judge,
                        OrielSink difference);

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

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

/// Runs a pipeline of machine passes, written as for `llc -passes=`, on the
/// machine IR in a file, and writes the result to \p out. Returns zero and
/// writes to \p error if that fails.
int oriel_run_machine_passes(OrielText path, OrielText pipeline, OrielText cpu,
                             OrielSink out, OrielSink error);

/// Writes a line for each of LLVM's opcodes, separated by tabs: its name; for
/// anonymous ones the printed name; its operands; the snapshot's flags from its
/// description.
void oriel_list_opcodes(OrielSink out);

/// Writes LLVM's output for the opcode called \p name with made-up registers,
/// and \p numbers for all other operands. Returns zero if there is no such
/// opcode. LLVM crashes on invalid numbers.
int oriel_print_opcode(OrielText name, const int64_t *numbers, size_t count,
                       OrielSink out);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // ORIEL_LABORATORY_FFI_H
