//! A new order of the instructions of a block, and where debug instructions come in it.

use super::weights::Weights;
use super::{Policy, list};
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
    /// Returns the order that a policy gives.
    pub fn find(
        policy: Policy,
        function: &Function,
        liveness: &Liveness,
        weights: &Weights,
        block: Block,
    ) -> Self {
        let graph = DependencyGraph::compute(function, block);
        let nodes = list::order(policy, function, liveness, weights, block, &graph);
        Self { block, graph, nodes }
    }

    /// Returns the block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// What has to stay in order.
    pub fn graph(&self) -> &DependencyGraph {
        &self.graph
    }

    /// Returns the instructions, by their nodes in [`BlockOrder::graph`].
    pub fn nodes(&self) -> &[DependencyNode] {
        &self.nodes
    }

    /// The first instruction that moves.
    pub fn first_moved(&self) -> Option<Instruction> {
        let mut moved = self
            .nodes
            .iter()
            .zip(self.graph.nodes())
            .filter(|&(&now, before)| now != before);
        moved.next().map(|(&now, _)| self.graph.instruction(now))
    }

    /// Puts the instructions of the block in this order; how many have another place among those
    /// that are for more than debuggers.
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

/// The debug instructions of a block before its terminator. Each comes as soon as all that it stood
/// behind have their places, so that they keep their own order and find every register as they
/// found it before: none is defined again by then.
struct DebugFollowers {
    /// With the number of instructions that it comes behind, ascending.
    followers: Vec<(usize, Instruction)>,
}

impl DebugFollowers {
    /// Returns those of a block whose instructions get this order.
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

    /// Returns those that come behind so many.
    fn at(&self, behind: usize) -> impl Iterator<Item = Instruction> + '_ {
        let first = self.followers.partition_point(|&(other, _)| other < behind);
        let followers = self.followers[first..].iter();
        followers
            .take_while(move |&&(other, _)| other == behind)
            .map(|&(_, instruction)| instruction)
    }
}
