//! The calls of the shim: convert, guard, delegate.
//!
//! `cpp-shim/oriel_ffi.h` declares them. No call unwinds into C++.

mod capture;
mod compile;
mod host;
mod options;
mod plugin;
mod records;
mod report;
mod run;
mod scope;
mod stages;
mod text;

pub use capture::capture_snapshots;
pub(crate) use capture::{Captured, capture_compilation};
pub(crate) use compile::{
    allow_fp_fusion, check_compatible, emit_ptx, emit_ptx_raw, export_function, list_processors,
    parse_module, read_module, set_llvm_option, with_pointers_of,
};
pub use records::OrielSnapshot;
pub use text::{OrielSink, OrielText};
