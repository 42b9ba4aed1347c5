//! Counts the registers that ptxas allocates.
//!
//! ptxas allocates more registers than are live at once, as long as that costs no warps: an
//! instruction that overwrites a register must wait until earlier instructions have read it, and
//! memory instructions read late. A register is therefore free again
//!
//! - immediately, if instructions of fixed latency read it,
//! - at the first use of the result of the load that read it, since the load is then complete; the
//!   result itself can reuse the register,
//! - at the next point where everything waits (barriers, calls), if a store read it, since a store
//!   has no result whose use would show that it is complete.
//!
//! 64-bit values start at even registers, so reading one occupies the even bank. Values read
//! together with it go to odd registers, and the even ones between stay free for others.
//! [`Cost::spaced`](super::Cost::spaced) counts all of this.

use super::graph::{BlockGraph, GraphNode};
use super::value::{Place, Release, Value};

/// The last memory access that has read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Nobody,
    /// This load.
    Load(u32),
    /// A store.
    Store,
}

/// Register counts by placement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    anywhere: i32,
    aligned: i32,
    pub(super) odd: i32,
}

impl Registers {
    pub(super) fn add(&mut self, place: Place, count: i32) {
        match place {
            Place::Anywhere => self.anywhere += count,
            Place::Aligned => self.aligned += count,
            Place::Odd => self.odd += count,
        }
    }

    /// Adds the placements of which `other` has more than none.
    pub(super) fn add_growth(&mut self, other: Self) {
        self.anywhere += other.anywhere.max(0);
        self.aligned += other.aligned.max(0);
        self.odd += other.odd.max(0);
    }

    pub(super) fn remove(&mut self, other: Self) {
        self.anywhere -= other.anywhere;
        self.aligned -= other.aligned;
        self.odd -= other.odd;
    }

    /// Returns the number of registers from the first to the last, the stack pointer's included,
    /// which is odd.
    pub(super) fn span(self) -> u32 {
        let odd = self.odd + 1;
        let single = (2 * odd).max(odd + self.anywhere);
        u32::try_from((self.aligned + 1) / 2 * 2 + single).unwrap_or(0)
    }
}

/// The registers that are allocated at a point of a walk, and those that will be free again.
#[derive(Default)]
pub(super) struct Allocated {
    /// Allocated registers, with gaps.
    pub(super) taken: Registers,
    /// Those of them that become free when everything waits.
    until_fence: Registers,
    /// By load: those that become free when its result is read; none before it starts and after its
    /// result has been read.
    until_read: Vec<Option<Registers>>,
    /// By value: the last memory access that read it.
    reader: Vec<Reader>,
    /// The most registers that were allocated.
    pub(super) most: u32,
}

impl Allocated {
    /// Starts with no registers.
    pub(super) fn new(graph: &BlockGraph) -> Self {
        Self {
            until_read: vec![None; graph.nodes.len()],
            reader: vec![Reader::Nobody; graph.values.len()],
            ..Self::default()
        }
    }

    /// Allocates a register for a value.
    pub(super) fn take(&mut self, value: &Value) {
        if !value.is_uniform() {
            self.taken.add(value.place, 1);
        }
    }

    /// Starts a node; returns the registers that are allocated while it runs.
    pub(super) fn start(&mut self, index: usize, node: &GraphNode) -> u32 {
        let during = match node.temporaries {
            0 => 0,
            temporaries => self.taken.span() + temporaries,
        };
        if node.waits {
            self.taken.remove(std::mem::take(&mut self.until_fence));
        }
        if node.release == Release::Loaded {
            self.until_read[index] = Some(Registers::default());
        }
        during
    }

    /// Reads a value for a node.
    pub(super) fn read(&mut self, index: usize, release: Release, number: u32, value: &Value) {
        if let Some(load) = value.load.checked_sub(1)
            && let Some(free) = self.until_read[load as usize].take()
        {
            self.taken.remove(free);
        }
        let reader = &mut self.reader[number as usize];
        match release {
            Release::Read => {}
            Release::Loaded if *reader == Reader::Store => {}
            Release::Loaded => *reader = Reader::Load(index as u32),
            Release::Fence => *reader = Reader::Store,
        }
    }

    /// Frees the register of a value that a node reads last, now or when no access can read it any
    /// more.
    pub(super) fn free(&mut self, index: usize, number: u32, value: &Value, reusable: &mut i32) {
        if value.is_uniform() {
            return;
        }
        match self.reader[number as usize] {
            Reader::Store => self.until_fence.add(value.place, 1),
            Reader::Load(load)
                if load as usize == index && value.place == Place::Aligned && *reusable > 0 =>
            {
                *reusable -= 1;
                self.taken.add(value.place, -1);
            }
            Reader::Load(load) => match &mut self.until_read[load as usize] {
                Some(waiting) => waiting.add(value.place, 1),
                None => self.taken.add(value.place, -1),
            },
            Reader::Nobody => self.taken.add(value.place, -1),
        }
    }

    /// Allocates the results of a node, which needed `during` registers if it has temporaries.
    pub(super) fn finish(&mut self, node: &GraphNode, defined: &[Value], during: u32) {
        self.taken.odd += node.stored_constants as i32;
        self.until_fence.odd += node.stored_constants as i32;
        for value in defined {
            self.take(value);
        }
        self.most = self.most.max(self.taken.span()).max(during);
    }
}
