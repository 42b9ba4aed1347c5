//! The stack of divergent paths of a warp.
//!
//! The topmost entry is what the warp executes. When its lanes part at a branch, the entry waits at
//! the block that post-dominates the branch, and each path becomes an entry above it that ends
//! there. A call's paths lie above those of its caller; a path whose lanes have all returned is
//! gone, and with the last one the call is over.

use oriel_arithmetic::lanes::Bases;

/// A path: the lanes of the mask go on at `step`, until they come to `reconverge`.
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
    /// The call that it was called by; none for the kernel.
    pub site: Option<u32>,
    /// The number of paths when it was called.
    pub first_path: usize,
    /// Where its local memory begins, and its caller's.
    pub local_base: u32,
    pub caller_local_base: u32,
    /// Where its caller's registers begin.
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

    /// The path that is executed; none if no thread is left.
    pub fn top(&self) -> Option<&Path> {
        self.paths.last()
    }

    /// Puts the topmost path on hold at a step.
    pub fn hold_at(&mut self, step: u32) {
        if let Some(top) = self.paths.last_mut() {
            top.step = step;
        }
    }

    /// Parts the lanes of the topmost path. Those whose target is where the paths meet again only
    /// wait there.
    pub fn part(&mut self, reconverge: Option<u32>, targets: impl Iterator<Item = (u32, u32)>) {
        let Some(&top) = self.paths.last() else { return };
        // A path that ends at the same place waits there already, and one without a place to meet
        // does not go on.
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

    /// Takes lanes out of all paths from `first` on.
    pub fn remove_lanes(&mut self, first: usize, mask: u32) {
        for path in &mut self.paths[first..] {
            path.mask &= !mask;
        }
    }

    /// Drops paths that have ended or have no lanes, as far as they lie above `first`; is one left
    /// there?
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
        // A loop at 10 that is left to 20: one lane a turn.
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
