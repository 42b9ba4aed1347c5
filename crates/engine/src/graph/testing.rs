//! Random graphs, and answers to queries about them from the definitions.

use super::{ControlFlowGraph, Graph};
use crate::entity::{Block, EntityRef};
use oriel_generate::Shape;
use oriel_random::{Random, Stream, setting};

/// Nodes by number, as bits.
pub type Set = u128;

/// Returns the set of one node.
pub fn bit(node: Block) -> Set {
    1 << node.index()
}

/// Returns the nodes of a set, in order.
pub fn members(set: Set) -> impl Iterator<Item = Block> {
    (0..Set::BITS as usize)
        .filter(move |&index| set >> index & 1 != 0)
        .map(Block::new)
}

/// Returns the set of some nodes.
pub fn set(nodes: impl IntoIterator<Item = Block>) -> Set {
    nodes.into_iter().fold(0, |set, node| set | bit(node))
}

/// Runs a test on 3000 random graphs, or on as many as `ORIEL_TEST_GRAPHS` says. When it fails, prints
/// which one it was.
pub fn on_random_graphs(mut test: impl FnMut(&ControlFlowGraph<Block>, &mut Random)) {
    struct Reporter<'a>(u64, &'a ControlFlowGraph<Block>);
    impl Drop for Reporter<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("seed {}: {:?}", self.0, self.1);
            }
        }
    }
    for seed in 0..setting("ORIEL_TEST_GRAPHS", 3000) {
        let mut random = Random::new(seed, Stream::TestGraph);
        let graph = random_graph(&mut random);
        let _reporter = Reporter(seed, &graph);
        test(&graph, &mut random);
    }
}

/// Returns the graph with edges between the given numbers, entered at 0.
pub fn graph(nodes: usize, edges: &[(usize, usize)]) -> ControlFlowGraph<Block> {
    let edges = edges
        .iter()
        .map(|&(source, target)| (Block::new(source), Block::new(target)));
    ControlFlowGraph::new(nodes, Block::new(0), edges)
}

/// Returns a small graph of a random kind. Half are numbered at random, entry included.
pub fn random_graph(random: &mut Random) -> ControlFlowGraph<Block> {
    let (nodes, mut edges) = match random.weighted(&[1, 6, 3, 3, 1, 8]) {
        0 => (1, vec![(0, 0); random.index(3)]),
        1 => anything(random),
        2 => chain(random),
        3 => mostly_forward(random),
        4 => complete(random),
        _ => {
            let shape = random.pick(Shape::ALL);
            let blocks = random.between(1, 24);
            oriel_generate::edges(shape, blocks, random)
        }
    };
    assert!(nodes <= Set::BITS as usize);
    let mut number: Vec<usize> = (0..nodes).collect();
    if random.coin() {
        shuffle(&mut number, random);
        shuffle(&mut edges, random);
    }
    let block = |index: usize| Block::new(number[index]);
    let edges = edges
        .iter()
        .map(|&(source, target)| (block(source), block(target)));
    ControlFlowGraph::new(nodes, block(0), edges)
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for index in (1..items.len()).rev() {
        items.swap(index, random.index(index + 1));
    }
}

type Edges = (usize, Vec<(usize, usize)>);

/// Edges between any two nodes.
fn anything(random: &mut Random) -> Edges {
    let nodes = random.between(1, 16);
    let count = random.index(nodes * 3 + 1);
    let edges = (0..count).map(|_| (random.index(nodes), random.index(nodes)));
    (nodes, edges.collect())
}

/// A chain with a few more edges.
fn chain(random: &mut Random) -> Edges {
    let nodes = random.between(2, 40);
    let mut edges: Vec<_> = (1..nodes).map(|node| (node - 1, node)).collect();
    for _ in 0..random.index(6) {
        edges.push((random.index(nodes), random.index(nodes)));
    }
    (nodes, edges)
}

/// Many edges to later nodes and few to earlier ones.
fn mostly_forward(random: &mut Random) -> Edges {
    let nodes = random.between(2, 24);
    let back = random.index(20) as u32;
    let edges = (0..nodes * 2).map(|_| {
        let (left, right) = (random.index(nodes), random.index(nodes));
        let (low, high) = (left.min(right), left.max(right));
        if random.percent(back) {
            (high, low)
        } else {
            (low, high)
        }
    });
    (nodes, edges.collect())
}

fn complete(random: &mut Random) -> Edges {
    let nodes = random.between(1, 6);
    let edges = (0..nodes).flat_map(|source| (0..nodes).map(move |target| (source, target)));
    (nodes, edges.collect())
}

/// A graph as sets of neighbours.
pub struct Naive {
    /// All nodes.
    pub all: Set,
    /// The entry.
    pub entry: Block,
    /// The nodes that the entry reaches.
    pub reachable: Set,
    successors: Vec<Set>,
    predecessors: Vec<Set>,
    /// By node: the nodes that it dominates; empty for unreachable nodes.
    dominated: Vec<Set>,
    /// The roots of post-dominance: ends, and one node of each infinite loop.
    pub roots: Set,
    /// By node: the nodes that it post-dominates.
    post_dominated: Vec<Set>,
    /// By node: its dominators; all nodes if it is unreachable.
    dominators: Vec<Set>,
    /// By node: its post-dominators.
    post_dominators: Vec<Set>,
}

impl Naive {
    /// Computes the sets of a graph.
    pub fn new(graph: &ControlFlowGraph<Block>) -> Self {
        let mut naive = Self {
            all: set(graph.nodes()),
            entry: graph.entry(),
            reachable: 0,
            successors: graph
                .nodes()
                .map(|node| set(Graph::successors(graph, node)))
                .collect(),
            predecessors: graph
                .nodes()
                .map(|node| set(Graph::predecessors(graph, node)))
                .collect(),
            dominated: Vec::new(),
            roots: 0,
            post_dominated: Vec::new(),
            dominators: Vec::new(),
            post_dominators: Vec::new(),
        };
        naive.reachable = naive.reach(bit(naive.entry), naive.all);
        naive.roots = naive.find_roots();
        for node in graph.nodes() {
            let without = naive.all & !bit(node);
            let missed = naive.reach(bit(naive.entry), without);
            naive.dominated.push(if naive.reachable & bit(node) == 0 {
                0
            } else {
                naive.reachable & !missed
            });
            let missed = naive.reach_back(naive.roots, without);
            naive.post_dominated.push(naive.all & !missed);
        }
        for node in graph.nodes() {
            let outer = members(naive.reachable).filter(|&outer| naive.dominates(outer, node));
            naive.dominators.push(set(outer));
            let after =
                members(naive.all).filter(|&after| naive.post_dominated[after.index()] & bit(node) != 0);
            naive.post_dominators.push(set(after));
        }
        naive
    }

    /// Returns the successors of a node.
    pub fn successors(&self, node: Block) -> Set {
        self.successors[node.index()]
    }

    /// Returns the predecessors of a node.
    pub fn predecessors(&self, node: Block) -> Set {
        self.predecessors[node.index()]
    }

    /// Returns the nodes reachable from `from` through nodes of `within`.
    pub fn reach(&self, from: Set, within: Set) -> Set {
        closure(&self.successors, from, within)
    }

    /// Returns the nodes that reach `to` through nodes of `within`.
    pub fn reach_back(&self, to: Set, within: Set) -> Set {
        closure(&self.predecessors, to, within)
    }

    /// Returns the nodes reachable from a node by at least one edge.
    fn reach_on(&self, node: Block, within: Set) -> Set {
        self.reach(self.successors(node), within)
    }

    /// True if the entry does not reach `inner` without `outer`.
    pub fn dominates(&self, outer: Block, inner: Block) -> bool {
        self.reachable & bit(inner) == 0 || self.dominated[outer.index()] & bit(inner) != 0
    }

    /// Returns the nodes that the entry does not reach without a node.
    pub fn dominated(&self, node: Block) -> Set {
        self.dominated[node.index()]
    }

    /// Returns the dominators of a node.
    pub fn dominators(&self, node: Block) -> Set {
        self.dominators[node.index()]
    }

    /// Returns the post-dominators of a node.
    pub fn post_dominators(&self, node: Block) -> Set {
        self.post_dominators[node.index()]
    }

    /// Returns the lowest of a chain of dominators, which all others dominate.
    pub fn lowest(&self, dominators: Set) -> Option<Block> {
        members(dominators).find(|&node| self.dominators(node) & dominators == dominators)
    }

    /// Returns the lowest of a chain of post-dominators.
    pub fn lowest_post(&self, dominators: Set) -> Option<Block> {
        members(dominators).find(|&node| self.post_dominators(node) & dominators == dominators)
    }

    /// Headers with the nodes of their loops.
    pub fn loops(&self) -> Vec<(Block, Set)> {
        let natural_loop = |header| {
            let latches = self.predecessors(header) & self.dominated(header);
            let nodes = bit(header) | self.reach_back(latches, self.reachable & !bit(header));
            (latches != 0).then_some((header, nodes))
        };
        members(self.reachable).filter_map(natural_loop).collect()
    }

    /// True if every cycle of `within` has one entry, and so do the cycles that remain without it.
    pub fn is_reducible(&self, within: Set) -> bool {
        let mut rest = within;
        while let Some(node) = members(rest).next() {
            let cycle = self.reach_on(node, within) & self.reach_back(bit(node), within);
            rest &= !(cycle | bit(node));
            if cycle == 0 {
                continue;
            }
            let is_entered =
                |&node: &Block| node == self.entry || self.predecessors(node) & self.reachable & !cycle != 0;
            let entries = set(members(cycle).filter(is_entered));
            if entries.count_ones() != 1 || !self.is_reducible(cycle & !entries) {
                return false;
            }
        }
        true
    }

    /// Returns the roots of LLVM's post-dominator tree, as `SemiNCAInfo::FindRoots` and
    /// `RemoveRedundantRoots` of `GenericDomTreeConstruction.h` find them.
    fn find_roots(&self) -> Set {
        let exits = set(members(self.all).filter(|&node| self.successors(node) == 0));
        let mut roots = exits;
        for node in members(self.all) {
            let reached = self.reach_back(roots, self.all);
            if reached & bit(node) == 0 {
                let mut walked = Vec::new();
                self.walk_greatest_first(node, &mut walked);
                roots |= bit(walked[walked.len() - 1]);
            }
        }
        for root in members(roots & !exits) {
            if self.reach_on(root, self.all) & roots & !bit(root) != 0 {
                roots &= !bit(root);
            }
        }
        roots
    }

    fn walk_greatest_first(&self, node: Block, walked: &mut Vec<Block>) {
        if !walked.contains(&node) {
            walked.push(node);
            let mut successors: Vec<Block> = members(self.successors(node)).collect();
            successors.reverse();
            for successor in successors {
                self.walk_greatest_first(successor, walked);
            }
        }
    }
}

fn closure(neighbours: &[Set], from: Set, within: Set) -> Set {
    let mut closed = from & within;
    let mut new = closed;
    while new != 0 {
        let next = members(new).fold(0, |next, node| next | neighbours[node.index()]);
        new = next & within & !closed;
        closed |= new;
    }
    closed
}
