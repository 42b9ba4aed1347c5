//! The calls that the shim makes: convert, guard, delegate.
//!
//! `cpp-shim/oriel_ffi.h` declares them. No call unwinds into C++.

mod capture;
mod control_flow;
mod host;
mod live;
mod opcodes;
mod options;
mod passes;
mod plugin;
mod run;
mod text;
mod updates;

pub use capture::{capture_functions, capture_snapshots};
pub use opcodes::{LlvmOpcode, llvm_opcodes, print_llvm_opcode};
pub use passes::run_machine_passes;
