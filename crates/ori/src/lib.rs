//! Ori: the intermediate representation of the phases.
//!
//! ```text
//! Snapshot ─▶ Function ─▶ phases ─▶ Function ─▶ Plan
//!        from_machine                    to_machine
//! ```
//!
//! ```
//! use oriel_ori::parse_function;
//!
//! let text = "kernel \"k\" sm_80 ssa {
//! bix0:
//!     %1:R32 = S2R.b32 tid.x
//!     %2:R32 = IADD.b32 %1, 0
//!     ST.global.b32.b32 %2, [64]
//!     RET
//! }
//! ";
//! let function = parse_function(text)?;
//! assert_eq!(function.verify(), []);
//! assert_eq!(parse_function(&function.to_string())?.to_string(), function.to_string());
//! # Ok::<(), oriel_ori::ParseError>(())
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `function/`, `edit.rs`, `edit/` | blocks, instructions, operands, registers: queries and changes |
//! | `block_edit.rs` | changes to blocks and edges |
//! | `trial.rs` | changes that can be undone |
//! | `control_flow.rs` | orders, dominators, loops; their dumps |
//! | `liveness.rs` | live intervals of registers, kept up to date after edits |
//! | `register_sets.rs`, `pressure.rs` | the live registers of all files at a point; the number of live registers at every point |
//! | `divergence.rs` | values that are equal in all lanes of a warp |
//! | `effects.rs` | memory that instructions read and write, and effects whose order matters |
//! | `inline_assembly.rs` | groups of operands of inline assembly; early-clobber results, tied sources |
//! | `memory_versions.rs` | the writes that a read may see |
//! | `operation.rs`, `types.rs`, `modifiers.rs` | the table of operations |
//! | `operand.rs` | operands as packed words |
//! | `print.rs`, `parse/`, `lexer.rs`, `suffix.rs` | the text form: `docs/ori-text.md` |
//! | `ssa_construction.rs` | SSA form for variables with several definitions |
//! | `constraints.rs`, `verify/` | types of operands; the verifier |
//! | `analysis/` | room for longer live ranges, dependencies, spill costs |
//! | `machine/`, `plan/` | conversion from the machine function and back |

pub mod analysis;
mod block_edit;
mod constraints;
mod control_flow;
mod divergence;
mod edit;
mod effects;
mod function;
#[cfg(any(test, feature = "testing"))]
pub mod graph_function;
mod inline_assembly;
mod lexer;
mod liveness;
pub mod machine;
mod memory_versions;
mod modifiers;
mod operand;
mod operation;
mod parse;
pub mod plan;
mod pressure;
mod print;
#[cfg(any(test, feature = "testing"))]
pub mod random_function;
mod register_sets;
mod ssa_construction;
mod suffix;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trial;
mod types;
mod verify;

pub use block_edit::ControlFlowError;
pub use control_flow::ControlFlow;
pub use divergence::Divergence;
pub use edit::{InstructionBuilder, Position};
pub use effects::{MemoryKinds, MemoryRule, memory_kinds, unknown_effects};
pub use function::{
    AccessId, Constant, Function, FunctionInfo, Instruction, InstructionFlags, Instructions, MachineOpcode,
    MemoryAccess, OperandIter, Operands, References, RegisterData, RegisterFile, Special, StackObject,
};
pub use inline_assembly::{AssemblyGroup, AssemblyGroupKind};
pub use lexer::{ParseError, TextPosition};

pub use constraints::{Expected, Role};
pub use liveness::{Liveness, each_boundary_use};
pub use memory_versions::{MemoryVersion, MemoryVersions};
pub use modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
pub use operand::{ConstantId, Operand, OperandKind, SpecialId};
pub use operation::{ModifierKinds, Operation, OperationFlags, OperationProperties};
pub use parse::{parse_function, parse_functions};
pub(crate) use pressure::each_pressure;
pub use pressure::{RegisterPressure, each_count, peaks_of_blocks};
pub use print::{FunctionText, InstructionText, PrintOptions};
pub use register_sets::{Point, RegisterSets, Units, each_point, units_of};
pub use ssa_construction::{JoinPlacer, Joins, SsaConstruction, Values, Variable, VariableData};
pub use trial::Trial;
pub use types::{DataType, TypeClass};
pub use verify::{Finding, FindingKind};
