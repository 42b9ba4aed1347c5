//! Patterns of integer arithmetic and bit operations.

use super::{PatternTable, words};
use crate::modifiers::{ModifierFlags, Variant};
use crate::operation::Operation;
use crate::types::DataType;

const WIDTHS: [u32; 3] = [16, 32, 64];

fn bits(width: u32) -> DataType {
    DataType::of_bits(width).expect("a width of registers")
}

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    arithmetic(table);
    carries(table);
    products(table);
    minima(table);
    unary(table);
    logic(table);
    shifts(table);
    fields(table);
    permutations(table);
}

/// Adds a binary operation with one mapping for each pair of letters.
fn binary(
    table: &mut PatternTable,
    name: &str,
    operation: Operation,
    data_type: DataType,
    width: u32,
    letters: &[&str],
) {
    for letters in letters {
        table.add(
            format_args!("{name}{letters}"),
            operation,
            data_type,
            words(width, &[width; 2], letters),
        );
    }
}

fn arithmetic(table: &mut PatternTable) {
    for width in WIDTHS {
        let name = |stem: &str| format!("{stem}{width}");
        binary(
            table,
            &name("ADD"),
            Operation::Iadd,
            bits(width),
            width,
            &["rr", "ri"],
        );
        binary(
            table,
            &name("SUB"),
            Operation::Isub,
            bits(width),
            width,
            &["rr", "ri", "ir"],
        );
        binary(
            table,
            &name("MULT"),
            Operation::Imul,
            bits(width),
            width,
            &["rr", "ri"],
        );
        for (stem, operation) in [("DIV", Operation::Idiv), ("REM", Operation::Irem)] {
            let all = &["rr", "ri", "ir"];
            binary(
                table,
                &format!("S{stem}{width}"),
                operation,
                DataType::signed(width),
                width,
                all,
            );
            binary(
                table,
                &format!("U{stem}{width}"),
                operation,
                DataType::unsigned(width),
                width,
                all,
            );
        }
    }
    table.add("ADD16x2", Operation::Iadd, DataType::B16x2, "=32 32 32");
}

fn carries(table: &mut PatternTable) {
    for width in [32, 64] {
        for (stem, operation, letters) in [
            ("ADDCC", Operation::IaddCarryOut, &["rr", "ri"][..]),
            ("ADDCCC", Operation::IaddCarry, &["rr", "ri"]),
            ("SUBCC", Operation::IsubCarryOut, &["rr", "ri", "ir"]),
            ("SUBCCC", Operation::IsubCarry, &["rr", "ri", "ir"]),
        ] {
            binary(
                table,
                &format!("{stem}i{width}"),
                operation,
                bits(width),
                width,
                letters,
            );
        }
    }
}

fn products(table: &mut PatternTable) {
    for width in WIDTHS {
        for (sign, data_type) in [("S", DataType::signed(width)), ("U", DataType::unsigned(width))] {
            let name = format!("MUL_HI_{sign}{width}");
            binary(table, &name, Operation::ImulHi, data_type, width, &["rr", "ri"]);
        }
        for letters in ["rrr", "rri", "rir", "rii"] {
            table.add(
                format_args!("MAD_LO_S{width}{letters}"),
                Operation::Imad,
                bits(width),
                words(width, &[width; 3], letters),
            );
        }
    }
    for width in [16, 32] {
        let wide = 2 * width;
        for (sign, source, result) in [
            ("s", DataType::signed(width), DataType::signed(wide)),
            ("u", DataType::unsigned(width), DataType::unsigned(wide)),
        ] {
            for letters in ["rr", "ri"] {
                let name = format!("MUL_WIDE{sign}{width}_{letters}");
                let words = words(wide, &[width; 2], letters);
                table.add(name, Operation::ImulWide, result, &words).from(source);
            }
            for letters in ["rrr", "rri", "rir", "rii"] {
                let name = format!("MAD_WIDE_{}{width}{letters}", sign.to_uppercase());
                let words = words(wide, &[width, width, wide], letters);
                table.add(name, Operation::ImadWide, result, &words).from(source);
            }
        }
    }
    table.add("INT_NVVM_MUL24_I", Operation::Imul24, DataType::S32, "=32 32 32");
    table.add("INT_NVVM_MUL24_UI", Operation::Imul24, DataType::U32, "=32 32 32");
    for (suffix, data_type) in [
        ("S", DataType::S16),
        ("US", DataType::U16),
        ("I", DataType::S32),
        ("UI", DataType::U32),
        ("LL", DataType::S64),
        ("ULL", DataType::U64),
    ] {
        let width = data_type.bits();
        let words = words(width, &[width; 3], "rrr");
        table.add(
            format_args!("INT_NVVM_SAD_{suffix}"),
            Operation::Isad,
            data_type,
            &words,
        );
    }
    dot_products(table);
}

/// The data type is that of `a`, the source type that of `b`; the result is signed if one of them
/// is.
fn dot_products(table: &mut PatternTable) {
    let types = [("s", DataType::S32), ("u", DataType::U32)];
    for (a, data_type) in types {
        for (b, source_type) in types {
            let words = "=32 32 32 32";
            table
                .add(format_args!("DOT4_{a}{b}"), Operation::Dp4a, data_type, words)
                .from(source_type);
            for (half, variant) in [("lo", Variant::Low), ("hi", Variant::High)] {
                table
                    .add(
                        format_args!("DOT2_{half}_{a}{b}"),
                        Operation::Dp2a,
                        data_type,
                        words,
                    )
                    .from(source_type)
                    .variant(variant);
            }
        }
    }
}

fn minima(table: &mut PatternTable) {
    for (stem, operation) in [("MIN", Operation::Imin), ("MAX", Operation::Imax)] {
        for width in WIDTHS {
            for (sign, data_type) in [("S", DataType::signed(width)), ("U", DataType::unsigned(width))] {
                let name = format!("{sign}{stem}{width}");
                binary(table, &name, operation, data_type, width, &["rr", "ri"]);
            }
        }
        let words = "=32 32 32";
        table.add(format_args!("S{stem}16x2"), operation, DataType::S16x2, words);
        table.add(format_args!("U{stem}16x2"), operation, DataType::U16x2, words);
        for (suffix, data_type) in [("S32", DataType::S32), ("S16x2", DataType::S16x2)] {
            table
                .add(format_args!("{stem}_RELU_{suffix}"), operation, data_type, words)
                .flags(ModifierFlags::RELU);
        }
    }
}

fn unary(table: &mut PatternTable) {
    for width in WIDTHS {
        let words = words(width, &[width], "r");
        table.add(
            format_args!("ABS_S{width}"),
            Operation::Iabs,
            DataType::signed(width),
            &words,
        );
        table.add(
            format_args!("NEG_S{width}"),
            Operation::Ineg,
            DataType::signed(width),
            &words,
        );
        table.add(format_args!("NOT_b{width}"), Operation::Not, bits(width), &words);
    }
    table.add("NOT_pred", Operation::Not, DataType::B1, "=1 1");
    for width in [32, 64] {
        let count = words(32, &[width], "r");
        let reverse = words(width, &[width], "r");
        table.add(
            format_args!("BREV_b{width}"),
            Operation::Brev,
            bits(width),
            &reverse,
        );
        for (stem, operation) in [("CLZr", Operation::Clz), ("POPCr", Operation::Popc)] {
            table
                .add(format_args!("{stem}{width}"), operation, DataType::B32, &count)
                .from(bits(width));
        }
        for (sign, source_type) in [("s", DataType::signed(width)), ("u", DataType::unsigned(width))] {
            for (stem, variant) in [("BFIND", Variant::None), ("BFIND_SHIFTAMT", Variant::ShiftAmount)] {
                table
                    .add(
                        format_args!("{stem}_{sign}{width}"),
                        Operation::Bfind,
                        DataType::B32,
                        &count,
                    )
                    .from(source_type)
                    .variant(variant);
            }
        }
    }
}

fn logic(table: &mut PatternTable) {
    for (stem, operation) in [
        ("AND", Operation::And),
        ("OR", Operation::Or),
        ("XOR", Operation::Xor),
    ] {
        for width in WIDTHS {
            let name = format!("{stem}_b{width}");
            binary(table, &name, operation, bits(width), width, &["rr", "ri"]);
        }
        binary(
            table,
            &format!("{stem}_pred"),
            operation,
            DataType::B1,
            1,
            &["rr", "ri"],
        );
    }
}

fn shifts(table: &mut PatternTable) {
    // LLVM has a second set of shifts for the intrinsics that clamp the amount; PTX always does.
    for (stem, operation, type_of) in [
        ("SHL", Operation::Shl, bits as fn(u32) -> DataType),
        ("SRL", Operation::Shr, DataType::unsigned),
        ("SRA", Operation::Shr, DataType::signed),
        ("SHL_CLAMP", Operation::Shl, bits),
        ("SRL_CLAMP", Operation::Shr, DataType::unsigned),
    ] {
        for width in WIDTHS {
            for letters in ["rr", "ri"] {
                table.add(
                    format_args!("{stem}{width}_{letters}"),
                    operation,
                    type_of(width),
                    words(width, &[width, 32], letters),
                );
            }
        }
    }
    for (direction, variant) in [("L", Variant::Left), ("R", Variant::Right)] {
        for (mode, flags) in [("WRAP", ModifierFlags::empty()), ("CLAMP", ModifierFlags::CLAMP)] {
            for (letter, letters) in [("r", "rrr"), ("i", "rri")] {
                table
                    .add(
                        format_args!("SHF_{direction}_{mode}_{letter}"),
                        Operation::Shf,
                        DataType::B32,
                        words(32, &[32; 3], letters),
                    )
                    .variant(variant)
                    .flags(flags);
            }
        }
    }
}

fn fields(table: &mut PatternTable) {
    for width in [32, 64] {
        for letters in ["rrr", "rri", "rii"] {
            let words = words(width, &[width, 32, 32], letters);
            for (sign, data_type) in [("S", DataType::signed(width)), ("U", DataType::unsigned(width))] {
                table.add(
                    format_args!("BFE_{sign}{width}{letters}"),
                    Operation::Bfe,
                    data_type,
                    &words,
                );
            }
        }
        for letters in ["rrrr", "rrri", "rrii", "irrr", "irri", "irii"] {
            let words = words(width, &[width, width, 32, 32], letters);
            table.add(
                format_args!("BFI_B{width}{letters}"),
                Operation::Bfi,
                bits(width),
                &words,
            );
        }
    }
    for (mode, flags) in [("wrap", ModifierFlags::empty()), ("clamp", ModifierFlags::CLAMP)] {
        for letters in ["rr", "ri", "ir"] {
            let words = words(32, &[32; 2], letters);
            table
                .add(
                    format_args!("BMSK_{mode}{letters}"),
                    Operation::Bmsk,
                    DataType::B32,
                    &words,
                )
                .flags(flags);
            for (sign, data_type) in [("s", DataType::S32), ("u", DataType::U32)] {
                table
                    .add(
                        format_args!("SZEXT_{sign}_{mode}{letters}"),
                        Operation::Szext,
                        data_type,
                        &words,
                    )
                    .flags(flags);
            }
        }
    }
    for letters in ["rrr", "rri", "rir", "rii", "irr", "iri", "iir", "iii"] {
        table.add(
            format_args!("INT_FNS_{letters}"),
            Operation::Fns,
            DataType::B32,
            words(32, &[32; 3], letters),
        );
    }
}

fn permutations(table: &mut PatternTable) {
    for letters in ["rrr", "rri", "rir", "rii", "irr", "iri", "iir"] {
        let words = words(32, &[32; 3], letters) + " permutation";
        table.add(
            format_args!("PRMT_B32{letters}"),
            Operation::Prmt,
            DataType::B32,
            &words,
        );
    }
}
