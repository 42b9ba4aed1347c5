//! List scheduling from the end of a block to its start.
//!
//! Among the instructions whose successors are placed, a [`ChoiceRule`] chooses the next one upward;
//! ties go to the last one in the present order. Most rules consider how many more registers an
//! instruction makes live than it frees (it frees those of its results and needs those of its
//! sources that nothing below reads), and when its result was requested: choosing the latest first
//! groups the computation of one value (the order of Sethi and Ullman, except that a node's
//! children are not weighed).
//!
//! The units that an instruction adds change only when one of its sources becomes live, once for
//! each reader, so the whole takes time n log n.
//!
//! # Registers with several definitions
//!
//! A redefinition of a register stays after all instructions that precede it. So a debug
//! instruction that follows its predecessors finds its previous value in every register, whichever
//! one it names.

use super::weights::Weights;
use super::{ChoiceRule, is_load};
use oriel_engine::entity::{Block, EntityRef, PrimaryMap, Register, SecondaryMap, entity_impl};
use oriel_ori::analysis::{DependencyGraph, DependencyNode};
use oriel_ori::{Function, Instruction, Liveness};
use oriel_random::{Random, Stream};
use smallvec::SmallVec;
use std::collections::{BinaryHeap, HashMap};

/// Approximate cycles until the result of a load, or of another instruction, can be read.
const LOAD_LATENCY: i64 = 30;
const LATENCY: i64 = 4;

/// The content of a register from one of its definitions in the block on, or from before the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Value(u32);
entity_impl!(Value, "value");

#[derive(Clone, Debug, Default)]
struct ValueData {
    weight: i64,
    definition: Option<DependencyNode>,
    readers: SmallVec<[DependencyNode; 4]>,
    /// True if it is live above the placed instructions.
    is_live: bool,
}

#[derive(Clone, Debug, Default)]
struct NodeData {
    reads: SmallVec<[Value; 4]>,
    writes: SmallVec<[Value; 2]>,
    /// Units that are live above it and not below.
    adds: i64,
    /// The latest time at which one of its results was requested, counted in placed instructions;
    /// zero if they are live after the block, or there are none.
    asked: u32,
    /// The number of nodes that must be placed before it.
    waits_for: usize,
    is_placed: bool,
}

/// An instruction that can be next, ordered by the criteria; the greatest is next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The first criterion of the rule.
    rank: i64,
    asked: u32,
    node: DependencyNode,
}

/// Returns the nodes of a block's graph in a new order.
pub(super) fn order(
    rule: ChoiceRule,
    function: &Function,
    liveness: &Liveness,
    weights: &Weights,
    block: Block,
    graph: &DependencyGraph,
) -> Vec<DependencyNode> {
    let mut list = List {
        rule,
        ranks: fixed_ranks(rule, function, block, graph),
        graph,
        values: PrimaryMap::new(),
        nodes: SecondaryMap::with_capacity(graph.nodes().len()),
        redefinitions: Vec::new(),
        ready: BinaryHeap::new(),
        order: Vec::with_capacity(graph.nodes().len()),
    };
    list.name_values(function, liveness, weights, block);
    list.run(function);
    list.order.reverse();
    list.order
}

/// True if it defines a register that has other definitions.
fn redefines(function: &Function, instruction: Instruction) -> bool {
    let mut results = function.result_registers(instruction);
    results.any(|register| function.unique_definition(register).is_none())
}

/// Returns the fixed ranks that a rule gives nodes, or none if it depends on the units that they
/// add.
fn fixed_ranks(rule: ChoiceRule, function: &Function, block: Block, graph: &DependencyGraph) -> Vec<i64> {
    let by_load = |of_load, of_others| {
        let is_load = |node| is_load(function, graph.instruction(node));
        let rank = |node| if is_load(node) { of_load } else { of_others };
        graph.nodes().map(rank).collect()
    };
    match rule {
        ChoiceRule::Pressure | ChoiceRule::FreeFirst | ChoiceRule::FewestAdded => Vec::new(),
        ChoiceRule::AskedLast => vec![0; graph.nodes().len()],
        ChoiceRule::LoadsEarly => by_load(0, 1),
        ChoiceRule::LoadsLate => by_load(1, 0),
        ChoiceRule::LongestPath => {
            let mut depths = vec![0; graph.nodes().len()];
            for node in graph.nodes() {
                let instruction = graph.instruction(node);
                let latency = if is_load(function, instruction) {
                    LOAD_LATENCY
                } else {
                    LATENCY
                };
                for &(later, _) in graph.successors(node) {
                    depths[later.index()] = depths[later.index()].max(depths[node.index()] + latency);
                }
            }
            depths
        }
        ChoiceRule::Random(seed) => {
            // Each block has an order of its own.
            let seed = seed ^ (block.index() as u64).rotate_left(32);
            let mut random = Random::new(seed, Stream::InstructionOrder);
            graph.nodes().map(|_| random.below(1 << 32) as i64).collect()
        }
    }
}

struct List<'a> {
    rule: ChoiceRule,
    /// By node; empty if ranks change.
    ranks: Vec<i64>,
    graph: &'a DependencyGraph,
    values: PrimaryMap<Value, ValueData>,
    nodes: SecondaryMap<DependencyNode, NodeData>,
    /// Redefinitions, which stay after all instructions that precede them, ascending.
    redefinitions: Vec<DependencyNode>,
    ready: BinaryHeap<Candidate>,
    /// In reverse.
    order: Vec<DependencyNode>,
}

impl List<'_> {
    /// Finds the values that each instruction reads and writes, and those live at the end.
    fn name_values(&mut self, function: &Function, liveness: &Liveness, weights: &Weights, block: Block) {
        let mut current: HashMap<Register, Value> = HashMap::new();
        let new_value = |values: &mut PrimaryMap<Value, ValueData>, register, definition| {
            values.push(ValueData {
                weight: i64::from(weights.get(register)),
                definition,
                ..ValueData::default()
            })
        };
        for node in self.graph.nodes() {
            let instruction = self.graph.instruction(node);
            for register in registers_read(function, instruction) {
                let value = *current
                    .entry(register)
                    .or_insert_with(|| new_value(&mut self.values, register, None));
                if !self.nodes[node].reads.contains(&value) {
                    self.nodes[node].reads.push(value);
                    self.values[value].readers.push(node);
                }
            }
            for register in function.result_registers(instruction) {
                let value = new_value(&mut self.values, register, Some(node));
                current.insert(register, value);
                self.nodes[node].writes.push(value);
            }
        }
        for node in self.graph.nodes() {
            let reads = self.nodes[node].reads.iter();
            self.nodes[node].adds = reads.map(|&value| self.values[value].weight).sum();
        }
        let at_end = function.terminator(block).into_iter();
        let at_end = at_end.flat_map(|terminator| registers_read(function, terminator));
        for register in liveness.live_out(block).chain(at_end) {
            if let Some(&value) = current.get(&register) {
                self.make_live(value, 0);
            }
        }
    }

    fn run(&mut self, function: &Function) {
        let graph = self.graph;
        self.redefinitions = graph
            .nodes()
            .filter(|&node| redefines(function, graph.instruction(node)))
            .collect();
        let last = self.redefinitions.last().map_or(0, |last| last.index());
        for node in graph.nodes() {
            self.nodes[node].waits_for = graph.successors(node).len() + usize::from(node.index() < last);
        }
        for node in graph.nodes() {
            if self.nodes[node].waits_for == 0 {
                self.make_ready(node);
            }
        }
        while let Some(candidate) = self.ready.pop() {
            // It may be in the queue twice, the first time with a higher rank.
            if !std::mem::replace(&mut self.nodes[candidate.node].is_placed, true) {
                self.place(candidate.node);
            }
        }
        debug_assert_eq!(self.order.len(), graph.nodes().len(), "a dependency goes round");
    }

    fn place(&mut self, node: DependencyNode) {
        self.order.push(node);
        let now = self.order.len() as u32;
        let NodeData { reads, writes, .. } = std::mem::take(&mut self.nodes[node]);
        self.nodes[node].is_placed = true;
        for value in writes {
            self.values[value].is_live = false;
        }
        for value in reads {
            if !self.values[value].is_live {
                self.make_live(value, now);
            }
        }
        let graph = self.graph;
        for &earlier in graph.predecessors(node) {
            self.release(earlier);
        }
        if let Ok(at) = self.redefinitions.binary_search(&node) {
            let first = at
                .checked_sub(1)
                .map_or(0, |before| self.redefinitions[before].index());
            for earlier in (first..node.index()).map(DependencyNode::new) {
                self.release(earlier);
            }
        }
    }

    /// Records that one of the nodes that a node waited for is placed.
    fn release(&mut self, node: DependencyNode) {
        self.nodes[node].waits_for -= 1;
        if self.nodes[node].waits_for == 0 {
            self.make_ready(node);
        }
    }

    fn make_ready(&mut self, node: DependencyNode) {
        self.ready.push(self.candidate(node));
    }

    fn candidate(&self, node: DependencyNode) -> Candidate {
        let NodeData { adds, asked, .. } = self.nodes[node];
        let rank = match self.rule {
            ChoiceRule::Pressure | ChoiceRule::FreeFirst => i64::from(adds <= 0),
            ChoiceRule::FewestAdded => -adds,
            _ => self.ranks[node.index()],
        };
        let looks_at_asked = matches!(self.rule, ChoiceRule::Pressure | ChoiceRule::AskedLast);
        Candidate {
            rank,
            asked: if looks_at_asked { asked } else { 0 },
            node,
        }
    }

    /// Records that a value is live from here upward.
    fn make_live(&mut self, value: Value, now: u32) {
        let data = &mut self.values[value];
        data.is_live = true;
        let (weight, definition, readers) = (data.weight, data.definition, data.readers.len());
        if let Some(definition) = definition {
            let data = &mut self.nodes[definition];
            data.adds -= weight;
            data.asked = data.asked.max(now);
        }
        for number in 0..readers {
            let reader = self.values[value].readers[number];
            let before = self.candidate(reader);
            let data = &mut self.nodes[reader];
            data.adds -= weight;
            let is_ready = data.waits_for == 0 && !data.is_placed && now > 0;
            let after = self.candidate(reader);
            if is_ready && after > before {
                self.ready.push(after);
            }
        }
    }
}

/// Returns the registers whose values an instruction reads.
fn registers_read(function: &Function, instruction: Instruction) -> impl Iterator<Item = Register> + '_ {
    let sources = function.sources(instruction).iter();
    sources
        .filter(|source| !source.is_undefined())
        .filter_map(|source| source.as_register())
}

#[cfg(test)]
mod tests {
    use super::super::tests::rules;
    use super::*;
    use crate::testing::kernel;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::random_function::random_function;
    use proptest::prelude::*;

    /// Returns the order of the entry block of a kernel in late form, by numbers in the present
    /// one.
    fn numbers(rule: ChoiceRule, body: &str) -> Vec<usize> {
        let function = kernel("sm_80 late", &format!("bix0:\n{body}    RET\n"));
        let liveness = Liveness::of(&function);
        let graph = DependencyGraph::compute(&function, function.entry());
        let weights = Weights::of(&function);
        let order = order(rule, &function, &liveness, &weights, function.entry(), &graph);
        order.into_iter().map(EntityRef::index).collect()
    }

    #[test]
    fn what_computes_one_value_stands_together() {
        let found = numbers(
            ChoiceRule::Pressure,
            "    %1:R32 = LD.global.b32.b32 [0]
    %2:R32 = LD.global.b32.b32 [4]
    %3:R32 = LD.global.b32.b32 [8]
    %4:R32 = IADD.b32 %1, 1
    %5:R32 = IADD.b32 %2, 2
    %6:R32 = IADD.b32 %3, 3
    %7:R32 = IADD.b32 %4, %5
    %8:R32 = IADD.b32 %7, %6
    ST.shared.b32.b32 %8, [0]
",
        );
        assert_eq!(found, [0, 3, 1, 4, 6, 2, 5, 7, 8]);
    }

    #[test]
    fn what_frees_registers_comes_before_what_takes_them() {
        // Upward: the second load frees a register as soon as its value was requested.
        let found = numbers(
            ChoiceRule::Pressure,
            "    %1:R32 = LD.global.b32.b32 [0]
    %2:R32 = LD.global.b32.b32 [4]
    %3:R32 = IADD.b32 %1, 1
    ST.shared.b32.b32 %3, [0]
    %4:R32 = IADD.b32 %1, %2
    ST.local.b32.b32 %4, [0]
",
        );
        assert_eq!(found, [0, 2, 3, 1, 4, 5]);
    }

    #[test]
    fn each_policy_has_its_order() {
        let body = "    %1:R64 = LD.param::entry.b64.b64 [0]
    %2:R32 = LD.global.b32.b32 [%1]
    %3:R32 = LD.global.b32.b32 [4]
    %4:R32 = IADD.b32 %2, 1
    %5:R32 = IADD.b32 %3, 2
    %6:R32 = IMUL.b32 %4, %4
    %7:R32 = IADD.b32 %5, %6
    ST.shared.b32.b32 %7, [0]
";
        let orders = [
            (ChoiceRule::AskedLast, [2, 4, 0, 1, 3, 5, 6, 7]),
            (ChoiceRule::LongestPath, [0, 2, 1, 4, 3, 5, 6, 7]),
            (ChoiceRule::LoadsEarly, [0, 1, 2, 3, 4, 5, 6, 7]),
            (ChoiceRule::LoadsLate, [0, 1, 3, 2, 4, 5, 6, 7]),
        ];
        for (rule, order) in orders {
            assert_eq!(numbers(rule, body), order, "{rule:?}");
        }
        let random = |seed| numbers(ChoiceRule::Random(seed), body);
        assert!((1..20).any(|seed| random(seed) != random(0)));
    }

    #[test]
    fn a_register_is_defined_again_behind_all_before() {
        let found = numbers(
            ChoiceRule::Pressure,
            "    %1:R32 = MOV.b32 1
    %2:R32 = LD.global.b32.b32 [0]
    %3:R32 = LD.global.b32.b32 [4]
    %1:R32 = MOV.b32 2
    %4:R32 = IADD.b32 %2, %3
    ST.shared.b32.b32 %4, [0]
    ST.shared.b32.b32 %1, [4]
",
        );
        let place = |number: usize| found.iter().position(|&other| other == number).unwrap();
        assert!(
            [0, 1, 2].iter().all(|&earlier| place(earlier) < place(3)),
            "{found:?}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn every_order_keeps_the_dependences(seed: u64, late: bool, rule in rules()) {
            let function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            let liveness = Liveness::of(&function);
            let weights = Weights::of(&function);
            for &block in function.blocks() {
                let graph = DependencyGraph::compute(&function, block);
                let order = order(rule, &function, &liveness, &weights, block, &graph);
                let mut places = SecondaryMap::with_default(None);
                for (place, &node) in order.iter().enumerate() {
                    prop_assert_eq!(places[node].replace(place), None);
                }
                prop_assert_eq!(order.len(), graph.nodes().len());
                for node in graph.nodes() {
                    for &(later, _) in graph.successors(node) {
                        prop_assert!(places[node] < places[later]);
                    }
                    if redefines(&function, graph.instruction(node)) {
                        let mut before = graph.nodes().take(node.index());
                        prop_assert!(before.all(|earlier| places[earlier] < places[node]));
                    }
                }
            }
        }
    }
}
