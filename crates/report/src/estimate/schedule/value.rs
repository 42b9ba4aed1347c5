//! Values of a region, and what each means for the registers.

/// A value: the result of one definition of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    /// What it adds to the live registers.
    pub(super) counts: Counts,
    pub(super) place: Place,
    /// The load that defines it, counted from one; zero for other values.
    pub(super) load: u32,
}

impl Value {
    pub(super) fn is_uniform(&self) -> bool {
        self.counts.uniform() > 0
    }
}

/// The registers that ptxas prefers for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    #[default]
    Anywhere,
    /// Starting at an even register.
    Aligned,
    /// At an odd register.
    Odd,
}

/// When a register becomes free after the last instruction that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Immediately.
    Read,
    /// When the result of the load is read: only then is it known that the load has read its
    /// address.
    Loaded,
    /// Where everything waits: for stores and operations without a result.
    Fence,
}

/// Numbers of live registers. They are in one array so that all of them are added at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([i32; 4]);

impl Counts {
    /// Returns the counts of one value.
    pub(super) fn of_value(is_uniform: bool, is_loaded: bool, is_recomputed: bool) -> Self {
        Self(
            [
                !is_uniform,
                is_uniform,
                !is_uniform && is_loaded,
                !is_uniform && !is_recomputed,
            ]
            .map(i32::from),
        )
    }

    pub(super) fn registers(self) -> i32 {
        self.0[0]
    }

    /// Makes the number of registers at least this.
    pub(super) fn raise_registers(&mut self, least: i32) {
        self.0[0] = self.0[0].max(least);
    }

    pub(super) fn uniform(self) -> i32 {
        self.0[1]
    }

    pub(super) fn loaded(self) -> i32 {
        self.0[2]
    }

    pub(super) fn kept(self) -> i32 {
        self.0[3]
    }

    pub(super) fn add(&mut self, other: Self) {
        (0..4).for_each(|index| self.0[index] += other.0[index]);
    }

    pub(super) fn remove(&mut self, other: Self) {
        (0..4).for_each(|index| self.0[index] -= other.0[index]);
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].max(other.0[index])))
    }
}
