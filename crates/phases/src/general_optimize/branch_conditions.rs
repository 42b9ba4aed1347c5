//! Branch conditions: the conditions that hold in a block because control arrives by one side of a
//! branch.
//!
//! ```text
//! bix0: BRA %1, bix2, fall bix1          %1 = ISETP.lt %3, %4
//! bix1: ...                              here %3 >= %4
//! ```
//!
//! A block that only one side of a branch leads to, and everything that it dominates, knows the
//! branch's condition. All such conditions on the path from the entry are combined: after "not
//! less" and "not greater" two numbers are equal. [`Values`] identifies predicates of equal values
//! with one condition, so a predicate can be decided even if no branch uses it.
//!
//! `BranchConditions` stay valid when branches lose edges that control could not take: that only
//! adds dominators. Where a branch becomes unconditional for another reason, its condition is no
//! longer known and must be [forgotten](BranchConditions::forget).

use super::condition::{ComparedPair, Condition, Order, Relations};
use super::values::Values;
use oriel_engine::entity::{Block, EntitySet, PackedOption, PrimaryMap, Register, SecondaryMap, entity_impl};
use oriel_engine::hash::NumberMap;
use oriel_ori::{ControlFlow, Function, Operand, OperandKind, Operation};
use smallvec::SmallVec;

/// The most conditions of one pair that are considered.
const SCANNED: usize = 64;

/// The most levels of operations on predicates that are followed.
const DEPTH: u32 = 4;

/// A [`ComparedPair`] of the function's conditions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PairId(u32);
entity_impl!(PairId, "pair");

/// The conditions decided by branches.
#[derive(Debug)]
pub(crate) struct BranchConditions {
    /// By register; none for what is no predicate.
    conditions: SecondaryMap<Register, Option<(PairId, Relations)>>,
    pairs: PrimaryMap<PairId, ComparedPair>,
    /// By pair: the one with the other signedness, if the function has it.
    other_signs: SecondaryMap<PairId, PackedOption<PairId>>,
    decided: SecondaryMap<PairId, SmallVec<[Decided; 2]>>,
    /// Predicates with a condition whose value is not known anywhere: most of them.
    unknown: EntitySet<Register>,
    takes_floats: bool,
}

/// One side of a branch.
#[derive(Clone, Copy, Debug)]
struct Decided {
    from: Block,
    to: Block,
    /// The relations possible on that side.
    possible: Relations,
    /// True if nothing else leads to the block.
    is_only_way: bool,
}

/// The point at which a predicate is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowPoint {
    /// Anywhere in a block.
    In(Block),
    /// On the edge from one block to another.
    Edge(Block, Block),
}

impl FlowPoint {
    /// Returns the block, or the source of the edge.
    const fn block(self) -> Block {
        match self {
            Self::In(block) | Self::Edge(block, _) => block,
        }
    }
}

impl BranchConditions {
    /// Collects the conditions of all branches. Without `takes_floats`, comparisons of floats
    /// decide nothing.
    pub fn new(function: &Function, flow: &ControlFlow, values: &mut Values, takes_floats: bool) -> Self {
        let mut branch_conditions = Self {
            conditions: SecondaryMap::new(),
            pairs: PrimaryMap::new(),
            other_signs: SecondaryMap::new(),
            decided: SecondaryMap::new(),
            unknown: EntitySet::with_capacity(function.register_limit()),
            takes_floats,
        };
        let predicates: Vec<Register> = function
            .registers()
            .filter(|&register| function.register(register).file.is_predicate())
            .filter(|&register| function.unique_definition(register).is_some())
            .collect();
        branch_conditions.find_conditions(function, values, &predicates);
        for &block in flow.order.as_slice() {
            if let Some((predicate, [taken, other])) = conditional_branch(function, block)
                && taken != other
                && let Some(register) = predicate.as_register()
            {
                for (to, side) in [(taken, true), (other, false)] {
                    let value = side != predicate.is_complemented();
                    branch_conditions.record(function, flow, register, value, (block, to), DEPTH);
                }
            }
        }
        for predicate in predicates {
            if !branch_conditions.may_be_known(function, predicate, DEPTH) {
                branch_conditions.unknown.insert(predicate);
            }
        }
        branch_conditions
    }

    /// Finds the conditions of predicates, and numbers their pairs.
    fn find_conditions(&mut self, function: &Function, values: &mut Values, predicates: &[Register]) {
        let mut ids: NumberMap<ComparedPair, PairId> = NumberMap::default();
        for &predicate in predicates {
            let Condition { pair, holds } = Condition::of(function, values, predicate);
            let id = *ids.entry(pair).or_insert_with(|| self.pairs.push(pair));
            self.conditions[predicate] = Some((id, holds));
        }
        for (id, pair) in self.pairs.iter() {
            let other = pair.with_other_sign();
            self.other_signs[id] = other.and_then(|other| ids.get(&other).copied()).into();
        }
    }

    /// True if the value of a predicate may be known at some point.
    fn may_be_known(&self, function: &Function, predicate: Register, depth: u32) -> bool {
        let is_decided = |(pair, holds): (PairId, Relations)| {
            let pairs = [Some(pair), self.other_signs[pair].expand()];
            let mut pairs = pairs.into_iter().flatten();
            let possible = || self.pairs[pair].possible();
            pairs.any(|pair| !self.decided[pair].is_empty()) || holds.among(possible()).is_some()
        };
        constant_predicate(function, predicate).is_some()
            || self.known_condition(predicate).is_some_and(is_decided)
            || depth > 0
                && parts(function, predicate).is_some_and(|(_, operands)| {
                    let mut registers = operands.into_iter().filter_map(Operand::as_register);
                    registers.any(|register| self.may_be_known(function, register, depth - 1))
                })
    }

    /// True if comparisons of floats decide something.
    pub fn takes_floats(&self) -> bool {
        self.takes_floats
    }

    /// Returns the pair of a predicate's condition and the relations for which it is true.
    fn known_condition(&self, predicate: Register) -> Option<(PairId, Relations)> {
        let (pair, holds) = self.conditions[predicate]?;
        let is_float = matches!(self.pairs[pair].order, Order::Float(..));
        (self.takes_floats || !is_float).then_some((pair, holds))
    }

    /// Records that a predicate has a value on an edge, and the same for its parts.
    fn record(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        predicate: Register,
        value: bool,
        (from, to): (Block, Block),
        depth: u32,
    ) {
        let Some((pair, holds)) = self.known_condition(predicate) else {
            return;
        };
        let decided = &mut self.decided[pair];
        if decided.len() < SCANNED {
            decided.push(Decided {
                from,
                to,
                possible: holds.given(value),
                is_only_way: flow.graph.predecessors(to).len() == 1 && to != function.entry(),
            });
        }
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let implied = parts(function, predicate).filter(|(operation, _)| match operation {
            Operation::Not => true,
            Operation::And => value,
            Operation::Or => !value,
            _ => false,
        });
        if let Some((operation, operands)) = implied {
            for operand in operands {
                let value = (value != (operation == Operation::Not)) != operand.is_complemented();
                if let Some(register) = operand.read_register() {
                    self.record(function, flow, register, value, (from, to), depth);
                }
            }
        }
    }

    /// Forgets the condition of the branch at the end of a block, which became unconditional
    /// regardless of it.
    pub fn forget(&mut self, branch: Block) {
        for branch_conditions in self.decided.values_mut() {
            branch_conditions.retain(|decided| decided.from != branch);
        }
    }

    /// Returns the condition that a predicate represents, with the number of its pair, or none for
    /// a predicate created since.
    pub fn condition(&self, predicate: Register) -> Option<(PairId, Condition)> {
        let (id, holds) = self.known_condition(predicate)?;
        let pair = self.pairs[id];
        Some((id, Condition { pair, holds }))
    }

    /// Returns a predicate's value at a point, if known.
    pub fn value(
        &self,
        function: &Function,
        flow: &ControlFlow,
        predicate: Register,
        point: FlowPoint,
    ) -> Option<bool> {
        match self.unknown.contains(predicate) {
            true => None,
            false => self.value_to_depth(function, flow, predicate, point, DEPTH),
        }
    }

    /// Returns a predicate operand's value at a point, if known.
    pub fn value_of_operand(
        &self,
        function: &Function,
        flow: &ControlFlow,
        operand: Operand,
        point: FlowPoint,
    ) -> Option<bool> {
        let register = operand.read_register()?;
        let value = self.value(function, flow, register, point)?;
        Some(value != operand.is_complemented())
    }

    fn value_to_depth(
        &self,
        function: &Function,
        flow: &ControlFlow,
        predicate: Register,
        point: FlowPoint,
        depth: u32,
    ) -> Option<bool> {
        if let Some(value) = constant_predicate(function, predicate) {
            return Some(value);
        }
        if let Some((pair, holds)) = self.known_condition(predicate)
            && let Some(value) = holds.among(self.possible(flow, pair, point))
        {
            return Some(value);
        }
        let depth = depth.checked_sub(1)?;
        let (operation, operands) = parts(function, predicate)?;
        let known = operands.map(|operand| {
            let register = operand.read_register()?;
            let value = self.value_to_depth(function, flow, register, point, depth)?;
            Some(value != operand.is_complemented())
        });
        match (operation, known) {
            (Operation::Not, [value, _]) => value.map(|value| !value),
            (Operation::And, [Some(false), _] | [_, Some(false)]) => Some(false),
            (Operation::Or, [Some(true), _] | [_, Some(true)]) => Some(true),
            (Operation::And, [Some(true), Some(true)]) => Some(true),
            (Operation::Or, [Some(false), Some(false)]) => Some(false),
            (Operation::Xor, [Some(one), Some(other)]) => Some(one != other),
            _ => None,
        }
    }

    /// Returns the relations of a pair that are possible at a point.
    fn possible(&self, flow: &ControlFlow, pair: PairId, point: FlowPoint) -> Relations {
        let possible = self.pairs[pair].possible() & self.decided_relations(flow, pair, point);
        match self.other_signs[pair].expand() {
            None => possible,
            // Integers are equal or not regardless of signedness.
            Some(other) => possible & self.decided_relations(flow, other, point).without_sign(),
        }
    }

    /// Returns the relations that branches leave possible.
    fn decided_relations(&self, flow: &ControlFlow, pair: PairId, point: FlowPoint) -> Relations {
        let here = self.decided[pair].iter().filter(|decided| {
            point == FlowPoint::Edge(decided.from, decided.to)
                || decided.is_only_way && flow.dominators.dominates(decided.to, point.block())
        });
        here.fold(Relations::all(), |possible, decided| possible & decided.possible)
    }
}

/// Returns the predicate and the two targets of a block's conditional branch.
pub(crate) fn conditional_branch(function: &Function, block: Block) -> Option<(Operand, [Block; 2])> {
    let branch = function.terminator(block)?;
    let sources = function.sources(branch);
    if function.operation(branch) != Operation::Bra || sources.len() != 3 {
        return None;
    }
    let predicate = sources.get(0);
    let targets = [sources.get(1).as_block()?, sources.get(2).as_block()?];
    (predicate.as_register().is_some() && !predicate.is_undefined()).then_some((predicate, targets))
}

/// Returns the operands of a predicate that combines predicates; with one operand, it is in both
/// positions.
pub(crate) fn parts(function: &Function, predicate: Register) -> Option<(Operation, [Operand; 2])> {
    let definition = function.unique_definition(predicate)?;
    let operation = function.operation(definition);
    let sources = function.sources(definition);
    match operation {
        Operation::Not => Some((operation, [sources.get(0); 2])),
        Operation::And | Operation::Or | Operation::Xor => {
            Some((operation, [sources.get(0), sources.get(1)]))
        }
        _ => None,
    }
}

/// Returns the constant value of a predicate.
pub(crate) fn constant_predicate(function: &Function, predicate: Register) -> Option<bool> {
    let definition = function.unique_definition(predicate)?;
    if !function.operation(definition).is_copy() {
        return None;
    }
    match function.source(definition, 0).kind() {
        OperandKind::Immediate(value) => Some(value & 1 != 0),
        _ => None,
    }
}
