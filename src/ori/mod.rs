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
//! | `operand.rs` | operands as packed words |
//! | `machine/` | from the machine function and back |

mod edit;
mod function;
pub mod machine;
mod modifiers;
mod operand;
mod operation;
mod types;

pub use edit::{InstructionBuilder, Position};
pub use function::{
    AccessId, Constant, Function, FunctionInfo, Instruction, InstructionFlags, Instructions, MachineOpcode,
    MemoryAccess, OperandIter, Operands, References, RegisterData, RegisterFile, Special, StackObject,
};
pub use modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
pub use operand::{ConstantId, Operand, OperandKind, SpecialId};
pub use operation::{ModifierKinds, Operation, OperationFlags, OperationProperties};
pub use types::{DataType, TypeClass};
