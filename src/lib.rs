//! Oriel: live ranges, a ptxas-style optimiser and register estimates for LLVM's NVPTX back end.
//!
//! ```text
//!  LLVM MachineFunction ──export──▶ snapshot ──▶ pipeline ──▶ plan ──apply──▶ MachineFunction
//!                        cpp-shim               src/           cpp-shim
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`bitvector`] | the register-set library |
//! | `c_api` | the functions of `include/oriel.h`, for hosts in C and C++ |
//! | `compile` | modules in, PTX and reports out: for Rust hosts |
//! | [`entity`] | newtypes for everything addressed by number |
//! | [`graph`] | orders, dominators and loops over any graph |
//! | [`dataflow`] | the dataflow solver |
//! | [`hash`] | hash functions |
//! | [`snapshot`] | the exported machine function |
//! | [`live`] | the live-range engine |
//! | [`ori`] | the form of a function that the phases work on |
//! | [`liveness`] | what is asked of liveness |
//! | [`phases`] | the phases, their table and their manager |
//! | [`execute`] | the execution oracle: runs kernels in Ori |
//! | [`differential`] | do phases change what functions leave in memory? |
//! | [`cuda`] | runs kernels on a GPU, where there is a driver |
//! | [`plan`] | what becomes of it |
//! | [`pipeline`] | what happens to one function at one stage |
//! | [`options`] | the options of a process |
//! | [`generate`] | random functions for tests and benchmarks |
//! | `host` | device code compiled for and run on the host |
//! | [`launch`] | how an example's kernels are launched |
//! | [`report`] | one JSON object a function and stage |
//! | `ffi` | the calls that the C++ shim makes |

// What tests of the library share with tests on it names the library.
#[cfg(test)]
extern crate self as oriel;

pub mod bitvector;
mod c_api;
#[cfg(feature = "llvm")]
pub mod compile;
pub mod cuda;
pub mod dataflow;
pub mod differential;
pub mod entity;
pub mod execute;
pub mod generate;
pub mod graph;
mod guard;
pub mod hash;
#[cfg(feature = "llvm")]
pub mod host;
pub mod launch;
pub mod live;
pub mod liveness;
pub mod options;
pub mod ori;
pub mod phases;
pub mod pipeline;
pub mod plan;
mod random;
pub mod report;
pub mod snapshot;
pub mod validate;

/// The Rust of the documents.
#[cfg(doctest)]
mod documents {
    #[cfg(feature = "llvm")]
    #[doc = include_str!("../docs/embedding.md")]
    mod embedding {}
    #[doc = include_str!("../docs/engine-guide.md")]
    mod engine_guide {}
    #[cfg(feature = "llvm")]
    #[doc = include_str!("../docs/phase-guide.md")]
    mod phase_guide {}
}

#[cfg(feature = "llvm")]
mod ffi;
/// The binding of LLVM that [`compile`] takes modules of. A host that uses this one links one LLVM, the one that Oriel is built for.
#[cfg(feature = "llvm")]
pub use inkwell;

#[cfg(feature = "llvm")]
pub use ffi::{LlvmOpcode, capture_snapshots, llvm_opcodes, print_llvm_opcode, run_machine_passes};
