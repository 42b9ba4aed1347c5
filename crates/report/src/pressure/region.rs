//! The region of a peak: its innermost loop or, outside of loops, its block.
//!
//! A value that is live at the peak but not used in the region could be stored elsewhere meanwhile.

use bitvec::vec::BitVec;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::{DominatorTree, LoopForest, ReversePostorder, Traversal};
use oriel_engine::snapshot::Snapshot;

/// The loops of a snapshot.
pub(crate) fn loops_of(snapshot: &Snapshot<'_>) -> LoopForest<Block> {
    let order = ReversePostorder::new(snapshot, Traversal::ExplicitStack);
    let dominators = DominatorTree::new(snapshot, &order);
    LoopForest::new(snapshot, &order, &dominators)
}

/// The blocks of a region.
pub(super) struct Region(BitVec);

impl Region {
    /// The region around a block.
    pub(super) fn around(snapshot: &Snapshot<'_>, loops: &LoopForest<Block>, block: Block) -> Self {
        let mut contained: BitVec = BitVec::repeat(false, snapshot.block_count());
        match loops.innermost(block) {
            None => contained.set(block.index(), true),
            Some(natural_loop) => {
                for &member in loops.nodes(natural_loop) {
                    contained.set(member.index(), true);
                }
            }
        }
        Self(contained)
    }

    /// True if a block is in the region.
    pub(super) fn contains(&self, block: Block) -> bool {
        self.0[block.index()]
    }
}
