//! The apply step for marked instructions.
//!
//! | bit | mark | effect on the instruction |
//! |---|---|---|
//! | 0x100 | propagated | removed: every use has another source of the value |
//! | 0x200 | deferred | removed if nothing uses it |
//! | 0x400 | predicated | its uses under its predicate were replaced; with 0x200 removed if these were all |
//!
//! The reference sets these bits on operands and folds nothing ("does not fold"); here the step
//! that consumes them follows at once, and no mark remains.

use crate::PhaseContext;
use oriel_ori::{Function, Instruction, InstructionFlags};
use std::ops::AddAssign;

/// The work of a pass over a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Instructions removed.
    pub removed: u64,
    /// Uses replaced.
    pub replaced: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.removed += other.removed;
        self.replaced += other.replaced;
    }
}

const MARKS: InstructionFlags = InstructionFlags::MARK_PROPAGATED
    .union(InstructionFlags::MARK_DEFERRED)
    .union(InstructionFlags::MARK_PREDICATED);

/// Clears marks left by others.
pub(crate) fn clear_marks(function: &mut Function) {
    for index in 0..function.blocks().len() {
        let mut next = function.first(function.blocks()[index]);
        while let Some(instruction) = next {
            if function.flags(instruction).intersects(MARKS) {
                function.set_marks(instruction, MARKS, false);
            }
            next = function.next(instruction);
        }
    }
}

/// Applies and clears the marks of a function. Returns how many instructions were removed.
pub(crate) fn apply_marks(function: &mut Function, context: &mut PhaseContext<'_>) -> Counts {
    let mut counts = Counts::default();
    for index in 0..function.blocks().len() {
        let block = function.blocks()[index];
        // Backward, so that users of a deferred instruction are removed before it.
        let mut next = function.last(block);
        while let Some(instruction) = next {
            next = function.previous(instruction);
            let marks = function.flags(instruction) & MARKS;
            if marks.is_empty() {
                continue;
            }
            for (mark, name) in [
                (InstructionFlags::MARK_PROPAGATED, "propagated"),
                (InstructionFlags::MARK_DEFERRED, "deferred"),
                (InstructionFlags::MARK_PREDICATED, "predicated"),
            ] {
                context.count(name, u64::from(marks.contains(mark)));
            }
            let goes = function.is_removable_if_unused(instruction)
                && (marks.contains(InstructionFlags::MARK_PROPAGATED)
                    || marks.contains(InstructionFlags::MARK_DEFERRED) && is_unused(function, instruction));
            if goes {
                function.remove(instruction);
                counts.removed += 1;
            } else {
                function.set_marks(instruction, marks, false);
            }
        }
    }
    counts
}

fn is_unused(function: &Function, instruction: Instruction) -> bool {
    let mut results = function.results(instruction).iter();
    results.all(|result| {
        result
            .as_register()
            .is_some_and(|register| function.is_unused(register))
    })
}
