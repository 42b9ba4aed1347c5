//! How far the pipeline has come with a function, as ptxas counts it.
//!
//! The counter (`context+1552`) says behind which steps a function is, so that later phases may
//! rely on what these leave true and take liberties that would have been in their way before.

/// A value of the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Progress(u32);

impl Progress {
    /// Nothing that counts has run.
    pub const START: Self = Self(0);

    /// Phase 83 has run: from here on registers that addresses are made of (the reference's class 3
    /// and register 41) may be changed like all others.
    ///
    /// The reference asks whether the counter is *greater* than 9, the value that phase 83 gives
    /// it, though the relaxation is meant for what follows phase 83; here 9 is enough.
    pub const BACK_COPY_PROPAGATED: Self = Self(9);

    /// Phase 95 has run.
    pub const LEGALIZED: Self = Self(19);
}
