//! The calls that the shim makes: convert, guard, delegate.
//!
//! `cpp-shim/oriel_ffi.h` declares them. No call unwinds into C++.

mod guard;
mod live;
mod options;
mod passes;
mod plugin;
mod run;
mod text;
mod updates;

pub use passes::run_machine_passes;
