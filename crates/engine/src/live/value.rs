//! Values of live ranges: their numbers, and the per-block nodes of PHI resolution.
//!
//! The reference allocates one 120-byte `VNInfo` per block from a bump arena and resolves PHI
//! values on it. Here the search for PHI values writes these nodes, too, but decides by the states
//! of blocks (`resolve/block_states.rs`), which are smaller. A live range keeps only four bytes for
//! a value, its definition, since a function of a million instructions has nearly as many values.

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

/// A piece of a range inside a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Endpoint {
    start: u64,
    end: u64,
}

/// A buffer with inline storage: the low half of `size` counts elements in use, the high half is
/// the capacity.
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

/// A PHI value: created by phase 6 where several values meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct VNInfo {
    /// The piece of the block that the value covers from the block's start.
    endpoints: Inline<Endpoint, 3>,
    /// The last read of the value, if it does not leave the block.
    kills: Inline<u64, 2>,
    /// The block's immediate dominator plus one; zero if it has none that is live-out.
    dominator: u64,
    /// The number, from one, of the use of the register that led to the value.
    resolution: u64,
    block: u32,
    value: u32,
}

const _: () = {
    assert!(size_of::<VNInfo>() == 0x78);
    assert!(offset_of!(VNInfo, endpoints) == 0x00);
    assert!(offset_of!(VNInfo, endpoints.size) == 0x08);
    assert!(offset_of!(VNInfo, endpoints.items) == 0x10);
    assert!(offset_of!(VNInfo, kills) == 0x40);
    assert!(offset_of!(VNInfo, kills.items) == 0x50);
    assert!(offset_of!(VNInfo, dominator) == 0x60);
    assert!(offset_of!(VNInfo, resolution) == 0x68);
    assert!(offset_of!(VNInfo, block) == 0x70);
    assert!(offset_of!(VNInfo, value) == 0x74);
};

impl VNInfo {
    /// Creates the PHI value `value` of `block`, live from `start` to `kill` or, if it leaves the
    /// block, to `end`.
    pub(super) fn new(
        value: ValueNumber,
        block: Block,
        dominator: Option<Block>,
        (start, end): (SlotIndex, SlotIndex),
        kill: Option<SlotIndex>,
        resolution: u64,
    ) -> Self {
        let piece = Endpoint {
            start: u64::from(start.number()),
            end: u64::from(kill.unwrap_or(end).number()),
        };
        Self {
            endpoints: Inline {
                reserved: 0,
                size: Inline::<Endpoint, 3>::CAPACITY | 1,
                items: [piece, Endpoint::default(), Endpoint::default()],
            },
            kills: Inline {
                reserved: 0,
                size: Inline::<u64, 2>::CAPACITY | u64::from(kill.is_some()),
                items: [kill.map_or(0, |kill| u64::from(kill.number())), 0],
            },
            dominator: dominator.map_or(0, |dominator| u64::from(dominator.as_u32()) + 1),
            resolution,
            block: block.as_u32(),
            value: value.as_u32(),
        }
    }

    /// Returns the piece of its block that the value covers.
    pub(super) fn piece(&self) -> (SlotIndex, SlotIndex) {
        let Endpoint { start, end } = self.endpoints.items[0];
        (
            SlotIndex::from_number(start as u32),
            SlotIndex::from_number(end as u32),
        )
    }

    /// Returns its number.
    pub(super) fn value(&self) -> ValueNumber {
        ValueNumber::from_u32(self.value)
    }
}
