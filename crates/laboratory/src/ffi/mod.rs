//! The calls of the laboratory's shim: convert, guard, delegate.
//!
//! `cpp-shim/laboratory_ffi.h` declares them. No call unwinds into C++.

mod control_flow;
mod install;
mod live;
mod opcodes;
mod passes;
mod updates;

pub use opcodes::{LlvmOpcode, llvm_opcodes, print_llvm_opcode};
pub use passes::run_machine_passes;
