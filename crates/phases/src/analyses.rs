//! What is known of a function beside its code, from phase to phase.
//!
//! A row of the registry says which analyses a phase needs and which are still right after it. They
//! are made when the first phase needs them, outside the phases' own times, and kept until a phase
//! changes the function without keeping them.

use super::PhaseOptions;
use super::registry::Phase;
use bitflags::bitflags;
use oriel_ori::{ControlFlow, Function, Liveness};
use std::collections::BTreeSet;
use std::rc::Rc;

bitflags! {
    /// Analyses of a function.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Analyses: u8 {
        /// [`ControlFlow`]. Right as long as no block, edge or place in the layout changes.
        const CONTROL_FLOW = 1 << 0;
        /// [`Liveness`]. Right as long as control flow and all operands stay.
        const LIVENESS = 1 << 1;
    }
}

/// The analyses of one function that are known.
#[derive(Debug, Default)]
pub(super) struct AnalysisCache {
    control_flow: Option<Rc<ControlFlow>>,
    liveness: Option<Rc<Liveness>>,
}

impl AnalysisCache {
    /// Makes what is wanted and not known.
    pub fn prepare(&mut self, wanted: Analyses, function: &Function, options: &PhaseOptions) {
        if wanted.contains(Analyses::CONTROL_FLOW) {
            self.control_flow(function, options);
        }
        if wanted.contains(Analyses::LIVENESS) {
            self.liveness(function, options);
        }
    }

    /// Returns the control flow of the function as it is.
    pub fn control_flow(&mut self, function: &Function, options: &PhaseOptions) -> Rc<ControlFlow> {
        let make = || Rc::new(ControlFlow::analyze(function, options.traversal));
        Rc::clone(self.control_flow.get_or_insert_with(make))
    }

    /// Returns the liveness of the function as it is.
    pub fn liveness(&mut self, function: &Function, options: &PhaseOptions) -> Rc<Liveness> {
        let flow = self.control_flow(function, options);
        let make = || Rc::new(Liveness::compute(function, &flow));
        Rc::clone(self.liveness.get_or_insert_with(make))
    }

    /// Forgets all but these.
    pub fn keep(&mut self, kept: Analyses) {
        if !kept.contains(Analyses::CONTROL_FLOW) {
            self.control_flow = None;
        }
        if !kept.contains(Analyses::LIVENESS) {
            self.liveness = None;
        }
    }

    /// Checks that what a phase kept is what would be made anew.
    ///
    /// # Errors
    /// It is not; the message names phase and analysis.
    pub fn check(&self, phase: &Phase, function: &Function, options: &PhaseOptions) -> Result<(), String> {
        let flow = ControlFlow::analyze(function, options.traversal);
        let mut stale = None;
        if let Some(kept) = &self.control_flow
            && !is_same_flow(kept, &flow)
        {
            stale = Some("control flow");
        }
        if let Some(kept) = &self.liveness
            && !is_same_liveness(function, kept, &Liveness::compute(function, &flow))
        {
            stale = Some("liveness");
        }
        match stale {
            None => Ok(()),
            Some(analysis) => Err(format!(
                "{} does not keep {analysis}, as its row says",
                phase.name
            )),
        }
    }
}

/// True if both have the same edges and the same order. What else there is follows from these.
fn is_same_flow(kept: &ControlFlow, made: &ControlFlow) -> bool {
    kept.graph == made.graph && kept.order.as_slice() == made.order.as_slice()
}

fn is_same_liveness(function: &Function, kept: &Liveness, made: &Liveness) -> bool {
    let sets = |liveness: &Liveness, block| {
        [
            liveness.live_in(block).collect::<BTreeSet<_>>(),
            liveness.live_out(block).collect(),
        ]
    };
    let mut blocks = function.blocks().iter();
    blocks.all(|&block| sets(kept, block) == sets(made, block))
}
