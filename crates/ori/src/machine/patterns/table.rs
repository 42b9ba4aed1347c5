//! The table of forms as Rust source, which `forms.rs` includes.

use super::{Forms, Pattern};
use crate::machine::name_hash::{NO_FORM, slots_of};
use crate::machine::place::Place;
use std::fmt::Write;

/// The source of `NAMES`, `PLACES`, `FORMS` and `BY_NAME`; for what each is, see `forms.rs`.
///
/// # Panics
/// Two forms have one name.
pub fn source_of_table() -> String {
    let mut patterns = Forms::all().0;
    // Stable: of one operation and type they stay in the order in which they were added.
    patterns.sort_by_key(|pattern| (pattern.operation, pattern.description.data_type));

    // At most half full, so that a search seldom looks at a second slot.
    let slot_count = (2 * patterns.len()).next_power_of_two();
    let mut by_name = vec![NO_FORM; slot_count];
    for (number, pattern) in patterns.iter().enumerate() {
        let name_in = |slot: usize| &patterns[usize::from(by_name[slot])].name;
        let mut slots = slots_of(&pattern.name, slot_count);
        let free = slots.find(|&slot| {
            let is_free = by_name[slot] == NO_FORM;
            assert!(
                is_free || *name_in(slot) != pattern.name,
                "{} has two forms",
                pattern.name
            );
            is_free
        });
        by_name[free.expect("half of the slots are free")] =
            u16::try_from(number).expect("fewer forms than u16::MAX");
    }

    let (mut names, mut places, mut rows) = (String::new(), Vec::new(), String::new());
    for pattern in &patterns {
        let first_place = first_of(&mut places, &pattern.places);
        write_row(&mut rows, pattern, names.len(), first_place).expect("writing to a string does not fail");
        names += &pattern.name;
    }
    let places: Vec<String> = places.into_iter().map(source_of_place).collect();
    let (form_count, place_count) = (patterns.len(), places.len());
    format!(
        "static NAMES: &str = {names:?};
        static PLACES: [Place; {place_count}] = [{}];
        static FORMS: [Form; {form_count}] = [{rows}];
        static BY_NAME: [u16; {slot_count}] = {by_name:?};",
        places.join(",")
    )
}

/// Where in `all` these are, which are added unless they are there already.
fn first_of(all: &mut Vec<Place>, these: &[Place]) -> usize {
    let found = all.windows(these.len().max(1)).position(|window| window == these);
    found.unwrap_or_else(|| {
        all.extend_from_slice(these);
        all.len() - these.len()
    })
}

fn source_of_place(place: Place) -> String {
    match place {
        Place::Modifier(encoding) => format!("Place::Modifier(Encoding::{encoding:?})"),
        place => format!("Place::{place:?}"),
    }
}

fn write_row(rows: &mut String, pattern: &Pattern, name: usize, first_place: usize) -> std::fmt::Result {
    let description = &pattern.description;
    let modifiers = &description.modifiers;
    let results = pattern.places.iter().filter(|place| place.is_result());
    let sources = pattern.places.iter().filter(|place| place.is_source());
    write!(
        rows,
        "Form {{
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
            places: ({first_place}, {}),
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
        pattern.places.len(),
        results.count(),
        sources.count() + usize::from(pattern.special.is_some()),
        match pattern.special {
            Some(special) => format!("Some(SpecialRegister::{special:?})"),
            None => "None".to_owned(),
        },
    )
}
