//! The progress of the pipeline for a function, as ptxas counts it.
//!
//! The counter (`context+1552`) tells which steps a function has passed. Later phases may rely on
//! the guarantees of these steps, and may make changes that would have hindered them.

/// A value of the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipelineProgress(u32);

impl PipelineProgress {
    /// No relevant phase has run.
    pub const START: Self = Self(0);

    /// Phase 83 has run: from here on registers used in addresses (the reference's class 3 and
    /// register 41) may be changed like all others.
    ///
    /// The reference tests whether the counter is *greater* than 9, the value that phase 83 sets,
    /// though the relaxation is meant for everything after phase 83; here 9 is enough.
    pub const BACK_COPY_PROPAGATED: Self = Self(9);

    /// Phase 95 has run.
    pub const LEGALIZED: Self = Self(19);
}
