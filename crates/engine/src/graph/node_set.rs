//! A set of the nodes of one graph: visited marks of searches and the solver's worklist.

use crate::entity::EntityRef;
use std::marker::PhantomData;

/// A set of entities below a bound that [`reset`](Self::reset) fixes, one bit each.
#[derive(Clone, Debug)]
pub struct NodeSet<N> {
    words: Vec<u64>,
    node: PhantomData<N>,
}

impl<N> Default for NodeSet<N> {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            node: PhantomData,
        }
    }
}

impl<N: EntityRef> NodeSet<N> {
    /// Creates the empty set of nodes below `bound`.
    pub fn new(bound: usize) -> Self {
        let mut set = Self::default();
        set.reset(bound);
        set
    }

    /// Empties the set, for nodes below `bound`.
    pub fn reset(&mut self, bound: usize) {
        self.words.clear();
        self.words.resize(bound.div_ceil(64), 0);
    }

    /// Fills the set with all nodes below `bound`.
    pub fn reset_to_all(&mut self, bound: usize) {
        self.words.clear();
        self.words.resize(bound / 64, u64::MAX);
        if !bound.is_multiple_of(64) {
            self.words.push((1 << (bound % 64)) - 1);
        }
    }

    /// True if the node is in the set.
    pub fn contains(&self, node: N) -> bool {
        self.words[node.index() / 64] >> (node.index() % 64) & 1 != 0
    }

    /// Adds a node and returns whether it is new.
    pub fn insert(&mut self, node: N) -> bool {
        let word = &mut self.words[node.index() / 64];
        let bit = 1 << (node.index() % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Removes a node and returns whether it was there.
    pub fn remove(&mut self, node: N) -> bool {
        let word = &mut self.words[node.index() / 64];
        let bit = 1 << (node.index() % 64);
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Returns the first member whose number is `from` or more.
    pub fn next(&self, from: usize) -> Option<N> {
        let mut index = from / 64;
        let mut word = self.words.get(index)? & (u64::MAX << (from % 64));
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        Some(N::new(index * 64 + word.trailing_zeros() as usize))
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Block;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(bound in 1usize..200, all in any::<bool>(), edits in prop::collection::vec((any::<bool>(), 0usize..200), 0..300)) {
            let mut set = NodeSet::<Block>::new(bound);
            let mut model = BTreeSet::new();
            if all {
                set.reset_to_all(bound);
                model.extend(0..bound);
            }
            for (add, index) in edits {
                let index = index % bound;
                if add {
                    prop_assert_eq!(set.insert(Block::new(index)), model.insert(index));
                } else {
                    prop_assert_eq!(set.remove(Block::new(index)), model.remove(&index));
                }
            }
            for index in 0..bound {
                prop_assert_eq!(set.contains(Block::new(index)), model.contains(&index));
                prop_assert_eq!(set.next(index).map(Block::index), model.range(index..).next().copied());
            }
            prop_assert_eq!(set.next(bound), None);
        }
    }
}
