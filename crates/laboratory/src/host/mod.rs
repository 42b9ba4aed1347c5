//! Device code on the host: a second, independent way to run a kernel, as a reference.
//!
//! ```text
//!  NVPTX bitcode ──rewrite──▶ host IR ──MCJIT──▶ machine code ◀──call── block: one fiber a thread
//!                intrinsics become calls                       ──call──▶ operation, collective
//! ```
//!
//! [`HostModule::compile`] takes a module in the form that `llc` accepts, before code generation,
//! and compiles it for this process's machine. [`HostModule::run`] runs a launch: blocks one after
//! the other, and the threads of a block as fibers in the order of their index, each until it ends
//! or reaches a barrier or a warp-wide operation. So a run is deterministic.
//!
//! # What equals the device, and what does not
//!
//! Integers, loads, stores, atomics and the IEEE operations (`add`, `mul`, `fma`, `div.rn`,
//! `sqrt.rn`, conversions) give the device's bits, with these exceptions:
//!
//! - *Contraction.* The NVPTX back end fuses `fmul contract` and `fadd contract`; the host never
//!   does. Only a module without that flag (`clang -ffp-contract=off`, `scripts/examples.py compile
//!   --fp-contract off`) has one result. `llvm.fmuladd` is fused on both sides.
//! - *NaN.* The bits of a NaN differ; whether a value is one does not.
//! - *Approximations.* `ex2.approx`, `sin.approx` and the like are computed in double precision and
//!   rounded to nearest here. A device may differ by PTX's tolerance: 2 units in the last place for
//!   most, 2^-20.9 absolutely for `sin` and `cos` in `[-π, π]`, 2^-22 for `lg2` between 0.5 and 2.
//! - *`frem`* and the library functions that LLVM IR has as intrinsics (`llvm.exp2`, …) are the
//!   host's.
//! - Undefined and poison values of LLVM IR are not compared, except that a conversion from
//!   floating point to an integer out of range saturates, as in PTX; a NaN becomes 0.
//!
//! Shared memory is zero when a block starts. Module variables keep their values from launch to
//! launch. A thread yields only at a barrier or warp-wide operation, so a kernel whose threads wait
//! for each other through memory does not end. Addresses are not checked: the interpreter does
//! that.

mod arithmetic;
mod block;
mod collective;
mod description;
mod engine;
mod inline_assembly;
mod memory;
mod operation;
mod rewrite;
mod wrapper;

pub use engine::HostModule;
// Its build script finds LLVM and links it.
pub use memory::HostMemory;
use oriel as _;
use thiserror::Error;

/// One launch, with its arguments as bytes.
#[derive(Debug, Clone)]
pub struct HostLaunch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z; at most 1024 in all.
    pub block: [u32; 3],
    /// Size of the `extern __shared__` array.
    pub dynamic_shared_bytes: u32,
    /// One for each parameter, with the parameter's size.
    pub arguments: &'a [Vec<u8>],
}

/// Statistics of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostStatistics {
    /// Threads that ran to their end.
    pub threads: u64,
    /// How often a thread waited for others.
    pub waits: u64,
}

/// Why device code cannot run on the host.
#[derive(Debug, Error)]
pub enum HostError {
    /// Not a module for NVPTX, or one that LLVM rejects; the text is LLVM's.
    #[error("{0}")]
    Module(String),
    /// A function, an instruction or an inline assembly template that is not supported on the host.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The module has no kernel with this name.
    #[error("there is no kernel `{0}`")]
    NoKernel(String),
    /// The launch does not match the kernel.
    #[error("kernel `{kernel}`: {problem}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// The mismatch.
        problem: String,
    },
    /// The kernel did something invalid.
    #[error("kernel `{kernel}`, block {block:?}, thread {thread:?}: {problem}")]
    Fault {
        /// The kernel's name.
        kernel: String,
        /// Index of the block.
        block: [u32; 3],
        /// Index of the thread; for a deadlock, of the first that waits.
        thread: [u32; 3],
        /// A description.
        problem: String,
    },
}

#[cfg(test)]
mod tests;
