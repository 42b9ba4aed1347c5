//! Analyses of a function that phases share.
//!
//! A row of the registry lists the analyses that a phase needs and those that it preserves. An
//! analysis is computed when the first phase needs it, outside the phases' own times, and kept
//! until a phase changes the function without preserving it.

use super::registry::Phase;
use crate::PhaseOptions;
use bitflags::bitflags;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::Register;
use oriel_ori::analysis::asynchronous_registers;
use oriel_ori::{ControlFlow, Function, Liveness};
use std::rc::Rc;

bitflags! {
    /// Analyses of a function.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Analyses: u8 {
        /// [`ControlFlow`]. Valid while no block, edge or layout position changes.
        const CONTROL_FLOW = 1 << 0;
        /// [`Liveness`]. Valid while control flow and all operands stay the same.
        const LIVENESS = 1 << 1;
        /// [`Liveness`] in which instructions may have no index, which takes less time: as long as
        /// no phase has changed the function, it is that of the input. A phase may need it, but it
        /// cannot keep it: it is valid as long as `LIVENESS` is.
        const LIVE_RANGES = 1 << 2;
    }
}

/// The known analyses of one function.
#[derive(Debug, Default)]
pub(crate) struct AnalysisCache {
    control_flow: Option<Rc<ControlFlow>>,
    liveness: Option<Rc<Liveness>>,
    /// The liveness of the input, while the function equals it.
    of_input: Option<Rc<Liveness>>,
    /// See [`AnalysisCache::asynchronous_registers`].
    asynchronous_registers: Option<Rc<EntityBitSet<Register>>>,
    /// True if the function was changed since `liveness` was computed or updated.
    is_liveness_stale: bool,
}

impl AnalysisCache {
    /// Takes the liveness of the input, which the function equals and whose log of edits starts there.
    pub fn know_live_ranges(&mut self, of_input: Liveness) {
        self.of_input = Some(Rc::new(of_input));
    }

    /// Returns the [registers that may be in use in the background](asynchronous_registers). Phases
    /// that run on functions with some leave these alone, and no phase adds one.
    pub fn asynchronous_registers(&mut self, function: &Function) -> Rc<EntityBitSet<Register>> {
        let make = || Rc::new(asynchronous_registers(function));
        Rc::clone(self.asynchronous_registers.get_or_insert_with(make))
    }

    /// Computes the wanted analyses that are not known.
    pub fn prepare(&mut self, wanted: Analyses, function: &Function, options: &PhaseOptions) {
        if wanted.contains(Analyses::CONTROL_FLOW) {
            self.control_flow(function, options);
        }
        if wanted.contains(Analyses::LIVENESS) {
            self.liveness(function, options);
        }
        if wanted.contains(Analyses::LIVE_RANGES) {
            self.live_ranges(function, options);
        }
    }

    /// Returns the control flow of the current function.
    pub fn control_flow(&mut self, function: &Function, options: &PhaseOptions) -> Rc<ControlFlow> {
        let make = || Rc::new(ControlFlow::analyze(function, options.traversal));
        Rc::clone(self.control_flow.get_or_insert_with(make))
    }

    /// Returns the liveness of the current function: an earlier one, updated if that is possible
    /// and cheaper than a computation.
    pub fn liveness(&mut self, function: &Function, options: &PhaseOptions) -> Rc<Liveness> {
        let flow = self.control_flow(function, options);
        if self.liveness.is_none() && self.of_input.is_some() {
            (self.liveness, self.is_liveness_stale) = (self.of_input.take(), true);
        }
        if std::mem::take(&mut self.is_liveness_stale) {
            let earlier = self.liveness.as_mut().and_then(Rc::get_mut);
            if !earlier.is_some_and(|earlier| earlier.update(function, &flow)) {
                self.liveness = None;
            } else if cfg!(debug_assertions) {
                self.assert_liveness(function, &flow);
            }
        }
        let make = || Rc::new(Liveness::compute(function, &flow));
        Rc::clone(self.liveness.get_or_insert_with(make))
    }

    /// Returns the liveness of the current function, in which instructions may have no index.
    pub fn live_ranges(&mut self, function: &Function, options: &PhaseOptions) -> Rc<Liveness> {
        let Some(liveness) = self.of_input.clone() else {
            return self.liveness(function, options);
        };
        if cfg!(debug_assertions) {
            let computed = Liveness::compute(function, &self.control_flow(function, options));
            assert!(
                liveness.has_boundaries_of(&computed, function),
                "{function} is not the input"
            );
        }
        liveness
    }

    fn assert_liveness(&self, function: &Function, flow: &ControlFlow) {
        let updated = self.liveness.as_ref().expect("it was just updated");
        let difference = updated.difference(&Liveness::compute(function, flow), function);
        assert_eq!(difference, None, "updated liveness differs\n{function}");
    }

    /// Forgets all analyses except these.
    pub fn keep(&mut self, kept: Analyses) {
        if !kept.contains(Analyses::CONTROL_FLOW) {
            (self.control_flow, self.liveness, self.of_input) = (None, None, None);
        }
        if !kept.contains(Analyses::LIVENESS) {
            self.is_liveness_stale = true;
            let of_input = self.of_input.take();
            self.liveness = self.liveness.take().or(of_input);
        }
    }

    /// True if a liveness is known that follows the function's log of edits.
    pub fn has_liveness(&self) -> bool {
        self.liveness.is_some() || self.of_input.is_some()
    }

    /// True if the liveness of the current function is known.
    pub fn has_current_liveness(&self) -> bool {
        self.liveness.is_some() && !self.is_liveness_stale
    }

    /// Checks that the analyses which a phase preserved, and the liveness that follows its edits,
    /// equal recomputed ones.
    ///
    /// # Errors
    /// One does not; the message names phase and analysis.
    pub fn check(&self, phase: &Phase, function: &Function, options: &PhaseOptions) -> Result<(), String> {
        let flow = ControlFlow::analyze(function, options.traversal);
        if let Some(kept) = &self.control_flow
            && !is_same_flow(kept, &flow)
        {
            return Err(format!(
                "{} does not preserve control flow, although its row says so",
                phase.name
            ));
        }
        if let Some(of_input) = &self.of_input
            && !of_input.has_boundaries_of(&Liveness::compute(function, &flow), function)
        {
            return Err(format!(
                "the liveness of the input is not that of the function after {}",
                phase.name
            ));
        }
        let Some(kept) = self.liveness.as_ref().or(self.of_input.as_ref()) else {
            return Ok(());
        };
        let mut kept = Liveness::clone(kept);
        // The liveness of the input gets indexes of instructions by an update.
        let needs_update = self.is_liveness_stale || self.liveness.is_none();
        if needs_update && !kept.update(function, &flow) {
            return Ok(());
        }
        match kept.difference(&Liveness::compute(function, &flow), function) {
            None => Ok(()),
            Some(difference) if self.is_liveness_stale => Err(format!(
                "the update of liveness after {} is wrong: {difference}",
                phase.name
            )),
            Some(difference) => Err(format!(
                "{} does not preserve liveness, although its row says so: {difference}",
                phase.name
            )),
        }
    }
}

/// True if both have the same edges and the same order, from which all the rest follows.
fn is_same_flow(kept: &ControlFlow, made: &ControlFlow) -> bool {
    kept.graph == made.graph && kept.order.as_slice() == made.order.as_slice()
}
