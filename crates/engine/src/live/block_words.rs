//! Phases 5 and 7 by words of blocks, a word for each register, instead of sets of registers for each
//! block.
//!
//! In functions of at most 64 blocks, as nearly all are, a word has a bit for every block. The result is
//! the same as with sets ([`dataflow`](super::dataflow), [`endpoints`](super::endpoints)). Words are faster
//! there for two reasons: nothing is set up for a block or a batch, and there is little code. A compiler
//! runs much other code between two functions, so the engine starts with cold instruction caches and branch
//! predictors. These cost a quarter of its time in a function of a few hundred instructions.
//!
//! In functions of at least [`FEWEST_FOR_WINDOWS`] blocks a word has a *window*: 64 blocks that follow
//! each other in layout order. Most registers are live within one. The others are left to the sets.
//!
//! Each register is solved on its own: its liveness is propagated backward from the reads.

use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{RegisterState, Scan};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, Register};

/// The most blocks of a window.
pub(super) const MOST_BLOCKS: usize = u64::BITS as usize;

/// From this many blocks on, windows are faster than sets alone. In generated functions they are a
/// tenth slower in 90 blocks, as fast in 500, and a tenth to a fifth faster in 1,400 to 18,000. Tests
/// have them in smaller functions.
pub(super) const FEWEST_FOR_WINDOWS: usize = if cfg!(test) { MOST_BLOCKS + 1 } else { 512 };

/// Windows begin at multiples of this number of blocks.
const WINDOW_STEP: usize = 16;

/// A set of blocks of the window: bit *b* is the window's block *b*.
type Blocks = u64;

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

/// The graph and the scratch memory, by block of the window.
#[derive(Debug)]
pub(super) struct BlockWords {
    /// The first block of the window.
    base: usize,
    /// The first block for whose definitions the window is not meant.
    next_home: usize,
    predecessors: [Blocks; MOST_BLOCKS],
    /// Blocks with predecessors outside of the window.
    entered: Blocks,
    /// The last read of the current register that no definition of the block reaches.
    last_read: [SlotIndex; MOST_BLOCKS],
}

impl Default for BlockWords {
    fn default() -> Self {
        Self {
            base: 0,
            next_home: 0,
            predecessors: [0; MOST_BLOCKS],
            entered: 0,
            last_read: [SlotIndex::ZERO; MOST_BLOCKS],
        }
    }
}

impl BlockWords {
    /// Adds the intervals of `registers`, which have one definition each and cross blocks, to
    /// `result`. They are in the order of their definitions. Those that are live outside of the window of
    /// their definition stay in the list.
    pub(super) fn run(
        &mut self,
        registers: &mut Vec<Register>,
        flow: &FlowGraph,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) {
        self.next_home = 0;
        registers.retain(|&register| !self.append(register, flow, scan, result));
    }

    /// Moves the window so that `home` is one of its first [`WINDOW_STEP`] blocks. If one window holds
    /// the whole function, it begins at block 0.
    fn move_window(&mut self, home: Block, flow: &FlowGraph) {
        let blocks = flow.block_count();
        if blocks <= MOST_BLOCKS {
            (self.base, self.next_home) = (0, blocks);
        } else {
            self.base = home.index() / WINDOW_STEP * WINDOW_STEP;
            self.next_home = self.base + WINDOW_STEP;
        }
        self.entered = 0;
        let end = blocks.min(self.base + MOST_BLOCKS);
        for (position, block) in (self.base..end).map(Block::new).enumerate() {
            let mut inside = 0;
            for &predecessor in flow.predecessors_of(block) {
                match self.only(predecessor) {
                    0 => self.entered |= 1 << position,
                    set => inside |= set,
                }
            }
            self.predecessors[position] = inside;
        }
    }

    /// Returns the position of a block in the window; not below [`MOST_BLOCKS`] if it is outside.
    #[inline]
    fn position(&self, block: Block) -> usize {
        block.index().wrapping_sub(self.base)
    }

    /// Returns the set of one block, empty if the block is outside of the window.
    #[inline]
    fn only(&self, block: Block) -> Blocks {
        let position = self.position(block);
        if position < MOST_BLOCKS { 1 << position } else { 0 }
    }

    /// Propagates liveness backward from the reads of a register that the block in `defined`
    /// defines, and notes the last read in each block. Returns none if it is live outside of the
    /// window.
    fn solve(&mut self, state: RegisterState, defined: Blocks, scan: &Scan) -> Option<Liveness> {
        let (mut live_in, mut live_out): (Blocks, Blocks) = (0, 0);
        for upward in scan.upward_uses_of(state) {
            let position = self.position(upward.block);
            *self.last_read.get_mut(position)? = upward.last;
            live_in |= 1 << position;
        }
        for block in scan.live_out_uses_of(state) {
            match self.only(block) {
                0 => return None,
                set => live_out |= set,
            }
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
        (live_in & self.entered == 0).then_some(Liveness {
            defined,
            live_in,
            live_out,
        })
    }

    /// Adds the interval of a register. Returns false if it is live outside of the window.
    fn append(
        &mut self,
        register: Register,
        flow: &FlowGraph,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) -> bool {
        let state = scan.registers[register.index()];
        let definition = state.definition.expect("queued registers are defined");
        let home = scan.block_of(definition);
        if home.index() >= self.next_home {
            self.move_window(home, flow);
        }
        let defined = self.only(home);
        debug_assert_ne!(defined, 0, "the window holds the definition");
        let Some(live) = self.solve(state, defined, scan) else {
            return false;
        };
        let home = self.position(home);
        let starts = &result.indexes.block_starts[self.base..];
        let end = match live.live_out & defined {
            0 => state.end.expand().unwrap_or(definition.dead_slot()),
            _ => starts[home + 1],
        };
        let segments = &mut result.segments;
        let first_segment = segments.len();
        make_room(segments, (live.live_in.count_ones() + 1) as usize);
        let value = ValueNumber::ZERO;
        let mut append =
            |start, end| append_piece(segments, first_segment, LiveSegment { start, end, value });
        let mut left = live.live_in | defined;
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
            if block == home {
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
        true
    }
}

/// Adds a piece after those from `first` on, merging it with the last one if they touch and have
/// the same value.
fn append_piece(segments: &mut Vec<LiveSegment>, first: usize, piece: LiveSegment) {
    match segments[first..].last_mut() {
        Some(last) if last.end >= piece.start && last.value == piece.value => last.end = piece.end,
        _ => segments.push(piece),
    }
}
