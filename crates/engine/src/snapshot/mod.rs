//! The exported machine function: LLVM's data as flat arrays.
//!
//! [`Snapshot`] borrows the arrays, from LLVM for the duration of a call or from an
//! [`OwnedSnapshot`] that was read from a file or built by a test. It is the whole input of the
//! live-range engine and of Ori.
//!
//! | file | subject |
//! |---|---|
//! | `abi.rs`, `records.rs` | the records and their layout |
//! | `view.rs` | typed access |
//! | `register_operands.rs` | accesses to virtual registers, as a list |
//! | `check.rs` | well-formedness |
//! | `owned.rs` | a snapshot that owns its arrays |
//! | `file.rs` | saving and loading |
//! | `text.rs` | printed text |
//! | `mutate.rs` | random damage, for tests |
//! | `sample.rs`, `tests.rs` | a function built by hand, and the unit tests |

pub mod abi;
mod check;
mod file;
mod mutate;
mod owned;
mod register_operands;
pub mod sample;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub use check::SnapshotError;
pub use file::FileError;
pub use mutate::{damaged, try_to_use};
pub use owned::OwnedSnapshot;
pub use view::{InstructionRef, OperandRef, Snapshot, SnapshotArrays};
