//! Whole tiny kernels.
