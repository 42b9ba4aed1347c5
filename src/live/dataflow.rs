//! Phase 5: backward liveness of one batch of registers.
//!
//! ```text
//! LiveIn(B)  = UpwardUses(B) ∪ (LiveOut(B) \ Definitions(B))
//! LiveOut(B) = ∪ LiveIn(S) over the successors S of B
//! ```
//!
//! The reference writes `(LiveOut \ Kill) | Def`, which is not backward liveness, and visits every
//! block in every pass. Here registers are taken in batches that fit the segments' inline buffers,
//! neighbours in order of definition together, and only blocks where one of them is live are
//! visited. So cost and memory follow the size of the answer: a function of 100k blocks whose
//! values live briefly costs what its values cover, and the usual kernel is one batch.
//!
//! General registers and predicates are separate sets that converge in the same passes.

use super::predecessors::Predecessors;
use super::scan::{RegisterState, Scan};
use super::segment::{BatchBit, GENERAL_BITS, PREDICATE_BITS};
use super::segment_table::SegmentTable;
use super::slot_index::SlotIndex;
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, Register};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::RegisterFile;

/// A set of blocks that is walked from the last to the first in layout order.
#[derive(Debug, Default)]
pub(super) struct BlockSet {
    words: Vec<u64>,
    /// Members are in words below this one.
    end: usize,
}

impl BlockSet {
    /// Empties the set for a function of `blocks` blocks.
    pub(super) fn reset(&mut self, blocks: usize) {
        self.words.clear();
        self.words.resize(blocks.div_ceil(64), 0);
        self.end = 0;
    }

    /// Adds a block.
    pub(super) fn insert(&mut self, block: Block) {
        let word = block.index() / 64;
        self.words[word] |= 1 << (block.index() % 64);
        self.end = self.end.max(word + 1);
    }

    /// Adds a block while a walk is at word `below`, from where it will still meet the block unless it
    /// lies further back.
    fn insert_during_walk(&mut self, block: Block, below: usize) {
        let word = block.index() / 64;
        self.words[word] |= 1 << (block.index() % 64);
        if word >= below {
            self.end = self.end.max(word + 1);
        }
    }

    /// Removes the last member below word `below` and returns it.
    fn pop_last(&mut self, below: &mut usize) -> Option<Block> {
        while *below > 0 {
            let word = &mut self.words[*below - 1];
            if *word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                *word &= !(1 << bit);
                return Some(Block::new((*below - 1) * 64 + bit));
            }
            *below -= 1;
        }
        None
    }

    /// Empties the set, visiting its members from the last to the first.
    pub(super) fn drain(&mut self, mut visit: impl FnMut(Block)) {
        let mut below = self.end;
        while let Some(block) = self.pop_last(&mut below) {
            visit(block);
        }
        self.end = 0;
    }

    fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// The registers that are worked on together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// General registers by bit, from zero.
    general: Vec<Register>,
    /// Predicates by bit, from [`GENERAL_BITS`].
    predicates: Vec<Register>,
}

impl Batch {
    /// All registers with their bits.
    pub(super) fn members(&self) -> impl Iterator<Item = (BatchBit, Register)> + '_ {
        let general = self.general.iter().enumerate();
        let predicates = self.predicates.iter().enumerate();
        general
            .map(|(position, &register)| (BatchBit(position as u16), register))
            .chain(
                predicates
                    .map(|(position, &register)| (BatchBit((GENERAL_BITS + position) as u16), register)),
            )
    }

    /// Takes registers from the front of `queue` while there is room; returns how many.
    fn fill(&mut self, queue: &[Register], is_predicate: impl Fn(Register) -> bool) -> usize {
        self.general.clear();
        self.predicates.clear();
        for (taken, &register) in queue.iter().enumerate() {
            let (set, room) = if is_predicate(register) {
                (&mut self.predicates, PREDICATE_BITS)
            } else {
                (&mut self.general, GENERAL_BITS)
            };
            if set.len() == room {
                return taken;
            }
            set.push(register);
        }
        queue.len()
    }
}

/// The dataflow problem: a batch, the segments of the blocks that it touches, and what is pending.
#[derive(Debug, Default)]
pub(super) struct Dataflow {
    pub batch: Batch,
    pub table: SegmentTable,
    /// Blocks that have a segment.
    pub touched: BlockSet,
    pending: BlockSet,
    predicate_classes: Vec<bool>,
    /// Passes over pending blocks since the function began.
    pub passes: u32,
    /// Batches since the function began.
    pub batches: u32,
}

impl Dataflow {
    /// Prepares for a function, with room for `active` blocks.
    pub(super) fn begin(&mut self, snapshot: &Snapshot<'_>, active: usize) {
        self.passes = 0;
        self.batches = 0;
        self.table.reserve(active);
        self.pending.reset(snapshot.block_count());
        self.touched.reset(snapshot.block_count());
        self.predicate_classes.clear();
        let classes = snapshot.arrays().register_classes.iter();
        self.predicate_classes
            .extend(classes.map(|class| class.file == RegisterFile::Predicate as u32));
    }

    /// Drops registers that nothing defines from `queue`, as they have no value that could be live,
    /// and orders the others by definition if they need several batches.
    pub(super) fn order(&self, queue: &mut Vec<Register>, snapshot: &Snapshot<'_>, states: &[RegisterState]) {
        let registers = snapshot.arrays().registers;
        let mut predicates = 0;
        queue.retain(|register| {
            let class = registers[register.index()].register_class;
            predicates += usize::from(self.predicate_classes[usize::from(class)]);
            states[register.index()].definition.is_some()
        });
        if predicates > PREDICATE_BITS || queue.len() > GENERAL_BITS {
            queue.sort_unstable_by_key(|register| states[register.index()].definition.expand());
        }
    }

    /// Solves the next batch of `queue`. Returns how many registers it took.
    pub(super) fn solve_batch(
        &mut self,
        queue: &[Register],
        snapshot: &Snapshot<'_>,
        scan: &Scan,
        indexes: &SlotIndexes,
        predecessors: &Predecessors,
    ) -> usize {
        let registers = snapshot.arrays().registers;
        let classes = &self.predicate_classes;
        let is_predicate = |register: Register| classes[registers[register.index()].register_class as usize];
        self.batches += 1;
        let taken = self.batch.fill(queue, is_predicate);
        self.table.clear();
        self.seed(snapshot, scan, indexes);
        self.propagate(snapshot, indexes, predecessors);
        taken
    }

    /// Enters definitions and uses into the segments.
    fn seed(&mut self, snapshot: &Snapshot<'_>, scan: &Scan, indexes: &SlotIndexes) {
        let Self {
            batch,
            table,
            touched,
            pending,
            ..
        } = self;
        let mut hint = Block::new(0);
        for (bit, register) in batch.members() {
            let state = scan.registers[register.index()];
            let definition = state
                .definition
                .expand()
                .expect("undefined registers were dropped");
            hint = block_of(&indexes.block_starts, definition, hint);
            touched.insert(hint);
            let count = snapshot.instruction_range(hint).len() as u32;
            let (id, _) = table.find_or_insert(indexes.block_starts[hint.index()], count);
            table.get_mut(id).define(bit);
            // A PHI may read it at the end of its own block only.
            if state.end.expand() == Some(indexes.block_starts[hint.index() + 1]) {
                table.get_mut(id).add_live_out_bit(bit);
            }
            for upward in scan.upward_uses_of(state) {
                touched.insert(upward.block);
                pending.insert(upward.block);
                let count = snapshot.instruction_range(upward.block).len() as u32;
                let (id, _) = table.find_or_insert(indexes.block_starts[upward.block.index()], count);
                table.get_mut(id).use_upward(bit);
            }
            for block in scan.live_out_uses_of(state) {
                touched.insert(block);
                pending.insert(block);
                let count = snapshot.instruction_range(block).len() as u32;
                let (id, _) = table.find_or_insert(indexes.block_starts[block.index()], count);
                table.get_mut(id).add_live_out_bit(bit);
            }
        }
    }

    /// Passes over the pending blocks, last first, until none is left. A block is pending while its
    /// `LiveIn` may hold something that its predecessors do not have yet. Every visit follows the
    /// growth of a set, so there are at most as many as blocks times registers.
    fn propagate(&mut self, snapshot: &Snapshot<'_>, indexes: &SlotIndexes, predecessors: &Predecessors) {
        let Self {
            table,
            touched,
            pending,
            passes,
            ..
        } = self;
        while pending.end > 0 {
            let mut below = pending.end;
            pending.end = 0;
            *passes += 1;
            while let Some(block) = pending.pop_last(&mut below) {
                let id = table
                    .find(indexes.block_starts[block.index()])
                    .expect("pending blocks have a segment");
                let live_in = table.get(id).live_in();
                if live_in.is_empty() {
                    continue;
                }
                for &predecessor in predecessors.of(block) {
                    let start = indexes.block_starts[predecessor.index()];
                    let count = snapshot.instruction_range(predecessor).len() as u32;
                    let (id, new) = table.find_or_insert(start, count);
                    if new {
                        touched.insert(predecessor);
                    }
                    if table.get_mut(id).add_live_out(&live_in) {
                        pending.insert_during_walk(predecessor, below);
                    }
                }
            }
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.touched.memory_bytes() + self.pending.memory_bytes()
    }
}

/// The block that contains `index`, which is no block boundary. Tries `hint` and its neighbour first.
pub(super) fn block_of(starts: &[SlotIndex], index: SlotIndex, hint: Block) -> Block {
    for candidate in [hint.index(), hint.index() + 1] {
        if candidate + 1 < starts.len() && starts[candidate] < index && index < starts[candidate + 1] {
            return Block::new(candidate);
        }
    }
    Block::new(starts.partition_point(|&start| start < index) - 1)
}
