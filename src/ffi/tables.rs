// The arrays of a snapshot and of a plan, and numbers of the shim's interface; see
// `crates/engine/src/snapshot/records.rs`.

abi! {
    /// One machine function.
    table OrielSnapshot = "OrielSnapshot", 336 {
        0 function: FunctionRecord,
        /// With a sentinel past its count.
        120 blocks: *const BlockRecord,
        128 edges: *const EdgeRecord,
        /// The source block of every edge, grouped by target block, each group in the order of
        /// LLVM's list: the order in which LLVM searches and numbers values. As many as there are
        /// edges.
        136 predecessors: *const u32,
        /// With a sentinel past its count.
        144 instructions: *const InstructionRecord,
        152 operands: *const OperandRecord,
        /// Not in files: they follow from the operands.
        160 register_operands: *const RegisterOperandRecord,
        168 memory_operands: *const MemoryOperandRecord,
        176 registers: *const RegisterRecord,
        /// Grouped by register, in ascending order.
        184 chained_operands: *const ChainedOperandRecord,
        192 register_classes: *const RegisterClassRecord,
        200 opcodes: *const OpcodeRecord,
        208 constants: *const ConstantRecord,
        216 symbols: *const SymbolRecord,
        224 frame_objects: *const FrameObjectRecord,
        232 physical_registers: *const PhysicalRegisterRecord,
        240 locations: *const LocationRecord,
        248 variables: *const VariableRecord,
        256 strings: *const u8,
        264 block_count: u32,
        268 edge_count: u32,
        272 instruction_count: u32,
        276 operand_count: u32,
        280 register_operand_count: u32,
        284 memory_operand_count: u32,
        288 register_count: u32,
        292 chained_operand_count: u32,
        296 register_class_count: u32,
        300 opcode_count: u32,
        304 constant_count: u32,
        308 symbol_count: u32,
        312 frame_object_count: u32,
        316 physical_register_count: u32,
        320 location_count: u32,
        324 variable_count: u32,
        328 string_bytes: u32,
        332 reserved: u32,
    }

    /// The new body of one function. Block and register numbers continue the snapshot's. An input
    /// instruction that no [`PlanAction::Keep`], [`PlanAction::Replace`] or [`PlanAction::New`]
    /// names is deleted.
    table OrielPlan = "OrielPlan", 128 {
        /// With a sentinel past its count.
        0 blocks: *const PlanBlockRecord,
        8 successors: *const EdgeRecord,
        /// With a sentinel past its count.
        16 instructions: *const PlanInstructionRecord,
        24 operands: *const OperandRecord,
        /// Input instructions.
        32 merged: *const u32,
        /// Register class of each, an index.
        40 new_registers: *const u32,
        /// Opcode names of NEW instructions: LLVM's, or as in [`OpcodeRecord::mnemonic`].
        48 opcode_names: *const StringRecord,
        /// Numbers that the snapshot does not have; their indices continue the snapshot's.
        56 constants: *const ConstantRecord,
        /// Rows of the frame object table to remove since nothing uses them any more: each once, in
        /// ascending order, and no fixed object.
        64 removed_frame_objects: *const u32,
        72 strings: *const u8,
        80 block_count: u32,
        84 successor_count: u32,
        88 instruction_count: u32,
        92 operand_count: u32,
        96 merged_count: u32,
        100 new_register_count: u32,
        104 opcode_name_count: u32,
        108 string_bytes: u32,
        /// [`ABI_VERSION`].
        112 abi_version: u32,
        116 constant_count: u32,
        120 removed_frame_object_count: u32,
        124 reserved: u32,
    }

    constants HostNumbers = "ORIEL", u32 {
        /// No instruction, or none of another kind.
        0xFFFF_FFFF NONE,
    }

    /// What Oriel does with functions.
    numbers Mode = "ORIEL_MODE" {
        0 Off,
        1 Analyze,
        2 Optimize,
    }

    /// The loops in which LLVM reduces the strength of operations.
    numbers StrengthReduction = "ORIEL_STRENGTH_REDUCTION" {
        0 Everywhere,
        1 UnlessCostly,
        2 Nowhere,
    }

    /// How much of a function the library has to see.
    numbers Scope = "ORIEL_SCOPE" {
        /// Nothing: the function stays as it is.
        0 Nothing,
        /// Its live ranges, which decide whether the whole function is needed: oriel_leaves_alone.
        1 Pressure,
        /// All of it: oriel_run_begin.
        2 Whole,
        /// The data that its size depends on: oriel_run_begin.
        3 Size,
    }

    /// The kind of a remark on a phase's work.
    numbers RemarkKind = "ORIEL_REMARK" {
        0 Passed,
        1 Missed,
        2 Analysis,
    }

    /// The outcome of a plan.
    numbers PlanResult = "ORIEL_RESULT" {
        /// There was none.
        0 Unchanged,
        /// The function was rebuilt exactly as it was.
        1 Identity,
        /// It was applied.
        2 Changed,
        /// The function is left as LLVM made it; see the problem.
        3 Failed,
    }
}
