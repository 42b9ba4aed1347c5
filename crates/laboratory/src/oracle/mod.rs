//! Uses another implementation, LLVM's, to judge the engine's live intervals and Ori's control
//! flow.

mod control_flow;
pub mod intervals;
mod liveness;
pub mod updates;

pub use control_flow::{ForeignBlockFlow, ForeignControlFlow, check_control_flow};
