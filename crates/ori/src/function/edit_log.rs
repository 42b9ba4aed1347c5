//! The log of edits, from which analyses of a function are updated instead of recomputed.

use super::{Function, Instruction};
use oriel_engine::entity::Register;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the next copy of a log.
static NEXT_COPY: AtomicU64 = AtomicU64::new(1);

/// The registers whose definitions or uses edits changed, and the instructions that were placed.
#[derive(Debug, Default)]
pub(crate) struct EditLog {
    /// Distinguishes the logs of a function and its copies, whose histories part.
    copy: u64,
    is_kept: bool,
    /// In the order of the edits, with repetitions.
    registers: Vec<Register>,
    /// In the order of the edits, with repetitions.
    placed: Vec<Instruction>,
    /// The number of edits that the log does not describe: to blocks and edges, and all edits while
    /// it was not kept.
    unlogged: u64,
}

/// A point in the history of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EditLogPosition {
    copy: u64,
    registers: usize,
    placed: usize,
    unlogged: u64,
}

/// The registers and instructions that edits since a point concerned, with repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edits<'a> {
    /// Registers of which an operand was added or removed.
    pub registers: &'a [Register],
    /// Instructions that were placed in a block; some may have been removed since.
    pub placed: &'a [Instruction],
}

impl Clone for EditLog {
    fn clone(&self) -> Self {
        Self {
            copy: NEXT_COPY.fetch_add(1, Ordering::Relaxed),
            is_kept: self.is_kept,
            registers: Vec::new(),
            placed: Vec::new(),
            unlogged: 0,
        }
    }
}

impl EditLog {
    /// Notes that an operand with a register was added or removed.
    #[inline]
    pub fn note_operand(&mut self, register: Register) {
        if self.is_kept {
            self.registers.push(register);
        } else {
            self.unlogged += 1;
        }
    }

    /// Notes that an instruction was placed in a block.
    #[inline]
    pub fn note_placed(&mut self, instruction: Instruction) {
        if self.is_kept {
            self.placed.push(instruction);
        } else {
            self.unlogged += 1;
        }
    }

    /// Notes that blocks or edges changed, or where a PHI reads a value.
    #[inline]
    pub fn note_flow(&mut self) {
        self.unlogged += 1;
    }

    /// Returns the present.
    pub fn position(&self) -> EditLogPosition {
        EditLogPosition {
            copy: self.copy,
            registers: self.registers.len(),
            placed: self.placed.len(),
            unlogged: self.unlogged,
        }
    }

    /// Returns what edits since a point concerned, or none if there were edits that the log does not
    /// describe, or if the point is in the history of another copy.
    pub fn since(&self, position: EditLogPosition) -> Option<Edits<'_>> {
        if (self.copy, self.unlogged) != (position.copy, position.unlogged) {
            return None;
        }
        Some(Edits {
            registers: self.registers.get(position.registers..)?,
            placed: self.placed.get(position.placed..)?,
        })
    }
}

impl Function {
    /// Keeps a log of edits from now on, and forgets earlier ones: analyses of earlier states must
    /// be recomputed.
    pub fn keep_edit_log(&mut self) {
        self.edits.is_kept = true;
        self.edits.registers.clear();
        self.edits.placed.clear();
        self.edits.unlogged += 1;
    }
}
