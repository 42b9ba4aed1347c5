//! Oriel: live ranges, a ptxas-style optimiser and register estimates for LLVM's NVPTX back end.

pub mod entity;
pub mod live;
pub mod snapshot;
