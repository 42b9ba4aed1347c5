//! The patterns of the opcode mappings by subject, and the table that they form.
//!
//! Only the build runs this code; the library contains the finished table. There are many more
//! mappings than opcodes in a process's code, and constructing the table would delay every process
//! that compiles something.

mod atomics;
mod control;
mod conversion;
mod float;
mod integer;
mod memory;
mod table;
mod threads;
mod words;

use super::operand_class::Description;
use crate::modifiers::{
    AddressSpace, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
use crate::operation::Operation;
use crate::types::DataType;
use std::fmt::Display;
pub use table::source_of_table;
use words::{Words, sources_of, words};

/// A row of the table: an `OpcodeMapping` of `opcode_mapping.rs`.
struct Pattern {
    name: String,
    operation: Operation,
    description: Description,
    operands: Words,
    special: Option<SpecialRegister>,
}

/// The patterns added so far.
#[derive(Default)]
struct PatternTable(Vec<Pattern>);

impl PatternTable {
    /// Returns all patterns.
    fn all() -> Self {
        let mut table = Self::default();
        for add in [
            integer::add,
            float::add,
            conversion::add,
            memory::add,
            atomics::add,
            threads::add,
            control::add,
        ] {
            add(&mut table);
        }
        table
    }

    /// Adds a pattern with its operands written as words; see `words.rs`.
    fn add(
        &mut self,
        name: impl Display,
        operation: Operation,
        data_type: DataType,
        operands: impl Into<Words>,
    ) -> Added<'_> {
        self.0.push(Pattern {
            name: name.to_string(),
            operation,
            description: Description {
                data_type,
                ..Description::default()
            },
            operands: operands.into(),
            special: None,
        });
        Added {
            pattern: self.0.last_mut().expect("one was added"),
        }
    }
}

/// A pattern just added, to set what differs from the default.
struct Added<'a> {
    pattern: &'a mut Pattern,
}

impl Added<'_> {
    fn modifiers(&mut self) -> &mut Modifiers {
        &mut self.pattern.description.modifiers
    }

    fn from(self, source_type: DataType) -> Self {
        self.pattern.description.source_type = source_type;
        self
    }

    fn flags(mut self, flags: ModifierFlags) -> Self {
        self.modifiers().flags |= flags;
        self
    }

    fn rounding(mut self, rounding: Rounding) -> Self {
        self.modifiers().rounding = rounding;
        self
    }

    fn space(mut self, space: AddressSpace) -> Self {
        self.modifiers().space = space;
        self
    }

    fn ordering(mut self, ordering: Ordering) -> Self {
        self.modifiers().ordering = ordering;
        self
    }

    fn scope(mut self, scope: Scope) -> Self {
        self.modifiers().scope = scope;
        self
    }

    fn variant(mut self, variant: Variant) -> Self {
        self.modifiers().variant = variant;
        self
    }

    fn special(self, special: SpecialRegister) -> Self {
        self.pattern.special = Some(special);
        self
    }
}
