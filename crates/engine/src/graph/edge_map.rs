//! Edges by source in a hash map, as the reference keeps a function's successors and back edges.
//! FNV-1a over the four bytes of a block's index, in little-endian order, selects the bucket.
//!
//! The table is the standard library's, with its own growth policy. A source's targets are a list:
//! the targets of a jump table are read in order, not looked up. Orders, dominators and phases use
//! the same edges in flat arrays ([`ControlFlowGraph`](super::ControlFlowGraph)), so a map is built
//! only when it is read.

use super::Node;
use crate::hash::Fnv1a;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// Targets by source, in order of insertion and with repetitions.
#[derive(Clone, Debug)]
pub struct EdgeMap<N> {
    targets: HashMap<N, SmallVec<[N; 2]>, BuildHasherDefault<Fnv1a>>,
}

impl<N: Node + Hash> EdgeMap<N> {
    /// Returns the targets of a source in order of insertion.
    pub fn find(&self, source: N) -> &[N] {
        self.targets.get(&source).map_or(&[], |targets| targets)
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> usize {
        self.targets.values().map(SmallVec::len).sum()
    }
}

impl<N: Node + Hash> FromIterator<(N, N)> for EdgeMap<N> {
    fn from_iter<I: IntoIterator<Item = (N, N)>>(edges: I) -> Self {
        let mut targets: HashMap<N, SmallVec<[N; 2]>, _> = HashMap::default();
        for (source, target) in edges {
            targets.entry(source).or_default().push(target);
        }
        Self { targets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Block, EntityRef};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::hash::BuildHasher;

    /// The published test value of 32-bit FNV-1a for the text "foob".
    #[test]
    fn the_hash_is_fnv_1a() {
        let block = Block::new(u32::from_le_bytes(*b"foob") as usize);
        let hash = BuildHasherDefault::<Fnv1a>::default().hash_one(block);
        assert_eq!(hash as u32, 0x3F50_76EF);
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_lists(edges in prop::collection::vec((0usize..60, 0usize..4), 0..400)) {
            let edges = || edges.iter().map(|&(source, target)| (Block::new(source), Block::new(target)));
            let map: EdgeMap<Block> = edges().collect();
            let mut model: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
            for (source, target) in edges() {
                model.entry(source).or_default().push(target);
            }
            for source in (0..60).map(Block::new) {
                prop_assert_eq!(map.find(source), model.get(&source).map_or(&[][..], Vec::as_slice));
            }
            prop_assert_eq!(map.edge_count(), edges().count());
        }
    }
}
