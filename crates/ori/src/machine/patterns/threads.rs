//! Patterns of operations between threads, and of special registers.

use super::{PatternTable, Words, sources_of, words};
use crate::modifiers::{ModifierFlags, SpecialRegister, Variant};
use crate::operation::Operation;
use crate::types::DataType;

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    barriers(table);
    reducing_barriers(table);
    votes(table);
    matches(table);
    shuffles(table, "up", Variant::Up);
    shuffles(table, "down", Variant::Down);
    shuffles(table, "bfly", Variant::Bfly);
    shuffles(table, "idx", Variant::Idx);
    reductions(table);
    special_registers(table);
}

const ALIGNMENTS: [(&str, ModifierFlags); 2] =
    [("_ALIGNED", ModifierFlags::ALIGNED), ("", ModifierFlags::empty())];

/// Sources of 32 bits.
fn sources(letters: &str) -> Words {
    sources_of(&[32; 3][..letters.len()], letters)
}

fn barriers(table: &mut PatternTable) {
    for (aligned, flags) in ALIGNMENTS {
        for (stem, variant) in [("SYNC", Variant::Sync), ("ARRIVE", Variant::Arrive)] {
            let name = format!("BARRIER_CTA_{stem}{aligned}");
            let mut add = |name: String, letters: &str| {
                table
                    .add(name, Operation::Bar, DataType::None, sources(letters))
                    .variant(variant)
                    .flags(flags);
            };
            for letters in ["rr", "ri", "ir", "ii"] {
                add(format!("{name}_{letters}"), letters);
            }
            // No thread waits after an arrival with the count of all threads.
            if variant == Variant::Sync {
                for letters in ["r", "i"] {
                    add(format!("{name}_ALL_{letters}"), letters);
                }
            }
        }
    }
    for (name, words) in [("INT_BAR_WARP_SYNC_R", "32"), ("INT_BAR_WARP_SYNC_I", "i32")] {
        table.add(name, Operation::WarpSync, DataType::None, words);
    }
}

fn reducing_barriers(table: &mut PatternTable) {
    for (stem, variant, data_type) in [
        ("AND", Variant::And, DataType::B1),
        ("OR", Variant::Or, DataType::B1),
        ("POPC", Variant::Popc, DataType::B32),
    ] {
        for (aligned, flags) in ALIGNMENTS {
            let name = format!("BARRIER_CTA_RED_{stem}{aligned}");
            // The names of unaligned barriers mention the count.
            let count = if aligned.is_empty() { "_COUNT" } else { "" };
            let all = ["r", "i"].map(|letters| (format!("{name}_ALL_{letters}p"), letters));
            let some = ["rr", "ri", "ir", "ii"].map(|letters| (format!("{name}{count}_{letters}p"), letters));
            for (name, letters) in all.into_iter().chain(some) {
                let words = Words::result(data_type.bits()) + sources(letters) + "1";
                table
                    .add(name, Operation::BarRed, data_type, &words)
                    .variant(variant)
                    .flags(flags);
            }
        }
    }
}

fn votes(table: &mut PatternTable) {
    for (stem, variant, data_type) in [
        ("all", Variant::All, DataType::B1),
        ("any", Variant::Any, DataType::B1),
        ("uni", Variant::Uni, DataType::B1),
        ("ballot", Variant::Ballot, DataType::B32),
    ] {
        let result = data_type.bits();
        for letter in ["r", "i"] {
            table
                .add(
                    format_args!("VOTE_SYNC_{}{letter}", stem.to_uppercase()),
                    Operation::Vote,
                    data_type,
                    words(result, &[1], "r") + sources(letter),
                )
                .variant(variant);
        }
        // Without a mask it has no proper name.
        let (suffix, letter) = if result == 1 { ("pred", 'p') } else { ("b32", 'r') };
        table
            .add(
                format_args!("vote.{stem}.{suffix} {letter}p"),
                Operation::Vote,
                data_type,
                words(result, &[1], "r"),
            )
            .variant(variant);
    }
    table.add("ACTIVEMASK", Operation::ActiveMask, DataType::B32, "=32");
}

fn matches(table: &mut PatternTable) {
    for data_type in [DataType::B32, DataType::B64] {
        let width = data_type.bits();
        for letters in ["rr", "ri", "ir", "ii"] {
            let sources = sources_of(&[width, 32], letters);
            table
                .add(
                    format_args!("MATCH_ANY_SYNC_{width}{letters}"),
                    Operation::Match,
                    data_type,
                    Words::result(32) + &sources,
                )
                .variant(Variant::Any);
            table
                .add(
                    format_args!("MATCH_ALLP_SYNC_{width}{letters}"),
                    Operation::Match,
                    data_type,
                    Words::from("=32 =1") + &sources,
                )
                .variant(Variant::All);
        }
    }
}

/// None of these has a proper name.
fn shuffles(table: &mut PatternTable, stem: &str, variant: Variant) {
    for (results, words) in [("r", "=32"), ("rp", "=32 =1")] {
        for letters in ["rr", "ri", "ir", "ii"] {
            for (mnemonic, mask) in [("shfl", ""), ("shfl.sync", "r"), ("shfl.sync", "i")] {
                table
                    .add(
                        format_args!("{mnemonic}.{stem}.b32 {results}r{letters}{mask}"),
                        Operation::Shfl,
                        DataType::B32,
                        Words::from(words) + "32" + sources(letters) + sources(mask),
                    )
                    .variant(variant);
            }
        }
    }
}

fn reductions(table: &mut PatternTable) {
    use DataType::{B32, F32, S32, U32};
    let (none, nan) = (ModifierFlags::empty(), ModifierFlags::NAN);
    for (mnemonic, variant, data_type, flags) in [
        ("add.s32", Variant::Add, S32, none),
        ("min.s32", Variant::Min, S32, none),
        ("min.u32", Variant::Min, U32, none),
        ("max.s32", Variant::Max, S32, none),
        ("max.u32", Variant::Max, U32, none),
        ("and.b32", Variant::And, B32, none),
        ("or.b32", Variant::Or, B32, none),
        ("xor.b32", Variant::Xor, B32, none),
        ("min.f32", Variant::Min, F32, none),
        ("max.f32", Variant::Max, F32, none),
        ("min.NaN.f32", Variant::Min, F32, nan),
        ("max.NaN.f32", Variant::Max, F32, nan),
    ] {
        table
            .add(
                format_args!("redux.sync.{mnemonic} rrr"),
                Operation::Redux,
                data_type,
                "=32 32 32",
            )
            .variant(variant)
            .flags(flags);
    }
}

fn special_registers(table: &mut PatternTable) {
    use SpecialRegister as R;
    for (name, special, data_type) in [
        ("INT_PTX_SREG_TID_x", R::TidX, DataType::B32),
        ("INT_PTX_SREG_TID_y", R::TidY, DataType::B32),
        ("INT_PTX_SREG_TID_z", R::TidZ, DataType::B32),
        ("INT_PTX_SREG_NTID_x", R::NtidX, DataType::B32),
        ("INT_PTX_SREG_NTID_y", R::NtidY, DataType::B32),
        ("INT_PTX_SREG_NTID_z", R::NtidZ, DataType::B32),
        ("INT_PTX_SREG_CTAID_x", R::CtaidX, DataType::B32),
        ("INT_PTX_SREG_CTAID_y", R::CtaidY, DataType::B32),
        ("INT_PTX_SREG_CTAID_z", R::CtaidZ, DataType::B32),
        ("INT_PTX_SREG_NCTAID_x", R::NctaidX, DataType::B32),
        ("INT_PTX_SREG_NCTAID_y", R::NctaidY, DataType::B32),
        ("INT_PTX_SREG_NCTAID_z", R::NctaidZ, DataType::B32),
        ("INT_PTX_SREG_WARPSIZE", R::WarpSize, DataType::B32),
        ("INT_PTX_SREG_LANEMASK_EQ", R::LaneMaskEq, DataType::B32),
        ("INT_PTX_SREG_LANEMASK_LE", R::LaneMaskLe, DataType::B32),
        ("INT_PTX_SREG_LANEMASK_LT", R::LaneMaskLt, DataType::B32),
        ("INT_PTX_SREG_LANEMASK_GE", R::LaneMaskGe, DataType::B32),
        ("INT_PTX_SREG_LANEMASK_GT", R::LaneMaskGt, DataType::B32),
        ("INT_PTX_SREG_TOTAL_SMEM_SIZE", R::TotalSmemSize, DataType::B32),
        (
            "INT_PTX_SREG_DYNAMIC_SMEM_SIZE",
            R::DynamicSmemSize,
            DataType::B32,
        ),
        ("SREG_LANEID", R::LaneId, DataType::B32),
        ("SREG_WARPID", R::WarpId, DataType::B32),
        ("SREG_NWARPID", R::NwarpId, DataType::B32),
        ("SREG_SMID", R::SmId, DataType::B32),
        ("SREG_NSMID", R::NsmId, DataType::B32),
        ("SREG_GRIDID", R::GridId, DataType::B32),
        ("SREG_CLOCK", R::Clock, DataType::B32),
        ("SREG_CLOCK64", R::Clock64, DataType::B64),
        ("SREG_GLOBALTIMER", R::GlobalTimer, DataType::B64),
        ("SREG_GLOBALTIMER_LO", R::GlobalTimerLo, DataType::B32),
    ] {
        let words = Words::result(data_type.bits());
        table.add(name, Operation::S2r, data_type, words).special(special);
    }
}
