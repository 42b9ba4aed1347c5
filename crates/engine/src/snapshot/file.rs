//! Snapshot files: the bug report format, the fuzzers' input and the way to use Oriel's analyses
//! without LLVM.
//!
//! Little-endian. A header, then the arrays one after the other, each starting on a multiple of
//! eight bytes:
//!
//! | offset | size | content |
//! |---|---|---|
//! | 0 | 8 | `ORIELSNP` |
//! | 8 | 4 | version, [`ABI_VERSION`] |
//! | 12 | 4 | CRC-32 of everything from offset 16 on |
//! | 16 | 17 × 4 | number of records of each array, sentinels included |
//! | 84 | 4 | zero |
//! | 88 | 120 | the function record |
//! | 208 | … | the arrays, in the order of `src/ffi/tables.rs`, the string bytes last |

use super::abi::{ABI_VERSION, FunctionRecord};
use super::check::SnapshotError;
use super::owned::OwnedSnapshot;
use super::view::Snapshot;
use crate::file::write_in_one_step;
use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"ORIELSNP";
const ARRAYS: usize = 17;
const COUNTS_AT: usize = 16;
/// A zero word that keeps the arrays on a multiple of eight bytes.
const ZERO_AT: usize = COUNTS_AT + 4 * ARRAYS;
const FUNCTION_AT: usize = ZERO_AT + 4;
const DATA_AT: usize = FUNCTION_AT + size_of::<FunctionRecord>();

/// An error of a snapshot file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read or written. Like the other messages, the system's does not name it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are not a snapshot of this version.
    #[error("not a usable snapshot, at byte {offset}: {problem}")]
    Format {
        /// The offset in the file.
        offset: usize,
        /// The defect.
        problem: String,
    },
    /// The file is well formed, but a record in it is invalid.
    #[error("not a usable snapshot: {0}")]
    Content(#[from] SnapshotError),
}

fn format_error<T>(offset: usize, problem: impl Into<String>) -> Result<T, FileError> {
    Err(FileError::Format {
        offset,
        problem: problem.into(),
    })
}

/// Applies a macro to the names of all arrays but the string bytes, in file order.
macro_rules! for_each_array {
    ($apply:ident) => {
        $apply! {
            blocks edges predecessors instructions operands memory_operands registers chained_operands
            register_classes opcodes constants symbols frame_objects physical_registers
            locations variables
        }
    };
}

impl Snapshot<'_> {
    /// Returns the snapshot as a file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let arrays = self.arrays();
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&ABI_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        macro_rules! counts {
            ($($name:ident)*) => {
                [$( arrays.$name.len(), )* arrays.strings.len()]
            };
        }
        let counts: [usize; ARRAYS] = for_each_array!(counts);
        for count in counts {
            bytes.extend_from_slice(&(count as u32).to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(bytemuck::bytes_of(arrays.function));
        let mut append = |content: &[u8]| {
            bytes.extend_from_slice(content);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        };
        macro_rules! contents {
            ($($name:ident)*) => {
                $( append(bytemuck::cast_slice(arrays.$name)); )*
            };
        }
        for_each_array!(contents);
        append(arrays.strings);
        let checksum = crc32fast::hash(&bytes[COUNTS_AT..]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Writes the snapshot to `path`, [in one step](write_in_one_step).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        Ok(write_in_one_step(path, &self.to_bytes())?)
    }

    /// Returns the usual file name of this snapshot: function and stage, and a checksum of module
    /// and function if the name alone is no valid file name. For a function without a name it is a
    /// checksum of the code, too.
    pub fn file_name(&self) -> String {
        const LONGEST: usize = 80;
        let name = self.name();
        let mut safe: String = name
            .chars()
            .take(LONGEST)
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        if safe != name || safe.is_empty() {
            let mut identity = format!("{}\n{name}", self.module_name()).into_bytes();
            if safe.is_empty() {
                safe = "unnamed".to_owned();
                identity.extend(self.to_bytes());
            }
            safe = format!("{safe}-{:08x}", crc32fast::hash(&identity));
        }
        format!("{safe}.{}.oriel", self.stage().name())
    }
}

/// Copies the next array from `bytes`, which start at `*offset` of the file.
fn take_array<T: bytemuck::Pod>(
    bytes: &[u8],
    offset: &mut usize,
    count: usize,
    name: &str,
) -> Result<Vec<T>, FileError> {
    let start = *offset;
    let size = count.saturating_mul(size_of::<T>());
    let Some(content) = start.checked_add(size).and_then(|end| bytes.get(start..end)) else {
        return format_error(
            start,
            format!("{count} records of the array '{name}' go past the end of the file"),
        );
    };
    *offset = (start + size).next_multiple_of(8);
    Ok(bytemuck::pod_collect_to_vec(content))
}

impl OwnedSnapshot {
    /// Reads a snapshot from a file's bytes and checks it.
    ///
    /// # Errors
    /// The bytes are damaged, of another version, or describe no valid snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        let snapshot = Self::from_bytes_unchecked(bytes)?;
        snapshot.view().check()?;
        Ok(snapshot)
    }

    /// Reads the arrays without checking their content.
    fn from_bytes_unchecked(bytes: &[u8]) -> Result<Self, FileError> {
        if cfg!(target_endian = "big") {
            return format_error(0, "snapshot files can only be read on little-endian machines");
        }
        if bytes.len() < DATA_AT {
            return format_error(
                bytes.len(),
                format!("the file ends before its header does, at {DATA_AT}"),
            );
        }
        if &bytes[..8] != MAGIC {
            return format_error(0, "the file does not start with ORIELSNP");
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if word(8) != ABI_VERSION {
            return format_error(8, format!("version {} is not {ABI_VERSION}", word(8)));
        }
        if word(12) != crc32fast::hash(&bytes[COUNTS_AT..]) {
            return format_error(12, "the checksum does not match; the file is damaged");
        }
        if word(ZERO_AT) != 0 {
            return format_error(ZERO_AT, "this word must be zero");
        }
        let mut snapshot = Self {
            function: bytemuck::pod_read_unaligned(&bytes[FUNCTION_AT..DATA_AT]),
            ..Self::default()
        };
        let mut offset = DATA_AT;
        let mut counts_at = COUNTS_AT;
        macro_rules! take {
            ($($name:ident)*) => {
                $(
                    snapshot.$name =
                        take_array(bytes, &mut offset, word(counts_at) as usize, stringify!($name))?;
                    counts_at += 4;
                )*
            };
        }
        for_each_array!(take);
        snapshot.strings = take_array(bytes, &mut offset, word(counts_at) as usize, "strings")?;
        if offset != bytes.len() {
            return format_error(offset, "the file goes on after its last array");
        }
        if snapshot.blocks.is_empty() || snapshot.instructions.is_empty() {
            return format_error(COUNTS_AT, "the sentinel blocks or instructions are missing");
        }
        Ok(snapshot)
    }

    /// Reads a snapshot from `path` and checks it.
    ///
    /// # Errors
    /// As for [`OwnedSnapshot::from_bytes`], or the file cannot be read.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::from_bytes(&std::fs::read(path)?)
    }
}
