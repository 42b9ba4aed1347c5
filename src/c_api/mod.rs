//! The functions of `include/oriel.h`, which says what each does, for hosts in C and C++.
//!
//! | file | subject |
//! |---|---|
//! | `call.rs` | how a call ends: status, message, texts; a panic ends here |
//! | `process.rs` | versions, registration |
//! | `options.rs` | options of one compilation |
//! | `function.rs` | machine functions: snapshots, figures, reports |
//! | `intervals.rs` | live intervals |
//! | `queries.rs` | what is asked of live intervals |
//! | `host_function.rs` | live intervals of a function of the host's own |
//! | `phase_run.rs` | phases on a snapshot |
//! | `compilation.rs` | modules |
//!
//! All but the last works without LLVM. A pointer that a host hands in is null or what the header
//! asks for; that it lives for the call, and that nobody changes it meanwhile, is the host's part
//! of the contract.

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

/// Threads may share what is only read, and hand everything over: the header says so.
const fn assert_shareable<T: Send + Sync>() {}
const _: () = {
    assert_shareable::<options::OrielOptions>();
    assert_shareable::<function::OrielMachineFunction>();
    assert_shareable::<intervals::OrielIntervals>();
    assert_shareable::<phase_run::OrielPhaseRun>();
    assert_shareable::<compilation::OrielCompilation>();
};
