//! The instructions that a scheduler sees: the cells that each reads and writes, its latency, and the
//! instructions that it must not pass. `lower.rs` makes them.

use super::cells::{Cell, Cells};
use oriel_engine::entity::{Block, EntityRef, Register, SecondaryMap};
use oriel_ori::AddressSpace;
use smallvec::SmallVec;

/// Constraints on the order of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Only its operands.
    Free,
    /// A load, from memory that stores may write.
    Load(Memory),
    /// A store.
    Store(Memory),
    /// A fence: barriers, calls, the end of the block.
    Fence,
}

/// The memory that a node accesses, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The address space.
    pub space: AddressSpace,
    /// The base register of the address, and the byte offset.
    pub base: Option<(Register, i64)>,
    /// Size in bytes.
    pub size: i64,
}

impl Memory {
    /// True if both may access the same memory.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let is_generic = |memory: &Self| matches!(memory.space, AddressSpace::Generic | AddressSpace::None);
        if self.space != other.space && !is_generic(self) && !is_generic(other) {
            return false;
        }
        match (self.base, other.base) {
            (Some((one, from)), Some((two, to))) if one == two => {
                from < to.saturating_add(other.size) && to < from.saturating_add(self.size)
            }
            _ => true,
        }
    }
}

/// An instruction for the scheduler.
#[derive(Clone, Debug)]
pub struct ScheduleNode {
    /// Cells that it writes.
    pub defined: SmallVec<[Cell; 2]>,
    /// Cells that it reads, each once.
    pub used: SmallVec<[Cell; 4]>,
    /// Cycles until its results are available.
    pub latency: u32,
    /// Temporaries: registers needed during the instruction.
    pub temporaries: u32,
    /// Registers for constants that it stores.
    pub stored_constants: u32,
    /// The constraints on its order.
    pub order: Order,
    /// True if it only writes memory, so that nothing tells when it has read its operands.
    pub is_store: bool,
    /// True if it waits for all earlier memory accesses.
    pub waits: bool,
    /// True for a call, across which the callee's registers are not free.
    pub is_call: bool,
    /// True if it ends the block.
    pub is_terminator: bool,
    /// True if it loads from global memory, or through a generic address.
    pub is_global_load: bool,
    /// Operations of tensor cores.
    pub matrix_operations: u32,
    /// True if it copies between memories without registers.
    pub is_copy: bool,
    /// True if it exchanges values between lanes.
    pub is_exchange: bool,
}

impl ScheduleNode {
    /// Makes a node that loads a pair from the constant bank or from uniform registers.
    pub(super) fn moving(used: SmallVec<[Cell; 4]>, pair: [Cell; 2]) -> Self {
        Self {
            defined: SmallVec::from_slice(&pair),
            // Reads of the constant bank are scheduled first, like loads.
            latency: if used.is_empty() { 24 } else { 8 },
            used,
            temporaries: 0,
            stored_constants: 0,
            order: Order::Free,
            is_store: false,
            waits: false,
            is_call: false,
            is_terminator: false,
            is_global_load: false,
            matrix_operations: 0,
            is_copy: false,
            is_exchange: false,
        }
    }
}

/// The latency up to which an instruction is simple enough to be repeated.
const RECOMPUTED_LATENCY: u32 = 6;

/// The nodes of a function, by block.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    pub(super) blocks: SecondaryMap<Block, (u32, u32)>,
    pub(super) nodes: Vec<ScheduleNode>,
    /// Cells of the function, and cells that hold machine constants within a block.
    pub(super) cell_count: usize,
    /// By cell.
    traits: Vec<CellTraits>,
}

/// How ptxas treats a cell.
#[derive(Clone, Copy, Debug, Default)]
struct CellTraits {
    is_aligned: bool,
    is_odd: bool,
    is_recomputed: bool,
}

impl Nodes {
    /// Finds how ptxas treats each cell.
    pub(super) fn find_traits(&mut self, cells: &Cells) {
        self.traits = vec![CellTraits::default(); self.cell_count];
        self.find_places();
        self.find_recomputed(cells);
    }

    /// Finds the cells that ptxas can compute again where they are read, instead of keeping them:
    /// those that one simple instruction makes of at most one value that is not uniform.
    fn find_recomputed(&mut self, cells: &Cells) {
        let mut definitions = vec![0_u8; self.cell_count];
        for cell in self.nodes.iter().flat_map(|node| &node.defined) {
            let count = &mut definitions[cell.index()];
            *count = count.saturating_add(1);
        }
        for node in &self.nodes {
            let is_simple = node.order == Order::Free
                && node.latency <= RECOMPUTED_LATENCY
                && node.temporaries == 0
                && node.matrix_operations == 0
                && node.defined.len() <= 2;
            let is_uniform = |cell: Cell| cell.index() < cells.count() && cells.is_uniform(cell);
            let read = node.used.iter().filter(|&&cell| !is_uniform(cell)).count();
            let once = |cell: &Cell| definitions[cell.index()] == 1;
            if is_simple && read <= node.defined.len().max(1) && node.defined.iter().all(once) {
                for cell in &node.defined {
                    self.traits[cell.index()].is_recomputed = true;
                }
            }
        }
    }

    /// True if one simple instruction computes the cell again from another value.
    pub fn is_recomputed(&self, cell: Cell) -> bool {
        self.traits[cell.index()].is_recomputed
    }

    /// Finds the cells that are parts of aligned tuples, and those that ptxas places at odd
    /// numbers.
    fn find_places(&mut self) {
        let traits = &mut self.traits;
        for node in self.nodes.iter().filter(|node| node.defined.len() > 1) {
            for cell in &node.defined {
                traits[cell.index()].is_aligned = true;
            }
        }
        for node in &self.nodes {
            if node.used.iter().any(|cell| traits[cell.index()].is_aligned) {
                for cell in &node.used {
                    let traits = &mut traits[cell.index()];
                    traits.is_odd |= !traits.is_aligned;
                }
            }
        }
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cell_count
    }

    /// True for a part of a value of 64 bits or more, which starts at an even register.
    pub fn is_aligned(&self, cell: Cell) -> bool {
        self.traits[cell.index()].is_aligned
    }

    /// True if it is read together with an aligned value. The even half of that value occupies the
    /// even register bank, so ptxas chooses an odd register.
    pub fn is_odd(&self, cell: Cell) -> bool {
        self.traits[cell.index()].is_odd
    }

    /// Returns the nodes of a block, in order.
    pub fn of(&self, block: Block) -> &[ScheduleNode] {
        let (first, end) = self.blocks[block];
        &self.nodes[first as usize..end as usize]
    }
}
