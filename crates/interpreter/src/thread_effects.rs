//! Hashes of the threads' observable events; `uninterpreted.rs` explains their purpose.

use oriel_arithmetic::lanes::LANES;

/// The observable events of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadEffects {
    pub trace: u64,
    pub epoch: u64,
    pub changes: u64,
}

/// The states of the threads of a warp.
pub(super) type WarpEffects = [ThreadEffects; LANES];

/// A hash of two words, in this order (SplitMix64).
pub(super) const fn mix(hash: u64, value: u64) -> u64 {
    let mut word = hash
        .rotate_left(23)
        .wrapping_add(value)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(0xD1B5_4A32_D192_ED03);
    word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// A hash of a text.
pub(super) fn mix_text(hash: u64, text: &str) -> u64 {
    let hash = mix(hash, text.len() as u64);
    text.bytes().fold(hash, |hash, byte| mix(hash, u64::from(byte)))
}

impl ThreadEffects {
    /// Records an event that is ordered with all other events.
    pub fn note(&mut self, event: u64) {
        self.trace = mix(self.trace, event);
    }

    /// Returns the bits of a byte that are flipped for the thread. Addresses are generic.
    pub fn glasses(self, address: u64) -> u8 {
        if self.epoch == 0 || !address.is_multiple_of(4) {
            return 0;
        }
        ((mix(self.epoch, address) & 7) << 4) as u8
    }

    pub fn look<const N: usize>(self, address: u64, mut bytes: [u8; N]) -> [u8; N] {
        for (offset, byte) in bytes.iter_mut().enumerate() {
            *byte ^= self.glasses(address.wrapping_add(offset as u64));
        }
        bytes
    }

    pub fn change<const N: usize>(&mut self, address: u64, before: [u8; N], after: [u8; N]) {
        for (offset, (before, after)) in before.into_iter().zip(after).enumerate() {
            if before != after {
                let place = mix(1, address.wrapping_add(offset as u64));
                self.changes ^= mix(place, u64::from(before)) ^ mix(place, u64::from(after));
            }
        }
    }
}
