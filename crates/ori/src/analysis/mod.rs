//! Analyses on top of liveness: interference, last uses, spill costs, and the order of
//! instructions.
//!
//! ```text
//! ori::Liveness ─▶ block walk ─┬▶ interference     ─▶ register assignment
//!  (block borders)             ├▶ last uses        ─▶ scheduler, register pressure
//!                              ├▶ pressure map     ─▶ phases that let values live longer
//!                              ├▶ spill costs      ─▶ spilling
//!                              └▶ uninitialized    ─▶ warning
//!                  dependencies ───────────────────▶ scheduler
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `walk.rs` | a block from its end to its start, with what is live at each instruction |
//! | `interference.rs` | which registers are live at once: a question, and a graph |
//! | `last_uses.rs` | which operand is the last to use a value |
//! | `range_extension.rs` | what it costs to keep a register live further |
//! | `spill.rs` | what it costs to keep a register in memory, and where to store and load it |
//! | `dependencies.rs` | which instructions of a block have to stay in order |
//! | `uninitialized.rs` | registers that may be read before they are written |

mod dependencies;
mod interference;
mod last_uses;
mod range_extension;
mod spill;
mod uninitialized;
mod walk;

pub use dependencies::{DependencyGraph, DependencyKind, DependencyNode};
pub use interference::{InterferenceGraph, InterferenceTest};
pub use last_uses::LastUses;
pub use range_extension::{PressureMap, RangeExtension};
pub use spill::{BlockWeights, ReloadCandidate, SpillCost, reload_candidates, spill_costs};
pub use uninitialized::uninitialized_registers;
pub use walk::BlockWalk;
