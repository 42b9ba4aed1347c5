//! Oriel: live ranges, a ptxas-style optimiser and register estimates for LLVM's NVPTX back end.
//!
//! ```text
//!  LLVM MachineFunction ──export──▶ snapshot ──▶ pipeline ──▶ plan ──apply──▶ MachineFunction
//!                        cpp-shim               src/           cpp-shim
//! ```
//!
//! | here | subject |
//! |---|---|
//! | [`pipeline`] | the work on one function at one stage |
//! | [`options`] | the options of a process |
//! | `compile` | modules in, PTX and reports out: for Rust hosts |
//! | `c_api` | the functions of `include/oriel.h`, for hosts in C and C++ |
//! | `ffi` | the calls that the C++ shim makes |
//!
//! | of the crates below | subject |
//! |---|---|
//! | [`live`], [`snapshot`], [`graph`], [`dataflow`], [`bitvector`], [`entity`], [`hash`] | `oriel-engine`: live ranges, without LLVM |
//! | [`ori`], [`plan`] | `oriel-ori`: the representation that phases work on; plans |
//! | [`phases`] | `oriel-phases`: the phases, their table and their manager |
//! | [`validate`] | `oriel-validator`: proves that a function is equivalent before and after the phases |
//! | [`report`] | `oriel-report`: pressure, estimate, occupancy; one JSON object per function and stage |

mod c_api;
#[cfg(feature = "llvm")]
pub mod compile;
#[doc(hidden)]
pub mod lent;
pub mod options;
pub mod pipeline;

pub use oriel_engine::{bitvector, dataflow, entity, file, graph, guard, hash, live, snapshot, thread_slot};
pub use oriel_ori as ori;
pub use oriel_ori::plan;
pub use oriel_phases as phases;
pub use oriel_report as report;
pub use oriel_validator as validate;

/// The version of Oriel, and of the LLVM that it is built for.
#[cfg(feature = "llvm")]
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (LLVM ",
    env!("ORIEL_LLVM_VERSION"),
    ")"
);
/// The version of Oriel.
#[cfg(not(feature = "llvm"))]
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (without LLVM)");

/// The Rust code of the documents, as tests.
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
/// The LLVM binding whose modules [`compile`] accepts. With it, a host links only one LLVM, the one
/// that Oriel is built for.
#[cfg(feature = "llvm")]
pub use inkwell;

#[cfg(feature = "llvm")]
pub use ffi::{OrielSink, OrielSnapshot, OrielText, capture_snapshots};
