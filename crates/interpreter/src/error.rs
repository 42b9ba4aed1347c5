//! What can go wrong when a program runs.

use oriel_ori::{AddressSpace, Instruction};
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An access to memory that is not there, or a write to memory that is constant.
    #[error("{verb} of {bytes} bytes at {space} address {address:#x}: {problem}")]
    OutOfBounds {
        /// "load", "store" or "atomic operation".
        verb: &'static str,
        /// The space that the instruction names.
        space: &'static str,
        /// The address in that space.
        address: u64,
        /// How many bytes.
        bytes: u32,
        /// What lies there, or nearby.
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
        /// How many bytes.
        bytes: u32,
    },
    /// The instruction, or this form of it, is not modelled.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// More instructions were executed than the limits allow.
    #[error("no end after {0} instructions of a warp")]
    StepLimit(u64),
    /// All warps of a block wait at barriers, and none will come.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// An operation of several threads was reached by a part of them only.
    #[error("{0}")]
    Divergence(String),
    /// The divergence analysis is wrong, see
    /// [`Program::compile_checked`](super::Program::compile_checked).
    #[error("{0}")]
    NotUniform(String),
    /// A call that does not fit the function that is called.
    #[error("{0}")]
    Call(String),
    /// The program asked for it.
    #[error("trap")]
    Trap,
    /// The end of a block that has none.
    #[error("control reaches the end of a block that does not end")]
    Unreachable,
    /// The launch does not fit the program.
    #[error("{0}")]
    Launch(String),
}

/// Where in the program and in the grid something went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: Option<[u32; 3]>,
    /// The thread in the block.
    pub thread: Option<[u32; 3]>,
    /// The function.
    pub function: Option<String>,
    /// The instruction of the function.
    pub instruction: Option<Instruction>,
    /// What it is, in words: the operation, and LLVM's opcode if it comes from LLVM.
    pub text: String,
}

/// The error that ends a launch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}{place}")]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Where.
    pub place: Box<Place>,
}

impl Fault {
    /// A fault that belongs to no instruction.
    pub fn of_launch(problem: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Launch(problem.into()),
            place: Box::default(),
        }
    }
}

impl Display for Place {
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

/// A space's name in messages.
pub(super) const fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::None => "generic",
        named => named.name(),
    }
}
