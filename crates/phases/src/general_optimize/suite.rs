//! The suite: the sub-passes of the bundles that ptxas leaves to its back ends.
//!
//! Copies come first, so that the others see the same registers; then identities, predicates,
//! selects by these predicates, and dead code. Selects use the conditions that the predicates'
//! sub-pass collected, so they wait for a round in which it changes nothing. Each sub-pass reports whether it changed anything, and a change schedules the
//! sub-passes that it may give work. The fixed point is reached when none is pending, and a
//! function unchanged since then is still at it.
//!
//! | what changed | due again |
//! |---|---|
//! | copies | identities, predicates, selects, dead code |
//! | identities | copies, predicates, selects, dead code |
//! | predicates | everything |
//! | selects | copies, identities, predicates, dead code |
//! | dead code | identities, at registers that have lost uses |

use super::branch_conditions::BranchConditions;
use super::fixed_points::{Record, Stop};
use super::simplify_predicates;
use crate::ori_copy_prop::{self, Guards};
use crate::peephole::Peephole;
use crate::shared::dead_code::{find_dead, remove_dead};
use crate::{Analyses, PhaseContext, PhaseResult};
use oriel_engine::entity::{EntitySet, Register};
use oriel_ori::{Function, Operand};

/// The most iterations. The longest ones observed are in docs/general-optimize.md.
const ITERATIONS: u32 = 16;

bitflags::bitflags! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct SubPasses: u8 {
        const COPIES = 1 << 0;
        const IDENTITIES = 1 << 1;
        const PREDICATES = 1 << 2;
        const SELECTS = 1 << 3;
        const DEAD_CODE = 1 << 4;
    }
}

/// Runs the sub-passes until none changes anything.
pub(crate) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut record = Record::default();
    if context.is_simplified() {
        record.note(0, Stop::Converged);
        return record.finish(function, context);
    }
    let mut suite = Suite {
        due: SubPasses::all(),
        identities: Extent::Everywhere,
    };
    let stop = record.fixed_point(ITERATIONS, None, |record, _| {
        suite.iterate(function, context, record)
    });
    if stop == Stop::Converged {
        context.set_simplified();
    }
    record.finish(function, context)
}

/// The pending work.
struct Suite {
    due: SubPasses,
    /// The part of the function in which identities are pending.
    identities: Extent,
}

/// A part of a function.
enum Extent {
    Everywhere,
    /// The definitions and users of these registers.
    Around(Vec<Register>),
}

impl Suite {
    /// Runs each pending sub-pass in order. Returns whether one changed anything.
    fn iterate(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        record: &mut Record,
    ) -> bool {
        let mut is_changed = false;
        // The predicates' sub-pass leaves these if it changed nothing.
        let mut conditions = None;
        for sub_pass in SubPasses::all().iter() {
            if !self.due.contains(sub_pass) {
                continue;
            }
            if sub_pass == SubPasses::SELECTS && self.due.contains(SubPasses::PREDICATES) {
                continue;
            }
            self.due.remove(sub_pass);
            let has_changed = match sub_pass {
                SubPasses::COPIES => propagate_copies(function, context, record, Guards::Unknown),
                SubPasses::IDENTITIES => self.simplify_identities(function, context, record),
                SubPasses::PREDICATES => {
                    conditions = simplify_predicates(function, context, record);
                    conditions.is_none()
                }
                SubPasses::SELECTS => {
                    // Selects are decided by comparisons of floats, whatever the knob says.
                    let known = conditions.take().filter(BranchConditions::takes_floats);
                    let guards = known.map_or(Guards::OnDemand, Guards::Known);
                    propagate_copies(function, context, record, guards)
                }
                _ => self.remove_dead_code(function, context, record),
            };
            if has_changed {
                self.note_change(sub_pass);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Schedules the sub-passes to which a change by `sub_pass` may give work.
    fn note_change(&mut self, sub_pass: SubPasses) {
        self.due |= match sub_pass {
            SubPasses::PREDICATES => SubPasses::all(),
            SubPasses::DEAD_CODE => SubPasses::IDENTITIES,
            // Each of the others has reached its own fixed point.
            _ => SubPasses::all().difference(sub_pass),
        };
        if !matches!(sub_pass, SubPasses::IDENTITIES | SubPasses::DEAD_CODE) {
            self.identities = Extent::Everywhere;
        }
    }

    fn simplify_identities(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        record: &mut Record,
    ) -> bool {
        let mut peephole = Peephole::new(context);
        let done = match std::mem::replace(&mut self.identities, Extent::Around(Vec::new())) {
            Extent::Everywhere => peephole.simplify_function(function, context),
            Extent::Around(registers) => peephole.simplify_around(function, context, &registers),
        };
        if done == 0 {
            return false;
        }
        peephole.report(context);
        record.count("identities", done);
        // A reversed branch has its edges in another order.
        context.keep_only(Analyses::empty());
        true
    }

    fn remove_dead_code(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        record: &mut Record,
    ) -> bool {
        let flow = context.control_flow(function);
        let dead = find_dead(function, &flow, &EntitySet::new());
        if dead.is_empty() {
            return false;
        }
        if let Extent::Around(registers) = &mut self.identities {
            let sources = dead.iter().flat_map(|&dead| function.sources(dead).iter());
            registers.extend(sources.filter_map(Operand::as_register));
        }
        remove_dead(function, context, &dead);
        record.count("dead-instructions", dead.len() as u64);
        context.keep_only(Analyses::CONTROL_FLOW);
        true
    }
}

fn propagate_copies(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    record: &mut Record,
    guards: Guards,
) -> bool {
    let done = ori_copy_prop::propagate_in_ssa(function, context, guards);
    record.count("propagated-copies", done);
    if done != 0 {
        context.keep_only(Analyses::CONTROL_FLOW);
    }
    done != 0
}
