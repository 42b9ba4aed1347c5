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
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    nodes: Vec<GraphNode>,
    /// Values that are live at its start.
    live_in: Vec<u32>,
    /// The order that needs few registers, once it has been asked for.
    least: OnceCell<Vec<u32>>,
}

/// A value: the result of one definition of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    /// The number of nodes that read it.
    readers: u32,
    is_live_out: bool,
    is_uniform: bool,
    is_loaded: bool,
    is_recomputed: bool,
    place: Place,
    /// The load that defines it, counted from one; zero for other values.
    load: u32,
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
    /// Values that it defines.
    defined: SmallVec<[u32; 2]>,
    /// Values that it reads.
    used: SmallVec<[u32; 4]>,
    /// Nodes that wait for this one, with the delay.
    successors: SmallVec<[(u32, u32); 4]>,
    /// The number of nodes that it waits for.
    predecessors: u32,
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

/// The scratch tables of [`BlockGraph::new`], kept between blocks: they are as large as the
/// function.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// By cell: its current value, counted from one.
    current: Vec<u32>,
    /// By value: the node that defines it, and its latency; none for values live at the start of
    /// the region.
    definers: Vec<Option<(u32, u32)>>,
}

/// The memory accesses that constrain later ones; accesses are given by their nodes.
struct Ordering {
    loads: Vec<(u32, Memory)>,
    stores: Vec<(u32, Memory)>,
    fence: Option<u32>,
    /// Nodes since the last fence.
    since_fence: u32,
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
        let mut graph = Self {
            values: Vec::new(),
            nodes: Vec::with_capacity(size),
            live_in: Vec::new(),
            least: OnceCell::new(),
        };
        scratch.definers.clear();
        for &cell in live_in {
            let value = graph.new_value(cells, nodes, cell, 0);
            scratch.definers.push(None);
            scratch.current[cell.index()] = value + 1;
            graph.live_in.push(value);
        }
        let mut ordering = Ordering {
            loads: Vec::new(),
            stores: Vec::new(),
            fence: None,
            since_fence: 0,
        };
        for (number, (of_block, is_predicated)) in blocks().enumerate() {
            // Branches within a region are removed.
            let is_end = number + 1 == region.blocks.len();
            for node in of_block.iter().filter(|node| is_end || !node.is_terminator) {
                graph.add(cells, nodes, node, is_predicated, scratch, &mut ordering);
            }
        }
        for &cell in region.ends.iter().flat_map(|&end| live.live_out(end)) {
            if let Some(value) = scratch.current[cell.index()].checked_sub(1) {
                graph.values[value as usize].is_live_out = true;
            }
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
            is_uniform: cells.is_uniform(cell),
            is_loaded: load > 0,
            is_recomputed: nodes.is_recomputed(cell),
            place,
            load,
            ..Value::default()
        });
        self.values.len() as u32 - 1
    }

    fn add(
        &mut self,
        cells: &Cells,
        nodes: &Nodes,
        node: &Node,
        is_predicated: bool,
        scratch: &mut Scratch,
        ordering: &mut Ordering,
    ) {
        let this = self.nodes.len() as u32;
        let mut added = GraphNode {
            defined: SmallVec::new(),
            used: SmallVec::new(),
            successors: SmallVec::new(),
            predecessors: 0,
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
        };
        // Under a predicate the old value may have to survive.
        let kept = node.defined.iter().filter(|_| is_predicated);
        for &cell in node.used.iter().chain(kept) {
            // Undefined cells hold no value.
            let Some(value) = scratch.current[cell.index()].checked_sub(1) else {
                continue;
            };
            self.values[value as usize].readers += 1;
            added.used.push(value);
            if let Some((definer, latency)) = scratch.definers[value as usize] {
                added.predecessors += self.connect(definer, this, latency);
            }
        }
        added.predecessors += self.keep_order(this, node, ordering);
        let load = if load_latency(node.latency) > 0 {
            this + 1
        } else {
            0
        };
        for &cell in &node.defined {
            let value = self.new_value(cells, nodes, cell, load);
            scratch.definers.push(Some((this, node.latency)));
            scratch.current[cell.index()] = value + 1;
            added.defined.push(value);
        }
        self.nodes.push(added);
    }

    /// Adds an edge, or raises the delay of a known one. Returns the number of new edges. All edges to
    /// a node must be added before those to the next one.
    fn connect(&mut self, from: u32, to: u32, latency: u32) -> u32 {
        let successors = &mut self.nodes[from as usize].successors;
        debug_assert!(successors.last().is_none_or(|&(last, _)| last <= to));
        if let Some((last, known)) = successors.last_mut()
            && *last == to
        {
            *known = latency.max(*known);
            return 0;
        }
        successors.push((to, latency));
        1
    }

    /// Adds the edges that keep memory accesses in order; returns the number of new predecessors.
    fn keep_order(&mut self, this: u32, node: &Node, ordering: &mut Ordering) -> u32 {
        let mut count = 0;
        if node.order == Order::Fence {
            for earlier in this - ordering.since_fence..this {
                count += self.connect(earlier, this, 1);
            }
            if ordering.since_fence == 0
                && let Some(fence) = ordering.fence
            {
                count += self.connect(fence, this, 1);
            }
            ordering.loads.clear();
            ordering.stores.clear();
            ordering.fence = Some(this);
            ordering.since_fence = 0;
            return count;
        }
        ordering.since_fence += 1;
        if let Some(fence) = ordering.fence {
            count += self.connect(fence, this, 1);
        }
        match node.order {
            Order::Free | Order::Fence => {}
            Order::Load(memory) => {
                for &(store, other) in &ordering.stores {
                    if memory.may_overlap(&other) {
                        count += self.connect(store, this, 1);
                    }
                }
                ordering.loads.push((this, memory));
            }
            Order::Store(memory) => {
                for &(load, other) in &ordering.loads {
                    if memory.may_overlap(&other) {
                        count += self.connect(load, this, 1);
                    }
                }
                // Stores stay in order, so the last one implies all that it waited for.
                if let Some(&(store, _)) = ordering.stores.last() {
                    count += self.connect(store, this, 1);
                }
                ordering.loads.retain(|(_, other)| !memory.may_overlap(other));
                if ordering.stores.len() == COMPARED_STORES {
                    ordering.stores.remove(0);
                }
                ordering.stores.push((this, memory));
            }
        }
        count
    }

    /// Computes the longest path from each node to the end.
    fn find_heights(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let (mut height, mut load_height) = (self.nodes[index].height, self.nodes[index].load_height);
            for &(successor, latency) in &self.nodes[index].successors {
                let behind = &self.nodes[successor as usize];
                height = height.max(latency + behind.height);
                load_height = load_height.max(load_latency(latency) + behind.load_height);
            }
            let node = &mut self.nodes[index];
            (node.height, node.load_height) = (height, load_height);
        }
    }

    /// Returns the fewest cycles in which the block can run.
    pub fn length(&self) -> u32 {
        self.nodes.iter().map(|node| node.height).max().unwrap_or(0)
    }

    /// Returns the cost of an order.
    pub fn cost(&self, policy: Policy) -> Cost {
        let mut walk = Walk::new(self);
        match policy {
            Policy::Source => (0..self.nodes.len()).for_each(|node| walk.step(node)),
            Policy::Least => self.least().iter().for_each(|&node| walk.step(node as usize)),
            Policy::Latency => self.list_schedule(&mut walk, |node| node.height, true, u32::MAX),
            Policy::Loads(target) => {
                self.list_schedule(&mut walk, |node| node.load_height, false, target);
            }
        }
        walk.most
    }

    /// Schedules the nodes by height and time, and records the cost in `walk`. While `target` or more
    /// registers are live, it takes one of the highest ready nodes that frees registers, or else the
    /// next in the order `least`.
    fn list_schedule(
        &self,
        walk: &mut Walk<'_>,
        height: impl Fn(&GraphNode) -> u32,
        waits_for_results: bool,
        target: u32,
    ) {
        let mut waits: Vec<u32> = self.nodes.iter().map(|node| node.predecessors).collect();
        let mut start = vec![0_u32; self.nodes.len()];
        let mut is_done = vec![false; self.nodes.len()];
        let mut first = 0;
        // By time: nodes all of whose operands have been issued. By height: nodes that are ready.
        let mut coming: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut ready: BinaryHeap<(u32, Reverse<u32>)> = BinaryHeap::new();
        for (index, &count) in waits.iter().enumerate() {
            if count == 0 {
                ready.push((height(&self.nodes[index]), Reverse(index as u32)));
            }
        }
        let mut cycle = 0;
        for _ in 0..self.nodes.len() {
            while let Some(&Reverse((time, node))) = coming.peek()
                && (time <= cycle || ready.is_empty())
            {
                coming.pop();
                if !is_done[node as usize] {
                    cycle = cycle.max(time);
                    ready.push((height(&self.nodes[node as usize]), Reverse(node)));
                }
            }
            let index = if walk.now.registers >= target {
                walk.freeing(&ready, &is_done)
            } else {
                // Nodes that were taken out of turn are still in the heap.
                let next =
                    std::iter::from_fn(|| ready.pop()).find(|(_, Reverse(node))| !is_done[*node as usize]);
                next.map(|(_, Reverse(node))| node as usize)
            };
            let index = index.unwrap_or_else(|| {
                let least = self.least();
                while is_done[least[first] as usize] {
                    first += 1;
                }
                least[first] as usize
            });
            walk.step(index);
            is_done[index] = true;
            cycle += 1;
            for &(successor, latency) in &self.nodes[index].successors {
                let waiting = successor as usize;
                waits[waiting] -= 1;
                if waits_for_results {
                    start[waiting] = start[waiting].max(cycle - 1 + latency);
                    if waits[waiting] == 0 {
                        coming.push(Reverse((start[waiting], successor)));
                    }
                } else if waits[waiting] == 0 && !is_done[waiting] {
                    ready.push((height(&self.nodes[waiting]), Reverse(successor)));
                }
            }
        }
    }
}

/// Counts registers while nodes are scheduled one after the other.
struct Walk<'a> {
    graph: &'a BlockGraph,
    /// By value: the number of nodes yet to read it.
    readers: Vec<u32>,
    /// The registers live at the current point.
    now: Cost,
    /// The maximum of `now` so far.
    most: Cost,
    /// Allocated registers, with gaps.
    taken: Registers,
    /// Those of them that become free when everything waits.
    until_fence: Registers,
    /// By load: those that become free when its result is read; none before it starts and after its
    /// result has been read.
    until_read: Vec<Option<Registers>>,
    /// By value: the last memory access that read it.
    reader: Vec<Reader>,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a BlockGraph) -> Self {
        let mut walk = Self {
            graph,
            readers: graph.values.iter().map(|value| value.readers).collect(),
            now: Cost::default(),
            most: Cost::default(),
            taken: Registers::default(),
            until_fence: Registers::default(),
            until_read: vec![None; graph.nodes.len()],
            reader: vec![Reader::Nobody; graph.values.len()],
        };
        for &value in &graph.live_in {
            walk.count(value, 1);
            walk.take(value);
        }
        walk.now.spaced = walk.taken.span();
        walk.most = walk.now;
        walk
    }

    fn count(&mut self, value: u32, change: i32) {
        let value = &self.graph.values[value as usize];
        self.now.everything = self.now.everything.saturating_add_signed(change);
        let count = if value.is_uniform {
            &mut self.now.uniform
        } else {
            if value.is_loaded {
                self.now.loaded = self.now.loaded.saturating_add_signed(change);
            }
            if !value.is_recomputed {
                self.now.kept = self.now.kept.saturating_add_signed(change);
            }
            &mut self.now.registers
        };
        *count = count.saturating_add_signed(change);
    }

    fn is_last_reader(&self, value: u32) -> bool {
        self.readers[value as usize] == 1 && !self.graph.values[value as usize].is_live_out
    }

    /// Returns the change in live registers by a node.
    fn growth(&self, node: u32) -> i32 {
        let node = &self.graph.nodes[node as usize];
        let counts = |value: &&u32| !self.graph.values[**value as usize].is_uniform;
        let made = node.defined.iter().filter(counts).count() as i32;
        let freed = node
            .used
            .iter()
            .filter(counts)
            .filter(|&&value| self.is_last_reader(value));
        made - freed.count() as i32
    }

    /// Returns the node that frees most registers among the first few of a heap's array, which are
    /// among its highest; none if none frees any.
    fn freeing(&self, ready: &BinaryHeap<(u32, Reverse<u32>)>, is_done: &[bool]) -> Option<usize> {
        let nodes = ready.iter().take(COMPARED_READY).map(|&(_, Reverse(node))| node);
        let nodes = nodes.filter(|&node| !is_done[node as usize]);
        let best = nodes.min_by_key(|&node| (self.growth(node), node))?;
        (self.growth(best) < 0).then_some(best as usize)
    }

    /// Allocates a register for a value.
    fn take(&mut self, value: u32) {
        let value = &self.graph.values[value as usize];
        if !value.is_uniform {
            self.taken.add(value.place, 1);
        }
    }

    /// Frees the register of a value that a node reads last, now or when no access can read it any
    /// more.
    fn free(&mut self, value: u32, node: usize, reusable: &mut i32) {
        let data = &self.graph.values[value as usize];
        if data.is_uniform {
            return;
        }
        match self.reader[value as usize] {
            Reader::Store => self.until_fence.add(data.place, 1),
            Reader::Load(load) if load as usize == node && data.place == Place::Aligned && *reusable > 0 => {
                *reusable -= 1;
                self.taken.add(data.place, -1);
            }
            Reader::Load(load) => match &mut self.until_read[load as usize] {
                Some(waiting) => waiting.add(data.place, 1),
                None => self.taken.add(data.place, -1),
            },
            Reader::Nobody => self.taken.add(data.place, -1),
        }
    }

    /// Schedules a node.
    fn step(&mut self, index: usize) {
        let graph = self.graph;
        let node = &graph.nodes[index];
        let during = self.now.registers + node.temporaries;
        let during_spaced = self.taken.span() + node.temporaries;
        if node.waits {
            self.taken.remove(std::mem::take(&mut self.until_fence));
        }
        if node.release == Release::Loaded {
            self.until_read[index] = Some(Registers::default());
        }
        // The number of registers of the address that the result can reuse.
        let mut reusable = node.defined.len() as i32;
        for &value in &node.used {
            let data = &graph.values[value as usize];
            if let Some(load) = data.load.checked_sub(1)
                && let Some(free) = self.until_read[load as usize].take()
            {
                self.taken.remove(free);
            }
            match node.release {
                Release::Read => {}
                Release::Loaded if self.reader[value as usize] == Reader::Store => {}
                Release::Loaded => self.reader[value as usize] = Reader::Load(index as u32),
                Release::Fence => self.reader[value as usize] = Reader::Store,
            }
            debug_assert!(self.readers[value as usize] > 0);
            if self.is_last_reader(value) {
                self.count(value, -1);
                self.free(value, index, &mut reusable);
            }
            self.readers[value as usize] -= 1;
        }
        self.taken.odd += node.stored_constants as i32;
        self.until_fence.odd += node.stored_constants as i32;
        for &value in &node.defined {
            self.count(value, 1);
            self.take(value);
        }
        self.now.spaced = self.taken.span();
        self.now.over_exchanges = if node.is_exchange { self.now.everything } else { 0 };
        self.most = self.most.max(self.now);
        if node.temporaries > 0 {
            self.most.registers = self.most.registers.max(during);
            self.most.spaced = self.most.spaced.max(during_spaced);
        }
        for &value in &node.defined {
            let data = &graph.values[value as usize];
            if data.readers == 0 && !data.is_live_out {
                self.count(value, -1);
                if !data.is_uniform {
                    self.taken.add(data.place, -1);
                }
            }
        }
    }
}
