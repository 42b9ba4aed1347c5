//! The value table: expressions that were met, each with the instruction that has its value at
//! hand.
//!
//! A hash table of chains, as in the reference: a power of two of buckets, eight to begin with,
//! that know their first and last entry; entries that keep their hash, so that growing does not
//! read the keys again. There are four times as many buckets when entries outnumber them. Keys lie
//! one behind the other in one list.

use oriel_engine::entity::{EntityRef, PackedOption, PrimaryMap, entity_impl};
use oriel_engine::hash::Fnv1a;
use oriel_ori::Instruction;

/// An expression of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Value(u32);
entity_impl!(Value, "value");

const FIRST_BUCKETS: usize = 8;
const GROWTH: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    head: PackedOption<Value>,
    tail: PackedOption<Value>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    next: PackedOption<Value>,
    hash: u32,
    /// The key: a part of the list of words.
    first_word: u32,
    end_word: u32,
    /// The instruction that the expression was first met in; its results stand for the value in
    /// keys.
    founder: Instruction,
    /// The instruction that has the value where the walk is.
    leader: Leader,
}

/// An instruction that has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub instruction: Instruction,
    /// How many instructions the walk had met before it.
    pub place: u32,
}

/// Expressions by their words.
#[derive(Debug)]
pub(crate) struct ValueTable {
    buckets: Vec<Bucket>,
    entries: PrimaryMap<Value, Entry>,
    words: Vec<u32>,
}

impl Default for ValueTable {
    fn default() -> Self {
        Self {
            buckets: vec![Bucket::default(); FIRST_BUCKETS],
            entries: PrimaryMap::new(),
            words: Vec::new(),
        }
    }
}

impl ValueTable {
    /// The entry of an expression, and whether there was one; a new one is led by `leader`.
    pub fn find_or_insert(&mut self, words: &[u32], leader: Leader) -> (Value, bool) {
        let hash = Fnv1a::new().words(words).finish();
        if let Some(value) = self.find_hashed(words, hash) {
            return (value, true);
        }
        let first_word = self.words.len() as u32;
        self.words.extend_from_slice(words);
        let value = self.entries.push(Entry {
            next: PackedOption::default(),
            hash,
            first_word,
            end_word: self.words.len() as u32,
            founder: leader.instruction,
            leader,
        });
        self.append(value);
        if self.entries.len() > self.buckets.len() {
            self.grow();
        }
        (value, false)
    }

    /// The entry of an expression.
    pub fn find(&self, words: &[u32]) -> Option<Value> {
        self.find_hashed(words, Fnv1a::new().words(words).finish())
    }

    fn find_hashed(&self, words: &[u32], hash: u32) -> Option<Value> {
        let mut at = self.buckets[self.bucket_of(hash)].head;
        while let Some(value) = at.expand() {
            let entry = &self.entries[value];
            let key = &self.words[entry.first_word as usize..entry.end_word as usize];
            if entry.hash == hash && key == words {
                return Some(value);
            }
            at = entry.next;
        }
        None
    }

    /// The instruction that an expression was first met in.
    pub fn founder(&self, value: Value) -> Instruction {
        self.entries[value].founder
    }

    /// The instruction that has the value.
    pub fn leader(&self, value: Value) -> Leader {
        self.entries[value].leader
    }

    /// Another instruction has the value from here on.
    pub fn set_leader(&mut self, value: Value, leader: Leader) {
        self.entries[value].leader = leader;
    }

    fn bucket_of(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Puts an entry at the end of its chain.
    fn append(&mut self, value: Value) {
        let index = self.bucket_of(self.entries[value].hash);
        let bucket = &mut self.buckets[index];
        match bucket.tail.expand() {
            Some(tail) => self.entries[tail].next = value.into(),
            None => bucket.head = value.into(),
        }
        bucket.tail = value.into();
    }

    fn grow(&mut self) {
        let count = GROWTH * self.buckets.len();
        self.buckets.clear();
        self.buckets.resize(count, Bucket::default());
        for index in 0..self.entries.len() {
            let value = Value::new(index);
            self.entries[value].next = PackedOption::default();
            self.append(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn the_table_is_a_map(keys in prop::collection::vec(prop::collection::vec(0u32..4, 1..5), 0..600)) {
            let mut table = ValueTable::default();
            let mut model: HashMap<Vec<u32>, (Value, Instruction)> = HashMap::new();
            for (number, key) in keys.into_iter().enumerate() {
                let instruction = Instruction::new(number);
                let leader = Leader { instruction, place: number as u32 };
                let (value, is_known) = table.find_or_insert(&key, leader);
                match model.get(&key) {
                    Some(&(known, founder)) => {
                        prop_assert!(is_known);
                        prop_assert_eq!(value, known);
                        prop_assert_eq!(table.founder(value), founder);
                        table.set_leader(value, leader);
                    }
                    None => {
                        prop_assert!(!is_known);
                        model.insert(key, (value, instruction));
                    }
                }
                prop_assert_eq!(table.leader(value), leader);
                prop_assert!(table.entries.len() <= table.buckets.len());
            }
        }
    }
}
