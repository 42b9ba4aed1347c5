//! Natural loops and their nesting.
//!
//! A *header* is a reachable node with a back edge: an edge from a reachable node that the header
//! dominates, the *latch*. The loop of a header consists of the nodes that reach one of its latches
//! without passing through the header. There is one loop for each header, and two loops are either
//! disjoint or nested. This is the definition of LLVM's `LoopInfo` and `MachineLoopInfo`. A cycle
//! with several entries is no loop; see [`irreducible_edges`](super::irreducible_edges).
//!
//! Inner loops are found first. The backward walk from a latch steps over an inner loop to that
//! loop's header. Where LLVM follows the parents to the outermost loop so far, path halving keeps
//! deep nests nearly linear.

use super::{DominatorTree, Graph, Node, ReversePostorder};
use crate::entity::{EntityRef, PackedOption, PrimaryMap, entity_impl};
use std::ops::Range;

/// A natural loop. A loop is numbered directly before the loops inside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

/// All natural loops of a graph.
#[derive(Clone, Debug)]
pub struct LoopForest<N> {
    loops: PrimaryMap<Loop, Nest<N>>,
    /// By node.
    innermost: Vec<PackedOption<Loop>>,
    /// The nodes of all loops. Those of one loop are a slice: its header first, inner loops last.
    nodes: Vec<N>,
}

#[derive(Clone, Debug)]
struct Nest<N> {
    header: N,
    parent: PackedOption<Loop>,
    /// 1 for a loop that is in no other.
    depth: u32,
    /// The loop after the last one inside this one.
    end: Loop,
    /// The range of its nodes.
    nodes: Range<u32>,
}

impl<N: Node> LoopForest<N> {
    /// Finds the loops of `graph`.
    pub fn new(
        graph: &impl Graph<Node = N>,
        order: &ReversePostorder<N>,
        dominators: &DominatorTree<N>,
    ) -> Self {
        let mut search = Search::new(graph.node_count());
        for &header in dominators.preorder().iter().rev() {
            search.find_loop(graph, dominators, header);
        }
        search.number(order)
    }

    /// Returns the number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// True if there is no loop.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// Returns all loops. A loop comes before the loops inside it; siblings are in the order of
    /// their headers.
    pub fn loops(&self) -> impl DoubleEndedIterator<Item = Loop> + ExactSizeIterator {
        self.loops.keys()
    }

    /// Returns the node through which the loop is entered.
    pub fn header(&self, natural_loop: Loop) -> N {
        self.loops[natural_loop].header
    }

    /// Returns the innermost loop that contains this one.
    pub fn parent(&self, natural_loop: Loop) -> Option<Loop> {
        self.loops[natural_loop].parent.expand()
    }

    /// Returns how many loops contain the header: 1 for an outermost loop.
    pub fn depth(&self, natural_loop: Loop) -> usize {
        self.loops[natural_loop].depth as usize
    }

    /// Returns the loops directly inside this one.
    pub fn children(&self, natural_loop: Loop) -> impl Iterator<Item = Loop> {
        let end = self.loops[natural_loop].end;
        let mut next = Loop::new(natural_loop.index() + 1);
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.loops[child].end;
            Some(child)
        })
    }

    /// Returns the nodes of a loop, those of inner loops included: the header, the loop's own nodes
    /// in the order's order, then those of inner loops.
    pub fn nodes(&self, natural_loop: Loop) -> &[N] {
        let Range { start, end } = self.loops[natural_loop].nodes;
        &self.nodes[start as usize..end as usize]
    }

    /// Returns the innermost loop that contains a node.
    pub fn innermost(&self, node: N) -> Option<Loop> {
        self.innermost[node.index()].expand()
    }

    /// Returns how many loops contain a node.
    pub fn depth_of(&self, node: N) -> usize {
        self.innermost(node)
            .map_or(0, |natural_loop| self.depth(natural_loop))
    }

    /// True if the node is in the loop.
    pub fn contains(&self, natural_loop: Loop, node: N) -> bool {
        self.innermost(node)
            .is_some_and(|inner| self.encloses(natural_loop, inner))
    }

    /// True if `inner` is the same loop or lies inside it.
    pub fn encloses(&self, outer: Loop, inner: Loop) -> bool {
        outer <= inner && inner < self.loops[outer].end
    }

    /// True if the node is the header of a loop.
    pub fn is_header(&self, node: N) -> bool {
        self.innermost(node)
            .is_some_and(|natural_loop| self.header(natural_loop) == node)
    }

    /// Returns the sources of the loop's back edges, once for each edge.
    pub fn latches(&self, graph: &impl Graph<Node = N>, natural_loop: Loop) -> impl Iterator<Item = N> {
        graph
            .predecessors(self.header(natural_loop))
            .filter(move |&predecessor| self.contains(natural_loop, predecessor))
    }

    /// Returns the edges that leave the loop, in the order of [`nodes`](Self::nodes): their sources
    /// are the exiting nodes, their targets the exits.
    pub fn exit_edges(
        &self,
        graph: &impl Graph<Node = N>,
        natural_loop: Loop,
    ) -> impl Iterator<Item = (N, N)> {
        self.nodes(natural_loop).iter().flat_map(move |&source| {
            graph
                .successors(source)
                .filter(move |&target| !self.contains(natural_loop, target))
                .map(move |target| (source, target))
        })
    }

    /// Returns the preheader: the only node outside the loop that leads to the header, if that is
    /// its only edge.
    pub fn preheader(&self, graph: &impl Graph<Node = N>, natural_loop: Loop) -> Option<N> {
        let mut outside = graph
            .predecessors(self.header(natural_loop))
            .filter(|&predecessor| !self.contains(natural_loop, predecessor));
        let preheader = outside.next()?;
        (outside.all(|other| other == preheader) && graph.successor_count(preheader) == 1)
            .then_some(preheader)
    }
}

/// A loop by its position in the search: inner loops before outer ones.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Found(u32);
entity_impl!(Found, "found");

/// The search for loops, bottom-up through the dominator tree.
struct Search<N> {
    /// By node.
    innermost: Vec<PackedOption<Found>>,
    found: PrimaryMap<Found, FoundLoop<N>>,
    stack: Vec<N>,
}

struct FoundLoop<N> {
    header: N,
    parent: PackedOption<Found>,
    /// Its number in the forest, once it has one.
    index: PackedOption<Loop>,
    /// A loop around this one, on the way to the outermost one so far; itself if there is none.
    outer: Found,
    size: Extent,
}

/// Counts of a loop; once the loop has its number, the next free number or position of each.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Loops: the loop itself and those inside it.
    loops: u32,
    /// Nodes that are in no inner loop.
    own_nodes: u32,
    /// Nodes of inner loops.
    inner_nodes: u32,
}

impl<N: Node> Search<N> {
    fn new(nodes: usize) -> Self {
        Self {
            innermost: vec![PackedOption::default(); nodes],
            found: PrimaryMap::new(),
            stack: Vec::new(),
        }
    }

    /// Finds the loop of `header`, if it has one.
    fn find_loop(&mut self, graph: &impl Graph<Node = N>, dominators: &DominatorTree<N>, header: N) {
        let latches = graph.predecessors(header).filter(|&predecessor| {
            dominators.is_reachable(predecessor) && dominators.dominates(header, predecessor)
        });
        self.stack.extend(latches);
        if self.stack.is_empty() {
            return;
        }
        let this = self.found.next_key();
        self.found.push(FoundLoop {
            header,
            parent: PackedOption::default(),
            index: PackedOption::default(),
            outer: this,
            size: Extent {
                loops: 1,
                own_nodes: 1,
                inner_nodes: 0,
            },
        });
        self.innermost[header.index()] = this.into();
        while let Some(node) = self.stack.pop() {
            // The walk continues after `node`, or after the loop that contains it.
            let before = match self.innermost[node.index()].expand() {
                None => {
                    self.innermost[node.index()] = this.into();
                    self.found[this].size.own_nodes += 1;
                    node
                }
                Some(inner) => {
                    let inner = self.outermost(inner);
                    if inner == this {
                        continue;
                    }
                    let FoundLoop { header, size, .. } = self.found[inner];
                    self.found[inner].parent = this.into();
                    self.found[inner].outer = this;
                    self.found[this].size.loops += size.loops;
                    self.found[this].size.inner_nodes += size.own_nodes + size.inner_nodes;
                    header
                }
            };
            let reachable = graph
                .predecessors(before)
                .filter(|&predecessor| dominators.is_reachable(predecessor));
            self.stack.extend(reachable);
        }
    }

    /// Returns the outermost loop so far around a loop.
    fn outermost(&mut self, mut of: Found) -> Found {
        while self.found[of].outer != of {
            let outer = self.found[of].outer;
            self.found[of].outer = self.found[outer].outer;
            of = outer;
        }
        of
    }

    /// Numbers loops and their nodes so that inner loops follow. In the order, a loop's header
    /// comes before its other nodes and before inner headers.
    fn number(mut self, order: &ReversePostorder<N>) -> LoopForest<N> {
        let mut forest = LoopForest {
            loops: PrimaryMap::with_capacity(self.found.len()),
            innermost: vec![PackedOption::default(); self.innermost.len()],
            nodes: Vec::new(),
        };
        // By number, in the order of headers until all are known.
        let mut nests: Vec<Option<Nest<N>>> = vec![None; self.found.len()];
        let mut top = Extent::default();
        for &node in order.as_slice() {
            let Some(found) = self.innermost[node.index()].expand() else {
                continue;
            };
            if self.found[found].header == node {
                let (index, nodes) = self.assign_numbers(found, &mut top);
                let parent = self.found[found].parent.expand();
                let parent = parent.and_then(|parent| self.found[parent].index.expand());
                let around = parent.and_then(|parent| nests[parent.index()].as_ref());
                nests[index.index()] = Some(Nest {
                    header: node,
                    parent: parent.into(),
                    depth: around.map_or(1, |around| around.depth + 1),
                    end: index,
                    nodes,
                });
                forest.nodes.resize(top.inner_nodes as usize, node);
            }
            let FoundLoop { index, size, .. } = &mut self.found[found];
            forest.innermost[node.index()] = *index;
            forest.nodes[size.own_nodes as usize] = node;
            size.own_nodes += 1;
        }
        for found in self.found.values() {
            let nest = found
                .index
                .expand()
                .and_then(|index| nests[index.index()].as_mut());
            // All inner loops have their numbers, so the next free number is the end.
            nest.expect("headers are reachable").end = Loop::new(found.size.loops as usize);
        }
        forest.loops.extend(nests.into_iter().flatten());
        forest
    }

    /// Assigns a loop its number and its nodes their range, within the loop around it or within
    /// `top`.
    fn assign_numbers(&mut self, found: Found, top: &mut Extent) -> (Loop, Range<u32>) {
        let FoundLoop { parent, size, .. } = self.found[found];
        let free = match parent.expand() {
            Some(parent) => &mut self.found[parent].size,
            None => top,
        };
        let (index, start) = (free.loops, free.inner_nodes);
        let end = start + size.own_nodes + size.inner_nodes;
        free.loops += size.loops;
        free.inner_nodes = end;
        let index_of = Loop::new(index as usize);
        self.found[found].index = index_of.into();
        self.found[found].size = Extent {
            loops: index + 1,
            own_nodes: start,
            inner_nodes: start + size.own_nodes,
        };
        (index_of, start..end)
    }
}
