//! The plan's records, as `cpp-shim/oriel_abi.h` declares them.

use bytemuck::{Pod, Zeroable};
use oriel_engine::snapshot::abi::{c_enum, records};

records! {
    /// An instruction of the new body.
    PlanInstructionRecord: 24 {
        /// See [`PlanAction`].
        0 action: u32,
        /// One-based input instruction.
        4 source: u32,
        /// New instructions: into the plan's opcode names.
        8 opcode: u32,
        12 first_operand: u32,
        16 first_merged: u32,
        20 reserved: u32,
    }

    /// A block of the new body.
    PlanBlockRecord: 16 {
        /// The input's block, or from the input's block count on a new one.
        0 block: u32,
        /// New blocks: the input block whose IR block and alignment it takes.
        4 origin: u32,
        8 first_instruction: u32,
        12 first_successor: u32,
    }
}

c_enum! {
    /// What an instruction of the new body is made of.
    PlanAction {
        /// An input instruction as it is.
        Keep = 0,
        /// An input instruction with other operands.
        Replace = 1,
        /// A copy of an input instruction with other operands.
        Clone = 2,
        /// A new instruction by opcode name.
        New = 3,
    }
}
