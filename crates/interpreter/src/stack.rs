//! The stack of divergent paths of a warp.
//!
//! The warp executes the topmost entry. When its lanes diverge at a branch, the entry waits at the
//! block that post-dominates the branch, and each path becomes an entry above it that ends there.
//! The paths of a call are above those of its caller. A path whose lanes have all returned is
//! removed; the call ends with the last one.

use oriel_arithmetic::lanes::Bases;

/// A path: the lanes of the mask continue at `step` until they reach `reconverge`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub step: u32,
    pub reconverge: Option<u32>,
    pub mask: u32,
}

/// An active function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub function: u32,
    /// The call instruction; none for the kernel.
    pub site: Option<u32>,
    /// The number of paths at the call.
    pub first_path: usize,
    /// The start of its local memory, and of its caller's.
    pub local_base: u32,
    pub caller_local_base: u32,
    /// The start of its caller's registers.
    pub caller_rows: Bases,
}

/// The paths of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct PathStack {
    paths: Vec<Path>,
}

impl PathStack {
    pub fn reset(&mut self, step: u32, mask: u32) {
        self.paths.clear();
        self.push(step, None, mask);
    }

    pub fn len(&self) -> usize {
        self.paths.len()
    }

    pub fn push(&mut self, step: u32, reconverge: Option<u32>, mask: u32) {
        self.paths.push(Path {
            step,
            reconverge,
            mask,
        });
    }

    /// Returns the current path; none if no thread is left.
    pub fn top(&self) -> Option<&Path> {
        self.paths.last()
    }

    /// Suspends the topmost path at a step.
    pub fn hold_at(&mut self, step: u32) {
        if let Some(top) = self.paths.last_mut() {
            top.step = step;
        }
    }

    /// Splits the lanes of the topmost path. Lanes whose target is the reconvergence point only
    /// wait there.
    pub fn part(&mut self, reconverge: Option<u32>, targets: impl Iterator<Item = (u32, u32)>) {
        let Some(&top) = self.paths.last() else { return };
        // A path that ends at the same place already waits there, and one without a reconvergence
        // point does not continue.
        let meeting = match reconverge {
            Some(step) if top.reconverge != Some(step) => {
                self.hold_at(step);
                reconverge
            }
            _ => {
                self.paths.pop();
                top.reconverge
            }
        };
        for (step, mask) in targets {
            if mask != 0 && Some(step) != meeting {
                self.push(step, meeting, mask);
            }
        }
    }

    /// Removes lanes from all paths from `first` on.
    pub fn remove_lanes(&mut self, first: usize, mask: u32) {
        for path in &mut self.paths[first..] {
            path.mask &= !mask;
        }
    }

    /// Drops paths above `first` that have ended or have no lanes; returns whether one is left
    /// there.
    pub fn settle(&mut self, first: usize) -> bool {
        while self.paths.len() > first {
            let top = self.paths[self.paths.len() - 1];
            if top.mask != 0 && top.reconverge != Some(top.step) {
                return true;
            }
            self.paths.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_leave_a_loop_wait_below() {
        let mut stack = PathStack::default();
        stack.reset(0, 0xF);
        // A loop at 10 with exit 20: one lane leaves in each iteration.
        stack.part(Some(20), [(20, 0x1), (10, 0xE)].into_iter());
        assert_eq!(stack.len(), 2);
        stack.part(Some(20), [(20, 0x2), (10, 0xC)].into_iter());
        assert_eq!(stack.len(), 2, "the stack does not grow with the turns");
        let top = *stack.top().unwrap();
        assert_eq!((top.step, top.mask), (10, 0xC));
        stack.hold_at(20);
        assert!(stack.settle(0));
        let top = *stack.top().unwrap();
        assert_eq!((top.step, top.mask, top.reconverge), (20, 0xF, None));
    }

    #[test]
    fn paths_without_a_meeting_place_run_one_after_the_other() {
        let mut stack = PathStack::default();
        stack.reset(0, 0xF);
        stack.part(None, [(5, 0x3), (9, 0xC)].into_iter());
        assert_eq!(stack.top().unwrap().step, 9);
        stack.remove_lanes(0, 0xC);
        assert!(stack.settle(0));
        assert_eq!(stack.top().unwrap().step, 5);
        stack.remove_lanes(0, 0x3);
        assert!(!stack.settle(0));
    }
}
