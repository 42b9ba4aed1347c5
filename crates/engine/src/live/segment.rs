//! The per-block record of the liveness dataflow, 296 bytes.
//!
//! The layout is the reference's. Its four inline buffers hold sets over the registers of one batch
//! ([`Batch`](super::dataflow::Batch)): at most [`GENERAL_BITS`] general registers and
//! [`PREDICATE_BITS`] predicates, as many as fit. So a buffer never leaves its record, and the head
//! of a buffer, where the reference keeps a pointer to a heap buffer and its size, is constant.
//!
//! | offset | buffer | here |
//! |---|---|---|
//! | +0x08 | definitions | registers that the block defines |
//! | +0x50 | register mask | registers that the block reads before it defines them |
//! | +0x98 | GP live set | general registers live out of the block |
//! | +0xE0 | predicate live set | predicates live out of the block |

use super::slot_index::SlotIndex;
use std::mem::offset_of;

/// The key of a record that was never used, or not since the last cleanup.
pub const EMPTY_KEY: u64 = 0xFFFF_FFFF_FFFF_F000;
/// The key of a record whose block was removed.
pub const TOMBSTONE_KEY: u64 = 0xFFFF_FFFF_FFFF_E000;

/// Words of a general live set.
pub const GENERAL_WORDS: usize = 6;
/// General registers in a batch.
pub const GENERAL_BITS: usize = GENERAL_WORDS * 64;
/// Predicates in a batch: the one word by which the definition buffer exceeds [`GENERAL_WORDS`].
pub const PREDICATE_BITS: usize = 64;

/// A set over the registers of a batch, general registers first, as the buffers for definitions and
/// register masks hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BatchSet {
    /// General registers.
    pub general: [u64; GENERAL_WORDS],
    /// Predicates.
    pub predicate: u64,
}

impl BatchSet {
    /// The empty set.
    pub const EMPTY: Self = Self {
        general: [0; GENERAL_WORDS],
        predicate: 0,
    };

    /// `self ∪ other`
    pub fn union(mut self, other: &Self) -> Self {
        for (word, other) in self.general.iter_mut().zip(&other.general) {
            *word |= other;
        }
        self.predicate |= other.predicate;
        self
    }

    /// `self \ other`
    pub fn difference(mut self, other: &Self) -> Self {
        for (word, other) in self.general.iter_mut().zip(&other.general) {
            *word &= !other;
        }
        self.predicate &= !other.predicate;
        self
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.general.iter().fold(self.predicate, |all, word| all | word) == 0
    }

    /// Words in a set: the general ones, then that of the predicates.
    pub const WORDS: usize = GENERAL_WORDS + 1;

    /// Returns a word of the set; bit *b* of word *w* is the register with the batch bit 64·*w* +
    /// *b*.
    #[inline]
    pub fn word(&self, word: usize) -> u64 {
        if word < GENERAL_WORDS {
            self.general[word]
        } else {
            self.predicate
        }
    }

    /// Calls `visit` with each member, in ascending order.
    pub fn for_each(&self, mut visit: impl FnMut(BatchBit)) {
        for word in 0..Self::WORDS {
            for_each_bit(word, self.word(word), &mut visit);
        }
    }

    /// Adds a register.
    pub fn insert(&mut self, bit: BatchBit) {
        let mask = 1_u64 << (bit.0 % 64);
        match self.general.get_mut(usize::from(bit.0 / 64)) {
            Some(word) => *word |= mask,
            None => self.predicate |= mask,
        }
    }

    /// True if the register is in the set.
    pub fn contains(&self, bit: BatchBit) -> bool {
        let word = self
            .general
            .get(usize::from(bit.0 / 64))
            .unwrap_or(&self.predicate);
        word >> (bit.0 % 64) & 1 != 0
    }
}

/// Calls `visit` with each register in `bits`, word `word` of a set.
#[inline]
pub(super) fn for_each_bit(word: usize, mut bits: u64, mut visit: impl FnMut(BatchBit)) {
    while bits != 0 {
        visit(BatchBit((word * 64) as u16 + bits.trailing_zeros() as u16));
        bits &= bits - 1;
    }
}

/// A register's number within its batch: general registers from zero, predicates from
/// `GENERAL_BITS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchBit(pub u16);

/// A buffer of a segment: the reference's head, which nothing here reads, then the inline words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Buffer<T> {
    /// Words of room, in the high half.
    words: u64,
    reserved: u64,
    inline: T,
}

impl<T> Buffer<T> {
    const fn new(inline: T) -> Self {
        let room = (size_of::<T>() / size_of::<u64>()) as u64;
        Self {
            words: room << 32,
            reserved: 0,
            inline,
        }
    }
}

/// The dataflow state of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// The block's start index, or one of the sentinels.
    key: u64,
    definitions: Buffer<BatchSet>,
    register_mask: Buffer<BatchSet>,
    general_live: Buffer<[u64; GENERAL_WORDS]>,
    kill_count: u32,
    reserved: u32,
    predicate_live: Buffer<[u64; GENERAL_WORDS]>,
    instruction_count: u32,
    reserved_tail: u32,
}

const _: () = {
    assert!(size_of::<Segment>() == 0x128);
    assert!(offset_of!(Segment, key) == 0);
    assert!(offset_of!(Segment, definitions) == 0x08);
    assert!(offset_of!(Segment, definitions.inline) == 0x18);
    assert!(offset_of!(Segment, register_mask) == 0x50);
    assert!(offset_of!(Segment, register_mask.inline) == 0x60);
    assert!(offset_of!(Segment, general_live) == 0x98);
    assert!(offset_of!(Segment, general_live.inline) == 0xA8);
    assert!(offset_of!(Segment, kill_count) == 0xD8);
    assert!(offset_of!(Segment, predicate_live) == 0xE0);
    assert!(offset_of!(Segment, predicate_live.inline) == 0xF0);
    assert!(offset_of!(Segment, instruction_count) == 0x120);
};

impl Segment {
    /// Creates a record that stands for no block.
    pub const fn empty() -> Self {
        Self {
            key: EMPTY_KEY,
            definitions: Buffer::new(BatchSet::EMPTY),
            register_mask: Buffer::new(BatchSet::EMPTY),
            general_live: Buffer::new([0; GENERAL_WORDS]),
            kill_count: 0,
            reserved: 0,
            predicate_live: Buffer::new([0; GENERAL_WORDS]),
            instruction_count: 0,
            reserved_tail: 0,
        }
    }

    /// Creates a record for the block that starts at `start`.
    #[inline]
    pub fn new(start: SlotIndex, instruction_count: u32) -> Self {
        Self {
            key: u64::from(start.number()),
            instruction_count,
            ..Self::empty()
        }
    }

    /// Returns the key: the block's start index, or a sentinel.
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Marks the record as removed or as free.
    pub(super) fn set_sentinel(&mut self, sentinel: u64) {
        debug_assert!(sentinel == EMPTY_KEY || sentinel == TOMBSTONE_KEY);
        self.key = sentinel;
    }

    /// Instructions of the block, debug ones included.
    #[inline]
    pub fn instruction_count(&self) -> u32 {
        self.instruction_count
    }

    /// Registers that the block defines.
    #[inline]
    pub fn definitions(&self) -> &BatchSet {
        &self.definitions.inline
    }

    /// Adds a definition.
    pub fn define(&mut self, bit: BatchBit) {
        self.definitions.inline.insert(bit);
    }

    /// Registers that the block reads before it defines them.
    #[inline]
    pub fn upward_uses(&self) -> &BatchSet {
        &self.register_mask.inline
    }

    /// Adds an upward-exposed use.
    pub fn use_upward(&mut self, bit: BatchBit) {
        self.register_mask.inline.insert(bit);
    }

    /// `LiveOut`
    #[inline]
    pub fn live_out(&self) -> BatchSet {
        BatchSet {
            general: self.general_live.inline,
            predicate: self.predicate_live.inline[0],
        }
    }

    /// `LiveIn = UpwardUses ∪ (LiveOut \ Definitions)`
    #[inline]
    pub fn live_in(&self) -> BatchSet {
        self.register_mask
            .inline
            .union(&self.live_out().difference(&self.definitions.inline))
    }

    /// `LiveOut ∪= set`. Returns whether `LiveIn` grew.
    ///
    /// General registers and predicates are handled by the same step but never meet: a definition
    /// of one kills nothing of the other.
    #[inline]
    pub fn add_live_out(&mut self, set: &BatchSet) -> bool {
        let mut grown = 0;
        let masked = self.definitions.inline.union(&self.register_mask.inline);
        for word in 0..GENERAL_WORDS {
            let new = set.general[word] & !self.general_live.inline[word];
            self.general_live.inline[word] |= new;
            grown |= new & !masked.general[word];
        }
        let new = set.predicate & !self.predicate_live.inline[0];
        self.predicate_live.inline[0] |= new;
        grown |= new & !masked.predicate;
        grown != 0
    }

    /// Adds one register to `LiveOut`.
    pub fn add_live_out_bit(&mut self, bit: BatchBit) {
        let mut set = BatchSet::EMPTY;
        set.insert(bit);
        self.add_live_out(&set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_and_predicate_sets_do_not_mix() {
        let mut segment = Segment::new(SlotIndex::ZERO, 3);
        let general = BatchBit(0);
        let predicate = BatchBit(GENERAL_BITS as u16);
        segment.define(general);
        segment.add_live_out_bit(general);
        segment.add_live_out_bit(predicate);
        assert!(!segment.live_in().contains(general));
        assert!(segment.live_in().contains(predicate));
        segment.use_upward(general);
        assert!(segment.live_in().contains(general), "read before it is written");
    }

    #[test]
    fn members_come_in_order() {
        let bits = [0, 63, 64, 383, 384, 447].map(BatchBit);
        let mut set = BatchSet::EMPTY;
        bits.iter().rev().for_each(|&bit| set.insert(bit));
        let mut members = Vec::new();
        set.for_each(|bit| members.push(bit));
        assert_eq!(members, bits);
    }

    #[test]
    fn growth_is_reported_once() {
        let mut segment = Segment::new(SlotIndex::ZERO, 1);
        let mut set = BatchSet::EMPTY;
        set.insert(BatchBit(100));
        assert!(segment.add_live_out(&set));
        assert!(!segment.add_live_out(&set));
    }
}
