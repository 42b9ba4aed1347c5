//! Fills the blocks of a graph with operations, whose operands are values that are defined there.
//!
//! A block is filled after its immediate dominator and starts with that block's values in scope, so
//! that every definition dominates its uses. PHI operands come last, from the scopes at the ends of
//! the predecessors. Variables of the late form are used and defined freely; `defined.rs` repairs
//! uses without a definition afterwards.

use super::filler::{Filler, Target};
use super::graph::{Graph, Otherwise, Terminator};
use super::index::{Block, Span, Table};
use super::model::{Body, Comparison, Function, Operation, Phi, Special, Type, Use};
use super::operations;
use super::options::{Form, Options};
use super::scope::Scope;
use oriel_random::Random;

/// Fills a graph with about `budget` machine instructions.
pub(super) fn fill(
    graph: Graph,
    target: Target,
    options: &Options,
    budget: usize,
    random: &mut Random,
) -> Function {
    let filler = Filler::new(graph.entry(), target, options, budget, random);
    let long_lived = options.long_lived.min(budget / 8);
    filler.fill(graph, long_lived, budget)
}

/// Decisions about a block before it is filled.
struct BlockDecisions {
    /// The block that uses the long-lived values.
    last: Block,
    /// The types of the PHIs in blocks without an immediate dominator, which have no scope to choose
    /// from.
    phi_types: Table<Block, Vec<Type>>,
}

impl Filler<'_> {
    fn fill(mut self, graph: Graph, long_lived: usize, budget: usize) -> Function {
        let blocks = graph.len();
        let decisions = self.decisions(&graph);
        let empty = Body {
            phis: Span::EMPTY,
            instructions: Span::EMPTY,
            condition: None,
        };
        let mut bodies = Table::filled(blocks, empty);
        let mut scopes: Table<Block, Scope> = Table::filled(blocks, Scope::default());
        // The cost of the block ends is known beforehand; the blocks share the rest.
        let mut overhead: usize = graph.blocks().map(|block| self.overhead(&graph, block)).sum();
        overhead += long_lived;
        for (position, &block) in graph.order.iter().enumerate() {
            let left = budget.saturating_sub(self.spent + overhead);
            let mean = left / (blocks - position);
            let target = if position + 1 == blocks {
                mean
            } else {
                self.random.between(0, 2 * mean)
            };
            overhead -= self.overhead(&graph, block);
            self.scope = graph
                .dominator(block)
                .map(|above| scopes[above].clone())
                .unwrap_or_default();
            bodies[block] = self.fill_block(&graph, &decisions, block, target, long_lived);
            scopes[block] = std::mem::take(&mut self.scope);
        }
        self.finish_phis(&graph, &bodies, &scopes);
        Function {
            graph,
            types: self.types,
            variables: self.variable_count,
            bodies,
            phis: self.phis,
            instructions: self.instructions,
            results: self.results,
            uses: self.uses,
            undefined_at_start: Table::filled(blocks, Vec::new()),
            undefined_at_end: Table::filled(blocks, Vec::new()),
        }
    }

    /// Chooses the last block and the PHIs that no scope can suggest.
    fn decisions(&mut self, graph: &Graph) -> BlockDecisions {
        let dominated_by_entry = |block: &Block| {
            let mut at = *block;
            while let Some(above) = graph.dominator(at) {
                at = above;
            }
            at == graph.entry()
        };
        let returns = graph
            .blocks()
            .rev()
            .filter(|&block| graph.terminators[block] == Terminator::Return);
        let last = returns.take(8).find(dominated_by_entry);
        let mut phi_types = Table::filled(graph.len(), Vec::new());
        if self.has_phis() {
            for block in graph.blocks().filter(|&block| graph.dominator(block).is_none()) {
                if !graph.predecessors(block).is_empty() && block != graph.entry() {
                    let count = self.random.index(3);
                    phi_types[block] = (0..count).map(|_| self.random.pick(&Type::ALL)).collect();
                }
            }
        }
        BlockDecisions {
            last: last.unwrap_or(graph.entry()),
            phi_types,
        }
    }

    fn has_phis(&self) -> bool {
        self.target != Target::Machine(Form::Late)
    }

    /// Returns the number of instructions at the end of a block, some of which the emitter adds.
    fn overhead(&self, graph: &Graph, block: Block) -> usize {
        let machine = matches!(self.target, Target::Machine(_));
        let goes_back = graph.successors(block).iter().any(|&target| target <= block);
        // A count or fuel: an addition, a comparison and an and.
        let bound = if goes_back && !machine { 3 } else { 0 };
        bound
            + match &graph.terminators[block] {
                Terminator::Return => 1,
                Terminator::FallThrough => 0,
                // `llc` changes the block layout, after which most jumps are gone.
                Terminator::Jump(_) => usize::from(machine),
                // A fresh comparison is counted where it is made.
                Terminator::Branch {
                    otherwise: Otherwise::Jump(_),
                    ..
                } if machine => 2,
                Terminator::Branch { .. } => 1,
                Terminator::Switch(targets) if machine => 2 + targets.len(),
                Terminator::Switch(targets) if targets.len() > 4 => 6,
                Terminator::Switch(targets) => 2 * targets.len(),
            }
    }

    /// Fills a block with about `budget` machine instructions.
    fn fill_block(
        &mut self,
        graph: &Graph,
        decisions: &BlockDecisions,
        block: Block,
        budget: usize,
        long_lived: usize,
    ) -> Body {
        let phis_start = self.phis.len();
        self.block = block;
        if self.has_phis() {
            self.start_phis(graph, decisions, block);
        }
        let phis = Span::new(phis_start..self.phis.len());
        self.merged = self.phis[phis_start..].iter().map(|phi| phi.result).collect();
        let start = self.instructions.len();
        let spent = self.spent;
        if block == graph.entry() {
            self.start_function(long_lived, budget);
        }
        while self.spent - spent < budget {
            operations::add_one(self);
        }
        if decisions.last == block {
            self.use_long_lived();
        }
        for &successor in graph.successors(block) {
            for &ty in &decisions.phi_types[successor] {
                if !self.scope.has(ty) {
                    operations::make(self, ty);
                }
            }
        }
        let condition = match &graph.terminators[block] {
            Terminator::Return | Terminator::FallThrough | Terminator::Jump(_) => None,
            Terminator::Branch { .. } => Some(self.predicate()),
            Terminator::Switch(_) => Some(self.unpredictable()),
        };
        operations::use_what_is_left(self);
        if let Some(Use::Value(value)) = condition {
            // The condition may have been combined with other values; using it twice is no problem.
            debug_assert!(matches!(self.types[value], Type::I1 | Type::I32));
        }
        // The terminator is part of the size, and so are the instructions that only the printed
        // form has.
        self.spent += self.overhead(graph, block);
        Body {
            phis,
            instructions: Span::new(start..self.instructions.len()),
            condition,
        }
    }

    /// Returns a number that selects the successor.
    ///
    /// In LLVM IR it is loaded from memory: `llc` may know enough about a computed one to drop an
    /// edge and all code after it.
    fn unpredictable(&mut self) -> Use {
        if self.target != Target::LlvmIr {
            return self.operand(Type::I32);
        }
        let value = operations::source(self, Type::I32);
        self.mark_used(value);
        Use::Value(value)
    }

    fn predicate(&mut self) -> Use {
        if self.target == Target::LlvmIr || self.random.percent(70) || !self.scope.has(Type::I1) {
            let left = self.unpredictable();
            let right = self.operand_or_constant(Type::I32);
            let right = self.other_than(left, right, Type::I32);
            let comparison = self.random.pick(&Comparison::ALL);
            let result = self.define(Type::I1);
            self.push(
                Operation::Compare(comparison),
                Type::I32,
                &[result],
                &[left, right],
            );
            self.mark_used(result);
            return Use::Value(result);
        }
        self.operand(Type::I1)
    }

    /// Defines parameters and the long-lived values.
    fn start_function(&mut self, long_lived: usize, budget: usize) {
        if self.target == Target::LlvmIr {
            self.simple(Operation::Special(Special::ThreadIndex), Type::I32);
            if budget > 4 {
                let ty = self.random.pick(&Type::NUMBERS);
                self.simple(Operation::Parameter, ty);
            }
        }
        for _ in 0..long_lived {
            let ty = self.random.pick(&Type::NUMBERS);
            let value = operations::source(self, ty);
            self.mark_used(value);
            self.long_lived.push(value);
        }
    }

    /// Uses the long-lived values, each with another value.
    fn use_long_lived(&mut self) {
        for value in std::mem::take(&mut self.long_lived) {
            let ty = self.types[value];
            let other = self.operand(ty);
            operations::combine(self, ty, Use::Value(value), other);
        }
        if self.target == Target::LlvmIr {
            // Without any effect `llc` would drop the whole function.
            operations::store(self, Type::I32);
        }
    }

    /// Adds the PHIs of a block, still without operands.
    fn start_phis(&mut self, graph: &Graph, decisions: &BlockDecisions, block: Block) {
        let predecessors = graph.predecessors(block).len();
        if predecessors == 0 || block == graph.entry() {
            return;
        }
        let mut types = decisions.phi_types[block].clone();
        if graph.dominator(block).is_some() && (predecessors > 1 || self.random.percent(3)) {
            let wide = predecessors > 16;
            let count = if wide {
                self.random.index(2)
            } else {
                self.random.between(0, 3)
            };
            for _ in 0..count {
                let ty = self.random.pick(&Type::ALL);
                // In LLVM IR, merging a predicate costs many instructions, which would distort the
                // size.
                let unwanted = ty == Type::I1 && self.target == Target::LlvmIr && self.random.percent(90);
                if self.scope.has(ty) && !unwanted {
                    types.push(ty);
                }
            }
        }
        for ty in types {
            let result = self.fresh(ty);
            self.phis.push(Phi {
                result,
                operands: Span::EMPTY,
            });
            // In machine code a PHI is an instruction; `llc` coalesces most of them away.
            self.spent += usize::from(self.target != Target::LlvmIr);
        }
    }

    /// Adds the operands of all PHIs.
    fn finish_phis(&mut self, graph: &Graph, bodies: &Table<Block, Body>, scopes: &Table<Block, Scope>) {
        for block in graph.blocks() {
            for index in bodies[block].phis.range() {
                let ty = self.types[self.phis[index].result];
                let start = self.uses.len();
                for &predecessor in graph.predecessors(block) {
                    // A loop carries an early-clobber result in all PHIs of its header that can
                    // hold it.
                    let early = self.early_results.iter().find(|&&(home, merged, _)| {
                        home == block && self.types[merged] == ty && graph.dominates(block, predecessor)
                    });
                    if let Some(&(_, _, result)) = early {
                        self.uses.push(Use::Value(result));
                        continue;
                    }
                    let value = scopes[predecessor].pick(ty, self.random);
                    let value =
                        value.expect("the scope at the end of a predecessor has what the dominator has");
                    self.uses.push(Use::Value(value));
                }
                self.phis[index].operands = Span::new(start..self.uses.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::Value;
    use super::super::options::Shape;
    use super::super::shape;
    use super::*;
    use oriel_random::Stream;

    /// The emitters and LLVM rely on this: in static single assignment form, its definition
    /// dominates every operand.
    #[test]
    fn definitions_dominate_uses() {
        for &shape in Shape::ALL {
            for seed in 0..20 {
                let options = Options {
                    seed,
                    shape,
                    ..Options::default()
                };
                let mut random = Random::new(seed, Stream::Body);
                let graph = shape::graph(&options, false, 30, &mut random);
                let function = fill(graph, Target::Machine(Form::Ssa), &options, 300, &mut random);
                check_dominance(&function);
            }
        }
    }

    fn check_dominance(function: &Function) {
        let mut home: Table<Value, Option<Block>> = Table::filled(function.types.len(), None);
        for block in function.graph.blocks() {
            let phis = function.phis_of(block).iter().map(|phi| phi.result);
            let results = function
                .instructions_of(block)
                .iter()
                .flat_map(|i| function.results_of(i))
                .copied();
            for value in phis.chain(results) {
                assert_eq!(home[value], None, "a value has one definition");
                home[value] = Some(block);
            }
        }
        let dominates = |above: Block, below: Block| {
            std::iter::successors(Some(below), |&at| function.graph.dominator(at)).any(|at| at == above)
        };
        for block in function.graph.blocks() {
            for instruction in function.instructions_of(block) {
                for operand in function.operands_of(instruction) {
                    if let Use::Value(value) = operand {
                        assert!(dominates(home[*value].expect("a used value is defined"), block));
                    }
                }
            }
        }
    }
}
