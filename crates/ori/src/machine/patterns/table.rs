//! Generates the table of mappings as Rust source, which `opcode_mapping.rs` includes.

use super::{Pattern, PatternTable};
use crate::machine::name_hash::{NO_MAPPING, slots_of};
use crate::machine::operand_class::OperandClass;
use std::fmt::Write;

/// Returns the source of `NAMES`, `OPERANDS`, `MAPPINGS` and `BY_NAME`; `opcode_mapping.rs`
/// describes them.
///
/// # Panics
/// Two mappings have the same name.
pub fn source_of_table() -> String {
    let mut patterns = PatternTable::all().0;
    // The sort is stable: mappings of one operation and type stay in the order in which they were
    // added.
    patterns.sort_by_key(|pattern| (pattern.operation, pattern.description.data_type));

    // At most half full, so that a search seldom probes a second slot.
    let slot_count = (2 * patterns.len()).next_power_of_two();
    let mut by_name = vec![NO_MAPPING; slot_count];
    for (number, pattern) in patterns.iter().enumerate() {
        let name_in = |slot: usize| &patterns[usize::from(by_name[slot])].name;
        let mut slots = slots_of(&pattern.name, slot_count);
        let free = slots.find(|&slot| {
            let is_free = by_name[slot] == NO_MAPPING;
            assert!(
                is_free || *name_in(slot) != pattern.name,
                "{} has two mappings",
                pattern.name
            );
            is_free
        });
        by_name[free.expect("half of the slots are free")] =
            u16::try_from(number).expect("fewer mappings than u16::MAX");
    }

    let (mut names, mut operands, mut rows) = (String::new(), Vec::new(), String::new());
    for pattern in &patterns {
        let first_operand = first_of(&mut operands, &pattern.operands);
        write_row(&mut rows, pattern, names.len(), first_operand).expect("writing to a string does not fail");
        names += &pattern.name;
    }
    let operands: Vec<String> = operands.into_iter().map(source_of_class).collect();
    let (mapping_count, operand_count) = (patterns.len(), operands.len());
    format!(
        "static NAMES: &str = {names:?};
        static OPERANDS: [OperandClass; {operand_count}] = [{}];
        static MAPPINGS: [OpcodeMapping; {mapping_count}] = [{rows}];
        static BY_NAME: [u16; {slot_count}] = {by_name:?};",
        operands.join(",")
    )
}

/// Returns the position of `these` in `all`, appending them if necessary.
fn first_of(all: &mut Vec<OperandClass>, these: &[OperandClass]) -> usize {
    let found = all.windows(these.len().max(1)).position(|window| window == these);
    found.unwrap_or_else(|| {
        all.extend_from_slice(these);
        all.len() - these.len()
    })
}

fn source_of_class(class: OperandClass) -> String {
    match class {
        OperandClass::Modifier(encoding) => format!("OperandClass::Modifier(Encoding::{encoding:?})"),
        class => format!("OperandClass::{class:?}"),
    }
}

fn write_row(rows: &mut String, pattern: &Pattern, name: usize, first_operand: usize) -> std::fmt::Result {
    let description = &pattern.description;
    let modifiers = &description.modifiers;
    let results = pattern.operands.iter().filter(|class| class.is_result());
    let sources = pattern.operands.iter().filter(|class| class.is_source());
    write!(
        rows,
        "OpcodeMapping {{
            name: ({name}, {}),
            operation: Operation::{:?},
            description: Description {{
                data_type: DataType::{:?},
                source_type: DataType::{:?},
                modifiers: Modifiers {{
                    flags: ModifierFlags::from_bits_retain({}),
                    rounding: Rounding::{:?},
                    comparison: Comparison::{:?},
                    space: AddressSpace::{:?},
                    ordering: Ordering::{:?},
                    scope: Scope::{:?},
                    variant: Variant::{:?},
                }},
            }},
            operands: ({first_operand}, {}),
            results: {},
            sources: {},
            special: {},
        }},",
        pattern.name.len(),
        pattern.operation,
        description.data_type,
        description.source_type,
        modifiers.flags.bits(),
        modifiers.rounding,
        modifiers.comparison,
        modifiers.space,
        modifiers.ordering,
        modifiers.scope,
        modifiers.variant,
        pattern.operands.len(),
        results.count(),
        sources.count() + usize::from(pattern.special.is_some()),
        match pattern.special {
            Some(special) => format!("Some(SpecialRegister::{special:?})"),
            None => "None".to_owned(),
        },
    )
}
