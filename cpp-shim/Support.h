//===- Support.h - Small helpers of the shim --------------------*- C++ -*-===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ORIEL_SUPPORT_H
#define ORIEL_SUPPORT_H

#include "oriel_ffi.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/GlobalValue.h"
#include "llvm/IR/LLVMContext.h"
#include <ctime>
#include <string>

namespace oriel {

inline llvm::StringRef toStringRef(OrielText Text) {
  return llvm::StringRef(Text.data, Text.length);
}

inline OrielText toText(llvm::StringRef Text) {
  return {Text.data(), Text.size()};
}

/// Returns the name of \p Stage for messages.
inline llvm::StringRef stageName(OrielStage Stage) {
  return Stage == ORIEL_STAGE_SSA ? "ssa" : "late";
}

/// Returns the name of \p MF as in PTX; empty if LLVM's printer makes it up.
inline llvm::StringRef functionName(const llvm::MachineFunction &MF) {
  return llvm::GlobalValue::dropLLVMManglingEscape(MF.getName());
}

/// True if the text of inline assembly has variants, \c $(one$|other$). LLVM
/// prints one of each, so that a name may be in parts in \p Text.
inline bool hasVariants(llvm::StringRef Text) { return Text.contains("$("); }

/// The name of Oriel in LLVM's switches for remarks.
inline constexpr const char *RemarkPassName = "oriel";

/// True if somebody reads Oriel's remarks on code of \p Context.
inline bool wantsRemarks(llvm::LLVMContext &Context) {
  const llvm::DiagnosticHandler *Handler = Context.getDiagHandlerPtr();
  return Context.getLLVMRemarkStreamer() ||
         (Handler && Handler->isAnyRemarkEnabled(RemarkPassName));
}

/// Returns a sink that appends to a string.
inline OrielSink sinkInto(std::string &Text) {
  return {&Text, [](void *Context, OrielText Piece) {
            static_cast<std::string *>(Context)->append(Piece.data,
                                                        Piece.length);
          }};
}

/// Lends the elements of \p From as a pointer and a number, without the given
/// number of sentinels at its end.
template <typename Container, typename Pointer, typename Count>
void lend(const Container &From, Pointer &Data, Count &Number,
          size_t Sentinels = 0) {
  Data = From.data();
  Number = From.size() - Sentinels;
}

/// Measures the thread's CPU time in nanoseconds since its construction. It
/// does not depend on what else the machine does.
class Stopwatch {
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

#endif // ORIEL_SUPPORT_H
