//! Strongly connected components of a part of a graph.
//!
//! R. E. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM Journal on Computing 1
//! (1972), with an explicit stack.

use super::{Graph, Node, NodeSet};

/// Finds strongly connected components. Keeps its memory from call to call.
#[derive(Clone, Debug, Default)]
pub struct ComponentSearch<N> {
    /// By node: its number in order of visit, from one; zero if it was not visited.
    entered: Vec<u32>,
    /// By node: the earliest node of its component that it is known to reach.
    lowest: Vec<u32>,
    /// Nodes whose component is not complete.
    open: NodeSet<N>,
    open_stack: Vec<N>,
    /// Nodes on the current path, each with the number of its next successor.
    frames: Vec<(N, usize)>,
}

impl<N: Node> ComponentSearch<N> {
    /// Creates a search without memory.
    pub fn new() -> Self {
        Self {
            entered: Vec::new(),
            lowest: Vec::new(),
            open: NodeSet::default(),
            open_stack: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Returns the components with more than one node in the part of `graph` that consists of
    /// `nodes`, exactly those for which `is_inside` holds. A component comes before those that lead
    /// to it.
    pub fn components(
        &mut self,
        graph: &impl Graph<Node = N>,
        nodes: &[N],
        is_inside: impl Fn(N) -> bool,
    ) -> Vec<Vec<N>> {
        if self.entered.len() != graph.node_count() {
            self.entered = vec![0; graph.node_count()];
            self.lowest = vec![0; graph.node_count()];
            self.open.reset(graph.node_count());
        }
        for &node in nodes {
            self.entered[node.index()] = 0;
        }
        let mut found = Vec::new();
        let mut clock = 0;
        for &root in nodes {
            if self.entered[root.index()] == 0 {
                self.walk(graph, root, &is_inside, &mut clock, &mut found);
            }
        }
        found
    }

    fn walk(
        &mut self,
        graph: &impl Graph<Node = N>,
        root: N,
        is_inside: &impl Fn(N) -> bool,
        clock: &mut u32,
        found: &mut Vec<Vec<N>>,
    ) {
        self.enter(root, clock);
        while let Some(frame) = self.frames.last_mut() {
            let (node, next) = *frame;
            if next < graph.successor_count(node) {
                frame.1 += 1;
                let successor = graph.successor(node, next);
                if !is_inside(successor) {
                    continue;
                }
                if self.entered[successor.index()] == 0 {
                    self.enter(successor, clock);
                } else if self.open.contains(successor) {
                    let entered = self.entered[successor.index()];
                    self.lower(node, entered);
                }
                continue;
            }
            self.frames.pop();
            let lowest = self.lowest[node.index()];
            if lowest == self.entered[node.index()] {
                self.close(node, found);
            } else if let Some(&(parent, _)) = self.frames.last() {
                self.lower(parent, lowest);
            }
        }
    }

    fn enter(&mut self, node: N, clock: &mut u32) {
        *clock += 1;
        self.entered[node.index()] = *clock;
        self.lowest[node.index()] = *clock;
        self.open.insert(node);
        self.open_stack.push(node);
        self.frames.push((node, 0));
    }

    fn lower(&mut self, node: N, to: u32) {
        let lowest = &mut self.lowest[node.index()];
        *lowest = (*lowest).min(to);
    }

    /// Completes the component of `first`, its node that was visited first.
    fn close(&mut self, first: N, found: &mut Vec<Vec<N>>) {
        let start = self
            .open_stack
            .iter()
            .rposition(|&node| node == first)
            .expect("an open node is on the stack");
        for &node in &self.open_stack[start..] {
            self.open.remove(node);
        }
        if self.open_stack.len() - start > 1 {
            found.push(self.open_stack[start..].to_vec());
        }
        self.open_stack.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Block, EntityRef};
    use crate::graph::testing::{Set, bit, members, on_random_graphs, set};

    /// Returns the nodes that `from` reaches by at least one edge inside the set.
    fn reached(graph: &impl Graph<Node = Block>, from: Block, inside: Set) -> Set {
        let mut reached: Set = 0;
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            for successor in graph.successors(node) {
                if (inside & !reached) & bit(successor) != 0 {
                    reached |= bit(successor);
                    pending.push(successor);
                }
            }
        }
        reached
    }

    #[test]
    fn nodes_of_a_component_reach_each_other_and_no_others_do() {
        let mut search = ComponentSearch::new();
        on_random_graphs(|graph, random| {
            let inside: Set = graph
                .nodes()
                .filter(|_| random.percent(80))
                .fold(0, |inside, node| inside | bit(node));
            let nodes: Vec<Block> = members(inside).collect();
            let reach: Vec<Set> = graph.nodes().map(|node| reached(graph, node, inside)).collect();
            let mut expected: Vec<Set> = nodes
                .iter()
                .map(|&node| {
                    let mutual = members(reach[node.index()] & inside)
                        .filter(|&other| reach[other.index()] & bit(node) != 0);
                    bit(node) | set(mutual)
                })
                .filter(|component| component.count_ones() > 1)
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let found = search.components(graph, &nodes, |node| inside & bit(node) != 0);
            let mut found: Vec<Set> = found.into_iter().map(set).collect();
            found.sort_unstable();
            assert_eq!(found, expected);
        });
    }
}
