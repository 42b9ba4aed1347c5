//! Tests and measurements of Oriel. The plug-in for users does not contain this crate. The crate's
//! shared library, `liboriel_laboratory.so`, is the plug-in with this crate added.
//!
//! ```
//! use oriel_laboratory::differential::{EditKind, sequences};
//! use oriel_engine::snapshot::abi::Stage;
//!
//! // Each phase of the stage alone, the pipeline, and three random lists.
//! assert!(sequences(Stage::Late, &|_| true, 3, 1).len() > 20);
//! assert!(EditKind::from_name("drop-store").is_some());
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`differential`] | tests that phases preserve what functions write to memory, and that these tests detect errors |
//! | `host` | compiles device code for the host and runs it |
//! | [`cuda`] | runs kernels on a GPU through the CUDA driver |
//! | [`oracle`] | live intervals, their updates and control flow compared with LLVM's |
//! | [`plans`] | plans written as edit scripts, and plans damaged on purpose |
//! | [`phases`] | phases that test the lowering to plans and the guard of profiles |
//! | [`mod@bench`] | times the engine against LLVM |
//! | `options` | additional options of the plug-in |
//! | `ffi` | the calls between the laboratory's shim and this crate |

pub mod bench;
pub mod cuda;
pub mod differential;
#[cfg(feature = "llvm")]
mod ffi;
#[cfg(feature = "llvm")]
pub mod host;
#[cfg(feature = "llvm")]
mod options;
pub mod oracle;
pub mod phases;
pub mod plans;

#[cfg(feature = "llvm")]
pub use ffi::{LlvmOpcode, llvm_opcodes, print_llvm_opcode, run_machine_passes};
#[cfg(feature = "llvm")]
pub use options::{InjectedFault, Laboratory};
