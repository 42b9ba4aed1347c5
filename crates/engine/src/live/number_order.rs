//! Blocks in the order of LLVM's numbers, which may differ from the layout.

use crate::entity::{Block, EntityRef};

/// From this many blocks on, a bit set of their numbers is cheaper than sorting.
const BLOCKS_FOR_SET: usize = 24;

/// The order of LLVM's block numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberOrder {
    /// Rank of each block in the order; empty if the numbers are in layout order.
    rank: Vec<u32>,
    /// The blocks in order; empty if that is layout order.
    blocks: Vec<Block>,
}

impl NumberOrder {
    pub fn compute(&mut self, count: usize, number: impl Fn(Block) -> u32) {
        self.rank.clear();
        self.blocks.clear();
        if !(0..count).map(Block::new).is_sorted_by_key(&number) {
            self.blocks.extend((0..count).map(Block::new));
            self.blocks.sort_unstable_by_key(|&block| number(block));
            self.rank.resize(count, 0);
            for (rank, block) in self.blocks.iter().enumerate() {
                self.rank[block.index()] = rank as u32;
            }
        }
    }

    pub fn rank(&self, block: Block) -> usize {
        self.rank
            .get(block.index())
            .map_or(block.index(), |&rank| rank as usize)
    }

    /// Sorts distinct blocks by LLVM's number. `set` is scratch memory, empty between uses.
    pub fn sort(&self, blocks: &mut [Block], set: &mut Vec<u64>) {
        if blocks.len() < BLOCKS_FOR_SET {
            if self.rank.is_empty() {
                blocks.sort_unstable();
            } else {
                blocks.sort_unstable_by_key(|&block| self.rank(block));
            }
            return;
        }
        let (mut first, mut last) = (usize::MAX, 0);
        for &block in &*blocks {
            let rank = self.rank(block);
            if set.len() <= rank / 64 {
                set.resize(rank / 64 + 1, 0);
            }
            set[rank / 64] |= 1 << (rank % 64);
            first = first.min(rank / 64);
            last = last.max(rank / 64);
        }
        let mut next = blocks.iter_mut();
        for (word, bits) in set.iter_mut().enumerate().take(last + 1).skip(first) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let rank = word * 64 + bits.trailing_zeros() as usize;
                let block = self.blocks.get(rank).copied().unwrap_or(Block::new(rank));
                *next.next().expect("there are as many places as blocks") = block;
                bits &= bits - 1;
            }
        }
    }

    pub fn memory_bytes(&self) -> usize {
        (self.rank.capacity() + self.blocks.capacity()) * size_of::<u32>()
    }
}
