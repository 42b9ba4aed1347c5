//! Values of live ranges: their numbers, and the per-block nodes that PHI resolution works on.
//!
//! The reference allocates one 120-byte `VNInfo` a block from a bump arena and resolves PHI values on
//! it; so do we. What a live range keeps of a value afterwards is its definition alone, four bytes:
//! a function of a million instructions has nearly as many values.

use super::slot_index::SlotIndex;
use crate::entity::{Block, entity_impl};
use std::mem::offset_of;

/// A value of one live range, numbered from zero in the order in which LLVM makes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueNumber(u32);
entity_impl!(ValueNumber, "value");

impl ValueNumber {
    /// The first value; the only one of a register with one definition.
    pub const ZERO: Self = Self(0);
}

/// A piece of a range inside a block, as the node buffers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Endpoint {
    pub start: u64,
    pub end: u64,
    pub value: u64,
}

/// A buffer with its inline storage: in use in the low half of `size`, room in the high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Inline<T, const N: usize> {
    reserved: u64,
    size: u64,
    items: [T; N],
}

impl<T, const N: usize> Inline<T, N> {
    const CAPACITY: u64 = (N as u64) << 32;
}

/// State of one block while the values of one register are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct VNInfo {
    /// The piece that the block's live-in value covers; in use while that value is not settled.
    endpoints: Inline<Endpoint, 2>,
    /// Where the live-in value is read last, if it does not leave the block.
    kills: Inline<u64, 2>,
    /// The block that defines the live-out value, plus one.
    defining_block: u64,
    /// The register that the live-out value belongs to, by number of its resolution.
    generation: u64,
    block: u32,
    /// The live-out value plus one; zero: not assigned.
    value: u32,
}

const _: () = {
    assert!(size_of::<VNInfo>() == 0x78);
    assert!(offset_of!(VNInfo, endpoints) == 0x00);
    assert!(offset_of!(VNInfo, endpoints.size) == 0x08);
    assert!(offset_of!(VNInfo, endpoints.items) == 0x10);
    assert!(offset_of!(VNInfo, kills) == 0x40);
    assert!(offset_of!(VNInfo, kills.items) == 0x50);
    assert!(offset_of!(VNInfo, defining_block) == 0x60);
    assert!(offset_of!(VNInfo, generation) == 0x68);
    assert!(offset_of!(VNInfo, block) == 0x70);
    assert!(offset_of!(VNInfo, value) == 0x74);
};

impl VNInfo {
    /// A node for `block` that no register has used yet.
    pub(super) fn new(block: Block) -> Self {
        Self {
            endpoints: Inline {
                reserved: 0,
                size: Inline::<Endpoint, 2>::CAPACITY,
                items: [Endpoint {
                    start: 0,
                    end: 0,
                    value: 0,
                }; 2],
            },
            kills: Inline {
                reserved: 0,
                size: Inline::<u64, 2>::CAPACITY,
                items: [0; 2],
            },
            defining_block: 0,
            generation: 0,
            block: block.as_u32(),
            value: 0,
        }
    }

    /// The block.
    pub fn block(&self) -> Block {
        Block::from_u32(self.block)
    }

    /// Is the block known to be live-out in this resolution?
    pub(super) fn is_live_out(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// The value that leaves the block and the block that defines it; none while it is not known.
    pub(super) fn live_out(&self) -> Option<(ValueNumber, Block)> {
        let value = self.value.checked_sub(1)?;
        Some((
            ValueNumber::from_u32(value),
            Block::from_u32(self.defining_block as u32 - 1),
        ))
    }

    /// The block is live-out, with this value if it is known.
    pub(super) fn set_live_out(&mut self, generation: u64, value: Option<(ValueNumber, Block)>) {
        self.generation = generation;
        self.value = value.map_or(0, |(value, _)| value.as_u32() + 1);
        self.defining_block = value.map_or(0, |(_, block)| u64::from(block.as_u32()) + 1);
    }

    /// The block needs a live-in value, from its `start` to `kill` or, if it leaves the block, `end`.
    pub(super) fn need_live_in(&mut self, start: SlotIndex, end: SlotIndex, kill: Option<SlotIndex>) {
        self.endpoints.size = Inline::<Endpoint, 2>::CAPACITY | 1;
        self.endpoints.items[0] = Endpoint {
            start: u64::from(start.number()),
            end: u64::from(kill.unwrap_or(end).number()),
            value: 0,
        };
        self.kills.size = Inline::<u64, 2>::CAPACITY | u64::from(kill.is_some());
        self.kills.items[0] = kill.map_or(0, |kill| u64::from(kill.number()));
    }

    /// Is a live-in value still needed?
    pub(super) fn needs_live_in(&self) -> bool {
        self.endpoints.size as u32 != 0
    }

    /// The live-in value is final.
    pub(super) fn settle(&mut self) {
        self.endpoints.size = Inline::<Endpoint, 2>::CAPACITY;
    }

    /// Where the live-in piece begins and ends.
    pub(super) fn live_in_piece(&self) -> (SlotIndex, SlotIndex) {
        let piece = &self.endpoints.items[0];
        (
            SlotIndex::from_number(piece.start as u32),
            SlotIndex::from_number(piece.end as u32),
        )
    }

    /// Does the live-in value end in the block?
    pub(super) fn is_killed(&self) -> bool {
        self.kills.size as u32 != 0
    }

    /// The live-in value as far as it is known, and the block that defines it.
    pub(super) fn live_in(&self) -> Option<ValueNumber> {
        (self.endpoints.items[0].value as u32)
            .checked_sub(1)
            .map(ValueNumber::from_u32)
    }

    /// Remembers the live-in value.
    pub(super) fn set_live_in(&mut self, value: ValueNumber) {
        self.endpoints.items[0].value = u64::from(value.as_u32()) + 1;
    }
}
