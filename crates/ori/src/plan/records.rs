// The plan's records; see `crates/engine/src/snapshot/records.rs`.

abi! {
    /// An instruction of the new body.
    record PlanInstructionRecord = "OrielPlanInstruction", 24 {
        /// See [`PlanAction`].
        0 action: u32,
        /// One-based input instruction.
        4 source: u32,
        /// New instructions: into the plan's opcode names.
        8 opcode: u32,
        12 first_operand: u32,
        /// Further input instructions that this one stands for. Their flags are intersected, memory
        /// operands and locations merged with its own.
        16 first_merged: u32,
        20 reserved: u32,
    }

    /// A block of the new body, in layout order.
    record PlanBlockRecord = "OrielPlanBlock", 16 {
        /// Below the snapshot's block count: that block. From there on: new blocks, each number
        /// once and without gaps.
        0 block: u32,
        /// New blocks: the input block whose IR block and alignment it takes.
        4 origin: u32,
        8 first_instruction: u32,
        12 first_successor: u32,
    }

    /// What an instruction of the new body is made of.
    c_enum PlanAction = "ORIEL_ACTION" {
        /// Input instruction `source` as it is; no operands are given.
        0 Keep,
        /// Input instruction `source` with the operands given here.
        1 Replace,
        /// A copy of input instruction `source`, which also stays available, with the operands
        /// given here.
        2 Clone,
        /// A new instruction by opcode name. With a `source` it takes the place of that input
        /// instruction: its location, memory operands and those flags that hold for both.
        3 New,
    }
}
