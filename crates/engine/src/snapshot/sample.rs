//! A small function built by hand, for unit tests.

use super::abi::{
    ABI_VERSION, BlockRecord, EdgeRecord, FunctionFlags, FunctionRecord, InstructionRecord, OpcodeFlags,
    OpcodeRecord, OperandFlags, OperandKind, OperandRecord, PROBABILITY_DENOMINATOR, RegisterClassRecord,
    RegisterFile, RegisterRecord, Stage,
};
use super::owned::OwnedSnapshot;

/// Register class numbers of [`counting_loop`].
pub const B1: u16 = 0;
/// See [`B1`].
pub const B32: u16 = 1;

fn register(index: u32, flags: OperandFlags) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Register as u8,
        flags: flags.bits(),
        index,
        ..OperandRecord::default()
    }
}

fn definition(index: u32) -> OperandRecord {
    register(index, OperandFlags::DEF)
}

fn used(index: u32) -> OperandRecord {
    register(index, OperandFlags::empty())
}

fn immediate(value: i64) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Immediate as u8,
        value,
        ..OperandRecord::default()
    }
}

fn block(index: u32) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Block as u8,
        index,
        ..OperandRecord::default()
    }
}

/// Returns a loop that counts to ten:
///
/// ```text
/// bb.0: -> bb.1
///   @0 %0:b32 = MOV_B32_i 0
/// bb.1: -> bb.1, bb.2
///   @1 %1:b32 = PHI %0, %bb.0, %2, %bb.1
///   @2 %2:b32 = ADD32ri %1, 1
///   @3 %3:b1 = SETP_i32ri %2, 10, 2
///   @4 CBranch %3, %bb.1
///   @5 GOTO %bb.2
/// bb.2:
///   @6 Return
/// ```
pub fn counting_loop() -> OwnedSnapshot {
    let mut snapshot = OwnedSnapshot::default();
    let name = snapshot.add_string("count");
    let module = snapshot.add_string("sample.ll");
    snapshot.function = FunctionRecord {
        name,
        module,
        abi_version: ABI_VERSION,
        stage: Stage::Ssa as u32,
        flags: (FunctionFlags::KERNEL | FunctionFlags::SSA).bits(),
        sm: 80,
        ..FunctionRecord::default()
    };
    for (name, bits, file) in [
        ("B1", 1, RegisterFile::Predicate),
        ("B32", 32, RegisterFile::General),
    ] {
        let name = snapshot.add_string(name);
        snapshot.register_classes.push(RegisterClassRecord {
            name,
            bits,
            file: file as u32,
        });
    }
    for register_class in [B32, B32, B32, B1] {
        snapshot.registers.push(RegisterRecord {
            register_class,
            flags: 0,
        });
    }
    let branch = OpcodeFlags::TERMINATOR | OpcodeFlags::BRANCH;
    for (name, flags) in [
        ("MOV_B32_i", OpcodeFlags::empty()),
        ("PHI", OpcodeFlags::PHI | OpcodeFlags::VARIADIC),
        ("ADD32ri", OpcodeFlags::empty()),
        ("SETP_i32ri", OpcodeFlags::empty()),
        ("CBranch", branch),
        ("GOTO", branch | OpcodeFlags::BARRIER),
        (
            "Return",
            OpcodeFlags::TERMINATOR | OpcodeFlags::RETURN | OpcodeFlags::BARRIER,
        ),
    ] {
        let name = snapshot.add_string(name);
        snapshot.opcodes.push(OpcodeRecord {
            name,
            flags: flags.bits(),
            ..OpcodeRecord::default()
        });
    }
    let body: [&[OperandRecord]; 7] = [
        &[definition(0), immediate(0)],
        &[definition(1), used(0), block(0), used(2), block(1)],
        &[definition(2), used(1), immediate(1)],
        &[definition(3), used(2), immediate(10), immediate(2)],
        &[used(3), block(1)],
        &[block(2)],
        &[],
    ];
    for (opcode, operands) in body.iter().enumerate() {
        snapshot.instructions.push(InstructionRecord {
            opcode: opcode as u32,
            first_operand: snapshot.operands.len() as u32,
            ..InstructionRecord::default()
        });
        snapshot.operands.extend_from_slice(operands);
    }
    snapshot.instructions.push(InstructionRecord {
        first_operand: snapshot.operands.len() as u32,
        ..InstructionRecord::default()
    });
    for (block, first_instruction, first_successor) in [(0, 0, 0), (1, 1, 1), (2, 6, 3), (0, 7, 3)] {
        snapshot.blocks.push(BlockRecord {
            first_instruction,
            first_successor,
            number: block,
            ..BlockRecord::default()
        });
    }
    for (block, probability) in [
        (1, PROBABILITY_DENOMINATOR),
        (1, PROBABILITY_DENOMINATOR / 2),
        (2, PROBABILITY_DENOMINATOR / 2),
    ] {
        snapshot.edges.push(EdgeRecord { block, probability });
    }
    snapshot.list_predecessors();
    snapshot
}
