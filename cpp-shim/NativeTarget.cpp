//===- NativeTarget.cpp - What llvm-sys may have been built without -------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file llvm-sys compiles these functions, which inkwell calls, if it finds
/// LLVM. If it did not, cargo does not rebuild it once LLVM is installed, and
/// the tool would not link. They are weak, so that those of llvm-sys may exist
/// as well.
///
//===----------------------------------------------------------------------===//

#include "llvm-c/Target.h"
#include "llvm/Support/Compiler.h"

extern "C" {
LLVM_ATTRIBUTE_WEAK LLVMBool LLVM_InitializeNativeTarget() {
  return LLVMInitializeNativeTarget();
}
LLVM_ATTRIBUTE_WEAK LLVMBool LLVM_InitializeNativeAsmPrinter() {
  return LLVMInitializeNativeAsmPrinter();
}
LLVM_ATTRIBUTE_WEAK LLVMBool LLVM_InitializeNativeAsmParser() {
  return LLVMInitializeNativeAsmParser();
}
LLVM_ATTRIBUTE_WEAK LLVMBool LLVM_InitializeNativeDisassembler() {
  return LLVMInitializeNativeDisassembler();
}
}
