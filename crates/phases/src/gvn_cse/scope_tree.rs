//! The scope tree: blocks in which something is to be done, in a balanced tree of nodes for 256
//! blocks each.
//!
//! The number of a block is taken apart: `number >> 8` finds the node, bits 6 and 7 one of its four
//! words, the lowest six a bit. Blocks come out in ascending order, found by counting trailing
//! zeros, so that large parts of a function without work cost nothing. The reference's tree is red
//! and black; this one is the standard library's B-tree.

use oriel_engine::entity::{Block, EntityRef};
use std::collections::BTreeMap;

const NODE_SHIFT: u32 = 8;
const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = (1 << NODE_SHIFT) / WORD_BITS;

/// A set of blocks.
#[derive(Debug, Default)]
pub(super) struct ScopeTree {
    nodes: BTreeMap<u32, [u64; WORDS]>,
}

impl ScopeTree {
    /// Adds a block.
    pub fn insert(&mut self, block: Block) {
        let words = self.nodes.entry(block.as_u32() >> NODE_SHIFT).or_default();
        words[block.index() / WORD_BITS % WORDS] |= 1 << (block.index() % WORD_BITS);
    }

    /// Takes out the block with the lowest number.
    pub fn pop(&mut self) -> Option<Block> {
        let mut node = self.nodes.first_entry()?;
        let key = *node.key();
        let words = node.get_mut();
        let index = words.iter().position(|&word| word != 0)?;
        let bit = words[index].trailing_zeros();
        // Clears the lowest bit that is set.
        words[index] &= words[index] - 1;
        if words[index..].iter().all(|&word| word == 0) {
            node.remove();
        }
        Some(Block::from_u32(
            key << NODE_SHIFT | (index * WORD_BITS) as u32 | bit,
        ))
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
