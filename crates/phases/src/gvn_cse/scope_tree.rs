//! The scope tree: blocks with pending work, in a balanced tree of nodes for 256 blocks each.
//!
//! A block's number is split: `number >> 8` selects the node, the lowest eight bits one of the bits
//! of its four words. Blocks come out in ascending order, and large parts of a function without
//! work cost nothing. The reference's tree is red-black; this one is the standard library's B-tree.

use bitvec::array::BitArray;
use oriel_engine::entity::{Block, EntityRef};
use std::collections::BTreeMap;

const NODE_BLOCKS: usize = 256;

/// A set of blocks.
#[derive(Debug, Default)]
pub(super) struct ScopeTree {
    nodes: BTreeMap<usize, BitArray<[u64; NODE_BLOCKS / 64]>>,
}

impl ScopeTree {
    /// Adds a block.
    pub fn insert(&mut self, block: Block) {
        let node = self.nodes.entry(block.index() / NODE_BLOCKS).or_default();
        node.set(block.index() % NODE_BLOCKS, true);
    }

    /// Removes and returns the block with the lowest number.
    pub fn pop(&mut self) -> Option<Block> {
        let mut node = self.nodes.first_entry()?;
        let key = *node.key();
        let bits = node.get_mut();
        let bit = bits.first_one()?;
        bits.set(bit, false);
        if bits.not_any() {
            node.remove();
        }
        Some(Block::new(key * NODE_BLOCKS + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn blocks_come_out_once_and_in_order(numbers in prop::collection::vec(0usize..2000, 0..200)) {
            let mut tree = ScopeTree::default();
            for &number in &numbers {
                tree.insert(Block::new(number));
            }
            let sorted: Vec<Block> = BTreeSet::from_iter(numbers).into_iter().map(Block::new).collect();
            let popped: Vec<Block> = std::iter::from_fn(|| tree.pop()).collect();
            prop_assert_eq!(popped, sorted);
        }
    }
}
