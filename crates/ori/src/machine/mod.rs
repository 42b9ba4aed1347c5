//! From the machine function to Ori and back.
//!
//! | file | subject |
//! |---|---|
//! | `place.rs` | what the operands of a machine instruction are for Ori; LLVM's numbers of modifiers |
//! | `forms.rs` | the table from LLVM's opcodes to Ori, used in both directions |
//! | `name_hash.rs` | how a form is found by the name of its opcode |
//! | `patterns/` | its rows, by subject; the build makes the table of them |
//! | `from_machine.rs` | snapshot to Ori |
//! | `to_machine.rs` | Ori to a plan: blocks, branches, edges, numbers |
//! | `fit.rs` | which opcodes can do an instruction |
//! | `lower.rs` | Ori to a plan: one instruction |

mod fit;
mod forms;
mod from_machine;
mod lower;
mod name_hash;
mod place;
mod to_machine;

pub use fit::{has_form, takes_directly};
pub use forms::{Form, all_forms, form_named, forms_of};
pub use from_machine::{ImportError, from_machine};
pub use place::{Description, Encoding, Place};
pub use to_machine::{ExportError, to_machine};
