//! Patterns of loads, stores and addresses.

use super::{PatternTable, Words};
use crate::machine::operand_class::OperandClass;
use crate::modifiers::{AddressSpace, ModifierFlags};
use crate::operation::Operation;
use crate::types::DataType;

/// Element widths and the vector lengths of loads and stores.
const VECTORS: [(DataType, &[usize]); 3] = [
    (DataType::B16, &[1, 2, 4]),
    (DataType::B32, &[1, 2, 4, 8]),
    (DataType::B64, &[1, 2, 4]),
];

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    scalar_accesses(table);
    vector_accesses(table);
    global_read_accesses(table);
    addresses(table);
}

fn vectors() -> impl Iterator<Item = (DataType, usize)> {
    let of_type =
        |(data_type, counts): (_, &'static [usize])| counts.iter().map(move |&count| (data_type, count));
    VECTORS.into_iter().flat_map(of_type)
}

fn scalar_accesses(table: &mut PatternTable) {
    for (data_type, count) in vectors().filter(|&(_, count)| count == 1) {
        accesses(table, data_type, count);
    }
}

fn vector_accesses(table: &mut PatternTable) {
    for (data_type, count) in vectors().filter(|&(_, count)| count > 1) {
        accesses(table, data_type, count);
    }
}

fn global_read_accesses(table: &mut PatternTable) {
    for (data_type, count) in vectors() {
        global_reads(table, data_type, count);
    }
}

fn addresses(table: &mut PatternTable) {
    for (suffix, data_type, words) in [
        ("", DataType::B32, "=32 base offset"),
        ("64", DataType::B64, "=64 base offset"),
    ] {
        table.add(
            format_args!("LEA_ADDRi{suffix}"),
            Operation::Lea,
            data_type,
            words,
        );
    }
    for (suffix, data_type, words) in [
        ("", DataType::B32, "=32 count"),
        ("_64", DataType::B64, "=64 count"),
    ] {
        table.add(
            format_args!("MOV_DEPOT_ADDR{suffix}"),
            Operation::FrameAddress,
            data_type,
            words,
        );
    }
}

fn accesses(table: &mut PatternTable, data_type: DataType, count: usize) {
    let width = data_type.bits();
    let (letter, suffix) = if count == 1 {
        ("", String::new())
    } else {
        ("V", format!("_v{count}"))
    };
    let results = Words::repeated(OperandClass::Result(width as u8), count);
    table.add(
        format_args!("LD{letter}_i{width}{suffix}"),
        Operation::Ld,
        data_type,
        results + "ordering scope space class width bytes base offset",
    );
    let values = Words::repeated(OperandClass::Value(width as u8), count);
    table.add(
        format_args!("ST{letter}_i{width}{suffix}"),
        Operation::St,
        data_type,
        values + "ordering scope space width base offset",
    );
}

/// Loads of global memory that has ways of its own: what does not change while the kernel runs, and what
/// all threads of a warp load from one address. LLVM says of the latter only that it is read.
fn global_reads(table: &mut PatternTable, data_type: DataType, count: usize) {
    let width = data_type.bits();
    let vector = if count == 1 {
        String::new()
    } else {
        format!("v{count}")
    };
    let results = Words::repeated(OperandClass::Result(width as u8), count);
    let mut add = |name: String, words: &str, flags: ModifierFlags| {
        table
            .add(name, Operation::Ld, data_type, results.clone() + words)
            .space(AddressSpace::Global)
            .flags(flags);
    };
    let words = "class width bytes base offset";
    add(
        format!("LD_GLOBAL_NC_{vector}i{width}"),
        words,
        ModifierFlags::INVARIANT,
    );
    if width * count as u32 <= 128 {
        let words = "width base offset";
        add(
            format!("LDU_GLOBAL_{vector}i{width}"),
            words,
            ModifierFlags::UNIFORM,
        );
    }
}
