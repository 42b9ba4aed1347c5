//! Errors at run time.

use oriel_ori::{AddressSpace, Instruction};
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An access outside of memory, or a write to constant memory.
    #[error("{verb} of {bytes} bytes at {space} address {address:#x}: {problem}")]
    OutOfBounds {
        /// "load", "store" or "atomic operation".
        verb: &'static str,
        /// The space that the instruction names.
        space: &'static str,
        /// The address in that space.
        address: u64,
        /// The size of the access in bytes.
        bytes: u32,
        /// The object there, or nearby.
        problem: String,
    },
    /// An access whose address is not a multiple of its size.
    #[error("{verb} of {bytes} bytes at {space} address {address:#x}, which is not aligned")]
    Misaligned {
        /// "load", "store" or "atomic operation".
        verb: &'static str,
        /// The space that the instruction names.
        space: &'static str,
        /// The address in that space.
        address: u64,
        /// The size of the access in bytes.
        bytes: u32,
    },
    /// The instruction, or this form of it, is not modelled.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// More instructions were executed than the limits allow.
    #[error("no end after {0} instructions of a warp")]
    StepLimit(u64),
    /// All warps of a block wait at barriers that nobody will complete.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Only a part of the threads reached an operation of several threads.
    #[error("{0}")]
    Divergence(String),
    /// The divergence analysis is wrong, see
    /// [`Program::compile_checked`](super::Program::compile_checked).
    #[error("{0}")]
    NotUniform(String),
    /// A call that does not match its callee.
    #[error("{0}")]
    Call(String),
    /// The program asked for it.
    #[error("trap")]
    Trap,
    /// The end of a block without a terminator.
    #[error("control reaches the end of a block that does not end")]
    Unreachable,
    /// The launch does not match the program.
    #[error("{0}")]
    Launch(String),
}

/// The location of a fault in the program and in the grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultLocation {
    /// The block.
    pub block: Option<[u32; 3]>,
    /// The thread in the block.
    pub thread: Option<[u32; 3]>,
    /// The function.
    pub function: Option<String>,
    /// The instruction of the function.
    pub instruction: Option<Instruction>,
    /// The operation in words, and LLVM's opcode if it comes from LLVM.
    pub text: String,
}

/// The error that ends a launch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}{location}")]
pub struct Fault {
    /// The fault.
    pub kind: FaultKind,
    /// The place where it occurred.
    pub location: Box<FaultLocation>,
}

impl Fault {
    /// A fault that belongs to no instruction.
    pub fn of_launch(problem: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Launch(problem.into()),
            location: Box::default(),
        }
    }
}

impl Display for FaultLocation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(out, ", in {function}")?;
        }
        if let Some(instruction) = self.instruction {
            write!(out, " at {instruction} ({})", self.text)?;
        }
        if let Some([x, y, z]) = self.block {
            write!(out, ", block ({x}, {y}, {z})")?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(out, ", thread ({x}, {y}, {z})")?;
        }
        Ok(())
    }
}

/// Returns a space's name in messages.
pub(super) const fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::None => "generic",
        named => named.name(),
    }
}
