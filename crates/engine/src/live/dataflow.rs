//! Phase 5: backward liveness of one batch of registers.
//!
//! ```text
//! LiveIn(B)  = UpwardUses(B) ∪ (LiveOut(B) \ Definitions(B))
//! LiveOut(B) = ∪ LiveIn(S) over the successors S of B
//! ```
//!
//! The reference writes `(LiveOut \ Kill) | Def`, which is not backward liveness, and visits every
//! block in every pass. Here registers are taken in the order of their definitions, in batches that
//! fit the segments' inline buffers, and only blocks where a register of the batch is live are
//! visited. So time and memory are proportional to the size of the result, and most kernels need
//! only one batch.
//!
//! General registers and predicates are separate sets that converge in the same passes.

use super::flow_graph::FlowGraph;
use super::scan::Scan;
use super::segment::{BatchBit, GENERAL_BITS, PREDICATE_BITS, Segment};
use super::segment_table::{SegmentId, SegmentTable};
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, PackedOption, Register};

/// A set of blocks that is visited from the last to the first in layout order.
#[derive(Debug, Default)]
pub(super) struct BlockSet {
    words: Vec<u64>,
    /// All members are in words from this one on.
    first: usize,
    /// All members are in words below this one, but for those that a walk has still to visit.
    end: usize,
}

impl BlockSet {
    /// Empties the set for a function of `blocks` blocks.
    pub(super) fn reset(&mut self, blocks: usize) {
        self.words.clear();
        self.words.resize(blocks.div_ceil(64), 0);
        self.first = usize::MAX;
        self.end = 0;
    }

    /// Adds a block.
    pub(super) fn insert(&mut self, block: Block) {
        let word = block.index() / 64;
        self.words[word] |= 1 << (block.index() % 64);
        self.first = self.first.min(word);
        self.end = self.end.max(word + 1);
    }

    /// Adds a block while a walk is at word `below`. The walk still visits the block unless it lies
    /// after that word.
    pub(super) fn insert_during_walk(&mut self, block: Block, below: usize) {
        let word = block.index() / 64;
        self.words[word] |= 1 << (block.index() % 64);
        self.first = self.first.min(word);
        if word >= below {
            self.end = self.end.max(word + 1);
        }
    }

    /// Removes the last member below word `below` and returns it.
    pub(super) fn pop_last(&mut self, below: &mut usize) -> Option<Block> {
        while *below > self.first {
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

    /// Empties the set and visits its members from the last to the first.
    pub(super) fn drain(&mut self, mut visit: impl FnMut(Block)) {
        let mut below = self.end;
        while let Some(block) = self.pop_last(&mut below) {
            visit(block);
        }
        self.first = usize::MAX;
        self.end = 0;
    }

    /// Begins a walk from the last member to the first, which must be finished
    /// ([`pop_last`](Self::pop_last)). Returns the word below which all members are, or none if there
    /// are none.
    pub(super) fn begin_walk(&mut self) -> Option<usize> {
        match std::mem::take(&mut self.end) {
            0 => {
                self.first = usize::MAX;
                None
            }
            end => Some(end),
        }
    }

    /// Empties the set and writes its members to `members`, ascending.
    pub(super) fn drain_ascending(&mut self, members: &mut Vec<Block>) {
        members.clear();
        for word in self.first..self.end {
            let mut bits = std::mem::take(&mut self.words[word]);
            while bits != 0 {
                members.push(Block::new(word * 64 + bits.trailing_zeros() as usize));
                bits &= bits - 1;
            }
        }
        self.first = usize::MAX;
        self.end = 0;
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// The registers that are solved together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// General registers by bit, from zero.
    general: Vec<Register>,
    /// Predicates by bit, from [`GENERAL_BITS`].
    predicates: Vec<Register>,
}

impl Batch {
    /// Returns all registers with their bits.
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

    /// Takes registers from the front of the queues while there is room. Where one queue is longer than
    /// its room, the other is only taken as far as the same code goes, so that a batch touches few blocks.
    fn fill(&mut self, queue: &mut Queue<'_>, scan: &Scan) {
        let start = |register: &Register| scan.registers[register.index()].definition;
        let behind = |queue: &[Register], room: usize| queue.get(room).map(start);
        let ends = [
            behind(queue.general, GENERAL_BITS),
            behind(queue.predicates, PREDICATE_BITS),
        ];
        let end = ends.into_iter().flatten().min();
        let take = |set: &mut Vec<Register>, queue: &mut &[Register], room: usize| {
            let next = &queue[..queue.len().min(room)];
            let count = match end {
                Some(end) if behind(queue, room) != Some(end) => {
                    next.iter().take_while(|&register| start(register) <= end).count()
                }
                _ => next.len(),
            };
            let (taken, rest) = queue.split_at(count);
            set.clear();
            set.extend_from_slice(taken);
            *queue = rest;
        };
        take(&mut self.general, &mut queue.general, GENERAL_BITS);
        take(&mut self.predicates, &mut queue.predicates, PREDICATE_BITS);
    }
}

/// Registers that wait for a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue<'a> {
    pub general: &'a [Register],
    pub predicates: &'a [Register],
}

impl Queue<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.general.is_empty() && self.predicates.is_empty()
    }
}

/// The segments of the blocks that a batch touches. A block is looked up in the hash table when it
/// is first touched; afterwards its segment is found by block number.
#[derive(Debug, Default)]
pub(super) struct BlockSegments {
    table: SegmentTable,
    /// By block.
    at: Vec<PackedOption<SegmentId>>,
    /// By segment.
    blocks: Vec<Block>,
    /// Blocks that have a segment.
    touched: BlockSet,
}

impl BlockSegments {
    /// Forgets all blocks, for a function of `blocks` blocks, with room for `active` ones.
    fn reset(&mut self, blocks: usize, active: usize) {
        self.clear();
        self.at.clear();
        self.at.resize(blocks, PackedOption::default());
        self.touched.reset(blocks);
        self.table.reserve(active);
    }

    /// Forgets all blocks.
    pub(super) fn clear(&mut self) {
        self.table.clear();
        for block in self.blocks.drain(..) {
            self.at[block.index()] = PackedOption::default();
        }
    }

    /// Returns the segment of a block, creating it if there is none yet.
    #[inline]
    fn touch(&mut self, block: Block, indexes: &SlotIndexes) -> &mut Segment {
        let id = match self.at[block.index()].expand() {
            Some(id) => id,
            None => self.insert(block, indexes),
        };
        self.table.get_mut(id)
    }

    #[inline(never)]
    fn insert(&mut self, block: Block, indexes: &SlotIndexes) -> SegmentId {
        let first = &indexes.first_instructions[block.index()..];
        let start = indexes.block_starts[block.index()];
        let (id, _) = self.table.find_or_insert(start, first[1] - first[0]);
        self.at[block.index()] = id.into();
        self.blocks.push(block);
        self.touched.insert(block);
        id
    }

    /// Returns the segment of a block, if it has one.
    pub(super) fn find(&self, block: Block) -> Option<SegmentId> {
        self.at[block.index()].expand()
    }

    /// Returns a segment.
    pub(super) fn get(&self, id: SegmentId) -> &Segment {
        self.table.get(id)
    }

    /// Visits the blocks that have a segment, the last in layout order first. May be called once.
    pub(super) fn visit_backward(&mut self, mut visit: impl FnMut(Block, &mut Segment)) {
        let Self {
            table, at, touched, ..
        } = self;
        touched.drain(|block| {
            let id = at[block.index()].expand().expect("touched blocks have a segment");
            visit(block, table.get_mut(id));
        });
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.touched.memory_bytes()
            + self.at.capacity() * size_of::<PackedOption<SegmentId>>()
            + self.blocks.capacity() * size_of::<Block>()
    }
}

/// The state of the dataflow problem: a batch, the segments of the blocks that it touches, and the
/// pending blocks.
#[derive(Debug, Default)]
pub(super) struct Dataflow {
    pub batch: Batch,
    pub segments: BlockSegments,
    pending: BlockSet,
}

/// The dataflow problem: everything that the solver reads.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    pub scan: &'a Scan,
    pub indexes: &'a SlotIndexes,
    pub flow: &'a FlowGraph,
}

impl Dataflow {
    /// Prepares for a function of `blocks` blocks, with room for `active` of them.
    pub(super) fn begin(&mut self, blocks: usize, active: usize) {
        self.segments.reset(blocks, active);
        self.pending.reset(blocks);
    }

    /// Solves the next batch of `queue`, all of whose registers are defined.
    pub(super) fn solve_batch(&mut self, queue: &mut Queue<'_>, problem: Problem<'_>) {
        self.batch.fill(queue, problem.scan);
        self.segments.clear();
        self.seed(problem);
        self.propagate(problem);
    }

    /// Adds definitions and uses to the segments.
    fn seed(&mut self, problem: Problem<'_>) {
        let Problem { scan, indexes, .. } = problem;
        let starts = &indexes.block_starts[..];
        let segments = &mut self.segments;
        for (bit, register) in self.batch.members() {
            let state = scan.registers[register.index()];
            let definition = state.definition.expect("queued registers are defined");
            let home = scan.block_of(definition);
            let segment = segments.touch(home, indexes);
            segment.define(bit);
            // Only a PHI can read it at the end of its own block.
            if state.end.expand() == Some(starts[home.index() + 1]) {
                segment.add_live_out_bit(bit);
            }
            for upward in scan.upward_uses_of(state) {
                self.pending.insert(upward.block);
                segments.touch(upward.block, indexes).use_upward(bit);
            }
            for block in scan.live_out_uses_of(state) {
                self.pending.insert(block);
                segments.touch(block, indexes).add_live_out_bit(bit);
            }
        }
    }

    /// Passes over the pending blocks, last first, until none is left. A block is pending while its
    /// `LiveIn` may hold registers that its predecessors do not have yet. Every visit follows the
    /// growth of a set, so there are at most blocks × registers visits.
    fn propagate(&mut self, problem: Problem<'_>) {
        let Self {
            segments, pending, ..
        } = self;
        while let Some(mut below) = pending.begin_walk() {
            while let Some(block) = pending.pop_last(&mut below) {
                let id = segments.find(block).expect("pending blocks have a segment");
                let live_in = segments.get(id).live_in();
                if live_in.is_empty() {
                    continue;
                }
                for &predecessor in problem.flow.predecessors_of(block) {
                    let segment = segments.touch(predecessor, problem.indexes);
                    if segment.add_live_out(&live_in) {
                        pending.insert_during_walk(predecessor, below);
                    }
                }
            }
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.segments.memory_bytes() + self.pending.memory_bytes()
    }
}
