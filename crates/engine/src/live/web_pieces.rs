//! Cuts the blocks where webs are live into segments, and says which value each holds.
//!
//! As in [`endpoints`](super::endpoints), blocks are visited from the last to the first, and a web
//! that is live through neighbouring blocks costs nothing, unless its value may change between
//! them: with a PHI value, or where the later block follows others than the earlier one. A walk down
//! the dominator tree then finds the values of the pieces that begin with a block. Pieces that touch
//! and hold the same value are merged.

use super::dataflow::BlockSet;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::phi_order::PhiOrder;
use super::scan::Scan;
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use super::web_batch::{BlockState, Input, Member, WebBatch, WebSet, bits};
use super::webs::Webs;
use crate::entity::{Block, EntityRef};
use crate::graph::DominatorTree;

/// Blocks on the way up the dominator tree that are asked whether a value begins there. If the way
/// is longer, all webs are cut. Pieces with equal values are merged again, so this costs only memory
/// for a while. In tests the limit is low, so that they reach it.
const MOST_ASKED: usize = if cfg!(test) { 2 } else { 32 };

/// A part of a web's interval that holds one value.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bit: u8,
    start: SlotIndex,
    end: SlotIndex,
    value: ValueNumber,
}

/// The value of a web outside of a subtree of the dominator tree in which another one holds.
#[derive(Clone, Copy, Debug)]
struct Hidden {
    /// The end of the subtree in the preorder.
    end: u32,
    bit: u8,
    value: ValueNumber,
}

/// The pieces of a batch. Keeps its memory from batch to batch.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// From the last to the first.
    pieces: Vec<Piece>,
    /// By block: the first of the pieces that begin with it.
    first_of_block: Vec<u32>,
    /// Positions in the preorder of the blocks where values or pieces begin.
    events: BlockSet,
    sorted_events: Vec<Block>,
    /// By bit: the value that holds.
    current: Vec<ValueNumber>,
    hidden: Vec<Hidden>,
    /// PHI values: the web's bit and the block, in the order of their provisional numbers.
    phis: Vec<(u8, Block)>,
    /// By bit: the number of PHI values, then the end of its part of `phi_blocks`.
    phi_ends: Vec<u32>,
    /// The blocks of the PHI values, by web.
    phi_blocks: Vec<Block>,
    /// By bit: the number of pieces, then the position after its next segment.
    ends: Vec<u32>,
    /// By bit: the web's latest piece.
    latest: Vec<u32>,
}

impl Pieces {
    /// Prepares for a function of `blocks` blocks.
    pub(super) fn begin(&mut self, blocks: usize) {
        self.first_of_block.clear();
        self.first_of_block.resize(blocks, 0);
        self.events.reset(blocks);
    }

    /// Finds the pieces of a batch. PHI values have provisional numbers after those of the web's
    /// definitions.
    pub(super) fn run(&mut self, batch: &mut WebBatch, input: Input<'_>, result: &LiveIntervals) {
        self.pieces.clear();
        self.cut(batch, input, &result.indexes.block_starts);
        self.find_values(batch, input);
        self.merge(batch.members.len());
    }

    /// Lists the pieces.
    fn cut(&mut self, batch: &mut WebBatch, input: Input<'_>, starts: &[SlotIndex]) {
        let WebBatch {
            members,
            states,
            blocks,
            solved,
        } = batch;
        let Input {
            dominators, chains, ..
        } = input;
        // The block visited before, and the webs that are live on entry to it.
        let mut next = Block::new(0);
        let mut entering: WebSet = 0;
        for &block in blocks.iter().rev() {
            let state = states[block.index()];
            let (live_in, live_out) = (state.live_in & *solved, state.live_out & *solved);
            let end = starts[block.index() + 1];
            let through = match next.index() == block.index() + 1 {
                true => entering & live_out,
                false => 0,
            };
            let cut = changes(states, dominators, block, next, through);
            self.begin_with_block(
                members,
                states,
                next,
                entering & !through | cut,
                starts,
                dominators,
            );
            for bit in bits(live_out & !through | cut) {
                members[bit].open_end = end;
            }
            for bit in bits(state.defined & *solved) {
                let is_live = |set: WebSet| set >> bit & 1 != 0;
                self.add_definitions(&mut members[bit], bit, block, is_live(live_out), chains.webs);
                if is_live(live_in) {
                    members[bit].open_end = last_read(&mut members[bit], block, chains.scan);
                }
            }
            for bit in bits(live_in & !live_out & !state.defined) {
                members[bit].open_end = last_read(&mut members[bit], block, chains.scan);
            }
            if state.new_values() & *solved != 0 {
                self.note_event(block, dominators);
            }
            next = block;
            entering = live_in;
        }
        self.begin_with_block(members, states, next, entering, starts, dominators);
    }

    fn note_event(&mut self, block: Block, dominators: &DominatorTree<Block>) {
        let position = dominators.number(block).expect("all blocks are reachable");
        self.events.insert(Block::new(position));
    }

    /// Begins the open pieces of `begins` at the start of `block`.
    fn begin_with_block(
        &mut self,
        members: &[Member],
        states: &mut [BlockState],
        block: Block,
        begins: WebSet,
        starts: &[SlotIndex],
        dominators: &DominatorTree<Block>,
    ) {
        if begins == 0 {
            return;
        }
        self.note_event(block, dominators);
        states[block.index()].begins = begins;
        self.first_of_block[block.index()] = self.pieces.len() as u32;
        self.pieces.extend(bits(begins).map(|bit| Piece {
            bit: bit as u8,
            start: starts[block.index()],
            end: members[bit].open_end,
            value: ValueNumber::ZERO,
        }));
    }

    /// Adds the pieces that begin at the definitions of a web in `block`.
    fn add_definitions(
        &mut self,
        member: &mut Member,
        bit: usize,
        block: Block,
        is_live_out: bool,
        webs: &Webs,
    ) {
        let left = &webs.definitions(member.web)[..member.definitions_left as usize];
        let here = left
            .iter()
            .rev()
            .take_while(|definition| definition.block == block);
        let mut open_end = is_live_out.then_some(member.open_end);
        for definition in here {
            member.definitions_left -= 1;
            self.pieces.push(Piece {
                bit: bit as u8,
                start: definition.slot,
                end: open_end.take().unwrap_or(definition.end),
                value: definition.value,
            });
        }
    }

    /// Finds the values of the pieces that begin with a block, and numbers PHI values.
    fn find_values(&mut self, batch: &WebBatch, input: Input<'_>) {
        let Input {
            dominators, chains, ..
        } = input;
        self.events.drain_ascending(&mut self.sorted_events);
        let count = batch.members.len();
        self.current.clear();
        self.current.resize(count, ValueNumber::ZERO);
        self.hidden.clear();
        self.phis.clear();
        self.phi_ends.clear();
        self.phi_ends.resize(count, 0);
        for position in 0..self.sorted_events.len() {
            let position = self.sorted_events[position].index();
            while let Some(hidden) = self.hidden.pop_if(|hidden| hidden.end as usize <= position) {
                self.current[usize::from(hidden.bit)] = hidden.value;
            }
            let block = dominators.preorder()[position];
            let end = dominators.subtree_end(block) as u32;
            let state = &batch.states[block.index()];
            for bit in bits(state.phis & batch.solved) {
                let definitions = chains.webs.definitions(batch.members[bit].web).len();
                let phi = definitions + self.phi_ends[bit] as usize;
                self.phi_ends[bit] += 1;
                self.phis.push((bit as u8, block));
                self.hold(bit, ValueNumber::new(phi), end);
            }
            let first = self.first_of_block[block.index()] as usize;
            for (piece, bit) in bits(state.begins).enumerate() {
                self.pieces[first + piece].value = self.current[bit];
            }
            for bit in bits(state.defined & batch.solved) {
                let last = chains.webs.last_definition(batch.members[bit].web, block);
                self.hold(bit, last.value, end);
            }
        }
    }

    /// Lets `value` be that of a web up to position `end` of the preorder.
    fn hold(&mut self, bit: usize, value: ValueNumber, end: u32) {
        let value = std::mem::replace(&mut self.current[bit], value);
        let bit = bit as u8;
        self.hidden.push(Hidden { end, bit, value });
    }

    /// Merges pieces that touch and hold the same value, and counts those of each web.
    fn merge(&mut self, web_count: usize) {
        const NONE: u32 = u32::MAX;
        self.ends.clear();
        self.ends.resize(web_count, 0);
        self.latest.clear();
        self.latest.resize(web_count, NONE);
        let mut kept = 0;
        for position in 0..self.pieces.len() {
            let piece = self.pieces[position];
            let latest = &mut self.latest[usize::from(piece.bit)];
            if let Some(later) = self.pieces.get_mut(*latest as usize)
                && later.start == piece.end
                && later.value == piece.value
            {
                later.start = piece.start;
                continue;
            }
            *latest = kept as u32;
            self.ends[usize::from(piece.bit)] += 1;
            self.pieces[kept] = piece;
            kept += 1;
        }
        self.pieces.truncate(kept);
    }

    /// Adds the intervals of the batch to `result`.
    pub(super) fn write(
        &mut self,
        batch: &mut WebBatch,
        phi_order: &mut PhiOrder,
        input: Input<'_>,
        result: &mut LiveIntervals,
    ) {
        let filler = LiveSegment {
            start: SlotIndex::ZERO,
            end: SlotIndex::ZERO,
            value: ValueNumber::ZERO,
        };
        let mut end = result.segments.len() as u32;
        make_room(&mut result.segments, self.pieces.len());
        result.segments.resize(end as usize + self.pieces.len(), filler);
        for (bit, member) in batch.members.iter().enumerate() {
            let count = self.ends[bit];
            result.records[member.register.index()] = IntervalRecord {
                first_segment: end,
                segment_count: count,
                ..IntervalRecord::default()
            };
            end += count;
            self.ends[bit] = end;
        }
        for piece in &self.pieces {
            let end = &mut self.ends[usize::from(piece.bit)];
            *end -= 1;
            result.segments[*end as usize] = LiveSegment {
                start: piece.start,
                end: piece.end,
                value: piece.value,
            };
        }
        self.sort_phis_by_web();
        let mut phis = &mut self.phi_blocks[..];
        let mut first_phi = 0;
        for bit in 0..batch.members.len() {
            let Member { register, web, .. } = batch.members[bit];
            let (blocks, rest) = phis.split_at_mut((self.phi_ends[bit] - first_phi) as usize);
            phis = rest;
            first_phi = self.phi_ends[bit];
            if batch.solved >> bit & 1 == 0 {
                continue;
            }
            if blocks.len() > 1 {
                phi_order.run(batch, bit, blocks, input, result);
            }
            let record = &mut result.records[register.index()];
            let values = &mut result.values;
            let chains = input.chains;
            let values = chains
                .webs
                .append_values(web, blocks, &result.indexes.block_starts, values);
            record.first_value = values.first_value;
            record.value_count = values.value_count;
        }
    }

    /// Sorts the blocks with PHI values by web.
    fn sort_phis_by_web(&mut self) {
        let mut first = 0;
        for end in &mut self.phi_ends {
            first += std::mem::replace(end, first);
        }
        self.phi_blocks.clear();
        self.phi_blocks.resize(self.phis.len(), Block::new(0));
        for &(bit, block) in &self.phis {
            let position = &mut self.phi_ends[usize::from(bit)];
            self.phi_blocks[*position as usize] = block;
            *position += 1;
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
            + self.hidden.capacity() * size_of::<Hidden>()
            + self.phis.capacity() * size_of::<(u8, Block)>()
            + self.events.memory_bytes()
            + [&self.first_of_block, &self.phi_ends, &self.ends, &self.latest]
                .map(Vec::capacity)
                .iter()
                .sum::<usize>()
                * size_of::<u32>()
            + (self.sorted_events.capacity() + self.phi_blocks.capacity()) * size_of::<Block>()
            + self.current.capacity() * size_of::<ValueNumber>()
    }
}

/// Returns the webs of `through` whose value at the start of `block` may be another one than that at
/// the end of `before`, the block before it in layout order.
fn changes(
    states: &[BlockState],
    dominators: &DominatorTree<Block>,
    before: Block,
    block: Block,
    through: WebSet,
) -> WebSet {
    let mut changed = through & states[block.index()].phis;
    if changed == through {
        return changed;
    }
    let immediate = |block| {
        let dominator = dominators.immediate(block);
        dominator.expect("the way ends below the entry, which dominates all blocks")
    };
    // Both values come from above. They can differ only if one begins on the way up to the first
    // block that dominates both.
    let (mut left, mut right) = (before, immediate(block));
    for _ in 0..MOST_ASKED {
        if left == right || changed == through {
            return changed;
        }
        let side = match dominators.strictly_dominates(left, block) {
            true => &mut right,
            false => &mut left,
        };
        changed |= through & states[side.index()].new_values();
        *side = immediate(*side);
    }
    through
}

/// Returns the last read of a web in `block` that no definition of the block reaches. Blocks and
/// the reads of a web are both visited in descending order.
fn last_read(member: &mut Member, block: Block, scan: &Scan) -> SlotIndex {
    loop {
        let id = member.upward.expand();
        let id = id.expect("live-in webs end in a block that reads them");
        let upward = &scan.upward_uses[id.index()];
        if upward.block <= block {
            debug_assert_eq!(upward.block, block, "a piece ends where its web is read");
            return upward.last;
        }
        member.upward = upward.previous;
    }
}
