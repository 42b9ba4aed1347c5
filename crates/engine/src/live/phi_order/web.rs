//! The web whose PHI values are sorted.

use super::super::live_interval::LiveSegment;
use super::super::scan::{WebId, access_slot};
use super::super::slot_index::SlotIndex;
use super::super::value::ValueNumber;
use super::super::web_batch::{BlockState, Input, WebSet};
use super::super::webs::WebDefinition;
use crate::entity::{Block, EntityRef};
use crate::snapshot::abi::{Access, RegisterOperandRecord};

/// The current web.
pub(super) struct Web<'a> {
    pub id: WebId,
    pub set: WebSet,
    pub states: &'a mut [BlockState],
    pub definitions: &'a [WebDefinition],
    pub segments: &'a [LiveSegment],
    pub starts: &'a [SlotIndex],
    pub numbers: &'a [u32],
    pub input: Input<'a>,
    /// By provisional value: the block that defines it.
    pub value_blocks: &'a [Block],
    /// By block: its PHI value, with its provisional number.
    pub phi_of: &'a [ValueNumber],
}

impl Web<'_> {
    /// True if the web is in a set of `block`.
    #[inline]
    pub fn is_in(&self, block: Block, set: impl Fn(&BlockState) -> WebSet) -> bool {
        set(&self.states[block.index()]) & self.set != 0
    }

    /// True if `block` has a PHI value without a number.
    pub fn needs_phi(&self, block: Block) -> bool {
        self.is_in(block, |state| state.phis & !state.numbered)
    }

    /// Returns the block in which the first of `accesses` reads a value that comes from another
    /// block.
    pub fn block_of_read(&self, accesses: &[RegisterOperandRecord]) -> Option<Block> {
        let access = accesses[0].access();
        match access {
            Access::ReadByPhi => {
                let predecessor = accesses[1].block();
                (!self.is_in(predecessor, |state| state.defined)).then_some(predecessor)
            }
            Access::Read | Access::ReadEarly => {
                let number = self.numbers[accesses[0].instruction().index()];
                let slot = access_slot(number, access);
                let block = self.input.chains.scan.block_of(slot);
                let is_before =
                    |definition: &WebDefinition| definition.block == block && definition.slot < slot;
                let is_defined =
                    self.is_in(block, |state| state.defined) && self.definitions.iter().any(is_before);
                (!is_defined).then_some(block)
            }
            Access::Define | Access::DefineEarly | Access::Mention | Access::FromBlock => None,
        }
    }

    /// Returns the value that leaves a block that defines the web, and else the one that enters it.
    pub fn leaving(&self, block: Block) -> ValueNumber {
        if self.is_in(block, |state| state.defined) {
            return self.input.chains.webs.last_definition(self.id, block).value;
        }
        self.entering(block)
    }

    /// Returns the value at the start of a block where the web is live-in.
    pub fn entering(&self, block: Block) -> ValueNumber {
        let start = self.starts[block.index()];
        let behind = self.segments.partition_point(|segment| segment.start <= start);
        self.segments[behind - 1].value
    }
}
