//! A new order of the instructions of a block, with the positions of debug instructions in it.

use super::weights::Weights;
use super::{ChoiceRule, list};
use oriel_engine::entity::{Block, EntityRef};
use oriel_ori::analysis::{DependencyGraph, DependencyNode};
use oriel_ori::{Function, Instruction, Liveness, Operation, Position};

/// The instructions of a block between PHIs and terminator in a new order.
#[derive(Clone, Debug)]
pub(crate) struct BlockOrder {
    block: Block,
    /// Without debug instructions.
    graph: DependencyGraph,
    nodes: Vec<DependencyNode>,
}

impl BlockOrder {
    /// Computes the order of a rule.
    pub fn find(
        rule: ChoiceRule,
        function: &Function,
        liveness: &Liveness,
        weights: &Weights,
        block: Block,
    ) -> Self {
        let graph = DependencyGraph::compute(function, block);
        let nodes = list::order(rule, function, liveness, weights, block, &graph);
        Self { block, graph, nodes }
    }

    /// Returns the block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Returns the block's dependencies.
    pub fn graph(&self) -> &DependencyGraph {
        &self.graph
    }

    /// Returns the instructions, by their nodes in [`BlockOrder::graph`].
    pub fn nodes(&self) -> &[DependencyNode] {
        &self.nodes
    }

    /// Returns the first instruction that moves.
    pub fn first_moved(&self) -> Option<Instruction> {
        let mut moved = self
            .nodes
            .iter()
            .zip(self.graph.nodes())
            .filter(|&(&now, before)| now != before);
        moved.next().map(|(&now, _)| self.graph.instruction(now))
    }

    /// Puts the instructions of the block in this order. Returns how many real instructions changed
    /// their position.
    pub fn apply(&self, function: &mut Function) -> usize {
        let end = match function.terminator(self.block) {
            Some(terminator) => Position::Before(terminator),
            None => Position::End(self.block),
        };
        let followers = DebugFollowers::find(function, self.block, &self.nodes);
        let mut move_to_end = |instruction| function.move_to(instruction, end);
        followers.at(0).for_each(&mut move_to_end);
        let mut moved = 0;
        for (place, &node) in self.nodes.iter().enumerate() {
            moved += usize::from(place != node.index());
            move_to_end(self.graph.instruction(node));
            followers.at(place + 1).for_each(&mut move_to_end);
        }
        moved
    }
}

/// The debug instructions of a block before its terminator. Each is placed as soon as all
/// instructions that preceded it are, so that they keep their own order and find every register
/// with its previous value: none is redefined by then.
struct DebugFollowers {
    /// Each with the number of instructions that precede it, ascending.
    followers: Vec<(usize, Instruction)>,
}

impl DebugFollowers {
    /// Computes the positions of a block's debug instructions for an order.
    fn find(function: &Function, block: Block, nodes: &[DependencyNode]) -> Self {
        let mut places = vec![0; nodes.len()];
        for (place, node) in nodes.iter().enumerate() {
            places[node.index()] = place;
        }
        let mut followers = Vec::new();
        let (mut passed, mut behind) = (0, 0);
        for instruction in function.instructions(block) {
            let operation = function.operation(instruction);
            if operation.is_terminator() {
                break;
            }
            if operation.is_debug() {
                followers.push((behind, instruction));
            } else if operation != Operation::Phi {
                behind = behind.max(places[passed] + 1);
                passed += 1;
            }
        }
        Self { followers }
    }

    /// Returns those that follow the first `behind` instructions.
    fn at(&self, behind: usize) -> impl Iterator<Item = Instruction> + '_ {
        let first = self.followers.partition_point(|&(other, _)| other < behind);
        let followers = self.followers[first..].iter();
        followers
            .take_while(move |&&(other, _)| other == behind)
            .map(|&(_, instruction)| instruction)
    }
}
