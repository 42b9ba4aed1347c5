//! The value table: expressions by the words that describe them, each with a phase's data on its
//! value. Phases that common expressions query it for equal ones.
//!
//! A hash table with chaining, as in the reference: a power of two of buckets, eight at first;
//! entries store their hash, so that growing does not read the keys again. The number of buckets is
//! quadrupled when entries outnumber them. Keys are concatenated in one list. A chain begins with
//! its newest entry, which hides an older one with the same key.
//!
//! The phase chooses the hash, as the reference's phases do.

use oriel_engine::entity::{EntityRef, PackedOption, PrimaryMap, entity_impl};
use std::ops::{Index, IndexMut};

/// An expression of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Value(u32);
entity_impl!(Value, "value");

const FIRST_BUCKETS: usize = 8;
const GROWTH: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    next: PackedOption<Value>,
    hash: u32,
    /// The key: a range of the list of words.
    first_word: u32,
    end_word: u32,
    known: T,
}

/// Expressions by their words, with a `T` for each.
#[derive(Debug)]
pub(crate) struct ValueTable<T> {
    /// The first entry of each chain.
    buckets: Vec<PackedOption<Value>>,
    entries: PrimaryMap<Value, Entry<T>>,
    words: Vec<u32>,
}

impl<T> Default for ValueTable<T> {
    fn default() -> Self {
        Self {
            buckets: vec![PackedOption::default(); FIRST_BUCKETS],
            entries: PrimaryMap::new(),
            words: Vec::new(),
        }
    }
}

impl<T> ValueTable<T> {
    /// Returns the newest entry with these words, which have this hash.
    pub fn find(&self, words: &[u32], hash: u32) -> Option<Value> {
        let first = self.buckets[self.bucket_of(hash)].expand();
        let mut chain = std::iter::successors(first, |&value| self.entries[value].next.expand());
        chain.find(|&value| {
            let entry = &self.entries[value];
            entry.hash == hash && self.words[entry.first_word as usize..entry.end_word as usize] == *words
        })
    }

    /// Inserts an expression, even if its words are already present.
    pub fn insert(&mut self, words: &[u32], hash: u32, known: T) -> Value {
        let first_word = self.words.len() as u32;
        self.words.extend_from_slice(words);
        let value = self.entries.push(Entry {
            next: PackedOption::default(),
            hash,
            first_word,
            end_word: self.words.len() as u32,
            known,
        });
        if self.entries.len() > self.buckets.len() {
            self.grow();
        } else {
            self.link(value);
        }
        value
    }

    /// Returns the data of all entries, oldest first.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.entries.into_iter().map(|(_, entry)| entry.known)
    }

    fn bucket_of(&self, hash: u32) -> usize {
        // For some hashes the top bits are mixed best.
        (hash ^ hash >> 16) as usize & (self.buckets.len() - 1)
    }

    /// Links an entry at the front of its chain.
    fn link(&mut self, value: Value) {
        let bucket = self.bucket_of(self.entries[value].hash);
        self.entries[value].next = std::mem::replace(&mut self.buckets[bucket], value.into());
    }

    fn grow(&mut self) {
        let count = GROWTH * self.buckets.len();
        self.buckets.clear();
        self.buckets.resize(count, PackedOption::default());
        for index in 0..self.entries.len() {
            self.link(Value::new(index));
        }
    }
}

impl<T> Index<Value> for ValueTable<T> {
    type Output = T;

    fn index(&self, value: Value) -> &T {
        &self.entries[value].known
    }
}

impl<T> IndexMut<Value> for ValueTable<T> {
    fn index_mut(&mut self, value: Value) -> &mut T {
        &mut self.entries[value].known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few distinct hashes, so that chains are long and keys with equal hashes differ.
        #[test]
        fn the_table_is_a_map_of_the_newest(
            keys in prop::collection::vec((prop::collection::vec(0u32..4, 1..5), any::<bool>()), 0..600),
        ) {
            let mut table = ValueTable::default();
            let mut model: HashMap<Vec<u32>, usize> = HashMap::new();
            for (number, (key, hides)) in keys.into_iter().enumerate() {
                let hash = key.iter().sum();
                let found = table.find(&key, hash);
                prop_assert_eq!(found.map(|value| table[value]), model.get(&key).copied());
                match found {
                    Some(value) if !hides => table[value] = number,
                    _ => prop_assert_eq!(table.insert(&key, hash, number), Value::new(table.entries.len() - 1)),
                }
                model.insert(key, number);
                prop_assert!(table.entries.len() <= table.buckets.len());
            }
        }
    }
}
