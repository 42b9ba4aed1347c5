//! When two instructions compute the same: the conditions C1 to C7.

use crate::expressions::{depends_on_writes, is_commutative, result_registers};
use oriel_engine::entity::{Block, EntityRef, Register};
use oriel_engine::graph::DominatorTree;
use oriel_ori::{Function, Instruction, MemoryVersions, Operand, Operation};

/// What equivalence depends on beside the instructions.
pub(super) struct Equivalence<'a> {
    pub dominators: &'a DominatorTree<Block>,
    pub versions: Option<&'a MemoryVersions>,
    /// By register: the register that stands for its value.
    pub representatives: &'a [Register],
}

impl Equivalence<'_> {
    /// C1 and C2: does every path to the second go through the first? In one block the walk has met
    /// it before, in another its block has to dominate.
    pub fn comes_first(&self, function: &Function, first: Instruction, second: Instruction) -> bool {
        match (function.block_of(first), function.block_of(second)) {
            (Some(outer), Some(inner)) => self.dominators.dominates(outer, inner),
            _ => false,
        }
    }

    /// C3 to C7: do both compute the same, if the first comes first?
    pub fn holds(&self, function: &Function, first: Instruction, second: Instruction) -> bool {
        self.has_no_dependence(function, first, second)
            && has_same_shape(function, first, second)
            && self.has_same_sources(function, first, second)
    }

    /// C3: nothing between them keeps one from taking the other's place.
    fn has_no_dependence(&self, function: &Function, first: Instruction, second: Instruction) -> bool {
        match function.operation(first) {
            Operation::Ld => {
                let depend = [first, second].map(|load| depends_on_writes(function, load));
                let are_same = |versions: &MemoryVersions| versions.read_the_same(first, second);
                depend == [false, false] || (depend == [true, true] && self.versions.is_some_and(are_same))
            }
            // A PHI's value belongs to the edges of its block.
            Operation::Phi => function.block_of(first) == function.block_of(second),
            _ => true,
        }
    }

    /// C7, and C4 for predicates, which are sources like others.
    fn has_same_sources(&self, function: &Function, first: Instruction, second: Instruction) -> bool {
        let (left, right) = (function.sources(first), function.sources(second));
        let rest = if is_commutative(function, first) { 2 } else { 0 };
        let agree = |number: usize, other: usize| self.is_same_operand(left.get(number), right.get(other));
        (rest..left.len()).all(|number| agree(number, number))
            && (rest == 0 || agree(0, 0) && agree(1, 1) || agree(0, 1) && agree(1, 0))
    }

    /// Tag, modifiers (C7a, C7b), and the value (C7d).
    fn is_same_operand(&self, left: Operand, right: Operand) -> bool {
        self.canonical(left) == self.canonical(right)
    }

    /// The operand with the register that stands for the value of its own.
    fn canonical(&self, operand: Operand) -> Operand {
        match operand.as_register() {
            Some(register) => operand.with_register(self.representatives[register.index()]),
            None => operand,
        }
    }
}

/// C5 and C6: as many operands, results and sources in the same places, and the operation, its
/// types and modifiers, and the kinds of the results (C7c).
fn has_same_shape(function: &Function, first: Instruction, second: Instruction) -> bool {
    let counts = |instruction| {
        (
            function.results(instruction).len(),
            function.sources(instruction).len(),
        )
    };
    let what = |instruction| {
        (
            function.operation(instruction),
            function.data_type(instruction),
            function.source_type(instruction),
            function.modifiers(instruction),
        )
    };
    let kind = |register| {
        let data = function.register(register);
        (data.file, data.bits, data.class)
    };
    let mut results = result_registers(function, first).zip(result_registers(function, second));
    counts(first) == counts(second)
        && what(first) == what(second)
        && results.all(|(first, second)| kind(first) == kind(second))
}
