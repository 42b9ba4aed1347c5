//! The range of one register in SSA form, from its definition and uses.

use super::Liveness;
use crate::control_flow::ControlFlow;
use crate::function::{Function, Instruction};
use crate::operation::Operation;
use oriel_engine::entity::{Block, Register, SecondaryMap};
use oriel_engine::live::{OwnedLiveRange, SlotIndex};

/// Builds ranges one after another. From each use it walks up through the blocks that the register
/// is live into, each of them once (F. Brandner, B. Boissinot, A. Darte, B. Dupont de Dinechin and
/// F. Rastello, "Computing Liveness Sets for SSA-Form Programs", 2011).
pub(super) struct RangeBuilder<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    /// Of each block that the current register is live into, how far.
    ends: SecondaryMap<Block, SlotIndex>,
    /// These blocks.
    live_into: Vec<Block>,
    /// The segments, before they are joined.
    pieces: Vec<(SlotIndex, SlotIndex)>,
    /// How many blocks were followed to their predecessors.
    visits: usize,
    /// How many may be.
    most_visits: usize,
}

impl<'a> RangeBuilder<'a> {
    /// Creates a builder that follows at most `most_visits` blocks to their predecessors, for all
    /// ranges together.
    pub fn new(function: &'a Function, flow: &'a ControlFlow, most_visits: usize) -> Self {
        let mut ends = SecondaryMap::with_default(SlotIndex::ZERO);
        ends.resize(function.block_limit());
        Self {
            function,
            flow,
            ends,
            live_into: Vec::new(),
            pieces: Vec::new(),
            visits: 0,
            most_visits,
        }
    }

    /// Returns how many blocks were followed to their predecessors, for all ranges so far.
    pub fn visits(&self) -> usize {
        self.visits
    }

    /// Returns the range of a register whose only definition dominates its uses; otherwise, and if no
    /// more blocks may be followed, none. Of `liveness`, only the numbering counts.
    pub fn range(&mut self, liveness: &Liveness, register: Register) -> Option<OwnedLiveRange> {
        let definition = self.function.unique_definition(register)?;
        let home = self.function.block_of(definition)?;
        let start = liveness.index(definition).register_slot(false);
        for block in self.live_into.drain(..) {
            self.ends[block] = SlotIndex::ZERO;
        }
        // How far it is live in its own block.
        let mut end = start.dead_slot();
        for (user, number) in self.function.uses(register) {
            let is_undefined = || self.function.source(user, number).is_undefined();
            if self.function.operation(user).is_debug() || is_undefined() {
                continue;
            }
            let (block, index) = self.point_of_use(liveness, user, number)?;
            if block != home {
                let flow = self.flow;
                if !flow.order.is_reachable(block) || !flow.dominators.dominates(home, block) {
                    return None;
                }
                self.extend(block, index);
            } else if index > start {
                end = end.max(index);
            } else {
                return None;
            }
        }
        let mut visited = 0;
        while let Some(&block) = self.live_into.get(visited) {
            visited += 1;
            if self.visits == self.most_visits {
                return None;
            }
            self.visits += 1;
            let predecessors = self.flow.graph.predecessors(block);
            if predecessors.is_empty() {
                return None;
            }
            for &predecessor in predecessors {
                if !self.flow.order.is_reachable(predecessor) {
                    return None;
                }
                let (_, end_of_block) = liveness.block_range(predecessor);
                if predecessor == home {
                    end = end_of_block;
                } else {
                    self.extend(predecessor, end_of_block);
                }
            }
        }
        self.pieces.clear();
        self.pieces.push((start, end));
        for &block in &self.live_into {
            let (start, _) = liveness.block_range(block);
            self.pieces.push((start, self.ends[block]));
        }
        self.pieces.sort_unstable_by_key(|&(start, _)| start);
        self.pieces.dedup_by(|next, piece| {
            let touches = piece.1 == next.0;
            if touches {
                piece.1 = next.1;
            }
            touches
        });
        Some(OwnedLiveRange::of_value(start, &self.pieces))
    }

    /// Notes that the register is live from the start of a block to an index in it.
    fn extend(&mut self, block: Block, index: SlotIndex) {
        let end = &mut self.ends[block];
        if *end == SlotIndex::ZERO {
            self.live_into.push(block);
        }
        *end = (*end).max(index);
    }

    /// Returns where an instruction uses its source, and the block of that place.
    fn point_of_use(
        &self,
        liveness: &Liveness,
        user: Instruction,
        number: usize,
    ) -> Option<(Block, SlotIndex)> {
        let function = self.function;
        if function.operation(user) == Operation::Phi {
            let from = function.source(user, number + 1).as_block()?;
            return Some((from, liveness.block_range(from).1));
        }
        Some((
            function.block_of(user)?,
            liveness.index(user).register_slot(false),
        ))
    }
}
