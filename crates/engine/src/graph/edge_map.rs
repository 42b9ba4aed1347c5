//! Edges by source in a hash map, as the reference keeps a function's successors and back edges.
//!
//! FNV-1a over the four bytes of the block's index, little end first, chooses one of a power of two
//! of buckets. There are eight to begin with, and when keys outnumber buckets four times as many. A
//! bucket is a chain in order of insertion, and each entry keeps its hash.
//!
//! Departures: the reference's load counts elements against distinct keys, which says nothing about
//! the buckets; here it is keys against buckets. Its second table inside an entry, for sources with
//! many targets, is a list here: the targets of a jump table are read in order, not looked up.

use super::Node;
use crate::entity::{PackedOption, PrimaryMap, entity_impl};
use crate::hash::Fnv1a;
use smallvec::SmallVec;

const FIRST_BUCKETS: usize = 8;
const GROWTH: usize = 4;

/// Targets by source; several to a source, in order of insertion and with repetitions.
///
/// Entries are listed by bucket and in a bucket by age, so the same edits give the same order in
/// every process.
#[derive(Clone, Debug)]
pub struct EdgeMap<N> {
    buckets: Vec<Bucket>,
    entries: PrimaryMap<Entry, EntryData<N>>,
    /// First of the entries that are free to be used again, chained by `next`.
    free: PackedOption<Entry>,
    keys: usize,
    edges: usize,
}

/// A place for one source and its targets.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u32);
entity_impl!(Entry, "entry");

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    head: PackedOption<Entry>,
    tail: PackedOption<Entry>,
}

#[derive(Clone, Debug)]
struct EntryData<N> {
    next: PackedOption<Entry>,
    source: N,
    hash: u32,
    targets: SmallVec<[N; 2]>,
}

impl<N: Node> Default for EdgeMap<N> {
    fn default() -> Self {
        Self {
            buckets: vec![Bucket::default(); FIRST_BUCKETS],
            entries: PrimaryMap::new(),
            free: PackedOption::default(),
            keys: 0,
            edges: 0,
        }
    }
}

/// FNV-1a over the four bytes of a node's index.
fn hash(node: impl Node) -> u32 {
    let index = u32::try_from(node.index()).expect("nodes have 32-bit indexes");
    Fnv1a::new().word(index).finish()
}

impl<N: Node> EdgeMap<N> {
    /// A map without edges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an edge behind those that `source` has.
    pub fn insert(&mut self, source: N, target: N) {
        let entry = self.insert_source(source);
        self.entries[entry].targets.push(target);
        self.edges += 1;
    }

    /// Adds a source without targets, if it is not there: a block that ends the program has such an
    /// entry.
    pub fn insert_empty(&mut self, source: N) {
        self.insert_source(source);
    }

    /// The targets of a source in order of insertion; none if there is no entry for it.
    pub fn find(&self, source: N) -> Option<&[N]> {
        let entry = self.entry_of(source)?;
        Some(&self.entries[entry].targets)
    }

    /// Is there an edge from `source` to `target`?
    pub fn contains(&self, source: N, target: N) -> bool {
        self.find(source).is_some_and(|targets| targets.contains(&target))
    }

    /// Removes the first edge from `source` to `target` and returns whether there was one. The
    /// source stays.
    pub fn remove(&mut self, source: N, target: N) -> bool {
        let Some(entry) = self.entry_of(source) else {
            return false;
        };
        let targets = &mut self.entries[entry].targets;
        let Some(position) = targets.iter().position(|&other| other == target) else {
            return false;
        };
        targets.remove(position);
        self.edges -= 1;
        true
    }

    /// Removes a source with all its edges and returns whether it was there.
    pub fn remove_source(&mut self, source: N) -> bool {
        let bucket = self.bucket_of(hash(source));
        let mut before: PackedOption<Entry> = PackedOption::default();
        let mut at = self.buckets[bucket].head;
        while let Some(entry) = at.expand() {
            let next = self.entries[entry].next;
            if self.entries[entry].source == source {
                match before.expand() {
                    Some(before) => self.entries[before].next = next,
                    None => self.buckets[bucket].head = next,
                }
                if next.is_none() {
                    self.buckets[bucket].tail = before;
                }
                self.release(entry);
                return true;
            }
            before = at;
            at = next;
        }
        false
    }

    /// Removes everything, keeping the memory.
    pub fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
        self.entries.clear();
        self.free = PackedOption::default();
        self.keys = 0;
        self.edges = 0;
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.keys
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges
    }

    /// All sources with their targets, by bucket.
    pub fn iter(&self) -> impl Iterator<Item = (N, &[N])> {
        self.buckets.iter().flat_map(|bucket| {
            self.chain(bucket.head).map(|entry| {
                let entry = &self.entries[entry];
                (entry.source, entry.targets.as_slice())
            })
        })
    }

    /// All edges, by bucket.
    pub fn edges(&self) -> impl Iterator<Item = (N, N)> {
        self.iter()
            .flat_map(|(source, targets)| targets.iter().map(move |&target| (source, target)))
    }

    fn bucket_of(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn chain(&self, head: PackedOption<Entry>) -> impl Iterator<Item = Entry> {
        std::iter::successors(head.expand(), |&entry| self.entries[entry].next.expand())
    }

    fn entry_of(&self, source: N) -> Option<Entry> {
        let head = self.buckets[self.bucket_of(hash(source))].head;
        self.chain(head)
            .find(|&entry| self.entries[entry].source == source)
    }

    /// The entry of a source, made if it is not there.
    fn insert_source(&mut self, source: N) -> Entry {
        if let Some(entry) = self.entry_of(source) {
            return entry;
        }
        let data = EntryData {
            next: PackedOption::default(),
            source,
            hash: hash(source),
            targets: SmallVec::new(),
        };
        let entry = match self.free.expand() {
            Some(entry) => {
                self.free = self.entries[entry].next;
                self.entries[entry] = data;
                entry
            }
            None => self.entries.push(data),
        };
        self.append(entry);
        self.keys += 1;
        if self.keys > self.buckets.len() {
            self.grow();
        }
        entry
    }

    /// Puts an entry at the end of its bucket.
    fn append(&mut self, entry: Entry) {
        let bucket = self.bucket_of(self.entries[entry].hash);
        let bucket = &mut self.buckets[bucket];
        match bucket.tail.expand() {
            Some(tail) => self.entries[tail].next = entry.into(),
            None => bucket.head = entry.into(),
        }
        bucket.tail = entry.into();
    }

    fn grow(&mut self) {
        let buckets = vec![Bucket::default(); self.buckets.len() * GROWTH];
        for bucket in std::mem::replace(&mut self.buckets, buckets) {
            let mut at = bucket.head;
            while let Some(entry) = at.expand() {
                at = std::mem::take(&mut self.entries[entry].next);
                self.append(entry);
            }
        }
    }

    /// Makes an entry that is in no chain free.
    fn release(&mut self, entry: Entry) {
        let data = &mut self.entries[entry];
        self.keys -= 1;
        self.edges -= data.targets.len();
        data.targets = SmallVec::new();
        data.next = self.free;
        self.free = entry.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{Block, EntityRef};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn block(index: usize) -> Block {
        Block::new(index)
    }

    /// The published test value of 32-bit FNV-1a for the text "foob".
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash(block(u32::from_le_bytes(*b"foob") as usize)), 0x3F50_76EF);
    }

    #[test]
    fn buckets_grow_fourfold_when_keys_outnumber_them() {
        let mut map = EdgeMap::new();
        let sizes = [(8, 8), (9, 32), (32, 32), (33, 128)];
        for (keys, buckets) in sizes {
            for index in map.source_count()..keys {
                map.insert(block(index), block(0));
            }
            assert_eq!(map.buckets.len(), buckets, "{keys} keys");
        }
    }

    #[test]
    fn entries_of_a_bucket_are_listed_by_age() {
        let mut map = EdgeMap::new();
        let same_bucket: Vec<Block> = (0..1000)
            .map(block)
            .filter(|&key| hash(key) % 8 == 3)
            .take(4)
            .collect();
        for &key in same_bucket.iter().rev() {
            map.insert_empty(key);
        }
        assert!(map.remove_source(same_bucket[3]) && map.remove_source(same_bucket[0]));
        map.insert_empty(same_bucket[3]);
        let listed: Vec<Block> = map.iter().map(|(source, _)| source).collect();
        assert_eq!(listed, [same_bucket[2], same_bucket[1], same_bucket[3]]);
    }

    #[derive(Clone, Debug)]
    enum Edit {
        Insert(usize, usize),
        InsertEmpty(usize),
        Remove(usize, usize),
        RemoveSource(usize),
        Clear,
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let (source, target) = (0usize..60, 0usize..4);
        prop_oneof![
            12 => (source.clone(), target.clone()).prop_map(|(source, target)| Edit::Insert(source, target)),
            2 => source.clone().prop_map(Edit::InsertEmpty),
            4 => (source.clone(), target).prop_map(|(source, target)| Edit::Remove(source, target)),
            3 => source.prop_map(Edit::RemoveSource),
            1 => Just(Edit::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_lists(edits in prop::collection::vec(edit(), 0..400)) {
            let mut map = EdgeMap::new();
            let mut model: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
            for edit in edits {
                match edit {
                    Edit::Insert(source, target) => {
                        map.insert(block(source), block(target));
                        model.entry(source).or_default().push(block(target));
                    }
                    Edit::InsertEmpty(source) => {
                        map.insert_empty(block(source));
                        model.entry(source).or_default();
                    }
                    Edit::Remove(source, target) => {
                        let list = model.get_mut(&source);
                        let removed = list.and_then(|list| {
                            let at = list.iter().position(|&other| other == block(target))?;
                            Some(list.remove(at))
                        });
                        prop_assert_eq!(map.remove(block(source), block(target)), removed.is_some());
                    }
                    Edit::RemoveSource(source) => {
                        prop_assert_eq!(map.remove_source(block(source)), model.remove(&source).is_some());
                    }
                    Edit::Clear => {
                        map.clear();
                        model.clear();
                    }
                }
                prop_assert_eq!(map.source_count(), model.len());
                prop_assert_eq!(map.edge_count(), model.values().map(Vec::len).sum::<usize>());
            }
            for source in 0..60 {
                let found = map.find(block(source));
                prop_assert_eq!(found, model.get(&source).map(Vec::as_slice));
                let expected = found.is_some_and(|targets| targets.contains(&block(1)));
                prop_assert_eq!(map.contains(block(source), block(1)), expected);
            }
            let listed: BTreeMap<usize, Vec<Block>> =
                map.iter().map(|(source, targets)| (source.index(), targets.to_vec())).collect();
            prop_assert_eq!(map.iter().count(), listed.len());
            prop_assert_eq!(map.edges().count(), map.edge_count());
            prop_assert_eq!(listed, model);
        }
    }
}
