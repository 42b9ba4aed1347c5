//===- ThreadStopwatch.h - CPU time of the thread ----------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file Measures the thread's CPU time, which does not depend on what else the
/// machine does.
///
//===----------------------------------------------------------------------===//

#ifndef ORIEL_THREAD_STOPWATCH_H
#define ORIEL_THREAD_STOPWATCH_H

#include <cstdint>
#include <ctime>

namespace oriel {

/// Starts when it is created.
class ThreadStopwatch {
public:
  uint64_t nanoseconds() const { return now() - Start; }

private:
  static uint64_t now() {
    timespec Time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &Time);
    return uint64_t(Time.tv_sec) * 1000000000 + uint64_t(Time.tv_nsec);
  }

  uint64_t Start = now();
};

} // namespace oriel

#endif // ORIEL_THREAD_STOPWATCH_H
