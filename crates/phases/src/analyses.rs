//! Analyses of a function that phases share.
//!
//! A row of the registry lists the analyses that a phase needs and those that it preserves. An
//! analysis is computed when the first phase needs it, outside the phases' own times, and kept
//! until a phase changes the function without preserving it.

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
        /// [`ControlFlow`]. Valid while no block, edge or layout position changes.
        const CONTROL_FLOW = 1 << 0;
        /// [`Liveness`]. Valid while control flow and all operands stay the same.
        const LIVENESS = 1 << 1;
    }
}

/// The known analyses of one function.
#[derive(Debug, Default)]
pub(super) struct AnalysisCache {
    control_flow: Option<Rc<ControlFlow>>,
    liveness: Option<Rc<Liveness>>,
}

impl AnalysisCache {
    /// Computes the wanted analyses that are not known.
    pub fn prepare(&mut self, wanted: Analyses, function: &Function, options: &PhaseOptions) {
        if wanted.contains(Analyses::CONTROL_FLOW) {
            self.control_flow(function, options);
        }
        if wanted.contains(Analyses::LIVENESS) {
            self.liveness(function, options);
        }
    }

    /// Returns the control flow of the current function.
    pub fn control_flow(&mut self, function: &Function, options: &PhaseOptions) -> Rc<ControlFlow> {
        let make = || Rc::new(ControlFlow::analyze(function, options.traversal));
        Rc::clone(self.control_flow.get_or_insert_with(make))
    }

    /// Returns the liveness of the current function.
    pub fn liveness(&mut self, function: &Function, options: &PhaseOptions) -> Rc<Liveness> {
        let flow = self.control_flow(function, options);
        let make = || Rc::new(Liveness::compute(function, &flow));
        Rc::clone(self.liveness.get_or_insert_with(make))
    }

    /// Forgets all analyses except these.
    pub fn keep(&mut self, kept: Analyses) {
        if !kept.contains(Analyses::CONTROL_FLOW) {
            self.control_flow = None;
        }
        if !kept.contains(Analyses::LIVENESS) {
            self.liveness = None;
        }
    }

    /// Checks that the analyses which a phase preserved equal recomputed ones.
    ///
    /// # Errors
    /// One does not; the message names phase and analysis.
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
                "{} does not preserve {analysis}, although its row says so",
                phase.name
            )),
        }
    }
}

/// True if both have the same edges and the same order, from which all the rest follows.
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
