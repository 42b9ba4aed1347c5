//! The functions of `include/oriel.h`, which documents them, for hosts in C and C++.
//!
//! | file | subject |
//! |---|---|
//! | `call.rs` | status, message and texts of a call; catches panics |
//! | `process.rs` | versions, registration |
//! | `options.rs` | options of one compilation |
//! | `function.rs` | machine functions: snapshots, figures, reports |
//! | `intervals.rs` | live intervals |
//! | `queries.rs` | queries of live intervals |
//! | `host_function.rs` | live intervals of a function of the host's own |
//! | `phase_run.rs` | phases on a snapshot |
//! | `compilation.rs` | modules |
//!
//! All except the last work without LLVM. A pointer from a host is null or valid as the header
//! requires; the host guarantees that it lives for the call and that nothing changes it meanwhile.

mod call;
mod compilation;
mod function;
mod host_function;
mod intervals;
mod options;
mod phase_run;
mod process;
mod queries;
#[cfg(test)]
mod tests;

/// Threads may share objects that are only read, and pass all objects on, as the header documents.
const fn assert_shareable<T: Send + Sync>() {}
const _: () = {
    assert_shareable::<options::OrielOptions>();
    assert_shareable::<function::OrielMachineFunction>();
    assert_shareable::<intervals::OrielIntervals>();
    assert_shareable::<phase_run::OrielPhaseRun>();
    assert_shareable::<compilation::OrielCompilation>();
};
