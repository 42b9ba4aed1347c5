/*===- own_function.c - Live intervals of a function of one's own ---------===*\
|*
|* Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A function that never was LLVM's: arrays of this program, which Oriel reads by
|* callbacks.
|*
|*   block 0: %0 = ...             block 1: %1 = phi %0, block 0, %2, block 1
|*                                          %2 = add %1, %0
|*   block 2: use %2                        %3 = less %2
|*                                          branch %3, block 1, block 2
|*
\*===----------------------------------------------------------------------===*/

#include "own_function.h"
#include <oriel.h>
#include <stdio.h>

enum { BLOCKS = 3, REGISTERS = 4, PREDICATE = 3 };

struct instruction {
  OrielHostOperand operands[3];
  size_t count;
};

struct block {
  struct instruction instructions[4];
  uint32_t instruction_count;
  uint32_t successors[2];
  size_t successor_count;
};

static const struct block Function[BLOCKS] = {
    {{{{{0, ORIEL_DEFINES, 0}}, 1}}, 1, {1}, 1},
    {{{{{1, ORIEL_DEFINES, 0},
        {0, ORIEL_READS_FROM_BLOCK, 0},
        {2, ORIEL_READS_FROM_BLOCK, 1}},
       3},
      {{{2, ORIEL_DEFINES, 0}, {1, ORIEL_READS, 0}, {0, ORIEL_READS, 0}}, 3},
      {{{PREDICATE, ORIEL_DEFINES, 0}, {2, ORIEL_READS, 0}}, 2},
      {{{PREDICATE, ORIEL_READS, 0}}, 1}},
     4,
     {1, 2},
     2},
    {{{{{2, ORIEL_READS, 0}}, 1}}, 1, {0}, 0},
};

static uint32_t register_units(void *context, uint32_t reg) {
  (void)context;
  return reg == PREDICATE ? 0 : 1;
}

static const uint32_t *successors(void *context, uint32_t block,
                                  size_t *count) {
  const struct block *blocks = context;
  *count = blocks[block].successor_count;
  return blocks[block].successors;
}

static uint32_t instruction_count(void *context, uint32_t block) {
  const struct block *blocks = context;
  return blocks[block].instruction_count;
}

static const OrielHostOperand *operands(void *context, uint32_t block,
                                        uint32_t instruction, size_t *count) {
  const struct block *blocks = context;
  *count = blocks[block].instructions[instruction].count;
  return blocks[block].instructions[instruction].operands;
}

int print_own_function(void) {
  const OrielHostFunction function = {
      (void *)Function,  REGISTERS, BLOCKS, register_units, successors,
      instruction_count, operands};
  OrielIntervals *intervals = NULL;
  char *message = NULL;
  if (oriel_intervals_compute_host(&function, &intervals, &message) !=
      ORIEL_OK) {
    fprintf(stderr, "embed-c: %s\n", message);
    oriel_dispose_message(message);
    return 0;
  }
  for (uint32_t reg = 0; reg < REGISTERS; ++reg) {
    size_t count;
    const OrielValue *values = oriel_intervals_values(intervals, reg, &count);
    printf("%%%u: defined at %u, live out of", (unsigned)reg,
           (unsigned)values[0].definition);
    for (uint32_t block = 0; block < BLOCKS; ++block)
      if (oriel_intervals_live_out(intervals, reg, block))
        printf(" block %u", (unsigned)block);
    printf("; interferes with");
    for (uint32_t other = 0; other < REGISTERS; ++other)
      if (other != reg && oriel_intervals_interfere(intervals, reg, other))
        printf(" %%%u", (unsigned)other);
    printf("\n");
  }
  size_t count;
  const OrielPressurePoint *points =
      oriel_intervals_pressure(intervals, ORIEL_GENERAL_REGISTERS, &count);
  for (size_t i = 0; i < count; ++i)
    printf("from %u on, in block %u: %u units\n", (unsigned)points[i].index,
           (unsigned)oriel_intervals_block_at(intervals, points[i].index),
           (unsigned)points[i].units);
  oriel_intervals_dispose(intervals);
  return 1;
}
