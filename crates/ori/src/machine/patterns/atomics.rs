//! Patterns of atomic operations and fences.

use super::{PatternTable, Words, sources_of};
use crate::modifiers::{AddressSpace, Ordering, Scope, Variant};
use crate::operation::Operation;
use crate::types::DataType;
use DataType::{B16, B32, B64, Bf16, F16, F32, F64, S32, S64, U32, U64};

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    device_wide(table);
    scoped(table);
    exchanges(table);
    fences(table);
}

/// The letters of LLVM's names and their meaning.
const SPACES: [(&str, AddressSpace); 4] = [
    ("G", AddressSpace::Global),
    ("S", AddressSpace::Shared),
    ("S_C", AddressSpace::SharedCluster),
    ("GEN", AddressSpace::Generic),
];

/// Operations with PTX's default ordering and scope: relaxed, and the device.
fn device_wide(table: &mut PatternTable) {
    for (stem, variant, data_types) in [
        ("ATOM_ADD", Variant::Add, &[("32", B32), ("64", B64)][..]),
        (
            "ATOM_ADD",
            Variant::Add,
            &[("F16", F16), ("BF16", Bf16), ("F32", F32), ("F64", F64)],
        ),
        ("ATOM_SWAP", Variant::Exch, &[("32", B32), ("64", B64)]),
        ("ATOM_AND", Variant::And, &[("32", B32), ("64", B64)]),
        ("ATOM_OR", Variant::Or, &[("32", B32), ("64", B64)]),
        ("ATOM_XOR", Variant::Xor, &[("32", B32), ("64", B64)]),
        ("ATOM_INC", Variant::Inc, &[("32", U32)]),
        ("ATOM_DEC", Variant::Dec, &[("32", U32)]),
        ("ATOMIC_MIN", Variant::Min, &[("32", S32), ("64", S64)]),
        ("ATOMIC_MAX", Variant::Max, &[("32", S32), ("64", S64)]),
        ("ATOMIC_UMIN", Variant::Min, &[("32", U32), ("64", U64)]),
        ("ATOMIC_UMAX", Variant::Max, &[("32", U32), ("64", U64)]),
    ] {
        for &(suffix, data_type) in data_types {
            let width = data_type.bits();
            // Constants of 16 bits are no operands.
            let letters: &[&str] = if width == 16 { &["r"] } else { &["r", "i"] };
            for (name, space) in SPACES {
                for letter in letters {
                    table
                        .add(
                            format_args!("INT_PTX_{stem}_{suffix}_{name}{letter}"),
                            Operation::Atom,
                            data_type,
                            Words::result(width) + "base offset" + sources_of(&[width], letter),
                        )
                        .space(space)
                        .variant(variant);
                }
            }
        }
    }
}

/// Operations on generic addresses, with a scope in the name.
fn scoped(table: &mut PatternTable) {
    for (name, variant, data_types) in [
        ("ADD", Variant::Add, &[S32, U32, U64, F16, Bf16, F32, F64][..]),
        ("AND", Variant::And, &[B32, B64]),
        ("OR", Variant::Or, &[B32, B64]),
        ("XOR", Variant::Xor, &[B32, B64]),
        ("EXCH", Variant::Exch, &[B32, B64]),
        ("MIN", Variant::Min, &[S32, U32, S64, U64]),
        ("MAX", Variant::Max, &[S32, U32, S64, U64]),
        ("INC", Variant::Inc, &[U32]),
        ("DEC", Variant::Dec, &[U32]),
    ] {
        for &data_type in data_types {
            let width = data_type.bits();
            let letters: &[&str] = if width == 16 { &["r"] } else { &["r", "i"] };
            for (text, scope) in [("cta", Scope::Block), ("sys", Scope::System)] {
                for letter in letters {
                    table
                        .add(
                            format_args!("INT_PTX_SATOM_{name}_{}_{text}gen{letter}", data_type.name()),
                            Operation::Atom,
                            data_type,
                            Words::result(width) + "base offset" + sources_of(&[width], letter),
                        )
                        .space(AddressSpace::Generic)
                        .scope(scope)
                        .variant(variant);
                }
            }
        }
    }
}

fn exchanges(table: &mut PatternTable) {
    for data_type in [B16, B32, B64] {
        let width = data_type.bits();
        for letters in ["rr", "ri", "ir", "ii"] {
            table
                .add(
                    format_args!("INT_PTX_ATOM_CAS_{width}_{letters}"),
                    Operation::Atom,
                    data_type,
                    Words::result(width)
                        + "base offset"
                        + sources_of(&[width; 2], letters)
                        + "ordering scope space",
                )
                .variant(Variant::Cas);
        }
    }
}

fn fences(table: &mut PatternTable) {
    for (name, scope) in [
        ("CTA", Scope::Block),
        ("GL", Scope::Device),
        ("SYS", Scope::System),
    ] {
        table
            .add(
                format_args!("INT_MEMBAR_{name}"),
                Operation::Membar,
                DataType::None,
                "",
            )
            .scope(scope);
    }
    for (order, ordering) in [
        ("acquire", Ordering::Acquire),
        ("release", Ordering::Release),
        ("acq_rel", Ordering::AcquireRelease),
        ("seq_cst", Ordering::SequentiallyConsistent),
    ] {
        for scope in [Scope::Block, Scope::Cluster, Scope::Device, Scope::System] {
            table
                .add(
                    format_args!("atomic_thread_fence_{order}_{}", scope.name()),
                    Operation::Membar,
                    DataType::None,
                    "",
                )
                .ordering(ordering)
                .scope(scope);
        }
    }
    table
        .add("INT_FENCE_SC_CLUSTER", Operation::Membar, DataType::None, "")
        .ordering(Ordering::SequentiallyConsistent)
        .scope(Scope::Cluster);
}
