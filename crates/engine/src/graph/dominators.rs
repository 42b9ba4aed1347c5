//! The dominator tree: `a` dominates `b` if every path from the entry to `b` goes through `a`.
//!
//! The immediate dominators come from [`immediate`](super::immediate) or, where that takes too many
//! steps, from [`semi_nca`](super::semi_nca); the tree is the same. Nodes are numbered so that a
//! subtree is an interval, so a dominance test is two comparisons.

use super::immediate::cooper_harvey_kennedy;
use super::order::{ByNumber, DominatorsFirst};
use super::semi_nca::semi_nca;
use super::{Graph, Node, OrderPosition, ReversePostorder};
use crate::entity::{EntityRef, PackedOption};

/// Immediate dominators, the tree that they form, and dominance tests in constant time.
///
/// Nodes that the entry does not reach are not in the tree.
#[derive(Clone, Debug)]
pub struct DominatorTree<N: Node> {
    /// By node; none for the entry and for unreachable nodes.
    immediate: Vec<PackedOption<N>>,
    /// By node.
    subtree: Vec<Subtree>,
    /// The nodes of the tree; a subtree is a slice of it, its root first.
    preorder: Vec<N>,
    work: Work,
}

/// A node's subtree as a range of `preorder`; empty for unreachable nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Subtree {
    first: u32,
    end: u32,
}

/// Arrays by position in the order that only the computation needs, kept for reuse.
#[derive(Clone, Debug, Default)]
struct Work {
    immediate: Vec<PackedOption<OrderPosition>>,
    /// Size of the subtree; once the node has its number, the next free number in its subtree.
    size: Vec<u32>,
}

impl<N: Node> Default for DominatorTree<N> {
    fn default() -> Self {
        Self {
            immediate: Vec::new(),
            subtree: Vec::new(),
            preorder: Vec::new(),
            work: Work::default(),
        }
    }
}

impl<N: Node> DominatorTree<N> {
    /// Computes the tree of `graph` from `order`, an order of it.
    pub fn new(graph: &impl Graph<Node = N>, order: &ReversePostorder<N>) -> Self {
        let mut tree = Self::default();
        tree.compute(graph, order);
        tree
    }

    /// Computes the tree of `graph` from `order`, an order of it, reusing memory.
    pub fn compute(&mut self, graph: &impl Graph<Node = N>, order: &ReversePostorder<N>) {
        if !order.is_empty() && !cooper_harvey_kennedy(graph, order, &mut self.work.immediate) {
            semi_nca(graph, order, &mut self.work.immediate);
        }
        self.number_tree(graph.node_count(), order);
    }

    /// Computes the tree of `graph` without a search through it, reusing memory. Returns false, and
    /// has no tree, unless every node but the entry, which is node 0, has a predecessor with a lower
    /// number, as blocks nearly always have; or if the numbers are so unlike a reverse post-order that
    /// the iteration takes long.
    pub fn compute_by_number(&mut self, graph: &impl Graph<Node = N>) -> bool {
        let nodes = graph.node_count();
        let is_known = nodes == 0
            || graph.entry().index() == 0
                && cooper_harvey_kennedy(graph, &ByNumber { nodes }, &mut self.work.immediate);
        let nodes = if is_known { nodes } else { 0 };
        self.number_tree(nodes, &ByNumber { nodes });
        is_known
    }

    /// Numbers the tree of a graph of `nodes` nodes. In the order, a node comes after its dominators,
    /// so one pass from the end gives the sizes and one from the start the numbers.
    fn number_tree(&mut self, nodes: usize, order: &impl DominatorsFirst<N>) {
        self.immediate.clear();
        self.immediate.resize(nodes, PackedOption::default());
        self.subtree.clear();
        self.subtree.resize(nodes, Subtree::default());
        self.preorder.clear();
        self.preorder.resize(order.len(), N::new(0));
        let Work { immediate, size } = &mut self.work;
        let parent = |index: usize| immediate[index].expect("every node of the order has a dominator");
        size.clear();
        size.resize(order.len(), 1);
        for index in (1..order.len()).rev() {
            size[parent(index).index()] += size[index];
        }
        for index in 0..order.len() {
            let node = order.node(OrderPosition::new(index));
            let mut first = 0;
            if index > 0 {
                let parent = parent(index);
                first = size[parent.index()];
                size[parent.index()] += size[index];
                self.immediate[node.index()] = order.node(parent).into();
            }
            self.subtree[node.index()] = Subtree {
                first,
                end: first + size[index],
            };
            self.preorder[first as usize] = node;
            size[index] = first + 1;
        }
    }

    /// True if the entry can reach the node.
    pub fn is_reachable(&self, node: N) -> bool {
        let Subtree { first, end } = self.subtree[node.index()];
        first < end
    }

    /// Returns the immediate dominator, or none for the entry and for unreachable nodes.
    pub fn immediate(&self, node: N) -> Option<N> {
        self.immediate[node.index()].expand()
    }

    /// Returns the nodes that a node dominates immediately, by their position in the order.
    pub fn children(&self, node: N) -> impl Iterator<Item = N> {
        let Subtree { first, end } = self.subtree[node.index()];
        let mut next = first + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then(|| self.preorder[next as usize])?;
            next = self.subtree[child.index()].end;
            Some(child)
        })
    }

    /// Returns the nodes of the tree in preorder: each before those that it dominates.
    pub fn preorder(&self) -> &[N] {
        &self.preorder
    }

    /// Returns the position in the preorder after all nodes that `node` dominates.
    pub fn subtree_end(&self, node: N) -> usize {
        self.subtree[node.index()].end as usize
    }

    /// Returns a node's number in the preorder, or none for an unreachable node.
    pub fn number(&self, node: N) -> Option<usize> {
        let Subtree { first, end } = self.subtree[node.index()];
        (first < end).then_some(first as usize)
    }

    /// True if the entry reaches all nodes.
    pub fn reaches_all(&self) -> bool {
        self.preorder.len() == self.subtree.len()
    }

    /// True if every path from the entry to `inner` leads through `outer`. Nodes dominate
    /// themselves.
    ///
    /// As in LLVM, an unreachable node is dominated by every node and dominates no reachable one.
    pub fn dominates(&self, outer: N, inner: N) -> bool {
        let (outer, inner) = (self.subtree[outer.index()], self.subtree[inner.index()]);
        inner.first == inner.end || (outer.first <= inner.first && inner.first < outer.end)
    }

    /// True if `outer` dominates `inner` and is not the same node.
    pub fn strictly_dominates(&self, outer: N, inner: N) -> bool {
        outer != inner && self.dominates(outer, inner)
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.immediate.capacity() * size_of::<PackedOption<N>>()
            + self.subtree.capacity() * size_of::<Subtree>()
            + self.preorder.capacity() * size_of::<N>()
            + self.work.immediate.capacity() * size_of::<PackedOption<OrderPosition>>()
            + self.work.size.capacity() * size_of::<u32>()
    }
}
