//! Analyses on top of liveness: spill costs, room for longer live ranges, and the order of instructions.
//! [`Liveness`](crate::Liveness) itself tells whether two registers interfere, and which use is the last.
//!
//! | file | subject |
//! |---|---|
//! | `range_extension.rs` | the pressure of a longer live range |
//! | `spill.rs` | spill costs, and where to store and load |
//! | `dependencies.rs` | the order constraints between instructions of a block |
//! | `uninitialized.rs` | registers that may be read before they are written |
//! | `undefined_values.rs` | reads of values that nothing has computed |
//! | `asynchronous_registers.rs` | instructions that still use their registers while later ones run |
//! | `frame_addresses.rs` | where the code takes the address of a stack object |

mod asynchronous_registers;
mod dependencies;
mod frame_addresses;
mod range_extension;
mod spill;
mod undefined_values;
mod uninitialized;

pub use asynchronous_registers::{AsynchronousUses, asynchronous_register_user, asynchronous_registers};
pub use dependencies::{DependencyGraph, DependencyKind, DependencyNode};
pub use frame_addresses::{FrameAddress, frame_addresses};
pub use range_extension::{PressureMap, RangeExtension};
pub use spill::{BlockWeights, ReloadCandidate, SpillCost, reload_candidates, spill_costs};
pub use undefined_values::{
    is_undefined_source, undefined_registers, undefined_value_read, undefined_value_readers,
};
pub use uninitialized::uninitialized_registers;
