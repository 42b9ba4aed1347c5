//! The sub-passes of a bundle together, for the bundles that ptxas leaves to its back ends.
//!
//! Copies first, so that the others see the same registers; then identities, predicates, and what
//! nothing needs any more. A sub-pass is a function that says whether it changed anything, and that
//! asks only the function for what to do; the list below is the one place to add one. So the fixed
//! point is reached as soon as each has found nothing since the last change, wherever in the list
//! that was, and a function which no phase has changed since is at it still.

use super::fixed_points::{Record, Stop};
use super::simplify_predicates;
use crate::dead_code::{find_dead, remove_dead};
use crate::peephole::Peephole;
use crate::{Analyses, PhaseContext, PhaseResult, ori_copy_prop};
use oriel_engine::entity::EntitySet;
use oriel_ori::Function;

/// Iterations at most. The longest that were seen are in docs/general-optimize.md.
const ITERATIONS: u32 = 16;

/// A step of the suite; did it change anything?
type SubPass = fn(&mut Function, &mut PhaseContext<'_>, &mut Record) -> bool;

/// The sub-passes, in order.
const SUB_PASSES: [SubPass; 4] = [
    propagate_copies,
    simplify_identities,
    simplify_predicates,
    remove_dead_code,
];

/// Runs the sub-passes until none changes anything.
pub(crate) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut record = Record::default();
    if context.is_simplified() {
        record.note(0, Stop::Converged);
        return record.finish(function, context);
    }
    // Sub-passes since the last change.
    let mut idle = 0;
    let stop = record.fixed_point(ITERATIONS, None, |record, _| {
        let mut is_changed = false;
        for sub_pass in SUB_PASSES {
            if idle == SUB_PASSES.len() {
                break;
            }
            let has_changed = sub_pass(function, context, record);
            idle = if has_changed { 0 } else { idle + 1 };
            is_changed |= has_changed;
        }
        is_changed
    });
    if stop == Stop::Converged {
        context.set_simplified();
    }
    record.finish(function, context)
}

fn propagate_copies(function: &mut Function, context: &mut PhaseContext<'_>, record: &mut Record) -> bool {
    let done = ori_copy_prop::propagate_in_ssa(function, context);
    record.count("propagated-copies", done);
    context.keep_only(match done {
        0 => Analyses::all(),
        _ => Analyses::CONTROL_FLOW,
    });
    done != 0
}

fn simplify_identities(function: &mut Function, context: &mut PhaseContext<'_>, record: &mut Record) -> bool {
    let mut peephole = Peephole::new(context);
    let done = peephole.simplify_function(function, context);
    if done == 0 {
        return false;
    }
    peephole.report(context);
    record.count("identities", done);
    // A branch that was turned has its edges in another order.
    context.keep_only(Analyses::empty());
    true
}

fn remove_dead_code(function: &mut Function, context: &mut PhaseContext<'_>, record: &mut Record) -> bool {
    let flow = context.control_flow(function);
    let dead = find_dead(function, &flow, &EntitySet::new());
    if dead.is_empty() {
        return false;
    }
    remove_dead(function, context, &dead);
    record.count("dead-instructions", dead.len() as u64);
    context.keep_only(Analyses::CONTROL_FLOW);
    true
}
