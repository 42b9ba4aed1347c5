//! The table from LLVM's opcodes to Ori.
//!
//! A [`Form`] says what an opcode is for Ori: operation, types, modifiers, and what each operand is. The
//! same form reads a machine instruction and writes one, so the two directions cannot disagree. The
//! forms come from patterns in the files by subject; a test compares every one with LLVM's own
//! description of the opcode and with what LLVM prints for it.

use super::place::{Description, Place};
use crate::entity::{PrimaryMap, entity_impl};
use crate::hash::Fnv1a;
use crate::ori::modifiers::{
    AddressSpace, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
use crate::ori::operation::Operation;
use crate::ori::types::DataType;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

/// A row of the table of forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(u32);
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
    pub places: SmallVec<[Place; 12]>,
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
        for place in &self.places {
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

/// All forms, and the ways to find one.
#[derive(Debug, Default)]
pub struct Forms {
    forms: PrimaryMap<FormId, Form>,
    by_name: HashMap<&'static str, FormId, BuildHasherDefault<Fnv1a>>,
    by_operation: HashMap<(Operation, DataType), SmallVec<[FormId; 6]>, BuildHasherDefault<Fnv1a>>,
}

/// More forms than there are.
const ROOM: usize = 4096;

/// The table, built when it is first asked for: every process that compiles something waits for it, so it is built without
/// more allocations than its names take, and these are never given back.
pub fn forms() -> &'static Forms {
    static FORMS: LazyLock<Forms> = LazyLock::new(Forms::build);
    &FORMS
}

impl Forms {
    fn build() -> Self {
        let mut forms = Self::default();
        forms.by_name.reserve(ROOM);
        super::integer::add_forms(&mut forms);
        super::float::add_forms(&mut forms);
        super::conversion::add_forms(&mut forms);
        super::memory::add_forms(&mut forms);
        super::atomics::add_forms(&mut forms);
        super::threads::add_forms(&mut forms);
        super::control::add_forms(&mut forms);
        forms
    }

    /// The form with this number.
    pub fn get(&self, form: FormId) -> &Form {
        &self.forms[form]
    }

    /// The form of an opcode.
    pub fn by_name(&self, name: &str) -> Option<FormId> {
        self.by_name.get(name).copied()
    }

    /// Every form.
    pub fn iter(&self) -> impl Iterator<Item = (FormId, &Form)> {
        self.forms.iter()
    }

    /// The forms of an operation and type, best first.
    pub fn of_operation(&self, operation: Operation, data_type: DataType) -> &[FormId] {
        self.by_operation
            .get(&(operation, data_type))
            .map_or(&[], |forms| forms)
    }

    /// Adds a form whose places are written as words; see [`super::place`].
    pub(super) fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        operation: Operation,
        data_type: DataType,
        places: &str,
    ) -> Added<'_> {
        let name = match name.into() {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        };
        let form = self.forms.push(Form {
            name,
            operation,
            description: Description {
                data_type,
                ..Description::default()
            },
            places: places.split_ascii_whitespace().map(Place::from_word).collect(),
            special: None,
        });
        let previous = self.by_name.insert(name, form);
        assert!(previous.is_none(), "{name} has two forms");
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

/// The words of a result and of sources that LLVM's name has letters for: `r` is a register, `i` a
/// constant.
pub(super) fn words(result: u32, sources: &[u32], letters: &str) -> String {
    debug_assert_eq!(sources.len(), letters.len());
    let mut words = String::with_capacity(32);
    words += "=";
    words += digits(result);
    for (&bits, letter) in sources.iter().zip(letters.bytes()) {
        words += if letter == b'r' { " " } else { " i" };
        words += digits(bits);
    }
    words
}

/// A width in digits.
fn digits(bits: u32) -> &'static str {
    match bits {
        1 => "1",
        16 => "16",
        32 => "32",
        64 => "64",
        128 => "128",
        _ => panic!("there are no registers of {bits} bits"),
    }
}
