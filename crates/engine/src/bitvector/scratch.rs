//! A set that is filled and emptied many times.

use super::EntityBitSet;
use crate::entity::EntityRef;
use std::ops::Deref;

/// A set for walks that each touch a few of very many entities, such as the live registers of one block
/// after another: emptying it takes time by what was inserted, not by how many entities there are. It
/// reads as the [`EntityBitSet`] that it holds.
#[derive(Clone, Debug)]
pub struct ScratchSet<E: EntityRef> {
    members: EntityBitSet<E>,
    /// The members inserted since the set was last empty. One that was removed and inserted again
    /// occurs twice.
    inserted: Vec<E>,
}

impl<E: EntityRef> ScratchSet<E> {
    /// Creates an empty set with room for the first `entities` entities.
    pub fn with_room(entities: usize) -> Self {
        Self {
            members: EntityBitSet::with_room(entities),
            inserted: Vec::new(),
        }
    }

    /// Adds an entity. Returns whether it was new.
    #[inline]
    pub fn insert(&mut self, entity: E) -> bool {
        let is_new = self.members.insert(entity);
        if is_new {
            self.inserted.push(entity);
        }
        is_new
    }

    /// Removes an entity. Returns whether it was in the set.
    #[inline]
    pub fn remove(&mut self, entity: E) -> bool {
        self.members.remove(entity)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        for entity in self.inserted.drain(..) {
            self.members.remove(entity);
        }
    }
}

impl<E: EntityRef> Deref for ScratchSet<E> {
    type Target = EntityBitSet<E>;

    fn deref(&self) -> &EntityBitSet<E> {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Register;

    #[test]
    fn what_was_removed_and_inserted_again_is_gone_after_clear() {
        let mut set = ScratchSet::with_room(100);
        let [one, other] = [Register::new(3), Register::new(99)];
        assert!(set.insert(one) && !set.insert(one) && set.insert(other));
        assert!(set.remove(one) && !set.remove(one) && set.insert(one));
        assert!(set.contains(one) && set.contains(other));
        set.clear();
        assert!(!set.contains(one) && !set.contains(other));
        assert!(set.insert(one), "it is as new");
    }
}
