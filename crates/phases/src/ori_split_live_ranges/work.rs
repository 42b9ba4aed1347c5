//! Work structures of the splitting phases: split requests, a record for each block, and the hash
//! table of interferences.

use oriel_engine::entity::{Block, PackedOption, PrimaryMap, Register, SecondaryMap, entity_impl};
use oriel_engine::hash::Fnv1a;
use oriel_ori::Instruction;
use smallvec::SmallVec;

/// A split request, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RequestId(u32);
entity_impl!(RequestId, "request");

/// A request to split a register: its value is recomputed there for some later uses.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub register: Register,
    /// The value is recomputed before this instruction.
    pub before: Instruction,
    /// Instructions with the numbers of their sources.
    pub uses: SmallVec<[(Instruction, usize); 2]>,
    /// The next request of the block.
    next: PackedOption<RequestId>,
}

/// The record of a block: a cache line, as in the reference, whose record also has a list and its
/// count.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct BlockRecord {
    first: PackedOption<RequestId>,
    last: PackedOption<RequestId>,
    pub count: u32,
    /// Units by which the block's peak exceeds the budget, less the effect of requests.
    pub excess: u32,
    /// The position of the peak in the block; zero for its start.
    pub peak_position: u32,
    /// The block's points with too high pressure: a range of a list for all blocks, starting here.
    pub first_hot: u32,
    pub hot_count: u32,
}

const _: () = assert!(size_of::<BlockRecord>() == 64);

/// The requests of a function, by block.
#[derive(Debug, Default)]
pub(super) struct Requests {
    requests: PrimaryMap<RequestId, Request>,
}

impl Requests {
    pub fn add(
        &mut self,
        record: &mut BlockRecord,
        register: Register,
        before: Instruction,
        uses: SmallVec<[(Instruction, usize); 2]>,
    ) -> RequestId {
        let request = self.requests.push(Request {
            register,
            before,
            uses,
            next: PackedOption::default(),
        });
        match record.last.expand() {
            Some(last) => self.requests[last].next = request.into(),
            None => record.first = request.into(),
        }
        record.last = request.into();
        record.count += 1;
        request
    }

    pub fn get(&self, request: RequestId) -> &Request {
        &self.requests[request]
    }

    /// Returns the requests of a block.
    pub fn of_block(&self, record: &BlockRecord) -> impl Iterator<Item = &Request> + '_ {
        let next = |request: &&Request| request.next.expand().map(|next| &self.requests[next]);
        std::iter::successors(record.first.expand().map(|first| &self.requests[first]), next)
    }
}

pub(super) type BlockRecords = SecondaryMap<Block, BlockRecord>;

/// Counts at how many of a register's split points another register is live: a hash table with
/// linear probing by FNV-1a, with a power of two of buckets of which at most half are used.
#[derive(Clone, Debug)]
pub(super) struct InterferenceTable {
    buckets: Vec<Option<(Register, Register, u32)>>,
    used: usize,
}

impl InterferenceTable {
    /// Creates a table with room for this many pairs.
    pub fn with_room(pairs: usize) -> Self {
        Self {
            buckets: vec![None; (2 * pairs).next_power_of_two().max(8)],
            used: 0,
        }
    }

    fn hash(register: Register, other: Register) -> usize {
        let hash = Fnv1a::new().word(register.as_u32()).word(other.as_u32());
        hash.finish() as usize
    }

    /// Returns the bucket of a pair, or the empty one for it.
    fn bucket(&self, register: Register, other: Register) -> usize {
        let mask = self.buckets.len() - 1;
        let mut index = Self::hash(register, other) & mask;
        while let Some((known, known_other, _)) = self.buckets[index]
            && (known, known_other) != (register, other)
        {
            index = (index + 1) & mask;
        }
        index
    }

    /// Counts a point.
    pub fn add(&mut self, register: Register, other: Register) {
        let index = self.bucket(register, other);
        if let Some((_, _, count)) = &mut self.buckets[index] {
            *count += 1;
            return;
        }
        self.buckets[index] = Some((register, other, 1));
        self.used += 1;
        if 2 * self.used > self.buckets.len() {
            let grown = vec![None; 2 * self.buckets.len()];
            for entry in std::mem::replace(&mut self.buckets, grown).into_iter().flatten() {
                let index = self.bucket(entry.0, entry.1);
                self.buckets[index] = Some(entry);
            }
        }
    }

    /// Returns at how many points `other` is live.
    pub fn count(&self, register: Register, other: Register) -> u32 {
        self.buckets[self.bucket(register, other)].map_or(0, |(_, _, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::entity::EntityRef;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn the_table_counts_like_a_map(pairs in prop::collection::vec((0usize..20, 0usize..20), 0..400)) {
            let mut table = InterferenceTable::with_room(1);
            let mut model: HashMap<(usize, usize), u32> = HashMap::new();
            for (register, other) in pairs {
                table.add(Register::new(register), Register::new(other));
                *model.entry((register, other)).or_default() += 1;
                prop_assert!(2 * table.used <= table.buckets.len() && table.buckets.len().is_power_of_two());
            }
            for register in 0..20 {
                for other in 0..20 {
                    let expected = model.get(&(register, other)).copied().unwrap_or(0);
                    prop_assert_eq!(table.count(Register::new(register), Register::new(other)), expected);
                }
            }
        }
    }
}
