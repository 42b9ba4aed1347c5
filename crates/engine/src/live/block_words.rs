//! Phases 5 to 7 for functions of at most 64 blocks, as nearly all are: a word of blocks for each
//! register instead of a set of registers for each block.
//!
//! The result is that of the sets ([`dataflow`](super::dataflow), [`endpoints`](super::endpoints)). What is faster is that nothing is prepared for a block or a
//! batch, and that there is little code: a quarter of the time of a function of a few hundred
//! instructions goes by until the processor has fetched the code and learnt its branches, since a
//! compiler does much else from one function to the next.
//!
//! Each register is solved on its own: its liveness is propagated backward from the reads.

use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{RegisterState, Scan};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, Register};

/// The most blocks of a function.
pub(super) const MOST_BLOCKS: usize = u64::BITS as usize;

/// A set of blocks.
type Blocks = u64;

/// Returns the set of one block.
fn only(block: Block) -> Blocks {
    1 << block.index()
}

/// Where a register is live.
#[derive(Clone, Copy, Debug)]
struct Liveness {
    /// Blocks that define it.
    defined: Blocks,
    live_in: Blocks,
    live_out: Blocks,
}

impl Liveness {
    /// The blocks through which it is live without a definition.
    fn through(&self) -> Blocks {
        self.live_in & self.live_out & !self.defined
    }
}

/// The graph and the scratch memory, by block.
#[derive(Debug)]
pub(super) struct BlockWords {
    predecessors: [Blocks; MOST_BLOCKS],
    /// The last read of the register at hand that no definition of the block reaches.
    last_read: [SlotIndex; MOST_BLOCKS],
}

impl Default for BlockWords {
    fn default() -> Self {
        Self {
            predecessors: [0; MOST_BLOCKS],
            last_read: [SlotIndex::ZERO; MOST_BLOCKS],
        }
    }
}

impl BlockWords {
    /// Adds the intervals of `registers`, which have one definition each and cross blocks, to
    /// `result`.
    pub(super) fn run(
        &mut self,
        registers: impl Iterator<Item = Register>,
        flow: &FlowGraph,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) {
        self.list_predecessors(flow);
        for register in registers {
            self.append(register, scan, result);
        }
    }

    fn list_predecessors(&mut self, flow: &FlowGraph) {
        for block in (0..flow.block_count()).map(Block::new) {
            let predecessors = flow.predecessors_of(block).iter();
            self.predecessors[block.index()] =
                predecessors.fold(0, |set, &predecessor| set | only(predecessor));
        }
    }

    /// Propagates liveness backward from the reads of a register that the blocks in `defined`
    /// define, and notes the last read in each block.
    fn solve(&mut self, state: RegisterState, defined: Blocks, scan: &Scan) -> Liveness {
        let (mut live_in, mut live_out): (Blocks, Blocks) = (0, 0);
        for upward in scan.upward_uses_of(state) {
            live_in |= only(upward.block);
            self.last_read[upward.block.index()] = upward.last;
        }
        for block in scan.live_out_uses_of(state) {
            live_out |= only(block);
        }
        live_in |= live_out & !defined;
        let mut pending = live_in;
        while pending != 0 {
            let block = pending.ilog2() as usize;
            pending &= !(1 << block);
            live_out |= self.predecessors[block];
            pending |= live_out & !defined & !live_in;
            live_in |= pending;
        }
        Liveness {
            defined,
            live_in,
            live_out,
        }
    }

    /// Adds the interval of a register.
    fn append(&mut self, register: Register, scan: &Scan, result: &mut LiveIntervals) {
        let starts = &result.indexes.block_starts;
        let state = scan.registers[register.index()];
        let definition = state.definition.expect("queued registers are defined");
        let home = scan.block_of(definition);
        let live = self.solve(state, only(home), scan);
        let end = match live.live_out & only(home) {
            0 => state.end.expand().unwrap_or(definition.dead_slot()),
            _ => starts[home.index() + 1],
        };
        let segments = &mut result.segments;
        let first_segment = segments.len();
        make_room(segments, (live.live_in.count_ones() + 1) as usize);
        let value = ValueNumber::ZERO;
        let mut append =
            |start, end| append_piece(segments, first_segment, LiveSegment { start, end, value });
        let mut left = live.live_in | only(home);
        let through = live.through();
        while left != 0 {
            let block = left.trailing_zeros() as usize;
            // A register that is live through several blocks in a row has one piece there.
            let run = (!(through >> block)).trailing_zeros() as usize;
            if run > 0 {
                append(starts[block], starts[block + run]);
                left &= Blocks::MAX.checked_shl((block + run) as u32).unwrap_or(0);
                continue;
            }
            left &= left - 1;
            if live.live_in >> block & 1 != 0 {
                append(starts[block], self.last_read[block]);
            }
            if block == home.index() {
                append(definition, end);
            }
        }
        result.records[register.index()] = IntervalRecord {
            first_segment: first_segment as u32,
            segment_count: (segments.len() - first_segment) as u32,
            first_value: result.values.len() as u32,
            value_count: 1,
        };
        result.values.push(definition.into());
    }
}

/// Adds a piece behind those from `first` on, merging it with the last one if they touch and have
/// the same value.
fn append_piece(segments: &mut Vec<LiveSegment>, first: usize, piece: LiveSegment) {
    match segments[first..].last_mut() {
        Some(last) if last.end >= piece.start && last.value == piece.value => last.end = piece.end,
        _ => segments.push(piece),
    }
}
