//! Schedules a region's instructions and counts the registers of the schedule.
//!
//! ptxas hoists loads to where their addresses are known and schedules other work until they arrive,
//! as far as its register target allows. That depends on more than one region, so each region is
//! scheduled under several policies, whose costs bound that of ptxas' schedule:
//!
//! | policy | order |
//! |---|---|
//! | [`Policy::Source`] | LLVM's order |
//! | [`Policy::Least`] | few registers, see `least.rs` |
//! | [`Policy::Latency`] | list scheduling by the length of the path to the end of the block, any number of registers |
//! | [`Policy::Loads`] | loads and their addresses first, then the rest in LLVM's order, without waiting for results, since other warps run meanwhile; at the register target, a node that frees registers, or else the next in the order of few registers |
//!
//! Each definition of a cell is a separate value here, as in the SSA form that ptxas schedules.
//!
//! # Registers that are not live
//!
//! ptxas allocates more registers than are live at once, as long as that costs no warps: an
//! instruction that overwrites a register must wait until earlier instructions have read it, and
//! memory instructions read late. A register is therefore free again
//!
//! - immediately, if instructions of fixed latency read it,
//! - at the first use of the result of the load that read it, since the load is then complete; the
//!   result itself can reuse the register,
//! - at the next point where everything waits (barriers, calls), if a store read it, since a store
//!   has no result whose use would show that it is complete.
//!
//! 64-bit values start at even registers, so reading one occupies the even bank. Values read
//! together with it go to odd registers, and the even ones between stay free for others.
//! [`Cost::spaced`] counts all of this.

mod least;
mod peaks;

pub use peaks::SchedulePeaks;

use super::cells::{Cell, Cells};
use super::live_cells::LiveCells;
use super::lower::{Memory, Node, Nodes, Order};
use super::regions::Region;
use oriel_engine::entity::EntityRef;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// The order in which a block is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The given order.
    Source,
    /// Few registers, see `least.rs`.
    Least,
    /// Longest path first.
    Latency,
    /// Loads first, while fewer than this many registers are live.
    Loads(u32),
}

/// The cost of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The most registers live at once, temporaries included.
    pub registers: u32,
    /// The most uniform registers live at once.
    pub uniform: u32,
    /// The most registers of both kinds live at once.
    pub everything: u32,
    /// The most results of loads live at once.
    pub loaded: u32,
    /// Registers that ptxas allocates if it has enough: live ones, those that memory still reads,
    /// and gaps.
    pub spaced: u32,
    /// Registers without those whose values are cheap to compute again.
    pub kept: u32,
    /// The most registers of both kinds live over an exchange between lanes.
    pub over_exchanges: u32,
}

impl Cost {
    /// Returns the maximum of each field.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            uniform: self.uniform.max(other.uniform),
            everything: self.everything.max(other.everything),
            loaded: self.loaded.max(other.loaded),
            spaced: self.spaced.max(other.spaced),
            kept: self.kept.max(other.kept),
            over_exchanges: self.over_exchanges.max(other.over_exchanges),
        }
    }
}

/// The most stores that a later load is compared with; the estimate ignores dependences on earlier
/// ones.
const COMPARED_STORES: usize = 16;

/// The most loads that a later store is compared with; the estimate ignores dependences on earlier
/// ones. Real kernels have fewer between two fences.
const COMPARED_LOADS: usize = 1024;

/// The number of ready instructions that are compared when registers are short.
const COMPARED_READY: usize = 12;

/// Returns the latency of a load or a similar instruction, which is worth starting early; zero for
/// others.
fn load_latency(latency: u32) -> u32 {
    if latency >= 20 { latency } else { 0 }
}

/// A region with named values and dependences.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    values: Vec<Value>,
    /// By value: the number of nodes that read it, and one more if it is live at the end.
    readers: Vec<u32>,
    /// By value: whether it is live at the end.
    is_live_out: Vec<bool>,
    nodes: Vec<GraphNode>,
    /// Values that nodes read, node by node.
    uses: Vec<u32>,
    /// The nodes that each node waits for, node by node, with the delay.
    predecessors: Vec<(u32, u32)>,
    /// The number of values that are live at its start, which come first.
    live_in: u32,
    /// The nodes that wait for each node, once they have been asked for.
    successors: OnceCell<Successors>,
    /// The order that needs few registers, once it has been asked for.
    least: OnceCell<Vec<u32>>,
}

/// A value: the result of one definition of a cell.
#[derive(Clone, Copy, Debug)]
struct Value {
    /// What it adds to the live registers.
    counts: Counts,
    place: Place,
    /// The load that defines it, counted from one; zero for other values.
    load: u32,
}

impl Value {
    fn is_uniform(&self) -> bool {
        self.counts.uniform() > 0
    }
}

/// Numbers of live registers. They are in one array so that all of them are added at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts([i32; 4]);

impl Counts {
    /// Returns the counts of one value.
    fn of_value(is_uniform: bool, is_loaded: bool, is_recomputed: bool) -> Self {
        Self(
            [
                !is_uniform,
                is_uniform,
                !is_uniform && is_loaded,
                !is_uniform && !is_recomputed,
            ]
            .map(i32::from),
        )
    }

    fn registers(self) -> i32 {
        self.0[0]
    }

    fn uniform(self) -> i32 {
        self.0[1]
    }

    fn loaded(self) -> i32 {
        self.0[2]
    }

    fn kept(self) -> i32 {
        self.0[3]
    }

    fn add(&mut self, other: Self) {
        (0..4).for_each(|index| self.0[index] += other.0[index]);
    }

    fn remove(&mut self, other: Self) {
        (0..4).for_each(|index| self.0[index] -= other.0[index]);
    }

    fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].max(other.0[index])))
    }
}

/// The registers that ptxas prefers for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Anywhere,
    /// Starting at an even register.
    Aligned,
    /// At an odd register.
    Odd,
}

/// When a register becomes free after the last instruction that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    /// Immediately.
    Read,
    /// When the result of the load is read: only then is it known that the load has read its
    /// address.
    Loaded,
    /// Where everything waits: for stores and operations without a result.
    Fence,
}

/// The last memory access that has read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Nobody,
    /// This load.
    Load(u32),
    /// A store.
    Store,
}

/// Register counts by placement.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    anywhere: i32,
    aligned: i32,
    odd: i32,
}

impl Registers {
    fn add(&mut self, place: Place, count: i32) {
        match place {
            Place::Anywhere => self.anywhere += count,
            Place::Aligned => self.aligned += count,
            Place::Odd => self.odd += count,
        }
    }

    /// Adds the placements of which `other` has more than none.
    fn add_growth(&mut self, other: Self) {
        self.anywhere += other.anywhere.max(0);
        self.aligned += other.aligned.max(0);
        self.odd += other.odd.max(0);
    }

    fn remove(&mut self, other: Self) {
        self.anywhere -= other.anywhere;
        self.aligned -= other.aligned;
        self.odd -= other.odd;
    }

    /// Returns the number of registers from the first to the last, the stack pointer's included,
    /// which is odd.
    fn span(self) -> u32 {
        let odd = self.odd + 1;
        let single = (2 * odd).max(odd + self.anywhere);
        u32::try_from((self.aligned + 1) / 2 * 2 + single).unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
struct GraphNode {
    /// The values that it defines: from the first to the one before the second.
    defined: (u32, u32),
    /// Where the values that it reads are in `uses`.
    used: (u32, u32),
    /// Where the nodes that it waits for are in `predecessors`.
    predecessors: (u32, u32),
    temporaries: u32,
    stored_constants: u32,
    release: Release,
    /// True if everything before it is complete when it starts.
    waits: bool,
    is_exchange: bool,
    /// The longest path to the end, in cycles.
    height: u32,
    /// The same, counting only the time of loads and similar instructions.
    load_height: u32,
}

impl GraphNode {
    fn defined(&self) -> Range<usize> {
        self.defined.0 as usize..self.defined.1 as usize
    }
}

/// The nodes that wait for each node, ascending, with the delay.
#[derive(Clone, Debug)]
struct Successors {
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

    fn of(&self, node: usize) -> &[(u32, u32)] {
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
    ordering: Ordering,
}

/// The memory accesses that constrain later ones; accesses are given by their nodes.
#[derive(Clone, Debug, Default)]
struct Ordering {
    loads: VecDeque<(u32, Memory)>,
    stores: VecDeque<(u32, Memory)>,
    fence: Option<u32>,
    /// Nodes since the last fence.
    since_fence: u32,
}

impl Ordering {
    fn clear(&mut self) {
        self.loads.clear();
        self.stores.clear();
        (self.fence, self.since_fence) = (None, 0);
    }
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
        scratch.ordering.clear();
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

    fn add(&mut self, cells: &Cells, nodes: &Nodes, node: &Node, is_predicated: bool, scratch: &mut Scratch) {
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
            last_edges, ordering, ..
        } = scratch;
        self.keep_order(this, node, ordering, |graph, earlier| {
            graph.connect(earlier, 1, first_edge, last_edges);
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

    /// Calls `wait_for` for the earlier nodes that a node must not pass, to keep memory accesses in
    /// order.
    fn keep_order(
        &mut self,
        this: u32,
        node: &Node,
        ordering: &mut Ordering,
        mut wait_for: impl FnMut(&mut Self, u32),
    ) {
        if node.order == Order::Fence {
            for earlier in this - ordering.since_fence..this {
                wait_for(self, earlier);
            }
            if ordering.since_fence == 0
                && let Some(fence) = ordering.fence
            {
                wait_for(self, fence);
            }
            ordering.clear();
            ordering.fence = Some(this);
            return;
        }
        ordering.since_fence += 1;
        if let Some(fence) = ordering.fence {
            wait_for(self, fence);
        }
        match node.order {
            Order::Free | Order::Fence => {}
            Order::Load(memory) => {
                for &(store, other) in &ordering.stores {
                    if memory.may_overlap(&other) {
                        wait_for(self, store);
                    }
                }
                if ordering.loads.len() == COMPARED_LOADS {
                    ordering.loads.pop_front();
                }
                ordering.loads.push_back((this, memory));
            }
            Order::Store(memory) => {
                // A later store waits for this one, which waits for these loads.
                ordering.loads.retain(|&(load, other)| {
                    let overlaps = memory.may_overlap(&other);
                    if overlaps {
                        wait_for(self, load);
                    }
                    !overlaps
                });
                // Stores stay in order, so the last one implies all that it waited for.
                if let Some(&(store, _)) = ordering.stores.back() {
                    wait_for(self, store);
                }
                if ordering.stores.len() == COMPARED_STORES {
                    ordering.stores.pop_front();
                }
                ordering.stores.push_back((this, memory));
            }
        }
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
    fn predecessors_of(&self, node: usize) -> &[(u32, u32)] {
        let (first, end) = self.nodes[node].predecessors;
        &self.predecessors[first as usize..end as usize]
    }

    /// Returns the values that a node reads.
    fn used(&self, node: &GraphNode) -> &[u32] {
        &self.uses[node.used.0 as usize..node.used.1 as usize]
    }

    fn successors(&self) -> &Successors {
        self.successors.get_or_init(|| Successors::new(self))
    }

    /// Returns the fewest cycles in which the block can run.
    pub fn length(&self) -> u32 {
        self.nodes.iter().map(|node| node.height).max().unwrap_or(0)
    }

    /// Returns the cost of an order, [`Cost::spaced`] only of the orders whose features need it.
    pub fn cost(&self, policy: Policy) -> Cost {
        match policy {
            Policy::Source => {
                let mut walk = Walk::<false>::new(self);
                (0..self.nodes.len()).for_each(|node| walk.step(node));
                walk.most()
            }
            Policy::Least => {
                let mut walk = Walk::<true>::new(self);
                self.least().iter().for_each(|&node| walk.step(node as usize));
                walk.most()
            }
            Policy::Latency => self.latency_cost(),
            Policy::Loads(u32::MAX) => self.loads_cost::<false>(u32::MAX).0,
            Policy::Loads(target) => self.loads_cost::<true>(target).0,
        }
    }

    /// Returns the cost of the order by the length of the path to the end.
    fn latency_cost(&self) -> Cost {
        let mut walk = Walk::<false>::new(self);
        let successors = self.successors();
        let mut waits = self.waits();
        let mut start = vec![0_u32; self.nodes.len()];
        // By time: nodes all of whose operands have been issued. By height: nodes that are ready.
        let mut coming: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut ready = Ready::default();
        for (index, &count) in waits.iter().enumerate() {
            if count == 0 {
                ready.push(self.nodes[index].height, index as u32);
            }
        }
        let mut cycle = 0;
        for _ in 0..self.nodes.len() {
            while let Some(&Reverse(next)) = coming.peek() {
                let (time, node) = ((next >> 32) as u32, next as u32);
                if time > cycle && !ready.is_empty() {
                    break;
                }
                coming.pop();
                cycle = cycle.max(time);
                ready.push(self.nodes[node as usize].height, node);
            }
            let index = ready.pop().expect("no node waits for itself") as usize;
            walk.step(index);
            cycle += 1;
            for &(successor, latency) in successors.of(index) {
                let waiting = successor as usize;
                waits[waiting] -= 1;
                start[waiting] = start[waiting].max(cycle - 1 + latency);
                if waits[waiting] == 0 {
                    coming.push(Reverse(u64::from(start[waiting]) << 32 | u64::from(successor)));
                }
            }
        }
        walk.most()
    }

    /// Returns the cost of the order with loads first, and whether `target` or more registers were
    /// ever live. Where they are, the order continues with one of the highest ready nodes that frees
    /// registers, or else with the next in the order `least`.
    fn loads_cost<const SPACED: bool>(&self, target: u32) -> (Cost, bool) {
        let mut walk = Walk::<SPACED>::new(self);
        let successors = self.successors();
        let mut waits = self.waits();
        let mut is_done = vec![false; self.nodes.len()];
        let mut is_limited = false;
        let mut first = 0;
        let mut ready = Ready::default();
        for (index, &count) in waits.iter().enumerate() {
            if count == 0 {
                ready.push(self.nodes[index].load_height, index as u32);
            }
        }
        for _ in 0..self.nodes.len() {
            let index = if walk.now.registers() as u32 >= target {
                is_limited = true;
                walk.freeing(&ready, &is_done)
            } else {
                // Nodes that were taken out of turn are still in the heap.
                std::iter::from_fn(|| ready.pop()).find(|&node| !is_done[node as usize])
            };
            let index = index.unwrap_or_else(|| {
                let least = self.least();
                while is_done[least[first] as usize] {
                    first += 1;
                }
                least[first]
            }) as usize;
            walk.step(index);
            is_done[index] = true;
            for &(successor, _) in successors.of(index) {
                let waiting = successor as usize;
                waits[waiting] -= 1;
                if waits[waiting] == 0 && !is_done[waiting] {
                    ready.push(self.nodes[waiting].load_height, successor);
                }
            }
        }
        (walk.most(), is_limited)
    }

    /// Returns by node the number of nodes that it waits for.
    fn waits(&self) -> Vec<u32> {
        let count = |node: &GraphNode| node.predecessors.1 - node.predecessors.0;
        self.nodes.iter().map(count).collect()
    }
}

/// Nodes that are ready, the highest first and among equals the first in LLVM's order. An entry is the
/// height with the complement of the number behind it.
#[derive(Default)]
struct Ready(BinaryHeap<u64>);

impl Ready {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, height: u32, node: u32) {
        self.0.push(u64::from(height) << 32 | u64::from(!node));
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop().map(|entry| !(entry as u32))
    }

    /// Returns the nodes in the order of the heap's array, in which the highest are among the first.
    fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|&entry| !(entry as u32))
    }
}

/// Counts registers while nodes are scheduled one after the other.
struct Walk<'a, const SPACED: bool> {
    graph: &'a BlockGraph,
    /// By value: the number of nodes yet to read it, and one more if it is live at the end.
    readers: Vec<u32>,
    /// The registers live at the current point.
    now: Counts,
    /// The maximum of `now` so far.
    most: Counts,
    /// The most registers of both kinds live at once.
    everything: i32,
    /// The most of these over an exchange.
    over_exchanges: i32,
    /// The allocated registers, if they are counted.
    allocated: Allocated,
}

/// The registers that are allocated at a point of a walk, and those that will be free again.
#[derive(Default)]
struct Allocated {
    /// Allocated registers, with gaps.
    taken: Registers,
    /// Those of them that become free when everything waits.
    until_fence: Registers,
    /// By load: those that become free when its result is read; none before it starts and after its
    /// result has been read.
    until_read: Vec<Option<Registers>>,
    /// By value: the last memory access that read it.
    reader: Vec<Reader>,
    /// The most registers that were allocated.
    most: u32,
}

impl<'a, const SPACED: bool> Walk<'a, SPACED> {
    fn new(graph: &'a BlockGraph) -> Self {
        let mut walk = Self {
            graph,
            readers: graph.readers.clone(),
            now: Counts::default(),
            most: Counts::default(),
            everything: 0,
            over_exchanges: 0,
            allocated: Allocated::default(),
        };
        if SPACED {
            walk.allocated.until_read = vec![None; graph.nodes.len()];
            walk.allocated.reader = vec![Reader::Nobody; graph.values.len()];
        }
        for value in &graph.values[..graph.live_in as usize] {
            walk.now.add(value.counts);
            if SPACED {
                walk.allocated.take(value);
            }
        }
        walk.allocated.most = walk.allocated.taken.span();
        walk.most = walk.now;
        walk.everything = walk.now.registers() + walk.now.uniform();
        walk
    }

    /// Returns the cost of the nodes so far.
    fn most(&self) -> Cost {
        Cost {
            registers: self.most.registers() as u32,
            uniform: self.most.uniform() as u32,
            everything: self.everything as u32,
            loaded: self.most.loaded() as u32,
            spaced: if SPACED { self.allocated.most } else { 0 },
            kept: self.most.kept() as u32,
            over_exchanges: self.over_exchanges as u32,
        }
    }

    /// Returns the change in live registers by a node.
    fn growth(&self, node: u32) -> i32 {
        let node = &self.graph.nodes[node as usize];
        let counts = |value: usize| self.graph.values[value].counts.registers();
        let made: i32 = node.defined().map(counts).sum();
        let used = self.graph.used(node).iter().map(|&value| value as usize);
        let freed: i32 = used.filter(|&value| self.readers[value] == 1).map(counts).sum();
        made - freed
    }

    /// Returns the node that frees most registers among the first few of a heap's array, which are
    /// among its highest; none if none frees any.
    fn freeing(&self, ready: &Ready, is_done: &[bool]) -> Option<u32> {
        let nodes = ready.iter().take(COMPARED_READY);
        let nodes = nodes.filter(|&node| !is_done[node as usize]);
        let (growth, best) = nodes.map(|node| (self.growth(node), node)).min()?;
        (growth < 0).then_some(best)
    }

    /// Schedules a node.
    fn step(&mut self, index: usize) {
        let graph = self.graph;
        let node = &graph.nodes[index];
        let during = self.now.registers() + node.temporaries as i32;
        let during_spaced = if SPACED {
            self.allocated.start(index, node)
        } else {
            0
        };
        // The number of registers of the address that the result can reuse.
        let mut reusable = node.defined().len() as i32;
        for &value in graph.used(node) {
            let data = &graph.values[value as usize];
            let readers = &mut self.readers[value as usize];
            debug_assert!(*readers > 0);
            *readers -= 1;
            let is_last = *readers == 0;
            if is_last {
                self.now.remove(data.counts);
            }
            if SPACED {
                self.allocated.read(index, node.release, value, data);
                if is_last {
                    self.allocated.free(index, value, data, &mut reusable);
                }
            }
        }
        let defined = &graph.values[node.defined()];
        for value in defined {
            self.now.add(value.counts);
        }
        let everything = self.now.registers() + self.now.uniform();
        self.everything = self.everything.max(everything);
        if node.is_exchange {
            self.over_exchanges = self.over_exchanges.max(everything);
        }
        self.most = self.most.max(self.now);
        if node.temporaries > 0 {
            self.most.0[0] = self.most.0[0].max(during);
        }
        if SPACED {
            self.allocated.finish(node, defined, during_spaced);
        }
        for (value, &readers) in defined.iter().zip(&graph.readers[node.defined()]) {
            if readers == 0 {
                self.now.remove(value.counts);
                if SPACED && !value.is_uniform() {
                    self.allocated.taken.add(value.place, -1);
                }
            }
        }
    }
}

impl Allocated {
    /// Allocates a register for a value.
    fn take(&mut self, value: &Value) {
        if !value.is_uniform() {
            self.taken.add(value.place, 1);
        }
    }

    /// Starts a node; returns the registers that are allocated while it runs.
    fn start(&mut self, index: usize, node: &GraphNode) -> u32 {
        let during = match node.temporaries {
            0 => 0,
            temporaries => self.taken.span() + temporaries,
        };
        if node.waits {
            self.taken.remove(std::mem::take(&mut self.until_fence));
        }
        if node.release == Release::Loaded {
            self.until_read[index] = Some(Registers::default());
        }
        during
    }

    /// Reads a value for a node.
    fn read(&mut self, index: usize, release: Release, number: u32, value: &Value) {
        if let Some(load) = value.load.checked_sub(1)
            && let Some(free) = self.until_read[load as usize].take()
        {
            self.taken.remove(free);
        }
        let reader = &mut self.reader[number as usize];
        match release {
            Release::Read => {}
            Release::Loaded if *reader == Reader::Store => {}
            Release::Loaded => *reader = Reader::Load(index as u32),
            Release::Fence => *reader = Reader::Store,
        }
    }

    /// Frees the register of a value that a node reads last, now or when no access can read it any
    /// more.
    fn free(&mut self, index: usize, number: u32, value: &Value, reusable: &mut i32) {
        if value.is_uniform() {
            return;
        }
        match self.reader[number as usize] {
            Reader::Store => self.until_fence.add(value.place, 1),
            Reader::Load(load)
                if load as usize == index && value.place == Place::Aligned && *reusable > 0 =>
            {
                *reusable -= 1;
                self.taken.add(value.place, -1);
            }
            Reader::Load(load) => match &mut self.until_read[load as usize] {
                Some(waiting) => waiting.add(value.place, 1),
                None => self.taken.add(value.place, -1),
            },
            Reader::Nobody => self.taken.add(value.place, -1),
        }
    }

    /// Allocates the results of a node, which needed `during` registers if it has temporaries.
    fn finish(&mut self, node: &GraphNode, defined: &[Value], during: u32) {
        self.taken.odd += node.stored_constants as i32;
        self.until_fence.odd += node.stored_constants as i32;
        for value in defined {
            self.take(value);
        }
        self.most = self.most.max(self.taken.span()).max(during);
    }
}
