//! Immediate dominators by the semidominator algorithm in the variant called SemiNCA (Georgiadis,
//! "Linear-Time Algorithms for Dominators and Related Problems", 2005), which is nearly linear on
//! any graph. It is LLVM's algorithm; here it is used for graphs on which
//! [`immediate`](super::immediate) takes too many steps.

use super::{Graph, Node, OrderPosition, ReversePostorder};
use crate::entity::{EntityRef, PackedOption, entity_impl};

/// A reachable node by its number in depth-first preorder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Preorder(u32);
entity_impl!(Preorder, "pre");

/// The arrays of one computation, by preorder number unless noted.
struct SemiNca<N> {
    /// By node.
    number: Vec<PackedOption<Preorder>>,
    node: Vec<N>,
    /// In the depth-first tree.
    parent: Vec<Preorder>,
    semi: Vec<Preorder>,
    label: Vec<Preorder>,
    ancestor: Vec<Preorder>,
    dominator: Vec<Preorder>,
    path: Vec<Preorder>,
}

/// Writes the immediate dominator of each position to `immediate`; the entry's is itself.
pub(super) fn semi_nca<N: Node>(
    graph: &impl Graph<Node = N>,
    order: &ReversePostorder<N>,
    immediate: &mut Vec<PackedOption<OrderPosition>>,
) {
    let mut work = SemiNca::number_nodes(graph, order.len());
    work.find_dominators(graph);
    immediate.clear();
    immediate.resize(order.len(), PackedOption::default());
    for (&node, dominator) in work.node.iter().zip(&work.dominator) {
        let position = order.position(node).expect("both walks reach the same nodes");
        immediate[position.index()] = order.position(work.node[dominator.index()]).into();
    }
}

impl<N: Node> SemiNca<N> {
    /// Numbers the reachable nodes in depth-first preorder and records the tree's parents.
    fn number_nodes(graph: &impl Graph<Node = N>, reachable: usize) -> Self {
        let mut work = Self {
            number: vec![PackedOption::default(); graph.node_count()],
            node: Vec::with_capacity(reachable),
            parent: Vec::with_capacity(reachable),
            semi: Vec::new(),
            label: Vec::new(),
            ancestor: Vec::new(),
            dominator: Vec::new(),
            path: Vec::new(),
        };
        let mut frames = vec![(work.visit(graph.entry(), Preorder(0)), 0)];
        while let Some((number, next)) = frames.last_mut() {
            let number = *number;
            let node = work.node[number.index()];
            if *next == graph.successor_count(node) {
                frames.pop();
                continue;
            }
            let successor = graph.successor(node, *next);
            *next += 1;
            if work.number[successor.index()].is_none() {
                frames.push((work.visit(successor, number), 0));
            }
        }
        let own = (0..work.node.len()).map(Preorder::new);
        work.semi.extend(own.clone());
        work.label.extend(own);
        work.ancestor.extend_from_slice(&work.parent);
        work.dominator.extend_from_slice(&work.parent);
        work
    }

    fn visit(&mut self, node: N, parent: Preorder) -> Preorder {
        let number = Preorder::new(self.node.len());
        self.number[node.index()] = number.into();
        self.node.push(node);
        self.parent.push(parent);
        number
    }

    fn find_dominators(&mut self, graph: &impl Graph<Node = N>) {
        let count = self.node.len();
        for index in (1..count).rev() {
            let current = Preorder::new(index);
            let mut semi = self.parent[index];
            for predecessor in graph.predecessors(self.node[index]) {
                let Some(number) = self.number[predecessor.index()].expand() else {
                    continue;
                };
                let best = self.evaluate(number, current);
                semi = semi.min(self.semi[best.index()]);
            }
            self.semi[index] = semi;
        }
        for index in 1..count {
            let mut candidate = self.dominator[index];
            while candidate > self.semi[index] {
                candidate = self.dominator[candidate.index()];
            }
            self.dominator[index] = candidate;
        }
    }

    /// Returns the vertex of least semidominator on the path from `vertex` up to the root of its
    /// tree in the forest of vertices above `current`. Compresses the path.
    fn evaluate(&mut self, vertex: Preorder, current: Preorder) -> Preorder {
        if vertex <= current {
            return vertex;
        }
        self.path.clear();
        let mut top = vertex;
        while self.ancestor[top.index()] > current {
            self.path.push(top);
            top = self.ancestor[top.index()];
        }
        while let Some(below) = self.path.pop() {
            let above = self.ancestor[below.index()];
            let (best_above, best_below) = (self.label[above.index()], self.label[below.index()]);
            if self.semi[best_above.index()] < self.semi[best_below.index()] {
                self.label[below.index()] = best_above;
            }
            self.ancestor[below.index()] = self.ancestor[above.index()];
        }
        self.label[vertex.index()]
    }
}
