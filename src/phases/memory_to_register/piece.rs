//! The parts of an object that are accessed as one.

use super::frame_objects::Use;
use crate::entity::Register;
use crate::ori::{DataType, Function, Instruction, VariableData};
use std::collections::BTreeMap;

/// A part of an object that every access to one of its bytes accesses whole.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes from the start of the object.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// What registers hold its values. Those of a byte are wider than it, and the bits above do not matter.
    pub variable: VariableData,
    /// How many elements of loads read it.
    pub loads: u32,
}

/// Two accesses of some bytes that do not access the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The access that overlaps one before it in the object.
    pub at: Instruction,
}

/// The pieces of an object without obstacles, by offset.
///
/// # Errors
/// Two accesses overlap in part.
pub fn find_pieces(function: &Function, object: &Use) -> Result<Vec<Piece>, Overlap> {
    let mut pieces: BTreeMap<u64, (Piece, Instruction)> = BTreeMap::new();
    for access in &object.accesses {
        let is_store = access.is_store(function);
        let bytes = access.element_bytes(function);
        for (number, value) in access.values(function).into_iter().enumerate() {
            let new = Piece {
                offset: access.offset + number as u64 * bytes,
                bytes,
                variable: variable_of(bytes),
                loads: 0,
            };
            let (piece, _) = pieces.entry(new.offset).or_insert((new, access.instruction));
            if piece.bytes != bytes {
                return Err(Overlap {
                    at: access.instruction,
                });
            }
            piece.loads += u32::from(!is_store);
            let is_model = |register: &Register| {
                u32::from(function.register(*register).bits) == piece.variable.data_type.bits()
            };
            piece.variable.model = piece.variable.model.or(value.as_register().filter(is_model));
        }
    }
    let in_order: Vec<(Piece, Instruction)> = pieces.into_values().collect();
    for pair in in_order.windows(2) {
        if pair[0].0.offset + pair[0].0.bytes > pair[1].0.offset {
            return Err(Overlap { at: pair[1].1 });
        }
    }
    Ok(in_order.into_iter().map(|(piece, _)| piece).collect())
}

/// What registers hold values of so many bytes. There are none of eight bits.
fn variable_of(bytes: u64) -> VariableData {
    let data_type = DataType::of_bits(8 * bytes.max(2) as u32);
    VariableData {
        data_type: data_type.expect("loads and stores have elements of up to 64 bits"),
        model: None,
    }
}
