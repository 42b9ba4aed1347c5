//! The capabilities of ptxas' back ends, by generation of GPUs.
//!
//! For some phases, ptxas has no body of its own: it calls a slot of the back end's method table,
//! and in some generations that slot does nothing. Here a row of the [registry](super::registry)
//! names its hook, and profile `ptxas` leaves the phase out if the generation does not provide it.
//! Profile `max` and phases that the user names do not depend on hooks.

use bitflags::bitflags;

bitflags! {
    /// Phases that ptxas' back ends implement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Hooks: u8 {
        /// Phase 49.
        const GVN_CSE = 1 << 0;
        /// Phase 46.
        const GENERAL_OPTIMIZE_MID2 = 1 << 1;
        /// Phase 65.
        const GENERAL_OPTIMIZE_LATE2 = 1 << 2;
        /// Phases 82 and 83.
        const BACK_COPY_PROPAGATION = 1 << 3;
    }
}

/// The back end of a generation.
#[derive(Clone, Copy, Debug)]
struct Backend {
    /// The lowest compute capability that it supports, times ten.
    first_sm: u32,
    /// The hooks that it provides.
    hooks: Hooks,
}

/// The hooks of every generation. The reference mentions back ends without phase 46, but not which.
const COMMON: Hooks = Hooks::GENERAL_OPTIMIZE_MID2.union(Hooks::GENERAL_OPTIMIZE_LATE2);

const fn backend(first_sm: u32, hooks: Hooks) -> Backend {
    Backend {
        first_sm,
        hooks: COMMON.union(hooks),
    }
}

/// The back ends, oldest first. None of them provides backward copy propagation.
static BACKENDS: [Backend; 7] = [
    backend(30, Hooks::empty()),
    backend(50, Hooks::empty()),
    backend(60, Hooks::GVN_CSE),
    backend(70, Hooks::GVN_CSE),
    backend(80, Hooks::empty()),
    backend(89, Hooks::empty()),
    backend(90, Hooks::GVN_CSE),
];

/// True if the back end for a compute capability, times ten, provides these hooks. GPUs older than
/// the table have the oldest back end.
pub fn provides(sm: u32, hooks: Hooks) -> bool {
    let after = BACKENDS.partition_point(|backend| backend.first_sm <= sm);
    BACKENDS[after.saturating_sub(1)].hooks.contains(hooks)
}

/// Returns ptxas' number for a GPU: its generation of instruction encodings, and a variant in the
/// low 12 bits.
///
/// The reference gives the value for one or two GPUs of each generation; the others have that of
/// the previous one.
pub fn packed_sm(sm: u32) -> u32 {
    const PACKED: [(u32, u32); 7] = [
        (30, 3 << 12),
        (50, 4 << 12 | 1),
        (60, 6 << 12),
        (70, 7 << 12),
        (80, 7 << 12 | 1),
        (90, 8 << 12),
        (100, 9 << 12),
    ];
    let after = PACKED.partition_point(|&(first, _)| first <= sm);
    PACKED[after.saturating_sub(1)].1
}

/// The last packed number of GPUs whose immediates all have one form.
pub const LAST_FIXED_IMMEDIATES: u32 = (5 << 12) - 1;

/// Returns the first capability that ptxas tests of a GPU's class: two instructions issue at once.
pub fn is_dual_issue(sm: u32) -> bool {
    (50..60).contains(&sm)
}

/// True if a GPU has one of the three capabilities for which a select folds only after its
/// predicate was examined: two instructions issue at once (class 4), or it is of the class with
/// NVLink (11, from sm_70 on) or of Grace (10, sm_90).
pub fn is_conservative(sm: u32) -> bool {
    let (has_nvlink, is_grace) = (sm >= 70, sm == 90);
    is_dual_issue(sm) || has_nvlink || is_grace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_are_those_of_the_reference() {
        for (sm, packed) in [
            (30, 12288),
            (50, 16385),
            (60, 24576),
            (70, 28672),
            (80, 28673),
            (90, 32768),
            (100, 36864),
        ] {
            assert_eq!(packed_sm(sm), packed);
        }
        assert_eq!(LAST_FIXED_IMMEDIATES, 20479);
        assert_eq!([20, 53, 89].map(packed_sm), [12288, 16385, 28673]);
        assert_eq!(
            [30, 50, 60, 70, 90].map(is_conservative),
            [false, true, false, true, true]
        );
    }

    #[test]
    fn generations_provide_what_the_reference_says() {
        let with_gvn = |sm| provides(sm, Hooks::GVN_CSE);
        let all = [20, 30, 35, 50, 53, 60, 62, 70, 75, 80, 86, 87, 89, 90, 100, 120];
        let provided: Vec<u32> = all.into_iter().filter(|&sm| with_gvn(sm)).collect();
        assert_eq!(provided, [60, 62, 70, 75, 90, 100, 120]);
        assert!(all.iter().all(|&sm| provides(sm, COMMON)));
        assert!(!all.iter().any(|&sm| provides(sm, Hooks::BACK_COPY_PROPAGATION)));
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(BACKENDS.is_sorted_by(|a, b| a.first_sm < b.first_sm));
    }
}
