//! Deliberately damaged snapshot files, for the fuzz target and the tests that run it.

use super::file::FileError;
use super::owned::OwnedSnapshot;
use oriel_random::{Random, Stream};

/// Returns a damaged copy of a snapshot file's `bytes`, the same for the same `seed`.
///
/// Half of the copies get a correct checksum again, so that the later checks are tested too.
pub fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed, Stream::SnapshotDamage);
    let mut bytes = bytes.to_vec();
    for _ in 0..random.between(1, 8) {
        damage_once(&mut bytes, &mut random);
    }
    if random.coin() && bytes.len() > 16 {
        let checksum = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

fn damage_once(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.index(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.word() as u8,
        // Whole words: counts, indices and ranges near their limits.
        2 | 3 => {
            let at = at & !3;
            let values = [
                0,
                1,
                2,
                0x7FFF_FFFF,
                0x8000_0000,
                u32::MAX,
                random.below(64) as u32,
                random.word(),
            ];
            let value = random.pick(&values);
            if let Some(word) = bytes.get_mut(at..at + 4) {
                word.copy_from_slice(&value.to_le_bytes());
            }
        }
        4 => bytes.truncate(at),
        _ => {
            let end = (at + random.between(1, 16)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let to = random.index(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
    }
}

/// Loads `bytes` as a user would and, if they are accepted, uses them.
///
/// # Errors
/// The file is refused.
pub fn try_to_use(bytes: &[u8]) -> Result<OwnedSnapshot, FileError> {
    let snapshot = OwnedSnapshot::from_bytes(bytes)?;
    let view = snapshot.view();
    // Printing touches every record through the accessors.
    let text = view.to_string();
    assert!(text.contains(" {"), "a printed snapshot has a body");
    assert_eq!(
        view.to_bytes().len(),
        bytes.len(),
        "what is accepted is written back the same"
    );
    Ok(snapshot)
}
