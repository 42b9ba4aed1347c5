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

/// Converts a pointer and a count to a slice.
///
/// # Safety
/// `data` is valid for `count` records while the result is used, or `count` is zero.
unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for the records.
    unsafe { std::slice::from_raw_parts(data, count) }
}
