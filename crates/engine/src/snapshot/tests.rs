//! Tests files and checks: valid snapshots round-trip, damaged ones are refused.

use super::abi::{OperandFlags, OperandKind, RegisterFlags, SymbolRecord};
use super::sample::counting_loop;
use super::{OwnedSnapshot, damaged, try_to_use};

#[test]
fn a_sound_snapshot_passes_and_prints() {
    let snapshot = counting_loop();
    snapshot.view().check().unwrap();
    let text = snapshot.view().to_string();
    assert!(
        text.starts_with("kernel count stage ssa sm_80 ptx0 {\n"),
        "{text}"
    );
    assert!(text.contains("bb.1: -> bb.1 (50.0%), bb.2 (50.0%)\n"), "{text}");
    assert!(text.contains("  ; predecessors: bb.0, bb.1\n"), "{text}");
    assert!(
        text.contains("  @1 %1:b32 = PHI %0, %bb.0, %2, %bb.1\n"),
        "{text}"
    );
}

#[test]
fn inline_assembly_of_several_lines_is_printed_on_one() {
    let mut snapshot = counting_loop();
    let name = snapshot.add_string("mov.u32 $0, 0;\n\t@$1 ld.global.b32 {$0}, [$2];");
    snapshot.symbols.push(SymbolRecord {
        name,
        ..Default::default()
    });
    snapshot.operands[1].kind = OperandKind::Symbol as u8;
    snapshot.operands[1].index = 0;
    let text = snapshot.view().to_string();
    let expected = r"@mov.u32 $0, 0;\n\t@$1 ld.global.b32 {$0}, [$2];";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn bytes_give_back_the_snapshot() {
    let snapshot = counting_loop();
    let bytes = snapshot.view().to_bytes();
    assert_eq!(OwnedSnapshot::from_bytes(&bytes).unwrap(), snapshot);
    assert_eq!(snapshot.view().to_bytes(), bytes);
}

#[test]
fn every_prefix_of_a_file_is_refused() {
    let bytes = counting_loop().view().to_bytes();
    for length in 0..bytes.len() {
        assert!(
            OwnedSnapshot::from_bytes(&bytes[..length]).is_err(),
            "{length} bytes"
        );
    }
}

#[test]
fn damaged_files_are_refused_or_usable() {
    let bytes = counting_loop().view().to_bytes();
    let accepted = (0..4000)
        .filter(|&seed| try_to_use(&damaged(&bytes, seed)).is_ok())
        .count();
    assert!(accepted > 0, "some damage is harmless, such as another immediate");
}

/// True if the check refuses the sample with this damage and names the record.
fn refuses(subject: &str, damage: impl FnOnce(&mut OwnedSnapshot)) {
    let mut snapshot = counting_loop();
    damage(&mut snapshot);
    let error = snapshot.view().check().expect_err(subject);
    assert_eq!(error.subject, subject, "{error}");
}

#[test]
fn the_check_refuses_each_kind_of_damage() {
    refuses("function name", |s| s.function.name.length = 1000);
    refuses("opcodes 2", |s| s.opcodes[2].name.offset = u32::MAX);
    refuses("function", |s| s.function.abi_version += 1);
    refuses("function", |s| s.function.stage = 2);
    refuses("function", |s| s.function.fixed_frame_objects = 1);
    refuses("block 0", |s| s.blocks[0].first_instruction = 1);
    refuses("block 2", |s| s.blocks[2].first_instruction = 0);
    refuses("the last block", |s| s.blocks[3].first_successor = 4);
    refuses("the last instruction", |s| s.instructions[7].first_operand += 1);
    refuses("the last instruction", |s| {
        s.instructions[7].first_memory_operand = 1;
    });
    refuses("register class 1", |s| s.register_classes[1].file = 9);
    refuses("registers", |s| {
        s.register_classes[1].bits = u32::MAX;
        s.registers[0].register_class = 1;
        s.registers.extend(vec![s.registers[0]; 20]);
    });
    refuses("register 3", |s| s.registers[3].register_class = 2);
    refuses("edge 1", |s| s.edges[1].block = 3);
    refuses("edge 2", |s| s.edges[2].probability = 0x8000_0001);
    refuses("blocks", |s| s.blocks[2].number = 1);
    refuses("block 0", |s| s.blocks[1].first_predecessor = 1);
    refuses("the last block", |s| s.predecessors.push(0));
    refuses("predecessors", |s| {
        s.predecessors.push(0);
        s.blocks[3].first_predecessor += 1;
    });
    refuses("predecessor 1", |s| s.predecessors[1] = 3);
    refuses("block 1", |s| s.predecessors[1] = 0);
    refuses("block 1", |s| s.blocks[2].first_predecessor = 3);
    refuses("instruction 6", |s| s.instructions[6].opcode = 7);
    refuses("instruction 0", |s| s.instructions[0].location = 1);
    refuses("operand 0 of instruction 0", |s| s.operands[0].kind = 12);
    refuses("operand 0 of instruction 0", |s| s.operands[0].index = 4);
    refuses("operand 0 of instruction 0", |s| s.operands[0].flags = 1 << 15);
    refuses("operand 0 of instruction 0", |s| s.operands[0].tied_to = 3);
    refuses("operand 0 of instruction 5", |s| {
        s.operands.last_mut().unwrap().index = 3;
    });
    refuses("operand 1 of instruction 0", |s| {
        s.operands[1].kind = OperandKind::Original as u8;
    });
    refuses("operand 1 of instruction 0", |s| {
        s.operands[1].kind = OperandKind::Symbol as u8;
    });
    refuses("instruction 1", |s| {
        s.operands[3].flags = OperandFlags::DEF.bits();
    });
    refuses("register 0", |s| {
        s.registers[0].flags = RegisterFlags::CHAINED.bits();
    });
    refuses("register 1", |s| s.operands[7].index = 1);
}
