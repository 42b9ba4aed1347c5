//! Evaluates Ori's operations on known values, bit for bit as the hardware does.
//!
//! Constant folding calls [`TypedOperation::evaluate`]. The interpreter applies the same functions
//! to whole rows of registers, one lane each.
//!
//! ```
//! use oriel_arithmetic::TypedOperation;
//! use oriel_ori::{DataType, Modifiers, Operation};
//!
//! let add = TypedOperation {
//!     operation: Operation::Iadd,
//!     data_type: DataType::B16,
//!     source_type: DataType::None,
//!     modifiers: Modifiers::default(),
//! };
//! assert_eq!(add.evaluate(&[0xFFFF, 2], 16), Some(1));
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `evaluate.rs` | one operation on known values |
//! | `selection.rs` | selection of the function for a form of an operation |
//! | `lanes.rs` | rows of registers, loops over lanes |
//! | `integer.rs`, `bits.rs`, `float.rs`, `soft_float.rs`, `convert.rs`, `approximate.rs`, `spaces.rs` | the functions |

pub mod approximate;
pub mod bits;
pub mod convert;
mod evaluate;
pub mod float;
pub mod integer;
pub mod lanes;
pub mod selection;
pub mod soft_float;
pub mod spaces;

pub use evaluate::{TypedOperation, low_bits};
