//! The parts of an object with values of their own.
//!
//! Bytes that are always accessed together are one piece. If a wide access covers several narrow
//! ones (a structure copied eight bytes at a time, with members read four bytes at a time), the
//! narrow ones are the pieces, provided that the wide one consists of two or four of one size:
//! registers can be packed from, and unpacked into, such parts.

use super::frame_objects::{Access, Use};
use oriel_ori::{DataType, Function, Instruction, VariableData};
use std::collections::BTreeSet;

/// A part of an object: every access to one of its bytes accesses all of it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes from the start of the object.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The registers that hold its values. Those of a byte are wider, and the upper bits do not
    /// matter.
    pub variable: VariableData,
    /// The number of load elements that read it.
    pub loads: u32,
}

/// Why an object has no pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPieces {
    /// This access partially overlaps another, and they do not consist of the same pieces.
    Overlap(Instruction),
    /// There are more than [`MOST_PIECES`].
    TooMany,
}

/// The most pieces of an object.
pub(super) const MOST_PIECES: usize = 256;

/// Returns the pieces of an object without obstacles, by offset.
///
/// # Errors
/// Two accesses overlap in a way that is not supported, or there are too many pieces.
pub fn find_pieces(function: &Function, object: &Use) -> Result<Vec<Piece>, NoPieces> {
    let cuts = find_cuts(function, object)?;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut covered = BTreeSet::new();
    for access in &object.accesses {
        let bytes = access.element_bytes(function);
        for start in access.offsets(function) {
            covered.extend(cuts.range(start..start + bytes));
        }
    }
    for &offset in &covered {
        let end = cuts
            .range(offset + 1..)
            .next()
            .expect("the end of an access is a cut");
        pieces.push(Piece {
            offset,
            bytes: end - offset,
            variable: variable_of(end - offset),
            loads: 0,
        });
    }
    if pieces.len() > MOST_PIECES {
        return Err(NoPieces::TooMany);
    }
    for access in &object.accesses {
        note_access(function, access, &mut pieces);
    }
    Ok(pieces)
}

/// Returns the boundaries of pieces.
fn find_cuts(function: &Function, object: &Use) -> Result<BTreeSet<u64>, NoPieces> {
    let mut cuts = BTreeSet::new();
    for access in &object.accesses {
        for start in access.offsets(function) {
            cuts.extend([start, start + access.element_bytes(function)]);
        }
    }
    // Every round except the last adds a boundary. Between any two is a piece or a gap, and after
    // every gap a piece.
    loop {
        let before = cuts.len();
        if before > 2 * MOST_PIECES + 1 {
            return Err(NoPieces::TooMany);
        }
        for access in &object.accesses {
            cut_evenly(function, access, &mut cuts)?;
        }
        if cuts.len() == before {
            return Ok(cuts);
        }
    }
}

/// Cuts the parts of each element of an access to the size of the smallest.
fn cut_evenly(function: &Function, access: &Access, cuts: &mut BTreeSet<u64>) -> Result<(), NoPieces> {
    let bytes = access.element_bytes(function);
    for start in access.offsets(function) {
        let end = start + bytes;
        let inner: Vec<u64> = cuts.range(start..=end).copied().collect();
        let sizes = inner.windows(2).map(|pair| pair[1] - pair[0]);
        let smallest = sizes.min().expect("an element has two ends");
        if smallest == bytes {
            continue;
        }
        let fills_register = 8 * bytes == u64::from(function.data_type(access.instruction).bits());
        let is_even = inner.iter().all(|cut| (cut - start).is_multiple_of(smallest));
        if smallest < 2 || !matches!(bytes / smallest, 2 | 4) || !is_even || !fills_register {
            return Err(NoPieces::Overlap(access.instruction));
        }
        cuts.extend((start..end).step_by(smallest as usize));
    }
    Ok(())
}

/// Returns the numbers of the pieces that an element consists of.
pub fn pieces_of(pieces: &[Piece], offset: u64, bytes: u64) -> std::ops::Range<usize> {
    let first = pieces.partition_point(|piece| piece.offset < offset);
    let end = pieces.partition_point(|piece| piece.offset < offset + bytes);
    first..end
}

/// Counts loads, and records the registers that hold pieces.
fn note_access(function: &Function, access: &Access, pieces: &mut [Piece]) {
    let bytes = access.element_bytes(function);
    let values = access.values(function);
    for (start, value) in access.offsets(function).zip(values) {
        let parts = pieces_of(pieces, start, bytes);
        for piece in &mut pieces[parts] {
            piece.loads += u32::from(!access.is_store(function));
            let wanted = piece.variable.data_type.bits();
            let register = value
                .as_register()
                .filter(|&register| u32::from(function.register(register).bits) == wanted);
            piece.variable.model = piece.variable.model.or(register);
        }
    }
}

/// Returns the variable for values of this many bytes. There are no registers of eight bits.
fn variable_of(bytes: u64) -> VariableData {
    let data_type = DataType::of_bits(8 * bytes.max(2) as u32);
    VariableData {
        data_type: data_type.expect("loads and stores have elements of up to 64 bits"),
        model: None,
    }
}
