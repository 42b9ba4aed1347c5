//! What tests Oriel and measures it. The plug-in that users load has nothing of it.
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
//! | [`differential`] | do phases change what functions leave in memory, and would it be seen? |
//! | `host` | device code compiled for and run on the host |
//! | [`cuda`] | runs kernels on a GPU, where there is a driver |

pub mod cuda;
pub mod differential;
#[cfg(feature = "llvm")]
pub mod host;
