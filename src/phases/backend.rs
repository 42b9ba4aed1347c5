//! What ptxas' back ends provide, by generation of GPUs.
//!
//! ptxas has no body of its own for some phases: it calls a slot of the back end's method table, and in some generations
//! that slot does nothing. Here a row of the [registry](super::registry) names its hook, and profile `ptxas` leaves the
//! phase out where the generation does not provide it; profile `max` and phases that the user names ask nobody.

use bitflags::bitflags;

bitflags! {
    /// Phases that ptxas' back ends provide.
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
    /// The first compute capability that it is for, times ten.
    first_sm: u32,
    /// What it provides.
    hooks: Hooks,
}

/// What every generation provides: the reference knows of back ends without phase 46, but not which.
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

/// Does the back end for a compute capability, times ten, provide what hooks stand for? GPUs older than all of the
/// table have the oldest's.
pub fn provides(sm: u32, hooks: Hooks) -> bool {
    let after = BACKENDS.partition_point(|backend| backend.first_sm <= sm);
    BACKENDS[after.saturating_sub(1)].hooks.contains(hooks)
}

#[cfg(test)]
mod tests {
    use super::*;

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
