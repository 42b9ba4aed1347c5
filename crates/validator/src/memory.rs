//! Stack objects whose address does not escape: their bytes are variables like registers.
//!
//! An object qualifies if every use of its address is the address of a plain load or store at a
//! known offset. No other instruction can then reach it, and the validator tracks its bytes like
//! registers, in the pieces that loads and stores access. So it recognises a value that goes
//! through memory in the function before and through registers in the function after.

use super::values::{Operator, Value, Values};
use oriel_engine::hash::NumberMap;
use oriel_ori::{AddressSpace, Operation};
use smallvec::SmallVec;

/// The most tracked pieces.
const PIECES: usize = 512;
/// The most address-space conversions that are looked through.
const CONVERSIONS: usize = 4;

/// The bytes of stack objects, split into pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StackPieces {
    /// By object: the number of its first piece, and the boundaries of the pieces.
    objects: NumberMap<u32, (u32, Vec<u32>)>,
    widths: Vec<u32>,
}

impl StackPieces {
    /// Returns the pieces of these accesses, without objects whose address escapes; none if there
    /// are no pieces, or too many.
    pub fn of(accesses: &[(u32, u32, u32)], escaped: &[u32]) -> Option<Self> {
        let mut pieces = Self::default();
        let mut accesses: Vec<_> = accesses
            .iter()
            .filter(|&&(object, ..)| !escaped.contains(&object))
            .copied()
            .collect();
        accesses.sort_unstable();
        for group in accesses.chunk_by(|left, right| left.0 == right.0) {
            let mut borders: Vec<u32> = group
                .iter()
                .flat_map(|&(_, from, size)| [from, from + size])
                .collect();
            borders.sort_unstable();
            borders.dedup();
            let first = pieces.widths.len() as u32;
            for pair in borders.windows(2) {
                // Bytes between two accesses form a variable that is never set.
                pieces.widths.push((8 * (pair[1] - pair[0])).min(128));
            }
            pieces.objects.insert(group[0].0, (first, borders));
        }
        (!pieces.widths.is_empty() && pieces.widths.len() <= PIECES).then_some(pieces)
    }

    /// Returns the number of pieces.
    pub fn count(&self) -> usize {
        self.widths.len()
    }

    /// Returns the width of a piece in bits.
    pub fn width(&self, piece: u32) -> u32 {
        self.widths[piece as usize]
    }

    /// True if the bytes of an object are tracked.
    pub fn has(&self, object: u32) -> bool {
        self.objects.contains_key(&object)
    }

    /// Returns the pieces of some bytes of an object; none if these are not whole pieces.
    pub fn pieces(&self, object: u32, from: u32, size: u32) -> Option<std::ops::Range<u32>> {
        let (first, borders) = self.objects.get(&object)?;
        let begin = borders.binary_search(&from).ok()? as u32;
        let end = borders.binary_search(&(from + size)).ok()? as u32;
        Some(first + begin..first + end)
    }
}

/// A pass's findings on stack objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    /// Object, first byte and number of bytes of each access at a known offset.
    pub accesses: Vec<(u32, u32, u32)>,
    /// Objects whose address escapes.
    pub escaped: Vec<u32>,
}

impl Values {
    /// Returns a stack object and an offset in bytes, if a value is such an address.
    pub(super) fn as_stack_address(&self, address: Value) -> Option<(u32, i64)> {
        let (mut value, mut offset) = (address, 0_i64);
        for _ in 0..CONVERSIONS {
            match self.operator(value) {
                Operator::Frame { object } => return Some((object, offset)),
                Operator::Operation {
                    operation: Operation::Cvta,
                    modifiers,
                    ..
                } if modifiers.space == AddressSpace::Local => value = self.operand(value, 0),
                Operator::Sum { constant } => {
                    let [(term, 1)] = self.as_sum(value).terms[..] else {
                        return None;
                    };
                    if self.width(term) != self.width(value) {
                        return None;
                    }
                    let shift = 64 - self.width(value);
                    offset = offset.checked_add((constant << shift) as i64 >> shift)?;
                    value = term;
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the stack objects whose addresses a value contains.
    pub(super) fn stack_objects_in(&self, value: Value, objects: &mut Vec<u32>) {
        if !self.mentions_stack(value) {
            return;
        }
        let mut pending: SmallVec<[Value; 16]> = SmallVec::new();
        let mut met = oriel_engine::hash::NumberMap::default();
        pending.push(value);
        while let Some(value) = pending.pop() {
            if !self.mentions_stack(value) || met.insert(value, ()).is_some() {
                continue;
            }
            if let Operator::Frame { object } = self.operator(value)
                && !objects.contains(&object)
            {
                objects.push(object);
            }
            pending.extend(self.parts_of(value));
        }
    }
}
