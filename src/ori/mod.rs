//! Ori: the form of a function that the phases work on.
//!
//! ```text
//! Snapshot ─▶ Function ─▶ phases ─▶ Function ─▶ Plan
//!        from_machine                    to_machine
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `function.rs`, `edit.rs` | blocks, instructions, operands, registers: questions and changes |
//! | `operation.rs`, `types.rs`, `modifiers.rs` | what an instruction can be: the one table of operations |
//! | `builder.rs` | instructions one after the other |
//! | `operand.rs` | operands as packed words |
//! | `print.rs`, `parse/`, `lexer.rs`, `suffix.rs` | the text form: `docs/ori-text.md` |
//! | `signature.rs`, `verify/` | types of operands; the verifier |
//! | `machine/` | from the machine function and back |

mod builder;
mod edit;
mod function;
mod lexer;
pub mod machine;
mod modifiers;
mod operand;
mod operation;
mod parse;
mod print;
#[cfg(test)]
pub(crate) mod random_function;
mod signature;
mod suffix;
#[cfg(test)]
pub(crate) mod testing;
mod types;
mod verify;

pub use builder::{Builder, ToOperand};
pub use edit::{InstructionBuilder, Position};
pub use function::{
    AccessId, Constant, Function, FunctionInfo, Instruction, InstructionFlags, Instructions, MachineOpcode,
    MemoryAccess, OperandIter, Operands, References, RegisterData, RegisterFile, Special, StackObject,
};
pub use lexer::{ParseError, Place};
pub use modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
pub use operand::{ConstantId, Operand, OperandKind, SpecialId};
pub use operation::{ModifierKinds, Operation, OperationFlags, OperationProperties};
pub use parse::{parse_function, parse_functions};
pub use print::{FunctionText, InstructionText, PrintOptions};
pub use signature::{Expected, Role};
pub use types::{DataType, TypeClass};
pub use verify::{Finding, FindingKind};
