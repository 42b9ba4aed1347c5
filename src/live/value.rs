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

/// A piece of a range inside a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Endpoint {
    start: u64,
    end: u64,
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

/// A block whose live-in value is being looked for, in the resolution of one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct VNInfo {
    /// The piece that the live-in value covers; in use while that value is not settled.
    endpoints: Inline<Endpoint, 3>,
    /// Where the live-in value is read last, if it does not leave the block.
    kills: Inline<u64, 2>,
    /// The block's immediate dominator plus one; zero: it has none that is live-out.
    dominator: u64,
    /// Passes that looked for the value so far.
    passes: u64,
    block: u32,
    /// The live-in value plus one, as far as it is known; zero: it is not.
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
    assert!(offset_of!(VNInfo, passes) == 0x68);
    assert!(offset_of!(VNInfo, block) == 0x70);
    assert!(offset_of!(VNInfo, value) == 0x74);
};

impl VNInfo {
    /// A node for `block`, whose live-in piece reaches from `start` to `kill` or, if the value leaves
    /// the block, to `end`.
    pub(super) fn new(
        block: Block,
        dominator: Option<Block>,
        (start, end): (SlotIndex, SlotIndex),
        kill: Option<SlotIndex>,
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
            passes: 0,
            block: block.as_u32(),
            value: 0,
        }
    }

    /// The block.
    pub fn block(&self) -> Block {
        Block::from_u32(self.block)
    }

    /// The immediate dominator.
    pub(super) fn dominator(&self) -> Option<Block> {
        (self.dominator as u32).checked_sub(1).map(Block::from_u32)
    }

    /// Is the live-in value still looked for?
    pub(super) fn is_pending(&self) -> bool {
        self.endpoints.size as u32 != 0
    }

    /// The live-in value is final, and its piece is in the range.
    pub(super) fn settle(&mut self) {
        self.endpoints.size = Inline::<Endpoint, 3>::CAPACITY;
    }

    /// Where the live-in piece begins and ends.
    pub(super) fn piece(&self) -> (SlotIndex, SlotIndex) {
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

    /// The live-in value as far as it is known.
    pub fn value(&self) -> Option<ValueNumber> {
        self.value.checked_sub(1).map(ValueNumber::from_u32)
    }

    /// Counts a pass that looks for the value, and returns how many there were before.
    pub(super) fn count_pass(&mut self) -> u64 {
        self.passes += 1;
        self.passes - 1
    }

    /// Remembers the live-in value.
    pub(super) fn set_value(&mut self, value: ValueNumber) {
        self.value = value.as_u32() + 1;
    }
}
