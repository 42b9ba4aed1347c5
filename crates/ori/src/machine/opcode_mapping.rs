//! The table from LLVM's opcodes to Ori.
//!
//! An [`OpcodeMapping`] describes an opcode in Ori's terms: operation, types, modifiers, and the
//! class of each operand. The same mapping is used to read a machine instruction and to write one,
//! so the two directions cannot disagree. The build generates the table from the patterns in
//! `patterns/`; a test compares every mapping with LLVM's own description of the opcode and with
//! the mnemonic that LLVM prints.

use super::name_hash::{NO_MAPPING, slots_of};
use super::operand_class::{Description, Encoding, OperandClass};
use crate::modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
use crate::operation::Operation;
use crate::types::DataType;
use std::ops::Range;

// `NAMES` has the concatenated names of all mappings; `OPERANDS`, their operands; `MAPPINGS`, the
// mappings by operation and type, best first; `BY_NAME`, a hash table of their numbers. None
// contains an address, which the loader of every process would have to relocate.
include!(concat!(env!("OUT_DIR"), "/opcode_mappings.rs"));

/// An LLVM opcode in Ori's terms.
#[derive(Clone, Debug)]
pub struct OpcodeMapping {
    /// Start and length in `NAMES`.
    name: (u16, u8),
    /// The operation.
    pub operation: Operation,
    /// Types, and the modifiers that all instructions with this opcode share.
    pub description: Description,
    /// Start and length in `OPERANDS`.
    operands: (u16, u8),
    results: u8,
    sources: u8,
    /// An implicit source that no operand represents: a special register.
    pub special: Option<SpecialRegister>,
}

fn range((start, length): (u16, u8)) -> Range<usize> {
    let start = usize::from(start);
    start..start + usize::from(length)
}

impl OpcodeMapping {
    /// Returns LLVM's name of the opcode. An opcode without a proper name has its PTX mnemonic and
    /// a letter for each operand, as in the snapshot's opcode table.
    pub fn name(&self) -> &'static str {
        &NAMES[range(self.name)]
    }

    /// Returns the classes of its operands, in order.
    pub fn operands(&self) -> &'static [OperandClass] {
        &OPERANDS[range(self.operands)]
    }

    /// Returns the number of results.
    pub(crate) fn result_count(&self) -> usize {
        usize::from(self.results)
    }

    /// Returns the number of sources; a load may have one more.
    pub(crate) fn source_count(&self) -> usize {
        usize::from(self.sources)
    }

    /// True if an instruction with this description can have the opcode, as far as types and
    /// modifiers are concerned.
    pub fn describes(&self, description: &Description) -> bool {
        if description.data_type != self.description.data_type {
            return false;
        }
        let mut rest = Modifiers {
            flags: description.modifiers.flags - ModifierFlags::CONTRACT,
            ..description.modifiers
        };
        let mut source_type_is_open = false;
        for class in self.operands() {
            if let OperandClass::Modifier(encoding) = *class {
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
        // A modifier that an encoding covers may be fixed as well: satfinite of some conversions.
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

/// Returns all mappings.
pub fn all_mappings() -> impl Iterator<Item = &'static OpcodeMapping> {
    MAPPINGS.iter()
}

/// Returns the mapping of an opcode.
pub fn mapping_named(name: &str) -> Option<&'static OpcodeMapping> {
    slots_of(name, BY_NAME.len())
        .map(|slot| BY_NAME[slot])
        .take_while(|&number| number != NO_MAPPING)
        .map(|number| &MAPPINGS[usize::from(number)])
        .find(|mapping| mapping.name() == name)
}

/// Returns the mappings of an operation and type, best first.
pub(crate) fn mappings_of(
    operation: Operation,
    data_type: DataType,
) -> impl Iterator<Item = &'static OpcodeMapping> {
    let key = |mapping: &OpcodeMapping| (mapping.operation, mapping.description.data_type);
    let first = MAPPINGS.partition_point(|mapping| key(mapping) < (operation, data_type));
    let is_of_key = move |mapping: &&OpcodeMapping| key(mapping) == (operation, data_type);
    MAPPINGS[first..].iter().take_while(is_of_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_form_is_found_and_none_twice() {
        let names: BTreeSet<&str> = all_mappings().map(|mapping| mapping.name()).collect();
        assert_eq!(names.len(), all_mappings().count());
        for mapping in all_mappings() {
            assert!(
                std::ptr::eq(mapping_named(mapping.name()).unwrap(), mapping),
                "{}",
                mapping.name()
            );
            let mut alike = mappings_of(mapping.operation, mapping.description.data_type);
            assert!(
                alike.any(|other| std::ptr::eq(other, mapping)),
                "{}",
                mapping.name()
            );
        }
        assert!(mapping_named("ADD32").is_none() && mapping_named("").is_none());
    }
}
