//! Memory at fixed addresses for compiled code.

use std::mem;

use oriel_interpreter::launch::{BUFFER_ALIGNMENT, LaunchDescription};

/// The alignment that `cudaMalloc` guarantees.
#[repr(C, align(256))]
#[derive(Clone)]
struct Chunk([u8; 256]);

const _: () = assert!(mem::align_of::<Chunk>() as u64 == BUFFER_ALIGNMENT);

/// Bytes with a fixed address.
pub(super) struct AlignedBytes {
    chunks: Box<[Chunk]>,
    length: usize,
}

impl AlignedBytes {
    pub(super) fn zeroed(length: usize) -> Self {
        let chunks = vec![Chunk([0; 256]); length.div_ceil(256).max(1)].into_boxed_slice();
        Self { chunks, length }
    }

    pub(super) fn copied(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        for (chunk, bytes) in copy.chunks.iter_mut().zip(bytes.chunks(256)) {
            chunk.0[..bytes.len()].copy_from_slice(bytes);
        }
        copy
    }

    /// Returns the address of the first byte. Compiled code may access the bytes until the next
    /// call of a method of this value.
    pub(super) fn address(&mut self) -> u64 {
        self.chunks.as_mut_ptr().expose_provenance() as u64
    }

    fn to_vec(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.chunks.iter().flat_map(|chunk| chunk.0).collect();
        bytes.truncate(self.length);
        bytes
    }

    /// Zeroes the first bytes, up to a multiple of 256.
    pub(super) fn clear(&mut self, length: usize) {
        self.chunks[..length.div_ceil(256)].fill(Chunk([0; 256]));
    }
}

/// The buffers of a launch description, in this process.
pub struct HostMemory {
    buffers: Vec<AlignedBytes>,
}

impl HostMemory {
    /// Creates all buffers with their initial contents, each at a multiple of [`BUFFER_ALIGNMENT`].
    pub fn new(description: &LaunchDescription) -> Self {
        let buffers = description.buffers().iter();
        Self {
            buffers: buffers
                .map(|buffer| AlignedBytes::copied(&buffer.initial_bytes()))
                .collect(),
        }
    }

    /// Returns the address of each buffer's first byte, by number.
    pub(super) fn addresses(&mut self) -> Vec<u64> {
        self.buffers.iter_mut().map(AlignedBytes::address).collect()
    }

    /// Returns the contents of the buffers, in the order of the description.
    pub fn into_contents(self) -> Vec<Vec<u8>> {
        self.buffers.iter().map(AlignedBytes::to_vec).collect()
    }
}
