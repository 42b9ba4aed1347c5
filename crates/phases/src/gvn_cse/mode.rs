//! The part of the function in which an equal expression is searched.

/// A variant of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In the block, back to the last barrier.
    Simple,
    /// In the block, this many instructions back; for other phases.
    Window(u32),
    /// In dominators; expressions that end in copies, PHIs and loads.
    Standard,
    /// In dominators; all expressions except those of the special function unit.
    Full,
    /// In dominators; all expressions.
    Extended,
}

impl Mode {
    /// Returns the variant for a value of knob 402, or none if the phase does nothing.
    /// `has_extended_scope` is the back end's flag.
    pub fn dispatch(value: i64, has_extended_scope: bool) -> Option<Self> {
        match (value, has_extended_scope) {
            (1, _) => Some(Self::Simple),
            (2, _) | (4, false) => Some(Self::Standard),
            (3, _) | (4, true) | (5 | 6, false) => Some(Self::Full),
            (5 | 6, true) => Some(Self::Extended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dispatcher_remaps_what_the_back_end_lacks() {
        use Mode::{Extended, Full, Simple, Standard};
        let modes = |has_extended_scope| (-1..=7).map(move |value| Mode::dispatch(value, has_extended_scope));
        let full = [Some(Simple), Some(Standard), Some(Full)];
        let expected = |rest: [Option<Mode>; 3]| [&[None, None], &full[..], &rest[..], &[None]].concat();
        assert_eq!(
            Vec::from_iter(modes(true)),
            expected([Some(Full), Some(Extended), Some(Extended)])
        );
        assert_eq!(
            Vec::from_iter(modes(false)),
            expected([Some(Standard), Some(Full), Some(Full)])
        );
    }
}
