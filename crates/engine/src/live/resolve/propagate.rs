//! PHI values where several values reach a use, by propagation down the dominator tree until
//! nothing changes.

use super::{Input, Resolver};
use crate::entity::{Block, EntityRef};
use crate::live::slot_index::SlotIndex;
use crate::live::value::{VNInfo, ValueNumber};
use bumpalo::collections::Vec as ArenaVec;

/// The search for the value that one use reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    pub use_block: Block,
    /// The position of the read, unless the value is live through the block.
    pub kill: Option<SlotIndex>,
    /// The value read there, if the block gets it from its dominator.
    pub killed_value: Option<ValueNumber>,
}

impl Resolver {
    /// Keeps the blocks of `work_list` that the entry reaches, since only these get a value, and
    /// records their positions.
    pub(super) fn order_live_in_blocks(&mut self) {
        let Self {
            work_list,
            dominators,
            position_of,
            has_unreached_read,
            ..
        } = self;
        let searched = work_list.len();
        work_list.retain(|&block| dominators.is_reachable(block));
        *has_unreached_read |= work_list.len() < searched;
        for (position, block) in work_list.iter().enumerate() {
            position_of[block.index()] = position as u32;
        }
        let words = work_list.len().div_ceil(64);
        self.pending.clear();
        self.pending.resize(words, u64::MAX);
        self.dirty.clear();
        self.dirty.resize(words, 0);
    }

    /// Propagates live-out values down the dominator tree and creates PHI values where a block is
    /// in the dominance frontier of a value, until nothing changes.
    ///
    /// The first pass visits all blocks in order, the second those where paths join and those that
    /// come before their dominator. From then on a block is visited again, in the same order, when
    /// a predecessor or its dominator gets another value. LLVM visits all blocks, but a visit with
    /// the same inputs changes nothing. A value only moves down the tree and every PHI is created
    /// once, which bounds the passes.
    pub(super) fn propagate_values(
        &mut self,
        input: &Input<'_>,
        search: &mut Search,
        nodes: &mut ArenaVec<'_, VNInfo>,
    ) {
        for position in 0..self.work_list.len() {
            self.visit::<false>(input, search, nodes, position);
        }
        for (position, &block) in self.work_list.iter().enumerate() {
            let joins = input.flow.predecessors_of(block).len() != 1;
            let early = self
                .dominators
                .immediate(block)
                .is_some_and(|dominator| self.position_of[dominator.index()] as usize > position);
            let mark = u64::from(joins || early) << (position % 64);
            self.dirty[position / 64] |= mark & self.pending[position / 64];
        }
        while self.dirty.iter().any(|&word| word != 0) {
            for word in 0..self.dirty.len() {
                // A visit may mark blocks before and after it; those after it belong to this
                // pass.
                let mut ahead = u64::MAX;
                loop {
                    let bits = self.dirty[word] & ahead;
                    if bits == 0 {
                        break;
                    }
                    let bit = bits.trailing_zeros();
                    self.dirty[word] &= !(1 << bit);
                    ahead = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
                    self.visit::<true>(input, search, nodes, word * 64 + bit as usize);
                }
            }
        }
    }

    /// Computes the live-in value of the block at `position`, unless it has a PHI value already.
    /// With `MARK`, marks blocks that read a changed value for another visit.
    fn visit<const MARK: bool>(
        &mut self,
        input: &Input<'_>,
        search: &mut Search,
        nodes: &mut ArenaVec<'_, VNInfo>,
        position: usize,
    ) {
        if self.pending[position / 64] >> (position % 64) & 1 == 0 {
            return;
        }
        let block = self.work_list[position];
        let dominator = self
            .dominators
            .immediate(block)
            .filter(|&dominator| self.states.is_live_out(dominator));
        let incoming = dominator.and_then(|dominator| self.states.live_out(dominator));
        let predecessors = input.flow.predecessors_of(block);
        let needs_phi = match dominator {
            None => true,
            // Its only predecessor dominates it.
            Some(_) if predecessors.len() == 1 => false,
            Some(dominator) => {
                let same = incoming.map(|(value, _)| value);
                predecessors.iter().any(|&predecessor| {
                    self.states
                        .live_out(predecessor)
                        .is_some_and(|(value, defining)| {
                            Some(value) != same && self.dominators.dominates(dominator, defining)
                        })
                })
            }
        };
        let kill = search.kill.filter(|_| block == search.use_block);
        if needs_phi {
            let (start, end) = input.range(block);
            let value = self.range.new_value(start, block);
            let resolution = u64::from(self.states.resolution());
            nodes.push(VNInfo::new(
                value,
                block,
                dominator,
                (start, end),
                kill,
                resolution,
            ));
            self.pending[position / 64] &= !(1 << (position % 64));
            if kill.is_some() {
                self.states.occupy(block);
            } else {
                self.states.set_live_out(block, Some((value, block)));
                if MARK {
                    self.mark_dependents(input, block);
                }
            }
        } else if let Some((value, _)) = incoming {
            if kill.is_some() {
                search.killed_value = Some(value);
            } else if self.states.live_out(block).map(|(value, _)| value) != Some(value) {
                self.states.set_live_out(block, incoming);
                if MARK {
                    self.mark_dependents(input, block);
                }
            }
        }
    }

    /// Marks the blocks that read the live-out value of `block`, which has changed.
    fn mark_dependents(&mut self, input: &Input<'_>, block: Block) {
        let successors = input.flow.successors_of(block).iter().copied();
        for dependent in successors.chain(self.dominators.children(block)) {
            let position = self.position_of[dependent.index()] as usize;
            if self.work_list.get(position) == Some(&dependent) {
                self.dirty[position / 64] |= 1 << (position % 64);
            }
        }
    }

    /// Adds the pieces of blocks that got their value from their dominator, neighbours with the
    /// same value as one.
    pub(super) fn add_settled_pieces(&mut self, input: &Input<'_>, search: &Search) {
        let mut run: Option<(SlotIndex, SlotIndex, ValueNumber)> = None;
        for (position, &block) in self.work_list.iter().enumerate() {
            if self.pending[position / 64] >> (position % 64) & 1 == 0 {
                continue;
            }
            let (start, mut end) = input.range(block);
            let kill = search.kill.filter(|_| block == search.use_block);
            let value = match kill {
                Some(kill) => {
                    end = kill;
                    self.states.occupy(block);
                    search.killed_value
                }
                None => self.states.live_out(block).map(|(value, _)| value),
            };
            let Some(value) = value else { continue };
            run = match run {
                Some((first, last, same)) if last == start && same == value => Some((first, end, value)),
                Some((first, last, other)) => {
                    self.range.add_segment(first, last, other);
                    Some((start, end, value))
                }
                None => Some((start, end, value)),
            };
        }
        if let Some((first, last, value)) = run {
            self.range.add_segment(first, last, value);
        }
    }
}
