//! Formats values for messages.

use super::effects::Chains;
use super::values::{Operator, Value, Values};
use std::fmt::Write;

/// The deepest nesting that is shown.
const DEPTH: u32 = 5;
/// The most characters of one value.
const LENGTH: usize = 400;

impl Values {
    /// Formats a value as a shortened expression.
    pub fn show(&self, value: Value) -> String {
        let mut text = String::new();
        self.write(value, DEPTH, &mut text);
        if let Some((end, _)) = text.char_indices().nth(LENGTH) {
            text.truncate(end);
            text.push('…');
        }
        text
    }

    fn write(&self, value: Value, depth: u32, text: &mut String) {
        if text.len() > LENGTH {
            return;
        }
        let width = self.width(value);
        let put = |text: &mut String, shown: std::fmt::Arguments<'_>| {
            text.write_fmt(shown).expect("writing to a string does not fail");
        };
        match self.operator(value) {
            Operator::Constant { low, .. } => return put(text, format_args!("{low:#x}")),
            Operator::Initial { kind } => {
                return put(text, format_args!("initial {}", Chains::name(kind.into())));
            }
            Operator::Undefined { register } => return put(text, format_args!("undefined-{register}")),
            Operator::Symbol { name } => return put(text, format_args!("symbol{name}")),
            Operator::Frame { object } => return put(text, format_args!("stack{object}")),
            Operator::Named { kind, number } => {
                let name = format!("{kind:?}").to_lowercase();
                put(text, format_args!("{name}{number}"));
            }
            Operator::Sum { constant } => {
                put(text, format_args!("sum{width}({constant:#x}"));
                for (term, factor) in self.as_sum(value).terms {
                    put(text, format_args!(" + {factor:#x}*"));
                    self.write_nested(term, depth, text);
                }
                return text.push(')');
            }
            Operator::Operation { operation, .. } => put(text, format_args!("{}{width}", operation.name())),
            Operator::Join { node, class, .. } => put(text, format_args!("join{node}.{class}")),
            Operator::Piece { low } => put(text, format_args!("bits{low}+{width}")),
            Operator::After { kind } => put(text, format_args!("{} after", Chains::name(kind.into()))),
            other => {
                let name = format!("{other:?}");
                put(
                    text,
                    format_args!(
                        "{}{width}",
                        name.split(' ').next().unwrap_or_default().to_lowercase()
                    ),
                );
            }
        }
        text.push('(');
        for (number, part) in self.parts_of(value).enumerate() {
            if number > 0 {
                text.push_str(", ");
            }
            self.write_nested(part, depth, text);
        }
        text.push(')');
    }

    fn write_nested(&self, value: Value, depth: u32, text: &mut String) {
        match depth {
            0 => text.push_str(&format!("v{}", value.as_u32())),
            _ => self.write(value, depth - 1, text),
        }
    }
}
