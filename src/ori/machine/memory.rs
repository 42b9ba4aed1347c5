//! Forms of loads, stores and addresses.

use super::forms::{Family, Forms};
use crate::ori::modifiers::{AddressSpace, ModifierFlags};
use crate::ori::operation::Operation;
use crate::ori::types::DataType;

/// Widths of elements and the vectors that loads and stores have of them.
const VECTORS: [(DataType, &[usize]); 3] = [
    (DataType::B16, &[1, 2, 4]),
    (DataType::B32, &[1, 2, 4, 8]),
    (DataType::B64, &[1, 2, 4]),
];

pub(super) static FAMILIES: [Family; 1] = [Family::new(
    accesses_and_addresses,
    &["LD", "ST", "LEA", "MOV_DEPOT"],
    &[
        Operation::Ld,
        Operation::St,
        Operation::Lea,
        Operation::FrameAddress,
    ],
)];

fn accesses_and_addresses(forms: &mut Forms) {
    for (data_type, counts) in VECTORS {
        for &count in counts {
            accesses(forms, data_type, count);
            read_only(forms, data_type, count);
        }
    }
    for (suffix, data_type, words) in [
        ("", DataType::B32, "=32 base offset"),
        ("64", DataType::B64, "=64 base offset"),
    ] {
        forms.add(
            format_args!("LEA_ADDRi{suffix}"),
            Operation::Lea,
            data_type,
            words,
        );
    }
    forms.add(
        "MOV_DEPOT_ADDR",
        Operation::FrameAddress,
        DataType::B32,
        "=32 count",
    );
    forms.add(
        "MOV_DEPOT_ADDR_64",
        Operation::FrameAddress,
        DataType::B64,
        "=64 count",
    );
}

fn repeated(word: &str, count: usize) -> String {
    vec![word; count].join(" ")
}

fn accesses(forms: &mut Forms, data_type: DataType, count: usize) {
    let width = data_type.bits();
    let (letter, suffix) = if count == 1 {
        ("", String::new())
    } else {
        ("V", format!("_v{count}"))
    };
    let results = repeated(&format!("={width}"), count);
    forms.add(
        format_args!("LD{letter}_i{width}{suffix}"),
        Operation::Ld,
        data_type,
        &format!("{results} ordering scope space class width bytes base offset"),
    );
    let values = repeated(&format!("v{width}"), count);
    forms.add(
        format_args!("ST{letter}_i{width}{suffix}"),
        Operation::St,
        data_type,
        &format!("{values} ordering scope space width base offset"),
    );
}

/// Loads of global memory that does not change.
fn read_only(forms: &mut Forms, data_type: DataType, count: usize) {
    let width = data_type.bits();
    let vector = if count == 1 {
        String::new()
    } else {
        format!("v{count}")
    };
    let results = repeated(&format!("={width}"), count);
    let mut add = |name: String, words: &str, flags: ModifierFlags| {
        forms
            .add(name, Operation::Ld, data_type, &format!("{results} {words}"))
            .space(AddressSpace::Global)
            .flags(ModifierFlags::INVARIANT | flags);
    };
    let words = "class width bytes base offset";
    add(
        format!("LD_GLOBAL_NC_{vector}i{width}"),
        words,
        ModifierFlags::empty(),
    );
    if width * count as u32 <= 128 {
        // All threads of a warp have to load from one address.
        let words = "width base offset";
        add(
            format!("LDU_GLOBAL_{vector}i{width}"),
            words,
            ModifierFlags::UNIFORM,
        );
    }
}
