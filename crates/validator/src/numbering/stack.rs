//! Loads and stores of stack objects whose address does not escape.

use super::NumberingPass;
use crate::values::Value;
use oriel_ori::{DataType, Instruction};
use smallvec::SmallVec;

impl NumberingPass<'_, '_> {
    /// Records stack objects whose address escapes.
    pub(super) fn note_escapes(&mut self, values: &[Value]) {
        for &value in values {
            self.values.stack_objects_in(value, &mut self.slots.escaped);
        }
    }

    /// Returns the bytes of a stack object that an access refers to.
    fn stack_place(&mut self, side: usize, address: Value, size: u32) -> Option<(u32, u32)> {
        let (object, offset) = self.values.as_stack_address(address)?;
        let function = self.function(side);
        let index = oriel_engine::entity::FrameObject::from_u32(object);
        let data = function.stack_objects().find(|&(id, _)| id == index)?.1;
        let end = offset.checked_add(i64::from(size))?;
        let is_inside = offset >= 0 && end as u64 <= data.size && !data.is_fixed;
        is_inside.then_some((object, offset as u32))
    }

    /// Handles a load of tracked bytes; returns whether it was one.
    pub(super) fn load_of_stack(
        &mut self,
        side: usize,
        instruction: Instruction,
        address: Value,
        in_memory: DataType,
    ) -> bool {
        let bits = in_memory.bits();
        let count = self.function(side).results(instruction).len() as u32;
        let Some((object, offset)) = self.stack_place(side, address, count * bits / 8) else {
            self.note_escapes(&[address]);
            return false;
        };
        self.note_accesses(object, offset, count, bits);
        let Some(pieces) = self.pieces().filter(|pieces| pieces.has(object)) else {
            return false;
        };
        for index in 0..count {
            let from = offset + index * bits / 8;
            let parts: Option<SmallVec<[u32; 8]>> =
                pieces.pieces(object, from, bits / 8).map(|range| range.collect());
            let loaded = match parts {
                Some(parts) => {
                    let parts: SmallVec<[Value; 8]> = parts
                        .iter()
                        .map(|&piece| self.get(self.piece(side, piece)))
                        .collect();
                    match parts[..] {
                        [only] => only,
                        _ => self
                            .values
                            .concatenate(bits, &parts)
                            .unwrap_or_else(|| self.unknown(bits)),
                    }
                }
                None => self.unknown(bits),
            };
            self.set_loaded(side, instruction, index as usize, loaded, in_memory);
        }
        true
    }

    /// Handles a store to tracked bytes; returns whether it was one.
    pub(super) fn store_to_stack(
        &mut self,
        side: usize,
        address: Value,
        in_memory: DataType,
        stored: &[Value],
    ) -> bool {
        let bits = in_memory.bits();
        let count = stored.len() as u32;
        let Some((object, offset)) = self.stack_place(side, address, count * bits / 8) else {
            self.note_escapes(&[address]);
            self.note_escapes(stored);
            return false;
        };
        self.note_accesses(object, offset, count, bits);
        let Some(all) = self.pieces() else {
            return false;
        };
        let Some(pieces) = Some(all).filter(|pieces| pieces.has(object)) else {
            // Any reader of the object gets the stored value.
            self.note_escapes(stored);
            return false;
        };
        for (index, &value) in stored.iter().enumerate() {
            let from = offset + index as u32 * bits / 8;
            let Some(range) = pieces.pieces(object, from, bits / 8) else {
                continue;
            };
            let mut low = 0;
            for piece in range {
                let width = pieces.width(piece);
                let part = self.values.extract(value, low, width);
                low += width;
                self.set(self.piece(side, piece), part);
            }
        }
        true
    }

    fn note_accesses(&mut self, object: u32, offset: u32, count: u32, bits: u32) {
        for index in 0..count {
            let access = (object, offset + index * bits / 8, bits / 8);
            if !self.slots.accesses.contains(&access) {
                self.slots.accesses.push(access);
            }
        }
    }
}
