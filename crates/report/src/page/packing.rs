//! Keeps the page small: stores each item once, and growing numbers as differences.

use std::collections::HashMap;
use std::hash::Hash;

/// Items that instructions share, numbered in order of appearance.
#[derive(Debug)]
pub(super) struct Interned<T> {
    items: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Interned<T> {
    pub(super) fn new() -> Self {
        Self {
            items: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Returns the number of an item.
    pub(super) fn number(&mut self, item: T) -> u32 {
        let next = self.items.len() as u32;
        *self.numbers.entry(item).or_insert_with_key(|item| {
            self.items.push(item.clone());
            next
        })
    }

    pub(super) fn into_items(self) -> Vec<T> {
        self.items
    }
}

/// Differences from the previous number.
pub(super) fn differences(numbers: impl IntoIterator<Item = u32>) -> Vec<i64> {
    let mut last = 0;
    let difference = |number| i64::from(number) - std::mem::replace(&mut last, i64::from(number));
    numbers.into_iter().map(difference).collect()
}
