//! The execution oracle: runs kernels in Ori on the memory of a launch. `oriel_arithmetic`
//! evaluates the operations.
//!
//! ```text
//! Functions, Module ─▶ Program ─▶ run(Launch, Memory) ─▶ Memory, LaunchStatistics or a Fault
//! ```
//!
//! ```no_run
//! # fn example(function: &oriel_ori::Function, ptx: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use oriel_interpreter::{Buffer, Launch, Limits, Module, Program, run};
//! let program = Program::compile(&[function], &Module::parse(ptx)?)?;
//! let mut memory = program.memory();
//! let address = memory.add(Buffer { name: "x".into(), bytes: vec![0; 4096], is_constant: false });
//! let launch = Launch {
//!     kernel: "kernel".into(),
//!     grid: [4, 1, 1],
//!     block: [256, 1, 1],
//!     arguments: vec![address.to_le_bytes().to_vec()],
//!     dynamic_shared_bytes: 0,
//! };
//! let statistics = run(&program, &launch, &mut memory, Limits::default())?;
//! # Ok(()) }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `module.rs`, `symbols.rs` | variables and kernels, as the PTX declares them; addresses of names |
//! | `program.rs`, `decode/` | a compiled program, and the compiler from Ori |
//! | `memory.rs`, `access.rs`, `atomic.rs`, `blind.rs` | memory and accesses to it |
//! | `threads.rs` | shuffles, votes, matches, reductions |
//! | `uninterpreted.rs`, `thread_effects.rs` | uninterpreted instructions |
//! | `stack.rs`, `surroundings.rs`, `warp.rs`, `machine.rs` | divergent paths, a warp, the grid |
//! | `launch/` | launch descriptions |
//! | `described.rs` | launches from a description, and blind ones |
//! | `error.rs` | errors |
//!
//! # The model
//!
//! Blocks run one after the other, x first. The warps of a block take turns of a few thousand
//! steps. The lanes of a warp execute together and in order. Every launch therefore gives the same
//! result each time. Threads of a warp that diverge at a branch reconverge at the branch's
//! immediate post-dominator. Memory is sequentially consistent, so orderings and scopes have no
//! further effect. A thread that waits for another one of its warp, or for a later block, waits for
//! ever; the step limit then ends the launch.
//!
//! Each read of an undefined value gives a different number, the same in all threads of the warp.
//! So if an instruction that reads one is executed twice, the results differ. Registers, local and
//! shared memory are initially zero. Multiplications and additions are never contracted.
//! Instructions that are not modelled are errors only when executed; with
//! [`Limits::uninterpreted`], inline assembly and opcodes that Ori does not know are not errors.

mod access;
mod atomic;
mod blind;
mod decode;
mod described;
mod error;
pub mod launch;
mod machine;
mod memory;
mod module;
mod program;
mod stack;
mod surroundings;
mod symbols;
#[cfg(test)]
mod tests;
mod thread_effects;
mod threads;
mod uninterpreted;
mod warp;

pub use described::hash_buffers;
pub use described::{BlindResult, BufferResult, DescribedResult, run_blind, run_described};
pub use error::{Fault, FaultKind, FaultLocation};
pub use machine::lay_out as lay_out_arguments;
pub use machine::{LaunchStatistics, Limits, run};
pub use memory::{Buffer, Memory};
pub use module::{Kernel, Module, ModuleError, Parameter, Reference, Variable, VariableSpace};
pub use program::Program;
pub use surroundings::Launch;
