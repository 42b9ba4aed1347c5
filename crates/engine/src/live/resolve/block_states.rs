//! The state of each block in the resolution of one register.

use crate::entity::{Block, EntityRef};
use crate::live::value::ValueNumber;

/// The state of a block, tagged with the number of the resolution that it belongs to; the first
/// resolution has the number 1.
#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    /// The resolution in which the block was found to be live-out.
    live_out: u32,
    /// The resolution in which a segment that may not reach the block's end was put into it.
    occupied: u32,
    /// The live-out value plus one; zero if it is not known.
    value: u32,
    /// The block that defines it.
    defining: u32,
}

/// The states of all blocks, and the number of the current resolution.
#[derive(Debug, Default)]
pub(super) struct BlockStates {
    states: Vec<BlockState>,
    resolution: u32,
}

impl BlockStates {
    /// Forgets all states, for a function of `blocks` blocks.
    pub fn reset(&mut self, blocks: usize) {
        self.states.clear();
        self.states.resize(blocks, BlockState::default());
        self.resolution = 0;
    }

    /// Begins the resolution of the next register, with no state known.
    pub fn begin_resolution(&mut self) {
        self.resolution += 1;
    }

    /// Returns the number of this resolution.
    pub fn resolution(&self) -> u32 {
        self.resolution
    }

    /// True if the block is known to be live-out.
    pub fn is_live_out(&self, block: Block) -> bool {
        self.states[block.index()].live_out == self.resolution
    }

    /// Returns the value that leaves the block and the block that defines it, if known.
    pub fn live_out(&self, block: Block) -> Option<(ValueNumber, Block)> {
        let state = self.states[block.index()];
        if state.live_out != self.resolution {
            return None;
        }
        let value = state.value.checked_sub(1)?;
        Some((ValueNumber::from_u32(value), Block::from_u32(state.defining)))
    }

    /// Records that the block is live-out, and the value if it is known.
    pub fn set_live_out(&mut self, block: Block, value: Option<(ValueNumber, Block)>) {
        let state = &mut self.states[block.index()];
        state.live_out = self.resolution;
        state.value = value.map_or(0, |(value, _)| value.as_u32() + 1);
        state.defining = value.map_or(0, |(_, block)| block.as_u32());
    }

    /// Forgets that the block is live-out.
    pub fn forget(&mut self, block: Block) {
        self.states[block.index()].live_out = 0;
    }

    /// True if a segment that may not reach the block's end was put into it.
    pub fn is_occupied(&self, block: Block) -> bool {
        self.states[block.index()].occupied == self.resolution
    }

    /// Records that a segment was put into the block.
    pub fn occupy(&mut self, block: Block) {
        self.states[block.index()].occupied = self.resolution;
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.states.capacity() * size_of::<BlockState>()
    }
}
