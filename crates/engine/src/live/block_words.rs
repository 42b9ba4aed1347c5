//! Phases 5 to 7 for functions of at most 64 blocks, as nearly all are: a word of blocks for each
//! register instead of a set of registers for each block.
//!
//! The result is that of the sets ([`dataflow`](super::dataflow), [`webs`](super::webs),
//! [`endpoints`](super::endpoints)). What is faster is that nothing is prepared for a block or a
//! batch, and that there is little code: a quarter of the time of a function of a few hundred
//! instructions goes by until the processor has fetched the code and learnt its branches, since a
//! compiler does much else from one function to the next.
//!
//! Each register is solved on its own. Its liveness is propagated backward from the reads. The
//! dominators of each block are a word, too, from which follow the iterated dominance frontier and
//! the value that reaches a block. [`resolve`](super::resolve) still resolves webs with several PHI
//! values and those that a path without definition reaches.

use super::flow_graph::FlowGraph;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{RegisterState, Scan, WebId};
use super::slot_index::SlotIndex;
use super::slot_indexes::block_of;
use super::value::ValueNumber;
use super::webs::{WebDefinition, Webs};
use crate::entity::{Block, EntityRef, Register};

/// The most blocks of a function.
pub(super) const MOST_BLOCKS: usize = u64::BITS as usize;

/// A set of blocks.
type Blocks = u64;

/// Returns the set of one block.
fn only(block: Block) -> Blocks {
    1 << block.index()
}

/// Returns the blocks of a set in ascending order.
fn each(mut blocks: Blocks) -> impl Iterator<Item = Block> {
    std::iter::from_fn(move || {
        let first = blocks.trailing_zeros() as usize;
        (blocks != 0).then(|| {
            blocks &= blocks - 1;
            Block::new(first)
        })
    })
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
    /// The blocks that dominate it, itself included. Only functions with crossing webs need them.
    dominators: [Blocks; MOST_BLOCKS],
    /// The blocks in whose dominance frontier it is.
    frontier_of: [Blocks; MOST_BLOCKS],
    /// Blocks where paths join.
    joins: Blocks,
    /// False if there are unreachable blocks, for which dominators say nothing.
    reaches_all: bool,
    /// The last read of the register at hand that no definition of the block reaches.
    last_read: [SlotIndex; MOST_BLOCKS],
}

impl Default for BlockWords {
    fn default() -> Self {
        Self {
            predecessors: [0; MOST_BLOCKS],
            dominators: [0; MOST_BLOCKS],
            frontier_of: [0; MOST_BLOCKS],
            joins: 0,
            reaches_all: false,
            last_read: [SlotIndex::ZERO; MOST_BLOCKS],
        }
    }
}

impl BlockWords {
    /// Adds the intervals of `singles`, which have one definition each and cross blocks, and those
    /// of the crossing webs to `result`. Leaves webs that it cannot resolve in `webs.unresolved`.
    pub(super) fn run(
        &mut self,
        singles: impl Iterator<Item = Register>,
        webs: &mut Webs,
        flow: &FlowGraph,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) {
        self.list_predecessors(flow);
        for register in singles {
            self.append_single(register, scan, result);
        }
        let crossing = std::mem::take(&mut webs.crossing);
        if !crossing.is_empty() {
            self.find_dominators(flow.block_count());
        }
        for &register in &crossing {
            let web = scan.web_of(register).expect("a web crosses blocks");
            if !(self.reaches_all && self.append_web(register, web, webs, scan, result)) {
                webs.unresolved.push(register);
            }
        }
        webs.crossing = crossing;
        webs.crossing.clear();
    }

    fn list_predecessors(&mut self, flow: &FlowGraph) {
        for block in (0..flow.block_count()).map(Block::new) {
            let predecessors = flow.predecessors_of(block).iter();
            self.predecessors[block.index()] =
                predecessors.fold(0, |set, &predecessor| set | only(predecessor));
        }
    }

    /// Finds dominators as the greatest solution of `Dom(B) = {B} ∪ ∩ Dom(P)` over the reachable
    /// predecessors P of B. Layout is nearly a reverse post-order, so that few passes suffice; each
    /// pass but the last takes blocks out of sets.
    fn find_dominators(&mut self, blocks: usize) {
        self.dominators[0] = 1;
        let mut reached: Blocks = 1;
        let mut changed = true;
        while changed {
            changed = false;
            for block in (1..blocks).map(Block::new) {
                let from = self.predecessors[block.index()] & reached;
                if from == 0 {
                    continue;
                }
                let above = each(from).fold(Blocks::MAX, |all, block| all & self.dominators[block.index()]);
                let dominators = above | only(block);
                changed |= reached & only(block) == 0 || self.dominators[block.index()] != dominators;
                reached |= only(block);
                self.dominators[block.index()] = dominators;
            }
        }
        self.reaches_all = reached.count_ones() as usize == blocks;
        self.joins = 0;
        for block in (1..blocks).map(Block::new) {
            let from = self.predecessors[block.index()];
            if from.count_ones() > 1 {
                self.joins |= only(block);
                let below = each(from).fold(0, |all, block| all | self.dominators[block.index()]);
                self.frontier_of[block.index()] = below & !self.strict_dominators(block);
            }
        }
    }

    fn strict_dominators(&self, block: Block) -> Blocks {
        self.dominators[block.index()] & !only(block)
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

    /// Adds the interval of a register with one definition.
    fn append_single(&mut self, register: Register, scan: &Scan, result: &mut LiveIntervals) {
        let starts = &result.indexes.block_starts;
        let state = scan.registers[register.index()];
        let definition = state.definition.expect("queued registers are defined");
        let home = block_of(starts, definition, Block::new(0));
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

    /// Adds the interval of a web, unless it has several PHI values or a path without definition
    /// reaches it.
    fn append_web(
        &mut self,
        register: Register,
        web: WebId,
        webs: &mut Webs,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) -> bool {
        let definitions = webs.definitions(web);
        let defined = definitions
            .iter()
            .fold(0, |set, definition| set | only(definition.block));
        let live = self.solve(scan.registers[register.index()], defined, scan);
        let is_phi = |block: &Block, sources: Blocks| self.frontier_of[block.index()] & sources != 0;
        let joins = live.live_in & self.joins;
        let mut phis = each(joins).filter(|block| is_phi(block, defined));
        let phi = phis.next();
        let sources = defined | phi.map_or(0, only);
        // A PHI value is a definition, too.
        let is_another = |block: Block| Some(block) != phi && is_phi(&block, sources);
        if live.live_in & 1 != 0 || phis.next().is_some() || each(joins).any(is_another) {
            return false;
        }
        webs.set_phi(web, phi);
        let definitions = webs.definitions(web);
        let starts = &result.indexes.block_starts;
        let segments = &mut result.segments;
        let first_segment = segments.len();
        make_room(segments, live.live_in.count_ones() as usize + definitions.len());
        let mut next = definitions;
        for block in each(live.live_in | defined) {
            let (start, end) = (starts[block.index()], starts[block.index() + 1]);
            if live.live_in & only(block) != 0 {
                let value = match phi == Some(block) {
                    true => webs.phi_value(web),
                    false => {
                        let source = self.nearest(sources & self.strict_dominators(block));
                        last_value(definitions, source).unwrap_or(webs.phi_value(web))
                    }
                };
                let end = match live.through() & only(block) {
                    0 => self.last_read[block.index()],
                    _ => end,
                };
                append_piece(segments, first_segment, LiveSegment { start, end, value });
            }
            let (here, rest) = next.split_at(next.partition_point(|definition| definition.block <= block));
            next = rest;
            for (position, definition) in here.iter().enumerate() {
                let is_live_out = position + 1 == here.len() && live.live_out & only(block) != 0;
                segments.push(LiveSegment {
                    start: definition.slot,
                    end: if is_live_out { end } else { definition.end },
                    value: definition.value,
                });
            }
        }
        result.records[register.index()] = IntervalRecord {
            first_segment: first_segment as u32,
            segment_count: (segments.len() - first_segment) as u32,
            ..webs.append_values(web, &mut result.values, starts)
        };
        true
    }

    /// Returns the block furthest down the dominator tree of those in `blocks`, all of which
    /// dominate one block.
    fn nearest(&self, blocks: Blocks) -> Option<Block> {
        each(blocks).max_by_key(|block| self.dominators[block.index()].count_ones())
    }
}

/// Returns the value of the last definition in `block`.
fn last_value(definitions: &[WebDefinition], block: Option<Block>) -> Option<ValueNumber> {
    let mut backward = definitions.iter().rev();
    let last = backward.find(|definition| Some(definition.block) == block)?;
    Some(last.value)
}

/// Adds a piece behind those from `first` on, merging it with the last one if they touch and have
/// the same value.
fn append_piece(segments: &mut Vec<LiveSegment>, first: usize, piece: LiveSegment) {
    match segments[first..].last_mut() {
        Some(last) if last.end >= piece.start && last.value == piece.value => last.end = piece.end,
        _ => segments.push(piece),
    }
}
