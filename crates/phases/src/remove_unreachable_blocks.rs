//! RemoveUnreachableBlocks: removes unreachable blocks.
//!
//! ```text
//! bix0: BRA bix2            bix0: BRA bix2
//! bix1: ... BRA bix2   ─▶   bix2: %3 = PHI %1, bix0
//! bix2: %3 = PHI %1, bix0, %2, bix1
//! ```
//!
//! Removes blocks that the entry does not reach, with the values that PHIs take from there. A block
//! referenced by something other than the function's branches stays, and so does everything
//! reachable from it. The reference has no number for the step and describes it as part of what
//! follows a change of control flow.

use super::{PhaseContext, PhaseResult};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    context.result_of("removed-blocks", function.remove_unreachable_blocks())
}

#[cfg(test)]
mod tests {
    use crate::testing::{append_phi, block, edges, function, numbers, run_phase};
    use oriel_ori::parse_function;

    #[test]
    fn what_the_entry_does_not_reach_goes() {
        let mut function = function(&[&[3], &[2], &[1, 3], &[]]);
        let (phi, _) = append_phi(&mut function, 3, &[0, 2]);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 3]);
        assert_eq!(edges(&function), [(0, 3)]);
        assert_eq!(function.sources(phi).len(), 2);
        assert!(function.phi_value(phi, block(0)).is_some());
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn what_something_else_refers_to_stays_with_what_it_leads_to() {
        let text = "kernel \"k\" sm_80 ssa {\nbix0:\n    RET\nbix1: address_taken\n    BRA fall bix2\n\
                    bix2:\n    RET\nbix3:\n    BRA bix2\n}\n";
        let mut function = parse_function(text).expect("it parses");
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 2]);
        assert_eq!(function.verify(), []);
    }
}
