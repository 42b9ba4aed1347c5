//! Patterns of comparisons, selections, conversions and moves between registers.

use super::{PatternTable, words};
use crate::modifiers::{AddressSpace, ModifierFlags, Rounding, Variant};
use crate::operation::Operation;
use crate::types::DataType;

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    comparisons(table);
    selections(table);
    conversions_to_integers(table);
    conversions_to_floats(table);
    narrow_conversions(table);
    tensor_conversions(table);
    address_conversions(table);
    moves(table);
    packing(table);
}

fn comparisons(table: &mut PatternTable) {
    for width in [16, 32, 64] {
        for letters in ["rr", "ri", "ir"] {
            let words = words(1, &[width; 2], letters) + "comparison";
            table
                .add(
                    format_args!("SETP_i{width}{letters}"),
                    Operation::Isetp,
                    DataType::B1,
                    &words,
                )
                .from(DataType::of_bits(width).expect("a width of registers"));
        }
    }
    for (data_type, letters) in [
        (DataType::F32, &["rr", "ri", "ir"][..]),
        (DataType::F64, &["rr", "ri", "ir"]),
        (DataType::F16, &["rr"]),
        (DataType::Bf16, &["rr"]),
    ] {
        // There are no subnormal doubles to flush.
        let ftz = if data_type == DataType::F64 { "" } else { "ftz" };
        for letters in letters {
            let words = words(1, &[data_type.bits(); 2], letters) + "fcomparison" + ftz;
            let name = format!("SETP_{}{letters}", data_type.name());
            table
                .add(name, Operation::Fsetp, DataType::B1, &words)
                .from(data_type);
        }
    }
    for data_type in [DataType::F16x2, DataType::Bf16x2] {
        let name = format!("SETP_{}rr", data_type.name());
        table
            .add(
                name,
                Operation::Fsetp,
                DataType::B1,
                "=1 =1 32 32 fcomparison ftz",
            )
            .from(data_type);
    }
}

fn selections(table: &mut PatternTable) {
    for data_type in [
        DataType::B16,
        DataType::B32,
        DataType::B64,
        DataType::F16,
        DataType::Bf16,
        DataType::F32,
        DataType::F64,
    ] {
        let width = data_type.bits();
        for letters in ["rr", "ri", "ir", "ii"] {
            let name = format!("SELP_{}{letters}", data_type.name());
            let words = words(width, &[width; 2], letters) + "1";
            table.add(name, Operation::Sel, data_type, &words);
        }
    }
}

/// Returns the width of the register that holds a value of this type: there are none of eight bits.
fn register_bits(data_type: DataType) -> u32 {
    data_type.bits().max(16)
}

/// The types between which conversions exist.
const CONVERTED: [DataType; 12] = [
    DataType::U8,
    DataType::S8,
    DataType::U16,
    DataType::S16,
    DataType::U32,
    DataType::S32,
    DataType::U64,
    DataType::S64,
    DataType::F16,
    DataType::Bf16,
    DataType::F32,
    DataType::F64,
];

fn conversions_to(table: &mut PatternTable, to: DataType) {
    for from in CONVERTED {
        let words = words(register_bits(to), &[register_bits(from)], "r") + "conversion";
        let name = format_args!("CVT_{}_{}", to.name(), from.name());
        table.add(name, Operation::Cvt, to, &words).from(from);
    }
}

fn conversions_to_floats(table: &mut PatternTable) {
    for to in CONVERTED.into_iter().filter(|to| to.is_float()) {
        conversions_to(table, to);
    }
}

fn conversions_to_integers(table: &mut PatternTable) {
    use DataType::{S8, S16, S32, S64};
    for to in CONVERTED.into_iter().filter(|to| !to.is_float()) {
        conversions_to(table, to);
    }
    // Within a register: the low bits, extended.
    for (to, from) in [
        (S16, S8),
        (S32, S8),
        (S32, S16),
        (S64, S8),
        (S64, S16),
        (S64, S32),
    ] {
        let words = words(to.bits(), &[to.bits()], "r");
        let name = format_args!("CVT_INREG_{}_{}", to.name(), from.name());
        table.add(name, Operation::Cvt, to, &words).from(from);
    }
}

fn narrow_conversions(table: &mut PatternTable) {
    let saturating = [("", ModifierFlags::empty()), ("_sf", ModifierFlags::SATFINITE)];
    for (suffix, flags) in saturating {
        for data_type in [DataType::F16x2, DataType::Bf16x2] {
            for (random, words) in [("", "=32 32 32 conversion"), ("_rs", "=32 32 32 32 conversion")] {
                let name = format!("CVT_{}_f32{random}{suffix}", data_type.name());
                table
                    .add(name, Operation::Cvt, data_type, words)
                    .from(DataType::F32)
                    .flags(flags);
            }
        }
    }
    for data_type in [DataType::F16, DataType::Bf16] {
        let name = format!("CVT_{}_f32_sf", data_type.name());
        table
            .add(name, Operation::Cvt, data_type, "=16 32 conversion")
            .from(DataType::F32)
            .flags(ModifierFlags::SATFINITE);
    }
}

fn tensor_conversions(table: &mut PatternTable) {
    let relu = ModifierFlags::RELU;
    let satfinite = ModifierFlags::SATFINITE;
    let none = ModifierFlags::empty();
    for (suffix, rounding, flags) in [
        ("rn", Rounding::Rn, none),
        ("rn_relu", Rounding::Rn, relu),
        ("rn_satf", Rounding::Rn, satfinite),
        ("rn_relu_satf", Rounding::Rn, relu | satfinite),
        ("rz", Rounding::Rz, none),
        ("rz_relu", Rounding::Rz, relu),
        ("rz_satf", Rounding::Rz, satfinite),
        ("rz_relu_satf", Rounding::Rz, relu | satfinite),
        ("rna", Rounding::Rna, none),
        ("rna_satf", Rounding::Rna, satfinite),
    ] {
        table
            .add(
                format_args!("CVT_to_tf32_{suffix}"),
                Operation::Cvt,
                DataType::Tf32,
                "=32 32",
            )
            .from(DataType::F32)
            .rounding(rounding)
            .flags(flags);
    }
}

fn address_conversions(table: &mut PatternTable) {
    for (name, space, is_narrow) in [
        ("global", AddressSpace::Global, true),
        ("shared", AddressSpace::Shared, true),
        ("const", AddressSpace::Const, true),
        ("local", AddressSpace::Local, true),
        ("param", AddressSpace::EntryParam, true),
        ("shared_cluster", AddressSpace::SharedCluster, false),
    ] {
        for (infix, variant) in [("", Variant::FromSpace), ("to_", Variant::ToSpace)] {
            let mut add = |suffix: &str, data_type: DataType, words: &str| {
                table
                    .add(
                        format_args!("cvta_{infix}{name}{suffix}"),
                        Operation::Cvta,
                        data_type,
                        words,
                    )
                    .space(space)
                    .variant(variant);
            };
            add("_64", DataType::B64, "=64 64");
            if is_narrow {
                add("", DataType::B32, "=32 32");
            }
        }
        if name != "param" {
            for (suffix, words) in [("_64", "=1 64"), ("_32", "=1 32")] {
                table
                    .add(
                        format_args!("isspace_{name}{suffix}"),
                        Operation::Isspacep,
                        DataType::B1,
                        words,
                    )
                    .space(space);
            }
        }
    }
}

fn moves(table: &mut PatternTable) {
    use DataType::{B1, B16, B32, B64, B128, Bf16, F16, F32, F64, U32, U64};
    for (name, data_type, words) in [
        ("MOV_B1_r", B1, "=1 1"),
        ("MOV_B16_r", B16, "=16 16"),
        ("MOV_B32_r", B32, "=32 32"),
        ("MOV_B64_r", B64, "=64 64"),
        ("MOV_B128_r", B128, "=128 128"),
        ("MOV_B1_i", B1, "=1 i1"),
        ("MOV_B16_i", B16, "=16 i16"),
        ("MOV_B32_i", B32, "=32 i32"),
        ("MOV_B64_i", B64, "=64 i64"),
        ("MOV_F16_i", F16, "=16 i16"),
        ("MOV_BF16_i", Bf16, "=16 i16"),
        ("MOV_F32_i", F32, "=32 i32"),
        ("MOV_F64_i", F64, "=64 i64"),
        ("MOV_B32_sym", B32, "=32 symbol"),
        ("MOV_B64_sym", B64, "=64 symbol"),
        // LLVM describes the operand as a register, but it is a parameter's name.
        ("MOV32_PARAM", B32, "=32 base"),
        ("MOV64_PARAM", B64, "=64 base"),
        ("nvvm_move_i16", B16, "=16 16"),
        ("nvvm_move_i32", B32, "=32 32"),
        ("nvvm_move_i64", B64, "=64 64"),
        ("nvvm_move_float", F32, "=32 32"),
        ("nvvm_move_double", F64, "=64 64"),
        ("nvvm_move_ptr32", U32, "=32 32"),
        ("nvvm_move_ptr64", U64, "=64 64"),
        ("ProxyRegB1", B1, "=1 1"),
        ("ProxyRegB16", B16, "=16 16"),
        ("ProxyRegB32", B32, "=32 32"),
        ("ProxyRegB64", B64, "=64 64"),
    ] {
        table.add(name, Operation::Mov, data_type, words);
    }
}

fn packing(table: &mut PatternTable) {
    use DataType::{B16, B32, B64, B128};
    for (name, to, from, words) in [
        ("V2I16toI32", B32, B16, "=32 16 16"),
        ("V2I32toI64", B64, B32, "=64 32 32"),
        ("V2I64toI128", B128, B64, "=128 64 64"),
        ("V4I16toI64", B64, B16, "=64 16 16 16 16"),
    ] {
        table.add(name, Operation::Pack, to, words).from(from);
    }
    for (name, to, from, words) in [
        ("I32toV2I16", B16, B32, "=16 =16 32"),
        ("I64toV2I32", B32, B64, "=32 =32 64"),
        ("I128toV2I64", B64, B128, "=64 =64 128"),
        ("I64toV4I16", B16, B64, "=16 =16 =16 =16 64"),
    ] {
        table.add(name, Operation::Unpack, to, words).from(from);
    }
    // Those with `_Sink` need a newer PTX version, so they come second.
    for sink in ["", "_Sink"] {
        for (letter, variant) in [("L", Variant::Low), ("H", Variant::High)] {
            for (stem, to, from, words) in
                [("I32toI16", B16, B32, "=16 32"), ("I64toI32", B32, B64, "=32 64")]
            {
                table
                    .add(
                        format_args!("{stem}{letter}{sink}"),
                        Operation::Extract,
                        to,
                        words,
                    )
                    .from(from)
                    .variant(variant);
            }
        }
    }
}
