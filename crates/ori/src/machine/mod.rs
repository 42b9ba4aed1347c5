//! Conversion from the machine function to Ori and back.
//!
//! | file | subject |
//! |---|---|
//! | `name_hash.rs` | the hash table from opcode names to mappings |
//! | `operand_class.rs` | the role of machine operands in Ori; LLVM's numbers of modifiers |
//! | `opcode_mapping.rs` | the table from LLVM's opcodes to Ori, used in both directions |
//! | `patterns/` | its rows, by subject, from which the build generates the table |
//! | `from_machine.rs` | snapshot to Ori: tables, blocks; beside it the opcodes, instructions and ends of blocks |
//! | `to_machine.rs` | Ori to a plan: blocks, branches, edges |
//! | `exporter.rs` | the plan while it is written: instructions and numbers |
//! | `fit.rs` | the opcodes that can implement an instruction |
//! | `lower.rs` | Ori to a plan: one instruction |

mod exporter;
mod fit;
mod from_machine;
mod lower;
mod name_hash;
mod opcode_mapping;
mod operand_class;
mod to_machine;

pub use exporter::ExportError;
pub use fit::{has_machine_opcode, takes_directly};
pub use from_machine::{ImportError, from_machine};
pub use opcode_mapping::{OpcodeMapping, all_mappings, mapping_named};
pub use operand_class::{Description, Encoding, OperandClass};
pub use to_machine::to_machine;
