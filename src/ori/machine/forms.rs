//! The table from LLVM's opcodes to Ori.
//!
//! A [`Form`] says what an opcode is for Ori: operation, types, modifiers, and what each operand is. The
//! same form reads a machine instruction and writes one, so the two directions cannot disagree. The
//! forms come from patterns in the files by subject, a [`Family`] for each pattern, which is written out
//! when one of its forms is asked for; a test compares every form with LLVM's own description of the
//! opcode and with what LLVM prints for it.

use super::place::{Description, Place, Words};
use crate::entity::{PrimaryMap, entity_impl};
use crate::hash::NumberMap;
use crate::ori::modifiers::{
    AddressSpace, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
use crate::ori::operation::Operation;
use crate::ori::types::DataType;
use smallvec::SmallVec;
use std::fmt::{Display, Write};
use std::hash::BuildHasherDefault;
use std::sync::OnceLock;

/// A row of the forms of a family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FormId(u32);
entity_impl!(FormId, "form");

/// What one of LLVM's opcodes is for Ori.
#[derive(Clone, Debug)]
pub struct Form {
    /// LLVM's name of the opcode; of one without a proper name its PTX mnemonic and a letter for
    /// each operand, as the snapshot's opcode table has it.
    pub name: &'static str,
    /// What it does.
    pub operation: Operation,
    /// Types, and the modifiers that are the same for every instruction with this opcode.
    pub description: Description,
    /// What its operands are, in order.
    pub places: Words,
    /// The source that no operand stands for: a register that the hardware keeps.
    pub special: Option<SpecialRegister>,
}

impl Form {
    /// How many results it has.
    pub fn result_count(&self) -> usize {
        let is_result = |place: &&Place| matches!(place, Place::Result(_));
        self.places.iter().filter(is_result).count()
    }

    /// How many sources it has; a load may have one more.
    pub fn source_count(&self) -> usize {
        let sources = self.places.iter().filter(|place| place.is_source()).count();
        sources + usize::from(self.special.is_some())
    }

    /// Can an instruction that `description` describes have this opcode, as far as types and
    /// modifiers go?
    pub fn describes(&self, description: &Description) -> bool {
        if description.data_type != self.description.data_type {
            return false;
        }
        let mut rest = Modifiers {
            flags: description.modifiers.flags - ModifierFlags::CONTRACT,
            ..description.modifiers
        };
        let mut source_type_is_open = false;
        for place in self.places.iter() {
            if let Place::Modifier(encoding) = *place {
                if encoding
                    .encode(description, &self.description.modifiers)
                    .is_none()
                {
                    return false;
                }
                rest = encoding.without(rest);
                source_type_is_open |= encoding.is_of_source_type();
            }
        }
        // What an encoding covers may be fixed as well: satfinite of some conversions.
        rest.flags |= description.modifiers.flags & self.description.modifiers.flags;
        let (given, own) = (description.source_type, self.description.source_type);
        let source_type_fits = if source_type_is_open {
            own == DataType::None || own.bits() == given.bits()
        } else {
            own == given
        };
        source_type_fits && rest == self.description.modifiers
    }
}

/// Forms that are made together, when one of them is asked for: there are many more than the code of one process has opcodes, and
/// every process that compiles something would wait for all of them.
pub(super) struct Family {
    add: fn(&mut Forms),
    /// How the names of its forms begin; those of others may, too.
    prefixes: &'static [&'static str],
    /// What its forms do.
    operations: &'static [Operation],
    forms: OnceLock<Forms>,
}

impl Family {
    /// The forms that `add` adds.
    pub(super) const fn new(
        add: fn(&mut Forms),
        prefixes: &'static [&'static str],
        operations: &'static [Operation],
    ) -> Self {
        Self {
            add,
            prefixes,
            operations,
            forms: OnceLock::new(),
        }
    }

    fn forms(&self) -> &Forms {
        self.forms.get_or_init(|| {
            let mut forms = Forms {
                forms: PrimaryMap::with_capacity(ROOM),
                by_name: NumberMap::with_capacity_and_hasher(ROOM, BuildHasherDefault::default()),
                ..Forms::default()
            };
            (self.add)(&mut forms);
            forms.name_all();
            forms
        })
    }

    fn may_have(&self, name: &str) -> bool {
        // Nearly all differ in the first letter, and to call for a comparison of strings takes longer than to look.
        let first = name.as_bytes().first();
        let mut prefixes = self.prefixes.iter();
        prefixes.any(|prefix| prefix.as_bytes().first() == first && name.starts_with(prefix))
    }
}

/// Forms that a family has room for without growing; most have fewer.
const ROOM: usize = 56;

/// All families, by subject. Of an operation's forms that are equally good, the first in this order is taken.
static SUBJECTS: [&[Family]; 7] = [
    &super::integer::FAMILIES,
    &super::float::FAMILIES,
    &super::conversion::FAMILIES,
    &super::memory::FAMILIES,
    &super::atomics::FAMILIES,
    &super::threads::FAMILIES,
    &super::control::FAMILIES,
];

fn families() -> impl Iterator<Item = &'static Family> {
    SUBJECTS.into_iter().flatten()
}

/// Every form.
pub fn all_forms() -> impl Iterator<Item = &'static Form> {
    families().flat_map(|family| family.forms().forms.values())
}

/// The form of an opcode.
pub fn form_named(name: &str) -> Option<&'static Form> {
    let mut families = families().filter(|family| family.may_have(name));
    families.find_map(|family| family.forms().by_name(name))
}

/// The forms of an operation and type, best first.
pub fn forms_of(operation: Operation, data_type: DataType) -> impl Iterator<Item = &'static Form> {
    families()
        .filter(move |family| family.operations.contains(&operation))
        .flat_map(move |family| family.forms().of_operation(operation, data_type))
}

/// The forms of a family, and the ways to find one.
#[derive(Debug, Default)]
pub(super) struct Forms {
    forms: PrimaryMap<FormId, Form>,
    by_name: NumberMap<&'static str, FormId>,
    by_operation: NumberMap<(Operation, DataType), SmallVec<[FormId; 6]>>,
    /// The names of all forms, one behind the other, until they are given out.
    names: String,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Forms {
    fn by_name(&self, name: &str) -> Option<&Form> {
        Some(&self.forms[*self.by_name.get(name)?])
    }

    fn of_operation(&self, operation: Operation, data_type: DataType) -> impl Iterator<Item = &Form> {
        let found = self.by_operation.get(&(operation, data_type));
        found.into_iter().flatten().map(|&form| &self.forms[form])
    }

    /// Gives each form its name.
    fn name_all(&mut self) {
        // Families are never given back, so neither are the names.
        let names: &'static str = std::mem::take(&mut self.names).leak();
        let mut start = 0;
        for (id, end) in self.forms.keys().zip(std::mem::take(&mut self.ends)) {
            let name = &names[start..end];
            start = end;
            self.forms[id].name = name;
            let previous = self.by_name.insert(name, id);
            assert!(previous.is_none(), "{name} has two forms");
        }
    }

    /// Adds a form whose places are written as words; see [`super::place`].
    pub(super) fn add(
        &mut self,
        name: impl Display,
        operation: Operation,
        data_type: DataType,
        places: impl Into<Words>,
    ) -> Added<'_> {
        write!(self.names, "{name}").expect("writing to a string does not fail");
        self.ends.push(self.names.len());
        let form = self.forms.push(Form {
            name: "",
            operation,
            description: Description {
                data_type,
                ..Description::default()
            },
            places: places.into(),
            special: None,
        });
        self.by_operation
            .entry((operation, data_type))
            .or_default()
            .push(form);
        Added {
            form: &mut self.forms[form],
        }
    }
}

/// A form that was added, for what is not as usual.
pub(super) struct Added<'a> {
    form: &'a mut Form,
}

impl Added<'_> {
    fn modifiers(&mut self) -> &mut Modifiers {
        &mut self.form.description.modifiers
    }

    pub(super) fn from(self, source_type: DataType) -> Self {
        self.form.description.source_type = source_type;
        self
    }

    pub(super) fn flags(mut self, flags: ModifierFlags) -> Self {
        self.modifiers().flags |= flags;
        self
    }

    pub(super) fn rounding(mut self, rounding: Rounding) -> Self {
        self.modifiers().rounding = rounding;
        self
    }

    pub(super) fn space(mut self, space: AddressSpace) -> Self {
        self.modifiers().space = space;
        self
    }

    pub(super) fn ordering(mut self, ordering: Ordering) -> Self {
        self.modifiers().ordering = ordering;
        self
    }

    pub(super) fn scope(mut self, scope: Scope) -> Self {
        self.modifiers().scope = scope;
        self
    }

    pub(super) fn variant(mut self, variant: Variant) -> Self {
        self.modifiers().variant = variant;
        self
    }

    pub(super) fn special(self, special: SpecialRegister) -> Self {
        self.form.special = Some(special);
        self
    }
}

/// The places of a result and of sources that LLVM's name has letters for: `r` is a register, `i` a
/// constant.
pub(super) fn words(result: u32, sources: &[u32], letters: &str) -> Words {
    Words::result(result) + sources_of(sources, letters)
}

/// The places of sources that LLVM's name has letters for.
pub(super) fn sources_of(sources: &[u32], letters: &str) -> Words {
    debug_assert_eq!(sources.len(), letters.len());
    let places = sources.iter().zip(letters.bytes());
    places
        .map(|(&bits, letter)| match letter {
            b'r' => Place::Register(bits as u8),
            _ => Place::Constant(bits as u8),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What a family says of its forms is what they are looked for by.
    #[test]
    fn families_say_what_they_have() {
        let mut wrong = Vec::new();
        for family in families() {
            let forms = || family.forms().forms.values();
            let is_unsaid =
                |form: &&Form| !family.may_have(form.name) || !family.operations.contains(&form.operation);
            let unsaid = forms().filter(is_unsaid);
            wrong.extend(unsaid.map(|form| format!("{} {:?}", form.name, form.operation)));
            let is_in_vain = |prefix: &&&str| !forms().any(|form| form.name.starts_with(**prefix));
            let in_vain = family.prefixes.iter().filter(is_in_vain);
            wrong.extend(in_vain.map(|&prefix| prefix.to_owned()));
            let is_in_vain = |operation: &&Operation| !forms().any(|form| form.operation == **operation);
            let in_vain = family.operations.iter().filter(is_in_vain);
            wrong.extend(in_vain.map(|operation| format!("{operation:?}")));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn every_form_is_found_and_none_twice() {
        let names: BTreeSet<&str> = all_forms().map(|form| form.name).collect();
        assert_eq!(names.len(), all_forms().count());
        for form in all_forms() {
            assert!(
                std::ptr::eq(form_named(form.name).unwrap(), form),
                "{}",
                form.name
            );
            let mut alike = forms_of(form.operation, form.description.data_type);
            assert!(alike.any(|other| std::ptr::eq(other, form)), "{}", form.name);
        }
        assert!(form_named("ADD32").is_none() && form_named("").is_none());
    }
}
