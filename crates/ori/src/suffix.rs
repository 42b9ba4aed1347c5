//! Types and modifiers as suffixes of an operation's name: `LD.relaxed.gpu.global.b32.u8`.

use super::modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, Variant,
};
use super::operation::Operation;
use super::types::DataType;
use std::fmt::{self, Formatter};

/// The types and modifiers of suffixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Suffixes {
    pub modifiers: Modifiers,
    pub data_type: DataType,
    pub source_type: DataType,
}

/// Placeholder for a missing type before another one.
const UNTYPED: &str = "untyped";

/// Returns the type of an operation for which at most one is written: comparisons produce
/// predicates.
const fn implied_type(operation: Operation) -> DataType {
    match operation {
        Operation::Isetp | Operation::Fsetp | Operation::Ftestinf => DataType::B1,
        _ => DataType::None,
    }
}

impl Suffixes {
    /// Prints the suffixes in a fixed order: modifiers, then the types.
    pub fn print(&self, operation: Operation, out: &mut Formatter<'_>) -> fmt::Result {
        for (_, name) in self.modifiers.given() {
            write!(out, ".{name}")?;
        }
        let implied = implied_type(operation);
        let has_source = self.source_type != DataType::None;
        if self.data_type == DataType::None && (has_source || implied != DataType::None) {
            write!(out, ".{UNTYPED}")?;
        } else if self.data_type != implied {
            write!(out, ".{}", self.data_type.name())?;
        }
        if has_source {
            write!(out, ".{}", self.source_type.name())?;
        } else if implied != DataType::None && self.data_type != implied {
            write!(out, ".{UNTYPED}")?;
        }
        Ok(())
    }

    /// Parses an operation and its suffixes. The error describes the problem.
    pub fn parse(word: &str) -> Result<(Operation, Self), String> {
        let (operation, mut rest) =
            split_operation(word).ok_or_else(|| format!("unknown operation `{word}`"))?;
        let mut suffixes = Self::default();
        let mut types = Vec::new();
        while let Some(names) = rest.strip_prefix('.') {
            let suffix = first_parts(names, 2)
                .filter(|suffix| suffixes.is_name(suffix))
                .or_else(|| first_parts(names, 1))
                .unwrap_or(names);
            rest = &names[suffix.len()..];
            if suffix == UNTYPED {
                types.push(DataType::None);
            } else if let Some(data_type) = DataType::from_name(suffix) {
                types.push(data_type);
            } else {
                suffixes.add_modifier(suffix)?;
            }
        }
        let implied = implied_type(operation);
        (suffixes.data_type, suffixes.source_type) = match types[..] {
            [] => (implied, DataType::None),
            [only] if implied == DataType::None => (only, DataType::None),
            [source] => (implied, source),
            [data, source] => (data, source),
            _ => return Err(format!("more than two types in `{word}`")),
        };
        Ok((operation, suffixes))
    }

    fn is_name(&self, name: &str) -> bool {
        { *self }.set_modifier(name).is_some()
    }

    fn add_modifier(&mut self, name: &str) -> Result<(), String> {
        match self.set_modifier(name) {
            Some(true) => Ok(()),
            Some(false) => Err(format!("`.{name}` conflicts with another suffix")),
            None => Err(format!("unknown suffix `.{name}`")),
        }
    }

    /// Sets the modifier with this name. Returns false if one of its kind is set already, none if
    /// there is no such name.
    fn set_modifier(&mut self, name: &str) -> Option<bool> {
        fn set<T: Default + PartialEq>(field: &mut T, value: Option<T>) -> Option<bool> {
            let value = value?;
            let is_new = *field == T::default();
            *field = value;
            Some(is_new)
        }
        let modifiers = &mut self.modifiers;
        let flag = ModifierFlags::NAMES
            .iter()
            .find(|(_, flag_name)| *flag_name == name);
        if let Some(&(flag, _)) = flag {
            let is_new = !modifiers.flags.contains(flag);
            modifiers.flags |= flag;
            return Some(is_new);
        }
        set(&mut modifiers.variant, Variant::from_name(name))
            .or_else(|| set(&mut modifiers.comparison, Comparison::from_name(name)))
            .or_else(|| set(&mut modifiers.rounding, Rounding::from_name(name)))
            .or_else(|| set(&mut modifiers.ordering, Ordering::from_name(name)))
            .or_else(|| set(&mut modifiers.scope, Scope::from_name(name)))
            .or_else(|| set(&mut modifiers.space, AddressSpace::from_name(name)))
    }
}

/// Returns the operation at the start of a word, and the suffixes behind it, dots included.
/// `BAR.RED` is preferred to `BAR`.
fn split_operation(word: &str) -> Option<(Operation, &str)> {
    (1..=2).rev().find_map(|parts| {
        let name = first_parts(word, parts)?;
        Some((Operation::from_name(name)?, &word[name.len()..]))
    })
}

/// Returns the first `parts` parts between dots.
fn first_parts(text: &str, parts: usize) -> Option<&str> {
    let mut ends = text.match_indices('.').map(|(at, _)| at).chain([text.len()]);
    ends.nth(parts - 1).map(|end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_suffixes_share_a_name() {
        let mut names = HashSet::from([UNTYPED]);
        let all = DataType::ALL[1..]
            .iter()
            .map(|value| value.name())
            .chain(ModifierFlags::NAMES.iter().map(|(_, name)| *name))
            .chain(Variant::ALL.iter().map(|value| value.name()))
            .chain(Comparison::ALL.iter().map(|value| value.name()))
            .chain(Rounding::ALL.iter().map(|value| value.name()))
            .chain(Ordering::ALL.iter().map(|value| value.name()))
            .chain(Scope::ALL.iter().map(|value| value.name()))
            .chain(AddressSpace::ALL.iter().map(|value| value.name()));
        for name in all {
            assert!(names.insert(name), "{name} means two things");
            assert!(
                name.split('.').count() <= 2,
                "{name} has more parts than are looked for"
            );
        }
        for operation in Operation::ALL {
            assert!(operation.name().split('.').count() <= 2, "{operation:?}");
        }
    }

    #[test]
    fn comparisons_imply_predicates() {
        let (operation, suffixes) = Suffixes::parse("ISETP.lt.s32").expect("it is one");
        assert_eq!(operation, Operation::Isetp);
        assert_eq!(
            (suffixes.data_type, suffixes.source_type),
            (DataType::B1, DataType::S32)
        );
        assert_eq!(suffixes.modifiers.comparison, Comparison::Lt);
    }

    #[test]
    fn wrong_suffixes_are_named() {
        for (word, message) in [
            ("FOO", "unknown operation `FOO`"),
            ("IADD.foo", "unknown suffix `.foo`"),
            ("IADD.b32.", "unknown suffix `.`"),
            ("FADD.rn.rz.f32", "`.rz` conflicts with another suffix"),
            ("FADD.ftz.ftz", "`.ftz` conflicts with another suffix"),
            ("CVT.b32.b32.b32", "more than two types in `CVT.b32.b32.b32`"),
        ] {
            assert_eq!(Suffixes::parse(word).expect_err(word), message);
        }
    }
}
