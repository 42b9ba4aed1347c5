//! A batch of up to 64 webs: a set of them is a word, and each block has the sets of its webs.

use super::flow_graph::FlowGraph;
use super::resolve::Chains;
use super::scan::{UpwardUseId, WebId};
use super::slot_index::SlotIndex;
use crate::entity::{Block, PackedOption, Register};
use crate::graph::DominatorTree;

/// A set of webs of a batch.
pub(super) type WebSet = u64;

/// The most webs of a batch.
pub(super) const BATCH: usize = WebSet::BITS as usize;

/// Returns the bits of a set, ascending.
#[inline]
pub(super) fn bits(mut set: WebSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

/// A block's part of the batch: sets of webs.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct BlockState {
    pub defined: WebSet,
    pub live_in: WebSet,
    pub live_out: WebSet,
    /// Those of which a PHI value begins with the block.
    pub phis: WebSet,
    /// Those of which a piece begins with the block.
    pub begins: WebSet,
    /// Those that LLVM knows to be live-in while it numbers their PHI values.
    pub known_in: WebSet,
    /// The same for live-out.
    pub known_out: WebSet,
    /// Those whose PHI value has its number.
    pub numbered: WebSet,
}

impl BlockState {
    /// Returns the webs of which a value begins in the block.
    #[inline]
    pub(super) fn new_values(&self) -> WebSet {
        self.defined | self.phis
    }
}

/// A web of the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub register: Register,
    pub web: WebId,
    /// While its blocks are visited from the last to the first: the next read that may end a piece,
    /// the number of definitions that are left, and the end of the piece whose beginning has not
    /// been met yet.
    pub upward: PackedOption<UpwardUseId>,
    pub definitions_left: u32,
    pub open_end: SlotIndex,
}

/// The function: its graph and the operands of its registers.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub flow: &'a FlowGraph,
    pub dominators: &'a DominatorTree<Block>,
    pub chains: Chains<'a>,
}

/// A batch of webs. Each has a bit in its sets.
#[derive(Debug, Default)]
pub(super) struct WebBatch {
    /// By bit.
    pub members: Vec<Member>,
    /// By block.
    pub states: Vec<BlockState>,
    /// Blocks where a web is live or defined, ascending.
    pub blocks: Vec<Block>,
    /// The webs that are solved: all but those that a path without definition reaches.
    pub solved: WebSet,
}
