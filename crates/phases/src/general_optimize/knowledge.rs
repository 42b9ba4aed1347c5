//! The facts that a walk over a function uses, and collects.

use super::branch_conditions::{BranchConditions, FlowPoint};
use super::redundant::{Pair, Redundancy};
use super::simplifier;
use super::values::Values;
use oriel_engine::entity::Block;
use oriel_ori::{ControlFlow, Function, Instruction, Operand};
use std::rc::Rc;

/// The facts of a walk in reverse post-order.
pub(crate) struct Knowledge {
    pub flow: Rc<ControlFlow>,
    pub branch_conditions: BranchConditions,
    pub values: Values,
    redundancy: Redundancy,
}

impl Knowledge {
    /// The facts before the walk; without floats, comparisons of them decide nothing.
    pub fn new(function: &Function, flow: Rc<ControlFlow>, takes_floats: bool) -> Self {
        let mut values = Values::default();
        Self {
            branch_conditions: BranchConditions::new(function, &flow, &mut values, takes_floats),
            flow,
            values,
            redundancy: Redundancy::default(),
        }
    }

    /// Returns what makes an instruction redundant; see [`Redundancy::visit`].
    pub fn visit(&mut self, function: &Function, instruction: Instruction) -> Option<Pair> {
        self.redundancy.visit(
            function,
            &self.flow,
            &self.branch_conditions,
            &mut self.values,
            instruction,
        )
    }

    /// Returns the value of a predicate operand in a block, if branches decide it.
    pub fn value_of_operand(&self, function: &Function, operand: Operand, block: Block) -> Option<bool> {
        let place = FlowPoint::In(block);
        self.branch_conditions
            .value_of_operand(function, &self.flow, operand, place)
    }

    /// The same, if the simplifier decides it.
    pub(super) fn simplify(&self, function: &Function, predicate: Operand, block: Block) -> Option<bool> {
        simplifier::simplify(function, &self.flow, &self.branch_conditions, predicate, block)
    }
}
