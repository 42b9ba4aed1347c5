//! Reverse post-order.
//!
//! A depth-first search leaves a node after everything that it reaches from there. The reverse of
//! that order puts a node before its successors, except along edges that close a cycle. The rest
//! depends on the search:
//!
//! - [`Traversal::ExplicitStack`] pushes all successors at once and so visits the *last* successor
//!   first. In the order, the first successor's part then comes first, which for a branch with a
//!   fall-through is close to the layout.
//! - [`Traversal::Recursive`] visits the *first* successor first, as the textbook's recursive
//!   function does.
//!
//! Both are reverse post-orders of a depth-first search. For a graph without cycles both are
//! topological.
//!
//! The reference has both and a knob to choose. Two departures:
//!
//! - As printed, its explicit stack does not push a node that is on the stack already. Such a node
//!   keeps its earlier position and may come before its own predecessor: with edges 0→1, 0→2, 2→1
//!   the order is 0, 1, 2, and 2→1 looks like an edge that closes a cycle. The same listing
//!   discards stack entries of finished nodes, which could then not exist. Here a node is pushed
//!   again until it has been expanded, `in_stack` marks the nodes of the current path, and the
//!   discard removes the older entries.
//! - Its numbers count down from the number of blocks, so unreachable blocks leave a gap at the
//!   front. Here the entry always has position 0.
//!
//! The recursive order is computed with an explicit stack of frames.

use super::{Graph, Node, NodeSet};
use crate::entity::{EntityRef, PackedOption, entity_impl};

/// A position in a [`ReversePostorder`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderPosition(u32);
entity_impl!(OrderPosition, "rpo");

/// The depth-first search that an order comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traversal {
    /// Last successor first.
    #[default]
    ExplicitStack,
    /// First successor first.
    Recursive,
}

/// An order of nodes that begins with the entry and in which every other node has a predecessor before
/// it: so its dominators come before it, too.
pub(super) trait DominatorsFirst<N> {
    /// Returns the number of nodes in the order.
    fn len(&self) -> usize;

    /// Returns the node at a position.
    fn node(&self, position: OrderPosition) -> N;

    /// Returns the position of a node, or none if the entry does not reach it.
    fn position(&self, node: N) -> Option<OrderPosition>;
}

impl<N: Node> DominatorsFirst<N> for ReversePostorder<N> {
    fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    fn node(&self, position: OrderPosition) -> N {
        ReversePostorder::node(self, position)
    }

    #[inline]
    fn position(&self, node: N) -> Option<OrderPosition> {
        ReversePostorder::position(self, node)
    }
}

/// Nodes in the order of their numbers, which for blocks is the layout.
pub(super) struct ByNumber {
    pub nodes: usize,
}

impl<N: Node> DominatorsFirst<N> for ByNumber {
    fn len(&self) -> usize {
        self.nodes
    }

    #[inline]
    fn node(&self, position: OrderPosition) -> N {
        N::new(position.index())
    }

    #[inline]
    fn position(&self, node: N) -> Option<OrderPosition> {
        Some(OrderPosition::new(node.index()))
    }
}

/// The nodes that the entry reaches, in reverse post-order.
#[derive(Clone, Debug)]
pub struct ReversePostorder<N> {
    order: Vec<N>,
    /// By node; none if the entry does not reach it.
    position: Vec<PackedOption<OrderPosition>>,
    work: Work<N>,
}

/// Memory that only the search needs, kept for reuse.
#[derive(Clone, Debug)]
struct Work<N> {
    need_expand: NodeSet<N>,
    in_stack: NodeSet<N>,
    stack: Vec<N>,
    frames: Vec<Frame<N>>,
}

/// A node on the current path.
#[derive(Clone, Debug)]
struct Frame<N> {
    node: N,
    /// The number of the next successor to visit.
    next: u32,
}

impl<N> Default for ReversePostorder<N> {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            position: Vec::new(),
            work: Work {
                need_expand: NodeSet::default(),
                in_stack: NodeSet::default(),
                stack: Vec::new(),
                frames: Vec::new(),
            },
        }
    }
}

impl<N: Node> ReversePostorder<N> {
    /// Computes the order of `graph`.
    pub fn new(graph: &impl Graph<Node = N>, traversal: Traversal) -> Self {
        let mut order = Self::default();
        order.compute(graph, traversal);
        order
    }

    /// Computes the order of `graph`, reusing memory.
    pub fn compute(&mut self, graph: &impl Graph<Node = N>, traversal: Traversal) {
        let nodes = graph.node_count();
        self.order.clear();
        self.position.clear();
        self.position.resize(nodes, PackedOption::default());
        if nodes == 0 {
            return;
        }
        self.work.need_expand.reset_to_all(nodes);
        match traversal {
            Traversal::ExplicitStack => self.work.leave_by_stack(graph, &mut self.order),
            Traversal::Recursive => self.work.leave_by_frames(graph, &mut self.order),
        }
        self.order.reverse();
        for (index, &node) in self.order.iter().enumerate() {
            self.position[node.index()] = OrderPosition::new(index).into();
        }
    }

    /// Returns the nodes in order, the entry first.
    pub fn as_slice(&self) -> &[N] {
        &self.order
    }

    /// Returns the number of nodes in the order.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if there is no node.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the node at a position.
    pub fn node(&self, position: OrderPosition) -> N {
        self.order[position.index()]
    }

    /// Returns the position of a node, or none if the entry does not reach it.
    pub fn position(&self, node: N) -> Option<OrderPosition> {
        self.position[node.index()].expand()
    }

    /// True if the entry reaches the node.
    pub fn is_reachable(&self, node: N) -> bool {
        self.position[node.index()].is_some()
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        let work = &self.work;
        (self.order.capacity() + work.stack.capacity()) * size_of::<N>()
            + self.position.capacity() * size_of::<PackedOption<OrderPosition>>()
            + work.frames.capacity() * size_of::<Frame<N>>()
            + work.need_expand.memory_bytes()
            + work.in_stack.memory_bytes()
    }
}

impl<N: Node> Work<N> {
    /// Lists nodes as the search leaves them. The stack holds the current path and, between its
    /// nodes, untried successors: never more entries than there are edges, plus the entry.
    fn leave_by_stack(&mut self, graph: &impl Graph<Node = N>, left: &mut Vec<N>) {
        self.in_stack.reset(graph.node_count());
        self.stack.clear();
        self.stack.push(graph.entry());
        while let Some(&node) = self.stack.last() {
            if self.need_expand.remove(node) {
                self.in_stack.insert(node);
                let need_expand = &self.need_expand;
                let waiting = graph
                    .successors(node)
                    .filter(|&successor| need_expand.contains(successor));
                self.stack.extend(waiting);
                continue;
            }
            self.stack.pop();
            if self.in_stack.remove(node) {
                left.push(node);
            }
        }
    }

    /// Lists nodes as a recursive search leaves them.
    fn leave_by_frames(&mut self, graph: &impl Graph<Node = N>, left: &mut Vec<N>) {
        let entry = graph.entry();
        self.frames.clear();
        self.need_expand.remove(entry);
        self.frames.push(Frame { node: entry, next: 0 });
        while let Some(frame) = self.frames.last_mut() {
            let Frame { node, next } = *frame;
            if next as usize == graph.successor_count(node) {
                left.push(node);
                self.frames.pop();
                continue;
            }
            frame.next += 1;
            let successor = graph.successor(node, next as usize);
            if self.need_expand.remove(successor) {
                self.frames.push(Frame {
                    node: successor,
                    next: 0,
                });
            }
        }
    }
}
