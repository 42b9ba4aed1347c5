//! Plans that no phase makes: edits of a function in text form, and deliberate damage.
//!
//! | file | subject |
//! |---|---|
//! | `editor.rs` | builds a plan from edits of the input |
//! | `control_flow.rs` | edits of blocks and branches |
//! | `script.rs` | edit scripts, for tests and experiments |
//! | `fault.rs` | damaged plans |

mod control_flow;
mod editor;
pub mod fault;
pub mod script;
#[cfg(test)]
mod tests;

pub use editor::{EditError, EditedInstruction, Editor, InsertionPoint, NewInstruction, Operand};
