//! The instructions of a region with the values that they define and read, and the instructions that
//! each must wait for.

use super::memory_order::MemoryOrder;
use super::value::{Counts, Place, Release, Value};
use crate::estimate::cells::{Cell, Cells};
use crate::estimate::live_cells::LiveCells;
use crate::estimate::nodes::{Nodes, ScheduleNode};
use crate::estimate::regions::Region;
use oriel_engine::entity::EntityRef;
use std::cell::OnceCell;
use std::ops::Range;

/// A region with named values and dependences.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    pub(super) values: Vec<Value>,
    /// By value: the number of nodes that read it, and one more if it is live at the end.
    pub(super) readers: Vec<u32>,
    /// By value: whether it is live at the end.
    pub(super) is_live_out: Vec<bool>,
    pub(super) nodes: Vec<GraphNode>,
    /// Values that nodes read, node by node.
    uses: Vec<u32>,
    /// The nodes that each node waits for, node by node, with the delay.
    pub(super) predecessors: Vec<(u32, u32)>,
    /// The number of values that are live at its start, which come first.
    pub(super) live_in: u32,
    /// The nodes that wait for each node, once they have been asked for.
    successors: OnceCell<Successors>,
    /// The order that needs few registers, once it has been asked for.
    pub(super) least: OnceCell<Vec<u32>>,
}

#[derive(Clone, Debug)]
pub(super) struct GraphNode {
    /// The values that it defines, as a range.
    defined: (u32, u32),
    /// The values that it reads, as a range of `uses`.
    used: (u32, u32),
    /// The nodes that it waits for, as a range of `predecessors`.
    pub(super) predecessors: (u32, u32),
    pub(super) temporaries: u32,
    pub(super) stored_constants: u32,
    pub(super) release: Release,
    /// True if everything before it is complete when it starts.
    pub(super) waits: bool,
    pub(super) is_exchange: bool,
    /// The longest path to the end, in cycles.
    pub(super) height: u32,
    /// The same, counting only the time of loads and similar instructions.
    pub(super) load_height: u32,
}

impl GraphNode {
    pub(super) fn defined(&self) -> Range<usize> {
        self.defined.0 as usize..self.defined.1 as usize
    }
}

/// The nodes that wait for each node, ascending, with the delay.
#[derive(Clone, Debug)]
pub(super) struct Successors {
    /// By node: where they begin in `edges`, with one more entry at the end.
    first: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

impl Successors {
    fn new(graph: &BlockGraph) -> Self {
        let mut first = vec![0_u32; graph.nodes.len() + 1];
        for &(from, _) in &graph.predecessors {
            first[from as usize] += 1;
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut edges = vec![(0, 0); graph.predecessors.len()];
        for node in (0..graph.nodes.len()).rev() {
            for &(from, latency) in graph.predecessors_of(node) {
                let place = &mut first[from as usize];
                *place -= 1;
                edges[*place as usize] = (node as u32, latency);
            }
        }
        Self { first, edges }
    }

    pub(super) fn of(&self, node: usize) -> &[(u32, u32)] {
        &self.edges[self.first[node] as usize..self.first[node + 1] as usize]
    }
}

/// The scratch tables of [`BlockGraph::new`], kept between blocks: they are as large as the
/// function.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// By cell: its current value, counted from one.
    current: Vec<u32>,
    /// By value: the node that defines it, and its latency; none for values live at the start of
    /// the region.
    definers: Vec<Option<(u32, u32)>>,
    /// By node: its last edge to a later node, counted from one.
    last_edges: Vec<u32>,
    order: MemoryOrder,
}

/// Returns the latency of a load or a similar instruction, which is worth starting early; zero for
/// others.
fn load_latency(latency: u32) -> u32 {
    if latency >= 20 { latency } else { 0 }
}

impl BlockGraph {
    /// Builds the graph of the blocks of a region.
    pub fn new(
        cells: &Cells,
        nodes: &Nodes,
        live: &LiveCells,
        region: &Region,
        scratch: &mut Scratch,
    ) -> Self {
        let live_in = live.live_in(region.head());
        let blocks = || {
            region
                .blocks
                .iter()
                .map(|&(block, is_predicated)| (nodes.of(block), is_predicated))
        };
        let size: usize = blocks().map(|(nodes, _)| nodes.len()).sum();
        scratch.current.resize(nodes.cell_count(), 0);
        scratch.definers.clear();
        scratch.last_edges.clear();
        scratch.order.clear();
        let mut graph = Self {
            values: Vec::with_capacity(live_in.len() + size),
            readers: Vec::with_capacity(live_in.len() + size),
            is_live_out: Vec::new(),
            nodes: Vec::with_capacity(size),
            uses: Vec::with_capacity(2 * size),
            predecessors: Vec::with_capacity(4 * size),
            live_in: live_in.len() as u32,
            successors: OnceCell::new(),
            least: OnceCell::new(),
        };
        for &cell in live_in {
            let value = graph.new_value(cells, nodes, cell, 0);
            scratch.definers.push(None);
            scratch.current[cell.index()] = value + 1;
        }
        for (number, (of_block, is_predicated)) in blocks().enumerate() {
            // Branches within a region are removed.
            let is_end = number + 1 == region.blocks.len();
            for node in of_block.iter().filter(|node| is_end || !node.is_terminator) {
                graph.add(cells, nodes, node, is_predicated, scratch);
            }
        }
        graph.is_live_out = vec![false; graph.values.len()];
        for &cell in region.ends.iter().flat_map(|&end| live.live_out(end)) {
            if let Some(value) = scratch.current[cell.index()].checked_sub(1) {
                graph.is_live_out[value as usize] = true;
            }
        }
        for (readers, &is_live_out) in graph.readers.iter_mut().zip(&graph.is_live_out) {
            *readers += u32::from(is_live_out);
        }
        let defined = blocks()
            .flat_map(|(nodes, _)| nodes)
            .flat_map(|node| &node.defined);
        for cell in live_in.iter().chain(defined) {
            scratch.current[cell.index()] = 0;
        }
        graph.find_heights();
        graph
    }

    fn new_value(&mut self, cells: &Cells, nodes: &Nodes, cell: Cell, load: u32) -> u32 {
        let place = match cell {
            _ if nodes.is_aligned(cell) => Place::Aligned,
            _ if nodes.is_odd(cell) => Place::Odd,
            _ => Place::Anywhere,
        };
        self.values.push(Value {
            counts: Counts::of_value(cells.is_uniform(cell), load > 0, nodes.is_recomputed(cell)),
            place,
            load,
        });
        self.readers.push(0);
        self.values.len() as u32 - 1
    }

    fn add(
        &mut self,
        cells: &Cells,
        nodes: &Nodes,
        node: &ScheduleNode,
        is_predicated: bool,
        scratch: &mut Scratch,
    ) {
        let this = self.nodes.len() as u32;
        let (first_use, first_edge) = (self.uses.len() as u32, self.predecessors.len() as u32);
        // Under a predicate the old value may have to survive.
        let kept = node.defined.iter().filter(|_| is_predicated);
        for &cell in node.used.iter().chain(kept) {
            // Undefined cells hold no value.
            let Some(value) = scratch.current[cell.index()].checked_sub(1) else {
                continue;
            };
            self.readers[value as usize] += 1;
            self.uses.push(value);
            if let Some((definer, latency)) = scratch.definers[value as usize] {
                self.connect(definer, latency, first_edge, &mut scratch.last_edges);
            }
        }
        let Scratch {
            last_edges, order, ..
        } = scratch;
        order.add(this, node, |earlier| {
            self.connect(earlier, 1, first_edge, last_edges);
        });
        let load = if load_latency(node.latency) > 0 {
            this + 1
        } else {
            0
        };
        let first_value = self.values.len() as u32;
        for &cell in &node.defined {
            let value = self.new_value(cells, nodes, cell, load);
            scratch.definers.push(Some((this, node.latency)));
            scratch.current[cell.index()] = value + 1;
        }
        scratch.last_edges.push(0);
        self.nodes.push(GraphNode {
            defined: (first_value, self.values.len() as u32),
            used: (first_use, self.uses.len() as u32),
            predecessors: (first_edge, self.predecessors.len() as u32),
            temporaries: node.temporaries,
            stored_constants: node.stored_constants,
            release: if node.is_store {
                Release::Fence
            } else if load_latency(node.latency) > 0 && !node.defined.is_empty() {
                Release::Loaded
            } else {
                Release::Read
            },
            waits: node.waits,
            is_exchange: node.is_exchange,
            height: node.latency,
            load_height: load_latency(node.latency),
        });
    }

    /// Adds an edge to the node whose edges begin with `first_edge`, or raises the delay of a known
    /// one.
    fn connect(&mut self, from: u32, latency: u32, first_edge: u32, last_edges: &mut [u32]) {
        let last = &mut last_edges[from as usize];
        if *last > first_edge {
            let (_, known) = &mut self.predecessors[*last as usize - 1];
            *known = latency.max(*known);
            return;
        }
        self.predecessors.push((from, latency));
        *last = self.predecessors.len() as u32;
    }

    /// Computes the longest path from each node to the end.
    fn find_heights(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let GraphNode {
                height,
                load_height,
                predecessors: (first, end),
                ..
            } = self.nodes[index];
            for &(from, latency) in &self.predecessors[first as usize..end as usize] {
                let before = &mut self.nodes[from as usize];
                before.height = before.height.max(latency + height);
                before.load_height = before.load_height.max(load_latency(latency) + load_height);
            }
        }
    }

    /// Returns the nodes that a node waits for, with the delays.
    pub(super) fn predecessors_of(&self, node: usize) -> &[(u32, u32)] {
        let (first, end) = self.nodes[node].predecessors;
        &self.predecessors[first as usize..end as usize]
    }

    /// Returns the values that a node reads.
    pub(super) fn used(&self, node: &GraphNode) -> &[u32] {
        &self.uses[node.used.0 as usize..node.used.1 as usize]
    }

    pub(super) fn successors(&self) -> &Successors {
        self.successors.get_or_init(|| Successors::new(self))
    }

    /// Returns by node the number of nodes that it waits for.
    pub(super) fn waits(&self) -> Vec<u32> {
        let count = |node: &GraphNode| node.predecessors.1 - node.predecessors.0;
        self.nodes.iter().map(count).collect()
    }
}
