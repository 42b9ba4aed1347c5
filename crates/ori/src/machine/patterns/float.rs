//! Patterns of floating-point arithmetic.

use super::{PatternTable, Words, words};
use crate::modifiers::{ModifierFlags, Rounding, Variant};
use crate::operation::Operation;
use crate::types::DataType;

/// True if the basic operations of this type have an operand for flushing subnormals.
fn has_ftz(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::F16 | DataType::F16x2 | DataType::F32 | DataType::F32x2
    )
}

/// Returns words for sources of the type's own width, and the operand for subnormals where there is
/// one.
fn words_of(data_type: DataType, letters: &str, ftz: bool) -> Words {
    let width = data_type.bits();
    let words = words(width, &[width; 3][..letters.len()], letters);
    if ftz { words + "ftz" } else { words }
}

const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::Rn),
    ("rz", Rounding::Rz),
    ("rm", Rounding::Rm),
    ("rp", Rounding::Rp),
];

/// The types of basic arithmetic, and whether it takes constants.
const ARITHMETIC: [(DataType, bool); 7] = [
    (DataType::F32, true),
    (DataType::F64, true),
    (DataType::F16, false),
    (DataType::F16x2, false),
    (DataType::Bf16, false),
    (DataType::Bf16x2, false),
    (DataType::F32x2, false),
];

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    sums_and_products(table);
    fused(table);
    fused_with_rounding(table);
    with_rounding(table);
    mixed(table);
    divisions(table);
    minima(table);
    half_minima(table);
    signs(table);
    transcendental(table);
}

fn sums_and_products(table: &mut PatternTable) {
    for (stem, operation) in [
        ("FADD", Operation::Fadd),
        ("FSUB", Operation::Fsub),
        ("FMUL", Operation::Fmul),
    ] {
        for (suffix, rounding) in [("", Rounding::None), ("_rn", Rounding::Rn)] {
            for (data_type, takes_constants) in ARITHMETIC {
                let letters: &[&str] = if takes_constants { &["rr", "ri"] } else { &["rr"] };
                for letters in letters {
                    let name = format!("{stem}{suffix}{}{letters}", data_type.name());
                    let words = words_of(data_type, letters, has_ftz(data_type));
                    table.add(name, operation, data_type, &words).rounding(rounding);
                }
            }
        }
    }
}

fn fused(table: &mut PatternTable) {
    for (name, data_type) in [
        ("F32", DataType::F32),
        ("F64", DataType::F64),
        ("F16", DataType::F16),
        ("F16x2", DataType::F16x2),
        ("BF16", DataType::Bf16),
        ("BF16x2", DataType::Bf16x2),
        ("F32x2", DataType::F32x2),
    ] {
        let letters: &[&str] = match data_type {
            DataType::F32 | DataType::F64 => &["rrr", "rri", "rir", "rii", "iir"],
            _ => &["rrr"],
        };
        for letters in letters {
            let words = words_of(data_type, letters, has_ftz(data_type));
            table
                .add(
                    format_args!("FMA_{name}{letters}"),
                    Operation::Ffma,
                    data_type,
                    &words,
                )
                .rounding(Rounding::Rn);
        }
        if matches!(data_type.lane_bits(), 16) {
            let words = words_of(data_type, "rrr", has_ftz(data_type));
            table
                .add(
                    format_args!("FMARELU_{}", name.to_uppercase()),
                    Operation::Ffma,
                    data_type,
                    &words,
                )
                .rounding(Rounding::Rn)
                .flags(ModifierFlags::RELU);
        }
    }
}

/// Operations whose names contain the modifiers, in lower case and in PTX's order.
fn fused_with_rounding(table: &mut PatternTable) {
    let mut add = |rounding: (&str, Rounding), flags: &[(&str, ModifierFlags)], data_type: DataType| {
        let mut name = format!("INT_NVVM_FMA_{}", rounding.0);
        let mut all = ModifierFlags::empty();
        for (text, flag) in flags {
            name += &format!("_{text}");
            all |= *flag;
        }
        name += &format!("_{}", data_type.name());
        table
            .add(
                name,
                Operation::Ffma,
                data_type,
                words_of(data_type, "rrr", false),
            )
            .rounding(rounding.1)
            .flags(all);
    };
    let ftz = ("ftz", ModifierFlags::FTZ);
    let sat = ("sat", ModifierFlags::SAT);
    let relu = ("relu", ModifierFlags::RELU);
    for rounding in ROUNDINGS {
        add(rounding, &[], DataType::F64);
        for flags in [&[][..], &[ftz], &[sat], &[ftz, sat]] {
            add(rounding, flags, DataType::F32);
        }
    }
    for flags in [&[][..], &[ftz], &[sat], &[relu], &[ftz, sat], &[ftz, relu]] {
        for data_type in [DataType::F16, DataType::F16x2, DataType::Bf16] {
            add(ROUNDINGS[0], flags, data_type);
        }
    }
    for flags in [&[][..], &[relu]] {
        add(ROUNDINGS[0], flags, DataType::Bf16x2);
    }
}

fn with_rounding(table: &mut PatternTable) {
    let ftz = ModifierFlags::FTZ;
    let sat = ModifierFlags::SAT;
    for (lower, rounding) in ROUNDINGS {
        let upper = lower.to_uppercase();
        for (stem, operation, letters) in [
            ("ADD", Operation::Fadd, "rr"),
            ("MUL", Operation::Fmul, "rr"),
            ("DIV", Operation::Fdiv, "rr"),
            ("RCP", Operation::Frcp, "r"),
            ("SQRT", Operation::Fsqrt, "r"),
        ] {
            let mut add = |suffix: &str, data_type: DataType, flags: ModifierFlags| {
                table
                    .add(
                        format_args!("INT_NVVM_{stem}_{upper}_{suffix}"),
                        operation,
                        data_type,
                        words_of(data_type, letters, false),
                    )
                    .rounding(rounding)
                    .flags(flags);
            };
            add("D", DataType::F64, ModifierFlags::empty());
            add("F", DataType::F32, ModifierFlags::empty());
            add("FTZ_F", DataType::F32, ftz);
            if operation == Operation::Fadd {
                add("SAT_F", DataType::F32, sat);
                add("SAT_FTZ_F", DataType::F32, sat | ftz);
            }
        }
        for (suffix, data_type, flags) in [
            ("D", DataType::F64, ModifierFlags::empty()),
            ("F", DataType::F32, ModifierFlags::empty()),
            ("ftz_F", DataType::F32, ftz),
            ("sat_F", DataType::F32, sat),
            ("ftz_sat_F", DataType::F32, sat | ftz),
        ] {
            table
                .add(
                    format_args!("INT_NVVM_SUB_{lower}_{suffix}"),
                    Operation::Fsub,
                    data_type,
                    words_of(data_type, "rr", false),
                )
                .rounding(rounding)
                .flags(flags);
        }
    }
}

/// Operations on 16-bit operands with a last operand and result of 32 bits.
fn mixed(table: &mut PatternTable) {
    for (stem, operation, words) in [
        ("ADD", Operation::Fadd, "=32 16 32"),
        ("SUB", Operation::Fsub, "=32 16 32"),
        ("FMA", Operation::Ffma, "=32 16 16 32"),
    ] {
        for (text, rounding) in ROUNDINGS {
            for (sat, flags) in [("", ModifierFlags::empty()), ("_sat", ModifierFlags::SAT)] {
                for source_type in [DataType::F16, DataType::Bf16] {
                    let name = format!("INT_NVVM_MIXED_{stem}_{text}{sat}_f32_{}", source_type.name());
                    table
                        .add(name, operation, DataType::F32, words)
                        .from(source_type)
                        .rounding(rounding)
                        .flags(flags);
                }
            }
        }
    }
}

fn divisions(table: &mut PatternTable) {
    for letters in ["rr", "ri"] {
        for (name, letters, variant, rounding) in [
            (
                format!("FDIV32{letters}_prec"),
                letters,
                Variant::None,
                Rounding::Rn,
            ),
            // LLVM puts a register where its own description of FDIV32ri has a number.
            (format!("FDIV32{letters}"), "rr", Variant::Full, Rounding::None),
            (
                format!("DIV_APPROX_F32_{letters}"),
                letters,
                Variant::Approx,
                Rounding::None,
            ),
        ] {
            let words = words_of(DataType::F32, letters, true);
            table
                .add(name, Operation::Fdiv, DataType::F32, &words)
                .variant(variant)
                .rounding(rounding);
        }
        let words = words_of(DataType::F64, letters, false);
        table
            .add(
                format_args!("FDIV64{letters}"),
                Operation::Fdiv,
                DataType::F64,
                &words,
            )
            .rounding(Rounding::Rn);
    }
    let (single, double) = ("=32 32 ftz", "=64 64");
    for (name, operation, data_type, words) in [
        ("FRCP32r_prec", Operation::Frcp, DataType::F32, single),
        ("FRCP64r", Operation::Frcp, DataType::F64, double),
        ("FSQRTf32", Operation::Fsqrt, DataType::F32, single),
        ("FSQRTf64", Operation::Fsqrt, DataType::F64, double),
    ] {
        table
            .add(name, operation, data_type, words)
            .rounding(Rounding::Rn);
    }
    let (none, ftz) = (ModifierFlags::empty(), ModifierFlags::FTZ);
    for (name, operation, data_type, words, flags) in [
        ("RCP_APPROX_F32_r", Operation::Frcp, DataType::F32, single, none),
        (
            "INT_NVVM_RCP_APPROX_FTZ_F",
            Operation::Frcp,
            DataType::F32,
            "=32 32",
            ftz,
        ),
        (
            "INT_NVVM_RCP_APPROX_FTZ_D",
            Operation::Frcp,
            DataType::F64,
            double,
            ftz,
        ),
        (
            "INT_NVVM_SQRT_APPROX_F",
            Operation::Fsqrt,
            DataType::F32,
            "=32 32",
            none,
        ),
        (
            "INT_NVVM_SQRT_APPROX_FTZ_F",
            Operation::Fsqrt,
            DataType::F32,
            "=32 32",
            ftz,
        ),
    ] {
        table
            .add(name, operation, data_type, words)
            .variant(Variant::Approx)
            .flags(flags);
    }
}

fn minima(table: &mut PatternTable) {
    for (stem, operation) in [("MIN", Operation::Fmin), ("MAX", Operation::Fmax)] {
        for (nan, flags) in [("", ModifierFlags::empty()), ("_NAN", ModifierFlags::NAN)] {
            for (data_type, takes_constants) in ARITHMETIC {
                if data_type == DataType::F32x2 || (data_type == DataType::F64 && !nan.is_empty()) {
                    continue;
                }
                let letters: &[&str] = if takes_constants { &["rr", "ri"] } else { &["rr"] };
                for letters in letters {
                    let name = format!("{stem}{nan}_{}_{letters}", data_type.name());
                    let words = words_of(data_type, letters, has_ftz(data_type));
                    table.add(name, operation, data_type, &words).flags(flags);
                }
            }
        }
        for (nan, flags) in [("", ModifierFlags::empty()), ("NAN", ModifierFlags::NAN)] {
            for letters in ["rrr", "rri", "rii"] {
                let words = words_of(DataType::F32, letters, true);
                table
                    .add(
                        format_args!("F{stem}{nan}3f32{letters}"),
                        operation,
                        DataType::F32,
                        &words,
                    )
                    .flags(flags);
            }
        }
        for (ftz, first) in [("", ModifierFlags::empty()), ("_FTZ", ModifierFlags::FTZ)] {
            for (nan, second) in [("", ModifierFlags::empty()), ("_NAN", ModifierFlags::NAN)] {
                table
                    .add(
                        format_args!("INT_NVVM_F{stem}{ftz}{nan}_XORSIGN_ABS_F"),
                        operation,
                        DataType::F32,
                        "=32 32 32",
                    )
                    .flags(ModifierFlags::XORSIGN_ABS | first | second);
            }
        }
    }
}

/// The intrinsics. LLVM calls the maximum FMAN.
fn half_minima(table: &mut PatternTable) {
    for (stem, operation) in [("FMIN", Operation::Fmin), ("FMAN", Operation::Fmax)] {
        for data_type in [DataType::F16, DataType::F16x2, DataType::Bf16, DataType::Bf16x2] {
            for (ftz, first) in [("", ModifierFlags::empty()), ("_ftz", ModifierFlags::FTZ)] {
                if !ftz.is_empty() && !has_ftz(data_type) {
                    continue;
                }
                for (nan, second) in [("", ModifierFlags::empty()), ("_NaN", ModifierFlags::NAN)] {
                    for (sign, third) in [
                        ("", ModifierFlags::empty()),
                        ("_xorsign_abs", ModifierFlags::XORSIGN_ABS),
                    ] {
                        let name = format!("INT_NVVM_{stem}{ftz}{nan}{sign}_{}", data_type.name());
                        table
                            .add(name, operation, data_type, words_of(data_type, "rr", false))
                            .flags(first | second | third);
                    }
                }
            }
        }
    }
}

fn signs(table: &mut PatternTable) {
    use DataType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    let (neg, abs) = (Operation::Fneg, Operation::Fabs);
    for (name, operation, data_type, ftz) in [
        ("FNEGf32", neg, F32, true),
        ("FNEGf64", neg, F64, false),
        ("FNEG_Hf16", neg, F16, true),
        ("FNEG_Hf16x2", neg, F16x2, true),
        ("FNEG_Hbf16", neg, Bf16, false),
        ("FNEG_Hbf16x2", neg, Bf16x2, false),
        ("NEG_F16", neg, F16, true),
        ("NEG_F16x2", neg, F16x2, true),
        ("NEG_BF16", neg, Bf16, true),
        ("NEG_BF16x2", neg, Bf16x2, true),
        ("INT_NVVM_NEG_BF16", neg, Bf16, false),
        ("INT_NVVM_NEG_BF16X2", neg, Bf16x2, false),
        ("FABSf32", abs, F32, true),
        ("FABSf64", abs, F64, false),
        ("ABS_F64", abs, F64, false),
        ("FABS_Hf16", abs, F16, true),
        ("FABS_Hf16x2", abs, F16x2, true),
        ("FABS_Hbf16", abs, Bf16, false),
        ("FABS_Hbf16x2", abs, Bf16x2, false),
    ] {
        table.add(name, operation, data_type, words_of(data_type, "r", ftz));
    }
    // The intrinsics `llvm.nvvm.fabs`, to which libdevice's functions come down.
    let (none, ftz) = (ModifierFlags::empty(), ModifierFlags::FTZ);
    for (name, data_type, flags) in [
        ("ABS_F32", F32, none),
        ("ABS_F32_FTZ", F32, ftz),
        ("ABS_F16", F16, none),
        ("ABS_F16_FTZ", F16, ftz),
        ("ABS_F16X2", F16x2, none),
        ("ABS_F16X2_FTZ", F16x2, ftz),
        ("ABS_BF16", Bf16, none),
        ("ABS_BF16X2", Bf16x2, none),
    ] {
        table
            .add(name, abs, data_type, words_of(data_type, "r", false))
            .flags(flags);
    }
    for (data_type, copysign, test) in [
        (F32, "COPYSIGN_F32RT", "TESTINF_f32r"),
        (F64, "COPYSIGN_F64RT", "TESTINF_f64r"),
    ] {
        let pair = words_of(data_type, "rr", false);
        table.add(copysign, Operation::Fcopysign, data_type, pair);
        let words = words(1, &[data_type.bits()], "r");
        table
            .add(test, Operation::Ftestinf, DataType::B1, &words)
            .from(data_type);
    }
}

/// All of these are approximations.
fn transcendental(table: &mut PatternTable) {
    use DataType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    let (none, ftz) = (ModifierFlags::empty(), ModifierFlags::FTZ);
    for (name, operation, data_type, has_ftz, flags) in [
        ("EX2_APPROX_f32", Operation::Fex2, F32, true, none),
        ("EX2_APPROX_f16", Operation::Fex2, F16, false, none),
        ("EX2_APPROX_f16x2", Operation::Fex2, F16x2, false, none),
        ("EX2_APPROX_bf16", Operation::Fex2, Bf16, false, ftz),
        ("EX2_APPROX_bf16x2", Operation::Fex2, Bf16x2, false, ftz),
        ("LG2_APPROX_f32", Operation::Flg2, F32, true, none),
        ("LG2_APPROX_f64", Operation::Flg2, F64, false, none),
        ("SIN_APPROX_f32", Operation::Fsin, F32, true, none),
        ("COS_APPROX_f32", Operation::Fcos, F32, true, none),
        ("TANH_APPROX_f32", Operation::Ftanh, F32, false, none),
        ("RSQRT_APPROX_f32", Operation::Frsqrt, F32, true, none),
        ("RSQRT_APPROX_f64", Operation::Frsqrt, F64, true, none),
    ] {
        table
            .add(name, operation, data_type, words_of(data_type, "r", has_ftz))
            .flags(flags);
    }
}
