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

#include "Support.h"
#include <chrono>
#include <ctime>

namespace oriel {

/// The clock of the thread's CPU time, as the standard library wants clocks.
struct ThreadClock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<ThreadClock, duration>;

  static time_point now() {
    timespec Time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &Time);
    return time_point(std::chrono::seconds(Time.tv_sec) +
                      std::chrono::nanoseconds(Time.tv_nsec));
  }
};

using ThreadStopwatch = StopwatchOf<ThreadClock>;

} // namespace oriel

#endif // ORIEL_THREAD_STOPWATCH_H
