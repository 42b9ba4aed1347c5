//! The hash table from LLVM's opcode names to mappings: the build fills it, the library searches
//! it. Open addressing with linear probing.

/// The content of an empty slot.
pub const NO_MAPPING: u16 = u16::MAX;

/// Returns the slots in which a name may be, in probing order. `slot_count` is a power of two.
pub fn slots_of(name: &str, slot_count: usize) -> impl Iterator<Item = usize> + use<> {
    let first = hash(name.as_bytes());
    (0..slot_count).map(move |step| (first + step) & (slot_count - 1))
}

/// A multiplicative hash of eight bytes at a time. Opcode names differ in few bytes, so every step
/// mixes high bits into low ones.
fn hash(bytes: &[u8]) -> usize {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
        hash ^= hash >> 32;
    }
    hash as usize
}
