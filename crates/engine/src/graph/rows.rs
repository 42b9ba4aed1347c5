//! Lists by key in one flat array ("compressed sparse rows").

use crate::entity::EntityRef;
use std::marker::PhantomData;

/// A list of values for each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<K, V> {
    /// Start of each key's list in `values`, and the end of the last.
    first: Vec<u32>,
    values: Vec<V>,
    key: PhantomData<K>,
}

impl<K, V> Default for Rows<K, V> {
    fn default() -> Self {
        Self {
            first: Vec::new(),
            values: Vec::new(),
            key: PhantomData,
        }
    }
}

impl<K: EntityRef, V: EntityRef> Rows<K, V> {
    /// Replaces all lists by `pairs`, stably sorted by key, and reuses memory. Keys are below
    /// `keys`.
    pub fn fill(&mut self, keys: usize, pairs: impl Iterator<Item = (K, V)> + Clone) {
        self.first.clear();
        self.first.resize(keys + 2, 0);
        // Counts are kept two positions up, so that filling a list moves its start into place.
        pairs
            .clone()
            .for_each(|(key, _)| self.first[key.index() + 2] += 1);
        for key in 2..self.first.len() {
            self.first[key] += self.first[key - 1];
        }
        let count = self.first[keys + 1] as usize;
        self.values.clear();
        self.values.resize(count, V::new(0));
        pairs.for_each(|(key, value)| {
            let next = &mut self.first[key.index() + 1];
            self.values[*next as usize] = value;
            *next += 1;
        });
        self.first.pop();
    }

    /// Returns the number of keys.
    pub(crate) fn key_count(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// Returns the list of a key.
    pub fn of(&self, key: K) -> &[V] {
        let key = key.index();
        &self.values[self.first[key] as usize..self.first[key + 1] as usize]
    }

    /// Returns the length of the list of a key.
    pub(crate) fn count(&self, key: K) -> usize {
        (self.first[key.index() + 1] - self.first[key.index()]) as usize
    }

    /// Returns all values, by key.
    pub(crate) fn values(&self) -> &[V] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Block;

    #[test]
    fn lists_keep_the_order_of_the_pairs() {
        let block = Block::new;
        let pairs = [(2, 5), (0, 1), (2, 3), (0, 1)].map(|(key, value)| (block(key), block(value)));
        let mut rows = Rows::default();
        rows.fill(4, pairs.into_iter());
        assert_eq!(rows.key_count(), 4);
        assert_eq!(rows.of(block(0)), [block(1), block(1)]);
        assert_eq!(rows.of(block(1)), []);
        assert_eq!(rows.of(block(2)), [block(5), block(3)]);
        assert_eq!(rows.count(block(3)), 0);
        rows.fill(1, pairs[1..2].iter().copied());
        assert_eq!(rows.values(), [block(1)]);
    }
}
