/*===- main.c - Oriel on snapshot files -----------------------------------===*\
|*
|* Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Reads machine functions from snapshot files, as -oriel-snapshot=DIR writes
|* them, and prints what Oriel knows of each: registers and pressure, the value
|* that lives longest, and what Oriel's phases do to the function. C99, and no
|* header of LLVM. own_function.c asks about a function that is no machine
|* function at all.
|*
\*===----------------------------------------------------------------------===*/

#include "own_function.h"
#include <oriel.h>
#include <stdio.h>
#include <string.h>

/* What is printed. */
enum Output { SUMMARY, INTERVALS, ORI, EFFECTS };

static const char Usage[] =
    "usage: embed-c [--intervals | --ori | --effects] [--flags OPTIONS] "
    "SNAPSHOT...\n"
    "       embed-c --own-function\n"
    "  --intervals      print all live intervals, as LLVM prints them\n"
    "  --ori            print the functions behind Oriel's phases\n"
    "  --effects        print what each phase did, as JSON\n"
    "  --flags OPTIONS  Oriel's options, such as -oriel-profile=ptxas\n"
    "  --own-function   print where registers are live in a function that is "
    "none\n"
    "                   of LLVM's\n";

/* Did a call succeed? If not, prints its message; disposes of it in any case. */
static int check(OrielStatus status, const char *what, char *message) {
  if (status != ORIEL_OK)
    fprintf(stderr, "embed-c: %s: %s\n", what, message);
  oriel_dispose_message(message);
  return status == ORIEL_OK;
}

static void print_figure(const char *title, uint32_t figure) {
  if (figure == ORIEL_UNKNOWN)
    printf("  %-24s unknown\n", title);
  else
    printf("  %-24s %u\n", title, (unsigned)figure);
}

static int print_figures(const OrielMachineFunction *function) {
  OrielFigures figures;
  char *message = NULL;
  OrielStatus status = oriel_function_figures(function, &figures, &message);
  if (!check(status, oriel_function_name(function), message))
    return 0;
  print_figure("peak pressure", figures.peak_pressure_r32);
  print_figure("predicates at the peak", figures.peak_pressure_pred);
  print_figure("registers estimated", figures.registers_estimate);
  print_figure("warps an SM", figures.occupancy_warps_per_sm);
  return 1;
}

/* Slot indexes that an interval covers. */
static uint64_t length_of(const OrielInterval *interval,
                          const OrielSegment *segments) {
  uint64_t length = 0;
  for (uint32_t s = 0; s < interval->segment_count; ++s) {
    const OrielSegment *segment = &segments[interval->first_segment + s];
    length += segment->end - segment->start;
  }
  return length;
}

/* The intervals are plain arrays: this looks for the longest. */
static void print_longest(const OrielIntervals *intervals) {
  size_t count, segment_count;
  const OrielInterval *all = oriel_intervals(intervals, &count);
  const OrielSegment *segments =
      oriel_intervals_segments(intervals, &segment_count);
  uint64_t longest = 0;
  size_t which = 0, alive = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t length = length_of(&all[i], segments);
    alive += length != 0;
    if (length > longest) {
      longest = length;
      which = i;
    }
  }
  printf("  %-24s %zu, in %zu segments\n", "live intervals", alive,
         segment_count);
  if (alive)
    printf("  %-24s %%%zu, over %llu slot indexes\n", "the longest", which,
           (unsigned long long)longest);
}

static int print_intervals(const OrielMachineFunction *function,
                           enum Output output) {
  OrielIntervals *intervals = NULL;
  char *message = NULL;
  OrielStatus status = oriel_intervals_compute(function, &intervals, &message);
  if (!check(status, oriel_function_name(function), message))
    return 0;
  if (output == INTERVALS)
    fputs(oriel_intervals_text(intervals), stdout);
  else
    print_longest(intervals);
  oriel_intervals_dispose(intervals);
  return 1;
}

static int print_phases(const OrielMachineFunction *function,
                        const OrielOptions *options, enum Output output) {
  OrielPhaseRun *run = NULL;
  char *message = NULL;
  OrielStatus status =
      oriel_phase_run_compute(function, options, &run, &message);
  if (status == ORIEL_UNSUPPORTED) {
    /* No mistake of anybody's: Oriel leaves such a function as it is. */
    fprintf(stderr, "embed-c: %s: %s\n", oriel_function_name(function),
            message);
    oriel_dispose_message(message);
    return 1;
  }
  if (!check(status, oriel_function_name(function), message))
    return 0;
  switch (output) {
  case ORI:
    fputs(oriel_phase_run_text(run), stdout);
    break;
  case EFFECTS:
    puts(oriel_phase_run_effects(run));
    break;
  default:
    printf("  %-24s %s\n", "phases",
           oriel_phase_run_changed(run) ? "change it" : "leave it");
  }
  oriel_phase_run_dispose(run);
  return 1;
}

static int print_function(const OrielMachineFunction *function,
                          const OrielOptions *options, enum Output output) {
  if (output == INTERVALS)
    return print_intervals(function, output);
  if (output != SUMMARY)
    return print_phases(function, options, output);
  printf("%s: %s, sm_%u, stage %s\n", oriel_function_name(function),
         oriel_function_is_kernel(function) ? "kernel" : "device function",
         (unsigned)oriel_function_sm(function),
         oriel_function_stage(function));
  return print_figures(function) && print_intervals(function, output) &&
         print_phases(function, options, output);
}

static int print_file(const char *path, const OrielOptions *options,
                      enum Output output) {
  OrielMachineFunction *function = NULL;
  char *message = NULL;
  OrielStatus status = oriel_function_load(path, &function, &message);
  if (!check(status, path, message))
    return 0;
  int printed = print_function(function, options, output);
  oriel_function_dispose(function);
  return printed;
}

/* What the command line asks for; the number of the first file, 0 if the command
   line is wrong. Options are added to `options`. */
static int read_arguments(int argc, char **argv, OrielOptions *options,
                          enum Output *output) {
  int next = 1;
  for (; next < argc && strncmp(argv[next], "--", 2) == 0; ++next) {
    if (strcmp(argv[next], "--intervals") == 0) {
      *output = INTERVALS;
    } else if (strcmp(argv[next], "--ori") == 0) {
      *output = ORI;
    } else if (strcmp(argv[next], "--effects") == 0) {
      *output = EFFECTS;
    } else if (strcmp(argv[next], "--flags") == 0 && next + 1 < argc) {
      char *message = NULL;
      OrielStatus status = oriel_options_add(options, argv[++next], &message);
      if (!check(status, "--flags", message))
        return 0;
    } else {
      fputs(Usage, stderr);
      return 0;
    }
  }
  if (next == argc) {
    fputs(Usage, stderr);
    return 0;
  }
  return next;
}

int main(int argc, char **argv) {
  char *message = NULL;
  OrielStatus status = oriel_check_abi(&message);
  if (!check(status, "oriel.h", message))
    return 1;
  if (argc == 2 && strcmp(argv[1], "--own-function") == 0)
    return !print_own_function();
  OrielOptions *options = NULL;
  status = oriel_options_create(&options, &message);
  if (!check(status, "ORIEL_FLAGS", message))
    return 1;

  enum Output output = SUMMARY;
  int file = read_arguments(argc, argv, options, &output);
  int failures = file == 0;
  for (; file != 0 && file < argc; ++file)
    failures += !print_file(argv[file], options, output);
  oriel_options_dispose(options);
  return failures != 0;
}
